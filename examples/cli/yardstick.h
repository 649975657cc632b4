/*
 * The yardstick of all rates: a float32 matrix product in BLIS (Van Zee and van de Geijn 2015), or in the library
 * itself where the program was built without BLIS.
 */
#ifndef CLI_YARDSTICK_H
#define CLI_YARDSTICK_H

#include <stddef.h>
#include <stdint.h>

/* The cube whose rate is the unit of utilisation. */
enum { YARDSTICK_SIZE = 2048 };

/* "blis" or "own": whose product yardstick_gflops() measures. */
const char *yardstick_name(void);

/* GFLOP/s of c [m][n] = a [m][k] b^T, b [n][k]: the median of calls that fill about `seconds`, after one that does not
 * count. Ends the program when there is no memory. */
double yardstick_gflops(size_t m, size_t n, size_t k, uint32_t threads, double seconds);

/* The same product in the library; dtype: TFM_DTYPE_*. */
double library_gflops(size_t m, size_t n, size_t k, uint32_t threads, uint32_t dtype, double seconds);

#endif
