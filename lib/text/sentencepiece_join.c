/* Pieces of a SentencePiece model back to text. */
#include "text/sentencepiece.h"

enum { SPACE_BYTES = sizeof TFM_TOKENIZER_SPACE - 1 };

static bool begins_with_space(tfm_text piece)
{
    return piece.size >= SPACE_BYTES && !memcmp(piece.data, TFM_TOKENIZER_SPACE, SPACE_BYTES);
}

static void append_plain(tfm_buffer *out, tfm_text piece)
{
    while (piece.size) {
        const bool space = begins_with_space(piece);
        tfm_buffer_append(out, space ? " " : piece.data, 1);
        piece = tfm_text_from(piece, space ? SPACE_BYTES : 1);
    }
}

/* The characters that bytes spell; U+FFFD for each byte that belongs to none. */
static void append_spelt(tfm_buffer *out, tfm_buffer *bytes)
{
    tfm_text rest = {bytes->data, bytes->size};
    uint32_t code;

    while (rest.size) {
        const int size = tfm_utf8_read(rest, &code);
        if (size > 0) tfm_buffer_append(out, rest.data, (size_t)size);
        else tfm_buffer_append(out, TFM_UTF8_REPLACEMENT, sizeof TFM_UTF8_REPLACEMENT - 1);
        rest = tfm_text_from(rest, size > 0 ? (size_t)size : 1);
    }
    out->bad |= bytes->bad;
    bytes->size = 0;
}

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'A' + 10);
}

tfm_spm_joining tfm_spm_join_begin(const tfm_sentencepiece *model)
{
    return (tfm_spm_joining){
        .model = model, .text = {.allocator = model->allocator}, .bytes = {.allocator = model->allocator}};
}

void tfm_spm_join_piece(tfm_spm_joining *joining, uint32_t type, tfm_text piece)
{
    tfm_spm_joining *j = joining;
    const tfm_sentencepiece *m = j->model;

    if (type == TFM_SPM_BYTE) {
        const char byte = (char)(digit(piece.data[3]) << 4 | digit(piece.data[4])); /* "<0xAB>" */
        tfm_buffer_append(&j->bytes, &byte, 1);
        return;
    }
    append_spelt(&j->text, &j->bytes);
    j->begun |= j->text.size > 0;
    if (type == TFM_SPM_CONTROL) return;
    if (type == TFM_SPM_UNKNOWN) {
        tfm_buffer_append(&j->text, m->unknown_surface.data, m->unknown_surface.size);
        return;
    }
    if (!j->begun && (m->rules.add_dummy_prefix || m->rules.remove_extra_whitespaces) && begins_with_space(piece)) {
        piece = tfm_text_from(piece, SPACE_BYTES);
        j->begun = !m->rules.remove_extra_whitespaces; /* then further ones go too */
    }
    append_plain(&j->text, piece);
}

void tfm_spm_join_end(tfm_spm_joining *joining, tfm_buffer *out)
{
    tfm_spm_joining *j = joining;

    append_spelt(&j->text, &j->bytes);
    const tfm_text text = {j->text.data, j->text.size};
    if (j->model->undo.units.size) tfm_sentencepiece_normalize(&j->model->undo, NULL, text, out);
    else tfm_buffer_append(out, text.data, text.size);
    out->bad |= j->text.bad;
    tfm_buffer_free(&j->bytes);
    tfm_buffer_free(&j->text);
}

void tfm_sentencepiece_join(const tfm_sentencepiece *model, tfm_ids ids, tfm_buffer *out)
{
    tfm_spm_joining j = tfm_spm_join_begin(model);

    for (size_t i = 0; i < ids.size; i++) {
        const uint32_t id = (uint32_t)ids.data[i];
        tfm_spm_join_piece(&j, model->about[id].type, tfm_vocab_text(&model->pieces, id));
    }
    tfm_spm_join_end(&j, out);
}
