/* JSON texts as jansson's values. jansson's own reader drops bytes, or reads past the end of a string, when there is no
 * memory for a token; this one says so. */
#ifndef TFM_JSON_H
#define TFM_JSON_H

#include "base/base.h"

#include <jansson.h>

/* Where a text is no JSON. */
typedef struct tfm_json_fault {
    size_t at;        /* byte               */
    const char *what; /* NULL without fault */
} tfm_json_fault;

/*
 * An object or an array or, with JSON_DECODE_ANY in flags, any value; NUL in a string only with JSON_ALLOW_NUL. Refused
 * are names that come twice, numbers beyond 64 bits, more than 16 lists inside each other, and so many lists that the
 * values would take more than 32 bytes for each of the text. *out: released with json_decref(), NULL on failure.
 * returns TFM_OK, TFM_E_NOMEM, TFM_E_FORMAT; sets no error.
 */
tfm_status tfm_json_read(json_t **out, tfm_text text, size_t flags, tfm_json_fault *fault);

#endif
