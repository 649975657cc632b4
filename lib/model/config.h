/* The configuration of a model: defaults, limits, names, costs, and its JSON form. */
#ifndef TFM_CONFIG_H
#define TFM_CONFIG_H

#include "base/base.h"

/* Never edit: the fields every caller since 0.2 has. */
#define TFM_MODEL_OPTIONS_SIZE_MIN (offsetof(tfm_model_options, allocator) + sizeof(void *))

void tfm_config_init(tfm_model_options *options, size_t struct_size);
tfm_status tfm_config_preset(tfm_model_options *options, const char *name, tfm_error *error);
tfm_status tfm_config_set(tfm_model_options *options, const char *name, const char *value, tfm_error *error);

/* The name of a value of a field that is a choice; NULL: the field is a number, or there is none of this name. */
const char *tfm_config_choice(const char *name, double value);

/* Checks a configuration and resolves its zeros (d_k, d_v, source_vocab_size); errors name field, value and limit. */
tfm_status tfm_config_check(tfm_model_options *options, tfm_error *error);

/* What the decoder reads first: bos_id, or -1 for the zero vector. options is checked. */
int32_t tfm_config_start(const tfm_model_options *options);

/* What ends a text: eos_id, or -1 where nothing ends a source. options is checked. */
int32_t tfm_config_end(const tfm_model_options *options, bool source);

/* options is checked. n source and m target tokens a sentence. */
void tfm_config_costs(tfm_model_costs *costs, const tfm_model_options *options, uint32_t n, uint32_t m);

/* One JSON object with every field by its name; and back, checked. */
tfm_status tfm_config_to_json(tfm_buffer *out, const tfm_model_options *options, tfm_error *error);
tfm_status tfm_config_from_json(tfm_model_options *options, tfm_text json, tfm_error *error);

#endif
