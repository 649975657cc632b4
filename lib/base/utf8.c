/* UTF-8 is checked here and nowhere else; what lies deeper may rely on valid text. */
#include "base/utf8.h"

/* Bytes of the sequence that lead begins, 0 when it begins none; second byte in [low, high]. */
static int sequence(unsigned char lead, unsigned char *low, unsigned char *high)
{
    *low = 0x80, *high = 0xBF;
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4) return 0;
    if (lead < 0xE0) return 2;
    if (lead == 0xE0) *low = 0xA0;  /* overlong below     */
    if (lead == 0xED) *high = 0x9F; /* surrogates above   */
    if (lead == 0xF0) *low = 0x90;  /* overlong below     */
    if (lead == 0xF4) *high = 0x8F; /* above U+10FFFF     */
    return lead < 0xF0 ? 3 : 4;
}

int tfm_utf8_read(tfm_text text, uint32_t *code)
{
    const unsigned char *s = (const unsigned char *)text.data;
    unsigned char low, high;
    const int n = sequence(s[0], &low, &high);

    if (n == 1) *code = s[0];
    if (n <= 1) return n ? 1 : -1;
    uint32_t value = s[0] & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        if ((size_t)i == text.size || s[i] < low || s[i] > high) return -i;
        value = value << 6 | (s[i] & 0x3Fu);
        low = 0x80, high = 0xBF;
    }
    *code = value;
    return n;
}

size_t tfm_utf8_find_invalid(tfm_text text)
{
    uint32_t code;

    for (size_t at = 0; at < text.size;) {
        const int n = tfm_utf8_read(tfm_text_from(text, at), &code);
        if (n < 0) return at;
        at += (size_t)n;
    }
    return SIZE_MAX;
}

/* Appends to a text of size bytes of which only the first capacity are kept. */
static size_t put(char *out, size_t capacity, size_t size, const char *bytes, size_t n)
{
    if (size < capacity) memcpy(out + size, bytes, n < capacity - size ? n : capacity - size);
    return size + n;
}

size_t tfm_utf8_replace_invalid(tfm_text text, char *out, size_t capacity)
{
    size_t size = 0;

    while (text.size) {
        uint32_t code;
        const int n = tfm_utf8_read(text, &code);
        size = n > 0 ? put(out, capacity, size, text.data, (size_t)n)
                     : put(out, capacity, size, TFM_UTF8_REPLACEMENT, sizeof TFM_UTF8_REPLACEMENT - 1);
        text = tfm_text_from(text, (size_t)(n < 0 ? -n : n));
    }
    return size;
}
