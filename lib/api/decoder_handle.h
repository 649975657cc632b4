/* What is behind tfm_decoder. */
#ifndef TFM_DECODER_HANDLE_H
#define TFM_DECODER_HANDLE_H

#include "api/aligner.h"
#include "api/encode_lines.h"
#include "api/line_terms.h"
#include "api/model_handle.h"
#include "api/split_lines.h"
#include "decode/score.h"
#include "decode/search.h"

/* The text of a hypothesis, in the buffer of all texts. */
typedef struct tfm_span {
    size_t first, size;
} tfm_span;

struct tfm_decoder {
    tfm_allocator allocator;
    tfm_decoder_options options;
    const tfm_model *model; /* the first, when several decode together */
    tfm_pool *pool;
    tfm_search *search;
    tfm_score *score; /* works in the memory of search */
    tfm_encoded sources, targets;
    tfm_line_terms terms;
    tfm_parts parts; /* of the lines of the last call */
    char *text; /* each hypothesis is terminated by NUL */
    size_t text_size, text_capacity;
    tfm_span *spans; /* by number of hypothesis */
    size_t span_capacity;
    int32_t *known; /* ids of a hypothesis, those without a text replaced */
    size_t known_capacity;
    tfm_aligner aligner; /* used when the options ask for alignments */
    const tfm_request *request; /* of the call under way: what asks to be told */
    int32_t *begun;             /* ids that a line in parts begins with */
    size_t begun_capacity;
};

/* Reads a caller's options over the defaults, and refuses what the model cannot do. */
tfm_status tfm_decoder_options_read(tfm_decoder_options *to, const tfm_decoder_options *from,
                                    const tfm_model_options *model, tfm_error *error);

enum { TFM_MOST_MODELS = 64 };
/* May these models decode together, with such weights, which may be NULL, and options, which were read? */
tfm_status tfm_decoder_check_models(const tfm_model *const *models, const float *weights, size_t n,
                                    const tfm_decoder_options *options, tfm_error *error);
/* Log of model i's weight, of n that sum to 1. */
float tfm_decoder_log_weight(const float *weights, size_t n, size_t i);

/* Is there a tokenizer, and are there lines? name: theirs, for the error. */
tfm_status tfm_decoder_check_text(const tfm_decoder *d, const void *lines, size_t n, const char *name,
                                  tfm_error *error);
/* Tokens that a source may have, EOS counted. */
size_t tfm_decoder_longest_source(const tfm_decoder *d);
/* No line may be longer than the options and the model allow; here its number is known. */
tfm_status tfm_decoder_check_lengths(const tfm_decoder *d, const tfm_encoded *e, const char *side, bool source,
                                     tfm_error *error);

/* Has the search tell what is done, so that texts are written and who asked for it is told. read: d->terms are to be
 * read off texts. */
void tfm_decoder_watch(tfm_decoder *d, const tfm_request *request, bool read);

/* What getters read; false: there is none. */
bool tfm_decoder_get(const tfm_decoder *d, size_t sentence, size_t rank, tfm_hypothesis *out);

/* Writes the texts of a source that is done, when the model has a tokenizer. */
tfm_status tfm_decoder_write_texts(tfm_decoder *d, size_t source, tfm_error *error);
void tfm_decoder_free_texts(tfm_decoder *d);
/* A model may have more ids than its tokenizer: those become unknown ones, in the decoder's memory until the next. */
tfm_status tfm_decoder_known_ids(tfm_decoder *d, tfm_ids *ids, tfm_error *error);
/* Appends to d->text: the text of ids; where text stands behind `first`, the space that was before a part of a line;
 * it and the text of a result of a part. */
tfm_status tfm_decoder_append_ids(tfm_decoder *d, tfm_ids ids, tfm_error *error);
tfm_status tfm_decoder_append_space(tfm_decoder *d, size_t first, size_t part, tfm_error *error);
tfm_status tfm_decoder_append_part(tfm_decoder *d, size_t first, size_t part, size_t rank, tfm_error *error);
/* Makes the results of a line that was split of those of its parts, texts included. */
tfm_status tfm_decoder_join_line(tfm_decoder *d, size_t line, tfm_error *error);

/* What was aligned before belongs to results that are gone. */
void tfm_decoder_clear_alignments(tfm_decoder *d);
/* Aligns the results of a request, and, when it is text, their words; for options that ask for it. sources: what was
 * searched for it, the parts of lines that were split. */
tfm_status tfm_decoder_align(tfm_decoder *decoder, const tfm_request *request, const tfm_ids *sources,
                             size_t n_sources, tfm_error *error);
/* Writes the texts of n sentences anew, with white space around placeholders as in their lines. */
tfm_status tfm_decoder_space_placeholders(tfm_decoder *d, const tfm_request *request, tfm_error *error);
/* Writes the text of hypothesis number anew, with the aligned words of the line for those that have the unknown token.
 * words: of the ids. */
tfm_status tfm_decoder_copy_unknown(tfm_decoder *d, size_t number, tfm_ids ids, const uint32_t *words, tfm_text line,
                                    tfm_error *error);
/* Words of the pairs that were scored as text. */
tfm_status tfm_decoder_align_pairs(tfm_decoder *decoder, tfm_error *error);

#endif
