/* Small model files of SentencePiece, for tests and fuzzers: messages of protocol buffers, written field by field. */
#ifndef TFM_SPM_FILE_H
#define TFM_SPM_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct spm_file {
    unsigned char bytes[1 << 15];
    size_t size;
} spm_file;

static inline void spm_append(spm_file *f, const void *bytes, size_t size)
{
    if (size > sizeof f->bytes - f->size) abort();
    memcpy(f->bytes + f->size, bytes, size);
    f->size += size;
}

static inline void spm_varint(spm_file *f, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) spm_append(f, &(unsigned char){(unsigned char)(value | 0x80)}, 1);
    spm_append(f, &(unsigned char){(unsigned char)value}, 1);
}

static inline void spm_number(spm_file *f, unsigned field, uint64_t value)
{
    spm_varint(f, field << 3);
    spm_varint(f, value);
}

static inline void spm_bytes(spm_file *f, unsigned field, const void *bytes, size_t size)
{
    spm_varint(f, field << 3 | 2);
    spm_varint(f, size);
    spm_append(f, bytes, size);
}

static inline void spm_text(spm_file *f, unsigned field, const char *text)
{
    spm_bytes(f, field, text, strlen(text));
}

static inline void spm_message(spm_file *f, unsigned field, const spm_file *message)
{
    spm_bytes(f, field, message->bytes, message->size);
}

/* type: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte. */
static inline void spm_piece(spm_file *f, const char *piece, float score, unsigned type)
{
    static spm_file p;
    uint32_t bits;

    p.size = 0;
    memcpy(&bits, &score, sizeof bits);
    spm_text(&p, 1, piece);
    spm_varint(&p, 2 << 3 | 5);
    for (int i = 0; i < 4; i++) spm_append(&p, &(unsigned char){(unsigned char)(bits >> 8 * i)}, 1);
    if (type != 1) spm_number(&p, 3, type);
    spm_message(f, 1, &p);
}

/*
 * A table of one rule: Q becomes "ab". The root's children begin at 1, so that of Q is at 1 ^ 0x51 = 0x50; its leaf is
 * at 2, which holds the place of the string.
 */
static inline void spm_one_rule(spm_file *f, unsigned field)
{
    static spm_file rules, map;
    static uint32_t units[0x51];
    const uint32_t size = sizeof units;

    units[0] = 1u << 10;
    units[0x50] = (0x50u ^ 2u) << 10 | 1u << 8 | 'Q';
    units[2] = 1u << 31;
    map.size = rules.size = 0;
    spm_append(&map, &size, sizeof size);
    for (size_t i = 0; i < size / sizeof *units; i++)
        for (int k = 0; k < 4; k++) spm_append(&map, &(unsigned char){(unsigned char)(units[i] >> 8 * k)}, 1);
    spm_append(&map, "ab", 3);
    spm_bytes(&rules, 2, map.bytes, map.size);
    spm_message(f, field, &rules);
}

/* A vocabulary of as many pieces as the sample of Marian (foreign_samples.h) has rows. */
static inline void spm_marian(spm_file *f)
{
    static const char *const pieces[] = {"</s>", "<unk>", "a", "\xE2\x96\x81", "b"};
    static spm_file trainer;

    f->size = trainer.size = 0;
    for (unsigned i = 0; i < 5; i++) spm_piece(f, pieces[i], -(float)i, i == 0 ? 3 : i == 1 ? 2 : 1);
    spm_number(&trainer, 3, 1);
    spm_message(f, 2, &trainer);
}

typedef struct spm_form {
    unsigned model;      /* 1 unigram, 2 BPE, 3 word, 4 character                                   */
    int bytes;           /* what is unknown is spelt in bytes                                       */
    int plain;           /* text stays as it is, but for the spaces: no rule, none removed or added */
    const char *unknown; /* what it decodes to, or NULL: " U+2047 "                                 */
    int shifted;         /* padding first, and the other special pieces elsewhere                   */
} spm_form;

/* Pieces of "abc", spaces, joiners and strange line breaks. */
static inline void spm_small(spm_file *f, spm_form form)
{
    static const char *const texts[] = {"\xE2\x96\x81",
                                        "a",
                                        "b",
                                        "c",
                                        "k",
                                        "ab",
                                        "bc",
                                        "abc",
                                        "\xE2\x96\x81"
                                        "a",
                                        "\xE2\x80\xA8",
                                        "\xC2\x85",
                                        "\xE2\x96\x81"
                                        "abc"};
    static spm_file part;
    char name[16];

    f->size = 0;
    if (form.shifted) spm_piece(f, "<pad>", 0, 3);
    if (form.shifted) spm_piece(f, "</s>", 0, 3);
    spm_piece(f, "<unk>", 0, 2);
    spm_piece(f, "<s>", 0, 3);
    if (!form.shifted) spm_piece(f, "</s>", 0, 3);
    spm_piece(f, "<2de>", 0, 4);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        spm_piece(f, texts[i], form.model == 2 ? -(float)(i * 7 % 12) : -1.0f - (float)i / 8, 1);
    spm_piece(f, "cab", -0.5f, form.model == 2 ? 5 : 1);
    for (unsigned i = 0; form.bytes && i < 256; i++) {
        snprintf(name, sizeof name, "<0x%02X>", i);
        spm_piece(f, name, 0, 6);
    }
    part.size = 0;
    spm_number(&part, 3, form.model);
    if (form.bytes) spm_number(&part, 35, 1);
    if (form.unknown) spm_text(&part, 44, form.unknown);
    spm_message(f, 2, &part);
    if (!form.plain) spm_one_rule(f, 3);
    part.size = 0;
    if (form.plain) spm_number(&part, 4, 0);
    if (form.plain) spm_message(f, 3, &part);
}

#endif
