/* Phrases as ids: of one to be forbidden, or to appear. */
#include "phrases.h"

#include "console.h"

#include <stdlib.h>
#include <string.h>

static int32_t *add(phrases *p, size_t n)
{
    int32_t *ids = NULL;
    size_t room = 0;
    memory_grow(&ids, &room, n, sizeof *ids);
    memory_grow(&p->items, &p->capacity, p->size + 1, sizeof *p->items);
    p->items[p->size++] = (tfm_ids){ids, n};
    return ids;
}

int phrases_add(phrases *p, const tfm_tokenizer *tokenizer, const char *text)
{
    const tfm_text line = {text, strlen(text)};
    tfm_error error;
    size_t n;
    if (tfm_tokenizer_encode(NULL, 0, &n, tokenizer, line, &error))
        return console_fail("'%s': %s", text, error.message);
    if (!n) return console_fail("'%s' is no phrase: it has no tokens", text);
    if (tfm_tokenizer_encode(add(p, n), n, &n, tokenizer, line, &error))
        return console_fail("'%s': %s", text, error.message);
    return EXIT_SUCCESS;
}

void phrases_add_id(phrases *p, int32_t id)
{
    *add(p, 1) = id;
}

size_t phrases_split(text_lines *terms, tfm_text line)
{
    const size_t before = terms->size;
    for (size_t begin = 0, end = 0; end <= line.size; end++) {
        if (end < line.size && line.data[end] != '\t') continue;
        if (end > begin) text_lines_add(terms, (tfm_text){line.data + begin, end - begin});
        begin = end + 1;
    }
    return terms->size - before;
}

void phrases_free(phrases *p)
{
    for (size_t i = 0; i < p->size; i++) free((int32_t *)p->items[i].data);
    free(p->items);
    *p = (phrases){0};
}
