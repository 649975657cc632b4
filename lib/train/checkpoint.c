/* The state of a training <-> JSON. */
#include "train/checkpoint.h"

#include "base/json.h"

#include <math.h>
#include <stdlib.h>

/* Bytes of JSON, some 20 for each file that it looks after: its values may take 80 times as many. */
enum { MOST_STATE = 32768 };

tfm_status tfm_checkpoint_to_json(tfm_buffer *out, const tfm_checkpoint *s, tfm_error *error)
{
    json_t *kept = json_array();
    int failed = 0;
    char seed[24];

    for (size_t i = 0; i < s->kept.n; i++)
        failed |= json_array_append_new(kept, json_integer((json_int_t)s->kept.steps[i]));
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seed); /* JSON integers end at 2^63 */
    json_t *object =
        json_pack("{s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:o, s:o*}", "step",
                  (json_int_t)s->at.step, "epoch", (json_int_t)s->at.epoch, "update", (json_int_t)s->at.update, "best",
                  isfinite(s->at.best) ? json_real(s->at.best) : json_null(), "stale", (json_int_t)s->at.stale,
                  "skipped", (json_int_t)s->at.skipped, "skipped_in_row", (json_int_t)s->at.skipped_in_row, "seed",
                  seed, "pairs", (json_int_t)s->pairs, "fingerprint", (json_int_t)s->fingerprint, "batch_tokens",
                  (int)s->batch_tokens, "accumulate", (int)s->accumulate, "n_ranks", (int)s->n_ranks, "dtype",
                  (int)s->dtype, "piece_tokens", (int)s->piece_tokens, "kept", kept,
                  "extra", s->kept.has_extra ? json_integer((json_int_t)s->kept.extra) : NULL);
    const bool bad = !object || failed || json_dump_callback(object, tfm_buffer_take, out, JSON_COMPACT) != 0;
    json_decref(object);
    return bad ? tfm_fail(error, TFM_E_NOMEM, "state of the training: no memory") : TFM_OK;
}

static tfm_status read_kept(tfm_checkpoint *s, const json_t *kept, tfm_error *error)
{
    s->kept.n = json_array_size(kept);
    if (s->kept.n > TFM_KEPT_MAX)
        return tfm_fail(error, TFM_E_FORMAT, "the checkpoint lists %zu files, more than %d", s->kept.n, TFM_KEPT_MAX);
    for (size_t i = 0; i < s->kept.n; i++) {
        const json_t *item = json_array_get(kept, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return tfm_fail(error, TFM_E_FORMAT, "the checkpoint's list of files is damaged");
        s->kept.steps[i] = (uint64_t)json_integer_value(item);
    }
    return TFM_OK;
}

static bool is_number(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

tfm_status tfm_checkpoint_from_json(tfm_checkpoint *s, tfm_text json, tfm_error *error)
{
    tfm_json_fault fault;
    json_error_t detail = {0};
    json_t *object = NULL;
    tfm_status status = json.size > MOST_STATE ? TFM_E_FORMAT : tfm_json_read(&object, json, 0, &fault);
    json_int_t step, epoch, update, stale, pairs, fingerprint, skipped = 0, skipped_in_row = 0, extra = -1;
    int batch_tokens, accumulate, n_ranks, dtype = 0,
                                           piece_tokens = 0; /* what has a value here is not in older files */
    json_t *best, *kept;
    const char *seed;

    *s = (tfm_checkpoint){0};
    if (status == TFM_E_NOMEM) return tfm_fail(error, status, "state of the training: no memory");
    const int bad = json_unpack_ex(
        object, &detail, 0, "{s:I, s:I, s:I, s:o, s:I, s?I, s?I, s:s, s:I, s:I, s:i, s:i, s:i, s?i, s?i, s:o, s?I}", "step",
        &step, "epoch", &epoch, "update", &update, "best", &best, "stale", &stale, "skipped", &skipped,
        "skipped_in_row", &skipped_in_row, "seed", &seed, "pairs", &pairs, "fingerprint", &fingerprint, "batch_tokens",
        &batch_tokens, "accumulate", &accumulate, "n_ranks", &n_ranks, "dtype", &dtype, "piece_tokens", &piece_tokens,
        "kept", &kept, "extra", &extra);
    if (bad && json_error_code(&detail) == json_error_out_of_memory) {
        status = tfm_fail(error, TFM_E_NOMEM, "state of the training: no memory");
    } else if (bad || step < 0 || epoch < 0 || update < 0 || stale < 0 || skipped < 0 || skipped_in_row < 0 ||
               pairs < 0 || batch_tokens < 1 || accumulate < 1 || n_ranks < 1 || dtype < 0 || piece_tokens < 0 ||
               fingerprint < 0 || fingerprint > (json_int_t)UINT32_MAX || !is_number(seed) ||
               !(json_is_number(best) || json_is_null(best)) || !json_is_array(kept)) {
        status = tfm_fail(error, TFM_E_FORMAT, "the training state of the checkpoint is damaged");
    } else {
        s->at = (tfm_position_state){(uint64_t)step, (uint64_t)epoch, (uint64_t)update,
                                     json_is_number(best) ? json_number_value(best) : (double)NAN, (uint64_t)stale,
                                     (uint64_t)skipped, (uint64_t)skipped_in_row};
        s->seed = strtoull(seed, NULL, 10);
        s->pairs = (uint64_t)pairs;
        s->fingerprint = (uint32_t)fingerprint;
        s->batch_tokens = (uint32_t)batch_tokens;
        s->accumulate = (uint32_t)accumulate;
        s->n_ranks = (uint32_t)n_ranks;
        s->dtype = (uint32_t)dtype;
        s->piece_tokens = (uint32_t)piece_tokens;
        s->kept.has_extra = extra >= 0;
        s->kept.extra = s->kept.has_extra ? (uint64_t)extra : 0;
        status = read_kept(s, kept, error);
    }
    json_decref(object);
    return status;
}

tfm_status tfm_checkpoint_compare(const tfm_checkpoint *saved, const tfm_checkpoint *now, tfm_error *error)
{
    const struct {
        const char *what;
        uint64_t saved, now;
    } must[] = {
        {"seed", saved->seed, now->seed},
        {"number of pairs", saved->pairs, now->pairs},
        {"fingerprint of the data", saved->fingerprint, now->fingerprint},
        {"batch_tokens", saved->batch_tokens, now->batch_tokens},
        {"accumulate", saved->accumulate, now->accumulate},
        {"n_ranks", saved->n_ranks, now->n_ranks},
        {"dtype", saved->dtype, now->dtype},
    };

    for (size_t i = 0; i < sizeof must / sizeof *must; i++)
        if (must[i].saved != must[i].now)
            return tfm_fail(error, TFM_E_INVALID,
                            "the checkpoint's %s is %llu, now it is %llu: the run would not be the same", must[i].what,
                            (unsigned long long)must[i].saved, (unsigned long long)must[i].now);
    return TFM_OK;
}
