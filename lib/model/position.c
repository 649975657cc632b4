/* Positional encoding (3.5): the paper's interleaved form, and two with all sines before all cosines (PAPER 1.6). */
#include "model/forward.h"

#include <math.h>

/* Column j of the paper, at column at. The powers are those of a column: one for all rows. */
static void paper_column(float *to, size_t rows, size_t d, size_t j, double offset, size_t at)
{
    const double power = pow(10000.0, (double)(j - j % 2) / (double)d);

    for (size_t r = 0; r < rows; r++) {
        const double angle = (offset + (double)r) / power;
        to[r * d + at] = (float)(j % 2 ? cos(angle) : sin(angle));
    }
}

/* The last of the frequencies is 1 / 10000. */
static void halves_columns(float *to, size_t rows, size_t d, size_t i, double offset)
{
    const size_t half = d / 2;
    const double power = pow(10000.0, -(double)i / (double)(half > 1 ? half - 1 : 1));

    for (size_t r = 0; r < rows; r++) {
        const double angle = (offset + (double)r) * power;
        to[r * d + i] = (float)sin(angle);
        to[r * d + half + i] = (float)cos(angle);
    }
}

void tfm_position_fill(float *to, size_t rows, size_t d, uint32_t form, size_t offset)
{
    if (form == TFM_POSITIONS_HALVES) {
        for (size_t i = 0; i < d / 2; i++) halves_columns(to, rows, d, i, (double)offset);
        for (size_t r = 0; r < rows && d % 2; r++) to[r * d + d - 1] = 0.0f;
        return;
    }
    for (size_t j = 0; j < d; j++) { /* split: odd columns, the cosines, stand behind the even ones */
        const size_t at = form != TFM_POSITIONS_SPLIT ? j : j % 2 ? (d + 1) / 2 + j / 2 : j / 2;
        paper_column(to, rows, d, j, (double)offset, at);
    }
}
