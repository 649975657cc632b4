/* Amounts of money; the target is the ISO 4217 code and the number with two decimals. */
#include "corpus.h"

#include <stdio.h>

enum currency { EURO, POUND, DOLLAR, FRANC, CURRENCIES };

struct amount {
    enum currency currency;
    uint32_t major, minor; /* 12 euros, 50 cents */
};

/* Keys of the lists of forms: what the amount consists of. */
enum { WHOLE, MIXED, SMALL, MILLIONS };

static const char *const codes[] = {"EUR", "GBP", "USD", "CHF"};
static const char *const symbols[] = {"€", "£", "$", "Fr."};

/* One, then more of a currency; "|" parts vary. */
static const char *const names[LANGUAGES][CURRENCIES][2] = {
    {{"euro", "euros"},
     {"pound[| sterling]", "pounds[| sterling]"},
     {"[|US ]dollar", "[|US ]dollars"},
     {"Swiss franc", "Swiss francs"}},
    {{"Euro", "Euro"},
     {"Pfund[| Sterling]", "Pfund[| Sterling]"},
     {"[|US-]Dollar", "[|US-]Dollar"},
     {"[Schweizer |]Franken", "[Schweizer |]Franken"}},
    {{"euro", "euros"},
     {"livre sterling", "livres sterling"},
     {"dollar[| américain]", "dollars[| américains]"},
     {"franc suisse", "francs suisses"}},
};
/* After an amount of the currency. */
static const char *const minor_names[LANGUAGES][CURRENCIES][2] = {
    {{"cent", "cents"}, {"penny", "pence"}, {"cent", "cents"}, {"centime", "centimes"}},
    {{"Cent", "Cent"}, {"Penny", "Pence"}, {"Cent", "Cent"}, {"Rappen", "Rappen"}},
    {{"centime", "centimes"}, {"penny", "pence"}, {"cent", "cents"}, {"centime", "centimes"}},
};
/* Alone. */
static const char *const coin_names[LANGUAGES][CURRENCIES][2] = {
    {{"euro cent", "euro cents"}, {"penny", "pence"}, {"US cent", "US cents"}, {"Swiss centime", "Swiss centimes"}},
    {{"[Euro-|]Cent", "[Euro-|]Cent"}, {"Penny", "Pence"}, {"US-Cent", "US-Cent"}, {"Rappen", "Rappen"}},
    {{"centime[ d'euro|]", "centimes[ d'euro|]"},
     {"penny", "pence"},
     {"cent américain", "cents américains"},
     {"centime suisse", "centimes suisses"}},
};

static const struct form english_forms[] = {
    {WHOLE, WHOLE, "%N %C"},
    {WHOLE, WHOLE, "%N %C"},
    {WHOLE, WHOLE, "[%G|%I] %C"},
    {WHOLE, WHOLE, "%S%G[.00|]"},
    {WHOLE, WHOLE, "[%K %G|%G %K|%K%I]"},
    {MIXED, MIXED, "%N %C[ and|,|] %W %c"},
    {MIXED, MIXED, "%N %C[ and|] %W"},
    {MIXED, MIXED, "[%G|%I] %C[ and|] %i %c"},
    {MIXED, MIXED, "%S[%G|%I].%M"},
    {MIXED, MIXED, "%S%G.%M"},
    {MIXED, MIXED, "[%G|%I].%M %D"},
    {MIXED, MIXED, "[%K %G.%M|%G.%M %K]"},
    {SMALL, SMALL, "%W %s"},
    {SMALL, SMALL, "%i %s"},
    {SMALL, SMALL, "[%S0.%M|0.%M %D]"},
    {MILLIONS, MILLIONS, "[%S%F million|%F million %D|%K %F million]"},
    {MILLIONS, MILLIONS, "%N %C"},
    {0, 0, NULL},
};
static const struct form german_forms[] = {
    {WHOLE, WHOLE, "%N %C"},
    {WHOLE, WHOLE, "%N %C"},
    {WHOLE, WHOLE, "[%G|%I] %C"},
    {WHOLE, WHOLE, "%G[,00|,-|,–|] %S"},
    {WHOLE, WHOLE, "[%K %G|%G %K]"},
    {MIXED, MIXED, "%N %C[ und|] %W %c"},
    {MIXED, MIXED, "%N %C %W"},
    {MIXED, MIXED, "[%G|%I] %C[ und|] %i %c"},
    {MIXED, MIXED, "[%G|%I],%M %S"},
    {MIXED, MIXED, "[%G|%I],%M %C"},
    {MIXED, MIXED, "[%K %G,%M|%G,%M %K]"},
    {SMALL, SMALL, "%W %s"},
    {SMALL, SMALL, "%i %s"},
    {SMALL, SMALL, "0,%M [%S|%C|%K]"},
    {MILLIONS, MILLIONS, "%F [Millionen|Mio.] [%C|%S]"},
    {MILLIONS, MILLIONS, "%N %C"},
    {0, 0, NULL},
};
static const struct form french_forms[] = {
    {WHOLE, WHOLE, "%N %C"},
    {WHOLE, WHOLE, "%N %C"},
    {WHOLE, WHOLE, "[%G|%I] %C"},
    {WHOLE, WHOLE, "%G[,00|] %S"},
    {WHOLE, WHOLE, "[%K %G|%G %K]"},
    {MIXED, MIXED, "%N %C[ et|] %W %c"},
    {MIXED, MIXED, "%N %C[ et|] %W"},
    {MIXED, MIXED, "[%G|%I] %C[ et|] %i %c"},
    {MIXED, MIXED, "[%G|%I],%M %S"},
    {MIXED, MIXED, "[%G|%I],%M %C"},
    {MIXED, MIXED, "[%G,%M %K|%I %S %M]"},
    {SMALL, SMALL, "%W %s"},
    {SMALL, SMALL, "%i %s"},
    {SMALL, SMALL, "0,%M [%S|%C|%K]"},
    {MILLIONS, MILLIONS, "%F million%l"},
    {MILLIONS, MILLIONS, "%N %C"},
    {0, 0, NULL},
};

/* "12,300", "12.300", "12 300" with one of three kinds of space, and the Swiss "12'300". */
static void add_grouped(struct phrase *p, const struct amount *a)
{
    static const char *const spaces[] = {" ", "\u00a0", "\u202f"};
    const char *mark = p->language == ENGLISH ? "," : p->language == GERMAN ? "." : spaces[draw(p, 3)];

    if (a->currency == FRANC && p->language != ENGLISH) mark = "'";
    if (a->major >= 1000000)
        add(p, "%u%s%03u%s%03u", a->major / 1000000, mark, a->major / 1000 % 1000, mark, a->major % 1000);
    else if (a->major >= 1000) add(p, "%u%s%03u", a->major / 1000, mark, a->major % 1000);
    else add(p, "%u", a->major);
}

/* "3.5" for 3,500,000 */
static void add_millions(struct phrase *p, const struct amount *a)
{
    const uint32_t tenths = a->major / 100000;

    add(p, "%u", tenths / 10);
    if (tenths % 10) add(p, "%c%u", p->language == ENGLISH ? '.' : ',', tenths % 10);
}

/* French counts one and a half as singular, and says "un million d'euros". */
static void add_name(struct phrase *p, const struct amount *a, bool decimal)
{
    const bool many = p->language == FRENCH ? a->major > 1 : decimal || a->major != 1;

    if (p->language == FRENCH && !decimal && a->major && a->major % 1000000 == 0)
        add(p, a->currency == EURO ? "d'" : "de ");
    expand(p, names[p->language][a->currency][many]);
}

static void add_french_millions(struct phrase *p, const struct amount *a)
{
    add(p, a->major < 2000000 ? " d" : "s d");
    add(p, a->currency == EURO ? "'" : "e ");
    expand(p, names[FRENCH][a->currency][1]);
}

static void word_field(struct phrase *p, char name, const struct amount *a)
{
    const enum ending ending = p->language == FRENCH && a->currency == POUND ? BEFORE_FEMININE : BEFORE_NOUN;

    switch (name) {
    case 'N':
        add_number(p, a->major, ending);
        break;
    case 'W':
        add_number(p, a->minor, BEFORE_NOUN);
        break;
    case 'C':
        add_name(p, a, false);
        break;
    case 'D':
        add_name(p, a, true);
        break;
    case 'c':
        add(p, "%s", minor_names[p->language][a->currency][a->minor != 1]);
        break;
    case 's':
        expand(p, coin_names[p->language][a->currency][a->minor != 1]);
        break;
    case 'l':
        add_french_millions(p, a);
        break;
    default:
        break;
    }
}

static void amount_field(struct phrase *p, char name)
{
    const struct amount *a = p->value;

    switch (name) {
    case 'G':
        add_grouped(p, a);
        break;
    case 'I':
        add(p, "%u", a->major);
        break;
    case 'M':
        add(p, "%02u", a->minor);
        break;
    case 'i':
        add(p, "%u", a->minor);
        break;
    case 'F':
        add_millions(p, a);
        break;
    case 'S':
        add(p, "%s", p->language == ENGLISH && a->currency == FRANC ? "CHF " : symbols[a->currency]);
        break;
    case 'K':
        add(p, "%s", codes[a->currency]);
        break;
    default:
        word_field(p, name, a);
        break;
    }
}

/* A number of one to five digits, often round. */
static uint32_t draw_major(struct phrase *p)
{
    uint32_t limit = 10, round = 1;

    for (uint32_t digits = draw(p, 5); digits; digits--) limit *= 10;
    for (uint32_t zeros = draw(p, 4); zeros && round * 100 <= limit && !draw(p, 2); zeros--) round *= 10;
    return (1 + draw(p, limit / round - 1)) * round;
}

void write_amount(struct phrase *p)
{
    static const struct form *const forms[LANGUAGES] = {english_forms, german_forms, french_forms};
    static const enum currency usual[] = {EURO, EURO, EURO, POUND, POUND, DOLLAR, DOLLAR, FRANC};
    struct amount a = {.currency = usual[draw(p, 8)], .major = draw_major(p)};
    const uint32_t kind = draw(p, 60);
    const int key = kind < 30 ? WHOLE : kind < 56 ? MIXED : kind < 59 ? SMALL : MILLIONS;

    if (key == MIXED || key == SMALL) a.minor = draw(p, 3) ? 1 + draw(p, 99) : (1 + draw(p, 19)) * 5;
    if (key == SMALL) a.major = 0;
    if (key == MILLIONS) a.major = (10 + draw(p, 990)) * 100000;
    p->value = &a;
    p->field = amount_field;
    add_form(p, forms[p->language], key);
    snprintf(p->target, sizeof p->target, "%s %u.%02u", codes[a.currency], a.major, a.minor);
}
