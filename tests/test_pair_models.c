/* Models with a tokenizer for each language: text does what the ids of its own side do, everywhere. */
#include "tokenizers.h"

static char folder[TESTING_PATH], path[TESTING_PATH];
static tfm_error error;

enum { PAIRS = 3 };

/* Words of the one language are cut into other pieces by the tokenizer of the other. */
static const tfm_text sources[PAIRS] = {LITERAL("the lower the newer"), LITERAL("the wider {0} lowest"),
                                        LITERAL("newer")};
static const tfm_text targets[PAIRS] = {LITERAL("die tiefe die neue"), LITERAL("die weite {0} tiefste"),
                                        LITERAL("neue")};

static tfm_tokenizer *source, *target, *pair;
static tfm_ids source_ids[PAIRS], target_ids[PAIRS];

static tfm_ids with_eos(const tfm_tokenizer *t, tfm_text line)
{
    const tfm_ids ids = encode(t, line);
    int32_t *all = (int32_t *)(uintptr_t)ids.data;

    all[ids.size] = TFM_EOS; /* encode() leaves room for one */
    return (tfm_ids){all, ids.size + 1};
}

static void setup(void)
{
    path_join(path, temp_make(folder), "file");
    source = learn(TFM_TOKENIZER_BPE, 290, sources, PAIRS);
    target = learn(TFM_TOKENIZER_BPE, 280, targets, PAIRS);
    ck_assert_ok(tfm_tokenizer_pair(&pair, source, target, NULL, &error), error);
    for (size_t i = 0; i < PAIRS; i++) {
        source_ids[i] = with_eos(source, sources[i]);
        target_ids[i] = with_eos(target, targets[i]);
    }
}

static void teardown(void)
{
    for (size_t i = 0; i < PAIRS; i++) {
        free((void *)(uintptr_t)source_ids[i].data);
        free((void *)(uintptr_t)target_ids[i].data);
    }
    tfm_tokenizer_free(source);
    tfm_tokenizer_free(target);
    tfm_tokenizer_free(pair);
    temp_remove(folder);
}

static tfm_model_options options_of(uint32_t sharing)
{
    tfm_model_options o;

    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = o.d_ff = 16;
    o.n_heads = 2;
    o.sharing = sharing;
    return o;
}

static tfm_model *make_model(void)
{
    const tfm_model_options o = options_of(TFM_SHARE_TARGET);
    tfm_model *m = NULL;

    ck_assert_ok(tfm_model_create(&m, &o, pair, &error), error);
    return m;
}

static tfm_decoder *make_decoder(const tfm_model *m, uint32_t alignment)
{
    tfm_decoder_options o;
    tfm_decoder *d = NULL;

    tfm_decoder_options_init(&o, sizeof o);
    o.alignment = alignment;
    o.beam = 8;
    ck_assert_ok(tfm_decoder_create(&d, m, &o, &error), error);
    return d;
}

static void require_same_ids(tfm_ids a, tfm_ids b)
{
    ck_assert_uint_eq(a.size, b.size);
    if (a.size) ck_assert_mem_eq(a.data, b.data, a.size * sizeof *a.data);
}

/* Results of text and of ids are the same, and their text is what the target's tokenizer makes of them. */
static void require_same_results(const tfm_decoder *text, const tfm_decoder *ids)
{
    for (size_t i = 0; i < PAIRS; i++) {
        const tfm_ids got = tfm_decoder_ids(text, i, 0);
        const tfm_text said = tfm_decoder_text(text, i, 0);
        require_same_ids(got, tfm_decoder_ids(ids, i, 0));
        const blob b = decode(target, got);
        ck_assert(b.size == said.size && !memcmp(b.data, said.data, b.size));
        free(b.data);
    }
}

START_TEST(each_side_has_its_vocabulary)
{
    tfm_model *m = make_model();
    tfm_model_options o;

    tfm_model_get_options(&o, sizeof o, m);
    ck_assert_uint_eq(o.vocab_size, tfm_tokenizer_vocab_size(target));
    ck_assert_uint_eq(o.source_vocab_size, tfm_tokenizer_vocab_size(source));
    ck_assert_uint_ne(o.vocab_size, o.source_vocab_size);
    tfm_model_free(m);
}
END_TEST

START_TEST(what_a_model_asks_of_a_pair)
{
    static const char ends_elsewhere[] =
        "tfm-tokenizer 1 bert 6 tokens 0 merges\n[PAD]\n[UNK]\n[CLS]\n[SEP]\nnewer\nneue\n";
    tfm_tokenizer *other = NULL, *odd = NULL, *same = NULL;
    tfm_model_options o = options_of(TFM_SHARE_ALL);
    tfm_model *m = NULL;

    ck_assert_status(tfm_model_create(&m, &o, pair, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "different vocabularies, but share one embedding: set sharing"));
    ck_assert_ok(tfm_tokenizer_pair(&same, target, target, NULL, &error), error);
    ck_assert_ok(tfm_model_create(&m, &o, same, &error), error);
    tfm_model_free(m);
    o = options_of(TFM_SHARE_NONE);
    o.vocab_size = tfm_tokenizer_vocab_size(target) - 1;
    ck_assert_status(tfm_model_create(&m, &o, pair, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "the target's tokenizer has"));
    o.vocab_size = 0;
    o.source_vocab_size = tfm_tokenizer_vocab_size(source) - 1;
    ck_assert_status(tfm_model_create(&m, &o, pair, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "the source's tokenizer has"));
    file_write(path, ends_elsewhere, sizeof ends_elsewhere - 1);
    ck_assert_ok(tfm_tokenizer_load(&other, path, NULL, &error), error);
    ck_assert_ok(tfm_tokenizer_pair(&odd, other, target, NULL, &error), error);
    o.source_vocab_size = 0;
    ck_assert_status(tfm_model_create(&m, &o, odd, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "ends a sentence with the id 3, that of the target with 1"));
    tfm_tokenizer_free(other);
    tfm_tokenizer_free(odd);
    tfm_tokenizer_free(same);
}
END_TEST

START_TEST(translations_are_those_of_ids)
{
    tfm_model *m = make_model();
    tfm_decoder *text = make_decoder(m, TFM_ALIGNMENT_OUTPUT), *ids = make_decoder(m, TFM_ALIGNMENT_NONE);

    ck_assert_ok(tfm_decoder_translate(text, sources, PAIRS, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(ids, source_ids, PAIRS, &error), error);
    require_same_results(text, ids);
    tfm_decoder_free(text);
    tfm_decoder_free(ids);
    tfm_model_free(m);
}
END_TEST

/* Prefixes, terms and placeholders are text of the target. */
START_TEST(what_is_asked_of_translations_is_text_of_the_target)
{
    static const tfm_text prefixes[PAIRS] = {LITERAL("die"), LITERAL("weite"), LITERAL("")};
    static const tfm_text terms[] = {LITERAL("neue"), LITERAL("tiefe")}, tags[] = {LITERAL("{0}")};
    static const size_t n_terms[PAIRS] = {2, 0, 0}, n_tags[PAIRS] = {0, 1, 0}, both[PAIRS] = {2, 1, 0};
    static const size_t times[] = {0, 0, 1};
    tfm_model *m = make_model();
    tfm_decoder *text = make_decoder(m, TFM_ALIGNMENT_NONE), *given = make_decoder(m, TFM_ALIGNMENT_NONE);
    const tfm_ids term_ids[] = {encode(target, terms[0]), encode(target, terms[1]), encode(target, tags[0])};
    const tfm_ids prefix_ids[] = {encode(target, prefixes[0]), encode(target, prefixes[1]), {NULL, 0}};
    tfm_request r, ids;

    tfm_request_init(&r, sizeof r);
    r.n = PAIRS;
    ids = r;
    r.lines = sources;
    r.prefix_lines = prefixes;
    r.n_terms = n_terms;
    r.term_lines = terms;
    if (_i) r.n_placeholders = n_tags;
    if (_i) r.placeholders = tags;
    ids.sources = source_ids;
    ids.prefixes = prefix_ids;
    ids.n_terms = _i ? both : n_terms;
    ids.terms = term_ids;
    ids.term_times = _i ? times : NULL;
    ck_assert_ok(tfm_decoder_run(text, &r, &error), error);
    ck_assert_ok(tfm_decoder_run(given, &ids, &error), error);
    for (size_t i = 0; i < PAIRS; i++) require_same_ids(tfm_decoder_ids(text, i, 0), tfm_decoder_ids(given, i, 0));
    for (size_t i = 0; i < 3; i++) free((void *)(uintptr_t)term_ids[i].data);
    for (size_t i = 0; i < 2; i++) free((void *)(uintptr_t)prefix_ids[i].data);
    tfm_decoder_free(text);
    tfm_decoder_free(given);
    tfm_model_free(m);
}
END_TEST

START_TEST(scores_are_those_of_ids)
{
    tfm_model *m = make_model();
    tfm_decoder *text = make_decoder(m, TFM_ALIGNMENT_OUTPUT), *ids = make_decoder(m, TFM_ALIGNMENT_NONE);

    ck_assert_ok(tfm_decoder_logprobs(text, sources, targets, PAIRS, &error), error);
    ck_assert_ok(tfm_decoder_logprobs_ids(ids, source_ids, target_ids, PAIRS, &error), error);
    for (size_t i = 0; i < PAIRS; i++) {
        size_t n, rows, cols;
        const float *a = tfm_decoder_token_logprobs(text, i, &n);
        ck_assert_uint_eq(n, target_ids[i].size);
        ck_assert_mem_eq(a, tfm_decoder_token_logprobs(ids, i, &n), n * sizeof *a);
        ck_assert_ptr_nonnull(tfm_decoder_pair_alignment(text, i, TFM_ALIGNMENT_WORDS, &rows, &cols));
        ck_assert(rows == (i < 2 ? 4 : 1) && cols == (i < 2 ? 4 : 1));
    }
    tfm_decoder_free(text);
    tfm_decoder_free(ids);
    tfm_model_free(m);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- training ---- */

static tfm_trainer *make_trainer(const tfm_model *m, float source_dropout, float target_dropout)
{
    tfm_trainer_options o;
    tfm_trainer *t = NULL;

    tfm_trainer_options_init(&o, sizeof o);
    o.n_threads = 1;
    o.bpe_dropout_source = source_dropout;
    o.bpe_dropout_target = target_dropout;
    ck_assert_ok(tfm_trainer_create(&t, m, &o, &error), error);
    return t;
}

static void step(tfm_trainer *t, tfm_progress *p)
{
    ck_assert_ok(tfm_trainer_step(t, p, sizeof *p, &error), error);
}

START_TEST(training_on_text_is_training_on_its_ids)
{
    tfm_model *m = make_model();
    tfm_trainer *text = make_trainer(m, 0, 0), *ids = make_trainer(m, 0, 0), *resumed = NULL;
    tfm_progress a = {0}, b = {0};
    tfm_trainer_options o;

    tfm_trainer_options_init(&o, sizeof o);
    o.n_threads = 1;
    ck_assert_ok(tfm_trainer_set_data(text, sources, targets, PAIRS, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_set_data_ids(ids, source_ids, target_ids, PAIRS, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_set_valid(text, sources, targets, PAIRS, &error), error);
    step(text, &a);
    step(ids, &b);
    ck_assert(a.loss == b.loss && a.loss > 0);
    ck_assert_ok(tfm_trainer_save(text, path, &error), error);
    ck_assert_ok(tfm_trainer_resume(&resumed, path, &o, &error), error);
    ck_assert_ok(tfm_trainer_set_data(resumed, sources, targets, PAIRS, NULL, 0, &error), error);
    step(resumed, &a);
    step(ids, &b);
    ck_assert(a.loss == b.loss);
    tfm_trainer_free(text);
    tfm_trainer_free(ids);
    tfm_trainer_free(resumed);
    tfm_model_free(m);
}
END_TEST

/* Without any merge a side has the pieces that its own tokenizer gives it then. */
START_TEST(merges_are_left_out_of_their_side)
{
    tfm_model *m = make_model();
    tfm_trainer *text = make_trainer(m, _i ? 0.0f : 1.0f, _i ? 1.0f : 0.0f), *ids = make_trainer(m, 0, 0);
    tfm_ids *const side = _i ? target_ids : source_ids;
    tfm_progress a = {0}, b = {0};

    for (size_t i = 0; i < PAIRS; i++) {
        int32_t *cut = calloc(256, sizeof *cut);
        size_t n;
        ck_assert_ok(tfm_tokenizer_encode_dropout(cut, 255, &n, _i ? target : source, _i ? targets[i] : sources[i], 1,
                                                  0, 0, &error), error);
        cut[n] = TFM_EOS;
        free((void *)(uintptr_t)side[i].data);
        side[i] = (tfm_ids){cut, n + 1};
    }
    ck_assert_ok(tfm_trainer_set_data(text, sources, targets, PAIRS, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_set_data_ids(ids, source_ids, target_ids, PAIRS, NULL, 0, &error), error);
    step(text, &a);
    step(ids, &b);
    ck_assert(a.loss == b.loss && a.loss > 0);
    tfm_trainer_free(text);
    tfm_trainer_free(ids);
    tfm_model_free(m);
}
END_TEST

/* Dropout is refused for the side that has no merges, and only for that. */
START_TEST(dropout_needs_merges_on_its_side)
{
    tfm_tokenizer *wordpiece = learn(TFM_TOKENIZER_WORDPIECE, 100, targets, PAIRS), *t = NULL;
    const tfm_model_options o = options_of(TFM_SHARE_NONE);
    tfm_trainer_options how;
    tfm_trainer *trainer = NULL;
    tfm_model *m = NULL;

    ck_assert_ok(tfm_tokenizer_pair(&t, source, wordpiece, NULL, &error), error);
    ck_assert_ok(tfm_model_create(&m, &o, t, &error), error);
    tfm_trainer_free(make_trainer(m, 0.5f, 0));
    tfm_trainer_options_init(&how, sizeof how);
    how.bpe_dropout_target = 0.5f;
    ck_assert_status(tfm_trainer_create(&trainer, m, &how, &error), TFM_E_UNSUPPORTED, error);
    tfm_model_free(m);
    tfm_tokenizer_free(t);
    tfm_tokenizer_free(wordpiece);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- files ---- */

START_TEST(one_file_holds_both)
{
    tfm_model *m = make_model(), *loaded = NULL;
    tfm_decoder *before = make_decoder(m, TFM_ALIGNMENT_NONE);
    tfm_tokenizer *t = NULL;

    ck_assert_ok(tfm_model_save_as(m, path, _i ? TFM_DTYPE_INT8 : TFM_DTYPE_F32, &error), error);
    ck_assert_ok(tfm_model_load(&loaded, path, NULL, &error), error);
    tfm_decoder *text = make_decoder(loaded, TFM_ALIGNMENT_NONE);
    ck_assert_ok(tfm_decoder_translate(text, sources, PAIRS, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(before, source_ids, PAIRS, &error), error);
    if (!_i) require_same_results(text, before);
    ck_assert_ok(tfm_tokenizer_load(&t, path, NULL, &error), error);
    const tfm_ids a = encode(tfm_tokenizer_target(t), targets[0]);
    ck_assert_uint_eq(a.size + 1, target_ids[0].size);
    free((void *)(uintptr_t)a.data);
    tfm_tokenizer_free(t);
    tfm_decoder_free(before);
    tfm_decoder_free(text);
    tfm_model_free(loaded);
    tfm_model_free(m);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("pair models");
    TCase *c = tcase_create("pair models");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, each_side_has_its_vocabulary);
    tcase_add_test(c, what_a_model_asks_of_a_pair);
    tcase_add_test(c, translations_are_those_of_ids);
    tcase_add_loop_test(c, what_is_asked_of_translations_is_text_of_the_target, 0, 2);
    tcase_add_test(c, scores_are_those_of_ids);
    tcase_add_test(c, training_on_text_is_training_on_its_ids);
    tcase_add_loop_test(c, merges_are_left_out_of_their_side, 0, 2);
    tcase_add_test(c, dropout_needs_merges_on_its_side);
    tcase_add_loop_test(c, one_file_holds_both, 0, 2);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
