/* Text as a model of SentencePiece sees it: rules of replacement, spaces as U+2581, one of them in front. */
#include "text/sentencepiece.h"

/* A word of the double array. */
static uint32_t unit(const tfm_spm_rules *rules, size_t index)
{
    const unsigned char *b = (const unsigned char *)rules->units.data + 4 * index;

    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* From the node of a unit to the first of its children: bits 10 to 30, times 256 with bit 9. */
static size_t offset(uint32_t u)
{
    return (size_t)(u >> 10) << ((u & 1u << 9) >> 6);
}

/* Bytes of the longest rule that the text begins with, 0 when there is none; *put: what stands there instead. */
static size_t longest_rule(const tfm_spm_rules *rules, tfm_text text, tfm_text *put)
{
    const uint32_t label = 1u << 31 | 0xFF, has_leaf = 1u << 8;
    const size_t n = rules->units.size / 4;
    size_t longest = 0, at = n ? offset(unit(rules, 0)) : 0;

    for (size_t i = 0; i < text.size && i < n; i++) { /* no way is longer, but for a circle */
        const unsigned char byte = (unsigned char)text.data[i];
        at ^= byte;
        if (at >= n) break;
        const uint32_t u = unit(rules, at);
        if ((u & label) != byte) break;
        at ^= offset(u);
        if (!(u & has_leaf)) continue;
        if (at >= n || !(unit(rules, at) >> 31)) break;
        *put = tfm_text_from(rules->strings, unit(rules, at) & ~(1u << 31));
        longest = i + 1;
    }
    if (!longest) return 0;
    const char *end = memchr(put->data, '\0', put->size);
    if (end) put->size = (size_t)(end - put->data);
    return longest;
}

/* What the beginning of the text turns into; returns the bytes of that beginning. */
static size_t replace(const tfm_spm_rules *rules, const tfm_sentencepiece *model, tfm_text text, tfm_text *put)
{
    uint32_t code;
    size_t size = model ? tfm_spm_user(model, text) : 0;

    *put = (tfm_text){text.data, size};
    if (size) return size;
    size = longest_rule(rules, text, put);
    if (size) return size;
    const int valid = tfm_utf8_read(text, &code);
    *put = valid > 0 ? (tfm_text){text.data, (size_t)valid} : tfm_text_of(TFM_UTF8_REPLACEMENT);
    return valid > 0 ? (size_t)valid : 1;
}

static tfm_text space_of(const tfm_spm_rules *rules)
{
    return tfm_text_of(rules->escape_whitespaces ? TFM_TOKENIZER_SPACE : " ");
}

static void append_escaped(tfm_buffer *out, tfm_text text, tfm_text space)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == ' ') tfm_buffer_append(out, space.data, space.size);
        else tfm_buffer_append(out, text.data + i, 1);
    }
}

static bool begins_with_space(tfm_text text)
{
    return text.size && *text.data == ' ';
}

/* The text without the spaces that lead it, whatever they were before the rules. */
static tfm_text without_lead(const tfm_spm_rules *rules, const tfm_sentencepiece *model, tfm_text text)
{
    while (text.size) {
        tfm_text put;
        const size_t size = replace(rules, model, text, &put);
        if (put.size != 1 || *put.data != ' ') break;
        text = tfm_text_from(text, size);
    }
    return text;
}

static void cut_trail(tfm_buffer *out, size_t start, tfm_text space)
{
    while (!out->bad && out->size - start >= space.size &&
           !memcmp(out->data + out->size - space.size, space.data, space.size))
        out->size -= space.size;
}

void tfm_sentencepiece_normalize(const tfm_spm_rules *rules, const tfm_sentencepiece *model, tfm_text text,
                                 tfm_buffer *out)
{
    const tfm_text space = space_of(rules);
    const bool remove = rules->remove_extra_whitespaces;
    const size_t start = out->size;
    bool after_space = remove;

    if (remove) text = without_lead(rules, model, text);
    if (!text.size) return;
    if (!rules->as_suffix && rules->add_dummy_prefix) tfm_buffer_append(out, space.data, space.size);
    while (text.size) {
        tfm_text put;
        const size_t size = replace(rules, model, text, &put);
        while (after_space && begins_with_space(put)) put = tfm_text_from(put, 1);
        append_escaped(out, put, space);
        if (put.size) after_space = remove && put.data[put.size - 1] == ' ';
        text = tfm_text_from(text, size);
    }
    if (remove) cut_trail(out, start, space);
    if (rules->as_suffix && rules->add_dummy_prefix) tfm_buffer_append(out, space.data, space.size);
}
