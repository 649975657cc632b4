/* What tests of lines in parts share: how a line is encoded, and what its parts' results are together. */
#ifndef SPLIT_RESULTS_H
#define SPLIT_RESULTS_H

#include "api/split_lines.h"
#include "decoder_models.h"

static const tfm_encode_rules rules = {"line", true, TFM_BLANK_NO_IDS, TFM_EOS, NULL};

/* Result rank of a is the results of b's two sentences one behind the other. */
static inline void check_joined(const tfm_decoder *a, size_t sentence, const tfm_decoder *b, size_t rank)
{
    const tfm_ids all = tfm_decoder_ids(a, sentence, rank), x = tfm_decoder_ids(b, 0, rank),
                  y = tfm_decoder_ids(b, 1, rank);
    const tfm_text s = tfm_decoder_text(b, 0, rank), t = tfm_decoder_text(b, 1, rank);
    size_t n;
    char text[1024];

    ck_assert_uint_eq(all.size, x.size + y.size);
    ck_assert_mem_eq(all.data, x.data, x.size * sizeof *x.data);
    ck_assert_mem_eq(all.data + x.size, y.data, y.size * sizeof *y.data);
    ck_assert(tfm_decoder_score(a, sentence, rank) == tfm_decoder_score(b, 0, rank) + tfm_decoder_score(b, 1, rank));
    ck_assert_mem_eq(tfm_decoder_token_scores(a, sentence, rank, &n) + x.size,
                     tfm_decoder_token_scores(b, 1, rank, NULL), y.size * sizeof(float));
    ck_assert_uint_eq(n, all.size);
    sprintf(text, "%.*s%s%.*s", (int)s.size, s.data, s.size && t.size ? " " : "", (int)t.size, t.data);
    ck_assert_str_eq(tfm_decoder_text(a, sentence, rank).data, text);
    ck_assert_uint_eq(tfm_decoder_finished(a, sentence, rank),
                      tfm_decoder_finished(b, 0, rank) && tfm_decoder_finished(b, 1, rank));
}

#endif
