/* Tokenizers of two languages in one, and pieces with the ids of a vocabulary file. */
#include "tokenizers.h"

#include "spm_file.h"
#include "text/sentencepiece.h"
#include "text/vocabulary_file.h"

#define S "\xE2\x96\x81"

static char folder[TESTING_PATH], path[TESTING_PATH];
static tfm_error error;

static void setup(void)
{
    path_join(path, temp_make(folder), "file");
}

static void teardown(void)
{
    temp_remove(folder);
}

static tfm_text line_of(const char *text)
{
    return (tfm_text){text, strlen(text)};
}

/* ----------------------------------------------------------------------------------------- vocabulary files ---- */

static const struct {
    const char *file, *pieces; /* by their ids, with a space between */
} vocabularies[] = {
    {"a: 0\nb: 1\n", "a b"},
    {"a: 1\nb: 0", "b a"},
    {"---\r\n# ids\n\n\"a\": 0\r\n'b':   1 \r\n", "a b"},
    {"- a: 0\n- \"b\": 1\n-: 2\n--: 3\n", "a b - --"},
    {"a:b: 0\n\"c:\": 1\n'd: 9': 2\n:: 3\n", ""}, /* a space is refused */
    {"a:b: 0\n\"c: \\\" \": 1\n", ""},
    {"a:b: 0\n\"c:\": 1\n'it''s': 2\n:: 3\n", "a:b c: it's :"},
    {"\"\\\"\\\\\\/\": 0\n\"\\x41\\u2581\\U0001F600\": 1\n'\\n': 2\n",
     "\"\\/ A" S "\xF0\x9F\x98\x80 \\n"},
    {"{\"a\": 0, \"b\":1}", "a b"},
    {" \n{ \"b\" : 1 ,\n\t\"\\u2581a\" : 0 }\n", S "a b"},
    {"{\"\\ud83d\\ude00\":0}", "\xF0\x9F\x98\x80"},
};

START_TEST(pieces_by_their_ids)
{
    char pieces[256] = "";
    tfm_tokenizer *t = NULL;

    ck_assert_ok(tfm_tokenizer_new(&t, TFM_TOKENIZER_SENTENCEPIECE, NULL, &error), error);
    const tfm_status status = tfm_vocabulary_read(t, line_of(vocabularies[_i].file), &error);
    ck_assert_int_eq(status, *vocabularies[_i].pieces ? TFM_OK : TFM_E_FORMAT);
    for (uint32_t i = 0; status == TFM_OK && i < t->vocab.n; i++) {
        const tfm_text piece = tfm_vocab_text(&t->vocab, i);
        snprintf(pieces + strlen(pieces), sizeof pieces - strlen(pieces), "%s%.*s", i ? " " : "", (int)piece.size,
                 piece.data);
    }
    if (status == TFM_OK) ck_assert_str_eq(pieces, vocabularies[_i].pieces);
    tfm_tokenizer_destroy(t);
}
END_TEST

static const struct {
    const char *file, *says;
} refused[] = {
    {"", "there is no piece in it"},
    {"{}", "there is no piece in it"},
    {"\"\": 7\n", "the id of '' is 7, but its 1 pieces have the ids 0..0"},
    {"a: 0\nb\n", "line 2: is not \"piece: id\""},
    {"a: 0\nb: x\n", "line 2: no id from 0 on follows a piece and its colon"},
    {"a: -1\n", "line 1: no id from 0 on"},
    {"a: 0\nb: 1 2\n", "line 2: something follows an id"},
    {"a: 0\n\"b: 1\n", "line 2: a quotation mark is not closed"},
    {"'b: 1", "line 1: a quotation mark is not closed"},
    {"\"b\" 1", "line 1: no colon follows a piece"},
    {"\"\\q\": 0", "line 1: an escape is not one of YAML or JSON"},
    {"\"\\ud800\": 0", "an escape is not one"},
    {"\"\\ud800\\u0041\": 0", "an escape is not one"},
    {"\"\\udc00\": 0", "an escape is not one"},
    {"\"\\xg0\": 0", "an escape is not one"},
    {"\"\\U00110000\": 0", "an escape is not one"},
    {"a: 99999999999999999999\n", "an id is not below 16777216"},
    {"a: 0\nb: 2\n", "the id of 'b' is 2, but its 2 pieces have the ids 0..1"},
    {"a: 0\nb: 0\n", "both 'a' and 'b' have the id 0"},
    {"a: 0\na: 1\n", "token 1 of the vocabulary is the same as token 0"},
    {"\"\": 0\n", "token 0 of the vocabulary is empty or has a space"},
    {"{\"a\": 0,}", "a piece is not between quotation marks"},
    {"{a: 0}", "a piece is not between quotation marks"},
    {"{\"a\": 0", "neither a comma nor } follows an id"},
    {"{\"a\": 0} b", "something follows the }"},
    {"a: 0\xFF", "not UTF-8 at byte 4"},
    {"a: 0\nb: 1\n", "</s> is not among its 2 pieces"},
    {"a: 0\n</s>: 1\n", "<unk> is not among its 2 pieces"},
};

static tfm_tokenizer *small(spm_form form)
{
    spm_file f;
    tfm_tokenizer *t = NULL;

    spm_small(&f, form);
    ck_assert_ok(tfm_tokenizer_from_text(&t, (tfm_text){(const char *)f.bytes, f.size}, NULL, &error), error);
    return t;
}

/* Each error names the file; nothing is left behind. */
START_TEST(what_is_no_vocabulary)
{
    tfm_tokenizer *t = small((spm_form){.model = 1}), *out = t;

    file_write(path, refused[_i].file, strlen(refused[_i].file));
    ck_assert_status(tfm_tokenizer_renumber(&out, t, path, NULL, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_null(out);
    ck_assert_msg(strstr(error.message, refused[_i].says) && strstr(error.message, "file: "), "\"%s\", want \"%s\"",
                  error.message, refused[_i].says);
    tfm_tokenizer_free(t);
}
END_TEST

/* ----------------------------------------------------------------------------------------- pieces with new ids ---- */

/* The pieces of spm_small() that are used below and others: "abab", ">>x<<" and ">>>>" are none of the model's. */
static const char *const numbered[] = {"</s>", "<unk>", "bc", S, "abab", S "a", "a", ">>x<<", "k", "XY", "ab", "<pad>", ">>>>"};

enum { NUMBERED = sizeof numbered / sizeof *numbered };

static void write_vocabulary(const char *const *pieces, size_t n)
{
    char text[1024] = "";

    for (size_t i = n; i--;)
        snprintf(text + strlen(text), sizeof text - strlen(text), "\"%s\": %zu\n", pieces[i], i);
    file_write(path, text, strlen(text));
}

static tfm_tokenizer *renumbered(spm_form form, const char *const *pieces, size_t n)
{
    tfm_tokenizer *from = small(form), *t = NULL;

    write_vocabulary(pieces, n);
    ck_assert_ok(tfm_tokenizer_renumber(&t, from, path, NULL, &error), error);
    tfm_tokenizer_free(from);
    return t;
}

static tfm_tokenizer *numbered_small(void)
{
    return renumbered((spm_form){.model = 1}, numbered, NUMBERED);
}

/* The ids that a line must have: of each piece of the model its place in the list, 1 when it has none. */
static void require_ids(const tfm_tokenizer *t, const char *line, const char *pieces)
{
    const tfm_ids ids = encode(t, line_of(line));
    char got[256] = "", want[256] = "", list[256];

    for (size_t i = 0; i < ids.size; i++) snprintf(got + strlen(got), sizeof got - strlen(got), " %d", ids.data[i]);
    snprintf(list, sizeof list, "%s", pieces);
    for (const char *p = strtok(list, " "); p; p = strtok(NULL, " ")) {
        size_t id = 0;
        while (id < NUMBERED && strcmp(numbered[id], p)) id++;
        snprintf(want + strlen(want), sizeof want - strlen(want), " %zu", id < NUMBERED ? id : 1);
    }
    ck_assert_msg(!strcmp(got, want), "'%s' has the ids%s, want%s", line, got, want);
    free((void *)(uintptr_t)ids.data);
}

START_TEST(pieces_have_the_ids_of_the_file)
{
    tfm_tokenizer *t = numbered_small();
    tfm_special_ids s;

    tfm_tokenizer_special(&s, t);
    ck_assert(s.eos == 0 && s.unk == 1 && s.pad == 11 && s.bos == -1);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(t), NUMBERED);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("bc")), 2);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("c")), 1);
    ck_assert(tfm_tokenizer_token(t, 4).size == 4 && tfm_tokenizer_token(t, NUMBERED).size == 0);
    require_ids(t, "abcab", S " ab cab");
    require_ids(t, "aZa", S "a ? a");
    require_ids(t, "aXYa", S "a XY a");   /* unknown to the model, not to the vocabulary */
    require_ids(t, "abc", S "abc");       /* the other way round                         */
    require_ids(t, "</s> <pad>", S " ? " S " ? a ?");
    require_ids(t, ">>x<<", ">>x<<");
    require_ids(t, ">>x<< aXYa", ">>x<< " S "a XY a");
    require_ids(t, ">>x<<aXYa", ">>x<< " S "a XY a");
    require_ids(t, "a >>x<<", S "a " S " >>x<<"); /* unknown to the model, too */
    require_ids(t, ">>y<< k", S " ? " S " k");
    require_ids(t, ">> x<< k", S " ? " S " ? " S " k");
    require_ids(t, ">>>> a", S " >>>> " S "a"); /* no language */
    require_ids(t, "", "");
    tfm_tokenizer_free(t);
}
END_TEST

/* SentencePiece takes one character of several that it does not know for one token; so a piece may read as a control.
 */
START_TEST(text_is_never_a_control_piece)
{
    static const char *const pieces[] = {"</s>", "<unk>", "XY", "<pad>"};
    tfm_tokenizer *t = renumbered((spm_form){.model = 1}, pieces, 4);
    const tfm_ids ids = encode(t, TEXT("<pad> </s> XY"));
    for (size_t i = 0; i < ids.size; i++) ck_assert(ids.data[i] == 1 || ids.data[i] == 2);
    free((void *)(uintptr_t)ids.data);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(text_of_ids)
{
    static const struct {
        int32_t ids[6];
        size_t n;
        const char *text;
    } cases[] = {
        {{5, 2, 10}, 3, "abcab"},
        {{3, 4, 3, 8, 0}, 5, "abab k"},  /* a piece that the model has not, as one that it has */
        {{11, 5, 1, 6, 0}, 5, "a \xE2\x81\x87 a"},
        {{7, 5}, 2, ">>x<< a"},
        {{3, 3, 9}, 3, "XY"},
    };
    tfm_tokenizer *t = numbered_small();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const blob b = decode(t, (tfm_ids){cases[i].ids, cases[i].n});
        ck_assert_str_eq(b.data, cases[i].text);
        free(b.data);
    }
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(bytes_are_bytes)
{
    static const char *const pieces[] = {"</s>", "<unk>", "<0xC3>", "<0xA4>", S, S "a"};
    tfm_tokenizer *t = renumbered((spm_form){.model = 1, .bytes = 1}, pieces, 6);
    const tfm_ids ids = encode(t, TEXT("a\xC3\xA4"));

    ck_assert(ids.size == 3 && ids.data[0] == 5 && ids.data[1] == 2 && ids.data[2] == 3);
    const blob b = decode(t, ids);
    ck_assert_str_eq(b.data, "a\xC3\xA4");
    free(b.data);
    free((void *)(uintptr_t)ids.data);
    tfm_tokenizer_free(t);
}
END_TEST

/* The best of several ways is the one that encoding takes. */
START_TEST(ways_have_the_ids_too)
{
    tfm_tokenizer *t = numbered_small();
    const tfm_text line = TEXT(">>x<< abcab");
    const tfm_ids ids = encode(t, line);
    int32_t all[64];
    size_t n_all, n = 3, ends[3];
    float scores[3];

    ck_assert_ok(tfm_tokenizer_nbest(all, 64, &n_all, ends, scores, &n, t, line, &error), error);
    ck_assert(n == 3 && ends[0] == ids.size && !memcmp(all, ids.data, ids.size * sizeof *all));
    for (size_t i = 0; i < n; i++) ck_assert_int_eq(all[i ? ends[i - 1] : 0], 7);
    free((void *)(uintptr_t)ids.data);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(only_pieces_of_sentencepiece_get_other_ids)
{
    tfm_tokenizer *bpe = learn(TFM_TOKENIZER_BPE, 300, corpus, CORPUS), *out = bpe, *t = numbered_small(), *pair = NULL;

    ck_assert_status(tfm_tokenizer_renumber(&out, bpe, path, NULL, &error), TFM_E_INVALID, error);
    ck_assert(!out && strstr(error.message, "this tokenizer is bpe"));
    ck_assert_ok(tfm_tokenizer_pair(&pair, t, t, NULL, &error), error);
    ck_assert_status(tfm_tokenizer_renumber(&out, pair, path, NULL, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "a pair: give each side its own"));
    ck_assert_status(tfm_tokenizer_renumber(&out, t, "/nowhere/at/all", NULL, &error), TFM_E_IO, error);
    ck_assert_ok(tfm_tokenizer_renumber(&out, t, path, NULL, &error), error); /* anew */
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(out), NUMBERED);
    tfm_tokenizer_free(out);
    tfm_tokenizer_free(pair);
    tfm_tokenizer_free(t);
    tfm_tokenizer_free(bpe);
}
END_TEST

/* --------------------------------------------------------------------------------------------------- pairs ---- */

static tfm_tokenizer *make_pair(void)
{
    tfm_tokenizer *source = numbered_small(), *target = small((spm_form){.model = 2, .shifted = 1}), *pair = NULL;

    ck_assert_ok(tfm_tokenizer_pair(&pair, source, target, NULL, &error), error);
    tfm_tokenizer_free(source);
    tfm_tokenizer_free(target);
    return pair;
}

static void require_side(const tfm_tokenizer *t, const tfm_tokenizer *want, const char *line)
{
    const tfm_ids got = encode(t, line_of(line)), ids = encode(want, line_of(line));

    ck_assert_uint_eq(got.size, ids.size);
    ck_assert_mem_eq(got.data, ids.data, ids.size * sizeof *ids.data);
    free((void *)(uintptr_t)got.data);
    free((void *)(uintptr_t)ids.data);
}

static void require_pair(const tfm_tokenizer *pair)
{
    tfm_tokenizer *source = numbered_small(), *target = small((spm_form){.model = 2, .shifted = 1});
    const tfm_tokenizer *side = tfm_tokenizer_target(pair);
    const tfm_ids ids = encode(target, TEXT("abc k <2de>a"));

    ck_assert(side != pair && tfm_tokenizer_target(side) == side);
    require_side(pair, source, ">>x<< abcab k");
    require_side(side, target, ">>x<< abcab k <2de>");
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(pair), NUMBERED);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(side), tfm_tokenizer_vocab_size(target));
    const blob b = decode(pair, ids); /* of the target's ids, which the source has not all */
    ck_assert_str_eq(b.data, "abc k <2de>a");
    const int32_t above = (int32_t)tfm_tokenizer_vocab_size(target);
    size_t size;
    ck_assert_status(tfm_tokenizer_decode(NULL, 0, &size, pair, (tfm_ids){&above, 1}, &error), TFM_E_INVALID, error);
    free(b.data);
    free((void *)(uintptr_t)ids.data);
    tfm_tokenizer_free(source);
    tfm_tokenizer_free(target);
}

START_TEST(a_pair_encodes_with_one_and_decodes_with_the_other)
{
    tfm_tokenizer *pair = make_pair(), *copy = NULL;

    require_pair(pair);
    ck_assert_ok(tfm_tokenizer_copy(&copy, pair, NULL, &error), error);
    tfm_tokenizer_free(pair);
    require_pair(copy);
    ck_assert_ptr_null(tfm_tokenizer_target(NULL));
    ck_assert_status(tfm_tokenizer_pair(&pair, copy, NULL, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_pair(&pair, NULL, copy, NULL, &error), TFM_E_INVALID, error);
    ck_assert_ptr_null(pair);
    tfm_tokenizer_free(copy);
}
END_TEST

/* Of a pair within a pair its own side counts. */
START_TEST(pairs_of_pairs_are_pairs)
{
    tfm_tokenizer *pair = make_pair(), *back = NULL, *again = NULL;

    ck_assert_ok(tfm_tokenizer_pair(&back, tfm_tokenizer_target(pair), pair, NULL, &error), error);
    ck_assert_ptr_null(back->target->target);
    require_side(back, tfm_tokenizer_target(back), "abc k"); /* target and target */
    ck_assert_ok(tfm_tokenizer_pair(&again, pair, back, NULL, &error), error);
    require_pair(again);
    tfm_tokenizer_free(again);
    tfm_tokenizer_free(back);
    tfm_tokenizer_free(pair);
}
END_TEST

START_TEST(a_pair_is_neither_restricted_nor_exported)
{
    tfm_tokenizer *sub = learn(TFM_TOKENIZER_SUBWORD_NMT, 10, corpus, CORPUS), *pair = NULL, *out;

    ck_assert_ok(tfm_tokenizer_pair(&pair, sub, sub, NULL, &error), error);
    ck_assert_status(tfm_tokenizer_restrict(&out, pair, NULL, 0, NULL, 0, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_export(pair, path, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "export each side"));
    tfm_tokenizer_free(pair);
    tfm_tokenizer_free(sub);
}
END_TEST

/* --------------------------------------------------------------------------------------------------- files ---- */

static char *saved(const tfm_tokenizer *t, size_t *size)
{
    ck_assert_ok(tfm_tokenizer_save(t, path, &error), error);
    return file_read(path, size);
}

/* Pairs of every kind, and pieces with other ids, come back as they were, and are written with the same bytes. */
START_TEST(files_come_back)
{
    tfm_tokenizer *sides[] = {numbered_small(), learn(TFM_TOKENIZER_BPE, 300, corpus, CORPUS),
                              learn(TFM_TOKENIZER_SUBWORD_NMT, 10, corpus, CORPUS), small((spm_form){.model = 2})};
    const char *const line = ">>x<< the lower abcab k";

    for (size_t i = 0; i < 20; i++) {
        tfm_tokenizer *t = NULL, *loaded = NULL;
        size_t size, again;
        if (i < 16) ck_assert_ok(tfm_tokenizer_pair(&t, sides[i / 4], sides[i % 4], NULL, &error), error);
        const tfm_tokenizer *whole = t ? t : sides[i % 4];
        char *bytes = saved(whole, &size);
        ck_assert_ok(tfm_tokenizer_load(&loaded, path, NULL, &error), error);
        require_side(loaded, whole, line);
        require_side(tfm_tokenizer_target(loaded), tfm_tokenizer_target(whole), line);
        char *second = saved(loaded, &again);
        ck_assert(size == again && !memcmp(bytes, second, size));
        free(bytes);
        free(second);
        tfm_tokenizer_free(loaded);
        tfm_tokenizer_free(t);
    }
    for (size_t i = 0; i < 4; i++) tfm_tokenizer_free(sides[i]);
}
END_TEST

static const struct {
    const char *file, *says;
} broken[] = {
    {"tfm-tokenizer 1 pair 1 bytes\n", "line 1: is not \"tfm-tokenizer 1 pair NUMBER bytes NUMBER bytes\""},
    {"tfm-tokenizer 1 pair 01 bytes 1 bytes\nab", "line 1: is not"},
    {"tfm-tokenizer 1 pair 1 bytes 1 bytes", "line 1: the end is missing"},
    {"tfm-tokenizer 1 pair 1 bytes 1 bytes\nabc", "line 1: 1 and 1 bytes, but 3 follow"},
    {"tfm-tokenizer 1 pair 4294967295 bytes 4294967295 bytes\nabc", "but 3 follow"},
    {"tfm-tokenizer 1 pair 21 bytes 1 bytes\ntfm-tokenizer 1 pair b", "a pair has a pair in it"},
    {"tfm-tokenizer 1 pair 1 bytes 1 bytes\nab", "line 1: the end is missing"},
    {"tfm-tokenizer 1 sentencepiece 2 tokens\n", "is not \"tfm-tokenizer 1 sentencepiece NUMBER tokens NUMBER bytes\""},
    {"tfm-tokenizer 1 sentencepiece 2 tokens 9 bytes\na\nb\n", "9 bytes of SentencePiece, but only 4 follow"},
    {"tfm-tokenizer 1 sentencepiece 2 tokens 0 bytes\na\nb\n", "it has no piece for what is unknown"},
};

START_TEST(broken_files_are_named)
{
    tfm_tokenizer *t = NULL;

    ck_assert_status(tfm_tokenizer_from_text(&t, line_of(broken[_i].file), NULL, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_null(t);
    ck_assert_msg(strstr(error.message, broken[_i].says), "\"%s\", want \"%s\"", error.message, broken[_i].says);
}
END_TEST

/* No change of a byte, and no end, does harm; and no shortened file is a tokenizer. */
START_TEST(c30_damaged_files_do_no_harm)
{
    tfm_tokenizer *pair = make_pair(), *t;
    size_t size, n;
    char *bytes = saved(pair, &size);
    const tfm_text line = TEXT(">>x<< abcab Qk");

    for (size_t cut = 0; cut < size; cut++) {
        ck_assert_int_ne(tfm_tokenizer_from_text(&t, (tfm_text){bytes, cut}, NULL, &error), TFM_OK);
        ck_assert_ptr_null(t);
    }
    for (size_t i = 0; i < size; i++)
        for (unsigned k = 0; k < 3; k++) {
            const char old = bytes[i];
            bytes[i] = (char)(k == 2 ? old + 1 : old ^ (k ? 0x80 : 0x01));
            if (tfm_tokenizer_from_text(&t, (tfm_text){bytes, size}, NULL, &error) == TFM_OK) {
                const int32_t id = 1;
                ck_assert_ok(tfm_tokenizer_encode(NULL, 0, &n, t, line, &error), error);
                ck_assert_ok(tfm_tokenizer_decode(NULL, 0, &n, t, (tfm_ids){&id, 1}, &error), error);
                tfm_tokenizer_free(t);
            }
            bytes[i] = old;
        }
    free(bytes);
    tfm_tokenizer_free(pair);
}
END_TEST

START_TEST(c34_each_failed_allocation_is_survived)
{
    tfm_tokenizer *source = small((spm_form){.model = 1}), *target = learn(TFM_TOKENIZER_BPE, 300, corpus, CORPUS);
    char vocabulary[TESTING_PATH];
    tfm_status status = TFM_E_NOMEM;
    size_t n;

    write_vocabulary(numbered, NUMBERED);
    ck_assert_int_eq(rename(path, path_join(vocabulary, folder, "vocab.yml")), 0);
    for (n = 0; status != TFM_OK; n++) {
        faulty a = {.fail_at = n};
        const tfm_allocator allocator = faulty_allocator(&a);
        tfm_tokenizer *t[4] = {NULL};
        size_t size, n_ids;
        int32_t ids[64];
        status = tfm_tokenizer_renumber(&t[0], source, vocabulary, &allocator, &error);
        if (status == TFM_OK) status = tfm_tokenizer_pair(&t[1], t[0], target, &allocator, &error);
        if (status == TFM_OK) status = tfm_tokenizer_copy(&t[2], t[1], &allocator, &error);
        if (status == TFM_OK) status = tfm_tokenizer_save(t[2], path, &error);
        if (status == TFM_OK) status = tfm_tokenizer_load(&t[3], path, &allocator, &error);
        if (status == TFM_OK) status = tfm_tokenizer_encode(ids, 64, &n_ids, t[3], TEXT(">>x<< abQ"), &error);
        if (status == TFM_OK) status = tfm_tokenizer_decode(NULL, 0, &size, t[3], (tfm_ids){ids, n_ids}, &error);
        if (status == TFM_OK) status = tfm_tokenizer_decode(NULL, 0, &size, t[0], (tfm_ids){ids, n_ids}, &error);
        if (status != TFM_OK) ck_assert(status == TFM_E_NOMEM && error.status == status);
        a.fail_at = SIZE_MAX;
        for (size_t i = 0; i < 4; i++) tfm_tokenizer_free(t[i]);
        ck_assert_uint_eq(a.live, 0);
    }
    ck_assert_uint_gt(n, 100);
    tfm_tokenizer_free(source);
    tfm_tokenizer_free(target);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("pair");
    TCase *c = tcase_create("pair");

    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, pieces_by_their_ids, 0, sizeof vocabularies / sizeof *vocabularies);
    tcase_add_loop_test(c, what_is_no_vocabulary, 0, sizeof refused / sizeof *refused);
    tcase_add_test(c, pieces_have_the_ids_of_the_file);
    tcase_add_test(c, text_is_never_a_control_piece);
    tcase_add_test(c, text_of_ids);
    tcase_add_test(c, bytes_are_bytes);
    tcase_add_test(c, ways_have_the_ids_too);
    tcase_add_test(c, only_pieces_of_sentencepiece_get_other_ids);
    tcase_add_test(c, a_pair_encodes_with_one_and_decodes_with_the_other);
    tcase_add_test(c, pairs_of_pairs_are_pairs);
    tcase_add_test(c, a_pair_is_neither_restricted_nor_exported);
    tcase_add_test(c, files_come_back);
    tcase_add_loop_test(c, broken_files_are_named, 0, sizeof broken / sizeof *broken);
    tcase_add_test(c, c30_damaged_files_do_no_harm);
    tcase_add_test(c, c34_each_failed_allocation_is_survived);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
