/* A language of known translation: words in pieces, another order, one word for two; and a model that learned it. */
#ifndef ALIGNMENT_MODEL_H
#define ALIGNMENT_MODEL_H

#include "testing.h"

#include <transformer.h>

enum {
    TOY_WORDS = 12,
    TOY_LONGEST = 6,
    TOY_TRAINED = 1500,
    TOY_TEST = 100,
    TOY_PAIRS = TOY_TRAINED + TOY_TEST,
    TOY_LINKS = 2 * TOY_LONGEST,
    TOY_BYTES = 8 * TOY_LINKS,
};

typedef struct toy_pair {
    char source[TOY_BYTES], target[TOY_BYTES];
    uint32_t aligned[TOY_LINKS]; /* source word of each target word */
    size_t n;                    /* target words                    */
} toy_pair;

typedef struct toy {
    toy_pair pairs[TOY_PAIRS];
    tfm_text sources[TOY_PAIRS], targets[TOY_PAIRS];
    tfm_model *model;
    tfm_error error;
} toy;

static inline uint32_t toy_draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* Four letters, other ones on each side. */
static inline void toy_word(char *line, uint32_t word, bool target)
{
    const char *consonants = target ? "zvwxqj" : "bdfgkl", *vowels = target ? "yu" : "aeio";
    char text[8] = "";
    size_t n = 0;

    if (*line) text[n++] = ' ';
    text[n++] = consonants[word % 6];
    text[n++] = vowels[word / 6 % (target ? 2 : 4)];
    text[n++] = consonants[(word / 6 + word) % 6];
    text[n++] = vowels[word % (target ? 2 : 4)];
    strcat(line, text);
}

/* The last word comes first; of the others every third kind changes place with the next; every fifth has two words. */
static inline void toy_pair_make(toy_pair *p, uint64_t *state)
{
    const uint32_t n = 3 + toy_draw(state, TOY_LONGEST - 2);
    uint32_t words[TOY_LONGEST], order[TOY_LONGEST];

    for (uint32_t i = 0; i < n; i++) {
        words[i] = toy_draw(state, TOY_WORDS);
        toy_word(p->source, words[i], false);
        order[i] = i ? i - 1 : n - 1;
    }
    for (uint32_t i = 1; i + 1 < n; i++) {
        if (words[order[i]] % 3) continue;
        const uint32_t first = order[i];
        order[i] = order[i + 1];
        order[++i] = first;
    }
    for (uint32_t i = 0; i < n; i++)
        for (int twice = words[order[i]] % 5 == 0; twice >= 0; twice--) {
            toy_word(p->target, twice ? TOY_WORDS : words[order[i]], true);
            p->aligned[p->n++] = order[i];
        }
}

static inline tfm_tokenizer *toy_tokenizer(toy *t)
{
    tfm_tokenizer_options o;
    tfm_tokenizer *tokenizer;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.vocab_size = 300;
    ck_assert_ok(tfm_tokenizer_learn(&tokenizer, &o, t->sources, 2 * (size_t)TOY_PAIRS, &t->error), t->error);
    return tokenizer;
}

static inline void toy_train(toy *t, tfm_tokenizer *tokenizer, size_t steps)
{
    tfm_model_options o;
    tfm_trainer_options to;
    tfm_model *first;
    tfm_trainer *trainer;
    tfm_progress progress;

    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = 1;
    o.n_decoder_layers = 1;
    o.d_model = 32;
    o.d_ff = 64;
    o.n_heads = 4;
    o.vocab_size = tfm_tokenizer_vocab_size(tokenizer);
    ck_assert_ok(tfm_model_create(&first, &o, tokenizer, &t->error), t->error);
    tfm_trainer_options_init(&to, sizeof to);
    to.n_threads = 1;
    to.warmup = 100;
    to.batch_tokens = 500;
    ck_assert_ok(tfm_trainer_create(&trainer, first, &to, &t->error), t->error);
    ck_assert_ok(tfm_trainer_set_data(trainer, t->sources, t->targets, TOY_TRAINED, NULL, 0, &t->error), t->error);
    while (steps--) ck_assert_ok(tfm_trainer_step(trainer, &progress, sizeof progress, &t->error), t->error);
    ck_assert_ok(tfm_trainer_model(&t->model, trainer, &t->error), t->error);
    tfm_trainer_free(trainer);
    tfm_model_free(first);
}

static inline void toy_begin(toy *t, size_t steps)
{
    uint64_t state = 1;

    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < TOY_PAIRS; i++) {
        toy_pair_make(&t->pairs[i], &state);
        t->sources[i] = (tfm_text){t->pairs[i].source, strlen(t->pairs[i].source)};
        t->targets[i] = (tfm_text){t->pairs[i].target, strlen(t->pairs[i].target)};
    }
    tfm_tokenizer *tokenizer = toy_tokenizer(t);
    toy_train(t, tokenizer, steps);
    tfm_tokenizer_free(tokenizer);
}

static inline void toy_end(toy *t)
{
    tfm_model_free(t->model);
}

#endif
