/* Tokens to words, for tokenizers that tell no more than how many tokens a text has and what text tokens have. */
#include "api/line_words.h"

#include "base/utf8.h"
#include "text/tokenizer.h"

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool tfm_next_word(tfm_text *word, tfm_text *rest)
{
    size_t begin = 0, end;

    while (begin < rest->size && is_space(rest->data[begin])) begin++;
    for (end = begin; end < rest->size && !is_space(rest->data[end]);) end++;
    *word = (tfm_text){rest->data + begin, end - begin};
    if (end == begin) return false;
    *rest = (tfm_text){rest->data + end, rest->size - end};
    return true;
}

size_t tfm_count_words(tfm_text text)
{
    tfm_text word;
    size_t n = 0;

    while (text.size && tfm_next_word(&word, &text)) n++;
    return n;
}

size_t tfm_words_before(tfm_text text, size_t at)
{
    const bool within = at && at < text.size && !is_space(text.data[at - 1]) && !is_space(text.data[at]);

    return tfm_count_words((tfm_text){text.data, at}) - within;
}

/* Each word ends behind as many tokens as it has alone, after those before; or, with context, as many as the line up to
 * its end has. *total: tokens of all words. */
static tfm_status assign(uint32_t *words, size_t n, size_t *total, const tfm_tokenizer *tokenizer, tfm_text line,
                         bool context, tfm_error *error)
{
    tfm_text rest = line, word;
    uint32_t number = 0;
    size_t end = 0;
    tfm_status status = TFM_OK;

    for (size_t i = 0; !status && rest.size && tfm_next_word(&word, &rest); number++) {
        const tfm_text text = context ? (tfm_text){line.data, line.size - rest.size} : word;
        size_t tokens = 0;
        status = tfm_tokenizer_encode(NULL, 0, &tokens, tokenizer, text, error);
        end = context ? tokens : end + tokens;
        for (; i < end && i < n; i++) words[i] = number;
    }
    *total = end;
    return status;
}

tfm_status tfm_words_of_line(uint32_t *words, size_t n, const tfm_tokenizer *tokenizer, tfm_text line, tfm_error *error)
{
    size_t total;
    tfm_status status;

    for (size_t i = 0; i < n; i++) words[i] = TFM_NO_WORD;
    status = assign(words, n, &total, tokenizer, line, false, error);
    if (!status && total != n) status = assign(words, n, &total, tokenizer, line, true, error);
    return status;
}

/* Characters, each maximal invalid part being one: as U+FFFD, which stands for it in a text that is shown. */
static size_t count_characters(tfm_text word)
{
    size_t n = 0;
    uint32_t code;

    for (size_t at = 0; at < word.size; n++) {
        const int size = tfm_utf8_read(tfm_text_from(word, at), &code);
        at += (size_t)(size < 0 ? -size : size);
    }
    return n;
}

/* Those that are no white space. */
static size_t count_ink(tfm_text text)
{
    tfm_text word;
    size_t n = 0;

    while (text.size && tfm_next_word(&word, &text)) n += count_characters(word);
    return n;
}

/* The word with number `at` of them. */
static uint32_t word_with_ink(tfm_text text, size_t at)
{
    tfm_text word;

    for (uint32_t number = 0; text.size && tfm_next_word(&word, &text); number++) {
        const size_t size = count_characters(word);
        if (at < size) return number;
        at -= size;
    }
    return TFM_NO_WORD;
}

/* A token that adds nothing but white space is of the word that follows. */
tfm_status tfm_words_of_ids(uint32_t *words, const tfm_tokenizer *tokenizer, tfm_ids ids, int32_t eos, tfm_text shown,
                            tfm_buffer *text, tfm_error *error)
{
    size_t before = 0;

    text->bad = false; /* of an earlier call */
    for (size_t i = 0; i < ids.size; i++) {
        text->size = 0;
        tfm_tokenizer_join(tokenizer, (tfm_ids){ids.data, i + 1}, text);
        const size_t ink = count_ink((tfm_text){text->data, text->size});
        const bool follows = ink == before && (!ink || is_space(text->data[text->size - 1]));
        words[i] = ids.data[i] == eos ? TFM_NO_WORD : word_with_ink(shown, follows ? ink : ink - 1);
        before = ink;
    }
    return text->bad ? tfm_fail(error, TFM_E_NOMEM, "no memory for the words of %zu ids", ids.size) : TFM_OK;
}
