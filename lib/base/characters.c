/* What the metrics need of Unicode, over utf8proc: the same answers as Python's str, in which the reference tools are
 * written. */
#include "base/characters.h"

#include <utf8proc.h>

enum { CAPITAL_SIGMA = 0x3A3, SIGMA = 0x3C3, FINAL_SIGMA = 0x3C2, CAPITAL_DOTTED_I = 0x130 };

tfm_char tfm_char_at(tfm_text text, size_t pos)
{
    const utf8proc_uint8_t *p = (const utf8proc_uint8_t *)text.data + pos;
    const size_t left = text.size - pos;
    utf8proc_int32_t code;

    if (*p < 0x80) return (tfm_char){*p, 1};
    const utf8proc_ssize_t size = utf8proc_iterate(p, left < 4 ? (utf8proc_ssize_t)left : 4, &code);
    return size > 0 ? (tfm_char){code, (uint32_t)size} : (tfm_char){-1, 1};
}

bool tfm_char_is_space(int32_t code)
{
    if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r') || (code >= 0x1C && code <= 0x1F);
    return code == 0x85 || code == 0x2028 || code == 0x2029 || utf8proc_category(code) == UTF8PROC_CATEGORY_ZS;
}

/* Unicode's Case_Ignorable. The points are those whose Word_Break is MidLetter, MidNumLet or Single_Quote. */
static bool is_case_ignorable(int32_t code)
{
    static const int32_t points[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                     0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};

    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        if (code == points[i]) return true;
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        return false;
    }
}

/* Unicode's Cased. */
static bool is_cased(int32_t code)
{
    const utf8proc_category_t category = utf8proc_category(code);

    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT ||
           utf8proc_islower(code) || utf8proc_isupper(code);
}

/* Whether the first character from pos on that is not case-ignorable is cased. */
static bool cased_follows(tfm_text text, size_t pos)
{
    while (pos < text.size) {
        const tfm_char c = tfm_char_at(text, pos);
        if (!is_case_ignorable(c.code)) return is_cased(c.code);
        pos += c.size;
    }
    return false;
}

static void append_code(tfm_buffer *out, int32_t code)
{
    utf8proc_uint8_t bytes[4];

    tfm_buffer_append(out, bytes, (size_t)utf8proc_encode_char(code, bytes));
}

void tfm_text_lower(tfm_buffer *out, tfm_text text)
{
    bool cased = false; /* the last character that is not case-ignorable */

    for (size_t pos = 0, next; pos < text.size; pos = next) {
        const tfm_char c = tfm_char_at(text, pos);
        next = pos + c.size;
        if (c.code < 0) tfm_buffer_append(out, text.data + pos, c.size);
        else if (c.code == CAPITAL_SIGMA) append_code(out, cased && !cased_follows(text, next) ? FINAL_SIGMA : SIGMA);
        else if (c.code == CAPITAL_DOTTED_I) tfm_buffer_append(out, "i\xCC\x87", 3);
        else append_code(out, utf8proc_tolower(c.code));
        if (!is_case_ignorable(c.code)) cased = is_cased(c.code);
    }
}
