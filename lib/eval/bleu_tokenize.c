/* Tokenisations of BLEU. */
#include "eval/bleu_tokenize.h"

#include "base/utf8.h"
#include "base/characters.h"

#include <utf8proc.h>

static bool not_number(int32_t code)
{
    const utf8proc_category_t c = utf8proc_category(code);

    return c < UTF8PROC_CATEGORY_ND || c > UTF8PROC_CATEGORY_NO;
}

static bool is_punctuation(int32_t code)
{
    const utf8proc_category_t c = utf8proc_category(code);

    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

static bool is_symbol(int32_t code)
{
    const utf8proc_category_t c = utf8proc_category(code);

    return c >= UTF8PROC_CATEGORY_SM && c <= UTF8PROC_CATEGORY_SO;
}

/* What sacreBLEU's zh takes for Chinese. Its planes beyond the first were meant to be ideographs; as they are written
 * there, they are two ranges of the first, with dashes, quotation marks and symbols among them. */
static bool is_chinese(int32_t code)
{
    static const uint16_t ranges[][2] = {{0x2001, 0x2A6D}, {0x2E80, 0x2FDF}, {0x2F81, 0x2FA1}, {0x2FF0, 0x303F},
                                         {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x33FF},
                                         {0x3400, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
                                         {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1]) return true;
    return false;
}

static bool is_any(int32_t code)
{
    (void)code;
    return true;
}

static bool is_odd_space(int32_t code)
{
    return code != ' ' && tfm_char_is_space(code);
}

static const tfm_rule rules_intl[] = {
    {not_number, is_punctuation, false}, {is_punctuation, not_number, true}, {is_symbol, NULL, true}};
static const tfm_rule rules_char[] = {{is_any, NULL, true}};
static const tfm_rule rules_chinese[] = {{is_chinese, NULL, true}};

static void apply_all(tfm_line *line, const tfm_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) tfm_line_apply(line, &rules[i]);
}

static void clean_13a(tfm_line *line)
{
    static const char *const pairs[][2] = {{"<skipped>", ""}, {"-\n", ""},   {"\n", " "},  {"&quot;", "\""},
                                           {"&amp;", "&"},    {"&lt;", "<"}, {"&gt;", ">"}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) tfm_line_replace(line, pairs[i][0], pairs[i][1]);
}

/*
 * s/(\S)-(\S)/$1 ##AT##-##AT## $2/g on the bytes of the tokens, as get_ende_bleu.sh runs perl: of a-b-c only the first
 * hyphen is split, since b belongs to the first match; of a-ü-c both are, since the second byte of the umlaut is free.
 */
static void split_compounds(tfm_line *line)
{
    static const char mark[] = " ##AT##-##AT## ";
    const tfm_text text = tfm_line_text(line);
    size_t done = 0;

    for (size_t i = 1, floor = 0; i + 1 < text.size; i++) {
        if (text.data[i] != '-' || i - 1 < floor || text.data[i - 1] == ' ' || text.data[i + 1] == ' ') continue;
        tfm_line_keep(line, &done, i, i + 1);
        tfm_buffer_append(&line->spare, mark, sizeof mark - 1);
        floor = i + 2;
    }
    tfm_line_finish(line, done);
}

/* Without the white space at its beginning. */
static tfm_text trim_start(tfm_text text)
{
    size_t pos = 0;

    while (pos < text.size) {
        const tfm_char c = tfm_char_at(text, pos);
        if (!tfm_char_is_space(c.code)) break;
        pos += c.size;
    }
    return tfm_text_from(text, pos);
}

void tfm_bleu_tokenize(tfm_line *line, tfm_text raw, const tfm_bleu_options *options)
{
    const uint32_t tokenize = options->tokenize;
    const bool is_13a = tokenize == TFM_BLEU_TOKENIZE_13A, is_zh = tokenize == TFM_BLEU_TOKENIZE_ZH;

    line->text.size = 0;
    if (is_13a) tfm_buffer_append(&line->text, " ", 1);
    tfm_line_add(line, is_zh ? trim_start(raw) : raw, options->lowercase);
    tfm_line_trim_end(line);
    if (is_13a) {
        tfm_buffer_append(&line->text, " ", 1);
        clean_13a(line);
    }
    if (is_zh) apply_all(line, rules_chinese, 1);
    if (is_13a || is_zh) apply_all(line, tfm_rules_western, TFM_RULES_WESTERN);
    if (tokenize == TFM_BLEU_TOKENIZE_INTL) apply_all(line, rules_intl, 3);
    if (tokenize == TFM_BLEU_TOKENIZE_CHAR) apply_all(line, rules_char, 1);
    if (options->compound_split) {
        tfm_line_replace_class(line, is_odd_space, " ");
        split_compounds(line);
    }
}

const char *tfm_bleu_tokenize_name(uint32_t tokenize)
{
    static const char *const names[] = {"13a", "none", "intl", "char", "zh"};

    return names[tokenize];
}
