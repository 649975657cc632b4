/*
 * Beam search of one sentence: which hypotheses live, which are finished, and when to stop. It sees the best of each
 * row of logits and knows no model. After each step the best 2 * beam continuations are looked at, so that beam of them
 * live on however many end.
 */
#ifndef TFM_BEAM_H
#define TFM_BEAM_H

#include "decode/choice.h"

/* A continuation of hypothesis row by token. */
typedef struct tfm_candidate {
    double logprob; /* of the whole hypothesis, not penalised */
    uint32_t row;
    int32_t token;
} tfm_candidate;

/* The last token of a live hypothesis, and which one of the step before it continues. */
typedef struct tfm_beam_link {
    double logprob; /* of the hypothesis up to here */
    uint32_t parent;
    int32_t token;
} tfm_beam_link;

typedef struct tfm_beam_end {
    double score, logprob; /* log-probability / length penalty + coverage penalty; log-probability */
    uint32_t steps;        /* tokens, EOS counted                          */
    uint32_t parent;       /* live hypothesis that EOS was appended to     */
    bool open;             /* no EOS: parent is what ended without         */
} tfm_beam_end;

typedef struct tfm_beam {
    const tfm_decoder_options *options; /* beam, alpha, length_norm, n_best, stop_rule */
    int32_t eos;                        /* id of EOS                                   */
    size_t max_length;                  /* tokens, EOS counted; 1..UINT32_MAX          */
    size_t steps;                       /* tokens of every live hypothesis             */
    size_t forced;                      /* tokens that were given: one hypothesis until then */
    size_t n_alive, n_finished;
    double *alive;          /* [beam] log-probabilities, not penalised, best first */
    uint32_t *numbers;      /* [beam] which sample each is, when sampling          */
    const double *coverage; /* NULL, or [n_alive] what ends of the next step have added to their score, <= 0 */
    tfm_beam_link *links;   /* [max_length][beam]                                  */
    tfm_beam_end *finished; /* [beam] best first                                   */
    bool done;
} tfm_beam;

/* Takes room from the arena (measuring or placing); options are lent. */
void tfm_beam_plan(tfm_beam *beam, tfm_arena *arena, const tfm_decoder_options *options, int32_t eos,
                   size_t max_length);

/* One live hypothesis of no tokens, whose first ones are given: so many rows have one pick. */
void tfm_beam_start(tfm_beam *beam, size_t forced);

/* How many continuations a step looks at: entries of scratch that advance needs, and of the choice of each row. */
size_t tfm_beam_width(const tfm_decoder_options *options);

/*
 * One step: picks of rows[i] continue hypothesis i, n_alive of them, and log p = logit - lse[i]. What PAD and BOS weigh
 * is not shared out among the others. Equal log-probabilities: the lower (row, token) first. What is not a number, or
 * has probability 0, is no candidate; a sentence without any ends, its scores are NaN.
 */
void tfm_beam_advance(tfm_beam *beam, const tfm_choice *rows, const double *lse, tfm_candidate *scratch);

/* The second half of a step: what becomes of n candidates, best first. None: the search ends where it stands. */
void tfm_beam_extend(tfm_beam *beam, const tfm_candidate *candidates, size_t n);

/* Best first. */
void tfm_candidates_sort(tfm_candidate *candidates, size_t n);

/* Keeps a finished hypothesis, when it is one of the best; of equal scores the older one stays in front. */
void tfm_beam_finish(tfm_beam *beam, tfm_beam_end end);

/* Tokens and parents of the n_alive hypotheses after a step. */
static inline const tfm_beam_link *tfm_beam_last(const tfm_beam *beam)
{
    return beam->links + (beam->steps - 1) * beam->options->beam;
}

/* What the log-probability of a hypothesis of so many tokens is divided by: options' length_norm and alpha. */
double tfm_beam_penalty(const tfm_decoder_options *options, size_t length);

/*
 * How many tokens the best result begins with whatever comes: those that the live hypotheses, n_alive > 0 of them, and
 * the best finished one have in common. It never falls. The first n of them go to ids.
 */
size_t tfm_beam_certain(const tfm_beam *beam);
void tfm_beam_begins(const tfm_beam *beam, int32_t *ids, size_t n);

/* Results: the finished hypotheses, or, when none is, the live ones with their log-probability; n_best at most. */
size_t tfm_beam_count(const tfm_beam *beam);
/* Length of result rank; its ids, EOS included, go to ids unless that is NULL. */
size_t tfm_beam_result(const tfm_beam *beam, size_t rank, int32_t *ids, double *score);

/* Log-probabilities of its ids, each given those before. */
void tfm_beam_logprobs(const tfm_beam *beam, size_t rank, float *to);

#endif
