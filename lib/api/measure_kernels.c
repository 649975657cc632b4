/* tfm_measure_kernel: every inner loop of the library, for every instruction set that this CPU has. */
#include "api/measure.h"
#include "base/arithmetic.h"
#include "kernels/kernels.h"

#include <math.h>

/* Sizes of the base model where one decides: d 512, d_ff 2048, V 37000, 25 tokens. All operands stay in the caches. */
enum {
    BLOCK = 96, /* rows and columns of a block of tiles: whole tiles for every twin */
    PANEL = 16, /* columns of an int8 panel */
    D = 512,
    D_FF = 2048,
    VOCAB = 37000,
    STREAM = 4096,
    WIDTH = 64, /* of a head */
    SHORT = 25,
    LONG = 256,
    ROOM = 1 << 16, /* floats of each operand */
};

typedef struct bench {
    const tfm_kernels *kernels;
    float *x, *y, *z, *w, *stats, *scratch;
    tfm_dropout dropout;
    tfm_head head[2]; /* of SHORT and of LONG sequences */
} bench;

/* Products of packed panels: x [k][BLOCK] and y [k][BLOCK] into z. */
static void run_tiles(const bench *b, const tfm_product *p)
{
    p->block(b->z, BLOCK, b->x, 0, b->y, tfm_items(p, TFM_KC), BLOCK, BLOCK, false);
}

static void tiles_f32(const void *args)
{
    const bench *b = args;
    run_tiles(b, &b->kernels->f32);
}

static void tiles_bf16(const void *args)
{
    const bench *b = args;
    run_tiles(b, &b->kernels->bf16);
}

static void pack_a_f32(const void *args)
{
    const bench *b = args;
    b->kernels->f32.pack_a(b->z, b->w, TFM_KC, 1, BLOCK, TFM_KC);
}

static void pack_b_f32(const void *args)
{
    const bench *b = args;
    b->kernels->f32.pack_b(b->z, b->w, 1, TFM_KC, TFM_KC, BLOCK);
}

static void pack_a_bf16(const void *args)
{
    const bench *b = args;
    b->kernels->bf16.pack_a(b->z, b->w, TFM_KC, 1, BLOCK, TFM_KC);
}

static void pack_b_bf16(const void *args)
{
    const bench *b = args;
    b->kernels->bf16.pack_b(b->z, b->w, 1, TFM_KC, TFM_KC, BLOCK);
}

static void quantize_i8(const void *args)
{
    const bench *b = args;
    b->kernels->i8_quantize((int8_t *)b->z, b->stats, b->w, D, b->kernels->i8_offset);
}

/* Any bytes are int8 values, any floats scales; sums of columns only count where activations have an offset. */
static void product_i8(const void *args)
{
    const bench *b = args;
    const tfm_i8_panel panel = {(const int8_t *)b->y, b->x, (const int32_t *)b->y};
    b->kernels->i8_product(b->z, PANEL, (const int8_t *)b->w, D, b->stats, &panel, D / 4, BLOCK, PANEL);
}

static void bias_relu(const void *args)
{
    const bench *b = args;
    b->kernels->bias_relu(b->z, b->w, D_FF, true, NULL, 0, 0);
}

static void bias_relu_dropout(const void *args)
{
    const bench *b = args;
    b->kernels->bias_relu(b->z, b->w, D_FF, true, &b->dropout, 0, 0);
}

static void relu_backward(const void *args)
{
    const bench *b = args;
    b->kernels->relu_backward(b->z, b->w, D_FF, 1.0f);
}

static void dropout(const void *args)
{
    const bench *b = args;
    b->kernels->dropout(b->z, b->w, D, &b->dropout, 0, 0);
}

static void add_dropped(const void *args)
{
    const bench *b = args;
    b->kernels->add_dropped(b->z, b->w, b->x, D, &b->dropout, 0);
}

static void add(const void *args)
{
    const bench *b = args;
    b->kernels->add(b->z, b->w, STREAM);
}

static void add_rows(const void *args)
{
    const bench *b = args;
    b->kernels->add_rows(b->z, b->w, D, STREAM / D, D);
}

static void axpby(const void *args)
{
    const bench *b = args;
    b->kernels->axpby(b->z, 1.5f, b->w, 0.5f, STREAM);
}

static void sum_squares(const void *args)
{
    const bench *b = args;
    b->stats[2] = (float)b->kernels->sum_squares(b->w, STREAM);
}

static void layer_norm(const void *args)
{
    const bench *b = args;
    b->kernels->layer_norm(b->z, b->stats, b->w, b->x, b->y, D, 1e-6f);
}

static void layer_norm_backward(const void *args)
{
    static const float stats[2] = {0.0f, 1.0f};
    const bench *b = args;
    b->kernels->layer_norm_backward(b->z, false, b->w, b->x, stats, b->y, D, b->z + D, b->z + 2 * D);
}

static void log_sum_exp(const void *args)
{
    const bench *b = args;
    double sum;
    b->stats[2] = b->kernels->log_sum_exp(b->w, VOCAB, &sum);
}

static void exponentials(const void *args)
{
    const bench *b = args;
    double sum, total;
    b->stats[2] = b->kernels->exponentials(b->z, VOCAB, &sum, &total);
}

static void scale_less(const void *args)
{
    const bench *b = args;
    b->kernels->scale_less(b->z, VOCAB, 0.5f, 1e-6f);
}

/* Grows by log 2 at most, which is taken off again. */
static void log_add(const void *args)
{
    const bench *b = args;
    b->kernels->log_add(b->z, 0.7f, b->w, 0.7f, VOCAB);
}

/* The gradient is w; the moments stand where they go. */
static void adam(const void *args)
{
    const bench *b = args;
    b->kernels->adam(b->z, b->x, b->y, b->w, STREAM, 1.0f, 1e-7f, 0.9f, 0.98f, 1e-9f);
}

static void attention_short(const void *args)
{
    const bench *b = args;
    b->kernels->attention(&b->head[0], b->scratch);
}

static void attention_long(const void *args)
{
    const bench *b = args;
    b->kernels->attention(&b->head[1], b->scratch);
}

static void attention_backward_short(const void *args)
{
    const bench *b = args;
    b->kernels->attention_backward(&b->head[0], b->scratch);
}

static void attention_backward_long(const void *args)
{
    const bench *b = args;
    b->kernels->attention_backward(&b->head[1], b->scratch);
}

/*
 * Operations of a call by the kernel's formula: a comparison, a root, a division, an exponential count as one, random
 * numbers as none. Bytes: each operand once for each time it must be read or written.
 */
static const struct inner_loop {
    const char *name, *shape;
    tfm_timed_fn *run;
    double flops, bytes;
} loops[] = {
#define ROWS(per_value, values) (double)(per_value) * (double)(values)
#define TILES "96 x 96 x 336, packed"
#define HEAD(n) ROWS(4 * WIDTH + 5, (n) * (n)), ROWS(4 * 4, (n) * WIDTH)
#define HEAD_BACKWARD(n) ROWS(10 * WIDTH + 7, (n) * (n)), ROWS(8 * 4, (n) * WIDTH)
    {"gemm tile f32", TILES, tiles_f32, ROWS(2 * TFM_KC, BLOCK *BLOCK), ROWS(2 * TFM_KC + BLOCK, 4 * BLOCK)},
    {"gemm tile bf16", TILES, tiles_bf16, ROWS(2 * TFM_KC, BLOCK *BLOCK), ROWS(TFM_KC + BLOCK, 4 * BLOCK)},
    {"pack a f32", "96 x 336", pack_a_f32, 0, ROWS(8, BLOCK *TFM_KC)},
    {"pack b f32", "336 x 96, transposed", pack_b_f32, 0, ROWS(8, BLOCK *TFM_KC)},
    {"pack a bf16", "96 x 336", pack_a_bf16, 0, ROWS(6, BLOCK *TFM_KC)},
    {"pack b bf16", "336 x 96, transposed", pack_b_bf16, 0, ROWS(6, BLOCK *TFM_KC)},
    {"product int8", "96 x 16 x 512, packed", product_i8, ROWS(2 * D, BLOCK *PANEL),
     ROWS(D, BLOCK + PANEL) + 4.0 * BLOCK *PANEL},
    {"quantize int8", "512", quantize_i8, ROWS(3, D), ROWS(5, D)},
    {"attention", "25 x 25 x 64", attention_short, HEAD(SHORT)},
    {"attention", "256 x 256 x 64", attention_long, HEAD(LONG)},
    {"attention backward", "25 x 25 x 64", attention_backward_short, HEAD_BACKWARD(SHORT)},
    {"attention backward", "256 x 256 x 64", attention_backward_long, HEAD_BACKWARD(LONG)},
    {"bias, ReLU", "2048", bias_relu, ROWS(2, D_FF), ROWS(12, D_FF)},
    {"bias, ReLU, dropout", "2048", bias_relu_dropout, ROWS(4, D_FF), ROWS(12, D_FF)},
    {"ReLU backward", "2048", relu_backward, ROWS(2, D_FF), ROWS(12, D_FF)},
    {"dropout", "512", dropout, ROWS(2, D), ROWS(8, D)},
    {"add dropped", "512", add_dropped, ROWS(3, D), ROWS(12, D)},
    {"layer norm", "512", layer_norm, ROWS(8, D), ROWS(16, D)},
    {"layer norm backward", "512", layer_norm_backward, ROWS(15, D), ROWS(32, D)},
    {"add", "4096", add, ROWS(1, STREAM), ROWS(12, STREAM)},
    {"add rows", "8 x 512", add_rows, ROWS(1, STREAM), ROWS(4, STREAM + 2 * D)},
    {"axpby", "4096", axpby, ROWS(3, STREAM), ROWS(12, STREAM)},
    {"sum of squares", "4096", sum_squares, ROWS(2, STREAM), ROWS(4, STREAM)},
    {"log-sum-exp", "37000", log_sum_exp, ROWS(5, VOCAB), ROWS(4, VOCAB)},
    {"exponentials", "37000", exponentials, ROWS(5, VOCAB), ROWS(8, VOCAB)},
    {"scale less", "37000", scale_less, ROWS(2, VOCAB), ROWS(8, VOCAB)},
    {"log add", "37000", log_add, ROWS(24, VOCAB), ROWS(12, VOCAB)},
    {"Adam", "4096", adam, ROWS(13, STREAM), ROWS(28, STREAM)},
};

enum { LOOPS = sizeof loops / sizeof *loops };

size_t tfm_measure_kernel_count(void)
{
    return LOOPS;
}

/* The table for the first `index` features of this CPU, each of which needs those before it; NULL: it has fewer. */
static const tfm_kernels *twin_at(size_t index)
{
    unsigned flags = 0, left = tfm_cpu_flags(true);

    for (; index > 0 && left; index--) {
        flags |= left & -left;
        left &= left - 1;
    }
    return index == 0 ? tfm_kernels_for(flags) : NULL;
}

size_t tfm_measure_twin_count(void)
{
    size_t n = 0;

    while (twin_at(n)) n++;
    return n;
}

static tfm_head head_of(bench *b, size_t n)
{
    return (tfm_head){.q = b->x, .k = b->y, .v = b->w, .q_stride = WIDTH, .k_stride = WIDTH, .v_stride = WIDTH,
                      .m = n, .n = n,
                      .d_k = WIDTH, .d_v = WIDTH, .scale = 0.125f, .out = b->z, .out_stride = WIDTH,
                      .stats = b->stats, .d_out = b->w, .dq = b->z + ROOM / 4, .dk = b->z + ROOM / 2,
                      .dv = b->z + ROOM / 4 * 3};
}

static bool plan(tfm_arena *arena, bench *b)
{
    size_t scratch;

    b->x = tfm_arena_floats(arena, 1, ROOM);
    b->y = tfm_arena_floats(arena, 1, ROOM);
    b->z = tfm_arena_floats(arena, 1, ROOM);
    b->w = tfm_arena_floats(arena, 1, ROOM);
    b->stats = tfm_arena_floats(arena, LONG, 2);
    if (!tfm_attention_scratch(&scratch, LONG, WIDTH, WIDTH, true)) return false;
    b->scratch = tfm_arena_floats(arena, 1, scratch);
    b->head[0] = head_of(b, SHORT);
    b->head[1] = head_of(b, LONG);
    return !arena->bad;
}

/* Everything finite; y, which is a second moment to Adam, not negative. */
static void fill(bench *b)
{
    tfm_measure_fill(b->x, ROOM);
    tfm_measure_fill(b->w, ROOM);
    tfm_measure_fill(b->z, ROOM);
    tfm_measure_fill(b->y, ROOM);
    for (size_t i = 0; i < ROOM; i++) b->y[i] = fabsf(b->y[i]);
    for (size_t i = 0; i < 2; i++) b->kernels->attention(&b->head[i], b->scratch);
}

static tfm_status time_loop(double *seconds, const struct inner_loop *loop, const tfm_kernels *kernels,
                            const tfm_measure_options *o, tfm_error *error)
{
    const tfm_allocator allocator = tfm_allocator_or_default(o->allocator);
    tfm_arena arena = {0};
    tfm_block block = {0};
    const tfm_dropout tenth = {.key = {1, 2}, .threshold = 6554, .scale = 1.0f}; /* so that nothing grows */
    bench b = {.kernels = kernels, .dropout = tenth};

    if (!plan(&arena, &b) || !tfm_block_reserve(&block, &allocator, arena.used, &arena))
        return tfm_fail(error, TFM_E_NOMEM, "operands of a kernel: %zu bytes", arena.used);
    plan(&arena, &b);
    fill(&b);
    *seconds = tfm_measure_time(loop->run, &b, o->seconds);
    tfm_block_free(&block, &allocator);
    return TFM_OK;
}

tfm_status tfm_measure_kernel(tfm_measurement *result, size_t struct_size, size_t kernel, size_t twin,
                              const tfm_measure_options *options, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_measure_options o;
    tfm_status status = tfm_measure_read(&o, options, error);
    const tfm_kernels *kernels = twin_at(twin);

    if (status != TFM_OK) return status;
    if (!result) return tfm_fail(error, TFM_E_INVALID, "result is NULL");
    if (kernel >= LOOPS || !kernels)
        return tfm_fail(error, TFM_E_INVALID, "kernel is %zu, twin %zu: here they are below %d and %zu", kernel, twin,
                        (int)LOOPS, tfm_measure_twin_count());
    const struct inner_loop *loop = &loops[kernel];
    tfm_measurement r = {
        .name = loop->name, .shape = loop->shape, .twin = kernels->twin, .flops = loop->flops, .bytes = loop->bytes};
    status = time_loop(&r.seconds, loop, kernels, &o, error);
    if (status == TFM_OK) tfm_result_write(result, struct_size, &r, sizeof r);
    return status;
}
