/* Alignments: of a decoder's results and pairs, their words, and links as text. */
#include "api/decoder_handle.h"
#include "api/line_words.h"
#include "base/arithmetic.h"

#include <math.h>
#include <stdio.h>

tfm_status tfm_aligner_create(tfm_aligner *a, tfm_workspace *workspace, const tfm_allocator *allocator,
                              tfm_error *error)
{
    a->text.allocator = a->results.allocator = a->given.allocator = *allocator;
    return tfm_score_create(&a->score, workspace, error);
}

void tfm_aligner_free(tfm_aligner *a)
{
    const tfm_allocator allocator = a->text.allocator;

    tfm_score_free(a->score);
    tfm_free(&allocator, a->pairs, a->pair_capacity, sizeof *a->pairs);
    tfm_free(&allocator, a->words, a->word_capacity, sizeof *a->words);
    tfm_buffer_free(&a->text);
    tfm_matrices_free(&a->results);
    tfm_matrices_free(&a->given);
}

static void add_token(float *to, const tfm_side_words *source, const float *weights)
{
    for (size_t j = 0; j < source->n_tokens; j++)
        if (source->of[j] != TFM_NO_WORD) to[source->of[j]] += weights[j];
}

/* The mean over a target word's tokens, which follow each other, of the sums over source words: to [target][source]. */
static void fill_words(float *to, const tfm_side_words *target, const tfm_side_words *source, const float *weights)
{
    for (size_t i = 0; i < target->n * source->n; i++) to[i] = 0.0f;
    for (size_t i = 0; i < target->n_tokens;) {
        const uint32_t word = target->of[i];
        const size_t begin = i;
        for (; i < target->n_tokens && target->of[i] == word; i++)
            if (word != TFM_NO_WORD) add_token(to + word * source->n, source, weights + i * source->n_tokens);
        for (size_t j = 0; word != TFM_NO_WORD && j < source->n; j++) to[word * source->n + j] /= (float)(i - begin);
    }
}

/* Words of pair number i, whose tokens are aligned. false: no memory. */
static bool put_words(tfm_matrices *m, size_t i, const tfm_side_words *target, const tfm_side_words *source,
                      const tfm_score *tokens)
{
    size_t rows, cols;
    const float *weights = tfm_score_alignment(tokens, i, &rows, &cols);

    if (!weights) return true;
    if (!tfm_matrices_add(m, i, target->n, source->n)) return false;
    float *to = tfm_matrices_get(m, i, &rows, &cols);
    if (to) fill_words(to, target, source, weights);
    return true;
}

static tfm_side_words words_of(const tfm_encoded *e, size_t line)
{
    const tfm_ids *ids = &e->lines[line];

    return (tfm_side_words){e->n_words[line], ids->size, ids->size ? e->words + (ids->data - e->ids) : NULL};
}

static tfm_status no_memory(size_t n, tfm_error *error)
{
    return tfm_fail(error, TFM_E_NOMEM, "no memory for the alignments of %zu pairs", n);
}

tfm_status tfm_decoder_align_pairs(tfm_decoder *d, tfm_error *error)
{
    const size_t n = d->sources.n;
    bool room = tfm_matrices_begin(&d->aligner.given, n);

    for (size_t i = 0; room && i < n; i++) {
        const tfm_side_words source = words_of(&d->sources, i), target = words_of(&d->targets, i);
        room = put_words(&d->aligner.given, i, &target, &source, d->score);
    }
    if (room) return TFM_OK;
    tfm_score_clear(d->score);
    return no_memory(n, error);
}

/* The source of a sentence, unless its line was split or was not translated. */
static bool whole_source(const tfm_decoder *d, size_t sentence, size_t *source)
{
    *source = tfm_decoder_source(d, sentence);
    return tfm_decoder_parts(d, sentence) == 1;
}

/* Sources and ids of the results of n sentences, by number. */
static tfm_status align_tokens(tfm_decoder *d, const tfm_ids *sources, size_t n_sentences, tfm_error *error)
{
    tfm_aligner *a = &d->aligner;
    const size_t n = tfm_search_hypotheses(d->search);
    size_t source;
    tfm_hypothesis h;

    if (!tfm_grow(&d->allocator, &a->pairs, &a->pair_capacity, 2 * n, sizeof *a->pairs)) return no_memory(n, error);
    for (size_t i = 0; i < 2 * n; i++) a->pairs[i] = (tfm_ids){NULL, 0};
    for (size_t s = 0; s < n_sentences; s++)
        for (size_t rank = 0; whole_source(d, s, &source) && tfm_search_get(d->search, source, rank, &h); rank++) {
            a->pairs[h.number] = sources[source];
            a->pairs[n + h.number] = h.ids;
        }
    return tfm_score_align(a->score, a->pairs, a->pairs + n, n, error);
}

static tfm_status align_words(tfm_decoder *d, size_t source, const tfm_hypothesis *h, tfm_text line, tfm_error *error)
{
    tfm_aligner *a = &d->aligner;
    const int32_t end = tfm_config_end(&d->model->weights.options, false);
    const tfm_side_words from = words_of(&d->sources, source);
    tfm_ids ids = h->ids;
    tfm_status status = tfm_decoder_known_ids(d, &ids, error);

    if (status) return status;
    if (!tfm_grow(&d->allocator, &a->words, &a->word_capacity, ids.size, sizeof *a->words)) return no_memory(1, error);
    status = tfm_words_of_ids(a->words, d->model->tokenizer, ids, end, &a->text, error);
    if (status) return status;
    const tfm_text text = {a->text.data, ids.size ? a->text.size : 0};
    const tfm_side_words to = {tfm_count_words(text), ids.size, a->words};
    if (!put_words(&a->results, h->number, &to, &from, a->score)) return no_memory(1, error);
    if (!d->options.replace_unknown) return TFM_OK;
    return tfm_decoder_copy_unknown(d, h->number, ids, a->words, line, error);
}

static tfm_status align_all_words(tfm_decoder *d, size_t n_sentences, const tfm_text *lines, tfm_error *error)
{
    const size_t n = tfm_search_hypotheses(d->search);
    size_t source;
    tfm_status status = TFM_OK;
    tfm_hypothesis h;

    if (!tfm_matrices_begin(&d->aligner.results, n)) return no_memory(n, error);
    for (size_t s = 0; s < n_sentences; s++)
        for (size_t rank = 0; !status && whole_source(d, s, &source) && tfm_search_get(d->search, source, rank, &h);
             rank++)
            status = align_words(d, source, &h, lines[s], error);
    return status;
}

void tfm_decoder_clear_alignments(tfm_decoder *d)
{
    d->aligner.results.n = 0;
    tfm_score_clear(d->aligner.score);
}

tfm_status tfm_decoder_align(tfm_decoder *d, size_t n, const tfm_ids *sources, const tfm_text *lines, tfm_error *error)
{
    tfm_status status;

    status = align_tokens(d, sources, n, error);
    if (!status && lines) status = align_all_words(d, n, lines, error);
    if (status) tfm_search_clear(d->search);
    return status;
}

/* -------------------------------------------------------------------------------------------------- results ---- */

/* Where rows and cols of what is not there go to, too. */
typedef struct shape {
    size_t *rows, *cols, nowhere[2];
} shape;

static void shape_begin(shape *s, size_t *rows, size_t *cols)
{
    s->rows = rows ? rows : &s->nowhere[0];
    s->cols = cols ? cols : &s->nowhere[1];
    *s->rows = *s->cols = 0;
}

const float *tfm_decoder_alignment(const tfm_decoder *decoder, size_t sentence, size_t rank, uint32_t unit,
                                   size_t *rows, size_t *cols)
{
    tfm_hypothesis h;
    shape s;

    shape_begin(&s, rows, cols);
    if (!decoder || decoder->options.alignment == TFM_ALIGNMENT_NONE ||
        !tfm_decoder_get(decoder, sentence, rank, &h))
        return NULL;
    if (unit == TFM_ALIGNMENT_TOKENS) return tfm_score_alignment(decoder->aligner.score, h.number, s.rows, s.cols);
    if (unit == TFM_ALIGNMENT_WORDS) return tfm_matrices_get(&decoder->aligner.results, h.number, s.rows, s.cols);
    return NULL;
}

const float *tfm_decoder_pair_alignment(const tfm_decoder *decoder, size_t pair, uint32_t unit, size_t *rows,
                                        size_t *cols)
{
    shape s;
    size_t n;

    shape_begin(&s, rows, cols);
    if (!decoder || !tfm_score_tokens(decoder->score, pair, &n)) return NULL;
    if (unit == TFM_ALIGNMENT_TOKENS) return tfm_score_alignment(decoder->score, pair, s.rows, s.cols);
    if (unit == TFM_ALIGNMENT_WORDS) return tfm_matrices_get(&decoder->aligner.given, pair, s.rows, s.cols);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------- links ---- */

typedef struct link_text {
    char *text;
    size_t capacity, size;
} link_text;

static void put_link(link_text *to, size_t source, size_t target)
{
    char link[48];
    const size_t n = (size_t)snprintf(link, sizeof link, "%s%zu-%zu", to->size ? " " : "", source, target);

    for (size_t i = 0; i < n; i++, to->size++)
        if (to->size < to->capacity) to->text[to->size] = link[i];
}

size_t tfm_alignment_best(const float *row, size_t cols)
{
    size_t best = cols;

    for (size_t j = 0; j < cols; j++)
        if (row[j] > (best < cols ? row[best] : 0.0f)) best = j;
    return best;
}

tfm_status tfm_alignment_links(char *text, size_t capacity, size_t *size, const float *weights, size_t rows,
                               size_t cols, float threshold, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    link_text to = {text, capacity, 0};

    if (!size || (!text && capacity)) return tfm_fail(error, TFM_E_INVALID, "%s is NULL", size ? "text" : "size");
    if (!weights && rows && cols) return tfm_fail(error, TFM_E_INVALID, "weights is NULL, of %zu x %zu", rows, cols);
    if (!(threshold >= 0.0f && threshold <= 1.0f))
        return tfm_fail(error, TFM_E_INVALID, "threshold is %g, not in 0..1", (double)threshold);
    for (size_t i = 0; i < rows; i++) {
        const float *row = weights + i * cols;
        const size_t best = tfm_alignment_best(row, cols);
        for (size_t j = 0; j < cols; j++)
            if (threshold > 0.0f ? row[j] >= threshold : j == best) put_link(&to, j, i);
    }
    *size = to.size;
    return TFM_OK;
}
