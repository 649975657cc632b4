/* Text to tokens and back, in all kinds; learning, files and the public names live elsewhere. */
#include "text/tokenizer.h"

#include "text/bert.h"
#include "text/renumbered.h"
#include "text/sentencepiece.h"
#include "text/subword.h"
#include "text/wordpiece.h"
#include "text/words.h"

#include <stdio.h>

#define END_OF_WORD "</w>"
#define CONTINUED "@@"

enum { SPACE_BYTES = sizeof TFM_TOKENIZER_SPACE - 1, END_BYTES = sizeof END_OF_WORD - 1 };

static const tfm_text nothing;

/* ------------------------------------------------------------------------------------------------- life ------- */

void tfm_tokenizer_destroy(tfm_tokenizer *tokenizer)
{
    if (!tokenizer) return;
    const tfm_allocator allocator = tokenizer->allocator;
    tfm_tokenizer_destroy(tokenizer->target);
    tfm_subword_free(tokenizer);
    tfm_vocab_free(&tokenizer->vocab);
    tfm_vocab_free(&tokenizer->glossaries);
    tfm_vocab_free(&tokenizer->pieces);
    tfm_bpe_free(&tokenizer->bpe);
    tfm_sentencepiece_free(tokenizer->sentencepiece);
    tfm_free(&allocator, tokenizer, 1, sizeof *tokenizer);
}

static tfm_tokenizer *create(uint32_t kind, const tfm_allocator *allocator)
{
    tfm_tokenizer *t = tfm_alloc(allocator, 1, sizeof *t);

    if (!t) return NULL;
    t->allocator = *allocator;
    t->kind = kind;
    t->special = (tfm_special_ids){TFM_PAD, TFM_EOS, TFM_BOS, TFM_UNK};
    tfm_vocab_init(&t->vocab, allocator);
    tfm_vocab_init(&t->pieces, allocator);
    tfm_vocab_init(&t->glossaries, allocator);
    tfm_bpe_init(&t->bpe, allocator);
    return t;
}

static bool add_fixed_tokens(tfm_tokenizer *t)
{
    static const char *const specials[TFM_TOKENIZER_SPECIALS] = {"<pad>", "<eos>", "<bos>", "<unk>"};
    char name[sizeof "<0x00>"];
    uint32_t id;

    const bool fixed = t->kind == TFM_TOKENIZER_BPE || t->kind == TFM_TOKENIZER_SUBWORD_NMT;

    if (t->kind == TFM_TOKENIZER_WORDPIECE) t->special.bos = t->special.unk = -1;
    for (size_t i = 0; i < TFM_TOKENIZER_SPECIALS && fixed; i++)
        if (!tfm_vocab_add(&t->vocab, tfm_text_of(specials[i]), nothing, &id)) return false;
    for (unsigned byte = 0; byte < 256 && t->kind == TFM_TOKENIZER_BPE; byte++) {
        snprintf(name, sizeof name, "<0x%02X>", byte);
        if (!tfm_vocab_add(&t->vocab, tfm_text_of(name), nothing, &id)) return false;
    }
    return true;
}

tfm_status tfm_tokenizer_new(tfm_tokenizer **out, uint32_t kind, const tfm_allocator *allocator, tfm_error *error)
{
    const tfm_allocator a = tfm_allocator_or_default(allocator);

    *out = create(kind, &a);
    if (*out && add_fixed_tokens(*out)) return TFM_OK;
    tfm_tokenizer_destroy(*out);
    *out = NULL;
    return tfm_fail(error, TFM_E_NOMEM, "no memory for a tokenizer");
}

tfm_status tfm_tokenizer_copy(tfm_tokenizer **out, const tfm_tokenizer *tokenizer, const tfm_allocator *allocator,
                              tfm_error *error)
{
    const tfm_allocator a = tfm_allocator_or_default(allocator);
    tfm_tokenizer *t = create(tokenizer->kind, &a);
    bool good = t && tfm_vocab_copy(&t->vocab, &tokenizer->vocab) && tfm_vocab_copy(&t->pieces, &tokenizer->pieces) &&
                tfm_vocab_copy(&t->glossaries, &tokenizer->glossaries);

    if (good && tokenizer->sentencepiece) {
        const tfm_text file = {tokenizer->sentencepiece->file, tokenizer->sentencepiece->file_size};
        good =
            tfm_sentencepiece_parse(&t->sentencepiece, &t->special, file, &a, NULL) == TFM_OK; /* it was good before */
    }
    if (good) {
        t->longest = tokenizer->longest;
        t->special = tokenizer->special;
        t->cased = tokenizer->cased;
    }
    good = good && tfm_bpe_reserve(&t->bpe, tokenizer->bpe.n);
    for (size_t i = 0; good && i < tokenizer->bpe.n; i++) good = tfm_bpe_add(&t->bpe, tokenizer->bpe.merges[i]);
    if (good && tokenizer->origins) good = tfm_subword_restrict(t, NULL) == TFM_OK;
    if (good && tokenizer->target) good = tfm_tokenizer_copy(&t->target, tokenizer->target, &a, NULL) == TFM_OK;
    *out = good ? t : NULL;
    if (good) return TFM_OK;
    tfm_tokenizer_destroy(t);
    return tfm_fail(error, TFM_E_NOMEM, "no memory to copy a tokenizer of %u tokens",
                    tfm_tokenizer_vocab(tokenizer)->n);
}

tfm_status tfm_tokenizer_copy_pair(tfm_tokenizer **out, const tfm_tokenizer *source, const tfm_tokenizer *target,
                                   const tfm_allocator *allocator, tfm_error *error)
{
    tfm_tokenizer pair = *source, side = *tfm_tokenizer_side_of_target(target);

    pair.target = &side;
    return tfm_tokenizer_copy(out, &pair, allocator, error);
}

/* ---------------------------------------------------------------------------------------- what it is made of ---- */

const tfm_vocab *tfm_tokenizer_vocab(const tfm_tokenizer *tokenizer)
{
    return tokenizer->sentencepiece && !tfm_is_renumbered(tokenizer) ? &tokenizer->sentencepiece->pieces
                                                                      : &tokenizer->vocab;
}

const tfm_vocab *tfm_tokenizer_pieces(const tfm_tokenizer *tokenizer)
{
    return tokenizer->kind == TFM_TOKENIZER_BPE ? &tokenizer->vocab : &tokenizer->pieces;
}

/* Nearly every merge of the kind subword-nmt makes a piece; the single characters beside them are few. */
tfm_status tfm_tokenizer_reserve(tfm_tokenizer *tokenizer, uint32_t n_tokens, uint32_t n_merges, tfm_error *error)
{
    const uint32_t n_pieces = tokenizer->kind == TFM_TOKENIZER_BPE ? 0 : n_merges;

    if (tfm_vocab_reserve(&tokenizer->vocab, n_tokens) && tfm_vocab_reserve(&tokenizer->pieces, n_pieces) &&
        tfm_bpe_reserve(&tokenizer->bpe, n_merges))
        return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, "no memory for %u tokens and %u merges", n_tokens, n_merges);
}

tfm_status tfm_tokenizer_add_token(tfm_tokenizer *tokenizer, tfm_text token, tfm_error *error)
{
    const bool wordpiece = tokenizer->kind == TFM_TOKENIZER_WORDPIECE;
    tfm_vocab *vocab = &tokenizer->vocab;

    if (vocab->n >= TFM_TOKENIZER_MAX_VOCAB)
        return tfm_fail(error, TFM_E_FORMAT, "vocabulary has more than %d tokens", TFM_TOKENIZER_MAX_VOCAB);
    if (!token.size || (!wordpiece && memchr(token.data, ' ', token.size)))
        return tfm_fail(error, TFM_E_FORMAT, "token %u of the vocabulary is empty or has a space", vocab->n);
    const uint32_t id = tfm_vocab_find(vocab, token, nothing);
    if (id != TFM_VOCAB_NONE && !wordpiece)
        return tfm_fail(error, TFM_E_FORMAT, "token %u of the vocabulary is the same as token %u", vocab->n, id);
    if (token.size > tokenizer->longest) tokenizer->longest = token.size;
    if (tfm_vocab_append(vocab, token)) return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, "no memory for token %u of the vocabulary", vocab->n);
}

static bool is_character(tfm_text text)
{
    uint32_t code;

    return text.size && tfm_utf8_read(text, &code) == (int)text.size;
}

static bool ends_with(tfm_text text, const char *end, size_t size)
{
    return text.size >= size && memcmp(text.data + text.size - size, end, size) == 0;
}

/* The symbol of a part of a merge of the kind subword-nmt. A character is a symbol from its first mention on. */
static tfm_status find_piece(tfm_tokenizer *t, tfm_text piece, uint32_t *symbol, tfm_error *error)
{
    *symbol = tfm_vocab_find(&t->pieces, piece, nothing);
    if (*symbol != TFM_VOCAB_NONE) return TFM_OK;
    const bool last = ends_with(piece, END_OF_WORD, END_BYTES);
    if (!is_character((tfm_text){piece.data, piece.size - (last ? END_BYTES : 0)}))
        return tfm_fail(error, TFM_E_FORMAT, "merge %zu has a part that no earlier merge makes", t->bpe.n + 1);
    if (tfm_vocab_add(&t->pieces, piece, nothing, symbol)) return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, "no memory for merge %zu", t->bpe.n + 1);
}

tfm_status tfm_tokenizer_add_merge(tfm_tokenizer *tokenizer, tfm_text left, tfm_text right, tfm_error *error)
{
    tfm_tokenizer *t = tokenizer;
    tfm_merge merge;
    bool stored = true;

    if (t->kind == TFM_TOKENIZER_BPE) {
        merge.left = tfm_vocab_find(&t->vocab, left, nothing);
        merge.right = tfm_vocab_find(&t->vocab, right, nothing);
        merge.result = tfm_vocab_find(&t->vocab, left, right);
        const uint32_t ids[] = {merge.left, merge.right, merge.result};
        for (size_t i = 0; i < 3; i++)
            if (ids[i] == TFM_VOCAB_NONE || ids[i] < TFM_TOKENIZER_BYTES)
                return tfm_fail(error, TFM_E_FORMAT, "the %s of merge %zu is not a piece of the vocabulary",
                                i == 2 ? "result"
                                : i    ? "right part"
                                       : "left part",
                                t->bpe.n + 1);
    } else {
        tfm_status status = find_piece(t, left, &merge.left, error);
        if (status == TFM_OK) status = find_piece(t, right, &merge.right, error);
        if (status != TFM_OK) return status;
        stored = tfm_vocab_add(&t->pieces, left, right, &merge.result);
    }
    if (stored && tfm_bpe_add(&t->bpe, merge)) return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, "no memory for merge %zu", t->bpe.n + 1);
}

/* -------------------------------------------------------------------------------------------- text to tokens ---- */

/* A U+2581 of the text must not turn into a space, so it has no symbol and is spelt in bytes. */
static uint32_t reversible_symbol(const tfm_tokenizer *t, tfm_text character)
{
    const tfm_text space = {TFM_TOKENIZER_SPACE, SPACE_BYTES};

    if (*character.data == ' ') return tfm_vocab_find(&t->vocab, space, nothing);
    return tfm_text_equal(character, space) ? TFM_BPE_NONE : tfm_vocab_find(&t->vocab, character, nothing);
}

tfm_status tfm_tokenizer_spell(const tfm_tokenizer *tokenizer, tfm_text word, tfm_bpe_work *work, size_t *n,
                               tfm_error *error)
{
    const tfm_text end = {END_OF_WORD, END_BYTES};
    const size_t length = tfm_utf8_length(word);
    size_t at = 0;

    if (length > TFM_BPE_MAX_WORD)
        return tfm_fail(error, TFM_E_INVALID, "a word has %zu characters, at most %d are possible", length,
                        TFM_BPE_MAX_WORD);
    if (!tfm_bpe_work_reserve(work, length))
        return tfm_fail(error, TFM_E_NOMEM, "no memory for a word of %zu characters", length);
    for (*n = 0; at < word.size; ++*n) {
        uint32_t code;
        const size_t size = (size_t)tfm_utf8_read(tfm_text_from(word, at), &code);
        const tfm_text character = {word.data + at, size};
        const uint32_t symbol =
            tokenizer->kind == TFM_TOKENIZER_BPE
                ? reversible_symbol(tokenizer, character)
                : tfm_vocab_find(&tokenizer->pieces, character, at + size == word.size ? end : nothing);
        work->parts[*n] = (tfm_bpe_part){symbol, (uint32_t)at};
        at += size;
    }
    return TFM_OK;
}

static void take_reversible(const tfm_tokenizer *t, uint32_t symbol, tfm_text text, tfm_token_fn take, void *user)
{
    const bool known = symbol != TFM_BPE_NONE;

    for (size_t i = 0; i < (known ? 1 : text.size); i++) {
        const uint32_t id = known ? symbol : TFM_TOKENIZER_SPECIALS + (uint32_t)(unsigned char)text.data[i];
        take(user, &(tfm_token){.id = id, .text = tfm_vocab_text(&t->vocab, id)});
    }
}

tfm_status tfm_tokenizer_cut_word(const tfm_tokenizer *tokenizer, tfm_text word, tfm_bpe_work *work, tfm_token_fn take,
                                  void *user, tfm_error *error)
{
    size_t n;

    if (tokenizer->kind == TFM_TOKENIZER_WORDPIECE) {
        const tfm_wordpiece w = tfm_wordpiece_of(tokenizer);
        return tfm_wordpiece_cut(&w, word, take, user, error);
    }
    if (tokenizer->kind == TFM_TOKENIZER_SUBWORD_NMT) return tfm_subword_cut(tokenizer, word, work, take, user, error);
    const tfm_status status = tfm_tokenizer_spell(tokenizer, word, work, &n, error);
    if (status != TFM_OK) return status;
    n = tfm_bpe_apply(&tokenizer->bpe, work, n);
    for (size_t i = 0; i < n; i++) {
        const bool last = i + 1 == n;
        const uint32_t start = work->parts[i].start;
        const tfm_text text = {word.data + start, (last ? word.size : work->parts[i + 1].start) - start};
        take_reversible(tokenizer, work->parts[i].symbol, text, take, user);
    }
    return TFM_OK;
}

tfm_status tfm_tokenizer_allow_dropout(const tfm_tokenizer *tokenizer, float rate, tfm_error *error)
{
    const uint32_t kind = tokenizer->kind;

    if (rate == 0.0f || kind == TFM_TOKENIZER_BPE || kind == TFM_TOKENIZER_SUBWORD_NMT) return TFM_OK;
    return tfm_fail(error, TFM_E_UNSUPPORTED,
                    "dropout of merges is %g, but only tokenizers of the kinds bpe and subword-nmt have "
                    "merges to leave out, this one is of the kind %s",
                    (double)rate, tfm_tokenizer_kind_name(kind));
}

tfm_status tfm_tokenizer_cut_dropout(const tfm_tokenizer *tokenizer, tfm_text line, const tfm_bpe_dropout *dropout,
                                     tfm_token_fn take, void *user, tfm_error *error)
{
    tfm_status status = TFM_OK;
    tfm_bpe_work work;
    tfm_words words;
    tfm_text word;

    if (tfm_is_renumbered(tokenizer)) return tfm_renumbered_cut(tokenizer, line, take, user, error);
    if (tokenizer->sentencepiece) return tfm_sentencepiece_cut(tokenizer->sentencepiece, line, take, user, error);
    if (tokenizer->kind == TFM_TOKENIZER_BERT) return tfm_bert_cut(tokenizer, line, take, user, error);
    tfm_bpe_work_init(&work, &tokenizer->allocator);
    work.dropout = *dropout;
    tfm_words_begin(&words, tokenizer->kind, line);
    while (status == TFM_OK && tfm_words_next(&words, &word))
        status = tfm_tokenizer_cut_word(tokenizer, word, &work, take, user, error);
    tfm_bpe_work_free(&work);
    return status;
}

tfm_status tfm_tokenizer_cut(const tfm_tokenizer *tokenizer, tfm_text line, tfm_token_fn take, void *user,
                             tfm_error *error)
{
    return tfm_tokenizer_cut_dropout(tokenizer, line, &(tfm_bpe_dropout){0}, take, user, error);
}

/* -------------------------------------------------------------------------------------------- tokens to text ---- */

static void append_spaced(tfm_buffer *out, tfm_text token)
{
    while (token.size) {
        const bool space = token.size >= SPACE_BYTES && memcmp(token.data, TFM_TOKENIZER_SPACE, SPACE_BYTES) == 0;
        tfm_buffer_append(out, space ? " " : token.data, 1);
        token = tfm_text_from(token, space ? SPACE_BYTES : 1);
    }
}

static void join_reversible(const tfm_tokenizer *t, tfm_ids ids, tfm_buffer *out)
{
    const size_t start = out->size;

    for (size_t i = 0; i < ids.size; i++) {
        const int32_t id = ids.data[i];
        const unsigned char byte = (unsigned char)(id - TFM_TOKENIZER_SPECIALS);
        if (id == TFM_UNK) tfm_buffer_append(out, TFM_UTF8_REPLACEMENT, sizeof TFM_UTF8_REPLACEMENT - 1);
        else if (id >= TFM_TOKENIZER_BYTES) append_spaced(out, tfm_vocab_text(&t->vocab, (uint32_t)id));
        else if (id >= TFM_TOKENIZER_SPECIALS) tfm_buffer_append(out, &byte, 1);
    }
    if (out->bad || out->size == start || out->data[start] != ' ') return;
    out->size--; /* the space that every line begins with */
    memmove(out->data + start, out->data + start + 1, out->size - start);
}

/* An unknown piece inside a word does not end it: "a@@ <unk> b" may have been one word, and gets no space. */
static void join_subword(const tfm_tokenizer *t, tfm_ids ids, tfm_buffer *out)
{
    const size_t mark = sizeof CONTINUED - 1;
    bool inside = true; /* a word goes on, or none has begun */

    for (size_t i = 0; i < ids.size; i++) {
        const int32_t id = ids.data[i];
        tfm_text token = tfm_vocab_text(&t->vocab, (uint32_t)id);
        if (id == TFM_PAD || id == TFM_EOS || id == TFM_BOS) continue;
        const bool unknown = id == TFM_UNK, open = !unknown && ends_with(token, CONTINUED, mark);
        const bool began = out->size > 0;
        if (unknown) token = tfm_text_of(TFM_UTF8_REPLACEMENT);
        if (!inside) tfm_buffer_append(out, " ", 1);
        tfm_buffer_append(out, token.data, token.size - (open ? mark : 0));
        inside = open || (unknown && inside && began);
    }
}

void tfm_tokenizer_join(const tfm_tokenizer *tokenizer, tfm_ids ids, tfm_buffer *out)
{
    const tfm_tokenizer *t = tfm_tokenizer_side_of_target(tokenizer);

    if (tfm_is_renumbered(t)) tfm_renumbered_join(t, ids, out);
    else if (t->sentencepiece) tfm_sentencepiece_join(t->sentencepiece, ids, out);
    else if (t->kind == TFM_TOKENIZER_BERT) tfm_bert_join(t, ids, out);
    else if (t->kind == TFM_TOKENIZER_WORDPIECE) tfm_wordpiece_join(t, ids, out);
    else if (t->kind == TFM_TOKENIZER_BPE) join_reversible(t, ids, out);
    else join_subword(t, ids, out);
}
