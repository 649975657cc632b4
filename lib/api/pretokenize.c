/* The public face of Moses' words: checks arguments, and fits results into the caller's memory. */
#include "api/check_line.h"
#include "text/pretokenize.h"

/* Never edit: the fields every caller since 0.2 has. */
#define OPTIONS_SIZE_MIN (offsetof(tfm_pretokenize_options, allocator) + sizeof(void *))

static const tfm_pretokenize_options defaults = {.struct_size = sizeof(tfm_pretokenize_options)};

void tfm_pretokenize_options_init(tfm_pretokenize_options *options, size_t struct_size)
{
    tfm_options_fill(options, struct_size, &defaults, sizeof defaults);
}

static tfm_status read_options(tfm_pretokenize_options *used, const tfm_pretokenize_options *options, tfm_error *error)
{
    *used = defaults;
    const tfm_status status = options ? tfm_options_read(used, sizeof *used, OPTIONS_SIZE_MIN, options, error) : TFM_OK;

    if (status != TFM_OK || used->language <= TFM_LANGUAGE_FRENCH) return status;
    return tfm_fail(error, TFM_E_INVALID, "language is %u, not in 0..%d", used->language, TFM_LANGUAGE_FRENCH);
}

static void to_words(tfm_line *line, const tfm_pretokenize_options *o, tfm_text raw)
{
    tfm_line_add(line, raw, o->lowercase);
    if (o->normalize) tfm_punctuation_normalize(line, o->language);
    tfm_pretokenize_line(line, o);
}

static void to_text(tfm_line *line, const tfm_pretokenize_options *o, tfm_text raw)
{
    tfm_line_add(line, raw, false);
    tfm_detokenize_line(line, o->language);
}

typedef void convert_fn(tfm_line *line, const tfm_pretokenize_options *options, tfm_text raw);

static tfm_status convert(char *text, size_t capacity, size_t *size, const tfm_pretokenize_options *options,
                          tfm_text raw, convert_fn *to, tfm_error *error)
{
    tfm_pretokenize_options own;
    tfm_line line;

    tfm_status status = tfm_check_line(raw, text, capacity, size, error);
    if (status == TFM_OK) status = read_options(&own, options, error);
    if (status != TFM_OK) return status;
    const tfm_allocator a = tfm_allocator_or_default(own.allocator);
    tfm_line_init(&line, &a);
    to(&line, &own, raw);
    if (tfm_line_bad(&line)) status = tfm_fail(error, TFM_E_NOMEM, "no memory for the words of %zu bytes", raw.size);
    else *size = tfm_utf8_replace_invalid(tfm_line_text(&line), text, capacity); /* a copy: nothing is invalid */
    tfm_line_free(&line);
    return status;
}

tfm_status tfm_pretokenize(char *text, size_t capacity, size_t *size, const tfm_pretokenize_options *options,
                           tfm_text line, tfm_error *error)
{
    return convert(text, capacity, size, options, line, to_words, error);
}

tfm_status tfm_detokenize(char *text, size_t capacity, size_t *size, const tfm_pretokenize_options *options,
                          tfm_text line, tfm_error *error)
{
    return convert(text, capacity, size, options, line, to_text, error);
}
