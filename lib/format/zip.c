/* Reads ZIP archives by their central directory; every offset and size is checked before it is used. */
#include "format/zip.h"

#include <zlib.h>

enum {
    END = 22,
    CENTRAL = 46,
    LOCAL = 30, /* bytes of the records without their names */
    MOST_COMMENT = 65535,
    MOST_RATIO = 1032, /* that deflate can reach */
};

static uint32_t number(const tfm_zip *zip, size_t at, size_t size)
{
    uint32_t x = 0;

    for (size_t i = size; i--;) x = x << 8 | (unsigned char)zip->data.data[at + i];
    return x;
}

static bool signature_is(const tfm_zip *zip, size_t at, size_t size, const char *signature)
{
    return at <= zip->data.size && zip->data.size - at >= size && !memcmp(zip->data.data + at, signature, 4);
}

static tfm_status damaged(const tfm_zip *zip, const char *what, tfm_error *error)
{
    return tfm_fail(error, TFM_E_FORMAT, "%.120s: the ZIP archive is damaged: %s", zip->name, what);
}

tfm_status tfm_zip_open(tfm_zip *zip, tfm_text data, const char *name, tfm_error *error)
{
    *zip = (tfm_zip){.data = data, .name = name};
    if (data.size < END) return damaged(zip, "it is too short", error);
    const size_t last = data.size - END, first = last > MOST_COMMENT ? last - MOST_COMMENT : 0;
    size_t at = last;

    while (at > first && !signature_is(zip, at, END, "PK\5\6")) at--;
    if (!signature_is(zip, at, END, "PK\5\6")) return damaged(zip, "it has no directory; copy it again", error);
    zip->left = number(zip, at + 10, 2);
    zip->at = number(zip, at + 16, 4);
    if (zip->left == UINT16_MAX || zip->at == UINT32_MAX)
        return tfm_fail(error, TFM_E_UNSUPPORTED,
                        "%.120s: a ZIP archive of more than 4 GB or 65534 entries is not supported", name);
    return TFM_OK;
}

/* The local header may have other extra fields than the directory: what it holds begins behind its own. */
static bool find_data(const tfm_zip *zip, tfm_zip_entry *e, size_t local)
{
    if (!signature_is(zip, local, LOCAL, "PK\3\4")) return false;
    const size_t start = local + LOCAL + number(zip, local + 26, 2) + number(zip, local + 28, 2);

    if (start > zip->data.size || e->packed > zip->data.size - start) return false;
    e->data = zip->data.data + start;
    return true;
}

tfm_status tfm_zip_next(tfm_zip *zip, tfm_zip_entry *e, tfm_error *error)
{
    const size_t at = zip->at;

    if (!signature_is(zip, at, CENTRAL, "PK\1\2")) return damaged(zip, "its directory is cut off", error);
    const uint32_t flags = number(zip, at + 8, 2), method = number(zip, at + 10, 2);
    *e = (tfm_zip_entry){.crc = number(zip, at + 16, 4),
                         .packed = number(zip, at + 20, 4),
                         .size = number(zip, at + 24, 4),
                         .deflated = method == 8,
                         .name = {zip->data.data + at + CENTRAL, number(zip, at + 28, 2)}};
    zip->at = at + CENTRAL + e->name.size + number(zip, at + 30, 2) + number(zip, at + 32, 2);
    zip->left--;
    if (zip->at > zip->data.size) return damaged(zip, "its directory is cut off", error);
    if ((flags & 1) || (method && method != 8))
        return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: ZIP method %u%s is not supported", zip->name, method,
                        flags & 1 ? ", encrypted," : "");
    zip->packed += e->packed;
    if (zip->packed > zip->data.size) return damaged(zip, "its entries overlap", error);
    if (!find_data(zip, e, number(zip, at + 42, 4))) return damaged(zip, "an entry lies outside of it", error);
    if (e->deflated ? e->size / MOST_RATIO > e->packed : e->size != e->packed)
        return damaged(zip, "an entry has a size that cannot be", error);
    return TFM_OK;
}

tfm_status tfm_zip_inflate(const tfm_zip *zip, const tfm_zip_entry *e, void *to, size_t size, tfm_error *error)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)e->data,
                  .avail_in = (uInt)e->packed,
                  .next_out = to,
                  .avail_out = (uInt)size};

    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return tfm_fail(error, TFM_E_NOMEM, "%.120s: no memory to unpack it", zip->name);
    const int result = inflate(&z, Z_FINISH);
    const bool whole = !z.avail_out && (result == Z_STREAM_END || size < e->size);
    inflateEnd(&z);
    return whole ? TFM_OK : damaged(zip, "an entry cannot be unpacked", error);
}
