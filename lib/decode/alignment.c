/* From the attention weights of heads to those that align tokens. */
#include "decode/alignment.h"

#include <float.h>
#include <math.h>

uint32_t tfm_alignment_layer(const tfm_decoder_options *options, uint32_t n_layers)
{
    return (options->alignment_layer ? options->alignment_layer : n_layers) - 1;
}

void tfm_alignment_add(float *to, const tfm_decoder_options *options, const float *heads, size_t n_heads, size_t rows,
                       size_t cols, size_t row)
{
    const size_t begin = options->alignment_head ? options->alignment_head - 1 : 0;
    const size_t end = options->alignment_head ? begin + 1 : n_heads;
    const float share = 1.0f / (float)(end - begin);

    for (size_t head = begin; head < end; head++) {
        const float *from = heads + (head * rows + row) * cols;
        for (size_t j = 0; j < cols; j++) to[j] += share * from[j];
    }
}

/* The decoder does not read the last token: it is aligned as it was predicted. */
void tfm_alignment_fill(float *to, const tfm_decoder_options *options, const float *heads, size_t n_heads, size_t rows,
                        size_t cols)
{
    const size_t later = options->alignment == TFM_ALIGNMENT_INPUT;

    for (size_t i = 0; i < rows * cols; i++) to[i] = 0.0f;
    for (size_t i = 0; i < rows; i++, to += cols)
        tfm_alignment_add(to, options, heads, n_heads, rows, cols, i + later < rows ? i + later : i);
}

double tfm_coverage_penalty(const tfm_decoder_options *options, const float *covered, size_t n)
{
    double sum = 0.0;

    for (size_t j = 0; j < n; j++)
        if (covered[j] < 1.0f) sum += log((double)fmaxf(covered[j], FLT_MIN));
    return (double)options->coverage * sum;
}
