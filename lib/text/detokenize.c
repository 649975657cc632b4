/* Words back to text, by the rules of detokenizer.perl but those for Chinese, Japanese and Korean. */
#include "text/pretokenize.h"

#include "base/characters.h"

#include <utf8proc.h>

static const tfm_change unescapes[] = {
    {.what = " @-@ ", .to = "-"}, {.what = "&bar;", .to = "|"},   {.what = "&#124;", .to = "|"},
    {.what = "&lt;", .to = "<"},  {.what = "&gt;", .to = ">"},    {.what = "&bra;", .to = "["},
    {.what = "&ket;", .to = "]"}, {.what = "&quot;", .to = "\""}, {.what = "&apos;", .to = "'"},
    {.what = "&#91;", .to = "["}, {.what = "&#93;", .to = "]"},   {.what = "&amp;", .to = "&"},
};

static bool opens(int32_t c)
{
    return c == '(' || c == '[' || c == '{' || c == 0xBF || c == 0xA1 || utf8proc_category(c) == UTF8PROC_CATEGORY_SC;
}

static bool closes(int32_t c)
{
    return c && c < 0x80 && strchr(",.?!:;\\%}])", c);
}

static bool is_quote(int32_t c)
{
    return c == '\'' || c == '"' || c == '`' || c == 0x201E || c == 0x201C;
}

static bool all(tfm_text word, tfm_char_class *of)
{
    for (size_t i = 0; i < word.size; i += tfm_char_at(word, i).size)
        if (!of(tfm_char_at(word, i).code)) return false;
    return word.size > 0;
}

/* The character before byte at; 0: there is none. */
static int32_t before(tfm_text text, size_t at)
{
    if (!at) return 0;
    do at--;
    while (at && (text.data[at] & 0xC0) == 0x80);
    return tfm_char_at(text, at).code;
}

static bool starts_with_letter(tfm_text text)
{
    return text.size && tfm_is_letter(tfm_char_at(text, 0).code);
}

/* How a word is joined to those beside it. */
typedef struct joint {
    bool left, right; /* no space on that side */
} joint;

/* Words of a line as they are joined. */
typedef struct joiner {
    uint32_t language;
    bool open[3]; /* quotations that began: by ', by " and by others */
    tfm_text last, word, next;
} joiner;

/* "'s" goes to the word before, "l'" to the one after. */
static bool is_contraction(const joiner *j, joint *how)
{
    const tfm_text word = j->word;
    const int32_t last = before(j->last, j->last.size);

    if (j->language == TFM_LANGUAGE_ENGLISH && word.data[0] == '\'' && starts_with_letter(tfm_text_from(word, 1)) &&
        (tfm_is_letter(last) || utf8proc_category(last) == UTF8PROC_CATEGORY_ND)) {
        *how = (joint){.left = true};
        return true;
    }
    *how = (joint){.right = true};
    return j->language == TFM_LANGUAGE_FRENCH && word.data[word.size - 1] == '\'' &&
           tfm_is_letter(before(word, word.size - 1)) && starts_with_letter(j->next);
}

/* Marks of one kind open and close by turns; the lone one after an s, of "the Jones' house", does neither. */
static joint join_quote(joiner *j)
{
    const bool single = tfm_text_equal(j->word, tfm_text_of("'"));
    const bool twofold = !single && !memchr(j->word.data, '\'', j->word.size) &&
                         !memchr(j->word.data, '`', j->word.size) &&
                         (j->word.size == 1 || !memchr(j->word.data, '"', j->word.size));
    bool *open = &j->open[single ? 0 : twofold ? 1 : 2];
    const bool owned = single && j->language == TFM_LANGUAGE_ENGLISH && before(j->last, j->last.size) == 's';

    if (!*open && owned) return (joint){.left = true};
    *open = !*open;
    return (joint){.left = !*open, .right = *open};
}

static joint join(joiner *j)
{
    joint how = {0};

    if (all(j->word, opens)) return (joint){.right = true};
    if (all(j->word, closes))
        return (joint){.left = j->language != TFM_LANGUAGE_FRENCH || j->word.size > 1 ||
                               !strchr("?!:;\\%", j->word.data[0])};
    if (is_contraction(j, &how)) return how;
    return all(j->word, is_quote) ? join_quote(j) : (joint){0};
}

static tfm_text next_word(tfm_text *rest)
{
    while (rest->size && rest->data[0] == ' ') *rest = tfm_text_from(*rest, 1);
    const char *end = rest->size ? memchr(rest->data, ' ', rest->size) : NULL;
    const tfm_text word = {rest->data, end ? (size_t)(end - rest->data) : rest->size};
    *rest = tfm_text_from(*rest, word.size);
    return word;
}

void tfm_detokenize_line(tfm_line *line, uint32_t language)
{
    tfm_line_change(line, unescapes, sizeof unescapes / sizeof *unescapes);
    joiner j = {.language = language};
    tfm_text rest = tfm_line_text(line);
    bool space = false;

    for (j.word = next_word(&rest); j.word.size; j.last = j.word, j.word = j.next) {
        j.next = next_word(&rest);
        const joint how = join(&j);
        if (space && !how.left) tfm_buffer_append(&line->spare, " ", 1);
        tfm_buffer_append(&line->spare, j.word.data, j.word.size);
        space = !how.right;
    }
    tfm_line_turn(line);
}
