/* Makes a tokenizer of a corpus: words, characters, merges, vocabulary, in that order. */
#include "text/tokenizer_learn.h"

#include "text/bpe_codes.h"
#include "text/bpe_learn.h"
#include "text/counts.h"
#include "text/wordpiece.h"

#include <stdarg.h>
#include <stdio.h>

static tfm_status no_memory(const tfm_counts *words, tfm_error *error)
{
    return tfm_fail(error, TFM_E_NOMEM, "no memory to learn from %u distinct words", words->strings.n);
}

__attribute__((format(printf, 2, 3))) static void warn(const tfm_tokenizer_options *options, const char *format, ...)
{
    char message[200];
    va_list args;

    if (!options->log) return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    options->log(options->log_user, TFM_LOG_WARNING, message);
}

/* --------------------------------------------------------------------------------------------- characters ------ */

/* Calls add for each character of the words, which are valid UTF-8; last: it ends its word. */
typedef bool (*character_fn)(void *user, tfm_text character, bool last, uint64_t count);

static bool each_character(const tfm_counts *words, character_fn add, void *user)
{
    for (uint32_t i = 0; i < words->strings.n; i++) {
        tfm_text rest = tfm_vocab_text(&words->strings, i);
        while (rest.size) {
            uint32_t code;
            const size_t size = (size_t)tfm_utf8_read(rest, &code);
            if (!add(user, (tfm_text){rest.data, size}, size == rest.size, words->counts[i])) return false;
            rest = tfm_text_from(rest, size);
        }
    }
    return true;
}

static bool count_character(void *user, tfm_text character, bool last, uint64_t count)
{
    const tfm_text space = tfm_text_of(TFM_TOKENIZER_SPACE);

    (void)last;
    return tfm_counts_add(user, *character.data == ' ' ? space : character, (tfm_text){0}, count);
}

static bool add_piece(void *user, tfm_text character, bool last, uint64_t count)
{
    uint32_t id;

    (void)count;
    return tfm_vocab_add(user, character, last ? tfm_text_of("</w>") : (tfm_text){0}, &id);
}

/* ------------------------------------------------------------------------------------------------- tokens ------ */

/* Adds what was counted to the vocabulary, most frequent first, up to limit tokens. */
static tfm_status add_counted(tfm_tokenizer *t, const tfm_counts *counts, uint32_t limit, tfm_error *error)
{
    const tfm_allocator *a = &counts->strings.allocator;
    tfm_counted *sorted = tfm_counts_sorted(counts);
    tfm_status status = sorted ? TFM_OK : no_memory(counts, error);

    for (uint32_t i = 0; status == TFM_OK && i < counts->strings.n && t->vocab.n < limit; i++)
        if (tfm_vocab_find(&t->vocab, sorted[i].text, (tfm_text){0}) == TFM_VOCAB_NONE) /* a word may read "<pad>" */
            status = tfm_tokenizer_add_token(t, sorted[i].text, error);
    tfm_free(a, sorted, counts->strings.n, sizeof *sorted);
    return status;
}

static tfm_status add_characters(tfm_tokenizer *t, const tfm_counts *words, uint32_t limit, tfm_error *error)
{
    tfm_counts characters;

    tfm_counts_init(&characters, &t->allocator);
    const tfm_status status = each_character(words, count_character, &characters)
                                  ? add_counted(t, &characters, limit, error)
                                  : no_memory(words, error);
    tfm_counts_free(&characters);
    return status;
}

typedef struct token_counter {
    tfm_counts counts;
    uint64_t times; /* the word at hand was seen */
    bool bad;
} token_counter;

static void count_token(void *user, const tfm_token *token)
{
    token_counter *c = user;

    if (!c->bad && !tfm_counts_add(&c->counts, token->text, token->mark, c->times)) c->bad = true;
}

/* The tokens that the merges leave in the words. */
static tfm_status add_tokens(tfm_tokenizer *t, const tfm_counts *words, tfm_error *error)
{
    token_counter counter = {.bad = false};
    tfm_status status = TFM_OK;
    tfm_bpe_work work;

    tfm_counts_init(&counter.counts, &t->allocator);
    tfm_bpe_work_init(&work, &t->allocator);
    for (uint32_t i = 0; status == TFM_OK && !counter.bad && i < words->strings.n; i++) {
        counter.times = words->counts[i];
        status = tfm_tokenizer_cut_word(t, tfm_vocab_text(&words->strings, i), &work, count_token, &counter, error);
    }
    if (counter.bad) status = no_memory(words, error);
    if (status == TFM_OK) status = add_counted(t, &counter.counts, UINT32_MAX, error);
    tfm_bpe_work_free(&work);
    tfm_counts_free(&counter.counts);
    return status;
}

/* ------------------------------------------------------------------------------------------------- merges ------ */

/* Adds a spelt word; what lies between characters without a symbol counts as words. */
static bool add_parts(tfm_bpe_corpus *corpus, uint32_t *symbols, const tfm_bpe_work *work, size_t n, uint64_t count)
{
    size_t run = 0;

    for (size_t i = 0; i <= n; i++) {
        if (i < n && work->parts[i].symbol != TFM_BPE_NONE) {
            symbols[run++] = work->parts[i].symbol;
            continue;
        }
        if (!tfm_bpe_corpus_add(corpus, symbols, run, count)) return false;
        run = 0;
    }
    return true;
}

static tfm_status spell_words(tfm_bpe_corpus *corpus, const tfm_tokenizer *t, const tfm_counts *words, tfm_error *error)
{
    uint32_t *symbols = NULL;
    size_t capacity = 0, n;
    tfm_status status = TFM_OK;
    tfm_bpe_work work;

    tfm_bpe_work_init(&work, &t->allocator);
    for (uint32_t i = 0; status == TFM_OK && i < words->strings.n; i++) {
        status = tfm_tokenizer_spell(t, tfm_vocab_text(&words->strings, i), &work, &n, error);
        if (status == TFM_OK && (!tfm_grow(&t->allocator, &symbols, &capacity, n, sizeof *symbols) ||
                                 !add_parts(corpus, symbols, &work, n, words->counts[i])))
            status = no_memory(words, error);
    }
    tfm_free(&t->allocator, symbols, capacity, sizeof *symbols);
    tfm_bpe_work_free(&work);
    return status;
}

static tfm_status add_merges(tfm_tokenizer *t, tfm_vocab *pieces, const tfm_counts *words, const tfm_bpe_limits *limits,
                             tfm_error *error)
{
    tfm_bpe_corpus corpus = {.allocator = t->allocator};
    tfm_status status = spell_words(&corpus, t, words, error);

    if (status == TFM_OK && !tfm_bpe_learn(&t->bpe, pieces, &corpus, limits)) status = no_memory(words, error);
    tfm_bpe_corpus_free(&corpus);
    return status;
}

/* Fewer than asked for: an error or a warning, as the options say. */
static tfm_status ran_out(const tfm_tokenizer_options *o, const char *what, size_t got, uint32_t wanted, const char *of,
                          uint32_t times, tfm_error *error)
{
    if (o->strict_size)
        return tfm_fail(error, TFM_E_INVALID, "%s is %u, but the text supports only %zu: no further %s occurs %u times",
                        what, wanted, got, of, times);
    warn(o, "%s is %zu, %u were asked for: no %s is left that occurs %u times", what, got, wanted, of, times);
    return TFM_OK;
}

static tfm_status learn_reversible(tfm_tokenizer *t, const tfm_tokenizer_options *options, const tfm_counts *words,
                                   tfm_error *error)
{
    const tfm_bpe_limits limits = {SIZE_MAX, options->vocab_size, options->min_frequency};
    tfm_status status = add_characters(t, words, options->vocab_size, error);

    if (status == TFM_OK) status = add_merges(t, &t->vocab, words, &limits, error);
    if (status == TFM_OK && t->vocab.n < options->vocab_size)
        status = ran_out(options, "vocab_size", t->vocab.n, options->vocab_size, "pair", options->min_frequency, error);
    return status;
}

static tfm_status learn_wordpieces(tfm_tokenizer *t, const tfm_tokenizer_options *options, const tfm_counts *words,
                                   tfm_error *error)
{
    bool few;
    const tfm_status status = tfm_wordpiece_learn(t, words, options->vocab_size, &few, error);

    if (status != TFM_OK || !few) return status;
    return ran_out(options, "vocab_size", t->vocab.n, options->vocab_size, "piece", 1, error);
}

static tfm_status learn_subword(tfm_tokenizer *t, const tfm_tokenizer_options *options, const tfm_counts *words,
                                tfm_error *error)
{
    const tfm_bpe_limits limits = {options->merges, UINT32_MAX, options->min_frequency};
    tfm_status status = each_character(words, add_piece, &t->pieces) ? TFM_OK : no_memory(words, error);

    if (status == TFM_OK) status = add_merges(t, &t->pieces, words, &limits, error);
    if (status == TFM_OK && t->bpe.n < options->merges)
        status = ran_out(options, "merges", t->bpe.n, options->merges, "pair", options->min_frequency, error);
    return status == TFM_OK ? add_tokens(t, words, error) : status;
}

/* -------------------------------------------------------------------------------------------------- whole ------ */

/* codes.data NULL: learn the merges. */
static tfm_status build(tfm_tokenizer *t, const tfm_tokenizer_options *options, tfm_text codes, const tfm_text *lines,
                        size_t n_lines, tfm_error *error)
{
    tfm_status status = codes.data ? tfm_bpe_codes_read(t, codes, error) : TFM_OK;
    tfm_counts words;

    if (status != TFM_OK) return status;
    tfm_counts_init(&words, &t->allocator);
    status = tfm_counts_add_lines(&words, t->kind, lines, n_lines, options->replace_invalid, error);
    if (status == TFM_OK && !words.strings.n)
        status = tfm_fail(error, TFM_E_INVALID, "no text: there is no word in the %zu lines", n_lines);
    if (status == TFM_OK) {
        if (codes.data) status = add_tokens(t, &words, error);
        else if (t->kind == TFM_TOKENIZER_WORDPIECE) status = learn_wordpieces(t, options, &words, error);
        else if (t->kind == TFM_TOKENIZER_BPE) status = learn_reversible(t, options, &words, error);
        else status = learn_subword(t, options, &words, error);
    }
    tfm_counts_free(&words);
    return status;
}

static tfm_status make(tfm_tokenizer **out, const tfm_tokenizer_options *options, tfm_text codes, const tfm_text *lines,
                       size_t n_lines, tfm_error *error)
{
    tfm_status status = tfm_tokenizer_new(out, options->kind, options->allocator, error);

    if (status == TFM_OK) status = build(*out, options, codes, lines, n_lines, error);
    if (status == TFM_OK) return TFM_OK;
    tfm_tokenizer_destroy(*out);
    *out = NULL;
    return status;
}

tfm_status tfm_tokenizer_from_lines(tfm_tokenizer **out, const tfm_tokenizer_options *options, const tfm_text *lines,
                                    size_t n_lines, tfm_error *error)
{
    return make(out, options, (tfm_text){0}, lines, n_lines, error);
}

tfm_status tfm_tokenizer_from_codes(tfm_tokenizer **out, tfm_text codes, const tfm_text *lines, size_t n_lines,
                                    const tfm_allocator *allocator, tfm_error *error)
{
    const tfm_tokenizer_options options = {.kind = TFM_TOKENIZER_SUBWORD_NMT, .allocator = allocator};

    return make(out, &options, codes, lines, n_lines, error);
}
