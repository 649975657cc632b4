/* Reading pairs with the models (teacher forcing): log-probabilities of targets, and attention weights. */
#ifndef TFM_SCORE_H
#define TFM_SCORE_H

#include "decode/workspace.h"

typedef struct tfm_score tfm_score;

/* The workspace is lent. */
tfm_status tfm_score_create(tfm_score **out, tfm_workspace *workspace, tfm_error *error);
void tfm_score_free(tfm_score *score);

/* log p of each target token. The options' progress function is called after each batch. */
tfm_status tfm_score_run(tfm_score *score, const tfm_ids *sources, const tfm_ids *targets, size_t n, tfm_error *error);

/* Aligns the pairs, as the options say, without their probabilities: by the first model alone. */
tfm_status tfm_score_align(tfm_score *score, const tfm_ids *sources, const tfm_ids *targets, size_t n,
                           tfm_error *error);

/* Forgets the results, as a run that fails does. */
void tfm_score_clear(tfm_score *score);

/* Results of the last run that succeeded; NULL, and *n 0, out of range. Lent until the next. */
const float *tfm_score_tokens(const tfm_score *score, size_t pair, size_t *n);

/* The alignment of a pair of the last run or tfm_score_align(), [rows of target][cols of source]; NULL out of range,
 * when it is empty, or when the options ask for none. Lent until the next. */
const float *tfm_score_alignment(const tfm_score *score, size_t pair, size_t *rows, size_t *cols);

/* Weights [layers][heads][rows][cols], which shape receives, of one layer or of TFM_EVERY_LAYER, of the first
 * model; lent until the next call. kind and layer exist; the sequences are not empty. */
tfm_status tfm_score_attention(tfm_score *score, tfm_ids source, tfm_ids target, uint32_t kind, uint32_t layer,
                               const float **weights, size_t shape[4], tfm_error *error);

#endif
