/* From the attention weights of heads to those that align tokens. */
#include "decode/alignment.h"

uint32_t tfm_alignment_layer(const tfm_decoder_options *options, uint32_t n_layers)
{
    return (options->alignment_layer ? options->alignment_layer : n_layers) - 1;
}

void tfm_alignment_row(float *to, const tfm_decoder_options *options, const float *heads, size_t n_heads, size_t rows,
                       size_t cols, size_t row)
{
    const size_t begin = options->alignment_head ? options->alignment_head - 1 : 0;
    const size_t end = options->alignment_head ? begin + 1 : n_heads;
    const float share = 1.0f / (float)(end - begin);

    for (size_t j = 0; j < cols; j++) to[j] = 0.0f;
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

    for (size_t i = 0; i < rows; i++, to += cols)
        tfm_alignment_row(to, options, heads, n_heads, rows, cols, i + later < rows ? i + later : i);
}
