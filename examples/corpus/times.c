/* Times of day. */
#include "corpus.h"

#include <stdio.h>
#include <string.h>

struct clock {
    uint32_t hour, minute;
};

/* Keys of the lists of forms are minutes; those of the parts of the day are hours. */
static const struct form english_forms[] = {
    {0, 59, "[at |]%h[:|.]%M[ |]%a"},
    {0, 59, "[at |]%D:%M[ hours|]"},
    {1, 59, "%n %w %a"},
    {1, 59, "[at |]%n %w %p"},
    {0, 59, "%h:%M %p"},
    {0, 0, "[at |][%n|%h] o'clock %p"},
    {0, 0, "[at |]%h[ |]%a"},
    {0, 0, "[at |]%n %a"},
    {0, 0, "[at |]%h %p"},
    {15, 15, "[a |][quarter|1/4] past %n %p"},
    {15, 15, "[at |]quarter past %n %p"},
    {30, 30, "[at |]half past %n %p"},
    {30, 30, "half past %h %p"},
    {45, 45, "[a |]quarter to %N %p"},
    {45, 45, "[at |]quarter to %N %p"},
    {1, 29, "[at |]%m past %n %p"},
    {1, 29, "%c past %n %p"},
    {31, 59, "[at |]%k to %N %p"},
    {31, 59, "%C to %N %p"},
    {0, 0, NULL},
};
static const struct form german_forms[] = {
    {0, 59, "[um |]%H[:|.]%M[ Uhr| h]"},
    {0, 59, "[um |]%D:%M[ Uhr|]"},
    {1, 59, "[um |]%H Uhr %i"},
    {1, 59, "[um |]%W Uhr %w"},
    {1, 59, "[um |]%u Uhr %w %p"},
    {0, 0, "[um |]%H Uhr"},
    {0, 0, "[um |]%W Uhr"},
    {0, 0, "[um |][%u|%h] Uhr %p"},
    {15, 15, "[um |][Viertel|viertel] nach %n %p"},
    {30, 30, "[um |]halb %N %p"},
    {30, 30, "[um |]halb %U Uhr %p"},
    {45, 45, "[um |][Viertel|viertel] vor %N %p"},
    {45, 45, "[um |][dreiviertel|drei viertel] %N %p"},
    {1, 24, "[um |]%m nach %n %p"},
    {36, 59, "[um |]%k vor %N %p"},
    {20, 29, "[um |]%q vor halb %N %p"},
    {31, 40, "[um |]%q nach halb %N %p"},
    {0, 0, NULL},
};
static const struct form french_forms[] = {
    {0, 59, "[à |]%H[ h |h|:]%M"},
    {0, 59, "[à |]%D[h|:]%M"},
    {1, 59, "[à |]%W %w"},
    {1, 59, "[à |]%H%x %i"},
    {0, 0, "[à |]%H[ h|h|%x]"},
    {0, 0, "[à |]%W"},
    {0, 0, "[à |]%e[ pile|]%p"},
    {1, 34, "[à |]%e %w%p"},
    {15, 15, "[à |]%e et quart%p"},
    {30, 30, "[à |]%e et %d%p"},
    {31, 59, "[à |]%E moins %k%P"},
    {45, 45, "[à |]%E moins le quart%P"},
    {0, 0, NULL},
};
/* Where noon and midnight are called by name; French has them in every form. */
static const struct special {
    enum language language;
    uint32_t hour;
    struct form forms[4];
} specials[] = {
    {ENGLISH, 12, {{0, 0, "[at |][noon|midday|12 noon|twelve noon]"}, {1, 29, "[%m|%c] past noon"}, {0, 0, NULL}}},
    {ENGLISH, 11, {{31, 59, "[%k|%C] to noon"}, {0, 0, NULL}}},
    {ENGLISH, 0, {{0, 0, "[at |][midnight|12 midnight]"}, {1, 29, "[%m|%c] past midnight"}, {0, 0, NULL}}},
    {ENGLISH, 23, {{31, 59, "[%k|%C] to midnight"}, {0, 0, NULL}}},
    {GERMAN,
     0,
     {{0, 0, "[um |]Mitternacht"}, {1, 29, "%m nach Mitternacht"}, {15, 15, "Viertel nach Mitternacht"}, {0, 0, NULL}}},
    {GERMAN, 23, {{36, 59, "%k vor Mitternacht"}, {45, 45, "Viertel vor Mitternacht"}, {0, 0, NULL}}},
};
static const struct form day_parts[LANGUAGES][9] = {
    {{0, 0, "at night"},
     {1, 11, "in the morning"},
     {12, 17, "in the afternoon"},
     {18, 21, "in the evening"},
     {21, 23, "at night"},
     {0, 0, NULL}},
    {{0, 3, "nachts"},
     {0, 3, "in der Nacht"},
     {4, 10, "[morgens|früh|am Morgen]"},
     {9, 11, "[vormittags|am Vormittag]"},
     {12, 13, "[mittags|am Mittag]"},
     {13, 17, "[nachmittags|am Nachmittag]"},
     {18, 23, "[abends|am Abend]"},
     {22, 23, "nachts"},
     {0, 0, NULL}},
    {{0, 11, "du matin"}, {12, 17, "de l'après-midi"}, {18, 23, "du soir"}, {0, 0, NULL}},
};

static bool fits(const struct form *forms, int key)
{
    while (forms->text && !(forms->from <= key && key <= forms->to)) forms++;
    return forms->text;
}

/* 1..12 */
static uint32_t twelve(uint32_t hour)
{
    return (hour + 11) % 12 + 1;
}

static void add_day_part(struct phrase *p, uint32_t hour)
{
    add_form(p, day_parts[p->language], (int)hour);
}

static void add_half_of_day(struct phrase *p, uint32_t hour)
{
    static const char *const styles[] = {"am", "a.m.", "AM", "a.m.", "pm", "p.m.", "PM", "p.m."};

    add(p, "%s", styles[hour / 12 * 4 + draw(p, 4)]);
}

/* "five", "five minutes", "eine Minute": a number of minutes before or after an hour. */
static void add_minutes(struct phrase *p, uint32_t n)
{
    static const char *const one[] = {" minute", " Minute", ""}, *const many[] = {" minutes", " Minuten", ""};
    const bool round = n % 5 == 0 && draw(p, 3);

    add_number(p, n, BEFORE_FEMININE);
    if (!round) add(p, "%s", (n == 1 ? one : many)[p->language]);
}

/* The minutes behind an hour in words: "thirty", and in English "oh five". */
static void add_minute_words(struct phrase *p, uint32_t n)
{
    if (p->language == ENGLISH && n < 10) add(p, "oh ");
    add_number(p, n, p->language == FRENCH ? BEFORE_FEMININE : ALONE);
}

static void add_french_hour(struct phrase *p, uint32_t hour)
{
    add_number(p, hour, BEFORE_FEMININE);
    add(p, hour < 2 ? " heure" : " heures");
}

/* "trois heures"; noon and midnight have their own names. */
static void add_french_name(struct phrase *p, uint32_t hour)
{
    if (hour % 12) add_french_hour(p, hour % 12);
    else add(p, hour == 12 ? "midi" : "minuit");
}

static void word_field(struct phrase *p, char name, const struct clock *c)
{
    const uint32_t next = (c->hour + 1) % 24, half = c->minute < 30 ? 30 - c->minute : c->minute - 30;

    switch (name) {
    case 'n':
        add_number(p, twelve(c->hour), ALONE);
        break;
    case 'N':
        add_number(p, twelve(next), ALONE);
        break;
    case 'u':
        add_number(p, twelve(c->hour), BEFORE_NOUN);
        break;
    case 'U':
        add_number(p, twelve(next), BEFORE_NOUN);
        break;
    case 'W':
        if (p->language == FRENCH) add_french_hour(p, c->hour);
        else add_number(p, c->hour, BEFORE_NOUN);
        break;
    case 'w':
        add_minute_words(p, c->minute);
        break;
    case 'm':
        add_minutes(p, c->minute);
        break;
    case 'k':
        add_minutes(p, 60 - c->minute);
        break;
    case 'q':
        add_minutes(p, half);
        break;
    case 'e':
        add_french_name(p, c->hour);
        break;
    case 'E':
        add_french_name(p, next);
        break;
    case 'x':
        add(p, c->hour < 2 ? " heure" : " heures");
        break;
    case 'd':
        add(p, c->hour % 12 ? "demie" : "demi");
        break;
    default:
        break;
    }
}

static void clock_field(struct phrase *p, char name)
{
    const struct clock *c = p->value;
    const uint32_t named = name == 'P' ? (c->hour + 1) % 24 : c->hour;

    switch (name) {
    case 'H':
        add(p, "%u", c->hour);
        break;
    case 'D':
        add(p, "%02u", c->hour);
        break;
    case 'h':
        add(p, "%u", twelve(c->hour));
        break;
    case 'M':
        add(p, "%02u", c->minute);
        break;
    case 'i':
        add(p, "%u", c->minute);
        break;
    case 'c':
        add(p, "%u", c->minute);
        break;
    case 'C':
        add(p, "%u", 60 - c->minute);
        break;
    case 'a':
        add_half_of_day(p, c->hour);
        break;
    case 'p':
    case 'P':
        if (p->language == FRENCH && named % 12 == 0) break;
        if (p->language == FRENCH) add(p, " ");
        add_day_part(p, c->hour);
        break;
    default:
        word_field(p, name, c);
        break;
    }
}

/* The forms that call the time by a name of its own, or NULL. */
static const struct form *special_forms(const struct phrase *p, const struct clock *c)
{
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (specials[i].language == p->language && specials[i].hour == c->hour &&
            fits(specials[i].forms, (int)c->minute))
            return specials[i].forms;
    return NULL;
}

void write_time(struct phrase *p)
{
    static const struct form *const forms[LANGUAGES] = {english_forms, german_forms, french_forms};
    struct clock c = {.hour = draw(p, 24), .minute = draw(p, 60)};

    if (!draw(p, 3)) c.minute = c.minute / 15 * 15; /* round times are met more often */
    else if (draw(p, 2)) c.minute = c.minute / 5 * 5;
    p->value = &c;
    p->field = clock_field;
    const struct form *special = special_forms(p, &c);
    add_form(p, special && draw(p, 2) ? special : forms[p->language], (int)c.minute);
    snprintf(p->target, sizeof p->target, "%02u:%02u", c.hour, c.minute);
}
