/* Text to tokens and back through the public tokenizer: fits results into the caller's memory. */
#include "api/check_line.h"
#include "base/arithmetic.h"
#include "text/renumbered.h"
#include "text/sentencepiece.h"
#include "text/tokenizer.h"
#include "text/words.h"

static tfm_status check_line(const tfm_tokenizer *tokenizer, tfm_text line, const void *out, size_t capacity,
                             const size_t *size, tfm_error *error)
{
    if (!tokenizer) return tfm_fail(error, TFM_E_INVALID, "tokenizer is NULL");
    return tfm_check_line(line, out, capacity, size, error);
}

/* The caller's memory: filled as far as it goes, counted to the end. */
typedef struct sink {
    int32_t unknown;
    int32_t *ids;
    char *text;
    size_t capacity, size;
} sink;

static void take_id(void *user, const tfm_token *token)
{
    sink *s = user;

    if (s->size < s->capacity) s->ids[s->size] = token->id == TFM_VOCAB_NONE ? s->unknown : (int32_t)token->id;
    s->size++;
}

static const tfm_bpe_dropout none;

static tfm_status check_dropout(const tfm_tokenizer *tokenizer, float rate, tfm_error *error)
{
    if (!(rate >= 0.0f && rate <= 1.0f)) /* NaN too */
        return tfm_fail(error, TFM_E_INVALID, "dropout is %g, not in [0, 1]", (double)rate);
    return tokenizer ? tfm_tokenizer_allow_dropout(tokenizer, rate, error) : TFM_OK;
}

static tfm_status encode(int32_t *ids, size_t capacity, size_t *n_ids, const tfm_tokenizer *tokenizer, tfm_text line,
                         const tfm_bpe_dropout *dropout, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    sink s = {.ids = ids, .capacity = capacity};
    tfm_status status = check_line(tokenizer, line, ids, capacity, n_ids, error);

    if (status != TFM_OK) return status;
    s.unknown = tokenizer->special.unk;
    status = tfm_tokenizer_cut_dropout(tokenizer, line, dropout, take_id, &s, error);
    if (status == TFM_OK) *n_ids = s.size;
    return status;
}

tfm_status tfm_tokenizer_encode(int32_t *ids, size_t capacity, size_t *n_ids, const tfm_tokenizer *tokenizer,
                                tfm_text line, tfm_error *error)
{
    return encode(ids, capacity, n_ids, tokenizer, line, &none, error);
}

tfm_status tfm_tokenizer_encode_dropout(int32_t *ids, size_t capacity, size_t *n_ids, const tfm_tokenizer *tokenizer,
                                        tfm_text line, float dropout, uint64_t seed, uint64_t draw, tfm_error *error)
{
    const tfm_bpe_dropout how = {.rate = dropout, .seed = seed, .stream = draw};
    const tfm_status status = check_dropout(tokenizer, dropout, error);

    return status == TFM_OK ? encode(ids, capacity, n_ids, tokenizer, line, &how, error) : status;
}

static void take_bytes(sink *s, tfm_text text)
{
    if (s->size < s->capacity && text.size)
        memcpy(s->text + s->size, text.data, text.size < s->capacity - s->size ? text.size : s->capacity - s->size);
    s->size += text.size;
}

typedef struct segments {
    sink sink;
    bool begun, spelt;
} segments;

/* Where a space ends a token, one inside of it is spelt as tensor2tensor spells a character that is in no token. */
static void take_spelt(sink *s, tfm_text text)
{
    for (size_t i = 0; i < text.size; i++)
        take_bytes(s, text.data[i] == ' ' ? tfm_text_of("\\32;") : (tfm_text){text.data + i, 1});
}

static void take_segment(void *user, const tfm_token *token)
{
    segments *s = user;

    if (s->begun) take_bytes(&s->sink, (tfm_text){" ", 1});
    s->begun = true;
    if (s->spelt) take_spelt(&s->sink, token->text);
    else take_bytes(&s->sink, token->text);
    take_bytes(&s->sink, token->mark);
}

static tfm_status segment(char *text, size_t capacity, size_t *size, const tfm_tokenizer *tokenizer, tfm_text line,
                          const tfm_bpe_dropout *dropout, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    segments s = {.sink = {.text = text, .capacity = capacity}};
    tfm_status status = check_line(tokenizer, line, text, capacity, size, error);
    size_t leading = 0, trailing = 0;

    if (status != TFM_OK) return status;
    s.spelt = tokenizer->kind == TFM_TOKENIZER_WORDPIECE;
    if (tokenizer->kind == TFM_TOKENIZER_SUBWORD_NMT) tfm_words_margins(line, &leading, &trailing);
    take_bytes(&s.sink, (tfm_text){line.data, leading});
    status = tfm_tokenizer_cut_dropout(tokenizer, line, dropout, take_segment, &s, error);
    take_bytes(&s.sink, tfm_text_from((tfm_text){line.data, line.size}, line.size - trailing));
    if (status == TFM_OK) *size = s.sink.size;
    return status;
}

tfm_status tfm_tokenizer_segment(char *text, size_t capacity, size_t *size, const tfm_tokenizer *tokenizer,
                                 tfm_text line, tfm_error *error)
{
    return segment(text, capacity, size, tokenizer, line, &none, error);
}

tfm_status tfm_tokenizer_segment_dropout(char *text, size_t capacity, size_t *size, const tfm_tokenizer *tokenizer,
                                         tfm_text line, float dropout, uint64_t seed, uint64_t draw, tfm_error *error)
{
    const tfm_bpe_dropout how = {.rate = dropout, .seed = seed, .stream = draw};
    const tfm_status status = check_dropout(tokenizer, dropout, error);

    return status == TFM_OK ? segment(text, capacity, size, tokenizer, line, &how, error) : status;
}

static tfm_status check_ids(const tfm_tokenizer *tokenizer, tfm_ids ids, const char *text, size_t capacity,
                            const size_t *size, tfm_error *error)
{
    const tfm_status status = check_line(tokenizer, (tfm_text){0}, text, capacity, size, error);
    const uint32_t n = tfm_tokenizer_vocab_size(tfm_tokenizer_side_of_target(tokenizer));

    if (status != TFM_OK) return status;
    if (!ids.data && ids.size) return tfm_fail(error, TFM_E_INVALID, "there are %zu ids at NULL", ids.size);
    for (size_t i = 0; i < ids.size; i++)
        if (ids.data[i] < 0 || (uint32_t)ids.data[i] >= n)
            return tfm_fail(error, TFM_E_INVALID, "id %zu is %d, not in 0..%u", i, ids.data[i], n - 1);
    return TFM_OK;
}

tfm_status tfm_tokenizer_decode(char *text, size_t capacity, size_t *size, const tfm_tokenizer *tokenizer, tfm_ids ids,
                                tfm_error *error)
{
    const tfm_status status = check_ids(tokenizer, ids, text, capacity, size, error);

    if (status != TFM_OK) return status;
    tfm_buffer joined = {.allocator = tokenizer->allocator};
    tfm_tokenizer_join(tokenizer, ids, &joined);
    const bool bad = joined.bad;
    /* Bytes in an order that no encoding gives must not become invalid text. */
    if (!bad) *size = tfm_utf8_replace_invalid((tfm_text){joined.data, joined.size}, text, capacity);
    tfm_buffer_free(&joined);
    return bad ? tfm_fail(error, TFM_E_NOMEM, "no memory for the text of %zu ids", ids.size) : TFM_OK;
}

/* -------------------------------------------------------------------------------------------- SentencePiece ---- */

tfm_status tfm_tokenizer_normalize(char *text, size_t capacity, size_t *size, const tfm_tokenizer *tokenizer,
                                   tfm_text line, tfm_error *error)
{
    const bool any_bytes = tokenizer && tokenizer->sentencepiece && (line.data || !line.size);
    const tfm_status status = check_line(tokenizer, any_bytes ? (tfm_text){0} : line, text, capacity, size, error);
    sink s = {.text = text, .capacity = capacity};

    if (status != TFM_OK) return status;
    tfm_buffer normal = {.allocator = tokenizer->allocator};
    if (tokenizer->sentencepiece)
        tfm_sentencepiece_normalize(&tokenizer->sentencepiece->rules, tokenizer->sentencepiece, line, &normal);
    const bool bad = normal.bad;
    take_bytes(&s, tokenizer->sentencepiece ? (tfm_text){normal.data, normal.size} : line);
    tfm_buffer_free(&normal);
    if (bad) return tfm_fail(error, TFM_E_NOMEM, "no memory to normalise %zu bytes", line.size);
    *size = s.size;
    return TFM_OK;
}

typedef struct ways {
    const tfm_tokenizer *tokenizer;
    const tfm_token *language; /* that all of them begin with, or NULL */
    sink ids;
    size_t *ends;
    float *scores;
    size_t n, most;
} ways;

static void take_way(void *user, const tfm_sentencepiece *model, const tfm_spm_path *path)
{
    ways *w = user;
    tfm_renumbering r = {w->tokenizer, take_id, &w->ids};

    if (w->n == w->most) return;
    if (w->language) take_id(&w->ids, w->language);
    if (tfm_is_renumbered(w->tokenizer)) tfm_sentencepiece_take(model, path, tfm_renumber, &r);
    else tfm_sentencepiece_take(model, path, take_id, &w->ids);
    w->scores[w->n] = (float)path->score;
    w->ends[w->n++] = w->ids.size;
}

tfm_status tfm_tokenizer_nbest(int32_t *ids, size_t capacity, size_t *n_ids, size_t *ends, float *scores, size_t *n,
                               const tfm_tokenizer *tokenizer, tfm_text line, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_status status = check_line(tokenizer, line, ids, capacity, n_ids, error);

    if (status != TFM_OK) return status;
    if (!n || !*n || !ends || !scores)
        return tfm_fail(error, TFM_E_INVALID, "%s", !n || !*n ? "n is 0 or NULL" : "ends or scores is NULL");
    if (!tokenizer->sentencepiece)
        return tfm_fail(error, TFM_E_UNSUPPORTED,
                        "only unigram models of SentencePiece have several ways to cut a text");
    tfm_token token;
    const bool language = tfm_renumbered_language(tokenizer, &line, &token);
    ways w = {.tokenizer = tokenizer, .language = language ? &token : NULL, .ends = ends, .scores = scores, .most = *n};
    w.ids = (sink){.unknown = tokenizer->special.unk, .ids = ids, .capacity = capacity};
    status = tfm_sentencepiece_nbest(tokenizer->sentencepiece, line, *n, take_way, &w, error);
    if (status != TFM_OK) return status;
    *n_ids = w.ids.size;
    *n = w.n;
    return TFM_OK;
}
