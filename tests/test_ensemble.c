/* Ensembles: searches and scores by several models, against all translations that a tiny vocabulary allows. */
#include "decoder_models.h"

enum { V = 6, LONGEST = 5, ALL = 121, MOST = 3 };

static const int32_t source_ids[] = {3, 5, 4, TFM_EOS};
static const tfm_ids source = {source_ids, 4};

/* Members that differ in all that may: layers, widths, heads, the order of norms, positions, and type. */
static tfm_model_options member_options(uint32_t vocab, size_t i)
{
    tfm_model_options o = small_options();

    o.vocab_size = vocab;
    o.seed = i + 1;
    o.n_encoder_layers = 1 + i % 2;
    o.n_decoder_layers = 2 - i % 2;
    o.d_model = 16 + 8 * (uint32_t)i;
    o.d_ff = 24;
    o.n_heads = i == 1 ? 3 : 2;
    o.norm_order = i == 1 ? TFM_PRE_NORM : TFM_POST_NORM;
    o.positions = i == 2 ? TFM_POSITIONS_LEARNED : TFM_POSITIONS_PAPER;
    o.sharing = i == 1 ? TFM_SHARE_NONE : TFM_SHARE_ALL;
    return o;
}

/* The same with weights of int8. */
static tfm_model *quantised(tfm_model *model)
{
    char folder[TESTING_PATH], path[TESTING_PATH];
    tfm_model *q;

    path_join(path, temp_make(folder), "member.tfm");
    ck_assert_ok(tfm_model_save_as(model, path, TFM_DTYPE_INT8, &error), error);
    ck_assert_ok(tfm_model_load(&q, path, NULL, &error), error);
    temp_remove(folder);
    tfm_model_free(model);
    return q;
}

static tfm_model *models[MOST];

static void members_make(uint32_t vocab, uint64_t seed)
{
    for (size_t i = 0; i < MOST; i++) {
        tfm_model_options o = member_options(vocab, i);
        o.seed += 10 * seed;
        models[i] = model_changed(&o, NULL, sharpen);
    }
    models[2] = quantised(models[2]);
}

static void members_free(void)
{
    for (size_t i = 0; i < MOST; i++) tfm_model_free(models[i]);
}

static tfm_decoder *ensemble_of(tfm_model *const *members, const float *weights, size_t n, const tfm_decoder_options *o)
{
    tfm_decoder *d;

    ck_assert_ok(tfm_decoder_create_ensemble(&d, (const tfm_model *const *)members, weights, n, o, &error), error);
    return d;
}

/* ------------------------------------------------------------------------------------------- all translations ---- */

typedef struct sequence {
    int32_t ids[LONGEST];
    size_t size;
    double logprob, score;
} sequence;

/* Decoders of single models, which score beginnings of translations by a pass over the whole. */
static struct {
    tfm_decoder *decoders[MOST];
    double weights[MOST]; /* sum to 1 */
    size_t n_models;
    tfm_decoder_options options;
    int32_t term; /* that must appear; 0: none */
    sequence all[ALL];
    size_t n;
} oracle;

/* log of the mean probability of each token behind n ids. */
static void next_logprobs(double row[V], const int32_t *ids, size_t n)
{
    int32_t with[V][LONGEST];
    tfm_ids sources[V], targets[V];

    for (int32_t id = 0; id < V; id++) {
        if (n) memcpy(with[id], ids, n * sizeof *ids);
        with[id][n] = id;
        sources[id] = source;
        targets[id] = (tfm_ids){with[id], n + 1};
        row[id] = 0.0;
    }
    for (size_t i = 0; i < oracle.n_models; i++) {
        ck_assert_ok(tfm_decoder_logprobs_ids(oracle.decoders[i], sources, targets, V, &error), error);
        for (size_t id = 0; id < V; id++) {
            size_t size;
            row[id] += oracle.weights[i] * exp((double)tfm_decoder_token_logprobs(oracle.decoders[i], id, &size)[n]);
        }
    }
    for (size_t id = 0; id < V; id++) row[id] = log(row[id]);
}

static bool has(const int32_t *ids, size_t n, int32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id) return true;
    return false;
}

/* The controls, which take tokens from the mean before the rest is made to sum to 1. */
static void control(double row[V], const int32_t *ids, size_t n)
{
    double sum = 0.0;

    for (int32_t id = 0; id < V; id++) {
        if (oracle.options.no_repeat_ngram == 1 && has(ids, n, id)) row[id] = -INFINITY;
        if (oracle.options.n_forbidden && id == TFM_UNK) row[id] = -INFINITY;
    }
    if (n + 1 < oracle.options.min_length || (oracle.term && !has(ids, n, oracle.term))) row[TFM_EOS] = -INFINITY;
    for (size_t id = 0; id < V; id++) sum += exp(row[id]);
    for (size_t id = 0; id < V; id++) row[id] -= log(sum);
}

static void extend(sequence from)
{
    double row[V];

    next_logprobs(row, from.ids, from.size);
    control(row, from.ids, from.size);
    for (int32_t id = 1; id < V; id++) {
        sequence next = from;
        if (id == TFM_BOS || isinf(row[id])) continue;
        next.ids[next.size++] = id;
        next.logprob += row[id];
        if (id != TFM_EOS && next.size < LONGEST) extend(next);
        if (id != TFM_EOS) continue;
        next.score = next.logprob / pow((5.0 + (double)next.size) / 6.0, (double)oracle.options.alpha);
        oracle.all[oracle.n++] = next;
    }
}

static int by_score(const void *a, const void *b)
{
    const sequence *x = a, *y = b;

    return (x->score < y->score) - (x->score > y->score);
}

static void oracle_begin(const float *weights, size_t n, const tfm_decoder_options *o)
{
    const tfm_decoder_options plain = decoder_options(1);
    double sum = 0.0;

    oracle.options = *o;
    oracle.n_models = n;
    oracle.n = 0;
    for (size_t i = 0; i < n; i++) sum += weights ? (double)weights[i] : 1.0;
    for (size_t i = 0; i < n; i++) {
        oracle.weights[i] = (weights ? (double)weights[i] : 1.0) / sum;
        oracle.decoders[i] = decoder_of(models[i], &plain);
    }
    extend((sequence){.size = 0});
    qsort(oracle.all, oracle.n, sizeof *oracle.all, by_score);
}

static void oracle_end(void)
{
    for (size_t i = 0; i < oracle.n_models; i++) tfm_decoder_free(oracle.decoders[i]);
}

static bool alone(size_t i)
{
    const sequence *s = &oracle.all[i];

    return (!i || s[-1].score - s->score > 1e-4) && (i + 1 >= oracle.n || s->score - s[1].score > 1e-4);
}

static void check_best(const tfm_decoder *d)
{
    const size_t n = tfm_decoder_count(d, 0);

    ck_assert_uint_eq(n, oracle.n < oracle.options.n_best ? oracle.n : oracle.options.n_best);
    for (size_t rank = 0; rank < n; rank++) {
        const sequence *want = &oracle.all[rank];
        const tfm_ids ids = tfm_decoder_ids(d, 0, rank);
        const double score = tfm_decoder_score(d, 0, rank);
        ck_assert_msg(fabs(score - want->score) < 1e-5, "rank %zu: %.9g, want %.9g", rank, score, want->score);
        if (!alone(rank)) continue;
        ck_assert_uint_eq(ids.size, want->size);
        ck_assert_mem_eq(ids.data, want->ids, want->size * sizeof *want->ids);
    }
}

static const float unequal[] = {2.0f, 0.5f, 1.25f};

/* Two members, three, unequal weights; masks and terms, which change the logits of the mean. */
START_TEST(wide_search_finds_the_best_of_all)
{
    static const int32_t unknown = TFM_UNK, four = 4;
    static const tfm_ids forbidden = {&unknown, 1}, term = {&four, 1};
    const size_t n = 2 + (size_t)_i % 2, n_terms = _i % 4 == 3;
    const float *weights = _i / 2 % 3 ? unequal : NULL;
    tfm_decoder_options o = decoder_options(ALL);
    const tfm_request request = {
        .struct_size = sizeof request, .n = 1, .sources = &source, .n_terms = &n_terms, .terms = &term};

    o.n_best = 12;
    o.max_length = LONGEST;
    o.min_length = (uint32_t)_i % 5;
    o.no_repeat_ngram = _i % 3 == 1;
    o.forbidden = &forbidden;
    o.n_forbidden = _i % 5 == 2;
    members_make(V, (uint64_t)_i);
    oracle.term = n_terms ? four : 0;
    oracle_begin(weights, n, &o);
    tfm_decoder *d = ensemble_of(models, weights, n, &o);
    ck_assert_ok(tfm_decoder_run(d, &request, &error), error);
    check_best(d);
    tfm_decoder_free(d);
    oracle_end();
    members_free();
}
END_TEST

START_TEST(scores_are_those_of_the_mean)
{
    const size_t n = 2 + (size_t)_i % 2;
    const tfm_decoder_options o = decoder_options(1);

    members_make(V, (uint64_t)_i);
    oracle.term = 0;
    oracle_begin(unequal, n, &o);
    tfm_decoder *d = ensemble_of(models, unequal, n, &o);
    for (size_t i = 0; i < oracle.n; i++) {
        const sequence *s = &oracle.all[i];
        const tfm_ids target = {s->ids, s->size};
        ck_assert_ok(tfm_decoder_logprobs_ids(d, &source, &target, 1, &error), error);
        ck_assert_double_eq_tol(tfm_decoder_pair_logprob(d, 0), s->logprob, 1e-5);
    }
    tfm_decoder_free(d);
    oracle_end();
    members_free();
}
END_TEST

/* Greedy search takes the likeliest token of the mean, behind a prefix too. */
START_TEST(greedy_search_follows_the_mean)
{
    static const int32_t begin[] = {5, 3};
    const tfm_ids prefix = {begin, (size_t)_i % 3};
    tfm_decoder_options o = decoder_options(1);
    const tfm_request request = {.struct_size = sizeof request, .n = 1, .sources = &source, .prefixes = &prefix};
    double row[V], sum = 0.0;

    o.max_length = LONGEST;
    members_make(V, 7 + (uint64_t)_i);
    oracle.term = 0;
    oracle_begin(unequal, 3, &o);
    tfm_decoder *d = ensemble_of(models, unequal, 3, &o);
    ck_assert_ok(tfm_decoder_run(d, &request, &error), error);
    const tfm_ids ids = tfm_decoder_ids(d, 0, 0);
    for (size_t i = 0; i < ids.size; i++) {
        int32_t best = TFM_EOS;
        next_logprobs(row, ids.data, i);
        for (int32_t id = 3; id < V; id++) best = row[id] > row[best] ? id : best;
        ck_assert_int_eq(ids.data[i], i < prefix.size ? begin[i] : best);
        sum += row[ids.data[i]];
    }
    if (tfm_decoder_finished(d, 0, 0)) sum /= pow((5.0 + (double)ids.size) / 6.0, (double)o.alpha);
    ck_assert_double_eq_tol(tfm_decoder_score(d, 0, 0), sum, 1e-5);
    tfm_decoder_free(d);
    oracle_end();
    members_free();
}
END_TEST

START_TEST(samples_are_of_the_mean)
{
    enum { SAMPLES = 1024 };
    tfm_decoder_options o = decoder_options(SAMPLES);
    double row[V];
    size_t seen[V] = {0};

    o.n_best = SAMPLES;
    o.temperature = 1.0f;
    o.max_length = 1;
    o.allow_special = 1;
    members_make(V, 3);
    oracle.term = 0;
    oracle_begin(unequal, 3, &(tfm_decoder_options){.alpha = 0.0f});
    tfm_decoder *d = ensemble_of(models, unequal, 3, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, &source, 1, &error), error);
    for (size_t rank = 0; rank < SAMPLES; rank++) seen[tfm_decoder_ids(d, 0, rank).data[0]]++;
    next_logprobs(row, NULL, 0);
    for (size_t id = 0; id < V; id++) {
        const double p = exp(row[id]), deviation = sqrt(p * (1.0 - p) * SAMPLES);
        ck_assert_double_eq_tol((double)seen[id], p * SAMPLES, 4.0 * deviation);
    }
    tfm_decoder_free(d);
    oracle_end();
    members_free();
}
END_TEST

/* ------------------------------------------------------------------------------------------------ one model ---- */

static void same_logprobs(tfm_decoder *a, tfm_decoder *b, const tfm_ids *sentences, float tolerance)
{
    ck_assert_ok(tfm_decoder_logprobs_ids(a, sentences, sentences, SENTENCES, &error), error);
    ck_assert_ok(tfm_decoder_logprobs_ids(b, sentences, sentences, SENTENCES, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) {
        size_t n, n_b;
        const float *x = tfm_decoder_token_logprobs(a, i, &n), *y = tfm_decoder_token_logprobs(b, i, &n_b);
        ck_assert_uint_eq(n, n_b);
        for (size_t j = 0; j < n; j++) ck_assert_float_le(fabsf(x[j] - y[j]), tolerance);
    }
}

START_TEST(an_ensemble_of_one_is_the_model)
{
    static const float weight = 0.3f;
    const tfm_decoder_options o = decoder_options(4);
    tfm_ids sentences[SENTENCES];

    sentences_make(sentences);
    members_make(53, 1);
    tfm_decoder *one = ensemble_of(models, &weight, 1, &o), *d = decoder_of(models[0], &o);
    ck_assert_ok(tfm_decoder_translate_ids(one, sentences, SENTENCES, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, SENTENCES, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) same_results(one, i, d, i);
    same_logprobs(one, d, sentences, 0.0f);
    tfm_decoder_free(one);
    tfm_decoder_free(d);
    members_free();
}
END_TEST

/* Alone: twice, or with others that count nothing; with the penalty that the first one's attention gives. */
START_TEST(equal_members_give_what_one_gives)
{
    static const float only_first[] = {5.0f, 0.0f, 0.0f};
    tfm_decoder_options o = decoder_options(4);
    tfm_ids sentences[SENTENCES];

    sentences_make(sentences);
    members_make(53, 1);
    o.coverage = 0.2f;
    tfm_model *const twice[] = {models[0], models[0]};
    tfm_decoder *many = _i ? ensemble_of(models, only_first, 3, &o) : ensemble_of(twice, NULL, 2, &o);
    tfm_decoder *d = decoder_of(models[0], &o);
    ck_assert_ok(tfm_decoder_translate_ids(many, sentences, SENTENCES, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, SENTENCES, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) {
        const tfm_ids x = tfm_decoder_ids(many, i, 0), y = tfm_decoder_ids(d, i, 0);
        ck_assert_double_eq_tol(tfm_decoder_score(many, i, 0), tfm_decoder_score(d, i, 0), 1e-4);
        ck_assert_uint_eq(x.size, y.size);
        if (x.size) ck_assert_mem_eq(x.data, y.data, x.size * sizeof *x.data);
    }
    same_logprobs(many, d, sentences, 1e-5f);
    tfm_decoder_free(many);
    tfm_decoder_free(d);
    members_free();
}
END_TEST

START_TEST(attention_is_that_of_the_first)
{
    static const int32_t target_ids[] = {4, 5, TFM_EOS};
    const tfm_ids target = {target_ids, 3};
    tfm_decoder_options o = decoder_options(2);
    const float *x, *y;
    size_t rows, cols;

    members_make(V, 1);
    o.alignment = TFM_ALIGNMENT_OUTPUT;
    tfm_decoder *many = ensemble_of(models, NULL, 3, &o), *d = decoder_of(models[0], &o);
    for (int twice = 0; twice < 2; twice++) {
        tfm_decoder *of = twice ? d : many;
        ck_assert_ok(tfm_decoder_logprobs_ids(of, &source, &target, 1, &error), error);
    }
    x = tfm_decoder_pair_alignment(many, 0, TFM_ALIGNMENT_TOKENS, &rows, &cols);
    y = tfm_decoder_pair_alignment(d, 0, TFM_ALIGNMENT_TOKENS, &rows, &cols);
    ck_assert_mem_eq(x, y, rows * cols * sizeof *x);
    ck_assert_ok(tfm_decoder_attention(&x, &rows, &cols, many, source, target, TFM_ATTENTION_CROSS, 1, 1, &error),
                 error);
    ck_assert_ok(tfm_decoder_attention(&y, &rows, &cols, d, source, target, TFM_ATTENTION_CROSS, 1, 1, &error), error);
    ck_assert_mem_eq(x, y, rows * cols * sizeof *x);
    ck_assert_ok(tfm_decoder_translate_ids(many, &source, 1, &error), error);
    ck_assert_ptr_nonnull(tfm_decoder_alignment(many, 0, 0, TFM_ALIGNMENT_TOKENS, &rows, &cols));
    ck_assert_uint_eq(cols, source.size);
    tfm_decoder_free(many);
    tfm_decoder_free(d);
    members_free();
}
END_TEST

/* ------------------------------------------------------------------------------------------------ batches ---- */

START_TEST(results_do_not_depend_on_batch_or_threads)
{
    tfm_decoder_options o = decoder_options(3), alone = decoder_options(3);
    tfm_ids sentences[SENTENCES];

    sentences_make(sentences);
    members_make(53, 2);
    o.n_best = alone.n_best = 2;
    o.n_threads = 3;
    alone.batch_tokens = 1;
    tfm_decoder *a = ensemble_of(models, unequal, 3, &o), *b = ensemble_of(models, unequal, 3, &alone);
    ck_assert_ok(tfm_decoder_translate_ids(a, sentences, SENTENCES, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(b, sentences, SENTENCES, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) same_results(a, i, b, i);
    same_logprobs(a, b, sentences, 0.0f);
    tfm_decoder_free(a);
    tfm_decoder_free(b);
    members_free();
}
END_TEST

/* More logits than are kept at a time. */
START_TEST(a_large_vocabulary_goes_in_blocks)
{
    enum { MANY = 40 };
    static const int32_t ids[MANY] = {9, 4000, 59999, 17, 3, 8};
    tfm_decoder_options o = decoder_options(4);
    tfm_model *pair[2];
    tfm_ids sources[MANY];

    for (size_t i = 0; i < 2; i++) {
        tfm_model_options m = member_options(60000, i);
        m.d_model = 8;
        m.n_heads = 1;
        ck_assert_ok(tfm_model_create(&pair[i], &m, NULL, &error), error);
    }
    for (size_t i = 0; i < MANY; i++) sources[i] = (tfm_ids){ids + i % 5, 1 + i % 7};
    o.max_extra = 2;
    tfm_decoder *all = ensemble_of(pair, NULL, 2, &o), *one = ensemble_of(pair, NULL, 2, &o);
    ck_assert_ok(tfm_decoder_translate_ids(all, sources, MANY, &error), error);
    for (size_t i = 0; i < MANY; i++) {
        ck_assert_ok(tfm_decoder_translate_ids(one, &sources[i], 1, &error), error);
        same_results(all, i, one, 0);
    }
    tfm_decoder_free(all);
    tfm_decoder_free(one);
    for (size_t i = 0; i < 2; i++) tfm_model_free(pair[i]);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- refusals ---- */

static void refuse(tfm_model *const *members, const float *weights, size_t n, const char *message)
{
    const tfm_decoder_options o = decoder_options(2);
    tfm_decoder *d = (tfm_decoder *)&error;

    ck_assert_status(tfm_decoder_create_ensemble(&d, (const tfm_model *const *)members, weights, n, &o, &error),
                     TFM_E_INVALID, error);
    ck_assert_ptr_null(d);
    ck_assert_msg(strstr(error.message, message) != NULL, "'%s' is not in '%s'", message, error.message);
}

START_TEST(refuses_what_does_not_fit)
{
    static const float weights[][3] = {{1, -1, 1}, {1, NAN, 1}, {INFINITY, 1, 1}, {0, 0, 0}};
    tfm_model *many[65], *other;
    const tfm_decoder_options defaults = decoder_options(2);
    tfm_decoder *d;

    members_make(53, 1);
    for (size_t i = 0; i < 65; i++) many[i] = models[0];
    refuse(many, NULL, 65, "n_models is 65, not in 1..64");
    refuse(many, NULL, 0, "n_models is 0, not in 1..64");
    refuse(NULL, NULL, 1, "models is NULL");
    refuse((tfm_model *[]){models[0], NULL}, NULL, 2, "model 1 is NULL");
    refuse(models, weights[0], 3, "weights[1] is -1");
    refuse(models, weights[1], 3, "weights[1] is nan");
    refuse(models, weights[2], 3, "weights[0] is inf");
    refuse(models, weights[3], 3, "all 3 weights are 0");
    ck_assert_status(tfm_decoder_create_ensemble(NULL, (const tfm_model *const *)models, NULL, 1, &defaults, &error),
                     TFM_E_INVALID, error);
    ck_assert_ok(tfm_decoder_create_ensemble(&d, (const tfm_model *const *)many, NULL, 64, &defaults, &error), error);
    tfm_decoder_free(d);
    for (int i = 0; i < 6; i++) {
        static const char *const names[] = {"vocab_size", "source_vocab_size", "start",
                                            "eos_id",     "plain_source",      "force_first"};
        static const char *const values[] = {"54", "57", "zero", "4", "1", "1"};
        static const char *const said[] = {"54 source and 54 target tokens, model 0 53 and 53",
                                           "57 source and 53 target",
                                           "first input -1, model 0 2",
                                           "eos_id 4, model 0 1",
                                           "end of sources -1, model 0 1",
                                           "first_id 7, model 0 -1"};
        tfm_model_options o = member_options(53, 1);
        o.first_id = 7;
        if (i == 3) o.own_ids = 1, o.pad_id = TFM_PAD, o.bos_id = TFM_BOS;
        ck_assert_ok(tfm_model_options_set(&o, names[i], values[i], &error), error);
        ck_assert_ok(tfm_model_create(&other, &o, NULL, &error), error);
        refuse((tfm_model *[]){models[0], other}, NULL, 2, said[i]);
        ck_assert_msg(strstr(error.message, "model 1 has") != NULL, "%s", error.message);
        tfm_model_free(other);
    }
    members_free();
}
END_TEST

START_TEST(tokenizers_must_be_the_same)
{
    static const tfm_text texts[] = {LINE("the cut sat on the mut"), LINE("the log sat on the dog")};
    tfm_tokenizer_options t;
    tfm_tokenizer *unlike;
    tfm_model *text = text_model_make(), *same = text_model_make(), *other, *bare;
    tfm_model_options o = small_options();
    const tfm_decoder_options d = decoder_options(2);

    tfm_tokenizer_options_init(&t, sizeof t);
    t.vocab_size = tfm_tokenizer_vocab_size(tfm_model_tokenizer(text));
    t.min_frequency = 1;
    ck_assert_ok(tfm_tokenizer_learn(&unlike, &t, texts, 2, &error), error);
    o.vocab_size = t.vocab_size + 3;
    ck_assert_ok(tfm_model_create(&other, &o, unlike, &error), error);
    ck_assert_ok(tfm_model_create(&bare, &o, NULL, &error), error);
    refuse((tfm_model *[]){text, same, other}, NULL, 3, "model 2 has another tokenizer (kind 0,");
    tfm_decoder *decoder = ensemble_of((tfm_model *[]){text, same, bare}, NULL, 3, &d);
    ck_assert_ok(tfm_decoder_translate(decoder, texts, 2, &error), error);
    ck_assert_uint_ge(tfm_decoder_count(decoder, 1), 1);
    tfm_decoder_free(decoder);
    tfm_tokenizer_free(unlike);
    tfm_model_free(text);
    tfm_model_free(same);
    tfm_model_free(other);
    tfm_model_free(bare);
}
END_TEST

/* Sources and outputs are as long as the member with the fewest positions takes them. */
START_TEST(the_fewest_positions_count)
{
    static const int32_t ids[] = {3, 4, 5, 3, 4, 5, 3, TFM_EOS};
    tfm_model_options o = member_options(V, 2);
    const tfm_decoder_options options = decoder_options(2);
    tfm_model *pair[2];

    o.max_positions = 7;
    ck_assert_ok(tfm_model_create(&pair[1], &o, NULL, &error), error);
    o = member_options(V, 0);
    ck_assert_ok(tfm_model_create(&pair[0], &o, NULL, &error), error);
    tfm_decoder *d = ensemble_of(pair, NULL, 2, &options);
    ck_assert_status(tfm_decoder_translate_ids(d, &(tfm_ids){ids, 8}, 1, &error), TFM_E_INVALID, error);
    ck_assert_msg(strstr(error.message, "only 7 positions") != NULL, "%s", error.message);
    ck_assert_ok(tfm_decoder_translate_ids(d, &(tfm_ids){ids + 1, 7}, 1, &error), error);
    ck_assert_uint_le(tfm_decoder_ids(d, 0, 0).size, 7);
    tfm_decoder_free(d);
    for (size_t i = 0; i < 2; i++) tfm_model_free(pair[i]);
}
END_TEST

START_TEST(bfloat16_is_for_members_with_floats)
{
    tfm_decoder_options o = decoder_options(2);
    tfm_decoder *d;

    members_make(V, 1);
    o.dtype = TFM_DTYPE_BF16;
    ck_assert_status(tfm_decoder_create_ensemble(&d, (const tfm_model *const *)models, NULL, 3, &o, &error),
                     TFM_E_UNSUPPORTED, error);
    tfm_decoder_free(ensemble_of(models, NULL, 2, &o));
    members_free();
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- memory ---- */

START_TEST(every_allocation_may_fail)
{
    static const tfm_text texts[] = {LINE("the cat sat"), LINE(""), LINE("a dog")};
    tfm_decoder_options o = decoder_options(3);
    tfm_model *pair[] = {text_model_make(), text_model_make()};
    tfm_status status = TFM_E_NOMEM;
    size_t failures = 0;

    o.n_threads = 2;
    o.max_extra = 300; /* more positions than models have made */
    for (; status != TFM_OK; failures++) {
        faulty f = {.fail_at = failures};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_decoder *d;
        o.allocator = &a;
        status = tfm_decoder_create_ensemble(&d, (const tfm_model *const *)pair, NULL, 2, &o, &error);
        if (!status) status = tfm_decoder_translate(d, texts, 3, &error);
        if (!status) status = tfm_decoder_logprobs(d, texts, texts, 3, &error);
        if (status) ck_assert_int_eq(status, TFM_E_NOMEM);
        if (d) ck_assert_ok(tfm_decoder_translate(d, texts, 3, &error), error); /* also after a failure */
        tfm_decoder_free(d);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(failures, 30);
    for (size_t i = 0; i < 2; i++) tfm_model_free(pair[i]);
}
END_TEST

static Suite *ensemble_suite(void)
{
    Suite *suite = suite_create("ensemble");
    TCase *tc = tcase_create("ensemble");

    tcase_add_loop_test(tc, wide_search_finds_the_best_of_all, 0, 60);
    tcase_add_loop_test(tc, scores_are_those_of_the_mean, 0, 8);
    tcase_add_loop_test(tc, greedy_search_follows_the_mean, 0, 12);
    tcase_add_test(tc, samples_are_of_the_mean);
    tcase_add_test(tc, an_ensemble_of_one_is_the_model);
    tcase_add_loop_test(tc, equal_members_give_what_one_gives, 0, 2);
    tcase_add_test(tc, attention_is_that_of_the_first);
    tcase_add_test(tc, results_do_not_depend_on_batch_or_threads);
    tcase_add_test(tc, a_large_vocabulary_goes_in_blocks);
    tcase_add_test(tc, refuses_what_does_not_fit);
    tcase_add_test(tc, tokenizers_must_be_the_same);
    tcase_add_test(tc, the_fewest_positions_count);
    tcase_add_test(tc, bfloat16_is_for_members_with_floats);
    tcase_add_test(tc, every_allocation_may_fail);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(ensemble_suite)
