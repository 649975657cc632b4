/* A parse as what is compared: its words with their tags, and its constituents. */
#ifndef TFM_EVAL_PARSE_TREE_H
#define TFM_EVAL_PARSE_TREE_H

#include "eval/parse_rules.h"

/* Words, and constituents, of a tree; EVALB: 200. why: pairs of constituents are compared. */
enum { TFM_PARSE_MOST = 4000 };

typedef struct tfm_parse_word {
    tfm_text word, tag;
    uint32_t place; /* how many words before it count */
    bool deleted, quote;
} tfm_parse_word;

typedef enum tfm_bracket_state { TFM_BRACKET_FREE, TFM_BRACKET_MATCHED, TFM_BRACKET_DELETED } tfm_bracket_state;

typedef struct tfm_parse_bracket {
    tfm_text label;
    uint32_t start, end; /* words; once tfm_parse_settle() was called those that count */
    uint32_t outer;      /* the bracket around it, or TFM_PARSE_MOST: none */
    tfm_bracket_state state;
} tfm_parse_bracket;

typedef struct tfm_parse {
    tfm_parse_word words[TFM_PARSE_MOST];
    tfm_parse_bracket brackets[TFM_PARSE_MOST]; /* in the order they open */
    uint32_t n_words, n_brackets;
    uint32_t n_counted; /* words that are not deleted */
    uint32_t length;    /* of the sentence            */
} tfm_parse;

typedef enum tfm_parse_fault { TFM_PARSE_FINE, TFM_PARSE_MALFORMED, TFM_PARSE_TOO_LARGE } tfm_parse_fault;

/*
 * Reads "(S (NP (DT this)) ...)": white space separates, any label may be empty. Texts stay in the line. A fault leaves
 * what was read before it.
 */
tfm_parse_fault tfm_parse_read(tfm_parse *parse, tfm_text line, const tfm_parse_rules *rules);
void tfm_parse_count_words(tfm_parse *parse); /* after a change of deleted: fills place, n_counted */
/* Places of brackets among the words that count; labels without what follows - or =. Returns how many brackets count.
 */
uint32_t tfm_parse_settle(tfm_parse *parse, const tfm_parse_rules *rules);

#endif
