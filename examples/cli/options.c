/* The one parser of the program's command lines. */
#include "options.h"
#include "console.h"
#include "help.h"
#include "text_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void string_list_add(string_list *list, const char *item)
{
    memory_grow(&list->items, &list->capacity, list->size + 1, sizeof *list->items);
    list->items[list->size++] = item;
}

void string_list_free(string_list *list)
{
    free(list->items);
    *list = (string_list){0};
}

/* Levenshtein distance, of words up to 31 bytes. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[32], n = strlen(b);
    if (n > 31) return SIZE_MAX;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

const char *nearest_name(const char *word, const char *(*name)(size_t i, const void *user), size_t n, const void *user)
{
    const char *best = NULL;
    size_t limit = strlen(word) / 3 + 2, length = strlen(word);
    if (length > 31) return NULL;
    for (size_t i = 0; i < n; i++) {
        const char *candidate = name(i, user);
        if (!candidate) continue;
        size_t distance = edit_distance(word, candidate);
        if (length >= 3 && strncmp(word, candidate, length) == 0) distance = 1; /* the beginning of a name is near it */
        if (distance >= limit || distance >= length) continue;
        limit = distance;
        best = candidate;
    }
    return best;
}

static size_t count_rows(const option_row *rows)
{
    size_t n = 0;
    while (rows[n].kind != OPTION_END) n++;
    return n;
}

static const char *row_name(size_t i, const void *user)
{
    const option_row *rows = user;
    return rows[i].name;
}

static int unknown_option(const command *c, const char *name)
{
    const char *near = nearest_name(name, row_name, count_rows(c->options), c->options);
    if (near)
        return console_usage("unknown option '--%s'; did you mean '--%s'? 'tfm %s --help' lists all", name, near,
                             c->name);
    return console_usage("unknown option '--%s'; 'tfm %s --help' lists all", name, c->name);
}

static int set_integer(const option_row *row, void *place, const char *value)
{
    char *end;
    const uint64_t type_high = row->kind == OPTION_U32 ? UINT32_MAX : UINT64_MAX;
    const uint64_t low = (uint64_t)row->low, high = row->high > 0 ? (uint64_t)row->high : type_high;
    errno = 0;
    const unsigned long long number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno || number < low || number > high)
        return console_usage("--%s is '%s', not a whole number in %llu..%llu", row->name, value,
                             (unsigned long long)low, (unsigned long long)high);
    if (row->kind == OPTION_U32) *(uint32_t *)place = (uint32_t)number;
    else *(uint64_t *)place = number;
    return EXIT_SUCCESS;
}

static int set_float(const option_row *row, float *place, const char *value)
{
    char *end;
    const bool bounded = row->low < row->high;
    const double low = bounded ? row->low : 0, high = bounded ? row->high : HUGE_VAL;
    const double number = strtod(value, &end);
    if (end == value || *end || !isfinite(number) || number < low || number > high) {
        if (bounded) return console_usage("--%s is '%s', not a number in %g..%g", row->name, value, low, high);
        return console_usage("--%s is '%s', not a number >= 0", row->name, value);
    }
    *place = (float)number;
    if (!isfinite(*place) || (*place == 0 && number != 0)) /* 0 often means something else than little */
        return console_usage("--%s is '%s', too %s for a number of 32 bits", row->name, value,
                             *place ? "large" : "small");
    return EXIT_SUCCESS;
}

static int set_seconds(const option_row *row, double *place, const char *value)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    char *end;
    const double number = strtod(value, &end);
    for (size_t i = 0; end != value && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) != 0 || !isfinite(number) || number < 0) continue;
        *place = number * units[i].seconds;
        return EXIT_SUCCESS;
    }
    return console_usage("--%s is '%s', not a time such as 90s, 20m or 2h", row->name, value);
}

static int set_bytes(const option_row *row, uint64_t *place, const char *value)
{
    static const char letters[] = "kMGT";
    char *end;
    const double number = strtod(value, &end);
    const char *letter = *end ? strchr(letters, *end == 'K' ? 'k' : *end) : NULL;
    const bool binary = letter && end[1] == 'i';
    const char *rest = end + (letter != NULL) + binary;
    const double bytes = number * pow(binary ? 1024 : 1000, letter ? (double)(letter - letters + 1) : 0);
    if (end == value || (*rest && strcmp(rest, "B") != 0) || !(bytes >= 0 && bytes < 0x1p63))
        return console_usage("--%s is '%s', not a size such as 500M, 6G or 4GiB", row->name, value);
    *place = (uint64_t)bytes;
    return EXIT_SUCCESS;
}

void choice_word(const char *words, uint32_t index, char *out, size_t size)
{
    for (; index > 0; index--) words += strcspn(words, "|") + 1;
    snprintf(out, size, "%.*s", (int)strcspn(words, "|"), words);
}

static bool choice_index(const char *words, const char *value, uint32_t *index)
{
    const size_t length = strlen(value);
    *index = 0;
    for (const char *word = words; *word; ++*index) {
        const size_t n = strcspn(word, "|");
        if (n == length && memcmp(word, value, n) == 0) return true;
        word += n + (word[n] == '|');
    }
    return false;
}

static int set_choice(const option_row *row, uint32_t *place, const char *value)
{
    if (choice_index(row->argument, value, place)) return EXIT_SUCCESS;
    return console_usage("--%s is '%s', not one of %s", row->name, value, row->argument);
}

static int set_option(const option_row *row, void *args, const char *value)
{
    void *place = (char *)args + row->offset;
    switch (row->kind) {
    case OPTION_FLAG:
        *(uint32_t *)place = 1;
        return EXIT_SUCCESS;
    case OPTION_TEXT:
    case OPTION_MAYBE:
        *(const char **)place = value;
        return EXIT_SUCCESS;
    case OPTION_LIST:
        string_list_add(place, value);
        return EXIT_SUCCESS;
    case OPTION_CHOICE:
        return set_choice(row, place, value);
    case OPTION_U32:
    case OPTION_U64:
        return set_integer(row, place, value);
    case OPTION_FLOAT:
        return set_float(row, place, value);
    case OPTION_SECONDS:
        return set_seconds(row, place, value);
    case OPTION_BYTES:
        return set_bytes(row, place, value);
    case OPTION_HEADING:
    case OPTION_END:
        break;
    }
    return EXIT_SUCCESS;
}

typedef struct parser {
    const command *command;
    void *args;
    string_list *operands;
    int argc, next; /* next: index of the argument to read */
    char **argv;
    bool *given; /* of each row */
    bool help;   /* is asked for, in a form */
    page_form form;
} parser;

static const option_row *find_row(const command *c, const char *name, size_t length, char letter)
{
    for (const option_row *row = c->options; row->kind != OPTION_END; row++) {
        if (letter && row->letter == letter) return row;
        if (!letter && row->name && strlen(row->name) == length && memcmp(row->name, name, length) == 0) return row;
    }
    return NULL;
}

/* value: what followed '=' or a letter, or NULL. */
static int take_option(parser *p, const option_row *row, const char *value)
{
    p->given[row - p->command->options] = true;
    if (row->kind == OPTION_FLAG) {
        if (value) return console_usage("--%s takes no value, but got '%s'", row->name, value);
        return set_option(row, p->args, NULL);
    }
    if (!value && row->kind == OPTION_MAYBE)
        value = p->next < p->argc && p->argv[p->next][0] != '-' ? p->argv[p->next++] : "";
    else if (!value && p->next < p->argc) value = p->argv[p->next++];
    if (!value) return console_usage("--%s needs a value: --%s %s", row->name, row->name, row->argument);
    return set_option(row, p->args, value);
}

static int parse_option(parser *p, const char *argument)
{
    if (argument[1] != '-') {
        const option_row *row = find_row(p->command, NULL, 0, argument[1]);
        if (!row) return console_usage("unknown option '%s'; 'tfm %s --help' lists all", argument, p->command->name);
        return take_option(p, row, argument[2] ? argument + 2 : NULL);
    }
    const char *name = argument + 2, *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    if (strcmp(name, "quiet") == 0) {
        console_silence();
        return EXIT_SUCCESS;
    }
    const option_row *row = find_row(p->command, name, length, 0);
    if (row) return take_option(p, row, equals ? equals + 1 : NULL);
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), name);
    return unknown_option(p->command, word);
}

static int parse(parser *p)
{
    bool only_operands = false;
    while (p->next < p->argc) {
        const char *argument = p->argv[p->next++];
        if (!only_operands && strcmp(argument, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && help_wanted(argument, &p->form)) {
            p->help = true;
            return EXIT_SUCCESS;
        } else if (!only_operands && argument[0] == '-' && argument[1]) {
            const int code = parse_option(p, argument);
            if (code) return code;
        } else {
            if (p->operands->size == p->command->max_operands)
                return console_usage("'%s' is one argument too many; 'tfm %s --help' shows the usage", argument,
                                     p->command->name);
            string_list_add(p->operands, argument);
        }
    }
    return EXIT_SUCCESS;
}

static int check_required(const command *c, const void *args)
{
    for (const option_row *row = c->options; row->kind != OPTION_END; row++) {
        const void *place = (const char *)args + row->offset;
        if (!row->required) continue;
        if (row->kind == OPTION_LIST ? ((const string_list *)place)->size > 0 : *(const char *const *)place != NULL)
            continue;
        return console_usage("%s needs --%s %s; 'tfm %s --help' explains", c->name, row->name, row->argument, c->name);
    }
    return EXIT_SUCCESS;
}

/* What would be ignored without another option, or with it. */
static int check_needs(const parser *p)
{
    const option_row *rows = p->command->options;
    for (size_t i = 0; rows[i].kind != OPTION_END; i++) {
        if (!rows[i].needs || !p->given[i]) continue;
        const bool excludes = *rows[i].needs == '!';
        const char *name = rows[i].needs + excludes;
        const size_t length = strcspn(name, " ");
        const option_row *other = find_row(p->command, name, length, 0);
        bool met = p->given[other - rows];
        if (excludes && met)
            return console_usage("--%s would be ignored with --%s; leave out one of them", rows[i].name, name);
        if (excludes) continue;
        if (other->kind == OPTION_CHOICE) {
            char word[64];
            uint32_t index;
            choice_word(other->argument, *(const uint32_t *)((const char *)p->args + other->offset), word, sizeof word);
            met = choice_index(rows[i].needs + length + 1, word, &index);
        }
        if (!met) return console_usage("--%s is for --%s", rows[i].name, rows[i].needs);
    }
    return EXIT_SUCCESS;
}

/* The other option that names the file, or NULL. */
static const option_row *other_of(const parser *p, const option_row *row, const char *path)
{
    for (const option_row *other = p->command->options; other->kind != OPTION_END; other++) {
        const void *place = (const char *)p->args + other->offset;
        if (other == row || !other->file || !p->given[other - p->command->options]) continue;
        const string_list one = {(const char **)(uintptr_t)place, 1, 1};
        const string_list *list = other->kind == OPTION_LIST ? place : &one;
        for (size_t i = 0; i < list->size; i++)
            if (same_file(list->items[i], path)) return other;
    }
    return NULL;
}

static int check_files(const parser *p)
{
    for (const option_row *row = p->command->options; row->kind != OPTION_END; row++) {
        if (row->file != 'w' || !p->given[row - p->command->options]) continue;
        const char *path = *(const char *const *)(const void *)((const char *)p->args + row->offset);
        if (strcmp(path, "-") == 0) continue;
        const option_row *other = other_of(p, row, path);
        if (other)
            return console_usage("--%s is %s, the file of --%s, which would be lost; give another name", row->name,
                                 path, other->name);
        for (size_t i = 0; i < p->operands->size; i++)
            if (same_file(p->operands->items[i], path))
                return console_usage("--%s is %s, which is read and would be lost; give another name", row->name, path);
    }
    return EXIT_SUCCESS;
}

static void free_lists(const command *c, void *args)
{
    for (const option_row *row = c->options; row->kind != OPTION_END; row++)
        if (row->kind == OPTION_LIST) string_list_free((string_list *)((char *)args + row->offset));
}

static int run_command(parser *p)
{
    int code = check_required(p->command, p->args);
    if (!code) code = check_needs(p);
    if (!code) code = check_files(p);
    return code ? code : p->command->run(p->args, p->operands);
}

int command_main(const command *c, int argc, char **argv)
{
    string_list operands = {0};
    void *args = calloc(1, c->args_size), *defaults = calloc(1, c->args_size);
    bool *given = calloc(count_rows(c->options) + 1, sizeof *given);
    int code = EXIT_FAILURE;
    if (!args || !defaults || !given) {
        console_fail("out of memory");
        goto end;
    }
    if (c->init) c->init(args);
    memcpy(defaults, args, c->args_size);
    parser p = {.command = c, .args = args, .operands = &operands, .argc = argc, .argv = argv, .given = given};
    code = parse(&p);
    if (p.help) help_command(p.form, c, defaults);
    else if (!code) code = run_command(&p);
    free_lists(c, args);
end:
    string_list_free(&operands);
    free(given);
    free(defaults);
    free(args);
    return code;
}
