/* Where words end: at spaces of the kind subword-nmt, and between kinds of characters in the reversible one. */
#include "text/words.h"

#include <utf8proc.h>

/*
 * Reversible: a word is a run of letters, or of punctuation and symbols, or a single digit, so that numbers are spelt
 * and no merge learns "1995,". One space before it belongs to it, as in " the"; further spaces are a word of their own,
 * and so are other white space and control characters. Marks and joiners stay with what they follow. A line begins with
 * a space that is not there, so that its first word is the same as later on; decoding takes it away. Put together, the
 * words of a line are that space and the line.
 */
typedef enum class { LETTER, DIGIT, SYMBOL, BLANK, MARK, SPACE } class;

static class class_of(uint32_t code)
{
    if (code == ' ') return SPACE;
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return LETTER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
        return MARK;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return DIGIT;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
        return BLANK;
    default:
        return SYMBOL;
    }
}

static bool is_margin(char c)
{
    return c == ' ' || c == '\r' || c == '\n';
}

void tfm_words_margins(tfm_text line, size_t *leading, size_t *trailing)
{
    size_t end = line.size;

    *leading = 0;
    while (*leading < end && is_margin(line.data[*leading])) ++*leading;
    while (end > *leading && is_margin(line.data[end - 1])) end--;
    *trailing = line.size - end;
}

void tfm_words_begin(tfm_words *words, uint32_t kind, tfm_text line)
{
    size_t leading, trailing;

    words->kind = kind;
    words->ahead = kind == TFM_TOKENIZER_BPE && line.size;
    words->begun = false;
    words->rest = line;
    if (kind != TFM_TOKENIZER_SUBWORD_NMT) return;
    tfm_words_margins(line, &leading, &trailing);
    words->rest = tfm_text_from(line, leading);
    words->rest.size -= trailing;
}

static bool next_split(tfm_words *words, tfm_text *word)
{
    tfm_text rest = words->rest;

    while (rest.size && *rest.data == ' ') rest = tfm_text_from(rest, 1);
    const char *end = rest.size ? memchr(rest.data, ' ', rest.size) : NULL;
    *word = (tfm_text){rest.data, end ? (size_t)(end - rest.data) : rest.size};
    words->rest = tfm_text_from(rest, word->size);
    return word->size > 0;
}

bool tfm_words_is_alphanumeric(tfm_text text)
{
    uint32_t code;

    if (!text.size || tfm_utf8_read(text, &code) < 0) return false;
    const class c = class_of(code);
    return c == LETTER || c == DIGIT;
}

/* tensor2tensor: runs of letters and digits, and of what is between them, where a single space is left out. */
static bool next_alternating(tfm_words *words, tfm_text *word)
{
    while (words->rest.size) {
        const tfm_text rest = words->rest;
        const bool first = tfm_words_is_alphanumeric(rest);
        size_t size = 0;
        uint32_t code;
        do size += (size_t)tfm_utf8_read(tfm_text_from(rest, size), &code);
        while (size < rest.size && tfm_words_is_alphanumeric(tfm_text_from(rest, size)) == first);
        *word = (tfm_text){rest.data, size};
        words->rest = tfm_text_from(rest, size);
        if (words->begun && size == 1 && *rest.data == ' ' && words->rest.size) continue;
        words->begun = true;
        return true;
    }
    return false;
}

/* Bytes of the run that text begins with. */
static size_t run(tfm_text text)
{
    uint32_t code;
    size_t size = (size_t)tfm_utf8_read(text, &code);
    class first = class_of(code);

    if (first == MARK) first = LETTER;
    for (size_t n = 1; n < TFM_WORDS_MAX && size < text.size; n++) {
        const int bytes = tfm_utf8_read(tfm_text_from(text, size), &code);
        const class next = class_of(code);
        if (next != MARK && (next != first || first == DIGIT)) break;
        size += (size_t)bytes;
    }
    return size;
}

bool tfm_words_next(tfm_words *words, tfm_text *word)
{
    const tfm_text rest = words->rest;
    size_t spaces = words->ahead, in_line = 0, text = 0;
    uint32_t code;

    if (words->kind == TFM_TOKENIZER_SUBWORD_NMT) return next_split(words, word);
    if (words->kind == TFM_TOKENIZER_WORDPIECE) return next_alternating(words, word);
    while (spaces < TFM_WORDS_MAX && in_line < rest.size && rest.data[in_line] == ' ') spaces++, in_line++;
    if (in_line < rest.size) {
        tfm_utf8_read(tfm_text_from(rest, in_line), &code);
        const bool joins = class_of(code) != BLANK && class_of(code) != SPACE;
        if (spaces > 1 && joins) spaces--, in_line--; /* the last one belongs to the next word */
        else if (!spaces || joins) text = run(tfm_text_from(rest, in_line));
    }
    memset(words->word, ' ', spaces);
    if (text) memcpy(words->word + spaces, rest.data + in_line, text);
    *word = (tfm_text){words->word, spaces + text};
    words->rest = tfm_text_from(rest, in_line + text);
    words->ahead = false;
    return word->size > 0;
}
