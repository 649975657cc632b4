/* Alignments: of a decoder's results and pairs, their words, and links as text. */
#include "api/decoder_handle.h"
#include "api/line_words.h"
#include "base/arithmetic.h"

#include <math.h>
#include <stdio.h>

enum { MOST_CELLS = 1 << 24 }; /* of a result in parts: mostly zeros, so a limit of its own */

tfm_status tfm_aligner_create(tfm_aligner *a, tfm_workspace *workspace, const tfm_allocator *allocator,
                              tfm_error *error)
{
    a->text.allocator = a->joined.allocator = a->results.allocator = a->given.allocator = *allocator;
    return tfm_score_create(&a->score, workspace, error);
}

void tfm_aligner_free(tfm_aligner *a)
{
    const tfm_allocator allocator = a->text.allocator;

    tfm_score_free(a->score);
    tfm_free(&allocator, a->pairs, a->pair_capacity, sizeof *a->pairs);
    tfm_free(&allocator, a->words, a->word_capacity, sizeof *a->words);
    tfm_free(&allocator, a->source_words, a->source_word_capacity, sizeof *a->source_words);
    tfm_buffer_free(&a->text);
    tfm_matrices_free(&a->joined);
    tfm_matrices_free(&a->results);
    tfm_matrices_free(&a->given);
}

static void add_token(float *to, const tfm_side_words *source, const float *weights)
{
    for (size_t j = 0; j < source->n_tokens; j++)
        if (source->of[j] != TFM_NO_WORD) to[source->of[j]] += weights[j];
}

/* The mean over a target word's tokens, which follow each other but for those of no word, of the sums over source
 * words: to [target][source]. */
static void fill_words(float *to, const tfm_side_words *target, const tfm_side_words *source, const float *weights)
{
    for (size_t i = 0; i < target->n * source->n; i++) to[i] = 0.0f;
    for (size_t i = 0; i < target->n_tokens;) {
        const uint32_t word = target->of[i];
        float *row = to + word * source->n, n = 0.0f;
        if (word == TFM_NO_WORD) i++;
        for (; word != TFM_NO_WORD && i < target->n_tokens; i++) {
            if (target->of[i] == TFM_NO_WORD) continue;
            if (target->of[i] != word) break;
            add_token(row, source, weights + i * source->n_tokens);
            n++;
        }
        for (size_t j = 0; word != TFM_NO_WORD && j < source->n; j++) row[j] /= n;
    }
}

/* Words of pair number i; weights: of its tokens, if they are aligned. false: no memory. */
static bool put_words(tfm_matrices *m, size_t i, const tfm_side_words *target, const tfm_side_words *source,
                      const float *weights)
{
    size_t rows, cols;

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
    size_t rows, cols;

    for (size_t i = 0; room && i < n; i++) {
        const tfm_side_words source = words_of(&d->sources, i), target = words_of(&d->targets, i);
        room = put_words(&d->aligner.given, i, &target, &source, tfm_score_alignment(d->score, i, &rows, &cols));
    }
    if (room) return TFM_OK;
    tfm_score_clear(d->score);
    return no_memory(n, error);
}

/* The results of all sources, by number. */
static tfm_status align_tokens(tfm_decoder *d, const tfm_ids *sources, size_t n_sources, tfm_error *error)
{
    tfm_aligner *a = &d->aligner;
    const size_t n = tfm_search_hypotheses(d->search);
    tfm_hypothesis h;

    if (!n) return TFM_OK;
    if (!tfm_grow(&d->allocator, &a->pairs, &a->pair_capacity, 2 * n, sizeof *a->pairs)) return no_memory(n, error);
    for (size_t i = 0; i < 2 * n; i++) a->pairs[i] = (tfm_ids){NULL, 0};
    for (size_t s = 0; s < n_sources; s++)
        for (size_t rank = 0; tfm_search_get(d->search, s, rank, &h); rank++) {
            a->pairs[h.number] = sources[s];
            a->pairs[n + h.number] = h.ids;
        }
    return tfm_score_align(a->score, a->pairs, a->pairs + n, n, error);
}

/* The sources that a sentence was translated as. */
typedef struct span {
    size_t first, end;
} span;

static span sources_of(const tfm_decoder *d, size_t sentence)
{
    const tfm_parts *p = &d->parts;

    return p->n ? (span){p->first[sentence], p->first[sentence + 1]} : (span){sentence, sentence + 1};
}

static void shift(uint32_t *words, size_t n, size_t by)
{
    for (size_t i = 0; i < n; i++)
        if (words[i] != TFM_NO_WORD) words[i] += (uint32_t)by;
}

static bool has_language(const tfm_parts *parts, size_t part)
{
    return parts->n && parts->languages[part] >= 0;
}

/* Words of the line; its parts' tokens are one behind the other, that of its language being of its first word. */
static tfm_status source_words(tfm_side_words *out, tfm_decoder *d, span parts, tfm_text line, tfm_error *error)
{
    tfm_aligner *a = &d->aligner;
    size_t n = 0;

    *out = words_of(&d->sources, parts.first);
    if (parts.end - parts.first == 1 && !has_language(&d->parts, parts.first)) return TFM_OK;
    for (size_t i = parts.first; i < parts.end; i++) n += d->sources.lines[i].size;
    if (!tfm_grow(&d->allocator, &a->source_words, &a->source_word_capacity, n, sizeof *a->source_words))
        return no_memory(1, error);
    *out = (tfm_side_words){tfm_count_words(line), 0, a->source_words};
    for (size_t i = parts.first; i < parts.end; i++) {
        const tfm_side_words part = words_of(&d->sources, i);
        uint32_t *to = a->source_words + out->n_tokens;
        memcpy(to, part.of, part.n_tokens * sizeof *to);
        shift(to, part.n_tokens, tfm_words_before(line, (size_t)(d->parts.texts[i].data - line.data)));
        if (has_language(&d->parts, i)) to[0] = 0;
        out->n_tokens += part.n_tokens;
    }
    return TFM_OK;
}

/* Words of a result's text; those of its parts come as tfm_decoder_append_part() joined them. */
static tfm_status target_words(tfm_side_words *out, tfm_decoder *d, span parts, size_t rank, const tfm_hypothesis *h,
                               tfm_error *error)
{
    tfm_aligner *a = &d->aligner;
    const int32_t end = tfm_config_end(&d->model->weights.options, false);
    const tfm_span all = d->spans[h->number];
    const tfm_text text = {d->text + all.first, all.size};
    tfm_status status = TFM_OK;
    tfm_hypothesis part;
    size_t at = 0;

    if (!tfm_grow(&d->allocator, &a->words, &a->word_capacity, h->ids.size, sizeof *a->words))
        return no_memory(1, error);
    *out = (tfm_side_words){tfm_count_words(text), 0, a->words};
    for (size_t i = parts.first; !status && i < parts.end; i++) {
        if (!tfm_search_get(d->search, i, rank, &part)) continue;
        const tfm_span own = d->spans[part.number];
        const size_t size = own.size;
        uint32_t *to = a->words + out->n_tokens;
        tfm_ids ids = part.ids;
        status = tfm_decoder_known_ids(d, &ids, error);
        if (!status) status = tfm_words_of_ids(to, d->model->tokenizer, ids, end, (tfm_text){d->text + own.first, size}, &a->text, error);
        if (at && size && tfm_parts_spaced(&d->parts, i)) at++;
        shift(to, ids.size, tfm_words_before(text, at));
        at += size;
        out->n_tokens += ids.size;
    }
    return status;
}

/* Tokens of a result in parts: each is aligned with those of its own part alone. false: no memory. */
static bool join_tokens(tfm_decoder *d, span parts, size_t rank, size_t number, size_t rows, size_t cols)
{
    tfm_aligner *a = &d->aligner;
    size_t row = 0, col = 0, n, m, cells;
    tfm_hypothesis h;

    if (!tfm_mul(rows, cols, &cells) || cells > MOST_CELLS) return true;
    if (!tfm_matrices_add(&a->joined, number, rows, cols)) return false;
    float *to = tfm_matrices_get(&a->joined, number, &rows, &cols);
    for (size_t i = 0; i < cells; i++) to[i] = 0.0f;
    for (size_t i = parts.first; i < parts.end; i++, col += m) {
        const float *from =
            tfm_search_get(d->search, i, rank, &h) ? tfm_score_alignment(a->score, h.number, &n, &m) : NULL;
        m = d->sources.lines[i].size;
        for (size_t j = 0; from && j < n; j++, row++) memcpy(to + row * cols + col, from + j * m, m * sizeof *to);
    }
    return true;
}

static const float *token_weights(const tfm_decoder *d, size_t number, size_t *rows, size_t *cols)
{
    const float *joined = tfm_matrices_get(&d->aligner.joined, number, rows, cols);

    return joined ? joined : tfm_score_alignment(d->aligner.score, number, rows, cols);
}

static tfm_status align_words(tfm_decoder *d, span parts, size_t rank, const tfm_hypothesis *h,
                              const tfm_side_words *from, tfm_text line, tfm_error *error)
{
    tfm_aligner *a = &d->aligner;
    tfm_ids ids = h->ids;
    tfm_side_words to;
    size_t rows, cols;

    if (!ids.size) return TFM_OK;
    tfm_status status = target_words(&to, d, parts, rank, h, error);
    if (status) return status;
    if (parts.end - parts.first > 1 && !join_tokens(d, parts, rank, h->number, to.n_tokens, from->n_tokens))
        return no_memory(1, error);
    if (!put_words(&a->results, h->number, &to, from, token_weights(d, h->number, &rows, &cols)))
        return no_memory(1, error);
    if (!d->options.replace_unknown) return TFM_OK;
    status = tfm_decoder_known_ids(d, &ids, error);
    return status ? status : tfm_decoder_copy_unknown(d, h->number, ids, a->words, line, error);
}

static tfm_status align_all_words(tfm_decoder *d, const tfm_request *request, tfm_error *error)
{
    const size_t n = tfm_search_hypotheses(d->search);
    tfm_status status = TFM_OK;
    tfm_side_words from;
    tfm_hypothesis h;

    if (!tfm_matrices_begin(&d->aligner.results, n) || !tfm_matrices_begin(&d->aligner.joined, n))
        return no_memory(n, error);
    for (size_t s = 0; !status && s < request->n; s++) {
        const span parts = sources_of(d, s);
        status = source_words(&from, d, parts, request->lines[s], error);
        for (size_t rank = 0; !status && tfm_decoder_get(d, s, rank, &h); rank++)
            status = align_words(d, parts, rank, &h, &from, request->lines[s], error);
    }
    return status;
}

void tfm_decoder_clear_alignments(tfm_decoder *d)
{
    d->aligner.results.n = d->aligner.joined.n = 0;
    tfm_score_clear(d->aligner.score);
}

tfm_status tfm_decoder_align(tfm_decoder *d, const tfm_request *request, const tfm_ids *sources, size_t n_sources,
                             tfm_error *error)
{
    tfm_status status;

    status = align_tokens(d, sources, n_sources, error);
    if (!status && request->lines) status = align_all_words(d, request, error);
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
    if (unit == TFM_ALIGNMENT_TOKENS) return token_weights(decoder, h.number, s.rows, s.cols);
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
