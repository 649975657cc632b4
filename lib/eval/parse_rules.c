#include "eval/parse_rules.h"

#include "base/utf8.h"

static const char collins[] =
    "DELETE_LABEL TOP\nDELETE_LABEL -NONE-\nDELETE_LABEL ,\nDELETE_LABEL :\nDELETE_LABEL ``\nDELETE_LABEL ''\n"
    "DELETE_LABEL .\nDELETE_LABEL_FOR_LENGTH -NONE-\nEQ_LABEL ADVP PRT\n";

enum { DEFAULT_ERRORS = 10, DEFAULT_CUTOFF = 40, MOST_NUMBER = 1000000000, MOST_SHOWN = 40 };

typedef enum rule_kind { LIST, PAIRS, NUMBER, IGNORED } rule_kind;

static const struct {
    const char *name;
    size_t offset;
    rule_kind kind;
} keywords[] = {
    {"DELETE_LABEL", offsetof(tfm_parse_rules, deleted), LIST},
    {"DELETE_LABEL_FOR_LENGTH", offsetof(tfm_parse_rules, not_in_length), LIST},
    {"QUOTE_LABEL", offsetof(tfm_parse_rules, quotes), LIST},
    {"EQ_LABEL", offsetof(tfm_parse_rules, labels), PAIRS},
    {"EQ_WORD", offsetof(tfm_parse_rules, words), PAIRS},
    {"LABELED", offsetof(tfm_parse_rules, labelled), NUMBER},
    {"CUTOFF_LEN", offsetof(tfm_parse_rules, cutoff), NUMBER},
    {"MAX_ERROR", offsetof(tfm_parse_rules, max_errors), NUMBER},
    {"DEBUG", 0, IGNORED},
};

enum { KEYWORDS = sizeof keywords / sizeof *keywords, FIELDS = 3 };

typedef struct rule_line {
    tfm_text field[FIELDS]; /* keyword, values */
    size_t n;
    size_t number;
} rule_line;

/* n is what the line has; those beyond FIELDS are not kept. */
static void split(rule_line *line, tfm_text text)
{
    line->n = 0;
    for (size_t at = 0; at < text.size;) {
        const size_t begin = at;

        while (at < text.size && !tfm_parse_is_space(text.data[at])) at++;
        if (at == begin) at++;
        else if (line->n++ < FIELDS) line->field[line->n - 1] = (tfm_text){text.data + begin, at - begin};
    }
}

/* FNV-1a; a field ends with a byte that no field has. */
static void digest(tfm_parse_rules *rules, const rule_line *line)
{
    for (size_t f = 0; f < line->n; f++)
        for (size_t i = 0; i <= line->field[f].size; i++) {
            const unsigned char byte = i < line->field[f].size ? (unsigned char)line->field[f].data[i] : '\n';
            rules->digest = (rules->digest ^ byte) * 0x100000001B3u;
        }
}

static tfm_status bad_line(const rule_line *line, const char *what, tfm_error *error)
{
    const tfm_text *last = &line->field[line->n < FIELDS ? line->n - 1 : FIELDS - 1];
    const int shown = last->size < MOST_SHOWN ? (int)last->size : MOST_SHOWN;

    return tfm_fail(error, TFM_E_FORMAT, "parameters, line %zu: \"%.*s\" %s", line->number, shown, last->data, what);
}

static tfm_status set_number(uint32_t *to, const rule_line *line, tfm_error *error)
{
    uint64_t value = 0;

    for (size_t i = 0; i < line->field[1].size; i++) {
        const char c = line->field[1].data[i];
        if (c < '0' || c > '9' || value > MOST_NUMBER)
            return bad_line(line, "is not a number of at most 1000000000", error);
        value = 10 * value + (uint64_t)(c - '0');
    }
    if (value > MOST_NUMBER) return bad_line(line, "is not a number of at most 1000000000", error);
    *to = (uint32_t)value;
    return TFM_OK;
}

static tfm_status add(tfm_label_list *list, tfm_text label, const rule_line *line, tfm_error *error)
{
    if (list->n == TFM_PARSE_RULES_MOST) return bad_line(line, "is one too many: at most 100 of a keyword", error);
    list->item[list->n++] = label;
    return TFM_OK;
}

static tfm_status apply(tfm_parse_rules *rules, const rule_line *line, tfm_error *error)
{
    size_t k = 0;

    while (k < KEYWORDS && !tfm_text_equal(line->field[0], tfm_text_of(keywords[k].name))) k++;
    if (k == KEYWORDS)
        return bad_line(&(rule_line){{line->field[0]}, 1, line->number}, "is no keyword of EVALB", error);
    const rule_kind kind = keywords[k].kind;
    void *const field = (char *)rules + keywords[k].offset;
    if (kind == IGNORED) return TFM_OK;
    if (line->n != (kind == PAIRS ? 3 : 2))
        return bad_line(line, kind == PAIRS ? "ends it: two values are wanted" : "ends it: one value is wanted", error);
    if (kind == NUMBER) return set_number(field, line, error);
    digest(rules, line);
    if (kind == LIST) return add(field, line->field[1], line, error);
    tfm_label_pairs *const pairs = field;
    const tfm_status status = add(&pairs->left, line->field[1], line, error);
    return status == TFM_OK ? add(&pairs->right, line->field[2], line, error) : status;
}

tfm_status tfm_parse_rules_read(tfm_parse_rules *rules, const char *text, tfm_error *error)
{
    tfm_text rest = tfm_text_of(text ? text : collins);
    tfm_status status = TFM_OK;
    rule_line line = {.number = 0};

    *rules = (tfm_parse_rules){
        .labelled = 1, .cutoff = DEFAULT_CUTOFF, .max_errors = DEFAULT_ERRORS, .digest = 0xCBF29CE484222325u};
    while (rest.size && status == TFM_OK) {
        line.number++;
        split(&line, tfm_text_take_line(&rest));
        if (line.n && line.field[0].data[0] != '#') status = apply(rules, &line, error);
    }
    return status;
}

bool tfm_label_in(const tfm_label_list *list, tfm_text label)
{
    size_t i = 0;

    while (i < list->n && !tfm_text_equal(list->item[i], label)) i++;
    return i < list->n;
}

bool tfm_label_same(const tfm_label_pairs *pairs, tfm_text a, tfm_text b)
{
    if (tfm_text_equal(a, b)) return true;
    for (size_t i = 0; i < pairs->left.n; i++) {
        const tfm_text left = pairs->left.item[i], right = pairs->right.item[i];
        if (tfm_text_equal(a, left) ? tfm_text_equal(b, right) : tfm_text_equal(a, right) && tfm_text_equal(b, left))
            return true;
    }
    return false;
}
