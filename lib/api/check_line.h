/* What every call that turns a line into something else asks of its arguments. */
#ifndef TFM_CHECK_LINE_H
#define TFM_CHECK_LINE_H

#include "base/utf8.h"

static inline tfm_status tfm_check_line(tfm_text line, const void *out, size_t capacity, const size_t *size,
                                        tfm_error *error)
{
    if (!size) return tfm_fail(error, TFM_E_INVALID, "the result's size is NULL");
    if (!out && capacity) return tfm_fail(error, TFM_E_INVALID, "capacity is %zu at NULL", capacity);
    if (!line.data && line.size) return tfm_fail(error, TFM_E_INVALID, "text has %zu bytes at NULL", line.size);
    const size_t invalid = tfm_utf8_find_invalid(line);
    if (invalid == SIZE_MAX) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, "text is not UTF-8 at byte %zu: repair it first", invalid);
}

#endif
