/* Text and ids given to a trainer, and its validation BLEU. */
#include "api/trainer_handle.h"

size_t tfm_trainer_length(const tfm_trainer *t, size_t most)
{
    const tfm_model_options *o = &t->training.weights.options;
    const size_t rows = o->max_positions - o->position_offset;

    return o->positions == TFM_POSITIONS_LEARNED && rows < most ? rows : most;
}

tfm_status tfm_trainer_encode(tfm_trainer *t, const tfm_text *sources, const tfm_text *targets, size_t n, tfm_error *error)
{
    tfm_status status;

    if (!t || !sources || !targets)
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL", !t ? "trainer" : !sources ? "sources" : "targets");
    if (!t->tokenizer) return tfm_fail(error, TFM_E_INVALID, "the model has no tokenizer: give ids");
    const tfm_encode_rules source = {"source line", t->options.replace_invalid, true, tfm_config_end(&t->training.weights.options, true)};
    const tfm_encode_rules target = {"target line", t->options.replace_invalid, true, tfm_config_end(&t->training.weights.options, false)};
    status = tfm_encode_lines(&t->sources, t->tokenizer, sources, n, &source, error);
    if (status == TFM_OK) status = tfm_encode_lines(&t->targets, t->tokenizer, targets, n, &target, error);
    return status;
}

/* The id that counts as unknown; without a tokenizer that of the library. */
static int32_t unknown_id(const tfm_trainer *t)
{
    tfm_special_ids special;

    tfm_tokenizer_special(&special, t->tokenizer);
    return t->tokenizer ? special.unk : TFM_UNK;
}

static tfm_status check_ids(tfm_ids ids, uint32_t vocab, size_t pair, const char *side, int32_t unknown,
                            tfm_data_report *report, tfm_error *error)
{
    if (ids.size && !ids.data) return tfm_fail(error, TFM_E_INVALID, "%s %zu has %zu ids at NULL", side, pair + 1, ids.size);
    for (size_t i = 0; i < ids.size; i++) {
        if (ids.data[i] < 0 || (uint32_t)ids.data[i] >= vocab)
            return tfm_fail(error, TFM_E_INVALID, "%s %zu: id %zu is %d, the vocabulary has %u", side, pair + 1, i, ids.data[i],
                            vocab);
        report->unknown += ids.data[i] == unknown;
    }
    return TFM_OK;
}

tfm_status tfm_trainer_add_pairs(const tfm_trainer *t, tfm_dataset *data, const tfm_ids *sources, const tfm_ids *targets,
                                 size_t n, size_t longest, tfm_data_report *r, tfm_error *error)
{
    const tfm_model_options *o = &t->training.weights.options;
    const int32_t unknown = unknown_id(t);

    for (size_t i = 0; i < n; i++) {
        const bool blank = !sources[i].size || !targets[i].size;
        const bool too_long = sources[i].size > longest || targets[i].size > longest;
        tfm_status status = TFM_OK;

        r->blank += blank;
        r->too_long += !blank && too_long;
        if (blank || too_long) continue;
        status = check_ids(sources[i], o->source_vocab_size, i, "source", unknown, r, error);
        if (status == TFM_OK) status = check_ids(targets[i], o->vocab_size, i, "target", unknown, r, error);
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

static bool keep_text(tfm_texts *texts, tfm_text source, tfm_text target, const tfm_allocator *a)
{
    if (!tfm_grow(a, &texts->size, &texts->capacity, 2 * texts->n + 2, sizeof *texts->size)) return false;
    texts->size[2 * texts->n] = source.size;
    texts->size[2 * texts->n + 1] = target.size;
    tfm_buffer_append(&texts->bytes, source.data, source.size);
    tfm_buffer_append(&texts->bytes, target.data, target.size);
    texts->n++;
    return !texts->bytes.bad;
}

tfm_status tfm_trainer_keep_text(const tfm_trainer *t, tfm_texts *texts, const tfm_text *sources, const tfm_text *targets,
                                 size_t n, tfm_error *error)
{
    texts->bytes.allocator = t->allocator;
    for (size_t i = 0; i < n; i++)
        if (t->sources.lines[i].size && t->targets.lines[i].size &&
            !keep_text(texts, sources[i], targets[i], &t->allocator))
            return tfm_fail(error, TFM_E_NOMEM, "text of the validation data: no memory");
    return TFM_OK;
}

static tfm_status translate(tfm_trainer *t, const tfm_text *sources, const tfm_text *targets, tfm_text *hyps, double *bleu,
                            tfm_decoder *decoder, tfm_error *error)
{
    tfm_bleu_options options;
    tfm_bleu_result result;
    tfm_status status = tfm_decoder_translate(decoder, sources, t->valid.n, error);

    if (status != TFM_OK) return status;
    for (size_t i = 0; i < t->valid.n; i++) hyps[i] = tfm_decoder_text(decoder, i, 0);
    tfm_bleu_options_init(&options, sizeof options);
    options.tokenize = TFM_BLEU_TOKENIZE_NONE;
    options.allocator = &t->allocator;
    status = tfm_bleu(&result, sizeof result, hyps, t->valid.n, &targets, 1, &options, error);
    *bleu = result.score;
    return status;
}

/* The decoder works on a copy of the weights: nothing of the training changes. */
tfm_status tfm_trainer_bleu(void *user, double *bleu, tfm_error *error)
{
    tfm_trainer *t = user;
    const char *at = t->valid.bytes.data;
    const size_t n = t->valid.n;
    tfm_text *texts = tfm_alloc(&t->allocator, 3 * n, sizeof *texts);
    tfm_decoder_options options;
    tfm_decoder *decoder = NULL;
    tfm_model *model = NULL;
    tfm_status status = texts ? TFM_OK : tfm_fail(error, TFM_E_NOMEM, "validation texts: no memory");

    for (size_t i = 0; texts && i < 2 * n; at += t->valid.size[i++])
        texts[i / 2 + (i % 2) * n] = (tfm_text){at, t->valid.size[i]};
    tfm_decoder_options_init(&options, sizeof options);
    options.n_threads = t->options.n_threads;
    options.replace_invalid = t->options.replace_invalid;
    options.allocator = &t->allocator;
    if (status == TFM_OK) status = tfm_trainer_model(&model, t, error);
    if (status == TFM_OK) status = tfm_decoder_create(&decoder, model, &options, error);
    if (status == TFM_OK)
        status = translate(t, texts, texts + n, texts + 2 * n, bleu, decoder, error);
    tfm_decoder_free(decoder);
    tfm_model_free(model);
    tfm_free(&t->allocator, texts, 3 * n, sizeof *texts);
    return status;
}
