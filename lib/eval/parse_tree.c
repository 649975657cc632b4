#include "eval/parse_tree.h"

#include "base/utf8.h"

static void skip_spaces(tfm_text *rest)
{
    size_t n = 0;

    while (n < rest->size && tfm_parse_is_space(rest->data[n])) n++;
    *rest = tfm_text_from(*rest, n);
}

/* What stands before white space or a bracket. */
static tfm_text take_token(tfm_text *rest)
{
    size_t n = 0;

    while (n < rest->size && !tfm_parse_is_space(rest->data[n]) && rest->data[n] != '(' && rest->data[n] != ')') n++;
    const tfm_text token = {rest->data, n};
    *rest = tfm_text_from(*rest, n);
    return token;
}

static bool is_mark(tfm_text word)
{
    return word.size == 1 && memchr("'\"/", word.data[0], 3);
}

static tfm_parse_fault add_word(tfm_parse *p, tfm_text tag, tfm_text word, const tfm_parse_rules *rules)
{
    if (p->n_words == TFM_PARSE_MOST) return TFM_PARSE_TOO_LARGE;
    p->words[p->n_words++] = (tfm_parse_word){.word = word,
                                              .tag = tag,
                                              .deleted = tfm_label_in(&rules->deleted, tag),
                                              .quote = is_mark(word) && tfm_label_in(&rules->quotes, tag)};
    p->length += !tfm_label_in(&rules->not_in_length, tag);
    return TFM_PARSE_FINE;
}

static tfm_parse_fault open_bracket(tfm_parse *p, uint32_t *inner, tfm_text label)
{
    if (p->n_brackets == TFM_PARSE_MOST) return TFM_PARSE_TOO_LARGE;
    p->brackets[p->n_brackets] = (tfm_parse_bracket){.label = label, .start = p->n_words, .outer = *inner};
    *inner = p->n_brackets++;
    return TFM_PARSE_FINE;
}

static tfm_parse_fault close_bracket(tfm_parse *p, uint32_t *inner)
{
    if (*inner == TFM_PARSE_MOST) return TFM_PARSE_MALFORMED;
    p->brackets[*inner].end = p->n_words;
    *inner = p->brackets[*inner].outer;
    return TFM_PARSE_FINE;
}

/* What follows "(": a tag with its word and ")", or the label of a constituent, of which "(" or ")" is next. */
static tfm_parse_fault open_any(tfm_parse *p, uint32_t *inner, tfm_text *rest, const tfm_parse_rules *rules)
{
    const tfm_text label = take_token(rest);
    const bool apart = rest->size && tfm_parse_is_space(rest->data[0]);

    if (!apart) return open_bracket(p, inner, label);
    skip_spaces(rest);
    const tfm_text word = take_token(rest);
    if (rest->size && rest->data[0] == ')') {
        *rest = tfm_text_from(*rest, 1);
        return add_word(p, label, word, rules);
    }
    return word.size ? TFM_PARSE_MALFORMED : open_bracket(p, inner, label);
}

tfm_parse_fault tfm_parse_read(tfm_parse *p, tfm_text line, const tfm_parse_rules *rules)
{
    tfm_parse_fault fault = TFM_PARSE_FINE;
    uint32_t inner = TFM_PARSE_MOST; /* the bracket that is open */

    p->n_words = p->n_brackets = p->length = 0;
    for (skip_spaces(&line); line.size && fault == TFM_PARSE_FINE; skip_spaces(&line)) {
        const char c = line.data[0];
        line = tfm_text_from(line, 1);
        if (c == '(') fault = open_any(p, &inner, &line, rules);
        else fault = c == ')' ? close_bracket(p, &inner) : TFM_PARSE_MALFORMED;
    }
    if (fault == TFM_PARSE_FINE && inner != TFM_PARSE_MOST) fault = TFM_PARSE_MALFORMED;
    tfm_parse_count_words(p);
    return fault;
}

void tfm_parse_count_words(tfm_parse *p)
{
    p->n_counted = 0;
    for (uint32_t w = 0; w < p->n_words; w++) {
        p->words[w].place = p->n_counted;
        p->n_counted += !p->words[w].deleted;
    }
}

static uint32_t place_of(const tfm_parse *p, uint32_t word)
{
    return word < p->n_words ? p->words[word].place : p->n_counted;
}

/* "NP-SBJ" and "NP=2" are NP. */
static tfm_text without_function(tfm_text label)
{
    size_t n = 0;

    while (n < label.size && label.data[n] != '-' && label.data[n] != '=') n++;
    return (tfm_text){label.data, n};
}

static bool is_deleted(const tfm_parse_bracket *b, const tfm_parse_rules *rules)
{
    if (b->start == b->end) return true;
    for (size_t i = 0; i < rules->deleted.n; i++)
        if (tfm_label_same(&rules->labels, b->label, rules->deleted.item[i])) return true;
    return false;
}

uint32_t tfm_parse_settle(tfm_parse *p, const tfm_parse_rules *rules)
{
    uint32_t n = 0;

    for (tfm_parse_bracket *b = p->brackets; b < p->brackets + p->n_brackets; b++) {
        b->start = place_of(p, b->start);
        b->end = place_of(p, b->end);
        b->label = without_function(b->label);
        b->state = is_deleted(b, rules) ? TFM_BRACKET_DELETED : TFM_BRACKET_FREE;
        n += b->state == TFM_BRACKET_FREE;
    }
    return n;
}
