/* Learning the subwords of tensor2tensor: substrings of words that occur often, longer ones first. */
#include "text/wordpiece.h"

#include <stdlib.h>

enum { PASSES = 4, MOST_COUNT = 1000 };
enum { LONGEST = 255 }; /* bytes of a token: without a bound the substrings of a long word take memory by its cube */

static const tfm_text nothing;
static const char escapes[] = "\\_u;0123456789";

/* What all attempts share, and the one at hand. */
typedef struct learner {
    tfm_allocator allocator;
    const tfm_counts *words;
    tfm_vocab alphabet;
    tfm_vocab tokens; /* with the reserved ones in front, but for the first pass */
    size_t longest;   /* bytes */
    tfm_counts seen;  /* substrings that begin where a token does */
    uint64_t times;   /* the word at hand was seen */
    size_t left;      /* bytes of it from the token at hand on */
    bool bad;
} learner;

static bool add_characters(tfm_vocab *alphabet, tfm_text text)
{
    uint32_t id, code;

    while (text.size) {
        const size_t size = (size_t)tfm_utf8_read(text, &code);
        if (!tfm_vocab_add(alphabet, (tfm_text){text.data, size}, nothing, &id)) return false;
        text = tfm_text_from(text, size);
    }
    return true;
}

static bool find_alphabet(learner *l)
{
    bool good =
        add_characters(&l->alphabet, tfm_text_of("<pad><EOS>")) && add_characters(&l->alphabet, tfm_text_of(escapes));

    for (uint32_t i = 0; good && i < l->words->strings.n; i++)
        good = add_characters(&l->alphabet, tfm_vocab_text(&l->words->strings, i));
    return good;
}

static bool add_token(learner *l, tfm_text token)
{
    uint32_t id;

    if (token.size > l->longest) l->longest = token.size;
    return tfm_vocab_add(&l->tokens, token, nothing, &id);
}

static void clear_tokens(learner *l)
{
    tfm_vocab_free(&l->tokens);
    tfm_vocab_init(&l->tokens, &l->allocator);
    l->longest = 0;
}

/* ------------------------------------------------------------------------------------------------ one pass ------ */

static bool add_seen(learner *l, tfm_text text)
{
    return tfm_counts_add(&l->seen, text, nothing, l->times);
}

/* All beginnings of what is left of the word, from the token on that starts there. */
static void see_token(void *user, const tfm_token *token)
{
    learner *l = user;
    const tfm_text rest = {token->text.data, l->left};

    for (size_t size = 1; !l->bad && size <= rest.size && size <= LONGEST; size++)
        if (size == rest.size || (rest.data[size] & 0xC0) != 0x80) l->bad = !add_seen(l, (tfm_text){rest.data, size});
    l->left -= token->text.size;
}

static void measure_token(void *user, const tfm_token *token)
{
    learner *l = user;

    l->left += token->text.size;
}

static bool see_words(learner *l)
{
    const tfm_wordpiece w = {&l->tokens, NULL, l->longest, 0};
    tfm_status status = TFM_OK;

    for (uint32_t i = 0; status == TFM_OK && !l->bad && i < l->words->strings.n; i++) {
        const tfm_text word = tfm_vocab_text(&l->words->strings, i);
        l->left = 0;
        l->times = l->words->counts[i];
        status = tfm_wordpiece_cut(&w, word, measure_token, l, NULL);
        if (status == TFM_OK) status = tfm_wordpiece_cut(&w, word, see_token, l, NULL);
    }
    return status == TFM_OK && !l->bad;
}

static int longer_first(const void *a, const void *b)
{
    const tfm_counted *x = a, *y = b;
    const size_t n = tfm_utf8_length(x->text), m = tfm_utf8_length(y->text);

    return n != m ? (n < m) - (n > m) : tfm_text_compare(x->text, y->text);
}

static int often_first(const void *a, const void *b)
{
    const tfm_counted *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : tfm_text_compare(y->text, x->text);
}

/* What a longer token takes from its beginnings is no longer theirs. */
static void take_from_beginnings(learner *l, tfm_text text, uint64_t count)
{
    for (size_t size = 1; size < text.size; size++) {
        const uint32_t id = (text.data[size] & 0xC0) == 0x80
                                ? TFM_VOCAB_NONE
                                : tfm_vocab_find(&l->seen.strings, (tfm_text){text.data, size}, nothing);
        if (id != TFM_VOCAB_NONE) l->seen.counts[id] -= count;
    }
}

/* Keeps the substrings that are still seen often enough when the longer ones have had theirs, and the whole alphabet.
 */
static size_t choose(learner *l, tfm_counted *sorted, uint64_t least)
{
    size_t n = 0;

    for (uint32_t i = 0; i < l->seen.strings.n; i++)
        if (l->seen.counts[i] >= least)
            sorted[n++] = (tfm_counted){tfm_vocab_text(&l->seen.strings, i), l->seen.counts[i]};
    qsort(sorted, n, sizeof *sorted, longer_first);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const tfm_text text = sorted[i].text;
        const uint64_t count = l->seen.counts[tfm_vocab_find(&l->seen.strings, text, nothing)];
        if (count < least) continue;
        if (tfm_vocab_find(&l->alphabet, text, nothing) == TFM_VOCAB_NONE) sorted[kept++] = (tfm_counted){text, count};
        take_from_beginnings(l, text, count);
    }
    for (uint32_t i = 0; i < l->alphabet.n; i++) {
        const tfm_text text = tfm_vocab_text(&l->alphabet, i);
        const uint32_t id = tfm_vocab_find(&l->seen.strings, text, nothing);
        sorted[kept++] = (tfm_counted){text, id == TFM_VOCAB_NONE ? 0 : l->seen.counts[id]};
    }
    qsort(sorted, kept, sizeof *sorted, often_first);
    return kept;
}

static bool pass(learner *l, uint64_t least)
{
    tfm_counted *sorted = NULL;
    size_t room = 0;

    tfm_counts_init(&l->seen, &l->allocator);
    bool good = see_words(l);
    if (good) {
        room = (size_t)l->seen.strings.n + l->alphabet.n;
        sorted = tfm_alloc_unset(&l->allocator, room, sizeof *sorted);
        good = sorted != NULL;
    }
    if (good) {
        const size_t n = choose(l, sorted, least);
        clear_tokens(l);
        good = add_token(l, tfm_text_of("<pad>_")) && add_token(l, tfm_text_of("<EOS>_"));
        for (size_t i = 0; good && i < n; i++) good = add_token(l, sorted[i].text);
    }
    tfm_free(&l->allocator, sorted, room, sizeof *sorted);
    tfm_counts_free(&l->seen);
    return good;
}

/* ------------------------------------------------------------------------------------------------ bisection ----- */

static bool build(learner *l, uint64_t least)
{
    bool good = true;

    clear_tokens(l);
    for (uint32_t i = 0; good && i < l->alphabet.n; i++) good = add_token(l, tfm_vocab_text(&l->alphabet, i));
    for (int i = 0; good && i < PASSES; i++) good = pass(l, least);
    return good;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

/* Within a hundredth. */
static bool is_near(uint32_t n, uint32_t target)
{
    return (uint64_t)distance(n, target) * 100 < target;
}

/* The least count whose tokens come nearest to target, of those that bisection tries; of equals the first. 0: no
 * memory. */
static uint64_t find_least(learner *l, uint32_t target)
{
    uint64_t low = 1, high = MOST_COUNT, best = 0;
    uint32_t nearest = UINT32_MAX;

    for (;;) {
        const uint64_t least = (low + high) / 2;
        if (!build(l, least)) return 0;
        const uint32_t n = l->tokens.n, far = distance(n, target);
        if (far < nearest) best = least, nearest = far;
        if (is_near(n, target) || low >= high || least < 2) return best;
        if (n > target) low = least + 1;
        else high = least - 1;
    }
}

tfm_status tfm_wordpiece_learn(tfm_tokenizer *tokenizer, const tfm_counts *words, uint32_t target, bool *few,
                               tfm_error *error)
{
    learner l = {.allocator = tokenizer->allocator, .words = words};
    tfm_status status = TFM_OK;

    tfm_vocab_init(&l.alphabet, &l.allocator);
    tfm_vocab_init(&l.tokens, &l.allocator);
    const uint64_t least = find_alphabet(&l) ? find_least(&l, target) : 0;
    if (!least || !build(&l, least))
        status = tfm_fail(error, TFM_E_NOMEM, "no memory to learn from %u distinct words", words->strings.n);
    for (uint32_t i = 0; status == TFM_OK && i < l.tokens.n; i++)
        status = tfm_tokenizer_add_token(tokenizer, tfm_vocab_text(&l.tokens, i), error);
    *few = least == 1 && l.tokens.n < target && !is_near(l.tokens.n, target);
    tfm_vocab_free(&l.tokens);
    tfm_vocab_free(&l.alphabet);
    return status;
}
