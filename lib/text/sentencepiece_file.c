/* Reads the model files of SentencePiece: messages of protocol buffers, of which it needs a few fields. */
#include "text/sentencepiece.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WHAT "SentencePiece model: "

/* No score that training gives comes near it; sums of that many bytes stay finite. */
static const float most_score = 1e20f;

bool tfm_sentencepiece_is_file(tfm_text file)
{
    static const char zeros[4];

    /* a piece, and in it first its string: not the length of a safetensors header, whose upper bytes are zero */
    return file.size > 8 && file.data[0] == 0x0A && file.data[2] == 0x0A && memcmp(file.data + 4, zeros, 4);
}

/* ------------------------------------------------------------------------------------------------ the wire ------ */

typedef struct field {
    uint64_t number; /* of the field                                      */
    uint64_t value;  /* of a number, or the bits of a float               */
    tfm_text bytes;  /* of a string or message; data NULL when it is none */
} field;

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static bool take_varint(tfm_text *rest, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && rest->size; shift += 7) {
        const unsigned char byte = (unsigned char)*rest->data;
        *rest = tfm_text_from(*rest, 1);
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) return true;
    }
    return false;
}

static bool take_fixed(tfm_text *rest, size_t size, uint64_t *value)
{
    if (rest->size < size) return false;
    *value = 0;
    for (size_t i = 0; i < size; i++) *value |= (uint64_t)(unsigned char)rest->data[i] << 8 * i;
    *rest = tfm_text_from(*rest, size);
    return true;
}

/* false: the bytes are no field. */
static bool take_field(tfm_text *rest, field *f)
{
    uint64_t key;

    f->bytes = (tfm_text){0};
    if (!take_varint(rest, &key)) return false;
    f->number = key >> 3;
    switch (key & 7) {
    case VARINT:
        return take_varint(rest, &f->value);
    case FIXED64:
        return take_fixed(rest, 8, &f->value);
    case FIXED32:
        return take_fixed(rest, 4, &f->value);
    case BYTES:
        if (!take_varint(rest, &f->value) || f->value > rest->size) return false;
        f->bytes = (tfm_text){rest->data, (size_t)f->value};
        *rest = tfm_text_from(*rest, f->bytes.size);
        return true;
    default:
        return false;
    }
}

static tfm_status broken(const char *where, tfm_error *error)
{
    return tfm_fail(error, TFM_E_FORMAT, WHAT "%s is cut or damaged: copy the file again", where);
}

/* ---------------------------------------------------------------------------------------------- its pieces ------ */

static tfm_status no_memory(const tfm_sentencepiece *m, tfm_error *error)
{
    return tfm_fail(error, TFM_E_NOMEM, "no memory for a SentencePiece model of %zu bytes", m->file_size);
}

static tfm_status check_piece(const tfm_sentencepiece *m, tfm_text piece, float score, uint64_t type, tfm_error *error)
{
    const uint32_t id = m->pieces.n;

    if (id >= TFM_TOKENIZER_MAX_VOCAB)
        return tfm_fail(error, TFM_E_FORMAT, WHAT "more than %d pieces", TFM_TOKENIZER_MAX_VOCAB);
    if (!piece.size || tfm_utf8_find_invalid(piece) != SIZE_MAX)
        return tfm_fail(error, TFM_E_FORMAT, WHAT "piece %u is %s", id, piece.size ? "not UTF-8" : "empty");
    if (type < TFM_SPM_NORMAL || type > TFM_SPM_BYTE)
        return tfm_fail(error, TFM_E_UNSUPPORTED, WHAT "piece %u has the type %llu, not in 1..6", id,
                        (unsigned long long)type);
    if (!(fabsf(score) <= most_score))
        return tfm_fail(error, TFM_E_FORMAT, WHAT "the score of piece %u is %g, not within +-%g", id, (double)score,
                        (double)most_score);
    if (tfm_vocab_find(&m->pieces, piece, (tfm_text){0}) == TFM_VOCAB_NONE) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, WHAT "piece %u is there already", id);
}

static tfm_status add_piece(tfm_sentencepiece *m, tfm_text message, tfm_error *error)
{
    tfm_text piece = {0};
    uint64_t type = TFM_SPM_NORMAL;
    uint32_t bits = 0, id;
    float score;
    field f;

    while (message.size) {
        if (!take_field(&message, &f)) return broken("a piece", error);
        if (f.number == 1 && f.bytes.data) piece = f.bytes;
        else if (f.number == 2 && !f.bytes.data) bits = (uint32_t)f.value;
        else if (f.number == 3 && !f.bytes.data) type = f.value;
    }
    memcpy(&score, &bits, sizeof score);
    const tfm_status status = check_piece(m, piece, score, type, error);
    if (status != TFM_OK) return status;
    if (!tfm_grow(&m->allocator, &m->about, &m->capacity, (size_t)m->pieces.n + 1, sizeof *m->about) ||
        !tfm_vocab_add(&m->pieces, piece, (tfm_text){0}, &id))
        return no_memory(m, error);
    m->about[id] = (tfm_spm_piece){score, (uint32_t)type};
    return TFM_OK;
}

/* ----------------------------------------------------------------------------------------------- its rules ------ */

static uint32_t unit(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;

    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The size of the double array, the array, the strings. Each value must be where a string may begin. */
static tfm_status set_rules(tfm_spm_rules *rules, tfm_text map, tfm_error *error)
{
    if (!map.size) return TFM_OK;
    const uint32_t size = map.size >= 4 ? unit(map.data) : 0;
    if (map.size < 4 || size >= map.size || size > map.size - 4 || size % 4)
        return broken("the table of normalisation", error);
    rules->units = (tfm_text){map.data + 4, size};
    rules->strings = tfm_text_from(map, 4 + (size_t)size);
    if (tfm_utf8_find_invalid(rules->strings) != SIZE_MAX) return broken("the text of normalisation", error);
    for (size_t i = 0; i < size; i += 4) {
        const uint32_t u = unit(rules->units.data + i), at = u & 0x7FFFFFFF;
        if (u >> 31 && (at >= rules->strings.size || (rules->strings.data[at] & 0xC0) == 0x80))
            return broken("the table of normalisation", error);
    }
    return TFM_OK;
}

static tfm_status read_rules(tfm_spm_rules *rules, tfm_text message, tfm_error *error)
{
    field f;

    while (message.size) {
        if (!take_field(&message, &f)) return broken("the rules of normalisation", error);
        const tfm_status status = f.number == 2 && f.bytes.data ? set_rules(rules, f.bytes, error) : TFM_OK;
        if (status != TFM_OK) return status;
        if (f.bytes.data) continue;
        if (f.number == 3) rules->add_dummy_prefix = f.value;
        if (f.number == 4) rules->remove_extra_whitespaces = f.value;
        if (f.number == 5) rules->escape_whitespaces = f.value;
    }
    return TFM_OK;
}

/* --------------------------------------------------------------------------------------------- its training ----- */

typedef struct names {
    tfm_text bos, eos, pad;
} names;

static tfm_status read_training(tfm_sentencepiece *m, names *called, tfm_text message, tfm_error *error)
{
    field f;

    while (message.size) {
        if (!take_field(&message, &f)) return broken("the description of its training", error);
        if (f.bytes.data) {
            if (f.number == 44) m->unknown_surface = f.bytes;
            if (f.number == 46) called->bos = f.bytes;
            if (f.number == 47) called->eos = f.bytes;
            if (f.number == 48) called->pad = f.bytes;
        } else {
            if (f.number == 3) m->model = f.value <= TFM_SPM_CHAR ? (uint32_t)f.value : 0;
            if (f.number == 24) m->rules.as_suffix = f.value;
            if (f.number == 35) m->byte_fallback = f.value;
        }
    }
    if (m->model < TFM_SPM_UNIGRAM)
        return tfm_fail(error, TFM_E_UNSUPPORTED, WHAT "its type is not one of unigram, BPE, word and character");
    if (tfm_utf8_find_invalid(m->unknown_surface) == SIZE_MAX) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, WHAT "the text of what is unknown is not UTF-8");
}

static tfm_status read_parts(tfm_sentencepiece *m, names *called, tfm_error *error)
{
    tfm_text rest = {m->file, m->file_size};
    tfm_status status = TFM_OK;
    field f;

    while (status == TFM_OK && rest.size) {
        if (!take_field(&rest, &f)) return broken("the file", error);
        if (!f.bytes.data) continue;
        if (f.number == 1) status = add_piece(m, f.bytes, error);
        if (f.number == 2) status = read_training(m, called, f.bytes, error);
        if (f.number == 3) status = read_rules(&m->rules, f.bytes, error);
        if (f.number == 5) status = read_rules(&m->undo, f.bytes, error);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------ what it makes ------- */

static int32_t control(const tfm_sentencepiece *m, tfm_text name)
{
    const uint32_t id = tfm_vocab_find(&m->pieces, name, (tfm_text){0});

    return id != TFM_VOCAB_NONE && m->about[id].type == TFM_SPM_CONTROL ? (int32_t)id : -1;
}

static tfm_status find_bytes(tfm_sentencepiece *m, tfm_error *error)
{
    char name[sizeof "<0x00000000>"];
    uint32_t n = 0;

    for (uint32_t id = 0; id < m->pieces.n; id++) n += m->about[id].type == TFM_SPM_BYTE;
    if (n != (m->byte_fallback ? 256 : 0))
        return tfm_fail(error, TFM_E_FORMAT, WHAT "%u pieces are bytes, although it does%s spell in bytes", n,
                        m->byte_fallback ? "" : " not");
    for (unsigned byte = 0; m->byte_fallback && byte < 256; byte++) {
        snprintf(name, sizeof name, "<0x%02X>", byte);
        const uint32_t id = tfm_vocab_find(&m->pieces, tfm_text_of(name), (tfm_text){0});
        if (id == TFM_VOCAB_NONE || m->about[id].type != TFM_SPM_BYTE)
            return tfm_fail(error, TFM_E_FORMAT, WHAT "it spells in bytes, but has no piece %s", name);
        m->bytes[byte] = id;
    }
    return TFM_OK;
}

static bool cuts(uint32_t type)
{
    return type == TFM_SPM_NORMAL || type == TFM_SPM_USER || type == TFM_SPM_UNUSED;
}

static int compare(const void *a, const void *b, void *pieces)
{
    return tfm_text_compare(tfm_vocab_text(pieces, *(const uint32_t *)a), tfm_vocab_text(pieces, *(const uint32_t *)b));
}

static tfm_status sort_pieces(tfm_sentencepiece *m, tfm_error *error)
{
    m->sorted = tfm_alloc(&m->allocator, m->pieces.n, sizeof *m->sorted);
    if (!m->sorted) return no_memory(m, error);
    for (uint32_t id = 0; id < m->pieces.n; id++)
        if (cuts(m->about[id].type)) m->sorted[m->n_sorted++] = id;
    qsort_r(m->sorted, m->n_sorted, sizeof *m->sorted, compare, &m->pieces);
    return TFM_OK;
}

static tfm_status survey_pieces(tfm_sentencepiece *m, tfm_error *error)
{
    m->min_score = FLT_MAX;
    m->max_score = FLT_MIN;
    m->unknown = TFM_VOCAB_NONE;
    for (uint32_t id = 0; id < m->pieces.n; id++) {
        m->has_user |= m->about[id].type == TFM_SPM_USER;
        m->has_unused |= m->about[id].type == TFM_SPM_UNUSED;
        if (m->about[id].type == TFM_SPM_UNKNOWN && m->unknown != TFM_VOCAB_NONE)
            return tfm_fail(error, TFM_E_FORMAT, WHAT "the pieces %u and %u are both what is unknown", m->unknown, id);
        if (m->about[id].type == TFM_SPM_UNKNOWN) m->unknown = id;
        if (m->about[id].type != TFM_SPM_NORMAL) continue;
        if (m->about[id].score < m->min_score) m->min_score = m->about[id].score;
        if (m->about[id].score > m->max_score) m->max_score = m->about[id].score;
    }
    if (m->unknown == TFM_VOCAB_NONE) return tfm_fail(error, TFM_E_FORMAT, WHAT "it has no piece for what is unknown");
    return TFM_OK;
}

static tfm_sentencepiece *create(tfm_text file, const tfm_allocator *allocator)
{
    tfm_sentencepiece *m = tfm_alloc(allocator, 1, sizeof *m);

    if (!m) return NULL;
    m->allocator = *allocator;
    tfm_vocab_init(&m->pieces, allocator);
    m->model = TFM_SPM_UNIGRAM;
    m->unknown_surface = tfm_text_of(" \xE2\x81\x87 ");
    m->rules.add_dummy_prefix = m->rules.remove_extra_whitespaces = m->rules.escape_whitespaces = true;
    m->undo.add_dummy_prefix = m->undo.remove_extra_whitespaces = m->undo.escape_whitespaces = true;
    m->file = tfm_alloc_unset(allocator, file.size, 1);
    if (m->file) {
        m->file_size = file.size;
        memcpy(m->file, file.data, file.size);
    }
    return m;
}

tfm_status tfm_sentencepiece_parse(tfm_sentencepiece **out, tfm_special_ids *special, tfm_text file,
                                   const tfm_allocator *allocator, tfm_error *error)
{
    names called = {tfm_text_of("<s>"), tfm_text_of("</s>"), tfm_text_of("<pad>")};
    tfm_sentencepiece *m = *out = create(file, allocator);

    tfm_status status = m && m->file ? read_parts(m, &called, error)
                                     : tfm_fail(error, TFM_E_NOMEM, "no memory for a file of %zu bytes", file.size);
    if (status == TFM_OK) status = survey_pieces(m, error);
    if (status == TFM_OK) status = find_bytes(m, error);
    if (status == TFM_OK) status = sort_pieces(m, error);
    if (status != TFM_OK) {
        tfm_sentencepiece_free(m);
        *out = NULL;
        return status;
    }
    *special =
        (tfm_special_ids){control(m, called.pad), control(m, called.eos), control(m, called.bos), (int32_t)m->unknown};
    return TFM_OK;
}

void tfm_sentencepiece_free(tfm_sentencepiece *model)
{
    if (!model) return;
    const tfm_allocator a = model->allocator;
    tfm_free(&a, model->sorted, model->pieces.n, sizeof *model->sorted);
    tfm_free(&a, model->about, model->capacity, sizeof *model->about);
    tfm_vocab_free(&model->pieces);
    tfm_free(&a, model->file, model->file_size, 1);
    tfm_free(&a, model, 1, sizeof *model);
}
