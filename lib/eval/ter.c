#include "eval/ter.h"

#include "eval/edit_distance.h"
#include "eval/ngrams.h"

#include <math.h>
#include <stdio.h>

/* Of tercom: longest shift, how far apart its places may be, and how many shifts are tried for a sentence. */
enum { MAX_SHIFT = 10, MAX_DISTANCE = 50, MAX_TRIALS = 1000 };

enum { EDITS, REF_LENGTH, STATS };

typedef struct words {
    uint32_t *ids;
    size_t n, capacity;
} words;

typedef struct judge {
    tfm_ter_options options;
    tfm_allocator allocator;
    tfm_line line;
    tfm_ngrams ids; /* gives words numbers */
    tfm_edits edits;
    words hyp, ref, trial;
    /* How the hypothesis lies beside the reference: for each word of the reference the word of the hypothesis, or the
     * one before it where it has none (-1: none before); and which words are wrong. */
    int32_t *place;
    uint8_t *hyp_wrong, *ref_wrong;
    size_t place_capacity, hyp_wrong_capacity, ref_wrong_capacity;
    bool bad;
} judge;

/* Words from .. from + n of the hypothesis go to before its word to. */
typedef struct shift {
    size_t from, n, to;
} shift;

tfm_ter_options tfm_ter_defaults(void)
{
    return (tfm_ter_options){.struct_size = sizeof(tfm_ter_options)};
}

static bool room(judge *j, words *w, size_t n)
{
    if (!tfm_grow(&j->allocator, &w->ids, &w->capacity, n ? n : 1, sizeof *w->ids)) j->bad = true;
    else w->n = n;
    return !j->bad;
}

static void read_words(judge *j, words *w, tfm_text text)
{
    tfm_ter_tokenize(&j->line, text, &j->options);
    const size_t n = tfm_ngrams_tokens(&j->ids, tfm_line_text(&j->line), false);

    if (tfm_line_bad(&j->line) || j->ids.bad) j->bad = true;
    if (!j->bad && room(j, w, n) && n) memcpy(w->ids, j->ids.tokens, n * sizeof *w->ids);
}

/* The edits of j->hyp, from its end to its beginning. */
static void align(judge *j)
{
    for (size_t h = j->hyp.n, r = j->ref.n; h || r;) {
        const tfm_edit edit = tfm_edits_at(&j->edits, h, r);

        h -= edit != TFM_EDIT_PUT;
        r -= edit != TFM_EDIT_DROP;
        if (edit != TFM_EDIT_PUT) j->hyp_wrong[h] = edit != TFM_EDIT_KEEP;
        if (edit == TFM_EDIT_DROP) continue;
        j->ref_wrong[r] = edit != TFM_EDIT_KEEP;
        j->place[r] = (int32_t)h - (edit == TFM_EDIT_PUT);
    }
}

static bool any(const uint8_t *wrong, size_t n)
{
    return memchr(wrong, 1, n) != NULL;
}

static void perform(judge *j, const shift *s)
{
    const uint32_t *from = j->hyp.ids;
    uint32_t *to = j->trial.ids;
    const size_t rest = j->hyp.n - s->n; /* words that stay; the shifted ones come before the at-th of them */
    const size_t at = s->to <= s->from ? s->to : s->to > s->from + s->n ? s->to - s->n : s->to < rest ? s->to : rest;

    for (size_t i = 0, out = 0; i <= rest; i++) {
        if (i == at) memcpy(to + out, from + s->from, s->n * sizeof *to), out += s->n;
        if (i < rest) to[out++] = from[i < s->from ? i : i + s->n];
    }
}

/* Higher gain, then more words, then from nearer the beginning, then to nearer the beginning. */
static bool is_better(const shift *s, size_t s_edits, const shift *than, size_t than_edits)
{
    if (!than->n || s_edits != than_edits) return !than->n || s_edits < than_edits;
    if (s->n != than->n) return s->n > than->n;
    return s->from != than->from ? s->from < than->from : s->to < than->to;
}

typedef struct search {
    shift best;
    size_t edits;  /* with it */
    size_t trials;
} search;

/* Tries to put n words from h on where those of the reference from r on belong. */
static void try_places(judge *j, search *s, size_t h, size_t r, size_t n)
{
    size_t last = SIZE_MAX;

    for (size_t k = 0; k <= n && r + k <= j->ref.n; k++) { /* before the place of r, then after that of r + k - 1 */
        const size_t at = r + k ? (size_t)(j->place[r + k - 1] + 1) : 0;
        const shift trial = {h, n, at};

        if (at == last) continue;
        last = at;
        perform(j, &trial);
        const size_t edits = tfm_edits_count(&j->edits, j->trial.ids);
        s->trials++;
        if (!is_better(&trial, edits, &s->best, s->edits)) continue;
        s->best = trial;
        s->edits = edits;
    }
}

/* Shifts of words from h on that match the reference from r on. */
static void try_matches(judge *j, search *s, size_t h, size_t r)
{
    for (size_t n = 1; n <= MAX_SHIFT && h + n <= j->hyp.n && r + n <= j->ref.n &&
                       j->hyp.ids[h + n - 1] == j->ref.ids[r + n - 1] && s->trials < MAX_TRIALS;
         n++) {
        const int32_t place = j->place[r];

        if (!any(j->hyp_wrong + h, n) || !any(j->ref_wrong + r, n)) continue;
        if (place >= (int32_t)h && place < (int32_t)(h + n)) continue;
        try_places(j, s, h, r, n);
    }
}

/* Shifts the hypothesis as long as that saves edits; returns their number. */
static size_t shift_words(judge *j, size_t *edits)
{
    search s = {.trials = 0};

    for (size_t shifts = 0;; shifts++) {
        s.best.n = 0;
        *edits = tfm_edits_count(&j->edits, j->hyp.ids);
        align(j);
        for (size_t h = 0; h < j->hyp.n; h++)
            for (size_t r = h > MAX_DISTANCE ? h - MAX_DISTANCE : 0; r < j->ref.n && r <= h + MAX_DISTANCE; r++)
                try_matches(j, &s, h, r);
        if (s.trials >= MAX_TRIALS || !s.best.n || s.edits >= *edits) return shifts;
        perform(j, &s.best);
        const words spare = j->hyp;
        j->hyp = j->trial;
        j->trial = spare;
    }
}

/* Edits and shifts from the hypothesis to one reference. */
static size_t count_edits(judge *j, tfm_text hyp)
{
    size_t edits = 0;

    read_words(j, &j->hyp, hyp);
    if (j->bad || !j->ref.n) return j->hyp.n;
    if (!room(j, &j->trial, j->hyp.n) || !tfm_edits_begin(&j->edits, j->ref.ids, j->ref.n, j->hyp.n) ||
        !tfm_grow(&j->allocator, &j->place, &j->place_capacity, j->ref.n, sizeof *j->place) ||
        !tfm_grow(&j->allocator, &j->ref_wrong, &j->ref_wrong_capacity, j->ref.n, 1) ||
        !tfm_grow(&j->allocator, &j->hyp_wrong, &j->hyp_wrong_capacity, j->hyp.n + 1, 1)) {
        j->bad = true;
        return 0;
    }
    const size_t shifts = shift_words(j, &edits);
    return shifts + edits;
}

/* Of several references the fewest edits count, and the mean length. */
static bool add(void *state, double *stats, tfm_text hyp, const tfm_text *refs, size_t n_refs)
{
    judge *j = state;
    double fewest = INFINITY, length = 0;

    tfm_ngrams_clear(&j->ids);
    for (size_t r = 0; r < n_refs && !j->bad; r++) {
        read_words(j, &j->ref, refs[r]);
        if (j->bad) break;
        const double edits = (double)count_edits(j, hyp);
        if (edits < fewest) fewest = edits;
        length += (double)j->ref.n;
    }
    stats[EDITS] += fewest;
    stats[REF_LENGTH] += length / (double)n_refs;
    return !j->bad;
}

static double score(const void *state, const double *stats)
{
    (void)state;
    if (stats[REF_LENGTH] > 0) return 100 * stats[EDITS] / stats[REF_LENGTH];
    return stats[EDITS] > 0 ? 100 : 0;
}

static void sign(const void *state, char out[TFM_SIGNATURE], const char *refs)
{
    const tfm_ter_options *o = &((const judge *)state)->options;

    snprintf(out, TFM_SIGNATURE,
             "nrefs:%s|case:%s|tok:tercom|norm:%s|punct:%s|asian:%s|version:libtransformer-%d.%d.%d", refs,
             o->case_sensitive ? "mixed" : "lc", o->normalized ? "yes" : "no", o->no_punctuation ? "no" : "yes",
             o->asian_support ? "yes" : "no", TFM_VERSION_MAJOR, TFM_VERSION_MINOR, TFM_VERSION_PATCH);
}

static void free_words(judge *j, words *w)
{
    tfm_free(&j->allocator, w->ids, w->capacity, sizeof *w->ids);
}

static void close(void *state, const tfm_allocator *a)
{
    judge *j = state;

    tfm_line_free(&j->line);
    tfm_ngrams_free(&j->ids);
    tfm_edits_free(&j->edits);
    free_words(j, &j->hyp);
    free_words(j, &j->ref);
    free_words(j, &j->trial);
    tfm_free(a, j->place, j->place_capacity, sizeof *j->place);
    tfm_free(a, j->hyp_wrong, j->hyp_wrong_capacity, 1);
    tfm_free(a, j->ref_wrong, j->ref_wrong_capacity, 1);
    tfm_free(a, j, 1, sizeof *j);
}

static const tfm_metric_kind ter = {STATS, add, score, sign, close};

bool tfm_ter_open(tfm_metric *metric, const tfm_ter_options *options, const tfm_allocator *a)
{
    judge *j = tfm_alloc(a, 1, sizeof *j);

    if (!j) return false;
    *j = (judge){.options = *options, .allocator = *a, .ids.allocator = *a, .edits.allocator = *a};
    tfm_line_init(&j->line, a);
    *metric = (tfm_metric){&ter, j, *a};
    return true;
}
