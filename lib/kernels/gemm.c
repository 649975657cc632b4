/* Matrix products: blocking for the caches (Goto and van de Geijn 2008) and the split over threads. */
#include "kernels/gemm.h"

enum { MC = 96, NC = 1024 }; /* a block of a stays in L2, a slab of b in L3 */

typedef struct job {
    const tfm_kernels *kernels;
    const tfm_gemm *gemm;
    float *scratch;
    size_t split; /* rows or columns of a task */
    bool by_rows;
} job;

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static const tfm_product *product_of(const tfm_kernels *kernels, const tfm_gemm *g)
{
    return g->bf16 || (g->panels && g->panels->dtype == TFM_DTYPE_BF16) ? &kernels->bf16 : &kernels->f32;
}

static void epilogue(const tfm_kernels *kernels, const tfm_gemm *g, size_t i, size_t rows, size_t j, size_t cols)
{
    if (!g->bias && !g->relu && !g->dropout) return;
    for (size_t r = i; r < i + rows; r++)
        kernels->bias_relu(g->c + r * g->c_row + j, g->bias ? g->bias + j : NULL, cols, g->relu, g->dropout,
                           (uint32_t)r, j);
}

/* Panels of b, in one block of k, times rows [i, i + rows) of a. */
static void block(const tfm_product *how, const tfm_gemm *g, const float *pb, float *pa, size_t i, size_t rows, size_t j,
                  size_t cols, size_t p, size_t k)
{
    const float *a = g->a + i * g->a_row + p * g->a_col;
    const size_t n_items = (k + how->terms - 1) / how->terms, direct = how->takes_rows && g->a_col == 1 ? g->a_row : 0;

    if (!direct) {
        how->pack_a(pa, a, g->a_row, g->a_col, rows, k);
        a = pa;
    }
    for (size_t jj = 0; jj < cols; jj += how->nr)
        for (size_t ii = 0; ii < rows; ii += how->mr)
            how->tile(g->c + (i + ii) * g->c_row + j + jj, g->c_row, a + ii * (direct ? direct : n_items), direct,
                      pb + jj * n_items, n_items, min(how->mr, rows - ii), min(how->nr, cols - jj), g->add || p);
}

/* Rows [i0, i1) and columns [j0, j1) of c, on one thread. Columns begin at multiples of the tile's. */
static void product(const tfm_kernels *kernels, const tfm_gemm *g, float *scratch, size_t i0, size_t i1, size_t j0, size_t j1)
{
    const tfm_product *how = product_of(kernels, g);
    float *pa = scratch, *room = scratch + MC * TFM_KC;

    for (size_t j = j0; j < j1; j += NC) {
        const size_t cols = min(NC, j1 - j);
        for (size_t p = 0; p < g->k; p += TFM_KC) {
            const size_t k = min(TFM_KC, g->k - p);
            const float *pb = g->panels ? tfm_panels_at(g->panels, how, j, p) : room;
            if (!g->panels) how->pack_b(room, g->b + p * g->b_row + j * g->b_col, g->b_row, g->b_col, k, cols);
            for (size_t i = i0; i < i1; i += MC) {
                const size_t rows = min(MC, i1 - i);
                block(how, g, pb, pa, i, rows, j, cols, p, k);
                if (p + k == g->k) epilogue(kernels, g, i, rows, j, cols);
            }
        }
    }
}

/* The same with int8 weights. */
static void product_i8(const tfm_kernels *kernels, const tfm_gemm *g, size_t i0, size_t i1, size_t j0, size_t j1)
{
    const size_t items = (g->k + TFM_I8_DEPTH - 1) / TFM_I8_DEPTH, a_row = items * TFM_I8_DEPTH;

    for (size_t i = i0; i < i1; i += MC) {
        const size_t rows = min(MC, i1 - i);
        for (size_t j = j0; j < j1; j += TFM_I8_COLS) {
            const tfm_i8_panel panel = {g->panels->values + j * a_row, g->panels->scale + j, g->panels->sum + j};
            kernels->i8_product(g->c + i * g->c_row + j, g->c_row, g->a8 + i * a_row, a_row, g->a_scale + i, &panel, items,
                                rows, min(TFM_I8_COLS, j1 - j));
        }
        epilogue(kernels, g, i, rows, j0, j1 - j0);
    }
}

static void run_task(void *arg, size_t task, size_t thread)
{
    const job *t = arg;
    const tfm_gemm *g = t->gemm;
    const size_t begin = task * t->split;
    float *scratch = t->scratch + thread * TFM_GEMM_SCRATCH;

    const size_t i0 = t->by_rows ? begin : 0, i1 = t->by_rows ? min(begin + t->split, g->m) : g->m;
    const size_t j0 = t->by_rows ? 0 : begin, j1 = t->by_rows ? g->n : min(begin + t->split, g->n);

    if (g->a8) product_i8(t->kernels, g, i0, i1, j0, j1);
    else product(t->kernels, g, scratch, i0, i1, j0, j1);
}

void tfm_gemm_run(const tfm_kernels *kernels, tfm_pool *pool, float *scratch, const tfm_gemm *gemm)
{
    const size_t threads = tfm_pool_threads(pool);
    const bool by_rows = gemm->m >= gemm->n; /* the shorter side is packed by each thread */
    const size_t unit = by_rows ? product_of(kernels, gemm)->mr : TFM_PACK_UNIT, length = by_rows ? gemm->m : gemm->n;
    const size_t units = (length + unit - 1) / unit, split = (units + threads - 1) / threads * unit;
    job t = {kernels, gemm, scratch, split, by_rows};

    if (!gemm->m || !gemm->n) return;
    tfm_pool_run(pool, run_task, &t, (length + split - 1) / split);
}
