/*
 * Terms: phrases that a translation must contain. What a hypothesis has of them is read off its tokens, or by the
 * caller off its text, so that phrases may overlap, contain each other, or come in any order. The beam is shared out
 * among hypotheses that have made equal progress, so that those that still lack terms do not crowd out the others
 * (dynamic beam allocation, Post and Vilar 2018).
 */
#ifndef TFM_TERMS_H
#define TFM_TERMS_H

#include "decode/beam.h"

enum { TFM_MOST_TERMS = 64, TFM_MOST_TERM_TOKENS = 256 }; /* of a sentence: phrases, tokens in all */

/* Of one sentence. */
typedef struct tfm_terms {
    const tfm_ids *phrases; /* none empty */
    size_t n;               /* up to TFM_MOST_TERMS */
    const size_t *times;    /* NULL, or of each how often, neither more nor less; 0: at least once */
    size_t first;           /* number of the first of them among those of all sentences */
} tfm_terms;

/* What a hypothesis has of its terms, and what it lacks: the next token of each that it does not have, with the logit
 * that it gets. */
typedef struct tfm_wanted {
    size_t there[TFM_MOST_TERMS]; /* how often */
    uint64_t read;                /* bit i: term i was counted in the text */
    uint64_t full;                /* bit i: its last token may not come once more */
    bool open;                    /* it may not end */
    bool lost;                    /* nor go on: a term is there too often */
    size_t n;
    tfm_pick picks[TFM_MOST_TERMS];
    size_t n_banned; /* tokens that would make a term appear too often */
    int32_t banned[TFM_MOST_TERMS];
} tfm_wanted;

/* Fills what it has, by tokens; then, of that, what it lacks. */
void tfm_terms_count(tfm_wanted *wanted, const tfm_terms *terms, tfm_ids past);
void tfm_terms_want(tfm_wanted *wanted, const tfm_terms *terms, tfm_ids past);

/* Columns first .. first + n of its row of logits: those of the wanted tokens are kept, EOS is masked where some are,
 * and what is banned. */
void tfm_terms_see(tfm_wanted *wanted, int32_t eos, float *logits, size_t first, size_t n);

/* Tokens of terms that past with one more token has: those of the terms in it, and of the one that it may be within.
 * wanted: of past. Terms that are read count as in its text, and when the token completes them. */
size_t tfm_terms_progress(const tfm_terms *terms, const tfm_wanted *wanted, tfm_ids past, int32_t token);

/* Candidates of a step of so many hypotheses: what tfm_terms_advance() needs as scratch. */
size_t tfm_terms_candidates(const tfm_decoder_options *options);

/* As tfm_beam_advance(). wanted, pasts: of each row. */
void tfm_terms_advance(tfm_beam *beam, const tfm_terms *terms, const tfm_choice *rows, const double *lse,
                       const tfm_wanted *wanted, const tfm_ids *pasts, tfm_candidate *scratch);

#endif
