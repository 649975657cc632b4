#include "eval/parseval.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>

enum { NO_CROSSING = 0, FEW_CROSSING = 2 };

/*
 * Quotation marks whose tags put them among the deleted words on one side alone: the word counts after all. why: a
 * possessive and a closing quotation mark look alike, and without this one wrong tag would make an error of the whole
 * sentence.
 */
static void mend_quotes(tfm_parse *test, tfm_parse *gold)
{
    for (uint32_t i = 0; i < test->n_words; i++)
        for (uint32_t j = 0; test->words[i].quote && j < gold->n_words && gold->words[j].place <= test->words[i].place;
             j++) {
            tfm_parse_word *t = &test->words[i], *g = &gold->words[j];

            if (!g->quote || g->place != t->place || g->deleted == t->deleted) continue;
            tfm_parse *const side = g->deleted ? gold : test;
            (g->deleted ? g : t)->deleted = false;
            tfm_parse_count_words(side);
        }
}

static uint32_t next_counted(const tfm_parse *p, uint32_t word)
{
    while (word < p->n_words && p->words[word].deleted) word++;
    return word;
}

/* Compares the words, of which both have as many; counts tags that are right. */
static bool compare_words(const tfm_parseval_state *s, uint32_t *tags)
{
    const tfm_parse *t = &s->test, *g = &s->gold;

    for (uint32_t i = next_counted(t, 0), j = next_counted(g, 0); i < t->n_words;
         i = next_counted(t, i + 1), j = next_counted(g, j + 1)) {
        if (!tfm_label_same(&s->rules.words, t->words[i].word, g->words[j].word)) return false;
        *tags += tfm_label_same(&s->rules.labels, t->words[i].tag, g->words[j].tag);
    }
    return true;
}

/* Takes the first bracket of the test that a gold one is equal to. */
static bool match(tfm_parseval_state *s, const tfm_parse_bracket *g)
{
    for (tfm_parse_bracket *t = s->test.brackets; t < s->test.brackets + s->test.n_brackets; t++) {
        if (t->state != TFM_BRACKET_FREE || t->start != g->start || t->end != g->end) continue;
        if (s->rules.labelled && !tfm_label_same(&s->rules.labels, g->label, t->label)) continue;
        t->state = TFM_BRACKET_MATCHED;
        return true;
    }
    return false;
}

static bool cross(const tfm_parse_bracket *a, const tfm_parse_bracket *b)
{
    return (a->start < b->start && b->start < a->end && a->end < b->end) ||
           (b->start < a->start && a->start < b->end && b->end < a->end);
}

static bool crosses_any(const tfm_parse_bracket *t, const tfm_parse *gold)
{
    for (const tfm_parse_bracket *g = gold->brackets; g < gold->brackets + gold->n_brackets; g++)
        if (g->state != TFM_BRACKET_DELETED && cross(t, g)) return true;
    return false;
}

static void compare_brackets(tfm_parseval_state *s, tfm_parseval_row *row)
{
    const tfm_parse *t = &s->test, *g = &s->gold;

    row->test = tfm_parse_settle(&s->test, &s->rules);
    row->gold = tfm_parse_settle(&s->gold, &s->rules);
    for (uint32_t i = 0; i < g->n_brackets; i++)
        row->matched += g->brackets[i].state == TFM_BRACKET_FREE && match(s, &g->brackets[i]);
    for (uint32_t i = 0; i < t->n_brackets; i++)
        row->crossing += t->brackets[i].state != TFM_BRACKET_DELETED && crosses_any(&t->brackets[i], g);
}

static uint32_t compare(tfm_parseval_state *s, tfm_parseval_row *row, tfm_text test, tfm_text gold)
{
    const tfm_parse_fault g = tfm_parse_read(&s->gold, gold, &s->rules), t = tfm_parse_read(&s->test, test, &s->rules);
    uint32_t tags = 0;

    row->length = s->gold.length;
    if (g == TFM_PARSE_TOO_LARGE || t == TFM_PARSE_TOO_LARGE) return TFM_PARSEVAL_TOO_LARGE;
    if (g != TFM_PARSE_FINE) return TFM_PARSEVAL_BAD_GOLD;
    if (t != TFM_PARSE_FINE) return TFM_PARSEVAL_BAD_PARSE;
    if (!s->test.n_counted) return TFM_PARSEVAL_NO_WORDS;
    if (s->test.n_counted != s->gold.n_counted) mend_quotes(&s->test, &s->gold);
    if (s->test.n_counted != s->gold.n_counted) return TFM_PARSEVAL_OTHER_LENGTH;
    if (!compare_words(s, &tags)) return TFM_PARSEVAL_OTHER_WORDS;
    row->words = s->gold.n_counted;
    row->tags = tags;
    compare_brackets(s, row);
    return TFM_PARSEVAL_VALID;
}

void tfm_parseval_compare(tfm_parseval_state *state, tfm_parseval_row *row, tfm_text test, tfm_text gold)
{
    *row = (tfm_parseval_row){0};
    row->status = compare(state, row, test, gold);
}

void tfm_parseval_add(tfm_parseval_result *r, const tfm_parseval_row *row, const tfm_parse_rules *rules)
{
    for (int part = 0; part <= (row->length <= rules->cutoff); part++) {
        const bool valid = row->status == TFM_PARSEVAL_VALID;

        r->sentences[part]++;
        r->skipped[part] += row->status == TFM_PARSEVAL_NO_WORDS;
        r->errors[part] += !valid && row->status != TFM_PARSEVAL_NO_WORDS;
        r->matched_brackets[part] += row->matched;
        r->gold_brackets[part] += row->gold;
        r->test_brackets[part] += row->test;
        r->crossing_brackets[part] += row->crossing;
        r->words[part] += row->words;
        r->tags[part] += row->tags;
        r->complete_sentences[part] += valid && row->gold == row->test && row->test == row->matched;
        r->uncrossed_sentences[part] += valid && row->crossing == NO_CROSSING;
        r->little_crossed_sentences[part] += valid && row->crossing <= FEW_CROSSING;
    }
}

static double ratio(double scale, uint64_t part, uint64_t whole)
{
    return whole ? scale * (double)part / (double)whole : 0;
}

void tfm_parseval_finish(tfm_parseval_result *r, const tfm_parse_rules *rules)
{
    for (int part = 0; part < 2; part++) {
        const uint64_t valid = r->sentences[part] - r->errors[part] - r->skipped[part];

        const double recall = ratio(100, r->matched_brackets[part], r->gold_brackets[part]);
        const double precision = ratio(100, r->matched_brackets[part], r->test_brackets[part]);
        r->recall[part] = recall;
        r->precision[part] = precision;
        r->f1[part] = r->matched_brackets[part] ? 2 * precision * recall / (precision + recall) : 0;
        r->complete[part] = ratio(100, r->complete_sentences[part], valid);
        r->crossing[part] = ratio(1, r->crossing_brackets[part], valid);
        r->uncrossed[part] = ratio(100, r->uncrossed_sentences[part], valid);
        r->little_crossed[part] = ratio(100, r->little_crossed_sentences[part], valid);
        r->tagging[part] = ratio(100, r->tags[part], r->words[part]);
    }
    r->cutoff = rules->cutoff;
    snprintf(r->signature, sizeof r->signature,
             "nrefs:1|labels:%s|cutoff:%u|prm:%016" PRIx64 "|version:libtransformer-%d.%d.%d",
             rules->labelled ? "yes" : "no", rules->cutoff, rules->digest, TFM_VERSION_MAJOR, TFM_VERSION_MINOR,
             TFM_VERSION_PATCH);
}
