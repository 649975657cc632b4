/* Matrix products: blocking for the caches (Goto and van de Geijn 2008) and the split over threads. */
#include "kernels/gemm.h"

enum {
    MC = 96,   /* rows of a block of a, which stays in L2     */
    NC = 1024, /* columns of a block of b, which stays in L3  */
    PACK = 64, /* columns that a thread packs at a time       */
    TASKS = 4, /* for each thread: who is slowed down by the machine's other work gets fewer */
};

/* A product as the threads share it. */
typedef struct job {
    const tfm_kernels *kernels;
    const tfm_product *how;
    const tfm_gemm *gemm;
    float *scratch;
    size_t depth; /* terms of a block of b */
    size_t rows, width; /* of c in a task */
    size_t j, cols, p, k; /* columns and terms of the present block of b */
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

/* Where rows of a are read as they stand: the floats between them; 0: a is packed. */
static size_t direct_row(const job *t)
{
    return t->how->takes_rows && t->gemm->a_col == 1 ? t->gemm->a_row : 0;
}

/* The present block of b times rows [i, i + rows) of a. */
static void block(const job *t, const float *pb, float *pa, size_t i, size_t rows)
{
    const tfm_product *how = t->how;
    const tfm_gemm *g = t->gemm;
    const size_t n_items = tfm_items(how, t->k), direct = direct_row(t);
    const float *a = g->a + i * g->a_row + t->p * g->a_col;

    if (!direct) {
        how->pack_a(pa, a, g->a_row, g->a_col, rows, t->k);
        a = pa;
    }
    how->block(g->c + i * g->c_row + t->j, g->c_row, a, direct, pb, n_items, rows, t->cols, g->add || t->p);
}

/* Rows [i0, i1) of the present block of b, which stands at pb. */
static void rows_of_block(const job *t, const float *pb, float *pa, size_t i0, size_t i1)
{
    const tfm_gemm *g = t->gemm;

    for (size_t i = i0; i < i1; i += MC) {
        const size_t rows = min(MC, i1 - i);
        block(t, pb, pa, i, rows);
        if (t->p + t->k == g->k) epilogue(t->kernels, g, i, rows, t->j, t->cols);
    }
}

/* Packs columns [begin, end) of the present block. */
static void pack(const job *t, float *pb, size_t begin, size_t end)
{
    const tfm_gemm *g = t->gemm;

    t->how->pack_b(pb + begin * tfm_items(t->how, t->k), g->b + t->p * g->b_row + (t->j + begin) * g->b_col, g->b_row,
                   g->b_col, t->k, end - begin);
}

/* Rows [i0, i1) and columns [j0, j1) of c, on one thread. Columns begin at multiples of the tile's. */
static void product(job t, float *scratch, size_t i0, size_t i1, size_t j0, size_t j1)
{
    float *room = scratch + MC * TFM_KC;

    for (t.j = j0; t.j < j1; t.j += NC) {
        t.cols = min(NC, j1 - t.j);
        for (t.p = 0; t.p < t.gemm->k; t.p += t.depth) {
            t.k = min(t.depth, t.gemm->k - t.p);
            if (!t.gemm->panels) pack(&t, room, 0, t.cols);
            rows_of_block(&t, t.gemm->panels ? tfm_panels_at(t.gemm->panels, t.how, t.gemm->first + t.j, t.p) : room,
                          scratch, i0, i1);
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
            const size_t n = g->first + j;
            const tfm_i8_panel panel = {g->panels->values + n * a_row, g->panels->scale + n, g->panels->sum + n};
            kernels->i8_product(g->c + i * g->c_row + j, g->c_row, g->a8 + i * a_row, a_row, g->a_scale + i, &panel,
                                items, rows, min(TFM_I8_COLS, j1 - j));
        }
        epilogue(kernels, g, i, rows, j0, j1 - j0);
    }
}

static void run_task(void *arg, size_t task, size_t thread)
{
    const job *t = arg;
    const tfm_gemm *g = t->gemm;
    const size_t across = (g->n + t->width - 1) / t->width, i = task / across * t->rows, j = task % across * t->width;
    const size_t i1 = min(i + t->rows, g->m), j1 = min(j + t->width, g->n);

    if (g->a8) product_i8(t->kernels, g, i, i1, j, j1);
    else product(*t, t->scratch + thread * TFM_GEMM_SCRATCH, i, i1, j, j1);
}

/* A block of b is packed by all threads into the first one's scratch, then each takes rows of a. */
static void pack_task(void *arg, size_t task, size_t thread)
{
    const job *t = arg;
    const size_t begin = task * PACK;

    (void)thread;
    pack(t, t->scratch + MC * TFM_KC, begin, min(begin + PACK, t->cols));
}

static void rows_task(void *arg, size_t task, size_t thread)
{
    const job *t = arg;
    const size_t begin = task * t->rows;

    rows_of_block(t, t->scratch + MC * TFM_KC, t->scratch + thread * TFM_GEMM_SCRATCH, begin,
                  min(begin + t->rows, t->gemm->m));
}

static void share_blocks(job *t, tfm_pool *pool)
{
    const tfm_gemm *g = t->gemm;

    for (t->j = 0; t->j < g->n; t->j += NC) {
        t->cols = min(NC, g->n - t->j);
        for (t->p = 0; t->p < g->k; t->p += t->depth) {
            t->k = min(t->depth, g->k - t->p);
            tfm_pool_run(pool, pack_task, t, (t->cols + PACK - 1) / PACK);
            tfm_pool_run(pool, rows_task, t, (g->m + t->rows - 1) / t->rows);
        }
    }
}

static size_t rounded_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Pieces of c that threads work off by themselves: columns first, then rows, of which a piece of b that must be packed
 * is worth some. */
static void split_freely(job *t, size_t threads)
{
    const tfm_gemm *g = t->gemm;
    const size_t tasks = threads > 1 ? TASKS * threads : 1, width = (g->n + tasks - 1) / tasks;

    t->width = rounded_up(width < 2 * TFM_PACK_UNIT ? 2 * TFM_PACK_UNIT : width, TFM_PACK_UNIT);
    const size_t across = (g->n + t->width - 1) / t->width, rows = g->m * across / tasks;
    const size_t least = g->panels || across < threads ? MC : 8 * MC;
    t->rows = rounded_up(rows < least ? least : rows, t->how->mr);
}

void tfm_gemm_run(const tfm_kernels *kernels, tfm_pool *pool, float *scratch, const tfm_gemm *gemm)
{
    const size_t threads = tfm_pool_threads(pool);
    const tfm_product *how = product_of(kernels, gemm);
    job t = {.kernels = kernels, .how = how, .gemm = gemm, .scratch = scratch, .depth = tfm_block_terms(how, gemm->k)};
    const bool few_rows = gemm->m < MC / 2 * threads, wide = gemm->n >= 2 * TFM_PACK_UNIT * threads;

    if (!gemm->m || !gemm->n) return;
    if (gemm->panels || few_rows || (wide && direct_row(&t))) {
        split_freely(&t, threads);
        tfm_pool_run(pool, run_task, &t, (gemm->m + t.rows - 1) / t.rows * ((gemm->n + t.width - 1) / t.width));
    } else {
        const size_t rounds = (gemm->m + threads * MC - 1) / (threads * MC); /* of blocks of rows */
        t.rows = rounded_up((gemm->m + threads * rounds - 1) / (threads * rounds), how->mr);
        share_blocks(&t, pool);
    }
}
