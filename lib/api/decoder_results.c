/* What a decoder tells of its last translation. */
#include "api/decoder_handle.h"

#include <math.h>

/* Where the search has the results of a sentence. */
static size_t results_of(const tfm_decoder *d, size_t sentence)
{
    const tfm_parts *p = &d->parts;

    if (!p->n) return sentence;
    return sentence < p->n_lines ? p->results[sentence] : SIZE_MAX;
}

bool tfm_decoder_get(const tfm_decoder *d, size_t sentence, size_t rank, tfm_hypothesis *out)
{
    return d && tfm_search_get(d->search, results_of(d, sentence), rank, out);
}

size_t tfm_decoder_count(const tfm_decoder *decoder, size_t sentence)
{
    return decoder ? tfm_search_count(decoder->search, results_of(decoder, sentence)) : 0;
}

tfm_ids tfm_decoder_ids(const tfm_decoder *decoder, size_t sentence, size_t rank)
{
    tfm_hypothesis h;

    return tfm_decoder_get(decoder, sentence, rank, &h) ? h.ids : (tfm_ids){NULL, 0};
}

double tfm_decoder_score(const tfm_decoder *decoder, size_t sentence, size_t rank)
{
    tfm_hypothesis h;

    return tfm_decoder_get(decoder, sentence, rank, &h) ? h.score : (double)NAN;
}

const float *tfm_decoder_token_scores(const tfm_decoder *decoder, size_t sentence, size_t rank, size_t *n_tokens)
{
    tfm_hypothesis h;
    const bool there = tfm_decoder_get(decoder, sentence, rank, &h);

    if (n_tokens) *n_tokens = there ? h.ids.size : 0;
    return there ? h.logprobs : NULL;
}

uint32_t tfm_decoder_steps(const tfm_decoder *decoder, size_t sentence)
{
    return decoder ? tfm_search_steps(decoder->search, results_of(decoder, sentence)) : 0;
}

uint32_t tfm_decoder_finished(const tfm_decoder *decoder, size_t sentence, size_t rank)
{
    tfm_hypothesis h;

    return tfm_decoder_get(decoder, sentence, rank, &h) && h.finished;
}

size_t tfm_decoder_parts(const tfm_decoder *decoder, size_t sentence)
{
    if (!tfm_decoder_count(decoder, sentence)) return 0;
    return decoder->parts.n ? decoder->parts.first[sentence + 1] - decoder->parts.first[sentence] : 1;
}
