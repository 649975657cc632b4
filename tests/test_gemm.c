/* Matrix products against a plain double one, for all strides and epilogues; and which things the bits do not depend
 * on. */
#include "kernels/gemm.h"
#include "oracle.h"

enum { PAD = 3, FLOATS = 400000 }; /* PAD: floats between rows, poisoned */

static float a_data[FLOATS], b_data[FLOATS], c_data[FLOATS], c_other[FLOATS], bias[2048];

const tfm_kernels *tfm_kernels_table_wide(void);  /* the panels of AVX-512 and its BF16, in C for any CPU */
const tfm_kernels *tfm_kernels_table_tiles(void); /* and those of AMX */

static bool bf16; /* what this test multiplies */

/* Every twin of this CPU, then the two in C; each with operands as they are and rounded to bfloat16. */
static int n_ways(void)
{
    return 2 * (__builtin_popcount(tfm_cpu_flags(true)) + 3);
}

static const tfm_kernels *begin(int way)
{
    bf16 = way % 2;
    if (way < n_ways() - 4) return tfm_kernels_for((1u << way / 2) - 1);
    return way < n_ways() - 2 ? tfm_kernels_table_wide() : tfm_kernels_table_tiles();
}

typedef struct pool {
    tfm_allocator allocator;
    tfm_pool *threads;
    float *scratch;
} pool;

static pool new_pool(uint32_t threads)
{
    pool p = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_error error;

    ck_assert_ok(tfm_pool_create(&p.threads, threads, &p.allocator, &error), error);
    p.scratch = tfm_alloc(&p.allocator, threads * (size_t)TFM_GEMM_SCRATCH, sizeof(float));
    ck_assert_ptr_nonnull(p.scratch);
    return p;
}

static void free_pool(pool *p)
{
    tfm_free(&p->allocator, p->scratch, tfm_pool_threads(p->threads) * (size_t)TFM_GEMM_SCRATCH, sizeof(float));
    tfm_pool_free(p->threads);
}

/* A matrix of rows x cols, stored by rows or by columns, with NaN in the gaps. */
static const float *matrix(float *data, size_t rows, size_t cols, bool by_rows, size_t *row, size_t *col,
                           uint64_t *state)
{
    const size_t count = by_rows ? rows : cols, width = by_rows ? cols : rows, stride = width + PAD;

    ck_assert_uint_le(count * stride, FLOATS);
    for (size_t i = 0; i < count * stride; i++) data[i] = i % stride < width ? draw(state) : NAN;
    *row = by_rows ? stride : 1;
    *col = by_rows ? 1 : stride;
    return data;
}

typedef struct shape {
    size_t m, n, k;
} shape;

typedef struct extra {
    bool add, bias, relu;
    double rate;
} extra;

static tfm_gemm new_gemm(shape s, bool a_rows, bool b_rows, extra e, const tfm_dropout *dropout, uint64_t seed)
{
    uint64_t state = seed;
    tfm_gemm g = {.m = s.m, .n = s.n, .k = s.k, .c = c_data, .c_row = s.n + PAD, .add = e.add, .relu = e.relu,
                  .bf16 = bf16};

    g.a = matrix(a_data, s.m, s.k, a_rows, &g.a_row, &g.a_col, &state);
    g.b = matrix(b_data, s.k, s.n, b_rows, &g.b_row, &g.b_col, &state);
    for (size_t i = 0; i < s.m * g.c_row; i++) c_data[i] = e.add ? draw(&state) : NAN;
    draw_all(bias, s.n, &state);
    g.bias = e.bias ? bias : NULL;
    g.dropout = e.rate > 0.0 ? dropout : NULL;
    return g;
}

/* x with eight significant bits, ties to even. */
static double operand(float x)
{
    int exponent;
    const double fraction = frexp((double)x, &exponent);

    return bf16 ? ldexp(rint(ldexp(fraction, 8)), exponent - 8) : (double)x;
}

/* One element by the definition; *size receives what its rounding errors are relative to. */
static double wanted(const tfm_gemm *g, const float *before, size_t i, size_t j, const oracle_mask *mask, double *size)
{
    double sum = g->add ? (double)before[i * g->c_row + j] : 0.0;

    *size = fabs(sum);
    for (size_t p = 0; p < g->k; p++) {
        const double x = operand(g->a[i * g->a_row + p * g->a_col]) * operand(g->b[p * g->b_row + j * g->b_col]);
        sum += x;
        *size += fabs(x);
    }
    if (g->bias) sum += (double)g->bias[j];
    if (g->bias) *size += fabs((double)g->bias[j]);
    if (g->relu) sum = fmax(sum, 0.0);
    return g->dropout ? sum * oracle_keep(mask, i, j) : sum;
}

/* Runs it and judges what it wrote. */
static void check_gemm(const tfm_kernels *kernels, const pool *p, const tfm_gemm *g, const oracle_mask *mask)
{
    memcpy(c_other, c_data, g->m * g->c_row * sizeof *c_data);
    tfm_gemm_run(kernels, p->threads, p->scratch, g);
    for (size_t i = 0; i < g->m; i++) {
        for (size_t j = 0; j < g->n; j++) {
            double size;
            const double want = wanted(g, c_other, i, j, mask, &size), got = (double)g->c[i * g->c_row + j];
            const double bound = ((double)g->k + 4.0) * 0x1p-24 * size * (g->dropout ? 2.0 : 1.0);
            must_msg(fabs(got - want) <= bound, "%zux%zux%zu (%zu, %zu): %.9g, want %.9g", g->m, g->n, g->k, i, j, got,
                     want);
        }
        same_bits(g->c + i * g->c_row + g->n, c_other + i * g->c_row + g->n, PAD, "between rows");
    }
}

static void check_product(const tfm_kernels *kernels, const pool *p, shape s, bool a_rows, bool b_rows, extra e)
{
    const oracle_mask mask = {UINT64_C(0x1122334455667788), 9, 21, e.rate, 33};
    const uint32_t threshold = (uint32_t)(e.rate * 65536.0 + 0.5);
    const tfm_dropout dropout = {
        {0x55667788, 0x11223344}, 9, 21, 33, threshold, 65536.0f / (65536.0f - (float)threshold)};
    const tfm_gemm g = new_gemm(s, a_rows, b_rows, e, &dropout, s.m * 100 + s.n * 10 + s.k);

    check_gemm(kernels, p, &g, &mask);
}

static const extra extras[] = {
    {false, false, false, 0.0}, {true, false, false, 0.0}, {false, true, false, 0.0}, {false, true, true, 0.0},
    {false, false, true, 0.0},  {true, true, true, 0.0},   {false, true, true, 0.3},  {false, false, false, 0.5},
};

START_TEST(products_agree_with_the_oracle)
{
    static const size_t sizes[] = {1, 2, 6, 7, 8, 9, 15, 16, 17, 33};
    pool p = new_pool(1);
    const tfm_kernels *kernels = begin(_i);

    for (size_t m = 0; m < 10; m++)
        for (size_t n = 0; n < 10; n++)
            for (size_t form = 0; form < 4; form++) {
                const shape s = {sizes[m], sizes[n], sizes[(m + 3 * n + form) % 10]};
                check_product(kernels, &p, s, form & 1, form & 2, extras[(m + n + form) % 8]);
            }
    for (size_t e = 0; e < 8; e++)
        for (size_t form = 0; form < 4; form++)
            check_product(kernels, &p, (shape){13, 35, 65}, form & 1, form & 2, extras[e]);
    free_pool(&p);
}
END_TEST

/* Across the blocks of k, of rows (96) and of columns (1,024). */
START_TEST(products_across_blocks_agree_with_the_oracle)
{
    static const shape shapes[] = {{5, 7, TFM_KC - 1}, {5, 7, TFM_KC}, {5, 7, TFM_KC + 1}, {3, 17, 700}, {95, 9, 30},
                                   {97, 9, 30}, {200, 5, 350}, {4, 1023, 20}, {4, 1025, 20}, {2, 1100, 350}};
    pool p = new_pool(2);
    const tfm_kernels *kernels = begin(_i);

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t form = 0; form < 4; form++)
            check_product(kernels, &p, shapes[i], form & 1, form & 2, extras[(3 * i + form) % 8]);
    free_pool(&p);
}
END_TEST

/* Every other element of each row, of both: no stride is 1. */
START_TEST(operands_may_be_spaced)
{
    static const shape shapes[] = {{1, 1, 3}, {13, 35, 65}, {40, 17, 9}};
    pool p = new_pool(1);
    const tfm_kernels *kernels = begin(_i);

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape s = shapes[i];
        tfm_gemm g = new_gemm((shape){s.m, 2 * s.n, 2 * s.k}, true, true, extras[0], NULL, i);
        g.a_col = g.b_col = 2;
        g.n = s.n;
        g.k = s.k;
        g.c_row = s.n + PAD;
        check_gemm(kernels, &p, &g, NULL);
    }
    free_pool(&p);
}
END_TEST

START_TEST(an_empty_product_writes_nothing)
{
    pool p = new_pool(2);
    const tfm_kernels *kernels = begin(_i);
    tfm_gemm g = new_gemm((shape){4, 4, 4}, true, true, extras[0], NULL, 1);

    memcpy(c_other, c_data, 4 * g.c_row * sizeof *c_data);
    g.m = 0;
    tfm_gemm_run(kernels, p.threads, p.scratch, &g);
    g.m = 4, g.n = 0;
    tfm_gemm_run(kernels, p.threads, p.scratch, &g);
    g.n = 4, g.k = 0, g.add = true;
    tfm_gemm_run(kernels, p.threads, p.scratch, &g);
    same_bits(c_data, c_other, 4 * g.c_row, "c");
    free_pool(&p);
}
END_TEST

/* The first m rows and n columns of the whole product, alone: the same bits. */
static void check_part(const tfm_kernels *kernels, const pool *p, const tfm_gemm *whole, size_t m, size_t n)
{
    tfm_gemm g = *whole;

    g.m = m;
    g.n = n;
    g.c = c_other;
    for (size_t i = 0; i < m * g.c_row; i++) c_other[i] = 1.0f;
    tfm_gemm_run(kernels, p->threads, p->scratch, &g);
    for (size_t i = 0; i < m; i++) same_bits(g.c + i * g.c_row, whole->c + i * g.c_row, n, "part");
}

START_TEST(c21_bits_of_a_row_do_not_depend_on_the_other_rows)
{
    pool p = new_pool(1);
    const tfm_kernels *kernels = begin(_i);

    for (size_t form = 0; form < 4; form++) {
        const tfm_gemm g = new_gemm((shape){200, 19, TFM_KC + 14}, form & 1, form & 2, extras[3], NULL, 5);
        tfm_gemm_run(kernels, p.threads, p.scratch, &g);
        for (size_t m = 1; m <= 200; m += m < 20 || form == 1 ? 3 : 23) check_part(kernels, &p, &g, m, 19);
    }
    free_pool(&p);
}
END_TEST

START_TEST(c21_bits_of_a_column_do_not_depend_on_the_other_columns)
{
    pool p = new_pool(1);
    const tfm_kernels *kernels = begin(_i);

    for (size_t form = 0; form < 4; form++) {
        const tfm_gemm g = new_gemm((shape){7, 1050, TFM_KC + 14}, form & 1, form & 2, extras[3], NULL, 6);
        tfm_gemm_run(kernels, p.threads, p.scratch, &g);
        for (size_t n = 1; n <= 70; n += form == 2 ? 1 : 7) check_part(kernels, &p, &g, 7, n);
        check_part(kernels, &p, &g, 7, 1025);
    }
    free_pool(&p);
}
END_TEST

/* The same a row further down, as a row of its own: no row knows its number. */
START_TEST(bits_of_a_row_do_not_depend_on_its_place)
{
    pool p = new_pool(1);
    const tfm_kernels *kernels = begin(_i);
    const tfm_gemm whole = new_gemm((shape){101, 21, 64}, true, false, extras[3], NULL, 7);

    tfm_gemm_run(kernels, p.threads, p.scratch, &whole);
    for (size_t i = 0; i < 101; i++) {
        tfm_gemm g = whole;
        g.m = 1;
        g.a += i * g.a_row;
        g.c = c_other;
        tfm_gemm_run(kernels, p.threads, p.scratch, &g);
        same_bits(g.c, whole.c + i * whole.c_row, 21, "row");
    }
    free_pool(&p);
}
END_TEST

START_TEST(m49_bits_do_not_depend_on_threads)
{
    static const shape shapes[] = {{1, 1, 1},     {1, 200, 300}, {200, 1, 300},
                                   {40, 40, 513}, {97, 33, 100}, {5, 1100, 70}};
    static const uint32_t threads[] = {2, 5};
    pool one = new_pool(1);
    const tfm_kernels *kernels = begin(_i);
    const tfm_dropout dropout = {{1, 2}, 3, 5, 4, 20000, 65536.0f / 45536.0f};

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        tfm_gemm g = new_gemm(shapes[i], i & 1, i & 2, extras[6], &dropout, 8);
        tfm_gemm_run(kernels, one.threads, one.scratch, &g);
        g.c = c_other;
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            pool p = new_pool(threads[t]);
            tfm_gemm_run(kernels, p.threads, p.scratch, &g);
            for (size_t r = 0; r < g.m; r++) same_bits(g.c + r * g.c_row, c_data + r * g.c_row, g.n, "threads");
            free_pool(&p);
        }
    }
    free_pool(&one);
}
END_TEST

/* A not-a-number or infinity in a reaches its own row only. */
START_TEST(nan_and_inf_stay_in_their_row)
{
    pool p = new_pool(1);
    const tfm_kernels *kernels = begin(_i);
    const tfm_gemm g = new_gemm((shape){9, 20, 40}, true, true, extras[3], NULL, 9);

    a_data[3 * g.a_row + 17] = NAN;
    a_data[5 * g.a_row + 2] = INFINITY;
    tfm_gemm_run(kernels, p.threads, p.scratch, &g);
    for (size_t i = 0; i < 9; i++)
        for (size_t j = 0; j < 20; j++) {
            const float c = g.c[i * g.c_row + j];
            if (i == 3) must_msg(isnan(c), "ReLU hides NaN: %g", (double)c);
            else if (i == 5) must(c == 0.0f || c == INFINITY);
            else must(isfinite(c));
        }
    free_pool(&p);
}
END_TEST

/* -------------------------------------------------------------------------------------------- packed weights ---- */

enum { PACKED_BYTES = 1 << 20 };

static _Alignas(64) unsigned char packed_memory[PACKED_BYTES];

/* W [n][k], drawn into b_data, packed in memory. */
static tfm_panels packed_weights(const tfm_kernels *kernels, uint32_t dtype, size_t n, size_t k, uint64_t seed)
{
    static int8_t scratch[FLOATS];
    tfm_arena arena = {.base = packed_memory, .size = sizeof packed_memory};
    tfm_panels p = {.dtype = dtype, .n = n, .k = k};

    memset(packed_memory, 0xFF, sizeof packed_memory);
    draw_all(b_data, n * k, &seed);
    tfm_panels_place(&p, kernels, &arena);
    ck_assert(!arena.bad);
    for (size_t j = 0; j < n; j += 2 * TFM_PACK_UNIT)
        tfm_panels_fill(&p, kernels, b_data, j, j + 2 * TFM_PACK_UNIT < n ? j + 2 * TFM_PACK_UNIT : n, scratch);
    return p;
}

static const shape packed_shapes[] = {{1, 1, 1},       {4, 37, 5},          {13, 64, TFM_KC - 1},
                                      {6, 33, TFM_KC}, {5, 16, TFM_KC + 1}, {100, 7, 64},
                                      {2, 200, 700},   {70, 70, 130},       {4, 1100, 40}};

/* The same bits as the product that packs its weights itself; and rows of W come back as the product saw them. */
START_TEST(packed_weights_change_no_bit)
{
    const tfm_kernels *kernels = begin(_i);
    pool pools[] = {new_pool(1), new_pool(3)};

    for (size_t i = 0; i < sizeof packed_shapes / sizeof *packed_shapes; i++) {
        const shape s = packed_shapes[i];
        tfm_gemm g = new_gemm(s, true, false, extras[3], NULL, 11);
        const tfm_panels w = packed_weights(kernels, bf16 ? TFM_DTYPE_BF16 : TFM_DTYPE_F32, s.n, s.k, 12);
        float row[700];

        g.b_row = 1, g.b_col = s.k;
        tfm_gemm_run(kernels, pools[0].threads, pools[0].scratch, &g);
        g.panels = &w;
        g.bf16 = false; /* the weights say it */
        g.b = NULL;
        g.c = c_other;
        for (int t = 0; t < 2; t++) {
            memset(c_other, 0xFF, sizeof c_other);
            tfm_gemm_run(kernels, pools[t].threads, pools[t].scratch, &g);
            for (size_t r = 0; r < s.m; r++) same_bits(g.c + r * g.c_row, c_data + r * g.c_row, s.n, "packed");
        }
        for (size_t r = 0; r < s.n; r++) {
            tfm_panels_row(row, &w, kernels, r);
            for (size_t t = 0; t < s.k; t++) ck_assert((double)row[t] == operand(b_data[r * s.k + t]));
        }
    }
    free_pool(&pools[0]);
    free_pool(&pools[1]);
}
END_TEST

/* -------------------------------------------------------------------------------------------------------- int8 ---- */

START_TEST(rows_are_quantised)
{
    const tfm_kernels *kernels = begin(_i);
    static float x[301];
    static int8_t q[304];
    uint64_t state = 13;
    float scale;

    for (size_t k = 1; k <= 301; k += 1 + k / 9) {
        float most = 0.0f;
        draw_all(x, k, &state);
        for (size_t i = 0; i < k; i++) most = fmaxf(most, fabsf(x[i]));
        kernels->i8_quantize(q, &scale, x, k, 0);
        ck_assert_float_eq(scale, most / 127.0f);
        for (size_t i = 0; i < (k + 3) / 4 * 4; i++) {
            const double want = i < k ? (double)x[i] / (double)scale : 0.0;
            must_msg(fabs(q[i] - want) <= 0.5001 && abs(q[i]) <= 127, "%zu of %zu: %d, want %g", i, k, q[i], want);
        }
    }
    memset(x, 0, sizeof x);
    kernels->i8_quantize(q, &scale, x, 9, 128);
    ck_assert(scale == 0.0f && q[0] == -128 && q[8] == -128 && q[11] == -128);
    x[3] = 1e-31f;
    kernels->i8_quantize(q, &scale, x, 9, 0);
    ck_assert(scale == 0.0f && q[3] == 0);
    x[8] = NAN;
    kernels->i8_quantize(q, &scale, x, 9, 0);
    ck_assert(isnan(scale));
    x[8] = -INFINITY;
    kernels->i8_quantize(q, &scale, x, 9, 0);
    ck_assert(isnan(scale));
}
END_TEST

/* Exact: the sums are integers. largest: every operand is +-127, where saturating instructions would show. */
static void check_int8(const tfm_kernels *kernels, const pool *p, shape s, bool largest, bool relu)
{
    static _Alignas(64) int8_t a8[FLOATS];
    static float a_scale[128];
    const size_t a_row = (s.k + 3) / 4 * 4;
    tfm_gemm g = new_gemm(s, true, false, (extra){.bias = true, .relu = relu}, NULL, 14);
    const tfm_panels w = packed_weights(kernels, TFM_DTYPE_INT8, s.n, s.k, 15);

    if (largest) memset(w.values, 127, (s.n + 31) / 32 * 32 * a_row);
    for (size_t j = 0; largest && j < (s.n + 31) / 32 * 32; j++) w.sum[j] = (int32_t)(127 * a_row);
    for (size_t i = 0; i < s.m; i++) {
        kernels->i8_quantize(a8 + i * a_row, a_scale + i, g.a + i * g.a_row, s.k, kernels->i8_offset);
        if (largest) memset(a8 + i * a_row, (i % 2 ? 127 : -127) + kernels->i8_offset, a_row);
    }
    g.panels = &w;
    g.b = NULL;
    g.a8 = a8;
    g.a_scale = a_scale;
    tfm_gemm_run(kernels, p->threads, p->scratch, &g);
    for (size_t i = 0; i < s.m; i++)
        for (size_t j = 0; j < s.n; j++) {
            int32_t sum = 0;
            for (size_t t = 0; t < a_row; t++)
                sum += (int8_t)(a8[i * a_row + t] - kernels->i8_offset) *
                       w.values[(j / 16 * a_row / 4 + t / 4) * 64 + j % 16 * 4 + t % 4];
            const float plain = (float)sum * (a_scale[i] * w.scale[j]) + bias[j],
                        want = relu && plain < 0.0f ? 0.0f : plain;
            const float got = g.c[i * g.c_row + j];
            must_msg(fabsf(got - want) <= 1e-6f * (fabsf(want) + fabsf(bias[j])),
                     "%zux%zux%zu (%zu, %zu): %.9g, want %.9g", s.m, s.n, s.k, i, j, (double)got, (double)want);
        }
}

START_TEST(int8_products_are_exact)
{
    const tfm_kernels *kernels = begin(_i);
    pool p = new_pool(3);

    for (size_t i = 0; i < sizeof packed_shapes / sizeof *packed_shapes; i++)
        for (int form = 0; form < 4; form++) check_int8(kernels, &p, packed_shapes[i], form & 1, form & 2);
    free_pool(&p);
}
END_TEST

/* What the quantised product is for: W x within the two roundings. And every twin, with any threads, has the same bits.
 */
START_TEST(int8_products_are_near_and_the_same_everywhere)
{
    static _Alignas(64) int8_t a8[FLOATS];
    static float a_scale[128], first[4096], row[256];
    const shape s = {19, 50, 130};
    const size_t a_row = 132;

    for (int way = 0; way < n_ways(); way += 2) {
        const tfm_kernels *kernels = begin(way);
        pool p = new_pool((uint32_t)(1 + way % 3));
        tfm_gemm g = new_gemm(s, true, false, extras[0], NULL, 16);
        const tfm_panels w = packed_weights(kernels, TFM_DTYPE_INT8, s.n, s.k, 17);

        for (size_t i = 0; i < s.m; i++)
            kernels->i8_quantize(a8 + i * a_row, a_scale + i, g.a + i * g.a_row, s.k, kernels->i8_offset);
        g.panels = &w;
        g.a8 = a8;
        g.a_scale = a_scale;
        tfm_gemm_run(kernels, p.threads, p.scratch, &g);
        for (size_t j = 0; j < s.n; j++) {
            tfm_panels_row(row, &w, kernels, j);
            for (size_t i = 0; i < s.m; i++) {
                double want = 0.0, bound = 1e-6;
                for (size_t t = 0; t < s.k; t++) {
                    const double x = (double)g.a[i * g.a_row + t], y = (double)b_data[j * s.k + t];
                    must(fabs(y - (double)row[t]) <= 0.5001 * (double)w.scale[j]);
                    want += x * y;
                    bound +=
                        0.501 * ((double)a_scale[i] * (fabs(y) + (double)w.scale[j]) + (double)w.scale[j] * fabs(x));
                }
                must(fabs((double)g.c[i * g.c_row + j] - want) <= bound);
                if (!way) first[i * s.n + j] = g.c[i * g.c_row + j];
                same_bits(&g.c[i * g.c_row + j], &first[i * s.n + j], 1, "twin");
            }
        }
        free_pool(&p);
    }
}
END_TEST

/* To the nearest, ties to even; infinity, zeros and, but for AMX, which takes them for zero, subnormals as they are;
 * NaN, whatever its bits, stays NaN; too large is infinite. */
START_TEST(operands_are_rounded_to_bfloat16)
{
    static const struct {
        uint32_t from, to;
    } cases[] = {{0x3F800000, 0x3F800000}, {0x3F808000, 0x3F800000}, {0x3F818000, 0x3F820000}, {0x3F808001, 0x3F810000},
                 {0x3F807FFF, 0x3F800000}, {0xBF818000, 0xBF820000}, {0x7F7FFFFF, 0x7F800000}, {0x7F800000, 0x7F800000},
                 {0xFF800000, 0xFF800000}, {0x80000000, 0x80000000}, {0x00010000, 0x00010000}, {0x7FFFFFFF, 0x7FC00000},
                 {0xFFFFFFFF, 0x7FC00000}, {0x7F800001, 0x7FC00000}};
    const tfm_kernels *kernels = begin(_i);
    const tfm_product *how = &kernels->bf16;
    const bool no_subnormals = !strcmp(kernels->twin, "amx");
    float panel[32 * 16], x;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t bits;
        ck_assert_uint_le(tfm_items(how, 1) * how->nr, sizeof panel / sizeof *panel);
        memcpy(&x, &cases[i].from, sizeof x);
        how->pack_b(panel, &x, 1, 1, 1, 1);
        memcpy(&bits, panel, sizeof bits);
        if (how->terms == 2) bits <<= 16;
        memcpy(&x, &bits, sizeof x);
        if (cases[i].to == 0x7FC00000) must(isnan(x));
        else ck_assert_uint_eq(bits, no_subnormals && cases[i].to == 0x00010000 ? 0 : cases[i].to);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("gemm");
    TCase *c = tcase_create("gemm");

    tcase_add_loop_test(c, products_agree_with_the_oracle, 0, n_ways());
    tcase_add_loop_test(c, products_across_blocks_agree_with_the_oracle, 0, n_ways());
    tcase_add_loop_test(c, operands_may_be_spaced, 0, n_ways());
    tcase_add_loop_test(c, an_empty_product_writes_nothing, 0, n_ways());
    tcase_add_loop_test(c, c21_bits_of_a_row_do_not_depend_on_the_other_rows, 0, n_ways());
    tcase_add_loop_test(c, c21_bits_of_a_column_do_not_depend_on_the_other_columns, 0, n_ways());
    tcase_add_loop_test(c, bits_of_a_row_do_not_depend_on_its_place, 0, n_ways());
    tcase_add_loop_test(c, m49_bits_do_not_depend_on_threads, 0, n_ways());
    tcase_add_loop_test(c, nan_and_inf_stay_in_their_row, 0, n_ways());
    tcase_add_loop_test(c, operands_are_rounded_to_bfloat16, 0, n_ways());
    tcase_add_loop_test(c, packed_weights_change_no_bit, 0, n_ways());
    tcase_add_loop_test(c, rows_are_quantised, 0, n_ways());
    tcase_add_loop_test(c, int8_products_are_exact, 0, n_ways());
    tcase_add_test(c, int8_products_are_near_and_the_same_everywhere);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
