/* Words of the kind subword-nmt to tokens: glossaries first, then merges, then what the vocabulary does not have. */
#include "text/subword.h"

#define END_OF_WORD "</w>"
#define CONTINUED "@@"

enum { END_BYTES = sizeof END_OF_WORD - 1 };

static const tfm_text nothing;

/* ------------------------------------------------------------------------------------------------ properties ---- */

tfm_status tfm_subword_add_glossary(tfm_tokenizer *tokenizer, tfm_text glossary, tfm_error *error)
{
    tfm_vocab *all = &tokenizer->glossaries;
    uint32_t id;

    if (all->n == TFM_SUBWORD_GLOSSARIES)
        return tfm_fail(error, TFM_E_FORMAT, "more than %d glossaries", TFM_SUBWORD_GLOSSARIES);
    if (!glossary.size || memchr(glossary.data, ' ', glossary.size))
        return tfm_fail(error, TFM_E_FORMAT, "glossary %u is empty or has a space: give one word each", all->n + 1);
    if (tfm_vocab_find(all, glossary, nothing) != TFM_VOCAB_NONE)
        return tfm_fail(error, TFM_E_FORMAT, "glossary %u is there twice", all->n + 1);
    if (tfm_vocab_add(all, glossary, nothing, &id)) return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, "no memory for glossary %u", all->n + 1);
}

tfm_status tfm_subword_restrict(tfm_tokenizer *tokenizer, tfm_error *error)
{
    tfm_tokenizer *t = tokenizer;
    uint32_t *origins = tfm_alloc(&t->allocator, t->pieces.n + (size_t)1, sizeof *origins);

    if (!origins) return tfm_fail(error, TFM_E_NOMEM, "no memory for the origins of %u pieces", t->pieces.n);
    for (uint32_t i = 0; i < t->pieces.n; i++) origins[i] = TFM_BPE_NONE;
    for (size_t i = t->bpe.n; i-- > 0;) origins[t->bpe.merges[i].result] = (uint32_t)i; /* the earliest stays */
    tfm_subword_free(t);
    t->origins = origins;
    return TFM_OK;
}

void tfm_subword_free(tfm_tokenizer *tokenizer)
{
    tfm_free(&tokenizer->allocator, tokenizer->origins, tokenizer->pieces.n + (size_t)1, sizeof *tokenizer->origins);
    tokenizer->origins = NULL;
}

/* ----------------------------------------------------------------------------------------------- vocabulary ---- */

/* The count behind a token; counts beyond 64 bits are none. */
static bool read_count(tfm_text digits, uint64_t *count)
{
    *count = 0;
    for (size_t i = 0; i < digits.size; i++) {
        const unsigned digit = (unsigned)(unsigned char)digits.data[i] - '0';
        if (digit > 9 || *count > (UINT64_MAX - digit) / 10) return false;
        *count = *count * 10 + digit;
    }
    return digits.size > 0;
}

/* What is there already, as the reserved "<unk>" or a token that comes twice, is not added again. */
static tfm_status read_entry(tfm_tokenizer *t, tfm_text line, size_t number, uint32_t threshold, tfm_error *error)
{
    if (line.size && line.data[line.size - 1] == '\r') line.size--;
    const char *space = line.size ? memchr(line.data, ' ', line.size) : NULL;
    const tfm_text token = {line.data, space ? (size_t)(space - line.data) : 0};
    uint64_t count;

    if (!token.size || !read_count(tfm_text_from(line, token.size + 1), &count))
        return tfm_fail(error, TFM_E_FORMAT, "line %zu of the vocabulary is not a token, a space and a count", number);
    if (count < threshold || tfm_vocab_find(&t->vocab, token, nothing) != TFM_VOCAB_NONE) return TFM_OK;
    return tfm_tokenizer_add_token(t, token, error);
}

static tfm_status read_entries(tfm_tokenizer *t, tfm_text file, uint32_t threshold, tfm_error *error)
{
    tfm_status status = TFM_OK;

    for (size_t number = 1; status == TFM_OK && file.size; number++) {
        const char *end = memchr(file.data, '\n', file.size);
        const tfm_text line = {file.data, end ? (size_t)(end - file.data) : file.size};
        status = read_entry(t, line, number, threshold, error);
        file = tfm_text_from(file, line.size + (end != NULL));
    }
    if (status != TFM_OK || t->vocab.n > TFM_TOKENIZER_SPECIALS) return status;
    return tfm_fail(error, TFM_E_FORMAT, "no token of the vocabulary was seen %u times: lower the threshold",
                    threshold);
}

static tfm_status add_if_new(tfm_tokenizer *t, tfm_text token, tfm_error *error)
{
    if (tfm_vocab_find(&t->vocab, token, nothing) != TFM_VOCAB_NONE) return TFM_OK;
    return tfm_tokenizer_add_token(t, token, error);
}

/* As word and within one. */
static tfm_status add_to_vocabulary(tfm_tokenizer *t, tfm_text glossary, tfm_error *error)
{
    tfm_buffer inside = {.allocator = t->allocator};
    tfm_status status = add_if_new(t, glossary, error);

    tfm_buffer_append(&inside, glossary.data, glossary.size);
    tfm_buffer_append(&inside, CONTINUED, sizeof CONTINUED - 1);
    if (status == TFM_OK && inside.bad)
        status = tfm_fail(error, TFM_E_NOMEM, "no memory for a glossary of %zu bytes", glossary.size);
    if (status == TFM_OK) status = add_if_new(t, (tfm_text){inside.data, inside.size}, error);
    tfm_buffer_free(&inside);
    return status;
}

tfm_status tfm_subword_read_vocabulary(tfm_tokenizer *tokenizer, tfm_text file, uint32_t threshold, tfm_error *error)
{
    const size_t invalid = tfm_utf8_find_invalid(file);
    tfm_vocab old = tokenizer->vocab;
    tfm_status status = TFM_OK;
    uint32_t id;

    if (invalid != SIZE_MAX)
        return tfm_fail(error, TFM_E_FORMAT, "the vocabulary is not UTF-8 at byte %zu", invalid);
    tfm_vocab_init(&tokenizer->vocab, &tokenizer->allocator);
    for (uint32_t i = 0; status == TFM_OK && i < TFM_TOKENIZER_SPECIALS; i++)
        if (!tfm_vocab_add(&tokenizer->vocab, tfm_vocab_text(&old, i), nothing, &id))
            status = tfm_fail(error, TFM_E_NOMEM, "no memory for a vocabulary");
    tfm_vocab_free(&old);
    if (status == TFM_OK) status = read_entries(tokenizer, file, threshold, error);
    for (uint32_t i = 0; status == TFM_OK && i < tokenizer->glossaries.n; i++)
        status = add_to_vocabulary(tokenizer, tfm_vocab_text(&tokenizer->glossaries, i), error);
    return status == TFM_OK ? tfm_subword_restrict(tokenizer, error) : status;
}

tfm_status tfm_subword_keep_whole(tfm_tokenizer *tokenizer, tfm_text glossary, tfm_error *error)
{
    const tfm_status status = tfm_subword_add_glossary(tokenizer, glossary, error);

    return status == TFM_OK ? add_to_vocabulary(tokenizer, glossary, error) : status;
}

/* -------------------------------------------------------------------------------------------- word to tokens ---- */

typedef struct cutting {
    const tfm_tokenizer *tokenizer;
    tfm_bpe_work *work;
    tfm_token_fn take;
    void *user;
} cutting;

/* A word that reads "<pad>" is not the special token. */
static uint32_t find_token(const tfm_tokenizer *t, tfm_text text, bool last)
{
    const tfm_text mark = {CONTINUED, last ? 0 : sizeof CONTINUED - 1};
    const uint32_t id = tfm_vocab_find(&t->vocab, text, mark);

    return id < TFM_TOKENIZER_SPECIALS ? TFM_VOCAB_NONE : id;
}

static void take_piece(const cutting *c, tfm_text text, bool last)
{
    const tfm_token token = {find_token(c->tokenizer, text, last), text, {CONTINUED, last ? 0 : sizeof CONTINUED - 1}};

    c->take(c->user, &token);
}

/* The merge that made a piece, or NULL. One whose right part is within the end of the word leaves no text for it. */
static const tfm_merge *origin(const tfm_tokenizer *t, uint32_t symbol, bool final)
{
    if (symbol == TFM_BPE_NONE || t->origins[symbol] == TFM_BPE_NONE) return NULL;
    const tfm_merge *merge = &t->bpe.merges[t->origins[symbol]];
    return final && tfm_vocab_text(&t->pieces, merge->right).size <= END_BYTES ? NULL : merge;
}

/*
 * Undoes merges until all pieces are in the vocabulary or are characters. final: the text ends its segment; last: that
 * is the end of the word. Between the segments that glossaries make, subword-nmt looks for final pieces without mark.
 * The pieces that wait cover text each, so work->due has room for them.
 */
static void take_split(const cutting *c, uint32_t symbol, tfm_text text, bool final, bool last)
{
    const tfm_tokenizer *t = c->tokenizer;
    uint32_t *waiting = c->work->due;
    size_t n = 0;

    waiting[n++] = symbol;
    while (n) {
        symbol = waiting[--n];
        const bool ends = final && !n;
        const bool whole = ends || symbol == TFM_BPE_NONE;
        const tfm_text piece = {text.data, whole ? text.size : tfm_vocab_text(&t->pieces, symbol).size};
        const tfm_merge *merge = find_token(t, piece, ends) == TFM_VOCAB_NONE ? origin(t, symbol, ends) : NULL;
        if (merge) {
            waiting[n++] = merge->right;
            waiting[n++] = merge->left;
            continue;
        }
        take_piece(c, piece, last && ends);
        text = tfm_text_from(text, piece.size);
    }
}

static tfm_status cut_segment(const cutting *c, tfm_text segment, bool last, tfm_error *error)
{
    const tfm_tokenizer *t = c->tokenizer;
    const tfm_bpe_part *parts;
    size_t n = 0;

    if (tfm_vocab_find(&t->glossaries, segment, nothing) != TFM_VOCAB_NONE) {
        take_piece(c, segment, last);
        return TFM_OK;
    }
    const tfm_status status = tfm_tokenizer_spell(t, segment, c->work, &n, error);
    if (status != TFM_OK) return status;
    n = tfm_bpe_apply(&t->bpe, c->work, n);
    parts = c->work->parts;
    for (size_t i = 0; i < n; i++) {
        const bool final = i + 1 == n;
        const size_t end = final ? segment.size : parts[i + 1].start;
        const tfm_text text = {segment.data + parts[i].start, end - parts[i].start};
        if (t->origins) take_split(c, parts[i].symbol, text, final, last && final);
        else take_piece(c, text, last && final);
    }
    return TFM_OK;
}

/* Where a part of a text begins, or SIZE_MAX. */
static size_t find(tfm_text text, tfm_text part)
{
    for (size_t at = 0; at + part.size <= text.size; at++) {
        const char *first = memchr(text.data + at, part.data[0], text.size - part.size - at + 1);
        if (!first) break;
        at = (size_t)(first - text.data);
        if (memcmp(first, part.data, part.size) == 0) return at;
    }
    return SIZE_MAX;
}

/* Cuts glossaries out of a segment, from number g on: a later one cuts what the earlier ones left, and them. */
static tfm_status isolate(const cutting *c, tfm_text segment, uint32_t g, bool last, tfm_error *error)
{
    const tfm_vocab *all = &c->tokenizer->glossaries;
    tfm_status status = TFM_OK;
    size_t at = SIZE_MAX;

    for (; g < all->n && at == SIZE_MAX; g++)
        if (!tfm_text_equal(segment, tfm_vocab_text(all, g))) at = find(segment, tfm_vocab_text(all, g));
    if (at == SIZE_MAX) return cut_segment(c, segment, last, error);
    const tfm_text glossary = tfm_vocab_text(all, g - 1);
    while (status == TFM_OK && segment.size) {
        const size_t size = at == SIZE_MAX ? segment.size : at ? at : glossary.size;
        const tfm_text head = {segment.data, size};
        segment = tfm_text_from(segment, size);
        status = isolate(c, head, g, last && !segment.size, error);
        at = segment.size ? find(segment, glossary) : SIZE_MAX;
    }
    return status;
}

tfm_status tfm_subword_cut(const tfm_tokenizer *tokenizer, tfm_text word, tfm_bpe_work *work, tfm_token_fn take,
                           void *user, tfm_error *error)
{
    const cutting c = {tokenizer, work, take, user};

    return isolate(&c, word, 0, true, error);
}
