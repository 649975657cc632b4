/* Sample translations: what a model in training makes of the same sentences, again and again. */
#include "sample_log.h"
#include "console.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "step,sample,source,reference,translation\n"

char *sample_log_path(const char *log_path)
{
    static const char from[] = ".csv", to[] = ".samples.csv";
    const size_t n = strlen(log_path), suffix = sizeof from - 1;
    const size_t stem = n > suffix && strcmp(log_path + n - suffix, from) == 0 ? n - suffix : n;
    char *path = NULL;
    size_t capacity = 0;
    memory_grow(&path, &capacity, stem + sizeof to, 1);
    memcpy(path, log_path, stem);
    strcpy(path + stem, to);
    return path;
}

void sample_log_forget(const char *log_path)
{
    char *path = sample_log_path(log_path), line[sizeof HEADER] = "";
    FILE *file = fopen(path, "r");
    if (file && fgets(line, sizeof line, file) && strcmp(line, HEADER) == 0 && unlink(path) != 0)
        console_warn("cannot remove %s: %s", path, strerror(errno));
    if (file) fclose(file);
    free(path);
}

static bool is_blank(tfm_text line)
{
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] != ' ' && line.data[i] != '\t') return false;
    return true;
}

static void choose(sample_log *s, const text_lines *sources, const text_lines *references, size_t n)
{
    for (size_t k = 0; k < n && k < sources->size; k++) {
        const size_t i = n < sources->size ? k * sources->size / n : k;
        if (is_blank(sources->lines[i])) continue;
        text_lines_add(&s->sources, sources->lines[i]);
        text_lines_add(&s->references, references->lines[i]);
    }
}

int sample_log_open(sample_log *s, const char *log_path, bool append, const text_lines *sources,
                    const text_lines *references, size_t n)
{
    *s = (sample_log){.path = sample_log_path(log_path)};
    choose(s, sources, references, n);
    s->file = csv_open(s->path, append, HEADER);
    return s->file ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void put_field(FILE *file, tfm_text text, const char *end)
{
    putc('"', file);
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"') putc('"', file);
        putc(text.data[i] == '\n' ? ' ' : text.data[i], file);
    }
    putc('"', file);
    fputs(end, file);
}

static void write_rows(sample_log *s, const tfm_decoder *decoder, uint64_t step)
{
    for (size_t i = 0; i < s->sources.size; i++) {
        fprintf(s->file, "%llu,%zu,", (unsigned long long)step, i + 1);
        put_field(s->file, s->sources.lines[i], ",");
        put_field(s->file, s->references.lines[i], ",");
        put_field(s->file, tfm_decoder_text(decoder, i, 0), "\n");
    }
    fflush(s->file);
}

void sample_log_write(sample_log *s, const tfm_trainer *trainer, uint64_t step)
{
    tfm_model *model = NULL;
    tfm_decoder *decoder = NULL;
    tfm_decoder_options o;
    tfm_error error;
    if (!s->file) return;
    tfm_decoder_options_init(&o, sizeof o);
    o.replace_invalid = 1; /* what the trainer read is known to be good, or was to be repaired */
    if (tfm_trainer_model(&model, trainer, &error) || tfm_decoder_create(&decoder, model, &o, &error) ||
        tfm_decoder_translate(decoder, s->sources.lines, s->sources.size, &error))
        console_warn("no samples of step %llu: %s", (unsigned long long)step, error.message);
    else write_rows(s, decoder, step);
    tfm_decoder_free(decoder);
    tfm_model_free(model);
}

bool sample_log_close(sample_log *s)
{
    bool good = true;
    if (s->file) {
        errno = EIO;
        good = !(ferror(s->file) | (fclose(s->file) != 0));
        if (!good) console_fail("cannot write all of %s: %s", s->path, strerror(errno));
    }
    text_lines_clear(&s->sources);
    text_lines_clear(&s->references);
    free(s->path);
    *s = (sample_log){0};
    return good;
}
