/* A few updates on Multi30k: the ids that training sees, the bits it makes, and validation beside it. */
#include "training_models.h"

enum { N_PAIRS = 29000, N_VALID = 60 };

static lines read_lines(const char *name)
{
    char path[TESTING_PATH];

    return lines_read(data_path(path, name));
}

static tfm_tokenizer *tokenizer_of(const lines *en, const lines *de)
{
    tfm_text *both = malloc((en->count + de->count) * sizeof *both);
    char path[TESTING_PATH];
    tfm_tokenizer *t;

    ck_assert_ptr_nonnull(both);
    memcpy(both, en->line, en->count * sizeof *both);
    memcpy(both + en->count, de->line, de->count * sizeof *both);
    ck_assert_ok(tfm_tokenizer_import(&t, data_path(path, "bpe/multi30k_revisit_mmt/code.en-de"), both,
                                      en->count + de->count, NULL, &error),
                 error);
    free(both);
    return t;
}

/* FNV-1a over the ids of one side: the same on any machine. */
static uint64_t hash_ids(const tfm_side *side)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < side->n_ids; i++) h = (h ^ (uint64_t)side->ids[i]) * 0x100000001b3u;
    return h;
}

static tfm_progress last_valid;

static int32_t remember(void *user, const tfm_progress *p)
{
    (void)user;
    if (p->event == TFM_EVENT_VALID) last_valid = *p;
    return 0;
}

static tfm_trainer_options short_options(uint32_t threads)
{
    tfm_trainer_options o = trainer_options();

    o.n_threads = threads;
    o.batch_tokens = 600;
    o.max_steps = 3;
    o.valid_every = 3;
    o.progress = remember;
    return o;
}

START_TEST(three_updates_and_a_validation)
{
    lines en = read_lines("multi30k/tok/train.lc.norm.tok.en.gz"),
          de = read_lines("multi30k/tok/train.lc.norm.tok.de.gz");
    lines valid_en = read_lines("multi30k/tok/val.lc.norm.tok.en.gz"),
          valid_de = read_lines("multi30k/tok/val.lc.norm.tok.de.gz");
    tfm_tokenizer *tokenizer = tokenizer_of(&en, &de);
    tfm_trainer *trainers[2];
    tfm_progress valid[2];
    tfm_model_options mo;
    tfm_data_report r;
    tfm_model *model;

    tfm_model_options_init(&mo, sizeof mo);
    ck_assert_ok(tfm_model_options_preset(&mo, "tiny", &error), error);
    ck_assert_ok(tfm_model_create(&model, &mo, tokenizer, &error), error);
    for (uint32_t i = 0; i < 2; i++) {
        const tfm_trainer_options o = short_options(1 + i);
        tfm_trainer *t = trainers[i] = trainer_of(model, &o, NULL);
        ck_assert_ok(tfm_trainer_set_data(t, en.line, de.line, en.count, &r, sizeof r, &error), error);
        ck_assert_uint_eq(r.pairs, N_PAIRS);
        ck_assert(!r.blank && !r.too_long && !r.unknown);
        ck_assert_uint_eq(r.source_tokens, t->training.data.source.n_ids);
        ck_assert_ok(tfm_trainer_set_valid(t, valid_en.line, valid_de.line, N_VALID, &error), error);
        ck_assert_ok(tfm_trainer_run(t, &error), error);
        valid[i] = last_valid;
    }
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(tokenizer), 9712);
    ck_assert_uint_eq(r.source_tokens, 426793);
    ck_assert_uint_eq(r.target_tokens, 429507);
    ck_assert(hash_ids(&trainers[1]->training.data.source) == UINT64_C(0x8bffdd29cd41de17));
    ck_assert(hash_ids(&trainers[1]->training.data.target) == UINT64_C(0x0cabf5d66289659a));
    same_training(trainers[0], trainers[1]);
    ck_assert_mem_eq(&valid[0].valid_nll, &valid[1].valid_nll, sizeof(double));
    const double uniform = log(tfm_tokenizer_vocab_size(tokenizer));
    ck_assert(valid[0].nll > uniform - 1.0 && valid[0].nll < uniform + 2.0); /* it has hardly begun */
    ck_assert(valid[0].valid_nll > uniform - 1.0 && valid[0].valid_nll < uniform + 2.0);
    for (size_t i = 0; i < 2; i++) tfm_trainer_free(trainers[i]);
    tfm_model_free(model);
    tfm_tokenizer_free(tokenizer);
    lines_free(&en);
    lines_free(&de);
    lines_free(&valid_en);
    lines_free(&valid_de);
}
END_TEST

static Suite *trainer_data_suite(void)
{
    Suite *suite = suite_create("trainer_data");
    TCase *tc = tcase_create("trainer_data");

    tcase_add_test(tc, three_updates_and_a_validation);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_DATA_MAIN(trainer_data_suite, "multi30k/tok/train.lc.norm.tok.en.gz")
