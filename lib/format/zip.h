/* ZIP archives of less than 4 GB, stored or deflated: as NumPy and Marian write them. */
#ifndef TFM_ZIP_H
#define TFM_ZIP_H

#include "base/base.h"

typedef struct tfm_zip_entry {
    tfm_text name;       /* lent by the archive            */
    const void *data;    /* as it lies there               */
    size_t packed, size; /* bytes there, and unpacked      */
    uint32_t crc;        /* CRC-32 of what is unpacked     */
    bool deflated;
} tfm_zip_entry;

/* Where a walk over the central directory stands. */
typedef struct tfm_zip {
    tfm_text data;
    const char *name; /* of the file, for messages; lent */
    size_t at, left;  /* next entry; entries not yet read */
    size_t packed;    /* bytes of the entries so far      */
} tfm_zip;

/* returns TFM_OK, TFM_E_FORMAT, TFM_E_UNSUPPORTED. */
tfm_status tfm_zip_open(tfm_zip *zip, tfm_text data, const char *name, tfm_error *error);
/* The next of zip->left > 0 entries. returns as tfm_zip_open(). */
tfm_status tfm_zip_next(tfm_zip *zip, tfm_zip_entry *entry, tfm_error *error);
/* Unpacks the first bytes of a deflated entry, or its entry->size. returns TFM_OK, TFM_E_FORMAT, TFM_E_NOMEM. */
tfm_status tfm_zip_inflate(const tfm_zip *zip, const tfm_zip_entry *entry, void *to, size_t size, tfm_error *error);

#endif
