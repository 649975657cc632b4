/* The tokens of tercom. */
#include "eval/ter.h"

static bool is_quotable(int32_t code)
{
    return code == '.' || code == ',' || code == '?' || code == ':' || code == ';' || code == '!' || code == '"' ||
           code == '(' || code == ')';
}

/* Each of these is a word. From the enclosed letters of 3200 on the original means to end at 32FF, and ends at 3F22. */
static bool is_ideograph(int32_t code)
{
    return (code >= 0x4E00 && code <= 0x9FFF) || (code >= 0x3400 && code <= 0x4DBF) ||
           (code >= 0x31C0 && code <= 0x31EF) || (code >= 0x2E80 && code <= 0x2EFF) ||
           (code >= 0xF900 && code <= 0xFAFF) || (code >= 0xFE30 && code <= 0xFE4F) ||
           (code >= 0x3200 && code <= 0x3F22);
}

static bool is_asian_mark(int32_t code)
{
    return code == 0x3001 || code == 0x3002 || (code >= 0x3008 && code <= 0x3011) ||
           (code >= 0x3014 && code <= 0x301F) || (code >= 0xFF61 && code <= 0xFF65) || code == 0x30FB ||
           code == 0xFF0E || code == 0xFF0C || code == 0xFF1F || code == 0xFF1A || code == 0xFF1B || code == 0xFF01 ||
           code == 0xFF02 || code == 0xFF08 || code == 0xFF09;
}

static void normalise(tfm_line *line, bool asian)
{
    static const char *const entities[][2] = {{"\n-", ""},    {"\n", " "},   {"&quot;", "\""},
                                              {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};
    static const tfm_rule ideograph = {is_ideograph, NULL, true}, mark = {is_asian_mark, NULL, true};

    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        tfm_line_replace(line, entities[i][0], entities[i][1]);
    tfm_line_apply(line, &tfm_rules_western[0]);
    tfm_line_replace(line, "'s ", " 's ");
    for (size_t i = 1; i < TFM_RULES_WESTERN; i++) tfm_line_apply(line, &tfm_rules_western[i]);
    if (!asian) return;
    tfm_line_apply(line, &ideograph);
    tfm_line_apply(line, &mark);
}

void tfm_ter_tokenize(tfm_line *line, tfm_text raw, const tfm_ter_options *options)
{
    line->text.size = 0;
    tfm_buffer_append(&line->text, " ", 1);
    tfm_line_add(line, raw, !options->case_sensitive);
    tfm_line_trim_end(line);
    tfm_buffer_append(&line->text, " ", 1);
    if (options->normalized) normalise(line, options->asian_support);
    if (options->no_punctuation) tfm_line_replace_class(line, is_quotable, "");
    if (options->no_punctuation && options->asian_support) tfm_line_replace_class(line, is_asian_mark, "");
}
