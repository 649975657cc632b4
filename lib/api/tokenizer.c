/* The public tokenizer: checks arguments, reads and writes files, and fits results into the caller's memory. */
#include "api/check_line.h"
#include "base/file.h"
#include "model/model_file.h"
#include "text/bpe_codes.h"
#include "text/renumbered.h"
#include "text/sentencepiece.h"
#include "text/subword.h"
#include "text/tokenizer_learn.h"
#include "text/wordpiece.h"
#include "text/words.h"

/* Never edit: the fields every caller since 0.2 has. */
#define OPTIONS_SIZE_MIN (offsetof(tfm_tokenizer_options, log_user) + sizeof(void *))

static const tfm_tokenizer_options defaults = {
    .struct_size = sizeof(tfm_tokenizer_options),
    .kind = TFM_TOKENIZER_BPE,
    .vocab_size = 8000,
    .merges = 10000,
    .min_frequency = 2,
};

/* ------------------------------------------------------------------------------------------------- learning ---- */

void tfm_tokenizer_options_init(tfm_tokenizer_options *options, size_t struct_size)
{
    tfm_options_fill(options, struct_size, &defaults, sizeof defaults);
}

static tfm_status check_options(const tfm_tokenizer_options *o, tfm_error *error)
{
    if (o->kind == TFM_TOKENIZER_SENTENCEPIECE)
        return tfm_fail(error, TFM_E_UNSUPPORTED,
                        "models of SentencePiece are not learned here: train one with its spm_train");
    if (o->kind == TFM_TOKENIZER_BERT)
        return tfm_fail(error, TFM_E_UNSUPPORTED, "word-pieces of BERT are not learned here: read a vocab.txt");
    if (o->kind != TFM_TOKENIZER_BPE && o->kind != TFM_TOKENIZER_WORDPIECE && o->kind != TFM_TOKENIZER_SUBWORD_NMT)
        return tfm_fail(error, TFM_E_UNSUPPORTED, "kind is %u, only %d, %d and %d are learned", o->kind,
                        TFM_TOKENIZER_BPE, TFM_TOKENIZER_SUBWORD_NMT, TFM_TOKENIZER_WORDPIECE);
    if (o->reserved) return tfm_fail(error, TFM_E_UNSUPPORTED, "reserved is %u, not 0", o->reserved);
    if (!o->min_frequency) return tfm_fail(error, TFM_E_INVALID, "min_frequency is 0, must be at least 1");
    if (o->kind == TFM_TOKENIZER_BPE &&
        (o->vocab_size < TFM_TOKENIZER_BYTES || o->vocab_size > TFM_TOKENIZER_MAX_VOCAB))
        return tfm_fail(error, TFM_E_INVALID, "vocab_size is %u, not in %d..%d", o->vocab_size, TFM_TOKENIZER_BYTES,
                        TFM_TOKENIZER_MAX_VOCAB);
    if (o->kind == TFM_TOKENIZER_WORDPIECE && (o->vocab_size < 3 || o->vocab_size > TFM_TOKENIZER_MAX_VOCAB))
        return tfm_fail(error, TFM_E_INVALID, "vocab_size is %u, not in 3..%d", o->vocab_size, TFM_TOKENIZER_MAX_VOCAB);
    return TFM_OK;
}

tfm_status tfm_tokenizer_learn(tfm_tokenizer **out, const tfm_tokenizer_options *options, const tfm_text *lines,
                               size_t n_lines, tfm_error *error)
{
    tfm_tokenizer_options own = defaults;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!lines && n_lines) return tfm_fail(error, TFM_E_INVALID, "lines is NULL");
    tfm_status status = tfm_options_read(&own, sizeof own, OPTIONS_SIZE_MIN, options, error);
    if (status == TFM_OK) status = check_options(&own, error);
    return status == TFM_OK ? tfm_tokenizer_from_lines(out, &own, lines, n_lines, error) : status;
}

/* ---------------------------------------------------------------------------------------------------- files ---- */

/* Puts the name of the file before a message about its content. */
static tfm_status name_file(tfm_status status, const char *path, const tfm_error *inner, tfm_error *error)
{
    const size_t size = strlen(path), shown = 100; /* the end of a long path says more than its beginning */

    if (status == TFM_OK) return status;
    return tfm_fail(error, status, "%s: %s", size > shown ? path + size - shown : path, inner->message);
}

static tfm_status refuse_other(tfm_text file, tfm_error *error)
{
    if (tfm_bpe_codes_is_file(file))
        return tfm_fail(error, TFM_E_FORMAT,
                        "a codes file of subword-nmt has no vocabulary: import it together with the "
                        "training text (tfm_tokenizer_import(), tfm train --codes)");
    return tfm_fail(error, TFM_E_FORMAT,
                    "no tokenizer begins like this: give one that was saved here, a .model of "
                    "SentencePiece, a vocabulary of tensor2tensor (in quotes) or BERT ([PAD] first), or a model");
}

/* The tokenizer's own file, or a model file. */
static tfm_status read_file(tfm_tokenizer **out, tfm_mapping file, const char *path, const tfm_allocator *allocator,
                            tfm_error *error)
{
    tfm_text text = {(const char *)file.data, file.size};
    tfm_safetensors *model = NULL;
    tfm_status status = TFM_OK;
    tfm_error inner = {0};

    if (!tfm_tokenizer_is_text(text) && tfm_safetensors_is_other(file.data, file.size))
        return name_file(refuse_other(text, &inner), path, &inner, error);
    if (!tfm_tokenizer_is_text(text)) {
        status = tfm_safetensors_parse(&model, file.data, file.size, path, allocator, error);
        if (status != TFM_OK) return status;
        status = tfm_model_file_tokenizer(&text, model, &inner);
        if (status == TFM_OK && !text.size) status = tfm_fail(&inner, TFM_E_FORMAT, "the model has no tokenizer");
    }
    if (status == TFM_OK) status = tfm_tokenizer_from_text(out, text, allocator, &inner);
    tfm_safetensors_close(model);
    return name_file(status, path, &inner, error);
}

tfm_status tfm_tokenizer_load(tfm_tokenizer **out, const char *path, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_mapping file;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!path) return tfm_fail(error, TFM_E_INVALID, "path is NULL");
    tfm_status status = tfm_file_map(&file, path, error);
    if (status != TFM_OK) return status;
    status = read_file(out, file, path, allocator, error);
    tfm_file_unmap(&file);
    return status;
}

tfm_status tfm_tokenizer_import(tfm_tokenizer **out, const char *codes_path, const tfm_text *lines, size_t n_lines,
                                const tfm_allocator *allocator, tfm_error *error)
{
    tfm_error inner = {0};
    tfm_mapping file;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!codes_path || (!lines && n_lines))
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL", codes_path ? "lines" : "codes_path");
    tfm_status status = tfm_file_map(&file, codes_path, error);
    if (status != TFM_OK) return status;
    const tfm_text codes = {(const char *)file.data, file.size};
    status = tfm_tokenizer_from_codes(out, codes, lines, n_lines, allocator, &inner);
    tfm_file_unmap(&file);
    return name_file(status, codes_path, &inner, error);
}

static tfm_status read_vocabulary(tfm_tokenizer *t, const char *path, uint32_t threshold, tfm_error *error)
{
    tfm_error inner = {0};
    tfm_mapping file;
    tfm_status status = tfm_file_map(&file, path, error);

    if (status != TFM_OK) return status;
    status = tfm_subword_read_vocabulary(t, (tfm_text){(const char *)file.data, file.size}, threshold, &inner);
    tfm_file_unmap(&file);
    return name_file(status, path, &inner, error);
}

static tfm_status add_glossary(tfm_tokenizer *t, tfm_text glossary, size_t number, tfm_error *error)
{
    const size_t invalid = glossary.data ? tfm_utf8_find_invalid(glossary) : SIZE_MAX;

    if (!glossary.data && glossary.size)
        return tfm_fail(error, TFM_E_INVALID, "glossary %zu has %zu bytes at NULL", number, glossary.size);
    if (invalid != SIZE_MAX)
        return tfm_fail(error, TFM_E_FORMAT, "glossary %zu is not UTF-8 at byte %zu", number, invalid);
    const tfm_status status = tfm_subword_keep_whole(t, glossary, error);
    if (status == TFM_E_FORMAT && error) error->status = TFM_E_INVALID; /* here it is an argument, not a file */
    return status == TFM_E_FORMAT ? TFM_E_INVALID : status;
}

static tfm_status check_restriction(const tfm_tokenizer *t, const char *path, uint32_t threshold,
                                    const tfm_text *glossaries, size_t n, tfm_error *error)
{
    if (!t) return tfm_fail(error, TFM_E_INVALID, "tokenizer is NULL");
    if (t->target)
        return tfm_fail(error, TFM_E_INVALID, "the tokenizer is a pair: restrict each side, and pair them then");
    if (t->kind != TFM_TOKENIZER_SUBWORD_NMT)
        return tfm_fail(error, TFM_E_INVALID,
                        "only tokenizers of the kind subword-nmt can be restricted, this one is of the kind %s",
                        tfm_tokenizer_kind_name(t->kind));
    if (!path && threshold)
        return tfm_fail(error, TFM_E_INVALID, "vocabulary_threshold is %u without a vocabulary: give its file",
                        threshold);
    if (!glossaries && n) return tfm_fail(error, TFM_E_INVALID, "there are %zu glossaries at NULL", n);
    return TFM_OK;
}

tfm_status tfm_tokenizer_restrict(tfm_tokenizer **out, const tfm_tokenizer *tokenizer, const char *vocabulary_path,
                                  uint32_t vocabulary_threshold, const tfm_text *glossaries, size_t n_glossaries,
                                  const tfm_allocator *allocator, tfm_error *error)
{
    tfm_tokenizer *t = NULL;
    tfm_status status;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    status = check_restriction(tokenizer, vocabulary_path, vocabulary_threshold, glossaries, n_glossaries, error);
    if (status == TFM_OK) status = tfm_tokenizer_copy(&t, tokenizer, allocator, error);
    if (status == TFM_OK && vocabulary_path) status = read_vocabulary(t, vocabulary_path, vocabulary_threshold, error);
    for (size_t i = 0; status == TFM_OK && i < n_glossaries; i++) status = add_glossary(t, glossaries[i], i + 1, error);
    if (status == TFM_OK) *out = t;
    else tfm_tokenizer_destroy(t);
    return status;
}

tfm_status tfm_tokenizer_keep_case(tfm_tokenizer **out, const tfm_tokenizer *tokenizer, const tfm_allocator *allocator,
                                   tfm_error *error)
{
    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!tokenizer) return tfm_fail(error, TFM_E_INVALID, "tokenizer is NULL");
    if (tokenizer->kind != TFM_TOKENIZER_BERT || tokenizer->target)
        return tfm_fail(error, TFM_E_INVALID, "only a vocabulary of BERT can be cased, this tokenizer is %s",
                        tokenizer->target ? "a pair: give one side" : tfm_tokenizer_kind_name(tokenizer->kind));
    const tfm_status status = tfm_tokenizer_copy(out, tokenizer, allocator, error);
    if (status == TFM_OK) (*out)->cased = true;
    return status;
}

/* ------------------------------------------------------------------------------------------- source and target ---- */

tfm_status tfm_tokenizer_pair(tfm_tokenizer **out, const tfm_tokenizer *source, const tfm_tokenizer *target,
                              const tfm_allocator *allocator, tfm_error *error)
{
    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!source || !target) return tfm_fail(error, TFM_E_INVALID, "%s is NULL", source ? "target" : "source");
    return tfm_tokenizer_copy_pair(out, source, target, allocator, error);
}

const tfm_tokenizer *tfm_tokenizer_target(const tfm_tokenizer *tokenizer)
{
    return tfm_tokenizer_side_of_target(tokenizer);
}

tfm_status tfm_tokenizer_renumber(tfm_tokenizer **out, const tfm_tokenizer *tokenizer, const char *vocabulary_path,
                                  const tfm_allocator *allocator, tfm_error *error)
{
    tfm_error inner = {0};
    tfm_mapping file;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!tokenizer || !vocabulary_path)
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL", tokenizer ? "vocabulary_path" : "tokenizer");
    if (!tokenizer->sentencepiece || tokenizer->target)
        return tfm_fail(
            error, TFM_E_INVALID, "only the pieces of a SentencePiece model get other ids, this tokenizer is %s",
            tokenizer->target ? "a pair: give each side its own" : tfm_tokenizer_kind_name(tokenizer->kind));
    tfm_status status = tfm_file_map(&file, vocabulary_path, error);
    if (status != TFM_OK) return status;
    status = tfm_tokenizer_copy(out, tokenizer, allocator, &inner);
    if (status == TFM_OK) status = tfm_renumbered_take(*out, (tfm_text){(const char *)file.data, file.size}, &inner);
    tfm_file_unmap(&file);
    if (status != TFM_OK) tfm_tokenizer_destroy(*out);
    if (status != TFM_OK) *out = NULL;
    return name_file(status, vocabulary_path, &inner, error);
}

/* --------------------------------------------------------------------------------------------------- writing ---- */

typedef tfm_status (*format_fn)(const tfm_tokenizer *tokenizer, tfm_buffer *out, tfm_error *error);

static tfm_status write_file(const tfm_tokenizer *t, const char *path, format_fn format, tfm_error *error)
{
    tfm_buffer text = {.allocator = t->allocator};
    tfm_status status = format(t, &text, error);

    if (status == TFM_OK) status = tfm_file_write(path, text.data, text.size, error);
    tfm_buffer_free(&text);
    return status;
}

tfm_status tfm_tokenizer_save(const tfm_tokenizer *tokenizer, const char *path, tfm_error *error)
{
    if (!tokenizer || !path) return tfm_fail(error, TFM_E_INVALID, "%s is NULL", tokenizer ? "path" : "tokenizer");
    return write_file(tokenizer, path, tfm_tokenizer_to_text, error);
}

tfm_status tfm_tokenizer_export(const tfm_tokenizer *tokenizer, const char *codes_path, tfm_error *error)
{
    if (!tokenizer || !codes_path)
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL", tokenizer ? "codes_path" : "tokenizer");
    if (tokenizer->target)
        return tfm_fail(error, TFM_E_INVALID, "the tokenizer is a pair, such a file holds one: export each side");
    if (tokenizer->kind == TFM_TOKENIZER_WORDPIECE)
        return write_file(tokenizer, codes_path, tfm_wordpiece_write, error);
    if (tokenizer->kind != TFM_TOKENIZER_SUBWORD_NMT)
        return tfm_fail(
            error, TFM_E_INVALID,
            "only tokenizers of the kinds subword-nmt and wordpiece have such a file, this one is of the kind %s",
            tfm_tokenizer_kind_name(tokenizer->kind));
    return write_file(tokenizer, codes_path, tfm_bpe_codes_write, error);
}

void tfm_tokenizer_free(tfm_tokenizer *tokenizer)
{
    tfm_tokenizer_destroy(tokenizer);
}

/* ----------------------------------------------------------------------------------------------- vocabulary ---- */

uint32_t tfm_tokenizer_vocab_size(const tfm_tokenizer *tokenizer)
{
    return tokenizer ? tfm_tokenizer_vocab(tokenizer)->n : 0;
}

uint32_t tfm_tokenizer_kind(const tfm_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->kind : 0;
}

tfm_text tfm_tokenizer_token(const tfm_tokenizer *tokenizer, int32_t id)
{
    if (id < 0 || (uint32_t)id >= tfm_tokenizer_vocab_size(tokenizer)) return (tfm_text){"", 0};
    return tfm_vocab_text(tfm_tokenizer_vocab(tokenizer), (uint32_t)id);
}

int32_t tfm_tokenizer_id(const tfm_tokenizer *tokenizer, tfm_text token)
{
    if (!tokenizer) return TFM_UNK;
    const uint32_t id =
        token.data ? tfm_vocab_find(tfm_tokenizer_vocab(tokenizer), token, (tfm_text){0}) : TFM_VOCAB_NONE;
    return id == TFM_VOCAB_NONE ? tokenizer->special.unk : (int32_t)id;
}

void tfm_tokenizer_special(tfm_special_ids *ids, const tfm_tokenizer *tokenizer)
{
    if (ids) *ids = tokenizer ? tokenizer->special : (tfm_special_ids){-1, -1, -1, -1};
}

/* ---------------------------------------------------------------------------------------------------- UTF-8 ---- */

size_t tfm_utf8_check(tfm_text text)
{
    return text.data ? tfm_utf8_find_invalid(text) : SIZE_MAX;
}

void tfm_utf8_repair(char *out, size_t capacity, size_t *size, tfm_text text)
{
    const size_t all = text.data ? tfm_utf8_replace_invalid(text, out, out ? capacity : 0) : 0;

    if (size) *size = all;
}
