/*
 * Any request to any decoder: refused, or results that keep to it. Bytes choose the model, the decoder's options and
 * the request: lines or ids with their prefixes, terms, placeholders and callbacks, some of them what no caller should
 * give. It is run again, in other batches and after a lack of memory, and must come out the same.
 */
#include "fuzz_memory.h"
#include "fuzz_texts.h"

#include <math.h>

enum {
    SENTENCES = 4,
    MOST_BYTES = 40, /* of a line */
    MOST_IDS = 12,   /* of a source, a prefix or a term given as ids */
    MOST_TERMS = 6,  /* of a sentence */
    MOST_OUTPUT = 4096,
};

/* --------------------------------------------------------------------------------------------------- the input -- */

typedef struct input {
    const uint8_t *data;
    size_t size;
    bool wild; /* values that are refused come, too */
} input;

/* 0 .. n - 1; 0 when the input has ended, so that a short one is a plain request. */
static uint32_t draw(input *in, uint32_t n)
{
    if (!in->size) return 0;
    in->size--;
    return *in->data++ % n;
}

/* least .. most, or now and then what is out of range or as large as can be. */
static uint32_t draw_number(input *in, uint32_t least, uint32_t most)
{
    static const uint32_t odd[] = {0, 1, INT32_MAX, UINT32_MAX};
    const uint32_t x = draw(in, 256);

    return in->wild && x >= 250 ? odd[x % 4] : least + x % (most - least + 1);
}

/* 0 as often as not. */
static float draw_float(input *in)
{
    static const float values[] = {0.5f,  1,      1.5f, 2,     0.1f, 0.9f, 4,        10,
                                   1e38f, 1e-38f, 1e9f, -0.0f, NAN,  -1,   INFINITY, -INFINITY};
    const uint32_t x = draw(in, 32);

    return x < 16 ? 0 : values[(x - 16) % (in->wild ? 16 : 12)];
}

/* ---------------------------------------------------------------------------------------------------- models ---- */

/* Random weights give flat distributions; these do not, and EOS comes now and then. */
static tfm_model *sharpened(const tfm_model_options *o, const tfm_tokenizer *t)
{
    static tfm_parameter parameters[128];
    tfm_model *first, *model;

    FUZZ_REQUIRE(tfm_model_create(&first, o, t, NULL) == TFM_OK);
    const size_t n = tfm_model_parameter_count(first);
    for (size_t i = 0; i < n; i++) {
        FUZZ_REQUIRE(n <= 128 && tfm_model_parameter_at(&parameters[i], first, i, NULL) == TFM_OK);
        const size_t size = (size_t)parameters[i].shape[0] * parameters[i].shape[1];
        float *to = malloc(size * sizeof *to);
        FUZZ_REQUIRE(to != NULL);
        for (size_t k = 0; k < size; k++) to[k] = parameters[i].data[k] * (parameters[i].rank == 2 ? 3 : 1);
        if (!strcmp(parameters[i].name, "output.bias")) to[TFM_EOS] = 3;
        parameters[i].data = to;
    }
    FUZZ_REQUIRE(tfm_model_create_from(&model, o, t, parameters, n, NULL) == TFM_OK);
    for (size_t i = 0; i < n; i++) free((float *)(uintptr_t)parameters[i].data);
    tfm_model_free(first);
    return model;
}

static tfm_tokenizer *tokenizer_of(uint32_t kind)
{
    tfm_tokenizer_options o;
    tfm_tokenizer *t;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = kind;
    o.vocab_size = 270;
    o.merges = 8;
    FUZZ_REQUIRE(tfm_tokenizer_learn(&t, &o, fuzz_corpus, FUZZ_CORPUS, NULL) == TFM_OK);
    return t;
}

static tfm_tokenizer *pair_make(void)
{
    tfm_tokenizer *source = tokenizer_of(TFM_TOKENIZER_SUBWORD_NMT), *target = tokenizer_of(TFM_TOKENIZER_BPE), *pair;

    FUZZ_REQUIRE(tfm_tokenizer_pair(&pair, source, target, NULL, NULL) == TFM_OK);
    tfm_tokenizer_free(source);
    tfm_tokenizer_free(target);
    return pair;
}

enum { IDS = 3, PAIR, MODELS };

/* Of each kind of tokenizer, the second with more ids than it, the third with few positions; of ids alone; of two. */
static const tfm_model *model_of(uint32_t which)
{
    static const uint32_t kinds[] = {TFM_TOKENIZER_BPE, TFM_TOKENIZER_SUBWORD_NMT, TFM_TOKENIZER_WORDPIECE};
    static tfm_model *models[MODELS];
    tfm_model_options o;

    if (models[which]) return models[which];
    tfm_tokenizer *t = which == PAIR ? pair_make() : which == IDS ? NULL : tokenizer_of(kinds[which]);
    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 1 + which % 2;
    o.d_model = 8;
    o.d_ff = 8;
    o.n_heads = 2;
    o.softmax_bias = 1;
    o.vocab_size = t ? tfm_tokenizer_vocab_size(t) + 3 * (which == 1) : 12;
    if (which == PAIR) {
        o.sharing = TFM_SHARE_NONE;
        o.source_vocab_size = tfm_tokenizer_vocab_size(t);
        o.vocab_size = tfm_tokenizer_vocab_size(tfm_tokenizer_target(t));
    }
    if (which == 2) {
        o.positions = TFM_POSITIONS_LEARNED;
        o.max_positions = 24;
    }
    models[which] = sharpened(&o, t);
    tfm_tokenizer_free(t);
    return models[which];
}

/* --------------------------------------------------------------------------------------------------- the request -- */

typedef struct sequences {
    tfm_ids items[SENTENCES * MOST_TERMS];
    int32_t ids[SENTENCES * MOST_TERMS][MOST_IDS];
} sequences;

typedef struct texts {
    tfm_text items[SENTENCES * MOST_TERMS];
    char bytes[SENTENCES * MOST_TERMS][MOST_BYTES];
} texts;

typedef struct request {
    tfm_request r;
    texts lines, prefix_lines, term_lines, placeholders;
    sequences sources, prefixes, terms;
    size_t n_terms[SENTENCES], n_placeholders[SENTENCES], term_times[SENTENCES * MOST_TERMS];
    /* what callbacks were told */
    size_t cancel_at, calls, done[SENTENCES], n_ids[SENTENCES], n_text[SENTENCES];
    int32_t ids[SENTENCES][MOST_OUTPUT];
    char text[SENTENCES][MOST_OUTPUT];
} request;

/* Words of the corpus, or any bytes; rarely bytes at NULL. */
static tfm_text draw_text(input *in, char *to, uint32_t least, uint32_t most)
{
    const uint32_t kind = draw(in, 32);
    uint32_t n = draw_number(in, least, most) % (most + 1);

    if (in->wild && kind == 31) return (tfm_text){NULL, n};
    const tfm_text from = fuzz_corpus[kind % FUZZ_CORPUS];
    const uint32_t at = kind < 28 ? draw(in, (uint32_t)from.size) : 0;
    if (kind < 28 && n > from.size - at) n = (uint32_t)(from.size - at);
    for (uint32_t i = 0; i < n; i++) to[i] = kind < 28 ? from.data[at + i] : (char)draw(in, 256);
    return (tfm_text){to, n};
}

static tfm_ids draw_ids(input *in, int32_t *to, uint32_t vocab, uint32_t least, uint32_t most)
{
    const uint32_t n = draw_number(in, least, most) % (most + 1), kind = draw(in, 32);

    for (uint32_t i = 0; i < n; i++) to[i] = (int32_t)(TFM_UNK + draw(in, 256) % (vocab - TFM_UNK));
    if (in->wild && kind == 31 && n) to[n - 1] = (int32_t)draw_number(in, 0, vocab);
    return (tfm_ids){in->wild && kind == 30 ? NULL : to, n};
}

static void draw_texts(texts *to, input *in, size_t n, uint32_t least, uint32_t most)
{
    for (size_t i = 0; i < n; i++) to->items[i] = draw_text(in, to->bytes[i], least, most);
}

static void draw_sequences(sequences *to, input *in, size_t n, uint32_t vocab, uint32_t least, uint32_t most)
{
    for (size_t i = 0; i < n; i++) to->items[i] = draw_ids(in, to->ids[i], vocab, least, most);
}

static size_t draw_counts(input *in, size_t *to, size_t n)
{
    size_t total = 0;

    for (size_t i = 0; i < n; i++) total += to[i] = draw(in, MOST_TERMS);
    return total;
}

/* Pieces of the lines, each once: what placeholders should be. */
static void draw_placeholders(request *q, input *in)
{
    size_t at = 0;

    for (size_t s = 0; s < q->r.n; s++) {
        const tfm_text line = q->r.lines[s];
        q->n_placeholders[s] = draw(in, 3);
        for (size_t i = 0; i < q->n_placeholders[s]; i++) {
            const uint32_t begin = draw(in, (uint32_t)line.size + 1);
            const size_t left = line.size - begin, size = draw_number(in, 1, 6);
            q->placeholders.items[at++] = (tfm_text){line.data ? line.data + begin : NULL, size < left ? size : left};
        }
    }
    q->r.n_placeholders = q->n_placeholders;
    q->r.placeholders = q->placeholders.items;
}

static int32_t hear_partial(void *user, const tfm_partial *p)
{
    request *q = user;
    const size_t s = p->sentence;

    FUZZ_REQUIRE(s < q->r.n && !q->done[s] && p->ids.size <= MOST_OUTPUT && p->text.size <= MOST_OUTPUT);
    FUZZ_REQUIRE(p->ids.size >= q->n_ids[s] && p->text.size >= q->n_text[s]);
    FUZZ_REQUIRE(!q->n_ids[s] || !memcmp(p->ids.data, q->ids[s], q->n_ids[s] * sizeof(int32_t)));
    FUZZ_REQUIRE(!q->n_text[s] || !memcmp(p->text.data, q->text[s], q->n_text[s]));
    FUZZ_REQUIRE(tfm_utf8_check(p->text) == SIZE_MAX);
    for (size_t i = 0; i < p->ids.size; i++) q->ids[s][i] = p->ids.data[i];
    if (p->text.size) memcpy(q->text[s], p->text.data, p->text.size);
    q->n_ids[s] = p->ids.size;
    q->n_text[s] = p->text.size;
    return ++q->calls == q->cancel_at;
}

static int32_t hear_sentence(void *user, const tfm_decoder *d, size_t s)
{
    request *q = user;

    FUZZ_REQUIRE(s < q->r.n && !q->done[s]++ && tfm_decoder_count(d, s) > 0 && tfm_decoder_parts(d, s) > 0);
    return ++q->calls == q->cancel_at;
}

static void draw_source(request *q, input *in, const tfm_model_options *m, bool text)
{
    if (text) {
        draw_texts(&q->lines, in, q->r.n, 0, MOST_BYTES);
        q->r.lines = q->lines.items;
    } else {
        draw_sequences(&q->sources, in, q->r.n, m->source_vocab_size, 0, MOST_IDS);
        q->r.sources = q->sources.items;
    }
}

static void draw_prefixes(request *q, input *in, const tfm_model_options *m, uint32_t which)
{
    if (which == 1) {
        draw_texts(&q->prefix_lines, in, q->r.n, 0, 6);
        q->r.prefix_lines = q->prefix_lines.items;
    } else if (which == 2) {
        draw_sequences(&q->prefixes, in, q->r.n, m->vocab_size, 0, 3);
        q->r.prefixes = q->prefixes.items;
    }
}

static void draw_terms(request *q, input *in, const tfm_model_options *m, uint32_t which)
{
    if (!which) return;
    const size_t total = draw_counts(in, q->n_terms, q->r.n);

    q->r.n_terms = q->n_terms;
    if (which == 1) draw_texts(&q->term_lines, in, total, 1, 6);
    if (which == 1) q->r.term_lines = q->term_lines.items;
    if (which > 1) draw_sequences(&q->terms, in, total, m->vocab_size, 1, 3);
    if (which > 1) q->r.terms = q->terms.items;
    if (!draw(in, 2)) return;
    for (size_t i = 0; i < total; i++) q->term_times[i] = in->wild && !draw(in, 16) ? SIZE_MAX : draw(in, 3);
    q->r.term_times = q->term_times;
}

/* A caller who knows only the first bytes. */
static void know_less(tfm_request *r, uint32_t n)
{
    r->struct_size = n;
    for (size_t i = n > sizeof r->struct_size ? n : sizeof r->struct_size; i < sizeof *r; i++) ((char *)r)[i] = 0;
}

/* What no caller should give, and what only old ones do. */
static void spoil(tfm_request *r, input *in)
{
    switch (draw(in, 16)) {
    case 1: r->lines = NULL, r->sources = NULL; break;
    case 2: r->placeholders = NULL; break;
    case 3: r->terms = NULL, r->term_lines = NULL; break;
    case 4: r->reserved = draw(in, 3); break;
    case 5: know_less(r, 8 * draw(in, sizeof *r / 8 + 1)); break;
    case 6:
        if (!r->lines || r->n_terms || r->n_placeholders) break;
        r->n = SIZE_MAX >> draw(in, 8);
        break;
    default: break;
    }
}

static void draw_request(request *q, input *in, const tfm_model_options *m, bool text,
                         const tfm_decoder_options *o)
{
    *q = (request){0};
    tfm_request_init(&q->r, sizeof q->r);
    q->r.n = draw(in, SENTENCES + 1);
    draw_source(q, in, m, text && (in->wild || draw(in, 4)));
    const uint32_t prefixes = draw(in, 4), terms = !(o->temperature > 0) || in->wild ? draw(in, 6) : 0;
    draw_prefixes(q, in, m, text ? prefixes : prefixes & 2);
    draw_terms(q, in, m, terms > 2 ? 0 : text ? terms : terms & 2);
    if (q->r.lines && terms == 3) draw_placeholders(q, in);
    const uint32_t callbacks = (q->r.placeholders || o->replace_unknown) && !in->wild ? 0 : draw(in, 4);
    if (callbacks & 1) q->r.partial = hear_partial;
    if (callbacks & 2) q->r.sentence = hear_sentence;
    q->r.user = q;
    q->cancel_at = callbacks && !draw(in, 4) ? 1 + draw(in, 8) : 0;
    if (in->wild) spoil(&q->r, in);
}

/* --------------------------------------------------------------------------------------------------- the decoder -- */

typedef struct settings {
    tfm_decoder_options o;
    sequences forbidden;
} settings;

static void draw_settings(settings *s, input *in, const tfm_model_options *m)
{
    tfm_decoder_options *o = &s->o;

    tfm_decoder_options_init(o, sizeof *o);
    o->beam = draw_number(in, 1, 6);
    o->alpha = draw_float(in);
    o->n_best = draw(in, 2) ? o->beam : 1;
    o->max_extra = 4 + draw(in, 8);
    o->max_length = draw(in, 2) ? 0 : draw_number(in, 6, 12);
    o->min_length = draw(in, 4) ? 0 : draw_number(in, 0, 6);
    o->max_source = draw(in, 2) ? draw_number(in, 4, 12) : 4096;
    o->long_source = in->wild ? draw_number(in, 0, 1) : TFM_LONG_SPLIT;
    o->stop_rule = draw(in, 2);
    o->allow_special = draw(in, 2);
    o->replace_invalid = in->wild ? draw(in, 2) : 1;
    o->batch_tokens = draw(in, 2) ? 4096 : draw_number(in, 1, 40);
    o->dtype = draw(in, 3);
    o->length_norm = draw_number(in, 0, 3);
    o->no_repeat_ngram = draw_number(in, 0, 3);
    o->repetition_penalty = draw_float(in);
    o->min_ratio = draw_float(in);
    o->max_ratio = draw_float(in);
    if (draw(in, 3) == 2) o->temperature = draw_float(in);
    if (o->temperature > 0 || (in->wild && draw(in, 8) == 1)) {
        o->top_k = draw_number(in, 0, 4);
        o->top_p = draw_float(in);
        o->seed = draw(in, 256);
    } else o->coverage = draw_float(in);
    o->alignment = draw_number(in, 0, 2);
    o->alignment_layer = draw_number(in, 0, 1);
    o->alignment_head = draw_number(in, 0, 2);
    o->replace_unknown = o->alignment || in->wild ? !draw(in, 3) : 0;
    o->n_forbidden = draw(in, 4);
    draw_sequences(&s->forbidden, in, o->n_forbidden, m->vocab_size, 1, 3);
    o->forbidden = s->forbidden.items;
    if (in->wild && draw(in, 16) == 1) o->forbidden = NULL;
    if (!in->wild && o->top_p > 1) o->top_p = 0.5f;
    if (!in->wild && o->min_ratio > o->max_ratio) o->min_ratio = o->max_ratio;
    if (o->max_length == 0 && o->max_source > 64) o->max_length = 24;
}

/* ---------------------------------------------------------------------------------------------------- results ---- */

static bool has_at(tfm_ids ids, size_t at, tfm_ids what)
{
    return what.size && at + what.size <= ids.size && !memcmp(ids.data + at, what.data, what.size * sizeof *what.data);
}

static size_t count_of(tfm_ids ids, tfm_ids what)
{
    size_t n = 0;

    for (size_t i = 0; i < ids.size; i++) n += has_at(ids, i, what);
    return n;
}

/* Behind the prefix. */
static void check_masks(tfm_ids ids, size_t prefix, const tfm_decoder_options *o)
{
    for (size_t f = 0; f < o->n_forbidden; f++)
        for (size_t i = 0; i < ids.size; i++)
            FUZZ_REQUIRE(i + o->forbidden[f].size <= prefix || !has_at(ids, i, o->forbidden[f]));
    for (size_t i = prefix; o->no_repeat_ngram && i + o->no_repeat_ngram <= ids.size; i++)
        FUZZ_REQUIRE(count_of((tfm_ids){ids.data, i + o->no_repeat_ngram - 1},
                              (tfm_ids){ids.data + i, o->no_repeat_ngram}) == 0);
}

static void check_alignment(const tfm_decoder *d, size_t s, size_t rank, const tfm_decoder_options *o)
{
    const tfm_ids ids = tfm_decoder_ids(d, s, rank);
    size_t rows, cols, n_words, n_source;
    const float *w = tfm_decoder_alignment(d, s, rank, TFM_ALIGNMENT_TOKENS, &rows, &cols);
    const float *words = tfm_decoder_alignment(d, s, rank, TFM_ALIGNMENT_WORDS, &n_words, &n_source);

    FUZZ_REQUIRE((w != NULL) == (o->alignment && ids.size));
    if (w) FUZZ_REQUIRE(rows == ids.size);
    for (size_t i = 0; i < rows; i++) {
        float sum = 0;
        for (size_t j = 0; j < cols; j++) sum += w[i * cols + j];
        FUZZ_REQUIRE(fabsf(sum - 1) < 1e-3f);
    }
    for (size_t i = 0; words && i < n_words * n_source; i++) FUZZ_REQUIRE(words[i] >= 0 && words[i] < 1.001f);
}

static void check_result(const tfm_decoder *d, const request *q, size_t s, size_t rank, const tfm_decoder_options *o,
                         const tfm_model_options *m)
{
    const tfm_ids ids = tfm_decoder_ids(d, s, rank);
    const tfm_text text = tfm_decoder_text(d, s, rank);
    const bool whole = tfm_decoder_parts(d, s) == 1, ends = ids.size && ids.data[ids.size - 1] == TFM_EOS;
    const tfm_ids prefix = q->r.prefixes && whole && ids.size ? q->r.prefixes[s] : (tfm_ids){NULL, 0};
    size_t n;

    FUZZ_REQUIRE(tfm_utf8_check(text) == SIZE_MAX && text.data[text.size] == '\0');
    tfm_decoder_token_scores(d, s, rank, &n);
    FUZZ_REQUIRE(n == ids.size);
    for (size_t i = 0; i < ids.size; i++) {
        FUZZ_REQUIRE(ids.data[i] >= 0 && (uint32_t)ids.data[i] < m->vocab_size);
        FUZZ_REQUIRE(!whole || ids.data[i] != TFM_EOS || i + 1 == ids.size);
    }
    check_alignment(d, s, rank, o);
    if (!whole) return;
    FUZZ_REQUIRE(!ids.size || tfm_decoder_finished(d, s, rank) == ends);
    FUZZ_REQUIRE(prefix.size <= ids.size && (!prefix.size || has_at(ids, 0, prefix)));
    FUZZ_REQUIRE(!o->max_length || ids.size <= o->max_length);
    if (ends) FUZZ_REQUIRE(ids.size >= o->min_length);
    if (!q->r.prefix_lines) check_masks(ids, prefix.size, o);
    if (!ends || !q->r.n_terms || !q->r.terms) return;
    const tfm_ids *term = q->r.terms;
    for (size_t i = 0; i < s; i++) term += q->n_terms[i];
    for (size_t i = 0; i < q->n_terms[s]; i++, term++) {
        const size_t times = q->r.term_times ? q->r.term_times[term - q->r.terms] : 0, found = count_of(ids, *term);
        FUZZ_REQUIRE(times && !prefix.size ? found == times : found > 0); /* a prefix may have it too often */
    }
}

/* All that getters say, as a number. */
static uint64_t digest(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return h;
}

static uint64_t digest_results(const tfm_decoder *d)
{
    uint64_t h = 14695981039346656037u;

    for (size_t s = 0; s < SENTENCES; s++)
        for (size_t rank = 0; rank < tfm_decoder_count(d, s); rank++) {
            const tfm_ids ids = tfm_decoder_ids(d, s, rank);
            const tfm_text text = tfm_decoder_text(d, s, rank);
            const double score = tfm_decoder_score(d, s, rank);
            size_t rows, cols;
            const float *w = tfm_decoder_alignment(d, s, rank, TFM_ALIGNMENT_WORDS, &rows, &cols);
            h = digest(h, ids.data, ids.size * sizeof *ids.data);
            h = digest(h, text.data, text.size);
            h = score == score ? digest(h, &score, sizeof score) : h + 1; /* a NaN has many forms */
            h = digest(h, w, rows * cols * sizeof *w);
        }
    return h;
}

static tfm_status run(tfm_decoder *d, request *q, const tfm_decoder_options *o, const tfm_model_options *m,
                      uint64_t *results, tfm_error *error)
{
    q->calls = 0;
    for (size_t s = 0; s < SENTENCES; s++) q->done[s] = q->n_ids[s] = q->n_text[s] = 0;
    const tfm_status status = tfm_decoder_run(d, &q->r, error);
    fuzz_check_error(status, error);
    for (size_t s = 0; s <= SENTENCES; s++) {
        const size_t count = tfm_decoder_count(d, s);
        FUZZ_REQUIRE(status == TFM_OK && s < q->r.n ? count > 0 && count <= o->n_best : !count);
        FUZZ_REQUIRE((count > 0) == (tfm_decoder_parts(d, s) > 0));
        for (size_t rank = 0; rank < count; rank++) check_result(d, q, s, rank, o, m);
        if (!count) continue;
        FUZZ_REQUIRE(!q->r.sentence || q->done[s] == 1);
        if (!q->r.partial) continue;
        FUZZ_REQUIRE(q->n_ids[s] == tfm_decoder_ids(d, s, 0).size && q->n_text[s] == tfm_decoder_text(d, s, 0).size);
    }
    *results = digest_results(d);
    return status;
}

/* The allocation that fails, from 1; 0: none. */
static size_t fail_at;

static void *resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    if (new_size > old_size && fail_at && !--fail_at) return NULL;
    return fuzz_resize(user, ptr, old_size, new_size);
}

static void use(request *q, const settings *s, const tfm_model *model, const tfm_model_options *m, size_t lack)
{
    const tfm_allocator allocator = {resize, fuzz_allocator().user};
    tfm_decoder_options o = s->o;
    tfm_decoder *d, *other;
    tfm_error error = {0};
    uint64_t results, again;

    o.allocator = &allocator;
    tfm_status status = tfm_decoder_create(&d, model, &o, &error);
    fuzz_check_error(status, &error);
    if (status) return;
    o.batch_tokens = 1;
    FUZZ_REQUIRE(tfm_decoder_create(&other, model, &o, &error) == TFM_OK);
    status = run(d, q, &o, m, &results, &error);
    error = (tfm_error){0};
    FUZZ_REQUIRE(run(d, q, &o, m, &again, &error) == status && again == results);
    error = (tfm_error){0};
    fail_at = lack;
    const tfm_status lacking = run(other, q, &o, m, &again, &error);
    FUZZ_REQUIRE(lacking == status ? status || again == results : lacking == TFM_E_NOMEM && lack);
    fail_at = 0;
    error = (tfm_error){0};
    FUZZ_REQUIRE(run(other, q, &o, m, &again, &error) == status && (status || again == results));
    tfm_decoder_free(other);
    tfm_decoder_free(d);
    FUZZ_REQUIRE(fuzz_memory.live == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static request q;
    static settings s;
    input in = {data, size, false};
    const uint32_t which = draw(&in, MODELS);
    in.wild = draw(&in, 3) == 2;
    const tfm_model *model = model_of(which);
    tfm_model_options m;

    tfm_model_get_options(&m, sizeof m, model);
    const size_t lack = draw(&in, 100);
    draw_settings(&s, &in, &m);
    draw_request(&q, &in, &m, which != IDS, &s.o);
    use(&q, &s, model, &m, lack);
    return 0;
}
