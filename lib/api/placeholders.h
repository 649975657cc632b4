/* Placeholders: strings of a line that its translation must have as often, unchanged. They become terms of the search.
 */
#ifndef TFM_PLACEHOLDERS_H
#define TFM_PLACEHOLDERS_H

#include "api/encode_lines.h"

/* Zero it but for the allocators; memory is kept from call to call. */
typedef struct tfm_placeholders {
    tfm_encoded encoded;
    size_t n; /* of all lines of the last request */
    size_t *n_terms;
    size_t n_terms_capacity;
    tfm_ids *terms;
    size_t term_capacity;
    size_t *times;
    size_t times_capacity;
    tfm_buffer text;
} tfm_placeholders;

/* Makes a request's placeholders, of which there are some, terms behind those that it has as ids: n_terms of them. */
tfm_status tfm_placeholders_take(tfm_placeholders *p, tfm_request *request, size_t n_terms,
                                 const tfm_tokenizer *tokenizer, tfm_error *error);

/*
 * p->text = a translation in which white space stands around the n placeholders of its line as it does there: none
 * where a letter or digit touches, some where white space keeps letters and digits away. What stands beside punctuation
 * stays.
 */
void tfm_placeholders_space(tfm_placeholders *p, tfm_text translation, tfm_text line, const tfm_text *placeholders,
                            size_t n);

void tfm_placeholders_free(tfm_placeholders *p);

#endif
