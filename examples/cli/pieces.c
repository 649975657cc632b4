/* Tokens as a person reads them: where words begin, and without the marks of their tokenizer. */
#include "pieces.h"
#include "console.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_BOX "\xE2\x90\xA3" /* a space alone */

static bool cut_front(tfm_text *text, const char *mark)
{
    const size_t n = strlen(mark);
    if (text->size < n || memcmp(text->data, mark, n) != 0) return false;
    *text = (tfm_text){text->data + n, text->size - n};
    return true;
}

static bool cut_back(tfm_text *text, const char *mark)
{
    const size_t n = strlen(mark);
    if (text->size < n || memcmp(text->data + text->size - n, mark, n) != 0) return false;
    text->size -= n;
    return true;
}

/* Takes the tokenizer's mark away, and says whether the token begins a word, and whether it ends one. */
static void read_mark(const tfm_tokenizer *tokenizer, tfm_text *text, bool *begins, bool *ends)
{
    *begins = *ends = false;
    switch (tfm_tokenizer_kind(tokenizer)) {
    case TFM_TOKENIZER_BPE:
    case TFM_TOKENIZER_SENTENCEPIECE:
        *begins = cut_front(text, "\xE2\x96\x81");
        break;
    case TFM_TOKENIZER_BERT:
        *begins = !cut_front(text, "##");
        break;
    case TFM_TOKENIZER_SUBWORD_NMT:
        *ends = !cut_back(text, "@@");
        break;
    case TFM_TOKENIZER_WORDPIECE:
        *ends = cut_back(text, "_");
        break;
    default:
        break;
    }
}

/* A byte that cannot be shown as it is: control characters have pictures in Unicode, parts of characters their number.
 */
static size_t put_visible(char *to, unsigned char c, bool whole)
{
    if (c < 0x20 || c == 0x7f) return (size_t)sprintf(to, "\xE2\x90%c", c == 0x7f ? 0xA1 : 0x80 + c);
    if (whole || c < 0x80) return *to = (char)c, 1;
    return (size_t)sprintf(to, "\\x%02X", c);
}

static char *visible(tfm_text text)
{
    const bool whole = tfm_utf8_check(text) == SIZE_MAX;
    size_t n = 0, capacity = 0;
    char *out = NULL;
    memory_grow(&out, &capacity, 4 * text.size + 4, 1);
    for (size_t i = 0; i < text.size; i++) n += put_visible(out + n, (unsigned char)text.data[i], whole);
    out[n] = '\0';
    if (strspn(out, " ") == n) strcpy(out, OPEN_BOX);
    return out;
}

static void add(pieces *p, int32_t id, char *text, bool new_word)
{
    const uint32_t last = p->size ? p->items[p->size - 1].word : 0;
    memory_grow(&p->items, &p->capacity, p->size + 1, sizeof *p->items);
    p->items[p->size] = (piece){id, text, p->size ? last + new_word : 0};
    p->size++;
}

void pieces_add(pieces *p, const tfm_tokenizer *tokenizer, tfm_ids ids, int32_t eos)
{
    bool ended = true;
    for (size_t i = 0; i < ids.size; i++) {
        if (ids.data[i] == eos) {
            pieces_add_special(p, eos, "</s>");
            ended = true;
            continue;
        }
        bool begins, ends;
        tfm_text text = tfm_tokenizer_token(tokenizer, ids.data[i]);
        read_mark(tokenizer, &text, &begins, &ends);
        add(p, ids.data[i], visible(text), begins || ended);
        ended = ends;
    }
}

void pieces_add_special(pieces *p, int32_t id, const char *text)
{
    add(p, id, memory_copy(text, strlen(text)), true);
}

/* Only the leading bytes of characters count; those of three and four bytes from U+1100 on are wide as a rule, but not
 * those of U+2000 .. U+2E7F, the punctuation and symbols. */
size_t text_columns(const char *text)
{
    size_t n = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if ((*at & 0xC0) == 0x80) continue;
        const bool symbol = *at == 0xE2 && at[1] < 0xBA;
        n += *at > 0xE1 && !symbol ? 2 : 1;
    }
    return n;
}

void pieces_free(pieces *p)
{
    for (size_t i = 0; i < p->size; i++) free(p->items[i].text);
    free(p->items);
    *p = (pieces){0};
}

/* The space before a word is not shown once there is more of it. */
static void lengthen(unit *u, const char *text)
{
    const size_t old = strcmp(u->text, OPEN_BOX) == 0 ? 0 : strlen(u->text);
    size_t capacity = 0;
    char *longer = NULL;
    memory_grow(&longer, &capacity, old + strlen(text) + 1, 1);
    memcpy(longer, u->text, old);
    strcpy(longer + old, text);
    free(u->text);
    u->text = longer;
    u->to++;
}

void units_add(units *u, const pieces *p, bool words)
{
    for (size_t i = 0; i < p->size; i++) {
        const piece *next = &p->items[i];
        const bool goes_on = i > 0 && next->word == next[-1].word;
        if (words && goes_on) {
            lengthen(&u->items[u->size - 1], next->text);
            continue;
        }
        memory_grow(&u->items, &u->capacity, u->size + 1, sizeof *u->items);
        u->items[u->size++] = (unit){memory_copy(next->text, strlen(next->text)), i, i + 1, goes_on};
    }
}

void units_free(units *u)
{
    for (size_t i = 0; i < u->size; i++) free(u->items[i].text);
    free(u->items);
    *u = (units){0};
}
