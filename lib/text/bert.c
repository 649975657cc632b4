/* Words by BERT's rules, and the longest pieces of each. */
#include "text/bert.h"

#include "base/characters.h"

#include <utf8proc.h>

#define GOES_ON "##"

enum { MOST_CHARACTERS = 200, MARK = sizeof GOES_ON - 1 }; /* of a word: a longer one is unknown */

static const tfm_text nothing;

/* ------------------------------------------------------------------------------------------------ the words ----- */

static bool is_chinese(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } blocks[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
                  {0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};

    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (c >= blocks[i].first && c <= blocks[i].last) return true;
    return false;
}

static bool is_space(uint32_t c, utf8proc_category_t category)
{
    return c == '\t' || c == '\n' || c == '\r' ||
           (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
}

static bool is_dropped(uint32_t c, utf8proc_category_t category)
{
    return !c || c == 0xFFFD || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF;
}

/* Of ASCII all that is neither letter, digit nor space counts. */
static bool is_punctuation(uint32_t c, utf8proc_category_t category)
{
    if (c < 0x80)
        return c > ' ' && c < 0x7F && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z');
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

static void append_character(tfm_buffer *out, utf8proc_int32_t c)
{
    utf8proc_uint8_t bytes[4];

    tfm_buffer_append(out, bytes, (size_t)utf8proc_encode_char(c, bytes));
}

/* Ends the word at hand, if there is one. */
static void end_word(tfm_buffer *out, size_t start)
{
    if (!out->bad && out->size > start && out->data[out->size - 1] != ' ') tfm_buffer_append(out, " ", 1);
}

/* Punctuation is a word of its own. */
static void append_alone(tfm_buffer *out, size_t start, utf8proc_int32_t c, utf8proc_category_t category)
{
    const bool alone = is_punctuation((uint32_t)c, category);

    if (alone) end_word(out, start);
    append_character(out, c);
    if (alone) end_word(out, start);
}

/* A character without its accents, where punctuation may only then show. */
static void append_plain(tfm_buffer *out, size_t start, uint32_t c)
{
    enum { MOST = 32 };
    utf8proc_int32_t parts[MOST];
    int boundary = 0;
    const utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, parts, MOST, UTF8PROC_DECOMPOSE, &boundary);

    for (utf8proc_ssize_t i = 0; i < n && i < MOST; i++) {
        const utf8proc_category_t category = utf8proc_category(parts[i]);
        if (category != UTF8PROC_CATEGORY_MN) append_alone(out, start, parts[i], category);
    }
}

/* The next character of a line, taken off it; 0 for a byte that is of none. */
static uint32_t take_character(tfm_text *line, tfm_text *bytes, utf8proc_category_t *category)
{
    uint32_t c = 0;
    const int size = tfm_utf8_read(*line, &c);

    *bytes = (tfm_text){line->data, size > 0 ? (size_t)size : 1};
    *line = tfm_text_from(*line, bytes->size);
    *category = utf8proc_category((utf8proc_int32_t)c);
    return size > 0 ? c : 0;
}

/* What is dropped does not count for the form of a sigma at the end of a word either. */
static void append_clean(tfm_buffer *out, tfm_text line)
{
    utf8proc_category_t category;
    tfm_text bytes;

    while (line.size) {
        const uint32_t c = take_character(&line, &bytes, &category);
        if (is_space(c, category) || !is_dropped(c, category)) tfm_buffer_append(out, bytes.data, bytes.size);
    }
}

static void append_words(tfm_buffer *out, tfm_text text, bool cased)
{
    const size_t start = out->size;
    utf8proc_category_t category;
    tfm_text bytes;

    while (text.size) {
        const uint32_t c = take_character(&text, &bytes, &category);
        const bool space = is_space(c, category), alone = is_chinese(c);
        if (space || alone) end_word(out, start);
        if (cased && !space) append_alone(out, start, (utf8proc_int32_t)c, category);
        else if (!space) append_plain(out, start, c);
        if (alone) end_word(out, start);
    }
    end_word(out, start);
}

void tfm_bert_words(tfm_text line, bool cased, tfm_buffer *out)
{
    tfm_buffer clean = {.allocator = out->allocator}, lower = clean;

    append_clean(&clean, line);
    if (!cased) tfm_text_lower(&lower, (tfm_text){clean.data, clean.size});
    const tfm_buffer *words = cased ? &clean : &lower;
    append_words(out, (tfm_text){words->data, words->size}, cased);
    out->bad |= clean.bad || lower.bad;
    tfm_buffer_free(&clean);
    tfm_buffer_free(&lower);
}

/* ----------------------------------------------------------------------------------------------- the pieces ----- */

/* The longest token at byte at of a word; *stop: where it ends. */
static uint32_t longest(const tfm_tokenizer *t, tfm_text word, size_t at, size_t *stop)
{
    const tfm_text mark = {GOES_ON, at ? MARK : 0};

    for (*stop = word.size - at < t->longest ? word.size : at + t->longest; *stop > at; --*stop) {
        if (*stop < word.size && (word.data[*stop] & 0xC0) == 0x80) continue; /* in the midst of a character */
        const uint32_t id = tfm_vocab_find(&t->vocab, mark, (tfm_text){word.data + at, *stop - at});
        const int32_t number = (int32_t)id;
        const tfm_special_ids *s = &t->special;
        if (id != TFM_VOCAB_NONE && number != s->pad && number != s->eos && number != s->bos) return id;
    }
    return TFM_VOCAB_NONE;
}

static void cut_word(const tfm_tokenizer *t, tfm_text word, tfm_token_fn take, void *user)
{
    size_t at = 0, stop;

    bool known = tfm_utf8_length(word) <= MOST_CHARACTERS;
    for (; known && at < word.size; at = stop) known = longest(t, word, at, &stop) != TFM_VOCAB_NONE;
    if (!known) {
        take(user, &(tfm_token){.id = TFM_VOCAB_NONE, .text = tfm_vocab_text(&t->vocab, (uint32_t)t->special.unk)});
        return;
    }
    for (at = 0; at < word.size; at = stop) {
        const uint32_t id = longest(t, word, at, &stop);
        take(user, &(tfm_token){.id = id, .text = tfm_vocab_text(&t->vocab, id)});
    }
}

tfm_status tfm_bert_cut(const tfm_tokenizer *tokenizer, tfm_text line, tfm_token_fn take, void *user, tfm_error *error)
{
    tfm_buffer words = {.allocator = tokenizer->allocator};

    tfm_bert_words(line, tokenizer->cased, &words);
    const bool bad = words.bad;
    for (tfm_text rest = {words.data, words.size}; !bad && rest.size;) {
        const tfm_text word = {rest.data, (size_t)((const char *)memchr(rest.data, ' ', rest.size) - rest.data)};
        cut_word(tokenizer, word, take, user);
        rest = tfm_text_from(rest, word.size + 1);
    }
    tfm_buffer_free(&words);
    return bad ? tfm_fail(error, TFM_E_NOMEM, "no memory for a line of %zu bytes", line.size) : TFM_OK;
}

/* What is unknown is U+2047: that is unknown again, and what is cut from it stays the same. */
void tfm_bert_join(const tfm_tokenizer *tokenizer, tfm_ids ids, tfm_buffer *out)
{
    const tfm_special_ids *s = &tokenizer->special;
    bool begun = false;

    for (size_t i = 0; i < ids.size; i++) {
        const int32_t id = ids.data[i];
        tfm_text token = tfm_vocab_text(&tokenizer->vocab, (uint32_t)id);
        if (id == s->pad || id == s->eos || id == s->bos) continue;
        const bool joined = token.size > MARK && !memcmp(token.data, GOES_ON, MARK);
        if (joined) token = tfm_text_from(token, MARK);
        if (id == s->unk) token = tfm_text_of("\xE2\x81\x87");
        if (begun && !joined) tfm_buffer_append(out, " ", 1);
        tfm_buffer_append(out, token.data, token.size);
        begun = true;
    }
}

/* ------------------------------------------------------------------------------------------------ its files ----- */

bool tfm_bert_is_file(tfm_text file)
{
    return file.size > 5 && !memcmp(file.data, "[PAD]", 5) && (file.data[5] == '\n' || file.data[5] == '\r');
}

tfm_status tfm_bert_read(tfm_tokenizer *tokenizer, tfm_text file, tfm_error *error)
{
    const size_t invalid = tfm_utf8_find_invalid(file);
    tfm_status status = TFM_OK;
    tfm_error inner = {0};

    if (invalid != SIZE_MAX) return tfm_fail(error, TFM_E_FORMAT, "vocabulary: not UTF-8 at byte %zu", invalid);
    for (size_t number = 1; status == TFM_OK && file.size; number++) {
        const tfm_text line = tfm_text_take_line(&file);
        status = tfm_tokenizer_add_token(tokenizer, line, &inner);
        if (status != TFM_OK) tfm_fail(error, status, "vocabulary, line %zu: %s", number, inner.message);
    }
    return status;
}

static int32_t special(const tfm_tokenizer *t, const char *name)
{
    const uint32_t id = tfm_vocab_find(&t->vocab, tfm_text_of(name), nothing);

    return id == TFM_VOCAB_NONE ? -1 : (int32_t)id;
}

tfm_status tfm_bert_check(tfm_tokenizer *tokenizer, tfm_error *error)
{
    tokenizer->special = (tfm_special_ids){.pad = special(tokenizer, "[PAD]"),
                                           .eos = special(tokenizer, "[SEP]"),
                                           .bos = special(tokenizer, "[CLS]"),
                                           .unk = special(tokenizer, "[UNK]")};
    if (tokenizer->special.unk >= 0) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, "the vocabulary has no [UNK]");
}
