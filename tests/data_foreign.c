/* Real models of other systems against what those systems published or printed. */
#include "testing.h"

#include <jansson.h>
#include <math.h>

enum { MOST = 256 };

static tfm_error error;

static tfm_model *load(const char *name)
{
    char path[TESTING_PATH];
    tfm_model *model;

    ck_assert_ok(tfm_model_load(&model, data_path(path, name), NULL, &error), error);
    return model;
}

static tfm_decoder *decoder_of(const tfm_model *model, uint32_t beam, uint32_t n_best, float alpha)
{
    tfm_decoder_options o;
    tfm_decoder *d;

    tfm_decoder_options_init(&o, sizeof o);
    o.beam = beam;
    o.n_best = n_best;
    o.alpha = alpha;
    o.length_norm = TFM_LENGTH_MARIAN;
    ck_assert_ok(tfm_decoder_create(&d, model, &o, &error), error);
    return d;
}

/* ---------------------------------------------------------------------------------------------- CTranslate2 ---- */

#define ARABIC "models/ct2/v2/aren-transliteration"

static lines vocabulary(const char *name)
{
    char path[TESTING_PATH];

    return lines_read(data_path(path, name));
}

/* The last id is <unk>, which the files do not list. */
static int32_t id_of(const lines *vocab, tfm_text token)
{
    for (size_t i = 0; i < vocab->count; i++)
        if (vocab->line[i].size == token.size && !memcmp(vocab->line[i].data, token.data, token.size))
            return (int32_t)i;
    return (int32_t)vocab->count;
}

/* One token for each character of a text, or for each string of an array. */
static tfm_ids tokens(const lines *vocab, const json_t *value, int32_t *ids)
{
    const char *text = json_string_value(value);
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *token = json_string_value(json_array_get(value, i));
        ids[n++] = id_of(vocab, (tfm_text){token, strlen(token)});
    }
    for (size_t size; text && *text; text += size) {
        for (size = 1; (text[size] & 0xC0) == 0x80; size++) continue;
        ids[n++] = id_of(vocab, (tfm_text){text, size});
    }
    ck_assert_uint_le(n, MOST);
    return (tfm_ids){ids, n};
}

static json_t *json_line(tfm_text line)
{
    json_t *value = json_loadb(line.data, line.size, 0, NULL);

    ck_assert_ptr_nonnull(value);
    return value;
}

typedef struct arabic {
    lines source, target, gold, published;
    tfm_model *model;
    int32_t ids[2][MOST];
} arabic;

static arabic arabic_begin(const char *model)
{
    return (arabic){vocabulary(ARABIC "/source_vocabulary.txt"),
                    vocabulary(ARABIC "/target_vocabulary.txt"),
                    vocabulary("models/ct2/aren_numpy_gold.jsonl"),
                    vocabulary("models/ct2/aren_published_cases.jsonl"),
                    load(model),
                    {{0}}};
}

static void arabic_end(arabic *a)
{
    tfm_model_free(a->model);
    lines_free(&a->source);
    lines_free(&a->target);
    lines_free(&a->gold);
    lines_free(&a->published);
}

static void check_logprobs(tfm_decoder *d, tfm_ids source, tfm_ids target, const json_t *want, double bound)
{
    size_t n;

    ck_assert_ok(tfm_decoder_logprobs_ids(d, &source, &target, 1, &error), error);
    const float *got = tfm_decoder_token_logprobs(d, 0, &n);
    ck_assert_uint_eq(n, json_array_size(want));
    for (size_t i = 0; i < n; i++)
        ck_assert_double_eq_tol((double)got[i], json_number_value(json_array_get(want, i)), bound);
}

static size_t check_published_scores(arabic *a, tfm_decoder *d, double bound)
{
    size_t checked = 0;

    for (size_t i = 0; i < a->published.count; i++) {
        json_t *c = json_line(a->published.line[i]);
        const json_t *want = json_object_get(c, "token_logprobs");
        if (want) {
            const tfm_ids source = tokens(&a->source, json_object_get(c, "src"), a->ids[0]);
            check_logprobs(d, source, tokens(&a->target, json_object_get(c, "tgt"), a->ids[1]), want, bound);
            checked++;
        }
        json_decref(c);
    }
    return checked;
}

/* Results in the order of their ranks; texts are sequences of one-character tokens. Returns how many agree. */
static size_t check_results(arabic *a, const tfm_decoder *d, const json_t *results, double bound)
{
    size_t same = 0;

    for (size_t rank = 0; rank < json_array_size(results); rank++) {
        const json_t *result = json_array_get(results, rank);
        const tfm_ids want = tokens(&a->target, json_array_get(result, 0), a->ids[1]),
                      got = tfm_decoder_ids(d, 0, rank);
        const double score = json_number_value(json_array_get(result, 1));
        same += got.size == want.size + 1 && !memcmp(got.data, want.data, want.size * sizeof *want.data) &&
                fabs(tfm_decoder_score(d, 0, rank) - score) <= bound;
    }
    return same;
}

START_TEST(ct2_float_model_reproduces_scores_and_translations)
{
    arabic a = arabic_begin(ARABIC "/model.bin");
    tfm_decoder *greedy = decoder_of(a.model, 1, 1, 0.0f), *beam = decoder_of(a.model, 4, 4, 0.0f);
    tfm_model_options o;

    tfm_model_get_options(&o, sizeof o, a.model);
    ck_assert(o.pad_id == 0 && o.bos_id == 1 && o.eos_id == 2 && o.plain_source && o.vocab_size == 43);
    ck_assert_uint_ge(check_published_scores(&a, greedy, 1e-5), 4);
    for (size_t i = 0; i < a.gold.count; i++) {
        json_t *g = json_line(a.gold.line[i]);
        const tfm_ids source = tokens(&a.source, json_object_get(g, "src"), a.ids[0]);
        tfm_ids target = tokens(&a.target, json_object_get(g, "greedy"), a.ids[1]);
        a.ids[1][target.size++] = 2;
        check_logprobs(greedy, source, target, json_object_get(g, "greedy_token_logprobs"), 1e-4);
        ck_assert_ok(tfm_decoder_translate_ids(greedy, &source, 1, &error), error);
        ck_assert_uint_eq(tfm_decoder_ids(greedy, 0, 0).size, target.size);
        ck_assert_mem_eq(tfm_decoder_ids(greedy, 0, 0).data, target.data, target.size * sizeof *target.data);
        ck_assert_ok(tfm_decoder_translate_ids(beam, &source, 1, &error), error);
        const json_t *results = json_object_get(g, "beam4_sum_logprob");
        ck_assert_uint_eq(check_results(&a, beam, results, 1e-4), json_array_size(results));
        json_decref(g);
    }
    tfm_decoder_free(greedy);
    tfm_decoder_free(beam);
    arabic_end(&a);
}
END_TEST

/* What a published case asks for; lengths there do not count the end. */
static tfm_decoder *decoder_for(const arabic *a, const json_t *options, uint32_t beam, float alpha, tfm_ids *forbidden,
                                int32_t *ids)
{
    const json_t *suppressed = json_object_get(options, "suppress_sequences");
    const json_t *shortest = json_object_get(options, "min_decoding_length");
    tfm_decoder_options o;
    tfm_decoder *d;

    tfm_decoder_options_init(&o, sizeof o);
    o.beam = beam;
    o.alpha = alpha;
    o.length_norm = TFM_LENGTH_MARIAN;
    o.max_length = (uint32_t)json_integer_value(json_object_get(options, "max_decoding_length"));
    o.min_length = shortest ? (uint32_t)json_integer_value(shortest) + 1 : 0;
    o.alignment = TFM_ALIGNMENT_OUTPUT;
    o.alignment_head = 1;
    o.forbidden = forbidden;
    o.n_forbidden = json_array_size(suppressed);
    for (size_t i = 0; i < o.n_forbidden; ids += forbidden[i++].size)
        forbidden[i] = tokens(&a->target, json_array_get(suppressed, i), ids);
    ck_assert_ok(tfm_decoder_create(&d, a->model, &o, &error), error);
    return d;
}

/* In place of <unk> stands the source's token that it is aligned with. */
static void check_replaced(const arabic *a, const tfm_decoder *d, tfm_ids source, const char *want)
{
    size_t rows, cols, best = 0;
    const float *weights = tfm_decoder_alignment(d, 0, 0, TFM_ALIGNMENT_TOKENS, &rows, &cols);

    ck_assert_uint_eq(cols, source.size);
    for (size_t i = 1; i < cols; i++)
        if (weights[i] > weights[best]) best = i;
    ck_assert_int_eq(source.data[best], id_of(&a->source, (tfm_text){want, strlen(want)}));
}

/* The published translation, or its length, by a beam. */
static void check_case(arabic *a, const json_t *c, uint32_t beam)
{
    const json_t *options = json_object_get(c, "options"), *expected = json_object_get(c, "expected");
    const bool replaced = json_object_get(options, "replace_unknowns") != NULL;
    int32_t prefix_ids[MOST], forbidden_ids[MOST];
    tfm_ids forbidden[8];
    const tfm_ids source = tokens(&a->source, json_object_get(c, "src"), a->ids[0]),
                  prefix = tokens(&a->target, json_object_get(c, "prefix"), prefix_ids);
    const bool unlikely = beam > 1 && prefix.size && prefix.data[0] == id_of(&a->target, (tfm_text){"<unk>", 5});
    /* there a prefix has probability 1; ours has its own, of which a length penalty would leave less to long results */
    tfm_decoder *d = decoder_for(a, options, beam, unlikely ? 0.0f : 1.0f, forbidden, forbidden_ids);
    const tfm_request request = {.struct_size = sizeof request, .n = 1, .sources = &source, .prefixes = &prefix};

    ck_assert_ok(tfm_decoder_run(d, &request, &error), error);
    tfm_ids want = tokens(&a->target, expected, a->ids[1]), got = tfm_decoder_ids(d, 0, 0);
    if (got.size && got.data[got.size - 1] == 2 && (!want.size || want.data[want.size - 1] != 2)) got.size--;
    const size_t size = expected ? want.size : (size_t)json_integer_value(json_object_get(c, "expected_len"));
    ck_assert_msg(got.size == size, "%s, beam %u: %zu tokens, want %zu", json_string_value(json_object_get(c, "id")),
                  beam, got.size, size);
    for (size_t i = replaced; expected && i < size; i++) ck_assert_int_eq(got.data[i], want.data[i]);
    if (replaced) check_replaced(a, d, source, json_string_value(json_array_get(expected, 0)));
    tfm_decoder_free(d);
}

START_TEST(ct2_published_translations)
{
    arabic a = arabic_begin(ARABIC "/model.bin");
    size_t checked = 0;

    for (size_t i = 0; i < a.published.count; i++) {
        json_t *c = json_line(a.published.line[i]);
        const json_t *beams = json_object_get(c, "beams");
        const bool said = json_object_get(c, "expected") || json_object_get(c, "expected_len");
        const bool other_end =
            json_object_get(json_object_get(c, "options"), "end_token") != NULL; /* not ours to set */
        for (size_t k = 0; said && !other_end && k < json_array_size(beams); k++, checked++)
            check_case(&a, c, (uint32_t)json_integer_value(json_array_get(beams, k)));
        json_decref(c);
    }
    ck_assert_uint_eq(checked, 21);
    arabic_end(&a);
}
END_TEST

/* Rounding the weights costs this much, and changes the translation of hardly a name. */
START_TEST(ct2_integer_models_are_near_the_float_one)
{
    static const struct {
        const char *model;
        double bound;
        size_t same;
    } cases[] = {{ARABIC "-i16/model.bin", 0.01, 39}, {ARABIC "-i8/model.bin", 0.25, 34}};
    arabic a = arabic_begin(cases[_i].model);
    tfm_decoder *d = decoder_of(a.model, 1, 1, 0.0f);
    size_t same = 0;

    check_published_scores(&a, d, cases[_i].bound);
    for (size_t i = 0; i < a.gold.count; i++) {
        json_t *g = json_line(a.gold.line[i]);
        const tfm_ids source = tokens(&a.source, json_object_get(g, "src"), a.ids[0]);
        const tfm_ids want = tokens(&a.target, json_object_get(g, "greedy"), a.ids[1]);
        ck_assert_ok(tfm_decoder_translate_ids(d, &source, 1, &error), error);
        const tfm_ids got = tfm_decoder_ids(d, 0, 0);
        same += got.size == want.size + 1 && !memcmp(got.data, want.data, want.size * sizeof *want.data);
        json_decref(g);
    }
    ck_assert_uint_ge(same, cases[_i].same);
    tfm_decoder_free(d);
    arabic_end(&a);
}
END_TEST

static void check_attention(tfm_decoder *d, const json_t *layers, tfm_ids source, tfm_ids target, uint32_t kind)
{
    for (uint32_t layer = 0; layer < 6; layer++)
        for (uint32_t head = 0; head < 8; head++) {
            const json_t *rows = json_array_get(json_array_get(layers, layer), head);
            const float *weights;
            size_t m, n;
            ck_assert_ok(tfm_decoder_attention(&weights, &m, &n, d, source, target, kind, layer, head, &error), error);
            ck_assert_uint_eq(m, json_array_size(rows));
            for (size_t i = 0; i < m * n; i++) {
                const double want = json_number_value(json_array_get(json_array_get(rows, i / n), i % n));
                ck_assert_double_eq_tol((double)weights[i], want, 1e-5);
            }
        }
}

START_TEST(ct2_attention_is_that_of_the_trace)
{
    char path[TESTING_PATH];
    size_t size;
    char *text = file_read(data_path(path, "models/ct2/aren_trace_atzmon.json.gz"), &size);
    json_t *trace = json_line((tfm_text){text, size});
    tfm_model *model = load(ARABIC "/model.bin");
    tfm_decoder *d = decoder_of(model, 1, 1, 0.0f);
    const json_t *inputs = json_object_get(trace, "tgt_in_ids");
    int32_t source[MOST], target[MOST];
    const size_t m = json_array_size(json_object_get(trace, "src_ids")), n = json_array_size(inputs);

    for (size_t i = 0; i < m; i++)
        source[i] = (int32_t)json_integer_value(json_array_get(json_object_get(trace, "src_ids"), i));
    for (size_t i = 1; i < n; i++) target[i - 1] = (int32_t)json_integer_value(json_array_get(inputs, i));
    target[n - 1] = 2; /* what the last input predicts */
    check_attention(d, json_object_get(trace, "enc_self_attn"), (tfm_ids){source, m}, (tfm_ids){target, n},
                    TFM_ATTENTION_ENCODER);
    check_attention(d, json_object_get(trace, "dec_self_attn"), (tfm_ids){source, m}, (tfm_ids){target, n},
                    TFM_ATTENTION_DECODER);
    check_attention(d, json_object_get(trace, "cross_attn"), (tfm_ids){source, m}, (tfm_ids){target, n},
                    TFM_ATTENTION_CROSS);
    json_decref(trace);
    free(text);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* --------------------------------------------------------------------------------------------------- Marian ---- */

/* Numbers of a line, and EOS, which is 0. */
static tfm_ids read_ids(tfm_text line, int32_t *ids)
{
    size_t n = 0;

    for (const char *at = line.data, *end = line.data + line.size; at < end && n < MOST - 1; at++, n++) {
        char *next;
        ids[n] = (int32_t)strtol(at, &next, 10);
        at = next;
    }
    ids[n++] = 0;
    return (tfm_ids){ids, n};
}

START_TEST(marian_scores_of_references)
{
    lines sources = vocabulary("models/marian/src.ids"), targets = vocabulary("models/marian/ref.ids");
    lines scores = vocabulary("models/marian/ref.scores");
    tfm_model *model = load("models/marian/model.npz");
    tfm_decoder *d = decoder_of(model, 1, 1, 0.0f);
    int32_t ids[2][MOST];

    ck_assert_uint_eq(sources.count, 200);
    for (size_t i = 0; i < sources.count; i++) {
        const tfm_ids source = read_ids(sources.line[i], ids[0]), target = read_ids(targets.line[i], ids[1]);
        const char *at = scores.line[i].data;
        size_t n;
        ck_assert_ok(tfm_decoder_logprobs_ids(d, &source, &target, 1, &error), error);
        ck_assert_double_eq_tol(tfm_decoder_pair_logprob(d, 0), strtod(at, NULL), 1e-4);
        const float *got = tfm_decoder_token_logprobs(d, 0, &n);
        at = strstr(at, "WordScores=") + 11;
        for (size_t k = 0; k < n; k++) {
            char *next;
            ck_assert_double_eq_tol((double)got[k], strtod(at, &next), 1e-4);
            at = next;
        }
    }
    lines_free(&sources);
    lines_free(&targets);
    lines_free(&scores);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* Does a line of Marian's n-best list hold the pieces of these ids, and this score at its end? */
static bool same_result(tfm_text line, const tfm_tokenizer *vocab, tfm_ids ids, double score)
{
    const char *at = strstr(line.data, " ||| ");
    const char *end = line.data + line.size;

    while (end > line.data && end[-1] != ' ') end--;
    for (size_t i = 0; at && i + 1 < ids.size; i++) {
        at = i ? at + 1 : at + 5;
        const tfm_text piece = tfm_tokenizer_token(vocab, ids.data[i]);
        if (strncmp(at, piece.data, piece.size) != 0) return false;
        at += piece.size;
        if (*at != ' ') return false;
    }
    return at && ids.size > 1 && !strncmp(at, " ||| WordScores", 15) && fabs(strtod(end, NULL) - score) <= 1e-3;
}

/*
 * Marian's beam and ours are not the same search: of 200 lines, this many have the same best result and score. Text
 * becomes the ids that Marian made of it.
 */
static void check_search(uint32_t beam, float alpha, const char *name, size_t least)
{
    lines ids_lines = vocabulary("models/marian/src.ids"), sources = vocabulary("models/marian/src.en"),
          results = vocabulary(name);
    tfm_model *model = load("models/marian/model.npz");
    const tfm_tokenizer *vocab = tfm_model_tokenizer(model);
    tfm_decoder *d = decoder_of(model, beam, 1, alpha);
    int32_t ids[MOST], want[MOST];
    size_t same = 0, line = 0, n;

    ck_assert_ok(tfm_decoder_translate(d, sources.line, sources.count, &error), error);
    for (size_t i = 0; i < sources.count; i++) {
        const tfm_ids expected = read_ids(ids_lines.line[i], want);
        ck_assert_ok(tfm_tokenizer_encode(ids, MOST, &n, vocab, sources.line[i], &error), error);
        ck_assert_uint_eq(n + 1, expected.size);
        ck_assert_mem_eq(ids, want, n * sizeof *ids);
        while (line < results.count && (size_t)strtol(results.line[line].data, NULL, 10) < i) line++;
        same += same_result(results.line[line], vocab, tfm_decoder_ids(d, i, 0), tfm_decoder_score(d, i, 0));
    }
    ck_assert_msg(same >= least, "beam %u, norm %g: %zu of %zu", beam, (double)alpha, same, sources.count);
    lines_free(&ids_lines);
    lines_free(&sources);
    lines_free(&results);
    tfm_decoder_free(d);
    tfm_model_free(model);
}

START_TEST(marian_translations)
{
    check_search(1, 0.0f, "models/marian/out.b1.nbest.pieces.gz",
                 199); /* the other one repeats itself until it is cut off */
    check_search(4, 0.0f, "models/marian/out.b4.norm0.nbest.pieces.gz", 200);
    check_search(4, 0.6f, "models/marian/out.b4.norm0.6.nbest.pieces.gz", 200);
}
END_TEST

/* The text of all translations, as Marian wrote it. */
START_TEST(marian_translations_as_text)
{
    lines sources = vocabulary("models/marian/src.en"), want = vocabulary("models/marian/out.b4.norm0.6.de");
    tfm_model *model = load("models/marian/model.npz");
    tfm_decoder *d = decoder_of(model, 4, 1, 0.6f);
    size_t same = 0;

    ck_assert_ok(tfm_decoder_translate(d, sources.line, sources.count, &error), error);
    for (size_t i = 0; i < sources.count; i++) {
        const tfm_text got = tfm_decoder_text(d, i, 0);
        same += got.size == want.line[i].size && !memcmp(got.data, want.line[i].data, got.size);
    }
    ck_assert_uint_eq(same, sources.count);
    lines_free(&sources);
    lines_free(&want);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("models of others");
    TCase *c = tcase_create("models of others");

    tcase_add_test(c, ct2_float_model_reproduces_scores_and_translations);
    tcase_add_test(c, ct2_published_translations);
    tcase_add_loop_test(c, ct2_integer_models_are_near_the_float_one, 0, 2);
    tcase_add_test(c, ct2_attention_is_that_of_the_trace);
    tcase_add_test(c, marian_scores_of_references);
    tcase_add_test(c, marian_translations);
    tcase_add_test(c, marian_translations_as_text);
    suite_add_tcase(s, c);
    return s;
}

TESTING_DATA_MAIN(suite, "models")
