/* A small training whose loop tells what it did. */
#ifndef TRAINER_STORY_H
#define TRAINER_STORY_H

#include "training_models.h"

enum { VOCAB = 53 };

static char folder[TESTING_PATH], base[TESTING_PATH];
static tfm_model *model;
static pairs data;

static inline void setup(void)
{
    tfm_model_options o = small_options();

    o.n_encoder_layers = o.n_decoder_layers = 1;
    ck_assert_ok(tfm_model_create(&model, &o, NULL, &error), error);
    pairs_random(&data, 40, 9, VOCAB, 1);
    path_join(base, temp_make(folder), "run");
}

static inline void teardown(void)
{
    tfm_model_free(model);
    pairs_free(&data);
    temp_remove(folder);
}

/* ---------------------------------------------------------------------------------------------- what happened ---- */

enum { EVENTS_MOST = 400 };

typedef struct story {
    char events[EVENTS_MOST]; /* s e v c d, as they come */
    size_t n;
    tfm_progress last, last_valid;
    char message[200], path[TESTING_PATH + 32];
    size_t stop_at; /* this event, from 1; 0: none */
} story;

static inline int32_t tell(void *user, const tfm_progress *p)
{
    story *s = user;

    ck_assert_uint_eq(p->struct_size, sizeof *p);
    ck_assert_uint_le(p->event, TFM_EVENT_DONE);
    ck_assert_uint_lt(s->n, EVENTS_MOST - 1);
    s->events[s->n++] = "sevcd"[p->event];
    if (p->event == TFM_EVENT_CHECKPOINT) snprintf(s->path, sizeof s->path, "%s", p->path);
    if (p->event == TFM_EVENT_DONE) snprintf(s->message, sizeof s->message, "%s", p->message);
    if (p->event == TFM_EVENT_VALID) s->last_valid = *p;
    s->last = *p;
    return s->n == s->stop_at;
}

static inline tfm_trainer_options loop_options(story *s)
{
    tfm_trainer_options o = trainer_options();

    o.batch_tokens = 60;
    o.progress = tell;
    o.progress_user = s;
    return o;
}

static inline tfm_status run_once(const tfm_trainer_options *o)
{
    tfm_trainer *t = trainer_of(model, o, &data);
    const tfm_status status = tfm_trainer_run(t, &error);

    tfm_trainer_free(t);
    return status;
}

static inline bool exists(uint64_t step)
{
    char path[TESTING_PATH + 32];

    snprintf(path, sizeof path, "%s-%llu.ckpt", base, (unsigned long long)step);
    return file_exists(path);
}

#endif
