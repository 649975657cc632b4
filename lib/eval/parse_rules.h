/* What counts when parses are compared: the parameter files of EVALB. */
#ifndef TFM_EVAL_PARSE_RULES_H
#define TFM_EVAL_PARSE_RULES_H

#include "base/base.h"

enum { TFM_PARSE_RULES_MOST = 100 }; /* of a kind, as in EVALB */

typedef struct tfm_label_list {
    tfm_text item[TFM_PARSE_RULES_MOST];
    size_t n;
} tfm_label_list;

/* item[i] of one list is taken for item[i] of the other. */
typedef struct tfm_label_pairs {
    tfm_label_list left, right;
} tfm_label_pairs;

typedef struct tfm_parse_rules {
    tfm_label_list deleted;       /* words with these tags do not count, nor do constituents with these labels */
    tfm_label_list not_in_length; /* tags of words that a sentence's length leaves out                         */
    tfm_label_list quotes;        /* tags that a quotation mark may have                                       */
    tfm_label_pairs labels, words;
    uint32_t labelled, cutoff, max_errors;
    uint64_t digest; /* of labels and words, which is most of what changes scores */
} tfm_parse_rules;

/*
 * Reads a parameter file, NULL: the rules of Collins (1997), which are EVALB's COLLINS.prm. The text must outlive the
 * rules. A keyword that EVALB does not know is refused, not skipped: it would score otherwise than its author meant.
 */
tfm_status tfm_parse_rules_read(tfm_parse_rules *rules, const char *text, tfm_error *error);

static inline bool tfm_parse_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool tfm_label_in(const tfm_label_list *list, tfm_text label);
bool tfm_label_same(const tfm_label_pairs *pairs, tfm_text a, tfm_text b); /* equal, or a pair; not transitive */

#endif
