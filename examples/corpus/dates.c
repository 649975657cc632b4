/* Calendar dates from 1900 to 2099 in words and figures. */
#include "corpus.h"

#include <stdio.h>

enum { FIRST_YEAR = 1900, YEARS = 200 };

struct date {
    uint32_t year, month, day;
};

static const char *const month_names[LANGUAGES][12] = {
    {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
     "December"},
    {"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
     "Dezember"},
    {"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
     "décembre"},
};
static const char *const month_shorts[LANGUAGES][12] = {
    {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"},
    {"Jan.", "Feb.", "Mrz.", "Apr.", "Mai", "Jun.", "Jul.", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."},
    {"janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."},
};
static const char *const weekday_names[LANGUAGES][7] = {
    {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
    {"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"},
    {"dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"},
};
static const char *const weekday_shorts[LANGUAGES][7] = {
    {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
    {"So", "Mo", "Di", "Mi", "Do", "Fr", "Sa"},
    {"dim.", "lun.", "mar.", "mer.", "jeu.", "ven.", "sam."},
};

/* Keys are days of the month. */
static const struct form english_forms[] = {
    {1, 31, "[%A[,|] |on %A[,|] |]the %o of %B[,|] %Y"},
    {1, 31, "[%A[,|] |]%o [of |]%B[,|] %Y"},
    {1, 31, "[%A[,|] |%a[,|] |]%d %B[,|] %Y"},
    {1, 31, "[%a[,|.] |][%d %b %Y|%d-%b-%Y]"},
    {1, 31, "[%A, |%a, |%A |]%B %d, %Y"},
    {1, 31, "[%A, |%a |]%b[.|] %d, %Y"},
    {1, 31, "[%A, |%A |on |]%B %o[,|] %Y"},
    {1, 31, "[%A |]%B [the |]%O[,|] %y"},
    {1, 31, "[%A |%A, |on |]the %O of %B[,|] [in the year |]%y"},
    {1, 31, "[%A |]the %O of %B[,|] %Y"},
    {1, 31, "[%Y-%b-%D|%Y %B %d|%Y/%0/%D]"},
    {0, 0, NULL},
};
static const struct form german_forms[] = {
    {1, 31, "[%A, den |%A, |am %A, dem |am |den |]%d. %B %Y"},
    {1, 31, "[%a, |%a., |]%d. %b %Y"},
    {1, 31, "[%A, |%a, |%a. |am |]%d.%m.%Y"},
    {1, 31, "[%A, |am |]%D.%0.%Y"},
    {1, 31, "%d. %m. %Y"},
    {1, 31, "[der |%A, der ]%O %B %Y"},
    {1, 31, "[der |%A, der ]%O %B %y"},
    {1, 31, "[am |%A, den |am %A, dem ]%On %B [des Jahres |]%y"},
    {1, 31, "[am |%A, den ]%On %B %Y"},
    {0, 0, NULL},
};
static const struct form french_forms[] = {
    {2, 31, "[le |le %A |%A |%A, le |]%d %B %Y"},
    {2, 31, "[%a |le |]%d %b %Y"},
    {2, 31, "[le |le %A |%A |]%c %B %y"},
    {2, 31, "[le |le %A |%A ]%c %B %Y"},
    {2, 31, "[le |le %A |%A ]%d %B %y"},
    {1, 1, "[le |le %A |%A |%A, le |]1er %B %Y"},
    {1, 1, "[le |%a |]1er %b %Y"},
    {1, 1, "[le |le %A |%A ]premier %B %y"},
    {1, 1, "[le |le %A |]premier %B %Y"},
    {1, 31, "[le|%A|%A, le|%a] %D/%0/%Y"},
    {1, 31, "le [%D.%0.%Y|%D-%0-%Y]"},
    {0, 0, NULL},
};

static uint32_t month_length(uint32_t year, uint32_t month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

/* 0 is Sunday. Days since 1900-01-01, a Monday. */
static uint32_t weekday(const struct date *d)
{
    uint32_t days = d->day;

    for (uint32_t year = FIRST_YEAR; year < d->year; year++) days += 337 + month_length(year, 2);
    for (uint32_t month = 1; month < d->month; month++) days += month_length(d->year, month);
    return days % 7;
}

/* "3rd" */
static void add_english_ordinal(struct phrase *p, uint32_t n)
{
    static const char *const ends[] = {"th", "st", "nd", "rd", "th", "th", "th", "th", "th", "th"};

    add(p, "%u%s", n, n / 10 == 1 ? "th" : ends[n % 10]);
}

/* "third", "dritte" */
static void add_ordinal_word(struct phrase *p, uint32_t n)
{
    static const char *const english[] = {"first",     "second",      "third",      "fourth",     "fifth",
                                          "sixth",     "seventh",     "eighth",     "ninth",      "tenth",
                                          "eleventh",  "twelfth",     "thirteenth", "fourteenth", "fifteenth",
                                          "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"};

    if (p->language == GERMAN) {
        if (n == 1 || n == 3 || n == 7 || n == 8) {
            add(p, "%s", n == 1 ? "erste" : n == 3 ? "dritte" : n == 7 ? "siebte" : "achte");
        } else {
            add_number(p, n, ALONE);
            add(p, n < 20 ? "te" : "ste");
        }
    } else if (n <= 20) {
        add(p, "%s", english[n - 1]);
    } else if (n == 30) {
        add(p, "thirtieth");
    } else {
        add(p, "%s-%s", n > 30 ? "thirty" : "twenty", english[n % 10 - 1]);
    }
}

static void date_field(struct phrase *p, char name)
{
    const struct date *d = p->value;

    switch (name) {
    case 'Y':
        add(p, "%u", d->year);
        break;
    case 'y':
        add_year(p, d->year);
        break;
    case 'm':
        add(p, "%u", d->month);
        break;
    case '0':
        add(p, "%02u", d->month);
        break;
    case 'B':
        add(p, "%s", month_names[p->language][d->month - 1]);
        break;
    case 'b':
        add(p, "%s", month_shorts[p->language][d->month - 1]);
        break;
    case 'd':
        add(p, "%u", d->day);
        break;
    case 'D':
        add(p, "%02u", d->day);
        break;
    case 'o':
        add_english_ordinal(p, d->day);
        break;
    case 'O':
        add_ordinal_word(p, d->day);
        break;
    case 'c':
        add_number(p, d->day, BEFORE_NOUN);
        break;
    case 'A':
        add(p, "%s", weekday_names[p->language][weekday(d)]);
        break;
    default:
        add(p, "%s", weekday_shorts[p->language][weekday(d)]);
        break;
    }
}

void write_date(struct phrase *p)
{
    static const struct form *const forms[LANGUAGES] = {english_forms, german_forms, french_forms};
    struct date d = {.year = FIRST_YEAR + draw(p, YEARS), .month = 1 + draw(p, 12)};

    if (draw(p, 2)) d.year = 1950 + draw(p, 100); /* years of living memory are met more often */
    d.day = 1 + draw(p, month_length(d.year, d.month));
    p->value = &d;
    p->field = date_field;
    add_form(p, forms[p->language], (int)d.day);
    snprintf(p->target, sizeof p->target, "%04u-%02u-%02u", d.year, d.month, d.day);
}
