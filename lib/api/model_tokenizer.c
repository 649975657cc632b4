/* What a model and its tokenizer ask of each other, and the tokenizers beside models of other systems. */
#include "api/model_handle.h"

#include "text/renumbered.h"
#include "text/sentencepiece.h"

tfm_status tfm_model_check_tokenizer(const tfm_model_options *o, const tfm_tokenizer *tokenizer, tfm_error *error)
{
    const tfm_tokenizer *target = tfm_tokenizer_target(tokenizer);
    const uint32_t n_source = tfm_tokenizer_vocab_size(tokenizer), n_target = tfm_tokenizer_vocab_size(target);
    const char *whose = target == tokenizer ? "" : n_target > o->vocab_size ? "target's " : "source's ";

    if (n_target > o->vocab_size)
        return tfm_fail(error, TFM_E_INVALID, "the %stokenizer has %u tokens, more than vocab_size %u", whose, n_target,
                        o->vocab_size);
    if (n_source > o->source_vocab_size)
        return tfm_fail(error, TFM_E_INVALID, "the %stokenizer has %u tokens, more than source_vocab_size %u", whose,
                        n_source, o->source_vocab_size);
    return TFM_OK;
}

static bool same_vocabulary(const tfm_tokenizer *a, const tfm_tokenizer *b)
{
    bool same = tfm_tokenizer_vocab_size(a) == tfm_tokenizer_vocab_size(b);

    for (uint32_t i = 0; same && i < tfm_tokenizer_vocab_size(a); i++)
        same = tfm_text_equal(tfm_tokenizer_token(a, (int32_t)i), tfm_tokenizer_token(b, (int32_t)i));
    return same;
}

tfm_status tfm_model_check_pair(const tfm_model_options *o, const tfm_tokenizer *source, tfm_error *error)
{
    const tfm_tokenizer *target = tfm_tokenizer_target(source);
    tfm_special_ids s, t;

    if (source == target) return TFM_OK;
    tfm_tokenizer_special(&s, source);
    tfm_tokenizer_special(&t, target);
    if (s.eos != t.eos)
        return tfm_fail(error, TFM_E_INVALID, "the tokenizer of the source ends a sentence with the id %d, that of the "
                        "target with %d: make them with the same", s.eos, t.eos);
    if (o->sharing == TFM_SHARE_ALL && !same_vocabulary(source, target))
        return tfm_fail(error, TFM_E_INVALID, "source and target have different vocabularies, but share one embedding: "
                        "set sharing to target or none");
    return TFM_OK;
}

tfm_status tfm_model_take_ids(tfm_model_options *o, const tfm_tokenizer *tokenizer, tfm_error *error)
{
    tfm_special_ids ids;

    tfm_tokenizer_special(&ids, tfm_tokenizer_target(tokenizer));
    if (!tokenizer || o->own_ids || (ids.pad == TFM_PAD && ids.eos == TFM_EOS && ids.bos == TFM_BOS)) return TFM_OK;
    if (ids.eos < 0)
        return tfm_fail(error, TFM_E_INVALID, "the tokenizer has no token that ends a sentence: train it with one");
    if (ids.bos < 0) o->start = TFM_START_ZERO;
    o->own_ids = 1;
    o->eos_id = (uint32_t)ids.eos;
    o->bos_id = (uint32_t)(ids.bos < 0 ? ids.eos : ids.bos);
    o->pad_id = ids.pad < 0 ? o->bos_id : (uint32_t)ids.pad;
    return TFM_OK;
}

/* -------------------------------------------------------------------------------------------- other systems ---- */

typedef struct side {
    const tfm_beside *pieces, *ids; /* ids: empty when the pieces have their own */
    const char *name;
    uint32_t vocab_size; /* of the model */
} side;

/* The vocabulary must be the model's: as large, and with the ids that the model has for what is special. */
static tfm_status check_ids(const tfm_model_options *o, const tfm_tokenizer *t, const side *s, tfm_error *error)
{
    const bool marian = o->start == TFM_START_ZERO; /* it takes <unk> for what is never produced */
    const int32_t eos = (int32_t)o->eos_id, pad = (int32_t)o->pad_id, ours = marian ? t->special.unk : t->special.pad;

    if (tfm_is_renumbered(t) && t->vocab.n != s->vocab_size)
        return tfm_fail(error, TFM_E_FORMAT, "%u pieces, but the model has %u for the %s: give the vocabulary that it "
                        "was trained with", t->vocab.n, s->vocab_size, s->name);
    if (t->special.eos != eos)
        return tfm_fail(error, TFM_E_FORMAT, "</s> has the id %d, but in the model it is %d: give the vocabulary that "
                        "it was trained with", t->special.eos, eos);
    if (ours == pad || ours < 0) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, "%s has the id %d, but in the model it is %d: give the vocabulary that it was "
                    "trained with", marian ? "<unk>" : "<pad>", ours, pad);
}

static tfm_text text_of(const tfm_beside *file)
{
    return (tfm_text){(const char *)file->file.data, file->file.size};
}

static tfm_status name_file(tfm_status status, const char *path, const tfm_beside *file, const tfm_error *inner,
                            tfm_error *error)
{
    return status == TFM_OK ? status : tfm_fail(error, status, "%.60s: %.40s: %s", path, file->name, inner->message);
}

static tfm_status read_side(tfm_tokenizer **out, const tfm_model_options *o, const side *s, const char *path,
                            const tfm_allocator *a, tfm_error *error)
{
    const tfm_beside *numbered = s->ids->file.data ? s->ids : s->pieces;
    tfm_error inner = {0};
    tfm_status status = tfm_tokenizer_from_text(out, text_of(s->pieces), a, &inner);

    if (status == TFM_OK && (!(*out)->sentencepiece || tfm_is_renumbered(*out) || (*out)->target))
        status = tfm_fail(&inner, TFM_E_FORMAT, "it is no model of SentencePiece");
    if (status != TFM_OK) return name_file(status, path, s->pieces, &inner, error);
    if (numbered == s->ids) status = tfm_renumbered_take(*out, text_of(s->ids), &inner);
    if (status == TFM_OK) status = check_ids(o, *out, s, &inner);
    return name_file(status, path, numbered, &inner, error);
}

tfm_status tfm_model_read_tokenizer(tfm_tokenizer **out, const tfm_model_file *f, const char *path,
                                    const tfm_allocator *a, tfm_error *error)
{
    const tfm_model_options *o = &f->weights.options;
    const tfm_beside *b = f->beside;
    const side source = {&b[TFM_BESIDE_SOURCE], &b[TFM_BESIDE_SOURCE_IDS], "source", o->source_vocab_size};
    const side target = {&b[TFM_BESIDE_TARGET], &b[TFM_BESIDE_TARGET_IDS], "target", o->vocab_size};
    tfm_status status = TFM_OK;

    if (!source.pieces->file.data)
        return f->tokenizer.size ? tfm_tokenizer_from_text(out, f->tokenizer, a, error) : TFM_OK;
    status = read_side(out, o, &source, path, a, error);
    if (status == TFM_OK && target.pieces->file.data)
        status = read_side(&(*out)->target, o, &target, path, a, error);
    return status == TFM_OK ? tfm_model_check_pair(o, *out, error) : status;
}
