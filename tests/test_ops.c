/* The operations over rows: linear maps, sub-layer connections, embeddings, the loss. */
#include "op_trial.h"

static const size_t sizes[] = {1, 7, 8, 9, 15, 17, 33, 65};

/* --------------------------------------------------------------------------------------------------- linear ---- */

typedef struct linear_case {
    size_t rows, in, out;
    bool bias, relu;
    double rate;
} linear_case;

static void linear_op(trial *t)
{
    static tfm_linear w; /* lent until the backward pass is over */
    const linear_case *c = t->params;

    w = (tfm_linear){.weight = t->in[1].data, .d_weight = t->in[1].grad, .out = c->out, .in = c->in};
    if (c->bias) w.bias = t->in[2].data, w.d_bias = t->in[2].grad;
    tfm_op_linear(&t->run, t->out[0].value, t->in[0].value, &w, c->relu, (float)c->rate, t->mask.site);
}

static void linear_oracle(trial *t)
{
    const linear_case *c = t->params;
    double *y = t->out[0].wide;

    oracle_linear(y, t->in[0].wide, t->in[1].wide, c->bias ? t->in[2].wide : NULL, c->rows, c->in, c->out);
    for (size_t i = 0; i < c->rows * c->out; i++) y[i] = c->relu ? fmax(y[i], 0.0) : y[i];
    oracle_drop(y, c->rows, c->out, &t->mask, 0);
}

static void check_linear(int twin, linear_case c, bool seeded)
{
    trial t = trial_begin(linear_op, linear_oracle, &c, c.rows + 10 * c.in + 100 * c.out);

    t.mask = (oracle_mask){UINT64_C(0xabcdef0123456789), 0x11112222, 31, c.rate, 77};
    side *x = trial_input(&t, "x", c.rows, c.in);
    if (seeded) trial_seed(&t, x);
    trial_weight(&t, "W", c.out * c.in);
    if (c.bias) trial_weight(&t, "b", c.out);
    trial_output(&t, "y", c.rows, c.out);
    trial_check(&t, trial_twin(twin));
}

START_TEST(linear_agrees)
{
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++) {
            const linear_case c = {sizes[i],    sizes[j],         sizes[(3 * i + j) % 8],
                                   (i + j) % 2, (i + j) % 3 == 0, (i + j) % 6 ? 0.0 : 0.3};
            check_linear(_i, c, j % 2);
        }
    check_linear(_i, (linear_case){9, 270, 5, true, false, 0.0}, false);
    check_linear(_i, (linear_case){70, 5, 130, true, true, 0.1}, true);
}
END_TEST

/* -------------------------------------------------------------------------------------- sub-layer connection ---- */

typedef struct norm_case {
    size_t rows, d;
    bool add, norm; /* x + dropout(s); LN of it */
    double rate;
} norm_case;

static void norm_op(trial *t)
{
    static tfm_norm n;
    const norm_case *c = t->params;
    const size_t gamma = c->add ? 2 : 1;
    tfm_value *x = t->in[0].value, *s = c->add ? t->in[1].value : NULL;

    if (c->norm)
        n = (tfm_norm){t->in[gamma].data, t->in[gamma + 1].data, t->in[gamma].grad, t->in[gamma + 1].grad, c->d, 1e-6f};
    tfm_op_add_norm(&t->run, c->add ? t->out[0].value : x, c->norm ? t->out[c->add].value : NULL, x, s,
                    c->norm ? &n : NULL, (float)c->rate, t->mask.site);
}

static void norm_oracle(trial *t)
{
    const norm_case *c = t->params;
    const double *sum = t->in[0].wide;
    const side *gamma = &t->in[c->add ? 2 : 1];

    if (c->add) {
        double *to = t->out[0].wide;
        memcpy(to, t->in[1].wide, c->rows * c->d * sizeof *to);
        oracle_drop(to, c->rows, c->d, &t->mask, 0);
        for (size_t i = 0; i < c->rows * c->d; i++) to[i] += t->in[0].wide[i];
        sum = to;
    }
    if (c->norm) oracle_norm(t->out[c->add].wide, sum, gamma[0].wide, gamma[1].wide, c->rows, c->d, (double)1e-6f);
}

/* seeded: x (and the sum) have other consumers, as in pre-norm. */
static void check_norm(int twin, norm_case c, bool seeded)
{
    trial t = trial_begin(norm_op, norm_oracle, &c, c.rows + 10 * c.d);

    t.mask = (oracle_mask){UINT64_C(0x0bcdef0123456789), 5, 4099, c.rate, 1000};
    side *x = trial_input(&t, "x", c.rows, c.d);
    if (seeded) trial_seed(&t, x);
    if (c.add) trial_input(&t, "s", c.rows, c.d);
    if (c.norm) trial_weight(&t, "gamma", c.d);
    if (c.norm) trial_weight(&t, "beta", c.d);
    if (c.add) trial_output(&t, "sum", c.rows, c.d);
    if (c.norm) trial_output(&t, "y", c.rows, c.d);
    trial_check(&t, trial_twin(twin));
}

START_TEST(add_norm_agrees_in_its_three_forms)
{
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 1; j < 8; j++) {
            const double rate = (i + j) % 3 ? 0.0 : 0.2;
            check_norm(_i, (norm_case){sizes[i], sizes[j], true, true, rate}, j % 2);
            if ((i + j) % 3 == 0) check_norm(_i, (norm_case){sizes[i], sizes[j], false, true, 0.0}, i % 2);
            if ((i + j) % 3 == 1) check_norm(_i, (norm_case){sizes[i], sizes[j], true, false, 0.4}, i % 2);
        }
    check_norm(_i, (norm_case){3, 2, false, true, 0.0}, false);
}
END_TEST

/* Post-norm: nobody but the norm uses the sum, so that no gradient waits there. */
static void post_norm_op(trial *t)
{
    norm_op(t);
    t->out[0].value = NULL;
    memset(t->out[0].data, 0, t->out[0].n * sizeof(float));
}

static void post_norm_oracle(trial *t)
{
    norm_oracle(t);
    memset(t->out[0].wide, 0, t->out[0].n * sizeof(double));
}

START_TEST(add_norm_agrees_when_the_sum_is_used_nowhere_else)
{
    for (size_t i = 0; i < 8; i++) {
        const norm_case c = {sizes[i], sizes[7 - i] + 1, true, true, 0.2};
        trial t = trial_begin(post_norm_op, post_norm_oracle, &c, i);
        t.mask = (oracle_mask){3, 5, 4099, c.rate, 1000};
        trial_input(&t, "x", c.rows, c.d);
        trial_input(&t, "s", c.rows, c.d);
        trial_weight(&t, "gamma", c.d);
        trial_weight(&t, "beta", c.d);
        trial_output(&t, "sum", c.rows, c.d);
        trial_output(&t, "y", c.rows, c.d);
        trial_check(&t, trial_twin(_i));
    }
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- embed ---- */

typedef struct embed_case {
    size_t rows, d, vocab, positions;
    bool learned;
    double rate;
    int32_t ids[80];
    uint32_t at[80];
} embed_case;

static void embed_op(trial *t)
{
    const embed_case *c = t->params;

    tfm_op_embed(&t->run, t->out[0].value,
                 &(tfm_embed){.table = t->in[0].data,
                              .d_table = t->in[0].grad,
                              .d = c->d,
                              .scale = sqrtf((float)c->d),
                              .position = t->in[1].data,
                              .d_position = c->learned ? t->in[1].grad : NULL,
                              .ids = c->ids,
                              .positions = c->at,
                              .rate = (float)c->rate,
                              .site = t->mask.site});
}

static void embed_oracle(trial *t)
{
    const embed_case *c = t->params;
    double *y = t->out[0].wide;

    for (size_t r = 0; r < c->rows; r++)
        for (size_t i = 0; i < c->d; i++) {
            y[r * c->d + i] = t->in[1].wide[c->at[r] * c->d + i];
            if (c->ids[r] >= 0) y[r * c->d + i] += sqrt((double)c->d) * t->in[0].wide[(size_t)c->ids[r] * c->d + i];
        }
    oracle_drop(y, c->rows, c->d, &t->mask, 0);
}

/* m22: ids repeat, many times over; -1 is the zero vector. */
START_TEST(m22_embed_agrees_with_repeated_ids)
{
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++) {
            embed_case c = {.rows = sizes[i],
                            .d = 2 * sizes[j] - 1,
                            .vocab = i % 2 ? 3 : 20,
                            .positions = 9,
                            .learned = (i + j) % 2,
                            .rate = i % 3 ? 0.0 : 0.25};
            trial t = trial_begin(embed_op, embed_oracle, &c, i + 10 * j);
            for (size_t r = 0; r < c.rows; r++) c.ids[r] = (int32_t)(draw_bits(&t.state) % (c.vocab + 1)) - 1;
            for (size_t r = 0; r < c.rows; r++) c.at[r] = (uint32_t)(draw_bits(&t.state) % c.positions);
            t.mask = (oracle_mask){7, 8, 8192, c.rate, 5};
            trial_weight(&t, "table", c.vocab * c.d);
            side *position = trial_weight(&t, "position", c.positions * c.d);
            trial_output(&t, "y", c.rows, c.d);
            if (!c.learned) t.n_in = 1; /* nothing is to be learned */
            if (!c.learned) memset(position->grad, 0, position->n * sizeof(float));
            trial_check(&t, trial_twin(_i));
            for (size_t p = 0; p < position->n && !c.learned; p++) must(position->grad[p] == 0.0f);
        }
}
END_TEST

/* ----------------------------------------------------------------------------------------------------- loss ---- */

enum { MOST_ROWS = 515 };

typedef struct loss_case {
    size_t rows, d, vocab;
    double smoothing;
    bool uniform, bias;
    int32_t labels[MOST_ROWS];
} loss_case;

static double seen_loss, seen_nll;
static float seen_logprobs[MOST_ROWS];

static void loss_op(trial *t)
{
    const loss_case *c = t->params;
    tfm_linear w = {
        t->in[1].data, c->bias ? t->in[2].data : NULL, t->in[1].grad, c->bias ? t->in[2].grad : NULL, c->vocab, c->d,
        NULL};

    tfm_op_loss(&t->run, t->in[0].value,
                &(tfm_loss){&w, c->labels, (float)c->smoothing, c->uniform, seen_logprobs, &seen_loss, &seen_nll});
}

static double want_nll, want_logprobs[MOST_ROWS];

static void loss_oracle(trial *t)
{
    const loss_case *c = t->params;
    double *z = oracle_new(c->vocab), nll;

    want_nll = 0.0;
    for (size_t r = 0; r < c->rows; r++) {
        oracle_linear(z, t->in[0].wide + r * c->d, t->in[1].wide, c->bias ? t->in[2].wide : NULL, 1, c->d, c->vocab);
        t->loss += oracle_loss(z, c->vocab, (size_t)c->labels[r], (double)(float)c->smoothing, c->uniform, &nll);
        want_nll += nll;
        want_logprobs[r] = -nll;
    }
}

static void check_loss(int twin, loss_case c)
{
    trial t = trial_begin(loss_op, loss_oracle, &c, c.rows + 10 * c.d + 100 * c.vocab);

    for (size_t r = 0; r < c.rows; r++) c.labels[r] = (int32_t)(draw_bits(&t.state) % c.vocab);
    if (c.vocab > 1000) t.samples = 1;
    trial_input(&t, "x", c.rows, c.d);
    trial_weight(&t, "W", c.vocab * c.d);
    if (c.bias) trial_weight(&t, "b", c.vocab);
    trial_check(&t, trial_twin(twin));
    trial_objective(&t);
    near_one(seen_loss, t.loss, 1.0, 1e-6, "loss", c.vocab);
    near_one(seen_nll, want_nll, 1.0, 1e-6, "nll", c.vocab);
    near_all(seen_logprobs, want_logprobs, c.rows, 1.0, 1e-6, "log p");
}

START_TEST(m18_loss_agrees_in_both_forms)
{
    static const double smoothings[] = {0.0, 0.1, 0.4};

    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++)
            check_loss(_i, (loss_case){.rows = sizes[i],
                                       .d = sizes[j],
                                       .vocab = 4 + sizes[(i + 3 * j) % 8],
                                       .smoothing = smoothings[(i + j) % 3],
                                       .uniform = i % 2,
                                       .bias = j % 2});
}
END_TEST

/* Logits of no more than 512 rows exist at a time, of fewer where they are long: each case is two chunks. */
START_TEST(loss_agrees_in_several_chunks)
{
    check_loss(_i, (loss_case){.rows = MOST_ROWS, .d = 3, .vocab = 9, .smoothing = 0.1, .bias = true});
    check_loss(_i, (loss_case){.rows = 98, .d = 1, .vocab = 174001, .smoothing = 0.1, .bias = true});
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("ops");
    TCase *c = tcase_create("ops");

    tcase_add_loop_test(c, linear_agrees, 0, 2);
    tcase_add_loop_test(c, add_norm_agrees_in_its_three_forms, 0, 2);
    tcase_add_loop_test(c, add_norm_agrees_when_the_sum_is_used_nowhere_else, 0, 2);
    tcase_add_loop_test(c, m22_embed_agrees_with_repeated_ids, 0, 2);
    tcase_add_loop_test(c, m18_loss_agrees_in_both_forms, 0, 2);
    tcase_add_loop_test(c, loss_agrees_in_several_chunks, 0, 2);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
