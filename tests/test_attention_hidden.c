/* What hidden keys hold, and who is touched by numbers that are not finite; and that a window reads its neighbourhood
 * alone. */
#include "attention_trial.h"

#include <sys/mman.h>
#include <unistd.h>

/* Everything a head computes. */
typedef struct results {
    float out[ROWS * WIDTH], dq[ROWS * WIDTH], dk[ROWS * WIDTH], dv[ROWS * WIDTH], weights[ROWS * ROWS];
} results;

static void run_both(results *r, const tfm_kernels *kernels, tfm_head h)
{
    h.stats = stats;
    h.d_out = d_out;
    h.dq = r->dq, h.dk = r->dk, h.dv = r->dv;
    h.out = r->out;
    h.weights = r->weights;
    run(kernels, &h, false);
    run(kernels, &h, true);
}

static void same_row(const float *a, const float *b, size_t row, size_t cols, const char *what)
{
    same_bits(a + row * WIDTH, b + row * WIDTH, cols, what);
}

/* Queries and keys that bad ones cannot have reached have the numbers they had. */
static void check_untouched(const oracle_head *o, const results *now, const results *before, const bool *bad_query,
                            const bool *bad_key)
{
    for (size_t i = 0; i < o->m; i++) {
        if (bad_query[i]) continue;
        same_row(now->out, before->out, i, o->d_v, "out");
        same_row(now->dq, before->dq, i, o->d_k, "dq");
        same_bits(now->weights + i * o->n, before->weights + i * o->n, o->n, "weights");
    }
    for (size_t j = 0; j < o->n; j++) {
        if (bad_key[j]) continue;
        same_row(now->dk, before->dk, j, o->d_k, "dk");
        same_row(now->dv, before->dv, j, o->d_v, "dv");
    }
}

static const form hiding[] = {
    {.causal = true},
    {.window = 3},
    {.window = 20, .causal = true},
    {.masked = true},
    {.masked = true, .causal = true, .dropped = true},
    {.causal = true, .hidden = 9, .shift = -2},
};
enum { N_HIDING = sizeof hiding / sizeof *hiding };

static const struct {
    size_t m, n, d_k, d_v;
} hiding_sizes[] = {{14, 14, 16, 8}, {70, 70, 8, 16}, {40, 33, 3, 5}, {50, 150, 9, 24}};
enum { N_HIDING_SIZES = sizeof hiding_sizes / sizeof *hiding_sizes };

static tfm_head hiding_head(size_t s, size_t f, oracle_head *o)
{
    uint64_t state = 77;
    tfm_head h = new_head(hiding_sizes[s].m, hiding_sizes[s].n, hiding_sizes[s].d_k, hiding_sizes[s].d_v, 1.0f, s);

    apply(&h, &hiding[f], s + f);
    fill(d_out, h.m, h.d_v, 1.0f, &state);
    oracle_used = 0;
    *o = mirror(&h);
    return h;
}

/* A key and its value may hold anything: those who do not see it do not notice. */
START_TEST(m03_what_a_hidden_key_holds_does_not_matter)
{
    static const float anything[] = {NAN, INFINITY, -INFINITY};
    static results before, now;
    oracle_head o;

    for (size_t c = 0; c < N_HIDING * N_HIDING_SIZES * 3; c++) {
        bool bad_query[ROWS] = {false}, bad_key[ROWS] = {false};
        const tfm_head h = hiding_head(c % N_HIDING_SIZES, c / N_HIDING_SIZES % N_HIDING, &o);
        const size_t key = (h.n * (c + 5) / 7) % h.n;

        run_both(&before, twin(_i), h);
        for (size_t i = 0; i < h.d_k; i++) k[key * WIDTH + i] = anything[c % 3];
        for (size_t i = 0; i < h.d_v; i++) v[key * WIDTH + i] = anything[c % 3];
        run_both(&now, twin(_i), h);
        for (size_t i = 0; i < h.m; i++) { /* a key that nobody sees keeps its zeros, too */
            bad_query[i] = oracle_sees(&o, i, key);
            for (size_t j = 0; j < h.n && bad_query[i]; j++) bad_key[j] = bad_key[j] || oracle_sees(&o, i, j);
        }
        check_untouched(&o, &now, &before, bad_query, bad_key);
    }
}
END_TEST

/* A query, and the gradient of its output, may hold anything: keys that it does not see do not notice. */
START_TEST(m03_what_a_query_holds_reaches_its_keys_alone)
{
    static const float anything[] = {NAN, INFINITY, -INFINITY};
    static results before, now;
    oracle_head o;

    for (size_t c = 0; c < N_HIDING * N_HIDING_SIZES * 3; c++) {
        bool bad_query[ROWS] = {false}, bad_key[ROWS] = {false};
        const tfm_head h = hiding_head(c % N_HIDING_SIZES, c / N_HIDING_SIZES % N_HIDING, &o);
        const size_t query = (h.m * (c + 3) / 7) % h.m;

        run_both(&before, twin(_i), h);
        for (size_t i = 0; i < h.d_k; i++) q[query * WIDTH + i] = anything[c % 3];
        for (size_t i = 0; i < h.d_v; i++) d_out[query * WIDTH + i] = anything[c % 3];
        run_both(&now, twin(_i), h);
        bad_query[query] = true;
        for (size_t j = 0; j < h.n; j++) bad_key[j] = oracle_sees(&o, query, j);
        check_untouched(&o, &now, &before, bad_query, bad_key);
    }
}
END_TEST

/*
 * Restricted attention costs O(r n): blocks of queries, one after the other, with all keys and values out of reach but
 * the r on either side of the block and those that share a block of keys with them.
 */
START_TEST(a_window_reads_its_neighbourhood_alone)
{
    enum { N = 4096, D = 64, R = 10, ROW = D * sizeof(float) };
    const size_t size = (size_t)N * ROW;
    unsigned char *keys = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    float *gradients = calloc(2 * (size_t)N * D, sizeof *gradients);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t read = 0;

    ck_assert(keys != MAP_FAILED && gradients);
    for (size_t i = 0; i < N; i += TFM_ATTENTION_QUERIES) {
        tfm_head h = new_head(TFM_ATTENTION_QUERIES, 1, D, D, 1.0f, i);
        uint64_t state = i;
        const size_t first = i > R ? (i - R) / TFM_ATTENTION_KEYS * TFM_ATTENTION_KEYS : 0, last = i + h.m + R;
        const size_t begin = first * ROW, end = last < N ? (last * ROW + page - 1) / page * page : size;

        fill(d_out, h.m, D, 1.0f, &state);
        h.n = N;
        h.k = (float *)keys, h.v = (float *)(keys + size);
        h.k_stride = h.v_stride = D;
        h.window = R;
        h.shift = (int64_t)(i + h.m) - N;
        h.weights = NULL;
        h.stats = stats, h.d_out = d_out, h.dq = dq, h.dk = gradients, h.dv = gradients + (size_t)N * D;
        ck_assert_int_eq(mprotect(keys, 2 * size, PROT_NONE), 0);
        for (size_t half = 0; half < 2; half++)
            ck_assert_int_eq(mprotect(keys + half * size + begin, end - begin, PROT_READ | PROT_WRITE), 0);
        run(twin(_i), &h, false);
        run(twin(_i), &h, true);
        read += (end - begin) / ROW;
    }
    ck_assert_uint_le(read,
                      (size_t)N / TFM_ATTENTION_QUERIES * (TFM_ATTENTION_QUERIES + 2 * R + TFM_ATTENTION_KEYS + 16));
    munmap(keys, 2 * size);
    free(gradients);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("attention hidden");
    TCase *c = tcase_create("attention hidden");

    tcase_add_loop_test(c, m03_what_a_hidden_key_holds_does_not_matter, 0, 2);
    tcase_add_loop_test(c, m03_what_a_query_holds_reaches_its_keys_alone, 0, 2);
    tcase_add_loop_test(c, a_window_reads_its_neighbourhood_alone, 0, 2);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
