/*
 * Terms and placeholders of lines of text. They become terms of the search, of the tokens that they are cut into, but
 * what a hypothesis has of them is read off its text: other tokens may spell the same, and a token more than they do.
 */
#ifndef TFM_LINE_TERMS_H
#define TFM_LINE_TERMS_H

#include "api/encode_lines.h"
#include "api/placeholders.h"
#include "decode/terms.h"

/* Zero it but for the allocators; memory is kept from call to call. */
typedef struct tfm_line_terms {
    tfm_encoded encoded, placeholders;
    size_t n_placeholders; /* of all lines of the last request, as named by it */
    /* of the last request, when it had text: the terms of a line, then its placeholders */
    size_t *n_terms;
    size_t n_terms_capacity;
    tfm_ids *terms;
    size_t term_capacity;
    size_t *times;
    size_t times_capacity;
    tfm_text_term *texts;
    size_t texts_capacity;
    tfm_buffer written, text; /* the texts of the terms; of a hypothesis */
} tfm_line_terms;

/* Makes a request's placeholders terms behind the n_terms that it has as ids, which are those of term_lines if it has
 * these. */
tfm_status tfm_line_terms_take(tfm_line_terms *t, tfm_request *request, size_t n_terms, const tfm_tokenizer *tokenizer,
                               tfm_error *error);

/* Counts those terms of a sentence that are text in what ids, which are all in the vocabulary, say. What the first
 * n_given have of one may be there, also when it is more than else. */
tfm_status tfm_line_terms_read(tfm_line_terms *t, const tfm_terms *terms, const tfm_tokenizer *tokenizer, tfm_ids ids,
                               size_t n_given, tfm_wanted *wanted, tfm_error *error);

void tfm_line_terms_free(tfm_line_terms *t);

#endif
