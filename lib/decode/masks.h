/*
 * What a hypothesis may not become: changes of the logits of its next token, made before their log-softmax, so that the
 * probabilities of what is left sum to 1. Each control is one small function over a strip of a row; those that the
 * options do not ask for are not called.
 */
#ifndef TFM_MASKS_H
#define TFM_MASKS_H

#include "base/base.h"

/* The hypothesis that a row of logits continues. */
typedef struct tfm_past {
    tfm_ids ids;       /* its tokens; data is NULL when no control looks back */
    size_t length;     /* their number                                        */
    size_t min_length; /* of the sentence, EOS counted                        */
} tfm_past;

typedef struct tfm_masks tfm_masks;
/* Columns first .. first + n of the row. */
typedef void tfm_mask_fn(const tfm_masks *masks, const tfm_past *past, float *logits, size_t first, size_t n);

enum { TFM_MASKS = 4 };

struct tfm_masks {
    const tfm_decoder_options *options;
    int32_t eos; /* id of EOS */
    tfm_allocator allocator;
    tfm_ids *forbidden; /* [options->n_forbidden] by their last token */
    int32_t *ids;       /* of all of them */
    size_t n_ids;
    tfm_mask_fn *use[TFM_MASKS];
    size_t n; /* of use */
    bool look_back;
};

/* Copies what the options point at; they themselves are lent. */
tfm_status tfm_masks_create(tfm_masks *masks, const tfm_decoder_options *options, int32_t eos,
                            const tfm_allocator *allocator, tfm_error *error);
void tfm_masks_destroy(tfm_masks *masks);

static inline void tfm_masks_apply(const tfm_masks *masks, const tfm_past *past, float *logits, size_t first, size_t n)
{
    for (size_t i = 0; i < masks->n; i++) masks->use[i](masks, past, logits, first, n);
}

/* Tokens, EOS counted, before which a sentence of so many source tokens may not end. */
size_t tfm_masks_min_length(const tfm_decoder_options *options, size_t source);

#endif
