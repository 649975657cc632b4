/* Lines of text as ids with EOS, as translation, scoring and training want them. */
#ifndef TFM_ENCODE_LINES_H
#define TFM_ENCODE_LINES_H

#include "base/base.h"

/* Zero it but for the allocator; memory is kept from call to call. */
typedef struct tfm_encoded {
    tfm_allocator allocator;
    tfm_ids *lines; /* [n] */
    size_t n, line_capacity;
    int32_t *ids;
    size_t n_ids, id_capacity;
    char *repaired;
    size_t repaired_capacity;
    /* by tfm_encoded_find_words(), else not filled */
    uint32_t *words; /* of each id (line_words.h) */
    size_t word_capacity;
    size_t *n_words; /* [n] */
    size_t n_words_capacity;
} tfm_encoded;

/* Text as any other, without ids, as one without a byte. */
typedef enum tfm_blank { TFM_BLANK_TEXT, TFM_BLANK_NO_IDS, TFM_BLANK_EMPTY } tfm_blank;

typedef struct tfm_encode_rules {
    const char *side;     /* how errors call a line: "line", "source line" */
    bool replace_invalid; /* invalid UTF-8 becomes U+FFFD                  */
    tfm_blank blank;      /* what a line of white space becomes            */
    int32_t eos;          /* what is appended to each line; -1: nothing    */
    const int32_t *front; /* [n] what goes before each; -1: nothing. NULL: nothing before any */
} tfm_encode_rules;

tfm_status tfm_encode_lines(tfm_encoded *encoded, const tfm_tokenizer *tokenizer, const tfm_text *lines, size_t n,
                            const tfm_encode_rules *rules, tfm_error *error);
/* The words of lines that were encoded by these rules, once it is known that they are not too long for that. */
tfm_status tfm_encoded_find_words(tfm_encoded *encoded, const tfm_tokenizer *tokenizer, const tfm_text *lines,
                                  const tfm_encode_rules *rules, tfm_error *error);
void tfm_encoded_free(tfm_encoded *encoded);

/* Unicode's White_Space, and a line of nothing else. */
bool tfm_is_space(uint32_t code);
bool tfm_line_is_blank(tfm_text line);

#endif
