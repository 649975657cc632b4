/* Models of SentencePiece: what they make of text, the behaviours asked of every kind, and files that are damaged. */
#include "tokenizers.h"

#include "spm_file.h"
#include "text/sentencepiece.h"

static char folder[TESTING_PATH];

static void setup(void)
{
    temp_make(folder);
}

static void teardown(void)
{
    temp_remove(folder);
}

static tfm_text text_of(const spm_file *f)
{
    return (tfm_text){(const char *)f->bytes, f->size};
}

static tfm_tokenizer *read_file(const spm_file *f)
{
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_from_text(&t, text_of(f), NULL, &error), error);
    return t;
}

static tfm_tokenizer *small(spm_form form)
{
    spm_file f;

    spm_small(&f, form);
    return read_file(&f);
}

static tfm_text line_of(const char *text)
{
    return (tfm_text){text, strlen(text)};
}

#define S "\xE2\x96\x81"

/* ------------------------------------------------------------------------------------------------------- text ---- */

static const struct {
    spm_form form;
    const char *line, *pieces;
} cuts[] = {
    {{.model = 1}, "abc", S "abc"},
    {{.model = 1}, "cab  abc ", S " cab " S "abc"},  /* spaces are one, and none at the end      */
    {{.model = 1}, "aXYb", S "a XY b"},              /* neighbours that are unknown are one      */
    {{.model = 1}, "Q", S " ab"},                    /* the rule                                 */
    {{.model = 1}, "a<2de>bc", S "a <2de> bc"},      /* user-defined                             */
    {{.model = 1}, "<s> </s>", S " <s> " S " </s>"}, /* control pieces are no text               */
    {{.model = 1, .bytes = 1}, "aX\xC3\xA4", S "a <0x58> <0xC3> <0xA4>"},
    {{.model = 1, .plain = 1}, " a  b", S " " S "a " S " " S " b"},
    {{.model = 2}, "abcab", S "abc ab"},
    {{.model = 3}, "abc abcab a", S "abc " S "abcab " S "a"},
    {{.model = 4}, "ab<2de>Q", S " a b <2de> a b"},
    {{.model = 1}, "", ""},
    {{.model = 2}, "  ", ""},
};

START_TEST(pieces_of_each_type)
{
    tfm_tokenizer *t = small(cuts[_i].form);

    require_segments(t, line_of(cuts[_i].line), line_of(cuts[_i].pieces));
    tfm_tokenizer_free(t);
}
END_TEST

/* Unused pieces lead to others: "ca" and "cab" are none, but "ab" is. */
START_TEST(unused_pieces_are_taken_apart)
{
    spm_file f;

    f.size = 0;
    spm_piece(&f, "<unk>", 0, 2);
    for (const char *c = "a\0b\0c\0" S "\0"; *c; c += strlen(c) + 1) spm_piece(&f, c, -9, 1);
    spm_piece(&f, "ab", -1, 1);
    spm_piece(&f, "cab", -2, 5);
    spm_piece(&f, "cabc", -3, 5);
    spm_file part = {.size = 0};
    spm_number(&part, 3, 2);
    spm_message(&f, 2, &part);
    tfm_tokenizer *t = read_file(&f);
    require_segments(t, TEXT("cabc"), TEXT(S " c ab c"));
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(special_ids_lie_where_the_file_has_them)
{
    tfm_tokenizer *t = small((spm_form){.model = 1}), *shifted = small((spm_form){.model = 1, .shifted = 1});
    tfm_special_ids s;

    tfm_tokenizer_special(&s, t);
    ck_assert(s.pad == -1 && s.unk == 0 && s.bos == 1 && s.eos == 2);
    tfm_tokenizer_special(&s, shifted);
    ck_assert(s.pad == 0 && s.eos == 1 && s.unk == 2 && s.bos == 3);
    ck_assert_int_eq(tfm_tokenizer_id(shifted, TEXT("nothing")), 2);
    ck_assert_int_eq(tfm_tokenizer_id(shifted, TEXT("<2de>")), 4);
    const tfm_ids ids = encode(shifted, TEXT("aX"));
    ck_assert(ids.size == 2 && ids.data[1] == 2);
    const blob b = decode(shifted, (tfm_ids){(const int32_t[]){0, ids.data[0], 3, 1}, 4});
    ck_assert_str_eq(b.data, "a");
    free(b.data);
    free((void *)(uintptr_t)ids.data);
    tfm_tokenizer_special(&s, NULL);
    ck_assert(s.pad == -1 && s.unk == -1 && s.bos == -1 && s.eos == -1);
    tfm_tokenizer_free(t);
    tfm_tokenizer_free(shifted);
}
END_TEST

START_TEST(special_ids_of_the_other_kinds)
{
    tfm_tokenizer *t = learn((uint32_t)_i, _i ? 3 : 280, corpus, CORPUS);
    tfm_special_ids s;

    tfm_tokenizer_special(&s, t);
    ck_assert(s.pad == TFM_PAD && s.eos == TFM_EOS && s.bos == TFM_BOS && s.unk == TFM_UNK);
    tfm_tokenizer_free(t);
}
END_TEST

/* The n best ways to cut "ab": the two of highest score, by hand: S a | b and S | ab. */
START_TEST(the_best_ways_to_cut)
{
    tfm_tokenizer *t = small((spm_form){.model = 1}), *bpe = small((spm_form){.model = 2});
    size_t n = 3, n_ids, ends[3];
    float scores[3];
    int32_t ids[16];
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_nbest(ids, 16, &n_ids, ends, scores, &n, t, TEXT("ab"), &error), error);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(ids[0], tfm_tokenizer_id(t, TEXT(S)));
    ck_assert_int_eq(ids[1], tfm_tokenizer_id(t, TEXT("ab")));
    ck_assert_uint_eq(ends[0], 2);
    ck_assert_float_eq(scores[0], -1.0f - 1.625f);
    ck_assert_int_eq(ids[2], tfm_tokenizer_id(t, TEXT(S "a")));
    ck_assert_float_eq(scores[1], -2.0f - 1.25f);
    ck_assert_float_eq(scores[2], -1.0f - 1.125f - 1.25f);
    ck_assert_uint_eq(ends[2], n_ids);
    n = 9; /* more than there are */
    size_t many[9];
    float more[9];
    ck_assert_ok(tfm_tokenizer_nbest(NULL, 0, &n_ids, many, more, &n, t, TEXT("ab"), &error), error);
    ck_assert(n == 3 && n_ids == 7);
    ck_assert_status(tfm_tokenizer_nbest(ids, 16, &n_ids, ends, scores, &n, bpe, TEXT("ab"), &error), TFM_E_UNSUPPORTED,
                     error);
    n = 0;
    ck_assert_status(tfm_tokenizer_nbest(ids, 16, &n_ids, ends, scores, &n, t, TEXT("ab"), &error), TFM_E_INVALID,
                     error);
    tfm_tokenizer_free(bpe);
    bpe = learn(TFM_TOKENIZER_BPE, 280, corpus, CORPUS);
    n = 3;
    ck_assert_status(tfm_tokenizer_nbest(ids, 16, &n_ids, ends, scores, &n, bpe, TEXT("ab"), &error), TFM_E_UNSUPPORTED,
                     error);
    tfm_tokenizer_free(bpe);
    tfm_tokenizer_free(t);
}
END_TEST

static blob normalize(const tfm_tokenizer *t, tfm_text line)
{
    tfm_error error = {0};
    blob b = {0};

    ck_assert_ok(tfm_tokenizer_normalize(NULL, 0, &b.size, t, line, &error), error);
    b.data = calloc(b.size + 1, 1);
    ck_assert_ptr_nonnull(b.data);
    ck_assert_ok(tfm_tokenizer_normalize(b.data, b.size, &b.size, t, line, &error), error);
    return b;
}

START_TEST(normal_text)
{
    tfm_tokenizer *t = small((spm_form){.model = 1}), *plain = small((spm_form){.model = 1, .plain = 1});
    tfm_tokenizer *bpe = learn(TFM_TOKENIZER_BPE, 280, corpus, CORPUS);
    const blob a = normalize(t, TEXT(" Q  b\xFF ")), b = normalize(plain, TEXT(" Q ")), c = normalize(bpe, TEXT(" Q "));
    size_t size;

    ck_assert_str_eq(a.data, S "ab" S "b\xEF\xBF\xBD");
    ck_assert_str_eq(b.data, S S "Q" S);
    ck_assert_str_eq(c.data, " Q ");
    ck_assert_int_eq(tfm_tokenizer_normalize(NULL, 0, &size, bpe, TEXT("\xFF"), NULL), TFM_E_FORMAT);
    free(a.data);
    free(b.data);
    free(c.data);
    tfm_tokenizer_free(bpe);
    tfm_tokenizer_free(plain);
    tfm_tokenizer_free(t);
}
END_TEST

/* A table in which "a" leads back to where it came from, and to no end: no walk is longer than the table. */
START_TEST(a_circle_of_rules_takes_no_longer)
{
    static uint32_t units['a' + 1];
    static spm_file f, rules, map;
    static char line[1 << 20];
    const uint32_t size = sizeof units;
    tfm_error error = {0};
    size_t n;

    units['a'] = 'a' << 10 | 'a';
    spm_append(&map, &size, sizeof size);
    spm_append(&map, units, sizeof units);
    spm_append(&map, "x", 2);
    spm_bytes(&rules, 2, map.bytes, map.size);
    spm_small(&f, (spm_form){.model = 1, .plain = 1});
    spm_message(&f, 3, &rules);
    tfm_tokenizer *t = read_file(&f);
    memset(line, 'a', sizeof line);
    alarm(60); /* half an hour without the bound */
    ck_assert_ok(tfm_tokenizer_normalize(NULL, 0, &n, t, (tfm_text){line, sizeof line}, &error), error);
    alarm(0);
    ck_assert_uint_ge(n, sizeof line);
    tfm_tokenizer_free(t);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- behaviours ---- */

/* Where the model's own text for what is unknown has no spaces; SentencePiece's default has. */
START_TEST(c01_what_is_unknown_is_stable)
{
    const spm_form forms[] = {{.model = 1, .unknown = "?"}, {.model = 2, .unknown = "?"}, {.model = 4, .unknown = "?"},
                              {.model = 1, .bytes = 1},     {.model = 2, .bytes = 1},     {.model = 4, .bytes = 1}};

    tfm_tokenizer *t = small(forms[_i]);
    const blob once = there_and_back(t, TEXT("aZb"));
    const blob twice = there_and_back(t, (tfm_text){once.data, once.size});
    ck_assert_str_eq(once.data, twice.data);
    ck_assert_str_eq(once.data, forms[_i].bytes ? "aZb" : "a?b");
    free(once.data);
    free(twice.data);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(c03_without_rules_bytes_survive)
{
    const unsigned models[] = {1, 2, 4};
    tfm_tokenizer *t = small((spm_form){.model = models[_i], .bytes = 1, .plain = 1});

    require_reversed(t, TEXT("k\xE2\x80\x8Dk k\xE2\x80\x8C"
                             "b \xC5\x89"));
    require_reversed(t, TEXT(" a  b "));
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(c04_nul_is_a_character)
{
    const unsigned models[] = {1, 2, 4};
    tfm_tokenizer *t = small((spm_form){.model = models[_i], .bytes = 1});

    require_reversed(t, TEXT("a\0b"));
    require_segments(t, TEXT("a\0b"), _i == 2 ? TEXT(S " a <0x00> b") : TEXT(S "a <0x00> b"));
    tfm_tokenizer_free(t);
}
END_TEST

static void require_saved(const tfm_tokenizer *t, const spm_file *f)
{
    tfm_buffer bytes = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_to_text(t, &bytes, &error), error);
    ck_assert(bytes.size == f->size && !memcmp(bytes.data, f->bytes, f->size));
    tfm_buffer_free(&bytes);
}

/* A vocabulary of strange line breaks, through a file of its own and the file of a model, in the same bytes. */
START_TEST(c05_a_model_file_keeps_it)
{
    spm_file f;
    char path[TESTING_PATH];
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    spm_small(&f, (spm_form){.model = 1, .shifted = 1});
    path_join(path, folder, "small.model");
    file_write(path, f.bytes, f.size);
    ck_assert_ok(tfm_tokenizer_load(&t, path, NULL, &error), error);
    ck_assert_uint_eq(tfm_tokenizer_kind(t), TFM_TOKENIZER_SENTENCEPIECE);
    require_segments(t,
                     TEXT("a\xE2\x80\xA8"
                          "b\xC2\x85"),
                     TEXT(S "a \xE2\x80\xA8 b \xC2\x85"));
    path_join(path, folder, "again");
    ck_assert_ok(tfm_tokenizer_save(t, path, &error), error);
    tfm_tokenizer_free(t);
    ck_assert_ok(tfm_tokenizer_load(&t, path, NULL, &error), error);
    require_saved(t, &f);
    tfm_tokenizer *copy = NULL;
    ck_assert_ok(tfm_tokenizer_copy(&copy, t, NULL, &error), error);
    tfm_tokenizer_free(t);
    require_saved(copy, &f);
    require_segments(copy, TEXT("abc"), TEXT(S "abc"));
    tfm_tokenizer_free(copy);
}
END_TEST

/* A model that is made for a tokenizer has its special ids, also from its file: what it ends with is no text. */
START_TEST(a_model_takes_the_special_ids)
{
    tfm_tokenizer *t = small((spm_form){.model = 1, .shifted = 1});
    tfm_model_options o;
    tfm_decoder_options d;
    tfm_model *model = NULL, *again = NULL;
    tfm_decoder *decoder = NULL;
    char path[TESTING_PATH];
    tfm_error error = {0};

    tfm_model_options_init(&o, sizeof o);
    ck_assert_ok(tfm_model_options_preset(&o, "tiny", &error), error);
    ck_assert_ok(tfm_model_create(&model, &o, t, &error), error);
    path_join(path, folder, "model.tfm");
    ck_assert_ok(tfm_model_save(model, path, &error), error);
    ck_assert_ok(tfm_model_load(&again, path, NULL, &error), error);
    tfm_tokenizer *inside = NULL;
    ck_assert_ok(tfm_tokenizer_load(&inside, path, NULL, &error), error);
    spm_file f;
    spm_small(&f, (spm_form){.model = 1, .shifted = 1});
    require_saved(inside, &f);
    tfm_decoder_options_init(&d, sizeof d);
    ck_assert_ok(tfm_decoder_create(&decoder, again, &d, &error), error);
    const tfm_text line = TEXT("abc");
    ck_assert_ok(tfm_decoder_translate(decoder, &line, 1, &error), error);
    const tfm_ids ids = tfm_decoder_ids(decoder, 0, 0);
    for (size_t i = 0; i < ids.size; i++) { /* neither <pad> nor <s>; </s> at the end alone */
        ck_assert(ids.data[i] != 0 && ids.data[i] != 3);
        ck_assert(ids.data[i] != 1 || i + 1 == ids.size);
    }
    tfm_decoder_free(decoder);
    tfm_tokenizer_free(inside);
    tfm_model_free(again);
    tfm_model_free(model);
    tfm_tokenizer_free(t);
}
END_TEST

/* Without "<s>" it starts from the zero vector; without "</s>" there is no model. */
START_TEST(a_model_needs_an_end)
{
    spm_file f = {.size = 0};
    tfm_model_options o;
    tfm_model *model = NULL;
    tfm_error error = {0};

    for (const char *c = "<unk>\0a\0b\0c\0"; *c; c += strlen(c) + 1) spm_piece(&f, c, -1, *c == '<' ? 2 : 1);
    tfm_tokenizer *t = read_file(&f);
    tfm_model_options_init(&o, sizeof o);
    ck_assert_ok(tfm_model_options_preset(&o, "tiny", &error), error);
    ck_assert_status(tfm_model_create(&model, &o, t, &error), TFM_E_INVALID, error);
    ck_assert(strstr(error.message, "no token that ends a sentence"));
    tfm_tokenizer_free(t);
    spm_piece(&f, "</s>", 0, 3);
    t = read_file(&f);
    ck_assert_ok(tfm_model_create(&model, &o, t, &error), error);
    tfm_model_get_options(&o, sizeof o, model);
    ck_assert(o.start == TFM_START_ZERO && o.own_ids && o.eos_id == 4);
    tfm_model_free(model);
    tfm_tokenizer_free(t);
}
END_TEST

/* -------------------------------------------------------------------------------------------------- bad files ---- */

static void write_bad(spm_file *f, int which)
{
    spm_file part = {.size = 0};

    spm_small(f, (spm_form){.model = 1});
    switch (which) {
    case 0:
        spm_piece(f, "a", 0, 1);
        break;
    case 1:
        spm_piece(f, "", 0, 1);
        break;
    case 2:
        spm_piece(f, "\xFF", 0, 1);
        break;
    case 3:
        spm_piece(f, "z", 0, 7);
        break;
    case 4:
        spm_piece(f, "z", 1e30f, 1);
        break;
    case 5:
        spm_piece(f, "<other>", 0, 2);
        break;
    case 6:
        spm_piece(f, "<0x00>", 0, 6);
        break;
    case 7:
        spm_number(&part, 35, 1);
        spm_message(f, 2, &part);
        break;
    case 8:
        spm_number(&part, 3, 9);
        spm_message(f, 2, &part);
        break;
    case 9:
        spm_text(&part, 2, "\xFF\xFF\xFF\x7F");
        spm_message(f, 3, &part);
        break;
    case 10:
        spm_text(&part, 44, "\xFF");
        spm_message(f, 2, &part);
        break;
    case 11:
        spm_bytes(&part, 2,
                  "\4\0\0\0\x05\0\0\x80"
                  "ab",
                  11); /* a value beyond the strings */
        spm_message(f, 3, &part);
        break;
    default:
        f->size = 0;
        spm_piece(f, "abcdefgh", 0, 1);
    }
}

static const struct {
    tfm_status status;
    const char *reason;
} bad[] = {
    {TFM_E_FORMAT, "piece 17 is there already"},
    {TFM_E_FORMAT, "piece 17 is empty"},
    {TFM_E_FORMAT, "piece 17 is not UTF-8"},
    {TFM_E_UNSUPPORTED, "piece 17 has the type 7, not in 1..6"},
    {TFM_E_FORMAT, "the score of piece 17 is 1e+30"},
    {TFM_E_FORMAT, "the pieces 0 and 17 are both what is unknown"},
    {TFM_E_FORMAT, "1 pieces are bytes, although it does not spell in bytes"},
    {TFM_E_FORMAT, "0 pieces are bytes, although it does spell in bytes"},
    {TFM_E_UNSUPPORTED, "its type is not one of unigram"},
    {TFM_E_FORMAT, "the table of normalisation is cut or damaged"},
    {TFM_E_FORMAT, "the text of what is unknown is not UTF-8"},
    {TFM_E_FORMAT, "the table of normalisation is cut or damaged"},
    {TFM_E_FORMAT, "it has no piece for what is unknown"},
};

START_TEST(bad_files_are_refused)
{
    spm_file f;
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    write_bad(&f, _i);
    ck_assert_status(tfm_tokenizer_from_text(&t, text_of(&f), NULL, &error), bad[_i].status, error);
    ck_assert_ptr_null(t);
    ck_assert_msg(strstr(error.message, bad[_i].reason) != NULL, "%s", error.message);
}
END_TEST

/* What a damaged file still makes is a tokenizer like any other. */
static void require_works(const tfm_tokenizer *t)
{
    const tfm_text line = TEXT("abQ <2de>cab\xE2\x80\xA8 Xk");
    const tfm_ids ids = encode(t, line);
    const blob pieces = segment(t, line), text = decode(t, ids), normal = normalize(t, line);
    size_t n = 4, ends[4], n_ids;
    float scores[4];

    for (size_t i = 0; i < ids.size; i++)
        ck_assert(ids.data[i] >= 0 && (uint32_t)ids.data[i] < tfm_tokenizer_vocab_size(t));
    ck_assert_uint_eq(tfm_utf8_check((tfm_text){pieces.data, pieces.size}), SIZE_MAX);
    ck_assert_uint_eq(tfm_utf8_check((tfm_text){normal.data, normal.size}), SIZE_MAX);
    const tfm_status status = tfm_tokenizer_nbest(NULL, 0, &n_ids, ends, scores, &n, t, line, NULL);
    ck_assert(status == TFM_OK || status == TFM_E_UNSUPPORTED);
    free((void *)(uintptr_t)ids.data);
    free(pieces.data);
    free(text.data);
    free(normal.data);
}

/* Each prefix, and each byte changed in several ways: refused, or a tokenizer that works and is saved as it is. */
START_TEST(c32_damaged_files_are_survived)
{
    const unsigned char changes[] = {0x01, 0x08, 0x10, 0x80, 0xFF};
    spm_file f;
    tfm_error error = {0};
    int loaded = 0;

    spm_small(&f, (spm_form){.model = (unsigned)_i + 1});
    for (size_t i = 0; i < f.size; i++)
        for (size_t k = 0; k <= sizeof changes; k++) {
            const spm_file kept = f;
            tfm_tokenizer *t = NULL;
            if (k < sizeof changes) f.bytes[i] ^= changes[k];
            else f.size = i;
            const tfm_status status = tfm_tokenizer_from_text(&t, text_of(&f), NULL, &error);
            if ((status == TFM_OK) != (t != NULL)) ck_abort_msg("status %d", status);
            if (t) require_works(t);
            if (t && tfm_tokenizer_kind(t) == TFM_TOKENIZER_SENTENCEPIECE) require_saved(t, &f);
            loaded += t != NULL;
            tfm_tokenizer_free(t);
            f = kept;
        }
    ck_assert_int_gt(loaded, 500); /* scores, unread fields, letters of pieces */
}
END_TEST

START_TEST(c34_each_failed_allocation_is_survived)
{
    spm_file f;
    tfm_status status = TFM_E_NOMEM;
    tfm_error error = {0};
    size_t n;

    spm_small(&f, (spm_form){.model = (unsigned)_i + 1, .bytes = 1});
    for (n = 0; status != TFM_OK; n++) {
        faulty a = {.fail_at = n};
        const tfm_allocator allocator = faulty_allocator(&a);
        const tfm_text line = TEXT("abQ <2de>cab Xk");
        tfm_tokenizer *t = NULL, *copy = NULL;
        size_t size, ways = 3, ends[3];
        float scores[3];
        int32_t ids[64];
        status = tfm_tokenizer_from_text(&t, text_of(&f), &allocator, &error);
        if (status == TFM_OK) status = tfm_tokenizer_copy(&copy, t, &allocator, &error);
        if (status == TFM_OK) status = tfm_tokenizer_normalize(NULL, 0, &size, copy, line, &error);
        if (status == TFM_OK) status = tfm_tokenizer_encode(ids, 64, &size, copy, line, &error);
        if (status == TFM_OK) status = tfm_tokenizer_decode(NULL, 0, &size, copy, (tfm_ids){ids, size}, &error);
        if (status == TFM_OK && !_i)
            status = tfm_tokenizer_nbest(ids, 64, &size, ends, scores, &ways, copy, line, &error);
        if (status != TFM_OK) ck_assert(status == TFM_E_NOMEM && error.status == status);
        a.fail_at = SIZE_MAX;
        tfm_tokenizer_free(t);
        tfm_tokenizer_free(copy);
        ck_assert_uint_eq(a.live, 0);
    }
    ck_assert_uint_gt(n, 20);
}
END_TEST

START_TEST(it_is_not_learned_here)
{
    tfm_tokenizer_options o;
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = TFM_TOKENIZER_SENTENCEPIECE;
    ck_assert_status(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), TFM_E_UNSUPPORTED, error);
    ck_assert(strstr(error.message, "spm_train"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sentencepiece");
    TCase *c = tcase_create("sentencepiece");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, pieces_of_each_type, 0, sizeof cuts / sizeof *cuts);
    tcase_add_test(c, unused_pieces_are_taken_apart);
    tcase_add_test(c, special_ids_lie_where_the_file_has_them);
    tcase_add_loop_test(c, special_ids_of_the_other_kinds, 0, 2);
    tcase_add_test(c, the_best_ways_to_cut);
    tcase_add_test(c, normal_text);
    tcase_add_test(c, a_circle_of_rules_takes_no_longer);
    tcase_add_loop_test(c, c01_what_is_unknown_is_stable, 0, 6);
    tcase_add_loop_test(c, c03_without_rules_bytes_survive, 0, 3);
    tcase_add_loop_test(c, c04_nul_is_a_character, 0, 3);
    tcase_add_test(c, c05_a_model_file_keeps_it);
    tcase_add_test(c, a_model_takes_the_special_ids);
    tcase_add_test(c, a_model_needs_an_end);
    tcase_add_loop_test(c, bad_files_are_refused, 0, sizeof bad / sizeof *bad);
    tcase_add_loop_test(c, c32_damaged_files_are_survived, 0, 4);
    tcase_add_loop_test(c, c34_each_failed_allocation_is_survived, 0, 4);
    tcase_add_test(c, it_is_not_learned_here);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
