/* What callbacks are told while a translation runs. */
#include "decode/beam.h"
#include "decoder_models.h"

enum { BEAM = 3, STEPS = 12, EOS = 1 };

/* A hypothesis whose tokens are written out. */
typedef struct written {
    int32_t ids[STEPS];
    size_t n;
    double score;
} written;

static size_t common(const written *a, const written *b)
{
    size_t n = 0;

    while (n < a->n && n < b->n && a->ids[n] == b->ids[n]) n++;
    return n;
}

static uint32_t draw(uint64_t *h)
{
    *h = *h * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*h >> 33);
}

/* Random beams of random candidates, against hypotheses that carry all their tokens along. */
START_TEST(certain_is_what_all_have_in_common)
{
    const tfm_decoder_options o = {.beam = BEAM, .n_best = 1, .length_norm = TFM_LENGTH_NONE};
    static unsigned char memory[1 << 14];
    size_t grew = 0, stayed = 0;

    for (uint64_t trial = 0; trial < 300; trial++) {
        tfm_arena arena = {.base = memory, .size = sizeof memory};
        written alive[BEAM] = {{.n = 0}}, next[BEAM], best = {.score = -INFINITY};
        uint64_t h = trial;
        tfm_beam beam;
        tfm_beam_plan(&beam, &arena, &o, EOS, STEPS);
        ck_assert(!arena.bad);
        tfm_beam_start(&beam, 0);
        for (size_t before = 0; !beam.done;) {
            tfm_candidate candidates[2 * BEAM];
            size_t n = 0, live = 0;
            for (uint32_t i = 0; i < 2 * BEAM; i++) {
                const uint32_t row = draw(&h) % (uint32_t)beam.n_alive;
                const bool ends = n > 1 && draw(&h) % 16 == 0;
                candidates[n++] =
                    (tfm_candidate){-0.01 * (double)beam.steps - 0.001 * i, row, ends ? EOS : (int32_t)(2 + i)};
            }
            for (size_t i = 0; i < n; i++) {
                written w = alive[candidates[i].row];
                w.score = candidates[i].logprob;
                if (candidates[i].token == EOS) best = w.score > best.score ? w : best;
                else if (live < BEAM) {
                    w.ids[w.n++] = candidates[i].token;
                    next[live++] = w;
                }
            }
            memcpy(alive, next, sizeof alive);
            tfm_beam_extend(&beam, candidates, n);
            if (beam.done) break;
            size_t want = alive[0].n;
            for (size_t i = 1; i < live; i++)
                want = common(&alive[0], &alive[i]) < want ? common(&alive[0], &alive[i]) : want;
            if (best.score > -INFINITY && common(&alive[0], &best) < want) want = common(&alive[0], &best);
            ck_assert_uint_eq(tfm_beam_certain(&beam), want);
            int32_t ids[STEPS];
            tfm_beam_begins(&beam, ids, want);
            ck_assert_mem_eq(ids, alive[0].ids, want * sizeof *ids);
            ck_assert_uint_ge(want, before);
            grew += want > before;
            stayed += want == before;
            before = want;
        }
    }
    ck_assert(grew > 100 && stayed > 100);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- the decoder -- */

static const tfm_text texts[] = {LINE("the cat sat on the mat"), LINE("a cat sat. a dog sat. the cat sat"), LINE(" "),
                                 LINE("the dog sat on the log"), LINE("a cat and a dog")};
enum { N = 5, ROOM = 4096 };

typedef struct told {
    size_t partials[N], done[N], calls, cancel_at, n_done;
    int32_t ids[N][ROOM];
    size_t n_ids[N];
    char text[N][ROOM];
    size_t n_text[N], most; /* most: new ids of a call */
    tfm_decoder *want;
} told;

static int32_t hear_partial(void *user, const tfm_partial *p)
{
    told *t = user;
    const size_t s = p->sentence;

    ck_assert_uint_lt(s, N);
    ck_assert_uint_eq(t->done[s], 0);
    ck_assert(p->ids.size >= t->n_ids[s] && p->text.size >= t->n_text[s] && p->text.size < ROOM && p->ids.size < ROOM);
    if (p->ids.size) ck_assert(!memcmp(p->ids.data, t->ids[s], t->n_ids[s] * sizeof(int32_t)));
    if (p->text.size) ck_assert(!memcmp(p->text.data, t->text[s], t->n_text[s]));
    ck_assert_uint_eq(tfm_utf8_check(p->text), SIZE_MAX);
    if (t->partials[s]++ && p->ids.size - t->n_ids[s] > t->most) t->most = p->ids.size - t->n_ids[s];
    if (p->ids.size) memcpy(t->ids[s], p->ids.data, p->ids.size * sizeof(int32_t));
    memcpy(t->text[s], p->text.data, p->text.size);
    t->n_ids[s] = p->ids.size;
    t->n_text[s] = p->text.size;
    return t->calls++ == t->cancel_at;
}

static int32_t hear_sentence(void *user, const tfm_decoder *d, size_t s)
{
    told *t = user;
    const tfm_text text = tfm_decoder_text(d, s, 0);
    const tfm_ids ids = tfm_decoder_ids(d, s, 0);

    ck_assert_uint_eq(t->done[s]++, 0);
    t->n_done++;
    same_results(d, s, t->want, s);
    for (size_t rank = 0; rank < tfm_decoder_count(d, s); rank++)
        ck_assert_str_eq(tfm_decoder_text(d, s, rank).data, tfm_decoder_text(t->want, s, rank).data);
    ck_assert_uint_eq(tfm_decoder_parts(d, s), tfm_decoder_parts(t->want, s));
    ck_assert_uint_eq(text.size, t->n_text[s]); /* the last that partial was told of is all of it */
    if (text.size) ck_assert(!memcmp(text.data, t->text[s], text.size));
    ck_assert_uint_eq(ids.size, t->n_ids[s]);
    return t->calls++ == t->cancel_at;
}

static tfm_status stream(tfm_decoder *d, told *t, size_t cancel_at)
{
    tfm_decoder *want = t->want;
    tfm_request r;

    *t = (told){.cancel_at = cancel_at, .want = want};
    tfm_request_init(&r, sizeof r);
    r.n = N;
    r.lines = texts;
    r.partial = hear_partial;
    r.sentence = hear_sentence;
    r.user = t;
    return tfm_decoder_run(d, &r, &error);
}

static const struct {
    uint32_t beam, n_best;
    float temperature;
} ways[] = {{1, 1, 0}, {4, 2, 0}, {1, 1, 1}, {1, 3, 1}};

static tfm_decoder *streaming_decoder(const tfm_model *model, int way, uint32_t batch_tokens)
{
    tfm_decoder_options o = decoder_options(ways[way].beam);

    o.n_best = ways[way].n_best;
    o.temperature = ways[way].temperature;
    o.max_source = 10;
    o.long_source = TFM_LONG_SPLIT;
    o.batch_tokens = batch_tokens;
    return decoder_of(model, &o);
}

START_TEST(callbacks_are_told_what_is_certain)
{
    static told t;
    tfm_model *model = text_model_make();
    tfm_decoder *d = streaming_decoder(model, _i, _i % 2 ? 4096 : 20);

    t.want = streaming_decoder(model, _i, 4096);
    ck_assert_ok(tfm_decoder_translate(t.want, texts, N, &error), error);
    ck_assert_uint_gt(tfm_decoder_parts(t.want, 1), 1);
    ck_assert_ok(stream(d, &t, SIZE_MAX), error);
    ck_assert_uint_eq(t.n_done, N);
    for (size_t i = 0; i < N; i++) {
        same_results(d, i, t.want, i);
        ck_assert_uint_ge(t.partials[i], 1);
        if (ways[_i].beam == 1 && ways[_i].n_best == 1 && tfm_decoder_parts(d, i) == 1) /* each token, and the whole */
            ck_assert_uint_eq(t.partials[i], t.n_ids[i] + !t.n_ids[i]);
    }
    tfm_decoder_free(t.want);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(any_call_can_cancel)
{
    static told t;
    tfm_model *model = text_model_make();
    tfm_decoder *d = streaming_decoder(model, _i, 20);
    tfm_status status = TFM_E_CANCELLED;

    t.want = streaming_decoder(model, _i, 4096);
    ck_assert_ok(tfm_decoder_translate(t.want, texts, N, &error), error);
    for (size_t at = 0; status != TFM_OK; at += 3) {
        status = stream(d, &t, at);
        if (status == TFM_OK) break;
        ck_assert_status(status, TFM_E_CANCELLED, error);
        ck_assert_uint_eq(t.calls, at + 1);
        ck_assert_ptr_nonnull(strstr(error.message, "cancelled at sentence "));
        for (size_t i = 0; i < N; i++) ck_assert_uint_eq(tfm_decoder_count(d, i) + tfm_decoder_parts(d, i), 0);
    }
    ck_assert_uint_eq(t.n_done, N);
    tfm_decoder_free(t.want);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    static told t;
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(3);
    tfm_status status = TFM_E_NOMEM;
    size_t failures = 0;

    o.max_source = 10;
    o.long_source = TFM_LONG_SPLIT;
    t.want = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate(t.want, texts, N, &error), error);
    for (; status != TFM_OK; failures++) {
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        o.allocator = &a;
        tfm_decoder *d = decoder_of(model, &o);
        f.fail_at = f.calls + failures;
        status = stream(d, &t, SIZE_MAX);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        ck_assert_ok(stream(d, &t, SIZE_MAX), error); /* it can be used after the failure */
        tfm_decoder_free(d);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(failures, 20);
    tfm_decoder_free(t.want);
    tfm_model_free(model);
}
END_TEST

/* Their texts are not final before all are done. */
START_TEST(texts_that_change_later_are_not_told)
{
    static const tfm_text source = LINE("a cat"), placeholder = LINE("cat");
    static const size_t one = 1;
    const tfm_decoder_options o = decoder_options(4);
    tfm_model *model = text_model_make();
    tfm_decoder *d = decoder_of(model, &o);
    tfm_request r;

    tfm_request_init(&r, sizeof r);
    r.n = 1;
    r.lines = &source;
    r.n_placeholders = &one;
    r.placeholders = &placeholder;
    r.sentence = hear_sentence;
    ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_UNSUPPORTED, error);
    r.sentence = NULL;
    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* A model without tokenizer tells ids alone. */
static int32_t hear_ids(void *user, const tfm_partial *p)
{
    ck_assert_uint_eq(p->text.size, 0);
    *(size_t *)user += p->ids.size;
    return 0;
}

START_TEST(ids_come_without_a_tokenizer)
{
    static tfm_ids sentences[SENTENCES];
    const tfm_decoder_options o = decoder_options(2);
    tfm_model *model = model_make();
    tfm_decoder *d = decoder_of(model, &o);
    size_t heard = 0;
    tfm_request r;

    sentences_make(sentences);
    tfm_request_init(&r, sizeof r);
    r.n = 20;
    r.sources = sentences;
    r.partial = hear_ids;
    r.user = &heard;
    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
    ck_assert_uint_gt(heard, 100);
    heard = 0;
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, 20, &error), error); /* the next call asks for nothing */
    ck_assert_uint_eq(heard, 0);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* Bytes of a character come one by one; its text comes when it is whole. */
static int32_t hear_characters(void *user, const tfm_partial *p)
{
    size_t *calls = user;

    calls[0]++;
    if (p->ids.size > calls[2]) return 0; /* behind the prefix anything may come */
    for (size_t i = 0; i < p->text.size; i++) ck_assert_int_ne((unsigned char)p->text.data[i], 0xEF); /* no U+FFFD */
    calls[1] += p->text.size % 2; /* an umlaut has two bytes */
    return 0;
}

START_TEST(characters_come_whole)
{
    static const tfm_text source[] = {LINE("a cat")},
                          prefix[] = {LINE("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6\xC3\xBC")};
    tfm_decoder_options o = decoder_options(1);
    tfm_model *model = text_model_make();
    size_t calls[3] = {0}, n;
    tfm_request r;

    ck_assert_ok(tfm_tokenizer_encode(NULL, 0, &n, tfm_model_tokenizer(model), prefix[0], &error), error);
    ck_assert_uint_gt(n, 12); /* bytes, and the space before */
    calls[2] = n;
    o.max_length = (uint32_t)n + 1;
    tfm_decoder *d = decoder_of(model, &o);
    tfm_request_init(&r, sizeof r);
    r.n = 1;
    r.lines = source;
    r.prefix_lines = prefix;
    r.partial = hear_characters;
    r.user = calls;
    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
    ck_assert_uint_ge(calls[0], n);
    ck_assert_uint_eq(calls[1], 0);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

static Suite *stream_suite(void)
{
    Suite *suite = suite_create("stream");
    TCase *tc = tcase_create("stream");

    tcase_add_test(tc, certain_is_what_all_have_in_common);
    tcase_add_loop_test(tc, callbacks_are_told_what_is_certain, 0, sizeof ways / sizeof *ways);
    tcase_add_loop_test(tc, any_call_can_cancel, 0, sizeof ways / sizeof *ways);
    tcase_add_test(tc, every_allocation_may_fail);
    tcase_add_test(tc, texts_that_change_later_are_not_told);
    tcase_add_test(tc, ids_come_without_a_tokenizer);
    tcase_add_test(tc, characters_come_whole);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(stream_suite)
