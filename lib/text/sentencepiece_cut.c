/* Text to pieces by each of the four types of SentencePiece models. */
#include "text/sentencepiece.h"

enum { MOST_BYTES = 1000000000 }; /* of a text: positions fit in 31 bits */

static const float unknown_penalty = 10.0f; /* below the worst piece; of unigram models */
static const double user_discount = 0.1;

/* -------------------------------------------------------------------------------------------- finding pieces ---- */

size_t tfm_spm_character(tfm_text text)
{
    uint32_t code;
    const int size = tfm_utf8_read(text, &code);

    return size > 0 ? (size_t)size : 1;
}

tfm_spm_matches tfm_spm_match(const tfm_sentencepiece *model, tfm_text text)
{
    return (tfm_spm_matches){.model = model, .text = text, .high = model->n_sorted};
}

/* The first of sorted[low, high) whose byte number at is above byte; a piece that ends there is below all bytes. */
static size_t first_above(const tfm_sentencepiece *m, size_t low, size_t high, size_t at, int byte)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const tfm_text piece = tfm_vocab_text(&m->pieces, m->sorted[middle]);
        const int there = at < piece.size ? (unsigned char)piece.data[at] : -1;
        if (there > byte) high = middle;
        else low = middle + 1;
    }
    return low;
}

bool tfm_spm_next(tfm_spm_matches *s, uint32_t *id)
{
    while (s->size < s->text.size && s->low < s->high) {
        const int byte = (unsigned char)s->text.data[s->size];
        s->low = first_above(s->model, s->low, s->high, s->size, byte - 1);
        s->high = first_above(s->model, s->low, s->high, s->size, byte);
        s->size++;
        if (s->low >= s->high) return false;
        *id = s->model->sorted[s->low]; /* the shortest of them comes first */
        if (tfm_vocab_text(&s->model->pieces, *id).size == s->size) return true;
    }
    return false;
}

size_t tfm_spm_user(const tfm_sentencepiece *model, tfm_text text)
{
    tfm_spm_matches s = tfm_spm_match(model, text);
    size_t longest = 0;
    uint32_t id;

    while (model->has_user && tfm_spm_next(&s, &id))
        if (model->about[id].type == TFM_SPM_USER) longest = s.size;
    return longest;
}

uint32_t tfm_spm_find(const tfm_sentencepiece *model, tfm_text head, tfm_text tail)
{
    const uint32_t id = tfm_vocab_find(&model->pieces, head, tail);
    const uint32_t type = id == TFM_VOCAB_NONE ? TFM_SPM_UNKNOWN : model->about[id].type;

    return type == TFM_SPM_NORMAL || type == TFM_SPM_USER || type == TFM_SPM_UNUSED ? id : TFM_VOCAB_NONE;
}

/* ------------------------------------------------------------------------------------------- giving tokens ------ */

/* Tokens to the caller: those unknown one after the other as one, or in bytes. */
typedef struct giver {
    const tfm_sentencepiece *model;
    tfm_token_fn take;
    void *user;
    tfm_text unknown; /* not yet given */
} giver;

static void give_unknown(giver *g)
{
    if (g->unknown.size) g->take(g->user, &(tfm_token){.id = TFM_VOCAB_NONE, .text = g->unknown});
    g->unknown.size = 0;
}

static void give_bytes(giver *g, tfm_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        const uint32_t id = g->model->bytes[(unsigned char)text.data[i]];
        g->take(g->user, &(tfm_token){.id = id, .text = tfm_vocab_text(&g->model->pieces, id)});
    }
}

static void give(void *user, uint32_t id, tfm_text text)
{
    giver *g = user;
    const bool unknown = id == TFM_VOCAB_NONE || id == g->model->unknown;

    if (unknown && g->model->byte_fallback) {
        give_bytes(g, text);
    } else if (unknown) {
        if (!g->unknown.size) g->unknown.data = text.data;
        g->unknown.size += text.size;
    } else {
        give_unknown(g);
        g->take(g->user, &(tfm_token){.id = id, .text = text});
    }
}

void tfm_sentencepiece_take(const tfm_sentencepiece *model, const tfm_spm_path *path, tfm_token_fn take, void *user)
{
    giver g = {.model = model, .take = take, .user = user};
    uint32_t start = 0;

    for (size_t i = 0; i < path->n; i++) {
        give(&g, path->ids[i], (tfm_text){path->text.data + start, path->ends[i] - start});
        start = path->ends[i];
    }
    give_unknown(&g);
}

/* -------------------------------------------------------------------------------------------------- unigram ----- */

/* The best way to cut the text up to a byte. */
typedef struct end {
    float score;
    uint32_t start, id; /* of the last piece; id TFM_VOCAB_NONE: no way yet */
    uint32_t next;      /* where the piece after it ends, on the best way */
} end;

/* score: in double where SentencePiece has it so, for the same choice between equals. */
static void try_piece(end *ends, size_t start, size_t stop, double score, uint32_t id)
{
    const double total = score + (double)ends[start].score;

    if (ends[stop].id != TFM_VOCAB_NONE && !(total > (double)ends[stop].score)) return;
    ends[stop].score = (float)total;
    ends[stop].start = (uint32_t)start;
    ends[stop].id = id;
}

static void try_pieces(const tfm_sentencepiece *m, end *ends, tfm_text text, size_t start)
{
    const size_t one = tfm_spm_character(tfm_text_from(text, start));
    tfm_spm_matches s = tfm_spm_match(m, tfm_text_from(text, start));
    bool single = false;
    uint32_t id;

    while (tfm_spm_next(&s, &id)) {
        const tfm_spm_piece *p = &m->about[id];
        if (p->type == TFM_SPM_UNUSED) continue;
        const float bonus = (float)s.size * m->max_score;
        try_piece(ends, start, start + s.size,
                  p->type == TFM_SPM_USER ? (double)bonus - user_discount : (double)p->score, id);
        single |= s.size == one;
    }
    /* a sum of floats, as there */
    if (!single) try_piece(ends, start, start + one, (double)(m->min_score - unknown_penalty), m->unknown);
}

static tfm_status no_memory(tfm_text text, tfm_error *error)
{
    return tfm_fail(error, TFM_E_NOMEM, "no memory to cut a text of %zu bytes", text.size);
}

static tfm_status cut_unigram(giver *g, tfm_text text, tfm_error *error)
{
    const tfm_allocator *a = &g->model->allocator;
    end *ends = tfm_alloc_unset(a, text.size + 1, sizeof *ends);

    if (!ends) return no_memory(text, error);
    for (size_t i = 0; i <= text.size; i++) ends[i] = (end){.id = TFM_VOCAB_NONE};
    for (size_t i = 0; i < text.size; i += tfm_spm_character(tfm_text_from(text, i)))
        try_pieces(g->model, ends, text, i);
    for (size_t i = text.size; i; i = ends[i].start) ends[ends[i].start].next = (uint32_t)i;
    for (size_t i = 0; i < text.size; i = ends[i].next)
        give(g, ends[ends[i].next].id, (tfm_text){text.data + i, ends[i].next - i});
    tfm_free(a, ends, text.size + 1, sizeof *ends);
    return TFM_OK;
}

/* --------------------------------------------------------------------------------------- words, characters ------ */

static bool is_space(tfm_text text)
{
    const tfm_text space = tfm_text_of(TFM_TOKENIZER_SPACE);

    return text.size >= space.size && !memcmp(text.data, space.data, space.size);
}

/* Bytes of the word that the text begins with: up to the next space. Spaces as suffixes make no difference there. */
static size_t word(tfm_text text)
{
    size_t size = 0;

    do size += tfm_spm_character(tfm_text_from(text, size));
    while (size < text.size && !is_space(tfm_text_from(text, size)));
    return size;
}

static void cut_plain(giver *g, tfm_text text)
{
    const bool by_character = g->model->model == TFM_SPM_CHAR;

    while (text.size) {
        const size_t user = by_character ? tfm_spm_user(g->model, text) : 0;
        const size_t size = user ? user : by_character ? tfm_spm_character(text) : word(text);
        const tfm_text piece = {text.data, size};
        give(g, tfm_spm_find(g->model, piece, (tfm_text){0}), piece);
        text = tfm_text_from(text, size);
    }
}

/* ---------------------------------------------------------------------------------------------------- whole ----- */

tfm_status tfm_sentencepiece_cut(const tfm_sentencepiece *model, tfm_text line, tfm_token_fn take, void *user,
                                 tfm_error *error)
{
    giver g = {.model = model, .take = take, .user = user};
    tfm_buffer text = {.allocator = model->allocator};
    tfm_status status = TFM_OK;

    tfm_sentencepiece_normalize(&model->rules, model, line, &text);
    const tfm_text all = {text.data, text.size};
    if (text.bad) status = no_memory(line, error);
    else if (text.size > MOST_BYTES)
        status = tfm_fail(error, TFM_E_INVALID, "a line has %zu bytes, at most %d are possible", text.size, MOST_BYTES);
    else if (!text.size) status = TFM_OK;
    else if (model->model == TFM_SPM_UNIGRAM) status = cut_unigram(&g, all, error);
    else if (model->model == TFM_SPM_BPE) status = tfm_spm_merge(model, all, give, &g, error);
    else cut_plain(&g, all);
    give_unknown(&g);
    tfm_buffer_free(&text);
    return status;
}
