/* Minimum length, forbidden sequences, no repeated n-grams, the repetition penalty. */
#include "decode/masks.h"

#include <math.h>
#include <stdlib.h>

static void mask(float *logits, size_t first, size_t n, int32_t token)
{
    const size_t i = (size_t)token - first; /* wraps when the token stands before */

    if (i < n) logits[i] = -INFINITY;
}

static void keep_going(const tfm_masks *m, const tfm_past *past, float *logits, size_t first, size_t n)
{
    if (past->length + 1 < past->min_length) mask(logits, first, n, m->eos);
}

/* Do the last tokens of the past equal these? */
static bool ends_with(const tfm_past *past, const int32_t *tail, size_t n)
{
    return n <= past->ids.size && (!n || !memcmp(past->ids.data + past->ids.size - n, tail, n * sizeof *tail));
}

static int32_t last_of(const tfm_ids *sequence)
{
    return sequence->data[sequence->size - 1];
}

/* The first sequence whose last token is not below. */
static size_t first_from(const tfm_masks *m, size_t token)
{
    size_t low = 0, high = m->options->n_forbidden;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((size_t)last_of(&m->forbidden[middle]) < token) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void forbid(const tfm_masks *m, const tfm_past *past, float *logits, size_t first, size_t n)
{
    for (size_t i = first_from(m, first); i < m->options->n_forbidden; i++) {
        const tfm_ids *f = &m->forbidden[i];
        if ((size_t)last_of(f) >= first + n) return;
        if (ends_with(past, f->data, f->size - 1)) logits[(size_t)last_of(f) - first] = -INFINITY;
    }
}

/* No n-gram twice (Paulus et al. 2017): where the last n - 1 tokens stood before, what followed them may not again. */
static void block_repeats(const tfm_masks *m, const tfm_past *past, float *logits, size_t first, size_t n)
{
    const size_t order = m->options->no_repeat_ngram;

    for (size_t end = order - 1; end < past->ids.size; end++)
        if (ends_with(past, past->ids.data + end - (order - 1), order - 1)) mask(logits, first, n, past->ids.data[end]);
}

static bool stands_before(const tfm_past *past, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (past->ids.data[j] == past->ids.data[i]) return true;
    return false;
}

/* Keskin et al. 2019, (4), with negative logits multiplied: a token that was produced loses, however often it was. */
static void penalise(const tfm_masks *m, const tfm_past *past, float *logits, size_t first, size_t n)
{
    const float penalty = m->options->repetition_penalty;

    for (size_t j = 0; j < past->ids.size; j++) {
        const size_t i = (size_t)past->ids.data[j] - first;
        if (i < n && !stands_before(past, j)) logits[i] = logits[i] > 0.0f ? logits[i] / penalty : logits[i] * penalty;
    }
}

size_t tfm_masks_min_length(const tfm_decoder_options *options, size_t source)
{
    const float tokens = ceilf(options->min_ratio * (float)source); /* in float, as max_ratio */
    const size_t by_ratio = tokens < (float)UINT32_MAX ? (size_t)tokens : UINT32_MAX; /* beyond any output */

    return by_ratio > options->min_length ? by_ratio : options->min_length;
}

static int by_last_token(const void *a, const void *b)
{
    const int32_t x = last_of(a), y = last_of(b);

    return (x > y) - (x < y);
}

static tfm_status copy_forbidden(tfm_masks *m, tfm_error *error)
{
    const tfm_decoder_options *o = m->options;
    size_t total = 0;

    for (size_t i = 0; i < o->n_forbidden; i++)
        if (!tfm_add(total, o->forbidden[i].size, &total)) total = SIZE_MAX;
    m->forbidden = tfm_alloc(&m->allocator, o->n_forbidden, sizeof *m->forbidden);
    m->ids = tfm_alloc(&m->allocator, total, sizeof *m->ids);
    m->n_ids = total;
    if (!m->forbidden || !m->ids)
        return tfm_fail(error, TFM_E_NOMEM, "no memory for %zu forbidden sequences of %zu tokens", o->n_forbidden,
                        total);
    int32_t *to = m->ids;
    for (size_t i = 0; i < o->n_forbidden; to += o->forbidden[i++].size) {
        memcpy(to, o->forbidden[i].data, o->forbidden[i].size * sizeof *to);
        m->forbidden[i] = (tfm_ids){to, o->forbidden[i].size};
        if (o->forbidden[i].size > 1) m->look_back = true;
    }
    qsort(m->forbidden, o->n_forbidden, sizeof *m->forbidden, by_last_token);
    return TFM_OK;
}

tfm_status tfm_masks_create(tfm_masks *masks, const tfm_decoder_options *options, int32_t eos,
                            const tfm_allocator *allocator, tfm_error *error)
{
    tfm_masks *m = masks;

    *m = (tfm_masks){.options = options, .eos = eos, .allocator = *allocator};
    if (options->repetition_penalty > 0.0f && options->repetition_penalty != 1.0f) m->use[m->n++] = penalise;
    if (options->no_repeat_ngram) m->use[m->n++] = block_repeats;
    m->look_back = m->n;
    if (options->min_length || options->min_ratio > 0.0f) m->use[m->n++] = keep_going;
    if (!options->n_forbidden) return TFM_OK;
    m->use[m->n++] = forbid;
    return copy_forbidden(m, error);
}

void tfm_masks_destroy(tfm_masks *masks)
{
    tfm_free(&masks->allocator, masks->forbidden, masks->options->n_forbidden, sizeof *masks->forbidden);
    tfm_free(&masks->allocator, masks->ids, masks->n_ids, sizeof *masks->ids);
}
