/* Version and status names. */
#include "base/base.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *tfm_version(void)
{
    return TEXT(TFM_VERSION_MAJOR) "." TEXT(TFM_VERSION_MINOR) "." TEXT(TFM_VERSION_PATCH);
}

const char *tfm_status_name(int32_t status)
{
    switch (status) {
    case TFM_OK: return "ok";
    case TFM_E_INVALID: return "invalid argument";
    case TFM_E_NOMEM: return "out of memory";
    case TFM_E_IO: return "input or output error";
    case TFM_E_FORMAT: return "invalid file or text";
    case TFM_E_UNSUPPORTED: return "not supported";
    case TFM_E_CANCELLED: return "cancelled";
    default: return "unknown status";
    }
}
