/* Exchange of merges with subword-nmt: equal merges give equal files. */
#include "text/bpe_codes.h"

#include "text/words.h"

enum { VERSION_MARK = sizeof "#version:" - 1 };

static const char heading[] = "#version: 0.2";

bool tfm_bpe_codes_is_file(tfm_text file)
{
    return file.size >= VERSION_MARK && memcmp(file.data, heading, VERSION_MARK) == 0;
}

static tfm_text stripped(tfm_text line)
{
    size_t leading, trailing;

    tfm_words_margins(line, &leading, &trailing);
    line.size -= trailing;
    return tfm_text_from(line, leading);
}

static tfm_status check_heading(tfm_text line, tfm_error *error)
{
    if (tfm_text_equal(stripped(line), tfm_text_of(heading))) return TFM_OK;
    if (tfm_bpe_codes_is_file(line))
        return tfm_fail(error, TFM_E_UNSUPPORTED, "codes file begins with \"%.*s\", only \"%s\" is known",
                        (int)(line.size < 40 ? line.size : 40), line.data, heading);
    return tfm_fail(error, TFM_E_FORMAT, "not a codes file of subword-nmt: the first line is not \"%s\"", heading);
}

static tfm_status read_line(tfm_tokenizer *t, size_t number, tfm_text line, tfm_error *error)
{
    const tfm_text merge = stripped(line);
    const char *space = merge.size ? memchr(merge.data, ' ', merge.size) : NULL;
    const size_t size = space ? (size_t)(space - merge.data) : 0;
    tfm_error inner = {0};

    if (!size || memchr(space + 1, ' ', merge.size - size - 1))
        return tfm_fail(error, TFM_E_FORMAT, "line %zu of the codes is not two pieces with a space between", number);
    const tfm_status status =
        tfm_tokenizer_add_merge(t, (tfm_text){merge.data, size}, tfm_text_from(merge, size + 1), &inner);
    if (status == TFM_OK) return TFM_OK;
    return tfm_fail(error, status, "line %zu of the codes: %s", number, inner.message);
}

tfm_status tfm_bpe_codes_read(tfm_tokenizer *tokenizer, tfm_text file, tfm_error *error)
{
    const size_t invalid = tfm_utf8_find_invalid(file);
    tfm_status status = TFM_OK;

    while (file.size && (file.data[file.size - 1] == '\n' || file.data[file.size - 1] == '\r'))
        file.size--; /* empty lines at the end are none */
    for (size_t number = 1; status == TFM_OK && (file.size || number == 1); number++) {
        const char *end = file.size ? memchr(file.data, '\n', file.size) : NULL;
        const tfm_text line = {file.data, end ? (size_t)(end - file.data) : file.size};
        status = number == 1 ? check_heading(line, error) : read_line(tokenizer, number, line, error);
        if (number == 1 && status == TFM_OK && invalid != SIZE_MAX)
            return tfm_fail(error, TFM_E_FORMAT, "codes file is not UTF-8 at byte %zu", invalid);
        file = tfm_text_from(file, line.size + (end != NULL));
    }
    return status;
}

/* A reader cuts lines at '\n' and takes '\r' from their ends. */
static bool survives(tfm_text left, tfm_text right)
{
    return !memchr(left.data, '\n', left.size) && !memchr(right.data, '\n', right.size) && left.data[0] != '\r' &&
           right.data[right.size - 1] != '\r';
}

tfm_status tfm_bpe_codes_write(const tfm_tokenizer *tokenizer, tfm_buffer *out, tfm_error *error)
{
    tfm_buffer_append(out, heading, sizeof heading - 1);
    tfm_buffer_append(out, "\n", 1);
    for (size_t i = 0; i < tokenizer->bpe.n; i++) {
        const tfm_text left = tfm_vocab_text(&tokenizer->pieces, tokenizer->bpe.merges[i].left);
        const tfm_text right = tfm_vocab_text(&tokenizer->pieces, tokenizer->bpe.merges[i].right);
        if (!survives(left, right))
            return tfm_fail(error, TFM_E_UNSUPPORTED, "merge %zu has a line break and cannot stand in a codes file",
                            i + 1);
        tfm_buffer_append(out, left.data, left.size);
        tfm_buffer_append(out, " ", 1);
        tfm_buffer_append(out, right.data, right.size);
        tfm_buffer_append(out, "\n", 1);
    }
    if (!out->bad) return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, "no memory to write %zu merges", tokenizer->bpe.n);
}
