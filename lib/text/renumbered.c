/* Between a model of SentencePiece and the vocabulary that numbers its pieces: they are matched by their text. */
#include "text/renumbered.h"

#include "text/sentencepiece.h"
#include "text/vocabulary_file.h"

static const tfm_text nothing;

static int32_t find(const tfm_tokenizer *t, const char *piece)
{
    const uint32_t id = tfm_vocab_find(&t->vocab, tfm_text_of(piece), nothing);

    return id == TFM_VOCAB_NONE ? -1 : (int32_t)id;
}

tfm_status tfm_renumbered_check(tfm_tokenizer *tokenizer, tfm_error *error)
{
    tfm_tokenizer *t = tokenizer;

    t->special = (tfm_special_ids){find(t, "<pad>"), find(t, "</s>"), find(t, "<s>"), find(t, "<unk>")};
    if (t->special.eos >= 0 && t->special.unk >= 0) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT,
                    "%s is not among its %u pieces: give the vocabulary that the model was trained "
                    "with",
                    t->special.eos < 0 ? "</s>" : "<unk>", t->vocab.n);
}

tfm_status tfm_renumbered_take(tfm_tokenizer *tokenizer, tfm_text vocabulary, tfm_error *error)
{
    tfm_vocab_free(&tokenizer->vocab);
    const tfm_status status = tfm_vocabulary_read(tokenizer, vocabulary, error);

    return status == TFM_OK ? tfm_renumbered_check(tokenizer, error) : status;
}

static bool is_control(const tfm_tokenizer *t, uint32_t id)
{
    const int32_t i = (int32_t)id;

    return i == t->special.pad || i == t->special.eos || i == t->special.bos;
}

/* ----------------------------------------------------------------------------------------------------- text ---- */

bool tfm_renumbered_language(const tfm_tokenizer *tokenizer, tfm_text *line, tfm_token *token)
{
    size_t size = 4;

    if (!tfm_is_renumbered(tokenizer) || line->size <= size || memcmp(line->data, ">>", 2)) return false;
    while (size < line->size && line->data[size] != ' ' && memcmp(line->data + size - 2, "<<", 2)) size++;
    if (memcmp(line->data + size - 2, "<<", 2)) return false;
    *token = (tfm_token){.text = {line->data, size}};
    token->id = tfm_vocab_find(&tokenizer->vocab, token->text, nothing);
    if (token->id == TFM_VOCAB_NONE) return false;
    *line = tfm_text_from(*line, size);
    return true;
}

void tfm_renumber(void *renumbering, const tfm_token *token)
{
    const tfm_renumbering *r = renumbering;
    tfm_token t = *token;

    t.id = tfm_vocab_find(&r->tokenizer->vocab, t.text, t.mark);
    if (is_control(r->tokenizer, t.id)) t.id = TFM_VOCAB_NONE; /* text may read like one, and is none */
    r->take(r->user, &t);
}

tfm_status tfm_renumbered_cut(const tfm_tokenizer *tokenizer, tfm_text line, tfm_token_fn take, void *user,
                              tfm_error *error)
{
    tfm_renumbering r = {tokenizer, take, user};
    tfm_token language;

    if (tfm_renumbered_language(tokenizer, &line, &language)) take(user, &language);
    return tfm_sentencepiece_cut(tokenizer->sentencepiece, line, tfm_renumber, &r, error);
}

/* ------------------------------------------------------------------------------------------------- and back ---- */

/* What the model takes the piece for. */
static uint32_t type_of(const tfm_tokenizer *t, uint32_t id)
{
    const tfm_sentencepiece *m = t->sentencepiece;
    const uint32_t own = tfm_vocab_find(&m->pieces, tfm_vocab_text(&t->vocab, id), nothing);

    if ((int32_t)id == t->special.unk) return TFM_SPM_UNKNOWN;
    if (is_control(t, id)) return TFM_SPM_CONTROL;
    return own == TFM_VOCAB_NONE ? TFM_SPM_NORMAL : m->about[own].type;
}

void tfm_renumbered_join(const tfm_tokenizer *tokenizer, tfm_ids ids, tfm_buffer *out)
{
    tfm_spm_joining j = tfm_spm_join_begin(tokenizer->sentencepiece);

    for (size_t i = 0; i < ids.size; i++) {
        const uint32_t id = (uint32_t)ids.data[i];
        tfm_spm_join_piece(&j, type_of(tokenizer, id), tfm_vocab_text(&tokenizer->vocab, id));
    }
    tfm_spm_join_end(&j, out);
}
