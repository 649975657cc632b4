/* Small data and small trainers that the tests of training share. */
#ifndef TRAINING_MODELS_H
#define TRAINING_MODELS_H

#include "api/trainer_handle.h"
#include "decoder_models.h"
#include "oracle.h"
#include "train/memory.h"

/* ---------------------------------------------------------------------------------------------------- data ---- */

enum { PAIRS_MOST = 2000 };

typedef struct pairs {
    tfm_ids sources[PAIRS_MOST], targets[PAIRS_MOST];
    int32_t *ids;
    size_t n, used;
} pairs;

static inline void pairs_begin(pairs *p, size_t n_ids)
{
    memset(p, 0, sizeof *p);
    p->ids = calloc(n_ids, sizeof *p->ids);
    ck_assert_ptr_nonnull(p->ids);
}

static inline void pairs_free(pairs *p)
{
    free(p->ids);
    p->ids = NULL;
}

/* A sequence of ids from 4 up to vocab, EOS at its end. */
static inline tfm_ids ids_random(pairs *p, size_t length, uint32_t vocab, uint64_t *state)
{
    int32_t *ids = p->ids + p->used;

    for (size_t i = 0; i + 1 < length; i++) ids[i] = 4 + (int32_t)(draw_bits(state) % (vocab - 4));
    ids[length - 1] = TFM_EOS;
    p->used += length;
    return (tfm_ids){ids, length};
}

/* n pairs of 2 to longest tokens. */
static inline void pairs_random(pairs *p, size_t n, size_t longest, uint32_t vocab, uint64_t seed)
{
    pairs_begin(p, 2 * n * longest);
    for (; p->n < n; p->n++) {
        p->sources[p->n] = ids_random(p, 2 + draw_bits(&seed) % (longest - 1), vocab, &seed);
        p->targets[p->n] = ids_random(p, 2 + draw_bits(&seed) % (longest - 1), vocab, &seed);
    }
}

/* ------------------------------------------------------------------------------------------------- trainers ---- */

static inline tfm_trainer_options trainer_options(void)
{
    tfm_trainer_options o;

    tfm_trainer_options_init(&o, sizeof o);
    o.n_threads = 1;
    o.warmup = 100;
    return o;
}

static inline tfm_trainer *trainer_of(const tfm_model *model, const tfm_trainer_options *o, const pairs *p)
{
    tfm_trainer *t;

    ck_assert_ok(tfm_trainer_create(&t, model, o, &error), error);
    if (p) ck_assert_ok(tfm_trainer_set_data_ids(t, p->sources, p->targets, p->n, NULL, 0, &error), error);
    return t;
}

static inline tfm_trainer *trainer_resumed(const char *path, const tfm_trainer_options *o, const pairs *p)
{
    tfm_trainer *t;

    ck_assert_ok(tfm_trainer_resume(&t, path, o, &error), error);
    ck_assert_ok(tfm_trainer_set_data_ids(t, p->sources, p->targets, p->n, NULL, 0, &error), error);
    return t;
}

static inline tfm_progress step_once(tfm_trainer *t)
{
    tfm_progress progress;

    ck_assert_ok(tfm_trainer_step(t, &progress, sizeof progress, &error), error);
    return progress;
}

static inline void steps(tfm_trainer *t, size_t n)
{
    while (n--) step_once(t);
}

/* Weights and moments, bit for bit; gradients lie between them. */
static inline void same_training(const tfm_trainer *a, const tfm_trainer *b)
{
    const size_t n = a->training.weights.size;

    ck_assert_uint_eq(n, b->training.weights.size);
    same_bits(a->training.w, b->training.w, n, "weight");
    same_bits(a->training.m, b->training.m, n, "m");
    same_bits(a->training.v, b->training.v, n, "v");
    ck_assert_uint_eq(a->training.at.step, b->training.at.step);
    ck_assert_uint_eq(a->training.at.epoch, b->training.at.epoch);
    ck_assert_uint_eq(a->training.at.update, b->training.at.update);
}

/* What a training like this needs in pieces of so many tokens. */
static inline uint64_t memory_for(const tfm_model *model, const tfm_trainer_options *o, const pairs *p, size_t tokens)
{
    tfm_trainer *t = trainer_of(model, o, p);
    size_t bytes;

    ck_assert_ok(tfm_memory_need(&t->training, &t->training.data, &t->training.valid, tokens, true, &bytes, &error),
                 error);
    tfm_trainer_free(t);
    return bytes;
}

static inline float *weights_copy(const tfm_trainer *t)
{
    const size_t bytes = t->training.weights.size * sizeof(float);
    float *copy = malloc(bytes);

    ck_assert_ptr_nonnull(copy);
    return memcpy(copy, t->training.w, bytes);
}

/* The plan of a parameter by its name. */
static inline const tfm_parameter_plan *plan_of(const tfm_trainer *t, const char *name)
{
    const tfm_weights *w = &t->training.weights;

    for (size_t i = 0; i < w->n_parameters; i++)
        if (!strcmp(w->parameters[i].name, name)) return &w->parameters[i];
    ck_abort_msg("no parameter %s", name);
}

static inline bool file_exists(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0;
}

#endif
