/* Dropout of merges: its distribution against the definition, and trainings that cut their text anew for each epoch. */
#include "training_models.h"

#include "text/bpe.h"

#include <math.h>

static tfm_model *model;

static void setup(void)
{
    model = text_model_make();
}

static void teardown(void)
{
    tfm_model_free(model);
}

/* ------------------------------------------------------------------------------------------------- one word ---- */

enum { MOST = 6, WAYS = 64, DRAWS = 40000 };

typedef struct way {
    uint32_t symbols[MOST];
    size_t n;
    double probability, seen;
} way;

typedef struct ways {
    const tfm_bpe *bpe;
    double rate;
    way all[WAYS];
    size_t n;
} ways;

static way *find_way(ways *w, const uint32_t *symbols, size_t n)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->all[i].n == n && !memcmp(w->all[i].symbols, symbols, n * sizeof *symbols)) return &w->all[i];
    ck_assert_uint_lt(w->n, WAYS);
    way *new = &w->all[w->n++];
    *new = (way){.n = n};
    memcpy(new->symbols, symbols, n * sizeof *symbols);
    return new;
}

static size_t rank_of(const tfm_bpe *bpe, uint32_t left, uint32_t right)
{
    for (size_t i = 0; i < bpe->n; i++)
        if (bpe->merges[i].left == left && bpe->merges[i].right == right) return i;
    return SIZE_MAX;
}

/* The places of `kept` that have the earliest merge among them, merged from left to right. */
static size_t merge_kept(const tfm_bpe *bpe, uint32_t *to, const uint32_t *s, size_t n, unsigned kept)
{
    size_t best = SIZE_MAX, left = 0;

    for (size_t i = 0; i + 1 < n; i++)
        if (kept >> i & 1 && rank_of(bpe, s[i], s[i + 1]) < best) best = rank_of(bpe, s[i], s[i + 1]);
    for (size_t i = 0; i < n; left++) {
        const bool here = i + 1 < n && kept >> i & 1 && rank_of(bpe, s[i], s[i + 1]) == best;
        to[left] = here ? bpe->merges[best].result : s[i];
        i += here ? 2 : 1;
    }
    return left;
}

/*
 * Algorithm 1 of Provilkov et al. as subword-nmt has it: each round every place where a merge is possible drops out
 * with the rate; the earliest merge of the others is done at all its places; a round without any is the end.
 */
static void enumerate(ways *w, const uint32_t *s, size_t n, double probability)
{
    unsigned possible = 0;

    for (size_t i = 0; i + 1 < n; i++)
        if (rank_of(w->bpe, s[i], s[i + 1]) != SIZE_MAX) possible |= 1u << i;
    for (unsigned kept = possible;; kept = (kept - 1) & possible) {
        const double p = probability * pow(1.0 - w->rate, __builtin_popcount(kept)) *
                         pow(w->rate, __builtin_popcount(possible & ~kept));
        uint32_t merged[MOST];
        if (!kept) {
            find_way(w, s, n)->probability += p;
            return;
        }
        enumerate(w, merged, merge_kept(w->bpe, merged, s, n, kept), p);
    }
}

static void cut_often(ways *w, const uint32_t *s, size_t n)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_bpe_work work;

    tfm_bpe_work_init(&work, &a);
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        uint32_t got[MOST];
        work.dropout = (tfm_bpe_dropout){.rate = (float)w->rate, .seed = 5, .stream = draw};
        for (size_t i = 0; i < n; i++) work.parts[i] = (tfm_bpe_part){s[i], (uint32_t)i};
        const size_t size = tfm_bpe_apply(w->bpe, &work, n);
        for (size_t i = 0; i < size; i++) got[i] = work.parts[i].symbol;
        find_way(w, got, size)->seen++;
    }
    tfm_bpe_work_free(&work);
}

/* Merges 0 0 -> 4, 0 1 -> 5, 5 2 -> 6, 4 5 -> 7, 1 2 -> 8, 4 0 -> 9: words overlap, and later merges bring others
 * about. */
START_TEST(the_distribution_is_that_of_the_definition)
{
    static const tfm_merge merges[] = {{0, 0, 4}, {0, 1, 5}, {5, 2, 6}, {4, 5, 7}, {1, 2, 8}, {4, 0, 9}};
    static const uint32_t cases[][MOST] = {
        {0, 0, 0, 1, 2, 0}, {0, 1, 2, 0, 1, 2}, {0, 0, 0, 0, 0, 0}, {3, 0, 1, 3, 2, 2}};
    static const double rates[] = {0.1, 0.5, 0.9};
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    const double rate = rates[_i % 3];
    tfm_bpe bpe;

    tfm_bpe_init(&bpe, &a);
    for (size_t i = 0; i < sizeof merges / sizeof *merges; i++) ck_assert(tfm_bpe_add(&bpe, merges[i]));
    ways w = {.bpe = &bpe, .rate = rate};
    enumerate(&w, cases[_i / 3], MOST, 1.0);
    const size_t n = w.n;
    cut_often(&w, cases[_i / 3], MOST);
    ck_assert_uint_eq(w.n, n); /* nothing that the definition does not know */
    for (size_t i = 0; i < n; i++) {
        const double p = w.all[i].probability, sigma = sqrt(DRAWS * p * (1.0 - p));
        ck_assert_msg(fabs(w.all[i].seen - DRAWS * p) <= 5.0 * sigma + 1.0,
                      "way %zu of %zu parts: %g times, want %g +- %g", i, w.all[i].n, w.all[i].seen, DRAWS * p, sigma);
    }
    tfm_bpe_free(&bpe);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- one line ---- */

static const tfm_text sentence = LINE("the cat sat on the mat, the dog sat on the cat");

/* The pieces of a line; the text lives until the next call. */
static const char *pieces_of(const tfm_tokenizer *t, tfm_text line, float rate, uint64_t seed, uint64_t draw)
{
    static char text[400];
    size_t size;

    ck_assert_ok(tfm_tokenizer_segment_dropout(text, sizeof text - 1, &size, t, line, rate, seed, draw, &error), error);
    ck_assert_uint_lt(size, sizeof text);
    text[size] = 0;
    return text;
}

static size_t encode_with(int32_t *ids, size_t capacity, const tfm_tokenizer *t, tfm_text line, float rate,
                          uint64_t draw)
{
    size_t n;

    ck_assert_ok(tfm_tokenizer_encode_dropout(ids, capacity, &n, t, line, rate, 3, draw, &error), error);
    return n;
}

START_TEST(none_is_as_before_and_all_is_characters)
{
    const tfm_tokenizer *t = tfm_model_tokenizer(model);
    int32_t plain[100], ids[100], all[100];
    size_t n;

    ck_assert_ok(tfm_tokenizer_encode(plain, 100, &n, t, sentence, &error), error);
    ck_assert_uint_eq(encode_with(ids, 100, t, sentence, 0.0f, 1), n);
    ck_assert_mem_eq(ids, plain, n * sizeof *ids);
    ck_assert_uint_eq(encode_with(all, 100, t, sentence, 1.0f, 1), sentence.size + 1); /* the space that is not there */
    ck_assert_uint_lt(n, sentence.size);
    ck_assert_uint_gt(encode_with(ids, 100, t, sentence, 0.5f, 1), n);
    ck_assert_uint_lt(encode_with(ids, 100, t, sentence, 0.5f, 1), sentence.size + 1);
}
END_TEST

START_TEST(pieces_depend_on_seed_and_draw_and_are_the_text)
{
    const tfm_tokenizer *t = tfm_model_tokenizer(model);
    char first[400], back[100];
    size_t size, same_seed = 0, same_draw = 0;

    for (uint64_t i = 0; i < 50; i++) {
        int32_t ids[100];
        snprintf(first, sizeof first, "%s", pieces_of(t, sentence, 0.3f, i, i));
        ck_assert_str_eq(pieces_of(t, sentence, 0.3f, i, i), first);
        same_seed += !strcmp(pieces_of(t, sentence, 0.3f, i, i + 1), first);
        same_draw += !strcmp(pieces_of(t, sentence, 0.3f, i + 1, i), first);
        const size_t n = encode_with(ids, 100, t, sentence, 0.3f, i);
        ck_assert_ok(tfm_tokenizer_decode(back, sizeof back, &size, t, (tfm_ids){ids, n}, &error), error);
        ck_assert_uint_eq(size, sentence.size);
        ck_assert_mem_eq(back, sentence.data, size);
    }
    ck_assert_uint_le(same_seed, 2);
    ck_assert_uint_le(same_draw, 2);
}
END_TEST

START_TEST(bad_rates_and_kinds_are_refused)
{
    static const float bad[] = {-0.1f, 1.1f, NAN, INFINITY};
    const tfm_tokenizer *t = tfm_model_tokenizer(model);
    tfm_tokenizer_options o;
    tfm_tokenizer *pieces;
    size_t n;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_status(tfm_tokenizer_encode_dropout(NULL, 0, &n, t, sentence, bad[i], 0, 0, &error), TFM_E_INVALID,
                         error);
        ck_assert_ptr_nonnull(strstr(error.message, "not in [0, 1]"));
    }
    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = TFM_TOKENIZER_WORDPIECE;
    o.vocab_size = 40;
    ck_assert_ok(tfm_tokenizer_learn(&pieces, &o, &sentence, 1, &error), error);
    ck_assert_ok(tfm_tokenizer_encode_dropout(NULL, 0, &n, pieces, sentence, 0.0f, 0, 0, &error), error);
    ck_assert_status(tfm_tokenizer_encode_dropout(NULL, 0, &n, pieces, sentence, 0.1f, 0, 0, &error), TFM_E_UNSUPPORTED,
                     error);
    ck_assert_status(tfm_tokenizer_segment_dropout(NULL, 0, &n, pieces, sentence, 0.1f, 0, 0, &error),
                     TFM_E_UNSUPPORTED, error);
    ck_assert_status(tfm_tokenizer_encode_dropout(NULL, 0, &n, NULL, sentence, 0.1f, 0, 0, &error), TFM_E_INVALID,
                     error);
    tfm_tokenizer_free(pieces);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- training ---- */

enum { PAIRS = 24 };

static char texts_of[2][PAIRS][40];
static tfm_text sources[PAIRS], targets[PAIRS];

static void fill_lines(void)
{
    static const char *const parts[] = {"the cat ", "on the mat ", "sat ", "the dog "};

    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < PAIRS; i++) {
            const int n = snprintf(texts_of[side][i], sizeof texts_of[side][i], "%s%s%zu", parts[i % 4],
                                   parts[(i / 4 + side) % 4], i);
            (side ? targets : sources)[i] = (tfm_text){texts_of[side][i], (size_t)n};
        }
}

static tfm_trainer_options dropping(float source, float target)
{
    tfm_trainer_options o = trainer_options();

    o.batch_tokens = 100;
    o.bpe_dropout_source = source;
    o.bpe_dropout_target = target;
    return o;
}

static tfm_trainer *trainer_of_text(const tfm_trainer_options *o)
{
    tfm_trainer *t = trainer_of(model, o, NULL);

    ck_assert_ok(tfm_trainer_set_data(t, sources, targets, PAIRS, NULL, 0, &error), error);
    return t;
}

static void to_epoch(tfm_trainer *t, uint64_t epoch)
{
    while (t->training.at.epoch < epoch) step_once(t);
    step_once(t);
}

static tfm_ids line_ids(const tfm_side *side, size_t i)
{
    return (tfm_ids){side->ids + side->offset[i], side->offset[i + 1] - side->offset[i]};
}

static void must_decode(const tfm_side *side, const tfm_text *texts)
{
    for (size_t i = 0; i < PAIRS; i++) {
        char text[100];
        size_t size;
        const tfm_ids ids = line_ids(side, i);
        ck_assert_int_eq(ids.data[ids.size - 1], TFM_EOS);
        ck_assert_ok(tfm_tokenizer_decode(text, sizeof text, &size, tfm_model_tokenizer(model), ids, &error), error);
        ck_assert_uint_eq(size, texts[i].size);
        ck_assert_mem_eq(text, texts[i].data, size);
    }
}

START_TEST(each_epoch_has_its_own_pieces_of_the_same_text)
{
    const tfm_trainer_options o = dropping(0.4f, 0.2f);
    tfm_trainer *t = trainer_of_text(&o);
    const tfm_dataset *d = &t->training.data;
    uint32_t seen[4];

    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        to_epoch(t, epoch);
        must_decode(&d->source, sources);
        must_decode(&d->target, targets);
        seen[epoch] = tfm_dataset_fingerprint(d);
        for (uint64_t i = 0; i < epoch; i++) ck_assert_uint_ne(seen[i], seen[epoch]);
    }
    tfm_trainer_free(t);
}
END_TEST

/* What is drawn is not what is compared at a resume, validated or reported. */
START_TEST(one_side_alone_and_validation_untouched)
{
    const tfm_trainer_options plain = dropping(0.0f, 0.0f), o = dropping(0.0f, 1.0f);
    tfm_data_report a, b;
    tfm_trainer *p = trainer_of(model, &plain, NULL), *t = trainer_of(model, &o, NULL);

    ck_assert_ok(tfm_trainer_set_data(p, sources, targets, PAIRS, &a, sizeof a, &error), error);
    ck_assert_ok(tfm_trainer_set_data(t, sources, targets, PAIRS, &b, sizeof b, &error), error);
    ck_assert_ok(tfm_trainer_set_valid(p, sources, targets, PAIRS, &error), error);
    ck_assert_ok(tfm_trainer_set_valid(t, sources, targets, PAIRS, &error), error);
    to_epoch(t, 2);
    const tfm_dataset *with = &t->training.data, *without = &p->training.data;
    ck_assert_uint_eq(with->source.n_ids, without->source.n_ids);
    ck_assert_mem_eq(with->source.ids, without->source.ids, with->source.n_ids * sizeof *with->source.ids);
    for (size_t i = 0; i < PAIRS; i++) ck_assert_uint_eq(line_ids(&with->target, i).size, targets[i].size + 2);
    ck_assert_uint_eq(tfm_dataset_fingerprint(&t->training.valid), tfm_dataset_fingerprint(&p->training.valid));
    ck_assert_uint_eq(t->fingerprint, p->fingerprint);
    ck_assert_uint_eq(a.target_tokens, b.target_tokens);
    tfm_trainer_free(p);
    tfm_trainer_free(t);
}
END_TEST

START_TEST(no_dropout_is_the_training_of_ids)
{
    const tfm_trainer_options o = dropping(0.0f, 0.0f);
    tfm_trainer *text = trainer_of_text(&o), *ids = trainer_of(model, &o, NULL);
    tfm_ids given[2][PAIRS];

    for (size_t i = 0; i < PAIRS; i++) {
        given[0][i] = line_ids(&text->training.data.source, i);
        given[1][i] = line_ids(&text->training.data.target, i);
    }
    ck_assert_ok(tfm_trainer_set_data_ids(ids, given[0], given[1], PAIRS, NULL, 0, &error), error);
    ck_assert_uint_eq(text->train.n, 0);
    steps(text, 20);
    steps(ids, 20);
    same_training(text, ids);
    tfm_trainer_free(text);
    tfm_trainer_free(ids);
}
END_TEST

START_TEST(same_bits_for_threads_and_after_a_stop_anywhere)
{
    tfm_trainer_options o = dropping(0.3f, 0.3f);
    tfm_trainer *whole = trainer_of_text(&o), *resumed;
    char folder[TESTING_PATH], path[TESTING_PATH];
    const size_t stop = 3 + 4 * (size_t)_i, total = 26;

    path_join(path, temp_make(folder), "x.ckpt");
    steps(whole, stop);
    ck_assert_ok(tfm_trainer_save(whole, path, &error), error);
    steps(whole, total - stop);
    ck_assert_uint_ge(whole->training.at.epoch, 2);
    o.n_threads = 3;
    ck_assert_ok(tfm_trainer_resume(&resumed, path, &o, &error), error);
    ck_assert_ok(tfm_trainer_set_data(resumed, sources, targets, PAIRS, NULL, 0, &error), error);
    steps(resumed, total - stop);
    same_training(whole, resumed);
    tfm_trainer_free(resumed);
    tfm_trainer_free(whole);
    temp_remove(folder);
}
END_TEST

/* What would get too long is cut as without dropout; nothing is left out, and nothing outgrows its room. */
START_TEST(no_line_gets_longer_than_allowed)
{
    tfm_trainer_options o = dropping(0.0f, 0.0f);
    tfm_trainer *plain = trainer_of_text(&o);
    size_t cut = 0;

    o.max_length = (uint32_t)plain->training.data.longest + 2;
    o.bpe_dropout_source = 0.5f;
    tfm_trainer *t = trainer_of_text(&o);
    ck_assert_uint_eq(t->training.data.n_pairs, PAIRS);
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        to_epoch(t, epoch);
        for (size_t i = 0; i < PAIRS; i++) {
            const tfm_ids ids = line_ids(&t->training.data.source, i), as = line_ids(&plain->training.data.source, i);
            ck_assert_uint_le(ids.size, o.max_length);
            cut += ids.size != as.size;
        }
        ck_assert_uint_le(t->training.data.source.n_ids, t->training.data.source.most_ids);
        must_decode(&t->training.data.source, sources);
    }
    ck_assert_uint_gt(cut, PAIRS);
    tfm_trainer_free(plain);
    tfm_trainer_free(t);
}
END_TEST

static tfm_model *model_with(uint32_t kind)
{
    tfm_model_options o = small_options();
    tfm_tokenizer_options learn;
    tfm_tokenizer *t;
    tfm_model *made;

    tfm_tokenizer_options_init(&learn, sizeof learn);
    learn.kind = kind;
    learn.vocab_size = learn.merges = 40;
    ck_assert_ok(tfm_tokenizer_learn(&t, &learn, sources, PAIRS, &error), error);
    o.vocab_size = tfm_tokenizer_vocab_size(t);
    ck_assert_ok(tfm_model_create(&made, &o, t, &error), error);
    tfm_tokenizer_free(t);
    return made;
}

START_TEST(what_cannot_be_dropped_is_refused)
{
    const tfm_trainer_options o = dropping(0.1f, 0.0f), beyond = dropping(0.0f, 1.5f);
    tfm_model *other = model_with(TFM_TOKENIZER_WORDPIECE);
    tfm_trainer *t = trainer_of_text(&o);
    const tfm_ids ids = line_ids(&t->training.data.source, 0);
    const uint32_t before = tfm_dataset_fingerprint(&t->training.data);

    ck_assert_status(tfm_trainer_set_data_ids(t, &ids, &ids, 1, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "needs text"));
    ck_assert_status(tfm_trainer_set_data(t, &(tfm_text)LINE(""), targets, 1, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_uint_eq(tfm_dataset_fingerprint(&t->training.data), before); /* what was there stays, and its text */
    to_epoch(t, 1);
    must_decode(&t->training.data.source, sources);
    tfm_trainer_free(t);
    ck_assert_status(tfm_trainer_create(&t, model, &beyond, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "bpe_dropout_target is 1.5, not in [0, 1]"));
    ck_assert_status(tfm_trainer_create(&t, other, &o, &error), TFM_E_UNSUPPORTED, error);
    tfm_model_free(other);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- memory ---- */

/* Data and the first steps of two epochs; a failed step may be done again. */
static tfm_status train_within(faulty *f)
{
    tfm_trainer_options o = dropping(0.5f, 0.5f);
    const tfm_allocator a = faulty_allocator(f);
    tfm_trainer *t;

    o.allocator = &a;
    o.batch_tokens = 200;
    tfm_status status = tfm_trainer_create(&t, model, &o, &error);
    if (status == TFM_OK) status = tfm_trainer_set_data(t, sources, targets, PAIRS, NULL, 0, &error);
    for (size_t i = 0; i < 8 && status == TFM_OK; i++) status = tfm_trainer_step(t, NULL, 0, &error);
    tfm_trainer_free(t);
    return status;
}

START_TEST(every_failed_allocation_is_survived)
{
    tfm_status status = TFM_E_NOMEM;

    for (size_t n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        status = train_within(&f);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        ck_assert_uint_eq(f.live, 0);
    }
}
END_TEST

/* A new epoch takes no memory; only a word of more than 256 characters does while it is cut. */
START_TEST(a_long_word_without_memory_leaves_the_training_as_it_was)
{
    static char long_word[300];
    tfm_trainer_options o = dropping(0.3f, 0.0f);
    faulty f = {.fail_at = SIZE_MAX};
    const tfm_allocator a = faulty_allocator(&f);
    tfm_model *other = model_with(TFM_TOKENIZER_SUBWORD_NMT);
    tfm_trainer *t, *good;
    const tfm_text line = {long_word, sizeof long_word};

    for (size_t i = 0; i < sizeof long_word; i++) long_word[i] = "the"[i % 3];
    o.max_length = 1000;
    good = trainer_of(other, &o, NULL);
    ck_assert_ok(tfm_trainer_set_data(good, &line, &line, 1, NULL, 0, &error), error);
    o.allocator = &a;
    ck_assert_ok(tfm_trainer_create(&t, other, &o, &error), error);
    ck_assert_ok(tfm_trainer_set_data(t, &line, &line, 1, NULL, 0, &error), error);
    step_once(t);
    f.fail_at = f.calls;
    ck_assert_status(tfm_trainer_step(t, NULL, 0, &error), TFM_E_NOMEM, error);
    ck_assert_uint_eq(t->training.at.step, 1);
    step_once(t);
    steps(good, 2);
    same_training(t, good);
    tfm_trainer_free(t);
    tfm_trainer_free(good);
    tfm_model_free(other);
    ck_assert_uint_eq(f.live, 0);
}
END_TEST

static Suite *bpe_dropout_suite(void)
{
    Suite *suite = suite_create("bpe_dropout");
    TCase *tc = tcase_create("bpe_dropout");

    fill_lines();
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, the_distribution_is_that_of_the_definition, 0, 12);
    tcase_add_test(tc, none_is_as_before_and_all_is_characters);
    tcase_add_test(tc, pieces_depend_on_seed_and_draw_and_are_the_text);
    tcase_add_test(tc, bad_rates_and_kinds_are_refused);
    tcase_add_test(tc, each_epoch_has_its_own_pieces_of_the_same_text);
    tcase_add_test(tc, one_side_alone_and_validation_untouched);
    tcase_add_test(tc, no_dropout_is_the_training_of_ids);
    tcase_add_loop_test(tc, same_bits_for_threads_and_after_a_stop_anywhere, 0, 3);
    tcase_add_test(tc, no_line_gets_longer_than_allowed);
    tcase_add_test(tc, what_cannot_be_dropped_is_refused);
    tcase_add_test(tc, every_failed_allocation_is_survived);
    tcase_add_test(tc, a_long_word_without_memory_leaves_the_training_as_it_was);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(bpe_dropout_suite)
