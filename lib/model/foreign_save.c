/* Puts the parameters of a model into another system's tensors: what foreign.c does, the other way round. */
#include "model/foreign.h"

#include "model/config.h"

#include <stdio.h>

static void transpose(float *to, const float *from, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) to[c * rows + r] = from[r * cols + c];
}

/* Under the first of its names. from NULL: zeros stay. */
static void put(tfm_foreign_tensors *out, const tfm_parameter_plan *p, const float *from, const tfm_naming *naming,
                bool row_vectors)
{
    char *name = out->names[out->n];
    const tfm_leaf *leaf = tfm_naming_find(naming, out->plan.options.norm_order, p->name, 0, name);
    const size_t rows = p->shape[0], cols = p->shape[1];
    float *to = out->data + p->offset;

    if (from && leaf->transposed) transpose(to, from, rows, cols);
    else if (from) memcpy(to, from, p->size * sizeof *to);
    tfm_tensor *t = &out->tensors[out->n++];
    *t = (tfm_tensor){.name = name,
                      .dtype = TFM_F32,
                      .rank = p->rank,
                      .data = to,
                      .bytes = p->size * sizeof *to,
                      .shape = {leaf->transposed ? cols : rows, leaf->transposed ? rows : cols}};
    if (p->rank == 2 || !row_vectors) return;
    t->rank = 2;
    t->shape[0] = 1;
    t->shape[1] = rows;
}

static const float *ours(const tfm_weights *w, const float *data, const char *name)
{
    for (size_t i = 0; i < w->n_parameters; i++)
        if (!strcmp(w->parameters[i].name, name)) return data + w->parameters[i].offset;
    return NULL;
}

tfm_status tfm_foreign_make(tfm_foreign_tensors *out, const tfm_weights *w, const float *data, const tfm_naming *naming,
                            bool row_vectors, bool softmax_bias, tfm_error *error)
{
    tfm_model_options o = w->options;

    o.attention_bias = o.ffn_bias = 1;
    o.softmax_bias |= softmax_bias;
    *out = (tfm_foreign_tensors){.allocator = w->allocator};
    tfm_status status = tfm_weights_create(&out->plan, &o, &w->allocator, error);
    if (status != TFM_OK) return status;
    const size_t room = out->plan.n_parameters + 1;
    out->tensors = tfm_alloc(&w->allocator, room, sizeof *out->tensors);
    out->names = tfm_alloc(&w->allocator, room, sizeof *out->names);
    out->data = tfm_alloc(&w->allocator, out->plan.size, sizeof *out->data);
    if (!out->tensors || !out->names || !out->data) {
        tfm_foreign_tensors_free(out);
        return tfm_fail(error, TFM_E_NOMEM, "%zu tensors of %zu numbers: no memory", room, w->size);
    }
    for (size_t i = 0; i < out->plan.n_parameters; i++) {
        const tfm_parameter_plan *p = &out->plan.parameters[i];
        put(out, p, ours(w, data, p->name), naming, row_vectors);
    }
    return TFM_OK;
}

void tfm_foreign_tensors_free(tfm_foreign_tensors *t)
{
    if (!t->allocator.resize) return;
    const size_t room = t->plan.n_parameters + 1;

    tfm_free(&t->allocator, t->data, t->plan.size, sizeof *t->data);
    tfm_free(&t->allocator, t->names, room, sizeof *t->names);
    tfm_free(&t->allocator, t->tensors, room, sizeof *t->tensors);
    tfm_weights_destroy(&t->plan);
    *t = (tfm_foreign_tensors){0};
}

/* "option=value, ..." of the options that differ, as they are or as they should be; as many as a message has room for.
 */
static void list_misfits(char list[100], const tfm_foreign_need *needs, size_t n, bool wanted)
{
    char item[64];
    size_t used = 0;

    list[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const double value = wanted ? needs[i].want : needs[i].have;
        const char *name = tfm_config_choice(needs[i].option, value);
        if (needs[i].have == needs[i].want) continue;
        if (name) snprintf(item, sizeof item, "%s%s=%s", used ? ", " : "", needs[i].option, name);
        else snprintf(item, sizeof item, "%s%s=%.9g", used ? ", " : "", needs[i].option, value);
        const bool room = used + strlen(item) < 96;
        used += (size_t)snprintf(list + used, 100 - used, "%s", room ? item : " ...");
        if (!room) return;
    }
}

tfm_status tfm_foreign_check(const char *system, const tfm_foreign_need *needs, size_t n, tfm_error *error)
{
    char have[100], want[100];

    list_misfits(have, needs, n, false);
    list_misfits(want, needs, n, true);
    if (!*have) return TFM_OK;
    return tfm_fail(error, TFM_E_UNSUPPORTED, "%s cannot express %s: always %s there", system, have, want);
}
