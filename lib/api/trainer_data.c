/* Text and ids given to a trainer. */
#include "api/trainer_handle.h"

#include "base/arithmetic.h"
#include "base/utf8.h"

#include <stdio.h>

enum { VALID_LENGTH = 4096 };

size_t tfm_trainer_length(const tfm_trainer *t, size_t most)
{
    const tfm_model_options *o = &t->training.weights.options;
    const size_t rows = o->max_positions - o->position_offset;

    return o->positions == TFM_POSITIONS_LEARNED && rows < most ? rows : most;
}

tfm_status tfm_trainer_encode(tfm_trainer *t, const tfm_text *sources, const tfm_text *targets, size_t n,
                              tfm_error *error)
{
    tfm_status status;

    if (!t || !sources || !targets)
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL", !t ? "trainer" : !sources ? "sources" : "targets");
    if (!t->tokenizer) return tfm_fail(error, TFM_E_INVALID, "the model has no tokenizer: give ids");
    const tfm_encode_rules source = {"source line", t->options.replace_invalid, TFM_BLANK_NO_IDS,
                                     tfm_config_end(&t->training.weights.options, true), NULL};
    const tfm_encode_rules target = {"target line", t->options.replace_invalid, TFM_BLANK_NO_IDS,
                                     tfm_config_end(&t->training.weights.options, false), NULL};
    status = tfm_encode_lines(&t->sources, t->tokenizer, sources, n, &source, error);
    if (status == TFM_OK)
        status = tfm_encode_lines(&t->targets, tfm_tokenizer_target(t->tokenizer), targets, n, &target, error);
    return status;
}

/* The id that counts as unknown; without a tokenizer that of the library. */
static int32_t unknown_id(const tfm_tokenizer *tokenizer)
{
    tfm_special_ids special;

    tfm_tokenizer_special(&special, tokenizer);
    return tokenizer ? special.unk : TFM_UNK;
}

static tfm_status check_ids(tfm_ids ids, uint32_t vocab, size_t pair, const char *side, int32_t unknown,
                            tfm_data_report *report, tfm_error *error)
{
    if (ids.size && !ids.data)
        return tfm_fail(error, TFM_E_INVALID, "%s %zu has %zu ids at NULL", side, pair + 1, ids.size);
    for (size_t i = 0; i < ids.size; i++) {
        if (ids.data[i] < 0 || (uint32_t)ids.data[i] >= vocab)
            return tfm_fail(error, TFM_E_INVALID, "%s %zu: id %zu is %d, the vocabulary has %u", side, pair + 1, i,
                            ids.data[i], vocab);
        report->unknown += ids.data[i] == unknown;
    }
    return TFM_OK;
}

static bool is_blank(tfm_ids source, tfm_ids target)
{
    return !source.size || !target.size;
}

static bool is_too_long(tfm_ids source, tfm_ids target, size_t longest)
{
    return source.size > longest || target.size > longest;
}

tfm_status tfm_trainer_add_pairs(const tfm_trainer *t, tfm_dataset *data, const tfm_ids *sources,
                                 const tfm_ids *targets, size_t n, size_t longest, tfm_data_report *r, tfm_error *error)
{
    const tfm_model_options *o = &t->training.weights.options;
    const int32_t unknown = unknown_id(t->tokenizer), target_unknown = unknown_id(tfm_tokenizer_target(t->tokenizer));

    for (size_t i = 0; i < n; i++) {
        const bool blank = is_blank(sources[i], targets[i]), too_long = is_too_long(sources[i], targets[i], longest);
        tfm_status status = TFM_OK;

        r->blank += blank;
        r->too_long += !blank && too_long;
        if (blank || too_long) continue;
        status = check_ids(sources[i], o->source_vocab_size, i, "source", unknown, r, error);
        if (status == TFM_OK) status = check_ids(targets[i], o->vocab_size, i, "target", target_unknown, r, error);
        if (status == TFM_OK) status = tfm_dataset_add(data, sources[i], targets[i], error);
        if (status != TFM_OK) return status;
        r->pairs++;
        r->source_tokens += sources[i].size;
        r->target_tokens += targets[i].size;
    }
    return TFM_OK;
}

void tfm_texts_free(tfm_texts *texts, const tfm_allocator *a)
{
    tfm_free(a, texts->bytes.data, texts->bytes.capacity, 1);
    tfm_free(a, texts->size, texts->capacity, sizeof *texts->size);
    *texts = (tfm_texts){0};
}

/* Appends a text, valid from now on, and returns its size. */
static size_t keep_side(tfm_buffer *bytes, tfm_text text)
{
    const size_t size = tfm_utf8_replace_invalid(text, NULL, 0);

    if (bytes->bad || !tfm_grow(&bytes->allocator, &bytes->data, &bytes->capacity, bytes->size + size, 1)) {
        bytes->bad = true;
        return 0;
    }
    tfm_utf8_replace_invalid(text, bytes->data + bytes->size, size);
    bytes->size += size;
    return size;
}

static bool keep_text(tfm_texts *texts, tfm_text source, tfm_text target, const tfm_allocator *a)
{
    if (!tfm_grow(a, &texts->size, &texts->capacity, 2 * texts->n + 2, sizeof *texts->size)) return false;
    texts->size[2 * texts->n] = keep_side(&texts->bytes, source);
    texts->size[2 * texts->n + 1] = keep_side(&texts->bytes, target);
    texts->n++;
    return !texts->bytes.bad;
}

tfm_status tfm_trainer_keep_text(const tfm_trainer *t, tfm_texts *texts, const tfm_text *sources,
                                 const tfm_text *targets, size_t n, size_t longest, tfm_error *error)
{
    const tfm_ids *s = t->sources.lines, *g = t->targets.lines;

    texts->bytes.allocator = t->allocator;
    for (size_t i = 0; i < n; i++)
        if (!is_blank(s[i], g[i]) && !is_too_long(s[i], g[i], longest) &&
            !keep_text(texts, sources[i], targets[i], &t->allocator))
            return tfm_fail(error, TFM_E_NOMEM, "text of pair %zu: no memory", i + 1);
    return TFM_OK;
}

/* A resumed run keeps its pieces, to be the same run. */
static void warn_of_memory(const tfm_trainer *t)
{
    char message[160];

    if (!t->is_resumed || !t->options.memory || !t->options.log || t->training.need <= t->options.memory) return;
    snprintf(message, sizeof message, "the checkpoint's pieces of %u tokens need %llu MB, memory allows %llu MB",
             t->training.piece_tokens, (unsigned long long)t->training.need / 1000000 + 1,
             (unsigned long long)t->options.memory / 1000000);
    t->options.log(t->options.log_user, TFM_LOG_WARNING, message);
}

/* Hands filled data to the training, after comparing it with what a checkpoint expects. */
static tfm_status accept(tfm_trainer *t, tfm_dataset *data, tfm_data_report *r, tfm_error *error)
{
    const uint64_t update = t->training.at.update;
    uint32_t piece_tokens = 0; /* to be chosen */
    tfm_checkpoint state;
    tfm_status status;

    if (!data->n_pairs)
        return tfm_fail(error, TFM_E_INVALID, "no training pair is left: %llu blank, %llu longer than %zu tokens",
                        (unsigned long long)r->blank, (unsigned long long)r->too_long,
                        tfm_trainer_length(t, t->options.max_length));
    tfm_trainer_describe(t, data, &state);
    if (t->is_resumed) {
        status = tfm_checkpoint_compare(&t->resumed, &state, error);
        if (status != TFM_OK) return status;
        piece_tokens = t->resumed.piece_tokens ? t->resumed.piece_tokens : t->options.batch_tokens;
    } else {
        t->training.at.update = 0; /* other data begin their epoch */
    }
    status = tfm_training_set_data(&t->training, data, piece_tokens, error);
    if (status != TFM_OK) {
        t->training.at.update = update;
        return status;
    }
    t->fingerprint = state.fingerprint;
    r->piece_tokens = t->training.piece_tokens;
    r->memory = t->training.need;
    warn_of_memory(t);
    return TFM_OK;
}

static void swap(tfm_texts *a, tfm_texts *b)
{
    const tfm_texts kept = *a;

    *a = *b;
    *b = kept;
}

/* texts: of all pairs, to be cut anew for each epoch; empty: ids stay as they are. Kept in t->train. */
static tfm_status set_data(tfm_trainer *t, const tfm_ids *sources, const tfm_ids *targets, size_t n,
                           const tfm_texts *texts, tfm_data_report *report, size_t struct_size, tfm_error *error)
{
    tfm_texts unused = *texts;
    tfm_data_report r = {0};
    tfm_dataset data;
    tfm_status status = tfm_dataset_create(&data, &t->allocator, error);

    if (status == TFM_OK)
        status = tfm_trainer_add_pairs(t, &data, sources, targets, n, tfm_trainer_length(t, t->options.max_length), &r,
                                       error);
    swap(&t->train, &unused);
    if (status == TFM_OK && t->train.n) status = tfm_trainer_drop_merges(t, &data, error);
    if (status == TFM_OK) status = accept(t, &data, &r, error);
    if (status != TFM_OK) swap(&t->train, &unused);
    tfm_texts_free(&unused, &t->allocator);
    tfm_dataset_destroy(&data);
    if (status == TFM_OK) tfm_result_write(report, struct_size, &r, sizeof r);
    return status;
}

tfm_status tfm_trainer_set_data(tfm_trainer *t, const tfm_text *sources, const tfm_text *targets, size_t n_pairs,
                                tfm_data_report *report, size_t struct_size, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_texts texts = {0};
    tfm_status status = tfm_trainer_encode(t, sources, targets, n_pairs, error);

    if (status == TFM_OK && tfm_trainer_drops_merges(t))
        status = tfm_trainer_keep_text(t, &texts, sources, targets, n_pairs,
                                       tfm_trainer_length(t, t->options.max_length), error);
    if (status == TFM_OK)
        status = set_data(t, t->sources.lines, t->targets.lines, n_pairs, &texts, report, struct_size, error);
    else if (t) tfm_texts_free(&texts, &t->allocator);
    if (t) {
        tfm_encoded_free(&t->sources);
        tfm_encoded_free(&t->targets);
    }
    return status;
}

tfm_status tfm_trainer_set_data_ids(tfm_trainer *t, const tfm_ids *sources, const tfm_ids *targets, size_t n_pairs,
                                    tfm_data_report *report, size_t struct_size, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;

    if (!t || !sources || !targets)
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL", !t ? "trainer" : !sources ? "sources" : "targets");
    if (tfm_trainer_drops_merges(t))
        return tfm_fail(error, TFM_E_INVALID,
                        "dropout of merges needs text, but the data are ids: set bpe_dropout_source and "
                        "bpe_dropout_target to 0");
    return set_data(t, sources, targets, n_pairs, &(tfm_texts){0}, report, struct_size, error);
}

tfm_status tfm_trainer_set_valid(tfm_trainer *t, const tfm_text *sources, const tfm_text *targets, size_t n_pairs,
                                 tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_data_report r = {0};
    tfm_dataset data = {0};
    tfm_texts texts = {0};
    tfm_status status = tfm_trainer_encode(t, sources, targets, n_pairs, error);

    if (status == TFM_OK) status = tfm_dataset_create(&data, &t->allocator, error);
    if (status == TFM_OK)
        status = tfm_trainer_add_pairs(t, &data, t->sources.lines, t->targets.lines, n_pairs,
                                       tfm_trainer_length(t, VALID_LENGTH), &r, error);
    if (status == TFM_OK && r.too_long)
        status = tfm_fail(error, TFM_E_INVALID, "%llu validation pairs have more than %zu tokens on a side",
                          (unsigned long long)r.too_long, tfm_trainer_length(t, VALID_LENGTH));
    if (status == TFM_OK && !data.n_pairs)
        status =
            tfm_fail(error, TFM_E_INVALID, "no validation pair is left: %llu are blank", (unsigned long long)r.blank);
    if (status == TFM_OK && t->options.valid_bleu)
        status =
            tfm_trainer_keep_text(t, &texts, sources, targets, n_pairs, tfm_trainer_length(t, VALID_LENGTH), error);
    if (status == TFM_OK) status = tfm_training_set_valid(&t->training, &data, error);
    tfm_dataset_destroy(&data);
    if (t) {
        tfm_texts_free(status == TFM_OK ? &t->valid : &texts, &t->allocator);
        if (status == TFM_OK) t->valid = texts;
        tfm_encoded_free(&t->sources);
        tfm_encoded_free(&t->targets);
    }
    return status;
}
