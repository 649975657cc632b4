/* chrF and TER from their definitions: no tables, no bands, in double; they share no code with lib/eval but the words
 * that TER's tokenizer leaves, which have goldens of their own. */
#ifndef METRIC_ORACLE_H
#define METRIC_ORACLE_H

#include "testing.h"

#include "base/characters.h"
#include "eval/ter.h"

enum { ORACLE_MOST = 2048, ORACLE_CHARS = 6, ORACLE_WORDS = 2, ORACLE_ORDERS = ORACLE_CHARS + ORACLE_WORDS };

/* Words or characters; equal ones have equal bytes. */
typedef struct oracle_tokens {
    tfm_text at[ORACLE_MOST];
    size_t n;
} oracle_tokens;

static bool oracle_same(tfm_text a, tfm_text b)
{
    return a.size == b.size && *a.data == *b.data && !memcmp(a.data, b.data, a.size);
}

static void oracle_add(oracle_tokens *t, const char *data, size_t size)
{
    ck_assert_uint_lt(t->n, ORACLE_MOST);
    if (size) t->at[t->n++] = (tfm_text){data, size};
}

static bool oracle_punctuation(char c)
{
    return c && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c);
}

/* A word with a punctuation mark at its end, else at its beginning, is two: Popovic 2017. */
static void oracle_add_word(oracle_tokens *t, tfm_text word, bool cut)
{
    const size_t first = word.size ? tfm_char_at(word, 0).size : 0;
    size_t head = word.size;

    if (cut && word.size > first) {
        if (oracle_punctuation(word.data[word.size - 1])) head = word.size - 1;
        else if (oracle_punctuation(word.data[0])) head = 1;
    }
    oracle_add(t, word.data, head);
    oracle_add(t, word.data + head, word.size - head);
}

/* cut: as chrF++ cuts them. */
static void oracle_words(oracle_tokens *t, tfm_text line, bool cut)
{
    size_t begin = 0;

    t->n = 0;
    for (size_t pos = 0; pos < line.size;) {
        const tfm_char c = tfm_char_at(line, pos);
        if (tfm_char_is_space(c.code)) {
            oracle_add_word(t, (tfm_text){line.data + begin, pos - begin}, cut);
            begin = pos + c.size;
        }
        pos += c.size;
    }
    oracle_add_word(t, (tfm_text){line.data + begin, line.size - begin}, cut);
}

static void oracle_characters(oracle_tokens *t, tfm_text line)
{
    t->n = 0;
    for (size_t pos = 0, size; pos < line.size; pos += size) {
        const tfm_char c = tfm_char_at(line, pos);
        size = c.size;
        if (!tfm_char_is_space(c.code)) oracle_add(t, line.data + pos, size);
    }
}

/* Pairs of equal n-grams, none of which is in two pairs. */
static double oracle_matches(const oracle_tokens *a, const oracle_tokens *b, size_t n)
{
    static bool taken[ORACLE_MOST];
    double pairs = 0;

    memset(taken, 0, sizeof taken);
    for (size_t i = 0; i + n <= a->n; i++)
        for (size_t j = 0; j + n <= b->n; j++) {
            size_t k = 0;
            if (taken[j]) continue;
            while (k < n && oracle_same(a->at[i + k], b->at[j + k])) k++;
            if (k < n) continue;
            taken[j] = true;
            pairs++;
            break;
        }
    return pairs;
}

/* N-grams of the hypothesis, of the reference, and of both, of each order. */
typedef struct oracle_grams {
    double hyp[ORACLE_ORDERS], ref[ORACLE_ORDERS], both[ORACLE_ORDERS];
} oracle_grams;

static void oracle_count(oracle_grams *g, size_t order, const oracle_tokens *hyp, const oracle_tokens *ref, size_t n)
{
    g->ref[order] = ref->n >= n ? (double)(ref->n - n + 1) : 0;
    g->hyp[order] = hyp->n >= n && g->ref[order] > 0 ? (double)(hyp->n - n + 1) : 0;
    g->both[order] = oracle_matches(hyp, ref, n);
}

/* The F-score of the means of precision and recall over the orders that both have; recall counts twice. */
static double oracle_f(const oracle_grams *g, size_t orders)
{
    double precision = 0, recall = 0, counted = 0;

    for (size_t n = 0; n < orders; n++) {
        if (!(g->hyp[n] > 0 && g->ref[n] > 0)) continue;
        precision += g->both[n] / g->hyp[n];
        recall += g->both[n] / g->ref[n];
        counted++;
    }
    if (!(precision + recall > 0)) return 0;
    return 100 * 5 * (precision / counted) * (recall / counted) / ((4 * precision + recall) / counted);
}

/* refs[r][i]: reference r of hypothesis i; "" is none. words: chrF++. Of a sentence's references the best counts. */
static double oracle_chrf(const tfm_text *hyps, size_t n, const tfm_text *const *refs, size_t n_refs, bool words)
{
    static oracle_tokens hyp, ref;
    const size_t orders = words ? ORACLE_ORDERS : ORACLE_CHARS;
    oracle_grams sum = {0};

    for (size_t i = 0; i < n; i++) {
        oracle_grams best = {0};
        double most = -1;
        for (size_t r = 0; r < n_refs; r++) {
            oracle_grams g;
            if (!refs[r][i].size) continue;
            oracle_characters(&hyp, hyps[i]);
            oracle_characters(&ref, refs[r][i]);
            for (size_t k = 0; k < ORACLE_CHARS; k++) oracle_count(&g, k, &hyp, &ref, k + 1);
            oracle_words(&hyp, hyps[i], true);
            oracle_words(&ref, refs[r][i], true);
            for (size_t k = 0; k < ORACLE_WORDS; k++) oracle_count(&g, ORACLE_CHARS + k, &hyp, &ref, k + 1);
            if (oracle_f(&g, orders) <= most) continue;
            most = oracle_f(&g, orders);
            best = g;
        }
        for (size_t k = 0; k < orders; k++) {
            sum.hyp[k] += best.hyp[k];
            sum.ref[k] += best.ref[k];
            sum.both[k] += best.both[k];
        }
    }
    return oracle_f(&sum, orders);
}

enum { ORACLE_LINE = 320 };

/* How a hypothesis lies beside a reference: the cheapest edits, and what they mean for each word. */
typedef struct oracle_alignment {
    size_t cost[ORACLE_LINE + 1][ORACLE_LINE + 1];
    char edit[ORACLE_LINE + 1][ORACLE_LINE + 1]; /* '=', or 'x': changed, 'd': dropped, 'i': inserted */
    long place[ORACLE_LINE]; /* of each word of the reference; of an inserted one, that of the word before */
    bool hyp_wrong[ORACLE_LINE], ref_wrong[ORACLE_LINE];
} oracle_alignment;

static size_t oracle_edits(oracle_alignment *a, const unsigned *hyp, size_t n, const unsigned *ref, size_t m)
{
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            size_t best = i || j ? SIZE_MAX : 0;
            if (i && j) {
                best = a->cost[i - 1][j - 1] + (hyp[i - 1] != ref[j - 1]);
                a->edit[i][j] = hyp[i - 1] == ref[j - 1] ? '=' : 'x';
            }
            if (i && a->cost[i - 1][j] + 1 < best) best = a->cost[i - 1][j] + 1, a->edit[i][j] = 'd';
            if (j && a->cost[i][j - 1] + 1 < best) best = a->cost[i][j - 1] + 1, a->edit[i][j] = 'i';
            a->cost[i][j] = best;
        }
    return a->cost[n][m];
}

static void oracle_align(oracle_alignment *a, size_t n, size_t m)
{
    while (n || m) {
        const char edit = a->edit[n][m];
        if (edit != 'i') a->hyp_wrong[--n] = edit != '=';
        if (edit == 'd') continue;
        a->ref_wrong[--m] = edit != '=';
        a->place[m] = (long)n - (edit == 'i');
    }
}

/* The words from .. from + n stand before what was word to; within themselves, they go as far to the right. */
static void oracle_shift(unsigned *out, const unsigned *in, size_t length, size_t from, size_t n, size_t to)
{
    size_t put = 0, before = to;

    if (to >= from && to <= from + n) before = to + n < length ? to + n : length;
    for (size_t i = 0; i <= length; i++) {
        if (i == before)
            for (size_t k = 0; k < n; k++) out[put++] = in[from + k];
        if (i < length && (i < from || i >= from + n)) out[put++] = in[i];
    }
    ck_assert_uint_eq(put, length);
}

static bool oracle_any(const bool *wrong, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (wrong[i]) return true;
    return false;
}

/* Makes the shift that saves the most edits; of equal ones that of more words, from further left, to further left. */
static bool oracle_best_shift(unsigned *hyp, size_t n, const unsigned *ref, size_t m, size_t *trials)
{
    static oracle_alignment now, then;
    unsigned shifted[ORACLE_LINE], best[ORACLE_LINE];
    const size_t edits = oracle_edits(&now, hyp, n, ref, m);
    long rank[4] = {0};
    bool any = false;

    oracle_align(&now, n, m);
    for (size_t h = 0; h < n; h++)
        for (size_t r = 0; r < m; r++) {
            if (h > r + 50 || r > h + 50) continue;
            for (size_t k = 1; k <= 10 && h + k <= n && r + k <= m && hyp[h + k - 1] == ref[r + k - 1]; k++) {
                long last = -1;
                if (*trials >= 1000) break;
                if (!oracle_any(now.hyp_wrong + h, k) || !oracle_any(now.ref_wrong + r, k)) continue;
                if (now.place[r] >= (long)h && now.place[r] < (long)(h + k)) continue;
                for (long offset = -1; offset < (long)k; offset++) {
                    const long to = (long)r + offset < 0 ? 0 : now.place[(long)r + offset] + 1;
                    if (to == last) continue;
                    last = to;
                    oracle_shift(shifted, hyp, n, h, k, (size_t)to);
                    const long gain = (long)edits - (long)oracle_edits(&then, shifted, n, ref, m);
                    const long found[4] = {gain, (long)k, -(long)h, -to};
                    size_t differ = 0;
                    ++*trials;
                    while (differ < 4 && any && found[differ] == rank[differ]) differ++;
                    if (differ == 4 || (any && found[differ] < rank[differ])) continue;
                    memcpy(rank, found, sizeof rank);
                    memcpy(best, shifted, sizeof best);
                    any = true;
                }
            }
        }
    if (*trials >= 1000 || !any || rank[0] <= 0) return false;
    memcpy(hyp, best, n * sizeof *hyp);
    return true;
}

/* Equal words have equal numbers. */
static size_t oracle_numbers(unsigned *numbers, tfm_text line, oracle_tokens *known)
{
    static oracle_tokens words;
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_line tokens;

    tfm_line_init(&tokens, &a);
    tfm_ter_tokenize(&tokens, line, &(tfm_ter_options){.struct_size = sizeof(tfm_ter_options)});
    oracle_words(&words, tfm_line_text(&tokens), false);
    ck_assert_uint_le(words.n, ORACLE_LINE);
    for (size_t i = 0; i < words.n; i++) {
        size_t k = 0;
        while (k < known->n && !oracle_same(known->at[k], words.at[i])) k++;
        if (k == known->n) oracle_add(known, strndup(words.at[i].data, words.at[i].size), words.at[i].size);
        numbers[i] = (unsigned)k;
    }
    tfm_line_free(&tokens);
    return words.n;
}

/* The fewest edits and the mean length of a sentence's references, as Snover et al. 2006, searched as tercom does:
 * shifts of at most 10 words over at most 50, 1,000 trials. */
static void oracle_ter_sentence(tfm_text hyp, const tfm_text *const *refs, size_t n_refs, size_t i, double *edits,
                                double *length)
{
    static oracle_alignment end;
    oracle_tokens *known = calloc(1, sizeof *known);
    double fewest = -1, sum = 0, counted = 0;

    for (size_t r = 0; r < n_refs; r++) {
        unsigned h[ORACLE_LINE], words[ORACLE_LINE];
        size_t shifts = 0, trials = 0;
        if (!refs[r][i].size) continue;
        const size_t n = oracle_numbers(h, hyp, known), m = oracle_numbers(words, refs[r][i], known);
        while (m && oracle_best_shift(h, n, words, m, &trials)) shifts++;
        const double these = (double)(shifts + oracle_edits(&end, h, n, words, m));
        if (fewest < 0 || these < fewest) fewest = these;
        sum += (double)m;
        counted++;
    }
    for (size_t k = 0; k < known->n; k++) free((char *)known->at[k].data);
    free(known);
    *edits += fewest;
    *length += sum / counted;
}

static double oracle_ter(const tfm_text *hyps, size_t n, const tfm_text *const *refs, size_t n_refs)
{
    double edits = 0, length = 0;

    for (size_t i = 0; i < n; i++) oracle_ter_sentence(hyps[i], refs, n_refs, i, &edits, &length);
    return 100 * edits / length;
}

/* chrF, chrF++ and TER of the library are those of the definitions. */
static void oracle_check(const tfm_text *hyps, size_t n, const tfm_text *const *refs, size_t n_refs)
{
    tfm_chrf_options plus;
    tfm_metric_result r;
    tfm_error error;

    tfm_chrf_options_init(&plus, sizeof plus);
    plus.word_order = ORACLE_WORDS;
    ck_assert_ok(tfm_chrf(&r, sizeof r, hyps, n, refs, n_refs, NULL, &error), error);
    ck_assert_double_eq_tol(r.score, oracle_chrf(hyps, n, refs, n_refs, false), 1e-9);
    ck_assert_ok(tfm_chrf(&r, sizeof r, hyps, n, refs, n_refs, &plus, &error), error);
    ck_assert_double_eq_tol(r.score, oracle_chrf(hyps, n, refs, n_refs, true), 1e-9);
    ck_assert_ok(tfm_ter(&r, sizeof r, hyps, n, refs, n_refs, NULL, &error), error);
    ck_assert_double_eq_tol(r.score, oracle_ter(hyps, n, refs, n_refs), 1e-9);
}

#endif
