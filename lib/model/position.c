/* Positional encoding (3.5): the paper's interleaved form and the concatenated halves of tensor2tensor (PAPER 1.6). */
#include "model/forward.h"

#include <math.h>

static void paper_row(float *to, size_t d, double pos)
{
    for (size_t j = 0; j < d; j++) {
        const double angle = pos / pow(10000.0, (double)(j - j % 2) / (double)d);
        to[j] = (float)(j % 2 ? cos(angle) : sin(angle));
    }
}

static void halves_row(float *to, size_t d, double pos)
{
    const size_t half = d / 2;

    for (size_t i = 0; i < half; i++) {
        const double angle = pos * pow(10000.0, -(double)i / (double)(half > 1 ? half - 1 : 1));
        to[i] = (float)sin(angle);
        to[half + i] = (float)cos(angle);
    }
    if (d % 2) to[d - 1] = 0.0f;
}

void tfm_position_fill(float *to, size_t rows, size_t d, uint32_t form, size_t offset)
{
    for (size_t r = 0; r < rows; r++, to += d)
        if (form == TFM_POSITIONS_HALVES) halves_row(to, d, (double)(offset + r));
        else paper_row(to, d, (double)(offset + r));
}
