/* Writes parallel text for training: dates, times and amounts as people write them, and their ISO forms. */
#include "corpus.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "usage: make_corpus [OPTION...] FOLDER\n"
    "Writes FOLDER/train.src, train.tgt, valid.src, valid.tgt, test.src and test.tgt: line i of a .src file is a\n"
    "date, a time, both, or an amount of money as people write it in English, German or French; line i of the\n"
    ".tgt file is what it means:\n"
    "    Tuesday the 3rd of March 2026          2026-03-03              ISO 8601\n"
    "    halb drei Uhr nachmittags              14:30                   ISO 8601\n"
    "    le 3 mars 2026 à quatorze heures       2026-03-03T14:00        ISO 8601\n"
    "    douze mille trois cents euros          EUR 12300.00            ISO 4217 code, two decimals\n"
    "No line occurs twice, and no value of the validation and test files occurs in the training file, except\n"
    "noon and midnight, which are for training only: what is written for a test line was never seen.\n"
    "  --train N   lines for training (default 200000)\n"
    "  --valid N   lines for validation (default 1000)\n"
    "  --test N    lines for the test (default 2000)\n"
    "  --seed N    same seed, same files (default 1)\n"
    "  --spell N   only prints N in English, German and French words, and N as a year from 1900 to 2099\n"
    "  --help      prints this\n";

enum { TRAIN, VALID, TEST, SPLITS };
static const char *const split_names[SPLITS] = {"train", "valid", "test"};

/* Lines that were written: open addressing by the hash of the source. */
struct seen {
    struct entry {
        uint64_t source, target; /* hashes; source 0: free */
    } * entries;
    size_t mask, count;
};

struct job {
    const char *folder;
    uint64_t seed;
    uint64_t wanted[SPLITS], written[SPLITS];
    FILE *source[SPLITS], *target[SPLITS];
    struct seen seen;
};

static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;

    while (*text) h = (h ^ (unsigned char)*text++) * 0x100000001b3u;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return (h ^ h >> 32) | 1;
}

/* The value alone decides, whatever the seed: 90 % train, 5 % validate, 5 % test. */
static int split_of(const char *target)
{
    const uint64_t percent = (hash(target) >> 8) % 100;

    if (percent < 90 || !strcmp(target, "12:00") || !strcmp(target, "00:00")) return TRAIN;
    return percent < 95 ? VALID : TEST;
}

static bool seen_init(struct seen *seen, uint64_t lines)
{
    size_t size = 1024;

    while (size < 2 * lines) size *= 2;
    *seen = (struct seen){calloc(size, sizeof(struct entry)), size - 1, 0};
    return seen->entries != NULL;
}

/* True when the source is new. A source with two meanings would be an error of the grammar, and ends the program. */
static bool seen_add(struct seen *seen, const struct phrase *p)
{
    const uint64_t source = hash(p->text), target = hash(p->target);
    size_t i = source & seen->mask;

    for (; seen->entries[i].source; i = (i + 1) & seen->mask) {
        if (seen->entries[i].source != source) continue;
        if (seen->entries[i].target == target) return false;
        fprintf(stderr, "make_corpus: \"%s\" means %s and something else: the grammar is ambiguous\n", p->text,
                p->target);
        exit(1);
    }
    seen->entries[i] = (struct entry){source, target};
    return true;
}

static void write_phrase(struct phrase *p)
{
    const uint32_t kind = draw(p, 20);

    p->size = 0;
    p->habit = (uint64_t)draw(p, UINT32_MAX) << 32 | draw(p, UINT32_MAX);
    p->language = (enum language)draw(p, LANGUAGES);
    if (kind < 6) write_date(p);
    else if (kind < 13) write_time(p);
    else write_amount(p);
    scribble(p);
}

static bool print_lines(struct job *job, int split, const struct phrase *p)
{
    job->written[split]++;
    return fprintf(job->source[split], "%s\n", p->text) > 0 && fprintf(job->target[split], "%s\n", p->target) > 0;
}

/* The first split with lines missing. */
static int not_full(const struct job *job)
{
    int split = 0;

    while (job->written[split] == job->wanted[split]) split++;
    return split;
}

/* Draws phrases until each file is full. False: cannot write, or the grammar has no more new lines. */
static bool write_all(struct job *job)
{
    struct phrase p = {.state = job->seed};
    uint64_t missing = job->wanted[TRAIN] + job->wanted[VALID] + job->wanted[TEST], in_vain = 0;

    while (missing) {
        write_phrase(&p);
        const int split = split_of(p.target);
        if (job->written[split] == job->wanted[split] || !seen_add(&job->seen, &p)) {
            if (++in_vain < 10000000) continue;
            const int short_one = not_full(job);
            fprintf(stderr, "make_corpus: %llu lines of %s are more than the grammar has\n",
                    (unsigned long long)job->wanted[short_one], split_names[short_one]);
            return false;
        }
        in_vain = 0;
        missing--;
        if (!print_lines(job, split, &p)) return false;
    }
    return true;
}

static FILE *open_file(const struct job *job, const char *name, const char *ending)
{
    char path[4096];
    FILE *file = NULL;

    if (snprintf(path, sizeof path, "%s/%s.%s", job->folder, name, ending) >= (int)sizeof path) errno = ENAMETOOLONG;
    else file = fopen(path, "w");
    if (!file) fprintf(stderr, "make_corpus: cannot write %s: %s\n", path, strerror(errno));
    return file;
}

static bool open_all(struct job *job)
{
    bool good = true;

    if (mkdir(job->folder, 0777) && errno != EEXIST) {
        fprintf(stderr, "make_corpus: cannot make the folder %s: %s\n", job->folder, strerror(errno));
        return false;
    }
    for (int i = 0; good && i < SPLITS; i++) {
        job->source[i] = open_file(job, split_names[i], "src");
        job->target[i] = job->source[i] ? open_file(job, split_names[i], "tgt") : NULL;
        good = job->target[i];
    }
    return good;
}

/* False when a file did not reach the disk. */
static bool close_all(struct job *job)
{
    bool good = true;

    for (int i = 0; i < SPLITS; i++) {
        if (job->source[i] && fclose(job->source[i])) good = false;
        if (job->target[i] && fclose(job->target[i])) good = false;
    }
    free(job->seen.entries);
    return good;
}

static int run(struct job *job)
{
    if (!seen_init(&job->seen, job->wanted[TRAIN] + job->wanted[VALID] + job->wanted[TEST])) {
        fprintf(stderr, "make_corpus: no memory for %llu lines\n",
                (unsigned long long)(job->wanted[TRAIN] + job->wanted[VALID] + job->wanted[TEST]));
        return 1;
    }
    bool good = open_all(job) && write_all(job);
    if (!close_all(job)) {
        fprintf(stderr, "make_corpus: cannot write to %s: %s\n", job->folder, strerror(errno));
        good = false;
    }
    return good ? 0 : 1;
}

static void spell(uint32_t n)
{
    static const char *const names[LANGUAGES] = {"English", "German", "French"};

    for (int i = 0; i < LANGUAGES; i++) {
        struct phrase p = {.language = (enum language)i, .habit = 0};
        add_number(&p, n, ALONE);
        printf("%s\t%s", names[i], p.text);
        p.size = 0;
        if (n >= 1900 && n < 2100) add_year(&p, n);
        printf("%s%s\n", p.size ? "\t" : "", p.size ? p.text : "");
    }
}

/* A decimal number up to limit, or a message and exit code 2. */
static uint64_t number(const char *option, const char *text, uint64_t limit)
{
    char *end;

    errno = 0;
    const unsigned long long n = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || n > limit) {
        fprintf(stderr, "make_corpus: --%s is %s, not a number in 0..%llu\n", option, text, (unsigned long long)limit);
        exit(2);
    }
    return n;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"train", 1, NULL, TRAIN}, {"valid", 1, NULL, VALID}, {"test", 1, NULL, TEST}, {"seed", 1, NULL, 's'},
        {"spell", 1, NULL, 'w'},   {"help", 0, NULL, 'h'},    {NULL, 0, NULL, 0}};
    struct job job = {.seed = 1, .wanted = {200000, 1000, 2000}};

    for (int c, i; (c = getopt_long(argc, argv, "", options, &i)) != -1;) {
        if (c < SPLITS) job.wanted[c] = number(options[i].name, optarg, 100000000);
        else if (c == 's') job.seed = number("seed", optarg, UINT64_MAX);
        else if (c == 'w') spell((uint32_t)number("spell", optarg, 999999999));
        else if (c == 'h') fputs(help, stdout);
        if (c == 'w' || c == 'h') return 0;
        if (c == '?') return 2;
    }
    if (optind != argc - 1) {
        fputs(help, stderr);
        return 2;
    }
    job.folder = argv[optind];
    return run(&job);
}
