/*
 * Translates many lines alone, in batches of several sizes, in another order and with several threads, in each type:
 * ids and score bits must never differ. With a model file, or with random weights and the tokenizer of one. Usage:
 * invariance MODEL LINES [random]
 */
#include <transformer.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 500, N_BEST = 2, LONGEST = 40 };

typedef struct answer {
    size_t n[N_BEST];
    int32_t ids[N_BEST][LONGEST];
    double score[N_BEST];
} answer;

static tfm_error error;
static tfm_text lines[N];

static void must(tfm_status status)
{
    if (status == TFM_OK) return;
    fprintf(stderr, "invariance: %s\n", error.message);
    exit(1);
}

static void read_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t room = 0;
    char *line;

    for (size_t i = 0; file && i < N; i++) {
        line = NULL;
        const ssize_t size = getline(&line, &room, file);
        if (size < 1) break;
        lines[i] = (tfm_text){line, (size_t)size - (line[size - 1] == '\n')};
        room = 0;
    }
    if (file && lines[N - 1].data) return;
    fprintf(stderr, "invariance: %s has not %d lines: %s\n", path, N, strerror(errno));
    exit(1);
}

static void take(answer *to, const tfm_decoder *decoder, size_t sentence)
{
    memset(to, 0, sizeof *to);
    for (size_t r = 0; r < tfm_decoder_count(decoder, sentence); r++) {
        const tfm_ids ids = tfm_decoder_ids(decoder, sentence, r);
        to->n[r] = ids.size;
        memcpy(to->ids[r], ids.data, ids.size * sizeof *ids.data);
        to->score[r] = tfm_decoder_score(decoder, sentence, r);
    }
}

/* All lines, batch of them at a time, from the last to the first when reversed. */
static void translate(answer *to, const tfm_model *model, uint32_t dtype, size_t batch, uint32_t threads, int reversed)
{
    tfm_decoder_options o;
    tfm_decoder *decoder;
    tfm_text some[N];

    tfm_decoder_options_init(&o, sizeof o);
    o.n_best = N_BEST;
    o.max_length = LONGEST;
    o.n_threads = threads;
    o.dtype = dtype;
    o.batch_tokens = 1 << 20;
    must(tfm_decoder_create(&decoder, model, &o, &error));
    for (size_t first = 0; first < N; first += batch) {
        const size_t n = N - first < batch ? N - first : batch;
        for (size_t i = 0; i < n; i++) some[i] = lines[reversed ? N - 1 - first - i : first + i];
        must(tfm_decoder_translate(decoder, some, n, &error));
        for (size_t i = 0; i < n; i++) take(&to[reversed ? N - 1 - first - i : first + i], decoder, i);
    }
    tfm_decoder_free(decoder);
}

static int check(const tfm_model *model, uint32_t dtype)
{
    static const struct {
        size_t batch;
        uint32_t threads;
        int reversed;
    } ways[] = {{7, 5, 0}, {64, 2, 0}, {N, 1, 0}, {64, 1, 1}, {N, 5, 1}};
    static answer alone[N], together[N];
    size_t tokens = 0;

    translate(alone, model, dtype, 1, 1, 0);
    for (size_t i = 0; i < N; i++) tokens += alone[i].n[0];
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        translate(together, model, dtype, ways[w].batch, ways[w].threads, ways[w].reversed);
        for (size_t i = 0; i < N; i++) {
            if (!memcmp(&alone[i], &together[i], sizeof alone[i])) continue;
            printf("dtype %u: line %zu differs in batches of %zu with %u threads\n", dtype, i + 1, ways[w].batch,
                   ways[w].threads);
            return 1;
        }
    }
    printf("dtype %u: %d lines, %zu tokens, the same bits in every way\n", dtype, N, tokens);
    return 0;
}

int main(int argc, char **argv)
{
    tfm_model *model, *given;
    int bad = 0;

    if (argc < 3) return 2;
    read_lines(argv[2]);
    must(tfm_model_load(&given, argv[1], NULL, &error));
    model = given;
    if (argc > 3) {
        tfm_model_options o;
        tfm_model_get_options(&o, sizeof o, given);
        o.seed = 7;
        must(tfm_model_create(&model, &o, tfm_model_tokenizer(given), &error));
    }
    for (uint32_t dtype = TFM_DTYPE_F32; dtype <= TFM_DTYPE_INT8; dtype++) bad += check(model, dtype);
    if (model != given) tfm_model_free(model);
    tfm_model_free(given);
    for (size_t i = 0; i < N; i++) free((char *)lines[i].data);
    return bad ? 1 : 0;
}
