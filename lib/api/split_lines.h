/* Lines that are too long for a model in parts that are not. */
#ifndef TFM_SPLIT_LINES_H
#define TFM_SPLIT_LINES_H

#include "api/encode_lines.h"

/* Zero it but for the allocator; memory is kept from call to call. */
typedef struct tfm_parts {
    tfm_allocator allocator;
    size_t n, n_lines;  /* parts and lines; n 0: every line is its own and only part */
    tfm_text *texts;    /* [n] lent; white space at their ends is left out           */
    size_t *lines;      /* [n] which line each belongs to                            */
    int32_t *languages; /* [n] id of that which was taken off the line; -1: none     */
    size_t *first;      /* [n_lines + 1] of each line                                */
    size_t *left;       /* [n_lines] parts that are not yet translated               */
    size_t *results;    /* [n_lines] where the search has them; SIZE_MAX: not joined */
    tfm_ids *prefixes;  /* [n] that of the line for its first part, else none        */
    size_t *n_terms;    /* [n] the same                                              */
    size_t text_capacity, line_capacity, language_capacity, first_capacity, left_capacity, result_capacity,
        prefix_capacity, n_terms_capacity;
    tfm_encoded trial;
} tfm_parts;

/*
 * Makes parts of at most limit tokens, EOS counted. A line above it is cut in two where a sentence ends in its middle
 * half, as near to the middle as there is; else behind other punctuation, else at white space, else between two
 * characters; and so are its halves. A language with which it begins is left out of them, and counted in each. encoded:
 * of the lines, in which they are counted.
 */
tfm_status tfm_split_lines(tfm_parts *parts, const tfm_tokenizer *tokenizer, const tfm_text *lines,
                           const tfm_encoded *encoded, size_t limit, const tfm_encode_rules *rules, tfm_error *error);

/* Makes prefixes and n_terms of a request, which are of lines, those of the lines' first parts. */
tfm_status tfm_parts_spread(tfm_parts *parts, tfm_request *request, tfm_error *error);

/* Did white space stand between this part and the one before it? */
static inline bool tfm_parts_spaced(const tfm_parts *parts, size_t part)
{
    return parts->texts[part - 1].data + parts->texts[part - 1].size < parts->texts[part].data;
}

void tfm_parts_free(tfm_parts *parts);

#endif
