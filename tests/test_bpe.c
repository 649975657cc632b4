/* Merging and learning against the plainest algorithms there are; words; the tables underneath. */
#include "text/bpe.h"
#include "text/bpe_learn.h"
#include "text/words.h"

#include "testing.h"

enum { MOST = 64 }; /* symbols of a word here */

static uint32_t next_random(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static const tfm_text nothing;

static tfm_allocator plain(void)
{
    return tfm_allocator_or_default(NULL);
}

/* ---------------------------------------------------------------------------------------------------- apply ---- */

/* As the definition says: again and again the earliest merge that occurs, from left to right. */
static size_t merge_naively(const tfm_bpe *bpe, uint32_t *s, size_t n)
{
    for (size_t rank = 0; rank < bpe->n; rank++) {
        const tfm_merge m = bpe->merges[rank];
        size_t left = 0;
        for (size_t i = 0; i < n; left++) {
            const bool here = i + 1 < n && s[i] == m.left && s[i + 1] == m.right;
            s[left] = here ? m.result : s[i];
            i += here ? 2 : 1;
        }
        if (left < n) rank = SIZE_MAX; /* from the first merge on */
        n = left;
    }
    return n;
}

static void fill(tfm_bpe_work *work, const uint32_t *symbols, size_t n)
{
    ck_assert(tfm_bpe_work_reserve(work, n));
    for (size_t i = 0; i < n; i++) work->parts[i] = (tfm_bpe_part){symbols[i], (uint32_t)i};
}

/* Any merges, also such as no learner makes: later ones may bring earlier ones about. */
START_TEST(apply_is_the_definition)
{
    const tfm_allocator a = plain();
    uint32_t state = 7, s[MOST];
    tfm_bpe_work work;

    tfm_bpe_work_init(&work, &a);
    for (int round = 0; round < 3000; round++) {
        const uint32_t n_merges = 1 + next_random(&state, 12), kinds = 1 + next_random(&state, 4);
        const size_t n = 1 + next_random(&state, MOST);
        tfm_bpe bpe;
        tfm_bpe_init(&bpe, &a);
        for (uint32_t i = 0; i < n_merges; i++) {
            /* results only grow, so that merging ends; ranks are in no order */
            const uint32_t left = next_random(&state, 8), right = next_random(&state, 8);
            ck_assert(tfm_bpe_add(&bpe, (tfm_merge){left, right, left > right ? left + 1 : right + 1}));
        }
        for (size_t i = 0; i < n; i++) s[i] = next_random(&state, kinds);
        fill(&work, s, n);
        const size_t got = tfm_bpe_apply(&bpe, &work, n);
        ck_assert_uint_eq(got, merge_naively(&bpe, s, n));
        bool same = true;
        for (size_t i = 0; i < got; i++) same &= work.parts[i].symbol == s[i];
        ck_assert(same);
        tfm_bpe_free(&bpe);
    }
    tfm_bpe_work_free(&work);
}
END_TEST

START_TEST(parts_keep_their_places)
{
    const tfm_allocator a = plain();
    const uint32_t word[] = {1, 1, 1, TFM_BPE_NONE, 1, 1, 2};
    tfm_bpe_work work;
    tfm_bpe bpe;

    tfm_bpe_init(&bpe, &a);
    tfm_bpe_work_init(&work, &a);
    ck_assert(tfm_bpe_add(&bpe, (tfm_merge){1, 1, 9}));
    ck_assert(tfm_bpe_add(&bpe, (tfm_merge){1, 2, 8}));
    ck_assert(tfm_bpe_add(&bpe, (tfm_merge){1, 1, 7})); /* the first merge of a pair is the one */
    fill(&work, word, 7);
    ck_assert_uint_eq(tfm_bpe_apply(&bpe, &work, 7), 5);
    const tfm_bpe_part want[] = {{9, 0}, {1, 2}, {TFM_BPE_NONE, 3}, {9, 4}, {2, 6}};
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(work.parts[i].symbol, want[i].symbol);
        ck_assert_uint_eq(work.parts[i].start, want[i].start);
    }
    tfm_bpe_work_free(&work);
    tfm_bpe_free(&bpe);
}
END_TEST

/* Doubling merges on half a million equal symbols: what is quadratic, or recursive, does not come back from this. */
START_TEST(a_huge_word_is_only_long)
{
    enum { N = 1 << 19 };
    const tfm_allocator a = plain();
    uint32_t *s = calloc(N, sizeof *s);
    tfm_bpe_work work;
    tfm_bpe bpe;

    ck_assert_ptr_nonnull(s);
    tfm_bpe_init(&bpe, &a);
    tfm_bpe_work_init(&work, &a);
    for (uint32_t i = 0; i < 19; i++) ck_assert(tfm_bpe_add(&bpe, (tfm_merge){i, i, i + 1}));
    fill(&work, s, N);
    ck_assert_uint_eq(tfm_bpe_apply(&bpe, &work, N), 1);
    ck_assert_uint_eq(work.parts[0].symbol, 19);
    tfm_bpe_work_free(&work);
    tfm_bpe_free(&bpe);
    free(s);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- learn ---- */

enum { WORDS = 12, LETTERS = 4 };

typedef struct sample {
    uint32_t words[WORDS][MOST];
    size_t lengths[WORDS];
    uint64_t counts[WORDS];
    size_t n;
} sample;

/* Letters out of few, and repeats, so that pairs overlap and ties abound. */
static sample random_sample(uint32_t *state)
{
    sample c = {.n = 1 + next_random(state, WORDS)};
    const uint32_t letters = 1 + next_random(state, LETTERS);

    for (size_t w = 0; w < c.n; w++) {
        c.lengths[w] = 1 + next_random(state, MOST / 2);
        c.counts[w] = 1 + next_random(state, 3);
        for (size_t i = 0; i < c.lengths[w]; i++)
            c.words[w][i] = i && !next_random(state, 3) ? c.words[w][i - 1] : next_random(state, letters);
    }
    return c;
}

static void add_letters(tfm_vocab *strings)
{
    uint32_t id;

    for (int i = 0; i < LETTERS; i++) ck_assert(tfm_vocab_add(strings, (tfm_text){&"bcad"[i], 1}, nothing, &id));
}

static uint64_t count_pair(const sample *c, uint32_t left, uint32_t right)
{
    uint64_t count = 0;

    for (size_t w = 0; w < c->n; w++)
        for (size_t i = 0; i + 1 < c->lengths[w]; i++)
            if (c->words[w][i] == left && c->words[w][i + 1] == right) count += c->counts[w];
    return count;
}

/* Counts all pairs anew for each merge. Returns the count of the best one. */
static uint64_t best_naively(const sample *c, const tfm_vocab *strings, tfm_merge *best)
{
    uint64_t most = 0;

    for (uint32_t l = 0; l < strings->n; l++) {
        for (uint32_t r = 0; r < strings->n; r++) {
            const uint64_t count = count_pair(c, l, r);
            int order = 0;
            if (count && count == most) {
                order = tfm_text_compare(tfm_vocab_text(strings, l), tfm_vocab_text(strings, best->left));
                if (!order) order = tfm_text_compare(tfm_vocab_text(strings, r), tfm_vocab_text(strings, best->right));
            }
            if (count < most || (count == most && order <= 0)) continue;
            most = count;
            *best = (tfm_merge){l, r, 0};
        }
    }
    return most;
}

static size_t learn_naively(sample *c, tfm_vocab *strings, tfm_merge *merges, size_t limit)
{
    size_t n = 0;

    for (; n < limit; n++) {
        tfm_merge m;
        tfm_bpe one;
        if (best_naively(c, strings, &m) < 2) break;
        ck_assert(tfm_vocab_join(strings, m.left, m.right, &m.result));
        const tfm_allocator a = plain();
        tfm_bpe_init(&one, &a);
        ck_assert(tfm_bpe_add(&one, m));
        for (size_t w = 0; w < c->n; w++) c->lengths[w] = merge_naively(&one, c->words[w], c->lengths[w]);
        tfm_bpe_free(&one);
        merges[n] = m;
    }
    return n;
}

START_TEST(learning_is_the_definition)
{
    enum { LIMIT = 20 };
    const tfm_allocator a = plain();
    const tfm_bpe_limits limits = {LIMIT, UINT32_MAX, 2};
    uint32_t state = 11;

    for (int round = 0; round < 150; round++) {
        sample c = random_sample(&state);
        tfm_bpe_corpus corpus = {.allocator = a};
        tfm_vocab strings, naive;
        tfm_merge want[LIMIT];
        tfm_bpe bpe;
        tfm_bpe_init(&bpe, &a);
        tfm_vocab_init(&strings, &a);
        tfm_vocab_init(&naive, &a);
        add_letters(&strings);
        add_letters(&naive);
        for (size_t w = 0; w < c.n; w++) ck_assert(tfm_bpe_corpus_add(&corpus, c.words[w], c.lengths[w], c.counts[w]));
        ck_assert(tfm_bpe_learn(&bpe, &strings, &corpus, &limits));
        ck_assert_uint_eq(bpe.n, learn_naively(&c, &naive, want, LIMIT));
        for (size_t i = 0; i < bpe.n; i++) ck_assert_mem_eq(&bpe.merges[i], &want[i], sizeof *want);
        tfm_bpe_corpus_free(&corpus);
        tfm_vocab_free(&strings);
        tfm_vocab_free(&naive);
        tfm_bpe_free(&bpe);
    }
}
END_TEST

/* Learns from "bcbcbcbc" seen once and returns how many merges there are. */
static size_t merges_within(tfm_bpe_limits limits)
{
    const tfm_allocator a = plain();
    const uint32_t word[] = {0, 1, 0, 1, 0, 1, 0, 1};
    tfm_bpe_corpus corpus = {.allocator = a};
    tfm_vocab strings;
    tfm_bpe bpe;

    tfm_bpe_init(&bpe, &a);
    tfm_vocab_init(&strings, &a);
    add_letters(&strings);
    ck_assert(tfm_bpe_corpus_add(&corpus, word, 8, 1));
    ck_assert(tfm_bpe_learn(&bpe, &strings, &corpus, &limits));
    const size_t n = bpe.n;
    tfm_bpe_corpus_free(&corpus);
    tfm_vocab_free(&strings);
    tfm_bpe_free(&bpe);
    return n;
}

START_TEST(learning_stops_at_its_limits)
{
    ck_assert_uint_eq(merges_within((tfm_bpe_limits){99, 99, 1}), 3); /* bc bcbc bcbcbcbc              */
    ck_assert_uint_eq(merges_within((tfm_bpe_limits){99, 99, 2}), 2); /* bcbc bcbc is seen once        */
    ck_assert_uint_eq(merges_within((tfm_bpe_limits){99, 99, 4}), 1);
    ck_assert_uint_eq(merges_within((tfm_bpe_limits){99, 99, 5}), 0);
    ck_assert_uint_eq(merges_within((tfm_bpe_limits){1, 99, 1}), 1);
    ck_assert_uint_eq(merges_within((tfm_bpe_limits){99, LETTERS + 2, 1}), 2);
    ck_assert_uint_eq(merges_within((tfm_bpe_limits){99, LETTERS, 1}), 0);
}
END_TEST

/* --------------------------------------------------------------------------------------------------- tables ---- */

START_TEST(strings_are_numbered_once)
{
    enum { N = 5000 };
    const tfm_allocator a = plain();
    char name[16];
    tfm_vocab vocab, copy;
    bool good = true;
    uint32_t id;

    tfm_vocab_init(&vocab, &a);
    tfm_vocab_init(&copy, &a);
    ck_assert(tfm_vocab_find(&vocab, nothing, nothing) == TFM_VOCAB_NONE);
    for (int again = 0; again < 2; again++) {
        for (uint32_t i = 0; i < N; i++) {
            const size_t size = (size_t)snprintf(name, sizeof name, "%u", i), cut = i % (size + 1);
            good &= tfm_vocab_add(&vocab, (tfm_text){name, cut}, (tfm_text){name + cut, size - cut}, &id) && id == i;
        }
    }
    ck_assert(good);
    ck_assert_uint_eq(vocab.n, N);
    ck_assert(tfm_vocab_copy(&copy, &vocab));
    ck_assert_uint_eq(tfm_vocab_find(&copy, tfm_text_of("49"), tfm_text_of("99")), 4999);
    ck_assert(tfm_vocab_find(&copy, tfm_text_of("50"), tfm_text_of("00")) == TFM_VOCAB_NONE);
    ck_assert(tfm_vocab_join(&copy, 49, 999, &id));
    ck_assert(tfm_text_equal(tfm_vocab_text(&copy, id), tfm_text_of("49999")));
    tfm_vocab_free(&vocab);
    tfm_vocab_free(&copy);
}
END_TEST

START_TEST(pairs_have_one_value)
{
    enum { N = 100 };
    tfm_pairs pairs = {.allocator = plain()};
    bool good = true;

    for (uint32_t i = 0; i < N * N; i++) good &= tfm_pairs_put(&pairs, i / N, i % N, i);
    for (uint32_t i = 0; i < N * N; i++) good &= tfm_pairs_put(&pairs, i / N, i % N, 0);
    for (uint32_t i = 0; i < N * N; i++) good &= tfm_pairs_find(&pairs, i / N, i % N) == i;
    ck_assert(good);
    ck_assert(tfm_pairs_find(&pairs, N, 0) == TFM_PAIRS_NONE);
    tfm_pairs_free(&pairs);
}
END_TEST

static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;

    for (int i = 0; i < 6; i++) x *= 2 - odd * x;
    return x;
}

/* Strings and pairs whose places would have the same lowest bits, if the hashes had no seed. */
enum { MEANT_TO_COLLIDE = 500, LOW_BITS = 0x3FF, LONGEST_RUN = 100 };

START_TEST(no_pairs_all_go_to_one_place)
{
    tfm_pairs pairs = {.allocator = plain()};
    size_t run = 0, longest = 0;

    for (uint64_t i = 1; i <= MEANT_TO_COLLIDE; i++) {
        uint64_t x = i << 20;
        x = (x ^ x >> 32) * inverse(0xD6E8FEB86659FD93u);
        x = (x ^ x >> 32) * inverse(0x9E3779B97F4A7C15u);
        ck_assert(tfm_pairs_put(&pairs, (uint32_t)(x >> 32), (uint32_t)x, 7));
    }
    ck_assert_uint_eq(pairs.n, MEANT_TO_COLLIDE);
    for (size_t i = 0; i < pairs.n_slots; i++) {
        run = pairs.slots[i].value ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    ck_assert_uint_lt(longest, LONGEST_RUN);
    tfm_pairs_free(&pairs);
}
END_TEST

START_TEST(no_strings_all_go_to_one_place)
{
    const tfm_allocator a = plain();
    size_t run = 0, longest = 0;
    char name[16];
    tfm_vocab vocab;
    uint32_t id;

    tfm_vocab_init(&vocab, &a);
    for (uint32_t i = 0; vocab.n < MEANT_TO_COLLIDE; i++) {
        const size_t size = (size_t)snprintf(name, sizeof name, "%u", i);
        uint64_t hash = _i ? 0 : 0xCBF29CE484222325u; /* of FNV-1a, or of this one */
        for (size_t k = 0; k < size; k++) {
            hash = (hash ^ (unsigned char)name[k]) * (_i ? 0xD6E8FEB86659FD93u : 0x100000001B3u);
            if (_i || k + 1 == size) hash ^= hash >> 32;
        }
        if (!(hash & LOW_BITS)) ck_assert(tfm_vocab_add(&vocab, (tfm_text){name, size}, nothing, &id));
    }
    for (size_t i = 0; i < vocab.n_slots; i++) {
        run = vocab.slots[i].number ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    ck_assert_uint_lt(longest, LONGEST_RUN);
    tfm_vocab_free(&vocab);
}
END_TEST

/* Against the definition, whatever is asked for. */
START_TEST(the_longest_beginning_that_is_there)
{
    static const char *const strings[] = {"a", "aa", "aaaa", "\xC3\xA4", "b\xC3", "aab"};
    static const char *const texts[] = {"aaaaa", "aab", "\xC3\xA4" "a", "b\xC3\xA4", "c", "", "aaab"};
    const tfm_allocator a = plain();
    tfm_vocab vocab;
    uint32_t id;

    tfm_vocab_init(&vocab, &a);
    for (size_t i = 0; i < 6; i++) ck_assert(tfm_vocab_add(&vocab, tfm_text_of(strings[i]), nothing, &id));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t most = 0; most < 7; most++) {
            const tfm_text text = tfm_text_of(texts[i]);
            uint32_t want = TFM_VOCAB_NONE;
            size_t longest = 0, size = most;
            for (size_t n = 1; n <= text.size && n <= most; n++) {
                id = tfm_vocab_find(&vocab, (tfm_text){text.data, n}, nothing);
                if (id != TFM_VOCAB_NONE && (text.data[n] & 0xC0) != 0x80) want = id, longest = n;
            }
            ck_assert_uint_eq(tfm_vocab_longest(&vocab, text, &size), want);
            ck_assert_uint_eq(size, longest);
        }
    tfm_vocab_free(&vocab);
    size_t size = 5;
    ck_assert(tfm_vocab_longest(&vocab, tfm_text_of("a"), &size) == TFM_VOCAB_NONE && !size);
}
END_TEST

/* After a reservation nothing grows, and the tables have the empty slots at which a search ends. */
START_TEST(tables_are_reserved_at_once)
{
    const uint32_t sizes[] = {0, 1, 32, 33, 64, 1000};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t n = sizes[i];
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_pairs pairs = {.allocator = a};
        tfm_vocab vocab;
        uint32_t id;
        tfm_vocab_init(&vocab, &a);
        ck_assert(tfm_vocab_reserve(&vocab, n) && tfm_pairs_reserve(&pairs, n));
        const void *const slots = vocab.slots, *const ends = vocab.ends, *const places = pairs.slots;
        ck_assert_uint_eq(f.calls, n ? 3 : 0);
        for (uint32_t k = 0; k < n; k++) {
            ck_assert(tfm_vocab_add(&vocab, (tfm_text){(const char *)&k, sizeof k}, nothing, &id) && id == k);
            ck_assert(tfm_pairs_put(&pairs, k, k, k));
        }
        ck_assert(vocab.slots == slots && vocab.ends == ends && pairs.slots == places);
        ck_assert_uint_ge(vocab.n_slots / 2, n);
        ck_assert_uint_ge(pairs.n_slots / 2, n);
        tfm_vocab_free(&vocab);
        tfm_pairs_free(&pairs);
        ck_assert_uint_eq(f.live, 0);
    }
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- words ---- */

static const struct {
    const char *line, *words; /* with '|' behind each word */
} splits[] = {
    {"", ""},
    {"the cat", " the| cat|"},
    {" a", " | a|"},
    {"a  b", " a| | b|"},
    {"a ", " a| |"},
    {"   ", "    |"},
    {"don't (stop)...", " don|'|t| (|stop|)...|"},
    {"in 1995, 3x", " in| 1|9|9|5|,| 3|x|"},
    {"tab\tand\r\nline", " tab|\t|and|\r\n|line|"},
    {"\ta", " |\t|a|"},
    {"a \tb", " a| |\t|b|"},
    {"e\xCC\x81t\xC3\xA9", " e\xCC\x81t\xC3\xA9|"}, /* combining acute               */
    {"\xCC\x81"
     "a!",
     " \xCC\x81"
     "a|!|"}, /* a mark with nothing before it */
    {"k\xE2\x80\x8Dk k\xE2\x80\x8C"
     "b",
     " k\xE2\x80\x8Dk| k\xE2\x80\x8C"
     "b|"}, /* joiners: U+200D, U+200C       */
    {"a\xC2\xA0"
     "b",
     " a|\xC2\xA0|b|"}, /* no-break space                */
    {"\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC!", " \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC!|"},
};

START_TEST(reversible_words_end_between_kinds_of_characters)
{
    tfm_buffer got = {.allocator = plain()};
    tfm_words words;
    tfm_text word;

    tfm_words_begin(&words, TFM_TOKENIZER_BPE, tfm_text_of(splits[_i].line));
    while (tfm_words_next(&words, &word)) {
        tfm_buffer_append(&got, word.data, word.size);
        tfm_buffer_append(&got, "|", 1);
    }
    tfm_buffer_append(&got, "", 1);
    ck_assert_str_eq(got.data, splits[_i].words);
    tfm_buffer_free(&got);
}
END_TEST

START_TEST(reversible_words_make_up_the_line)
{
    static const char *const pieces[] = {" ",
                                         " ",
                                         "a",
                                         "Zz",
                                         "7",
                                         ".",
                                         "\t",
                                         "\xCC\x81",
                                         "\xE2\x80\x8D",
                                         "\xE4\xBA\xBA",
                                         "\xE2\x96\x81",
                                         "\xF0\x9F\x98\x80"};
    uint32_t state = 3;

    for (int round = 0; round < 2000; round++) {
        tfm_buffer line = {.allocator = plain()}, got = {.allocator = plain()};
        tfm_words words;
        tfm_text word;
        const uint32_t repeats = 1 + next_random(&state, round % 10 ? 3 : 700);
        for (uint32_t n = 1 + next_random(&state, 12); n; n--) {
            const tfm_text piece = tfm_text_of(pieces[next_random(&state, sizeof pieces / sizeof *pieces)]);
            for (uint32_t i = 0; i < repeats; i++) tfm_buffer_append(&line, piece.data, piece.size);
        }
        tfm_buffer_append(&got, "", 0);
        tfm_words_begin(&words, TFM_TOKENIZER_BPE, (tfm_text){line.data, line.size});
        while (tfm_words_next(&words, &word)) {
            if (tfm_utf8_length(word) > TFM_WORDS_MAX + 1) ck_abort_msg("a word of %zu bytes", word.size);
            tfm_buffer_append(&got, word.data, word.size);
        }
        ck_assert_uint_eq(got.size, line.size + 1);
        ck_assert_int_eq(got.data[0], ' ');
        ck_assert_mem_eq(got.data + 1, line.data, line.size);
        tfm_buffer_free(&line);
        tfm_buffer_free(&got);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bpe");
    TCase *c = tcase_create("bpe");

    tcase_add_test(c, apply_is_the_definition);
    tcase_add_test(c, parts_keep_their_places);
    tcase_add_test(c, a_huge_word_is_only_long);
    tcase_add_test(c, learning_is_the_definition);
    tcase_add_test(c, learning_stops_at_its_limits);
    tcase_add_test(c, strings_are_numbered_once);
    tcase_add_test(c, pairs_have_one_value);
    tcase_add_test(c, no_pairs_all_go_to_one_place);
    tcase_add_loop_test(c, no_strings_all_go_to_one_place, 0, 2);
    tcase_add_test(c, the_longest_beginning_that_is_there);
    tcase_add_test(c, tables_are_reserved_at_once);
    tcase_add_loop_test(c, reversible_words_end_between_kinds_of_characters, 0, sizeof splits / sizeof *splits);
    tcase_add_test(c, reversible_words_make_up_the_line);
    tcase_set_timeout(c, 60);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
