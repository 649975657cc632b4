/* Parameters of the models of foreign_samples.h. */
#ifndef FOREIGN_PARAMETERS_H
#define FOREIGN_PARAMETERS_H

#include "testing.h"

#include "foreign_samples.h"

static inline const float *parameter(const tfm_model *model, const char *name)
{
    tfm_parameter p;
    tfm_error error;

    ck_assert_ok(tfm_model_parameter_named(&p, model, name, &error), error);
    return p.data;
}

/* Rows first .. of their [out][in] matrix. */
static inline void check_rows(const tfm_model *model, const char *ours, const char *theirs, size_t first, size_t n)
{
    const float *w = parameter(model, ours);

    for (size_t i = 0; i < n; i++) ck_assert_msg(w[i] == sample_value(theirs, first + i), "%s[%zu]", ours, i);
}

#endif
