/* Numbers and years in English, German and French words. */
#include "corpus.h"

enum { HUNDRED = 100, THOUSAND = 1000, MILLION = 1000000 };
enum { SAYS_AND, HYPHENATES, SAYS_A, COUNTS_HUNDREDS, SAYS_EIN, REFORMED, SWISS, TWENTY_HUNDRED }; /* habits */

/* ------------------------------------------------------------------------------------------------- English ---- */

static void english_below_hundred(struct phrase *p, uint32_t n)
{
    static const char *const ones[] = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                       "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                       "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
    static const char *const tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                       "fifty", "sixty", "seventy", "eighty", "ninety"};

    if (n < 20) add(p, "%s", ones[n]);
    else if (n % 10) add(p, "%s%c%s", tens[n / 10], habit(p, HYPHENATES, 4) ? ' ' : '-', ones[n % 10]);
    else add(p, "%s", tens[n / 10]);
}

static void english_plain(struct phrase *p, uint32_t n)
{
    static const struct {
        uint32_t size;
        const char *name;
    } steps[] = {{MILLION, "million"}, {THOUSAND, "thousand"}, {HUNDRED, "hundred"}};

    for (size_t i = 0; i < 3; i++) {
        if (n < steps[i].size) continue;
        english_plain(p, n / steps[i].size);
        add(p, " %s", steps[i].name);
        n %= steps[i].size;
        if (!n) return;
        add(p, n < HUNDRED && habit(p, SAYS_AND, 2) ? " and " : " ");
    }
    english_below_hundred(p, n);
}

/* "a hundred and five", "fifteen hundred", or the plain way. */
static void english_number(struct phrase *p, uint32_t n)
{
    if (n % HUNDRED == 0 && n % THOUSAND && n > THOUSAND && n < 10 * THOUSAND && habit(p, COUNTS_HUNDREDS, 3)) {
        english_below_hundred(p, n / HUNDRED);
        add(p, " hundred");
    } else if (habit(p, SAYS_A, 3) && (n / HUNDRED == 1 || n == THOUSAND || n == MILLION)) {
        add(p, n == MILLION ? "a million" : n == THOUSAND ? "a thousand" : "a hundred");
        if (n % HUNDRED) add(p, habit(p, SAYS_AND, 2) ? " and " : " ");
        if (n % HUNDRED) english_below_hundred(p, n % HUNDRED);
    } else {
        english_plain(p, n);
    }
}

/* "nineteen oh five", "twenty twenty-six", "two thousand and five". */
static void english_year(struct phrase *p, uint32_t year)
{
    const uint32_t rest = year % HUNDRED;

    if (year >= 2000 && (rest == 0 || !habit(p, TWENTY_HUNDRED, 2))) {
        english_plain(p, year);
        return;
    }
    english_below_hundred(p, year / HUNDRED);
    if (rest == 0) add(p, " hundred");
    else add(p, rest < 10 ? " oh " : " ");
    if (rest) english_below_hundred(p, rest);
}

/* -------------------------------------------------------------------------------------------------- German ---- */

static void german_below_hundred(struct phrase *p, uint32_t n, enum ending ending)
{
    static const char *const ones[] = {
        "null", "ein", "zwei",  "drei",     "vier",     "fünf",     "sechs",    "sieben",   "acht",     "neun",
        "zehn", "elf", "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
    static const char *const tens[] = {"",        "",        "zwanzig", "dreißig", "vierzig",
                                       "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};

    if (n < 20) add(p, "%s%s", ones[n], n != 1 ? "" : ending == ALONE ? "s" : ending == BEFORE_FEMININE ? "e" : "");
    else if (n % 10) add(p, "%sund%s", ones[n % 10], tens[n / 10]);
    else add(p, "%s", tens[n / 10]);
}

/* one: "einhundert" rather than "hundert". */
static void german_below_thousand(struct phrase *p, uint32_t n, enum ending ending, bool one)
{
    if (n / HUNDRED > 1 || (n / HUNDRED == 1 && one)) german_below_hundred(p, n / HUNDRED, BEFORE_NOUN);
    if (n >= HUNDRED) add(p, "hundert");
    if (n % HUNDRED || !n) german_below_hundred(p, n % HUNDRED, ending);
}

static void german_number(struct phrase *p, uint32_t n, enum ending ending)
{
    const bool one = habit(p, SAYS_EIN, 2);
    const uint32_t millions = n / MILLION, thousands = n % MILLION / THOUSAND, rest = n % THOUSAND;

    if (millions) {
        german_below_thousand(p, millions, BEFORE_FEMININE, one);
        add(p, millions == 1 ? " Million" : " Millionen");
        if (n % MILLION) add(p, " ");
    }
    if (thousands > 1 || (thousands == 1 && (one || millions))) german_below_thousand(p, thousands, BEFORE_NOUN, one);
    if (thousands) add(p, "tausend");
    if (rest || !n) german_below_thousand(p, rest, ending, one || thousands);
}

static void german_year(struct phrase *p, uint32_t year)
{
    if (year >= 2000) {
        german_number(p, year, ALONE);
        return;
    }
    german_below_hundred(p, year / HUNDRED, BEFORE_NOUN);
    add(p, "hundert");
    if (year % HUNDRED) german_below_hundred(p, year % HUNDRED, ALONE);
}

/* -------------------------------------------------------------------------------------------------- French ---- */

/* The reform of 1990 joins all parts of a number with hyphens. */
static const char *french_space(const struct phrase *p)
{
    return habit(p, REFORMED, 4) ? "-" : " ";
}

static void french_below_twenty(struct phrase *p, uint32_t n, enum ending ending)
{
    static const char *const ones[] = {"zéro", "un",  "deux", "trois", "quatre", "cinq",     "six",    "sept", "huit",
                                       "neuf", "dix", "onze", "douze", "treize", "quatorze", "quinze", "seize"};

    if (n == 1 && ending == BEFORE_FEMININE) add(p, "une");
    else if (n <= 16) add(p, "%s", ones[n]);
    else add(p, "dix-%s", ones[n - 10]);
}

/* last: nothing follows, so that eighty takes its s. */
static void french_below_hundred(struct phrase *p, uint32_t n, enum ending ending, bool last)
{
    static const char *const tens[] = {"",          "",         "vingt",    "trente",   "quarante",
                                       "cinquante", "soixante", "septante", "huitante", "nonante"};
    const bool swiss = habit(p, SWISS, 10);
    const char *space = french_space(p);

    if (n < 20) {
        french_below_twenty(p, n, ending);
    } else if (n >= 80 && !swiss) {
        add(p, n == 80 && last ? "quatre-vingts" : n == 80 ? "quatre-vingt" : "quatre-vingt-");
        if (n > 80) french_below_twenty(p, n - 80, ending);
    } else {
        const uint32_t base = n >= 70 && !swiss ? 60 : n / 10 * 10;
        add(p, "%s", tens[base / 10]);
        if (n - base == 1 || n - base == 11) add(p, "%set%s", space, space);
        else if (n > base) add(p, "-");
        if (n > base) french_below_twenty(p, n - base, ending);
    }
}

static void french_below_thousand(struct phrase *p, uint32_t n, enum ending ending, bool last)
{
    const uint32_t hundreds = n / HUNDRED, rest = n % HUNDRED;

    if (hundreds > 1) {
        french_below_twenty(p, hundreds, ALONE);
        add(p, "%s", french_space(p));
    }
    if (hundreds) add(p, hundreds > 1 && !rest && last ? "cents" : "cent");
    if (hundreds && rest) add(p, "%s", french_space(p));
    if (rest || !n) french_below_hundred(p, rest, ending, last);
}

static void french_number(struct phrase *p, uint32_t n, enum ending ending)
{
    const uint32_t millions = n / MILLION, thousands = n % MILLION / THOUSAND, rest = n % THOUSAND;

    if (millions) {
        french_below_thousand(p, millions, ALONE, true);
        add(p, millions > 1 ? " millions" : " million");
        if (n % MILLION) add(p, " ");
    }
    if (thousands > 1) {
        french_below_thousand(p, thousands, ALONE, false);
        add(p, "%s", french_space(p));
    }
    if (thousands) add(p, "mille");
    if (thousands && rest) add(p, "%s", french_space(p));
    if (rest || !n) french_below_thousand(p, rest, ending, true);
}

/* "deux mille vingt-six"; before 2000 also "dix-neuf cent quatre-vingt-quatre". */
static void french_year(struct phrase *p, uint32_t year)
{
    if (year >= 2000 || !habit(p, TWENTY_HUNDRED, 3)) {
        french_number(p, year, ALONE);
        return;
    }
    french_below_twenty(p, year / HUNDRED, ALONE);
    add(p, "%s%s", french_space(p), year % HUNDRED ? "cent" : "cents");
    if (year % HUNDRED) add(p, "%s", french_space(p));
    if (year % HUNDRED) french_below_hundred(p, year % HUNDRED, ALONE, true);
}

/* -------------------------------------------------------------------------------------------------------------- */

void add_number(struct phrase *p, uint32_t n, enum ending ending)
{
    if (p->language == ENGLISH) english_number(p, n);
    else if (p->language == GERMAN) german_number(p, n, ending);
    else french_number(p, n, ending);
}

void add_year(struct phrase *p, uint32_t year)
{
    if (p->language == ENGLISH) english_year(p, year);
    else if (p->language == GERMAN) german_year(p, year);
    else french_year(p, year);
}
