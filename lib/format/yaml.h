/* The little of YAML that a model's configuration needs: plain values, and lists of them, of keys at the top level. */
#ifndef TFM_YAML_H
#define TFM_YAML_H

#include "base/base.h"

/* What follows "key:" on its line, without quotes around it; size 0 where a list or map follows; {NULL, 0}: absent.
 * Lent. */
tfm_text tfm_yaml_value(tfm_text document, const char *key);

/* Item number index of the list of plain values after a key, in brackets or a line each; {NULL, 0}: absent. Lent. */
tfm_text tfm_yaml_item(tfm_text document, const char *key, size_t index);

#endif
