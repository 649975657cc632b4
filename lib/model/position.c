/* Positional encoding (3.5): the paper's interleaved form, and two with all sines before all cosines (PAPER 1.6). */
#include "model/forward.h"

#include <math.h>

/* The powers are those of a column: one for all rows. */
static void paper_column(float *to, size_t rows, size_t d, size_t j, double offset)
{
    const double power = pow(10000.0, (double)(j - j % 2) / (double)d);

    for (size_t r = 0; r < rows; r++) {
        const double angle = (offset + (double)r) / power;
        to[r * d + j] = (float)(j % 2 ? cos(angle) : sin(angle));
    }
}

/* The last of n frequencies is 1 / 10000. */
static void halves_columns(float *to, size_t rows, size_t d, size_t i, double offset, size_t n)
{
    const size_t half = d / 2;
    const double power = pow(10000.0, -(double)i / (double)(n > 1 ? n - 1 : 1));

    for (size_t r = 0; r < rows; r++) {
        const double angle = (offset + (double)r) * power;
        to[r * d + i] = (float)sin(angle);
        to[r * d + half + i] = (float)cos(angle);
    }
}

void tfm_position_fill(float *to, size_t rows, size_t d, uint32_t form, size_t offset)
{
    if (form != TFM_POSITIONS_HALVES && form != TFM_POSITIONS_SPLIT) {
        for (size_t j = 0; j < d; j++) paper_column(to, rows, d, j, (double)offset);
        return;
    }
    const size_t n = d / 2 + (form == TFM_POSITIONS_SPLIT); /* the paper's frequencies end one short of 1 / 10000 */
    for (size_t i = 0; i < d / 2; i++) halves_columns(to, rows, d, i, (double)offset, n);
    for (size_t r = 0; r < rows && d % 2; r++) to[r * d + d - 1] = 0.0f;
}
