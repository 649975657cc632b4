/* Tokenizers for tests: short ways to learn one and to pass a line through it. */
#ifndef TFM_TEST_TOKENIZERS_H
#define TFM_TEST_TOKENIZERS_H

#include "testing.h"

/* LITERAL is for static tables. */
#define LITERAL(literal)            \
    {                               \
        literal, sizeof literal - 1 \
    }
#define TEXT(literal) (tfm_text) LITERAL(literal)

enum { CORPUS = 4 };

static const tfm_text corpus[CORPUS] = {
    LITERAL("the lower the newer , the wider"),
    LITERAL("newer , newer and the lowest"),
    LITERAL("<pad> the <unk> <0x41>"),
    LITERAL("wider wider \xC3\xA4u\xC3\x9F"
            "erst"),
};

/* UTF-8 by its definition: the bytes of code in out, or 0 when it is no character. */
static inline size_t put_character(uint32_t code, char out[4])
{
    const unsigned lead[] = {0x00, 0xC0, 0xE0, 0xF0};
    const size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return 0;
    for (size_t i = more; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(lead[more] | code);
    return more + 1;
}

/* size: vocab_size of the kind bpe, merges of the other. */
static inline tfm_tokenizer *learn(uint32_t kind, uint32_t size, const tfm_text *texts, size_t n)
{
    tfm_tokenizer_options o;
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = kind;
    o.vocab_size = o.merges = size;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, texts, n, &error), error);
    return t;
}

/* A result of one of the calls below; free data. */
typedef struct blob {
    char *data; /* terminated */
    size_t size;
} blob;

static inline tfm_ids encode(const tfm_tokenizer *t, tfm_text line)
{
    tfm_error error = {0};
    size_t n = 0, again = 0;

    ck_assert_ok(tfm_tokenizer_encode(NULL, 0, &n, t, line, &error), error);
    int32_t *ids = calloc(n + 1, sizeof *ids);
    ck_assert_ptr_nonnull(ids);
    ck_assert_ok(tfm_tokenizer_encode(ids, n, &again, t, line, &error), error);
    ck_assert_uint_eq(again, n);
    return (tfm_ids){ids, n};
}

static inline blob decode(const tfm_tokenizer *t, tfm_ids ids)
{
    tfm_error error = {0};
    blob b = {0};
    size_t again;

    ck_assert_ok(tfm_tokenizer_decode(NULL, 0, &b.size, t, ids, &error), error);
    b.data = calloc(b.size + 1, 1);
    ck_assert_ptr_nonnull(b.data);
    ck_assert_ok(tfm_tokenizer_decode(b.data, b.size, &again, t, ids, &error), error);
    ck_assert_uint_eq(again, b.size);
    return b;
}

static inline blob segment(const tfm_tokenizer *t, tfm_text line)
{
    tfm_error error = {0};
    blob b = {0};
    size_t again;

    ck_assert_ok(tfm_tokenizer_segment(NULL, 0, &b.size, t, line, &error), error);
    b.data = calloc(b.size + 1, 1);
    ck_assert_ptr_nonnull(b.data);
    ck_assert_ok(tfm_tokenizer_segment(b.data, b.size, &again, t, line, &error), error);
    ck_assert_uint_eq(again, b.size);
    return b;
}

/* decode(encode(line)) */
static inline blob there_and_back(const tfm_tokenizer *t, tfm_text line)
{
    const tfm_ids ids = encode(t, line);
    const blob b = decode(t, ids);

    free((void *)(uintptr_t)ids.data);
    return b;
}

static inline void require_reversed(const tfm_tokenizer *t, tfm_text line)
{
    const blob b = there_and_back(t, line);

    if (b.size != line.size || (line.size && memcmp(b.data, line.data, line.size)))
        ck_abort_msg("\"%.*s\" comes back as \"%s\"", (int)line.size, line.data, b.data);
    free(b.data);
}

static inline void require_segments(const tfm_tokenizer *t, tfm_text line, tfm_text want)
{
    const blob b = segment(t, line);

    if (b.size != want.size || memcmp(b.data, want.data, want.size))
        ck_abort_msg("\"%.*s\" is cut into \"%s\", want \"%.*s\"", (int)line.size, line.data, b.data, (int)want.size,
                     want.data);
    free(b.data);
}

#endif
