/* Prints what a model of a file computes: the first steps of a training of it, its translations and scores, in each
 * type. These are the numbers by which tests/check_compilers.sh compares builds: a line has a kind, which tells the
 * bound, and a value. Usage: computed MODEL     where there is no such file, a model is trained first */
#include <transformer.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAIRS = 40, LONGEST = 12, VOCAB = 60, STEPS = 300 };

static const char *const names[] = {"f32", "bf16", "int8"}; /* of the types */
static tfm_error error;
static int32_t ids[2 * PAIRS][LONGEST];
static tfm_ids sources[PAIRS], targets[PAIRS];

static void must(tfm_status status)
{
    if (status == TFM_OK) return;
    fprintf(stderr, "computed: %s\n", error.message);
    exit(EXIT_FAILURE);
}

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

/* A target is its source with other ids. */
static void make_pairs(void)
{
    for (size_t i = 0; i < PAIRS; i++) {
        const size_t n = 2 + draw(LONGEST - 1);
        for (size_t j = 0; j + 1 < n; j++) {
            ids[2 * i][j] = 4 + (int32_t)draw(VOCAB - 4);
            ids[2 * i + 1][j] = 4 + (ids[2 * i][j] * 7 + 3) % (VOCAB - 4);
        }
        ids[2 * i][n - 1] = ids[2 * i + 1][n - 1] = TFM_EOS;
        sources[i] = (tfm_ids){ids[2 * i], n};
        targets[i] = (tfm_ids){ids[2 * i + 1], n};
    }
}

static tfm_model *make_model(void)
{
    tfm_model_options o;
    tfm_model *model;

    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 2;
    o.d_model = 48;
    o.d_ff = 90;
    o.n_heads = 4;
    o.vocab_size = VOCAB;
    must(tfm_model_create(&model, &o, NULL, &error));
    return model;
}

static tfm_trainer *make_trainer(const tfm_model *model, uint32_t dtype)
{
    tfm_trainer_options o;
    tfm_trainer *trainer;

    tfm_trainer_options_init(&o, sizeof o);
    o.n_threads = 1;
    o.warmup = 40;
    o.lr_scale = 0.3f;
    o.batch_tokens = 100;
    o.dtype = dtype;
    must(tfm_trainer_create(&trainer, model, &o, &error));
    must(tfm_trainer_set_data_ids(trainer, sources, targets, PAIRS, NULL, 0, &error));
    return trainer;
}

static void train(const tfm_model *model, const char *path)
{
    tfm_trainer *trainer = make_trainer(model, TFM_DTYPE_F32);
    tfm_model *trained;

    for (int step = 0; step < STEPS; step++) must(tfm_trainer_step(trainer, NULL, 0, &error));
    must(tfm_trainer_model(&trained, trainer, &error));
    must(tfm_model_save(trained, path, &error));
    tfm_model_free(trained);
    tfm_trainer_free(trainer);
}

/* Three steps: Adam amplifies what rounding does to small gradients, so that later ones say little about a build. */
static void print_steps(const tfm_model *model, uint32_t dtype)
{
    tfm_trainer *trainer = make_trainer(model, dtype);
    tfm_progress p;

    for (int step = 0; step < 3; step++) {
        must(tfm_trainer_step(trainer, &p, sizeof p, &error));
        printf("%s_loss %.9g\n%s_loss %.9g\n%s_norm %.9g\n", names[dtype], p.loss, names[dtype], p.nll, names[dtype],
               p.gradient_norm);
    }
    tfm_trainer_free(trainer);
}

static void print_translations(const tfm_model *model, uint32_t dtype)
{
    tfm_decoder_options o;
    tfm_decoder *decoder;

    tfm_decoder_options_init(&o, sizeof o);
    o.dtype = dtype;
    must(tfm_decoder_create(&decoder, model, &o, &error));
    must(tfm_decoder_translate_ids(decoder, sources, PAIRS, &error));
    for (size_t i = 0; i < PAIRS; i++) {
        const tfm_ids found = tfm_decoder_ids(decoder, i, 0);
        printf("%s_ids", names[dtype]);
        for (size_t j = 0; j < found.size; j++) printf(" %d", (int)found.data[j]);
        printf("\n%s_score %.9g\n", names[dtype], tfm_decoder_score(decoder, i, 0));
    }
    must(tfm_decoder_logprobs_ids(decoder, sources, targets, PAIRS, &error));
    for (size_t i = 0; i < PAIRS; i++) printf("%s_score %.9g\n", names[dtype], tfm_decoder_pair_logprob(decoder, i));
    tfm_decoder_free(decoder);
}

int main(int argc, char **argv)
{
    tfm_model *model;

    if (argc != 2) return fputs("usage: computed MODEL\n", stderr), 2;
    make_pairs();
    if (access(argv[1], F_OK)) {
        model = make_model();
        train(model, argv[1]);
        tfm_model_free(model);
    }
    must(tfm_model_load(&model, argv[1], NULL, &error));
    for (uint32_t dtype = TFM_DTYPE_F32; dtype <= TFM_DTYPE_BF16; dtype++) print_steps(model, dtype);
    for (uint32_t dtype = TFM_DTYPE_F32; dtype <= TFM_DTYPE_INT8; dtype++) print_translations(model, dtype);
    tfm_model_free(model);
    return EXIT_SUCCESS;
}
