/* tfm bench decode: its options and its page. */
#include "bench_decoding.h"
#include "commands.h"
#include "console.h"

#include <string.h>

enum { MOST_TOKENS = 1 << 24 }; /* of all sources, and of all outputs */

#define AT(field) .offset = offsetof(bench_decode_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Work"},
    {"preset", "NAME", "tiny, small, base or big, with random weights", OPTION_TEXT, .needs = "!model", AT(preset)},
    {"set", "KEY=VALUE", "change a field of the preset, as for 'tfm train'", OPTION_LIST, .needs = "!model", AT(sets)},
    {"model", "FILE", "this model instead", OPTION_TEXT, AT(model)},
    {"vocab", "N", "entries of the vocabulary; default: 10000 for tiny, 37000 for the others", OPTION_U32, .low = 8,
     .high = 1 << 24, .needs = "!model", AT(vocab)},
    {"sentences", "N", "to be measured, in whole batches", OPTION_U32, .low = 1, .high = 1 << 20, AT(sentences)},
    {"batch", "SENTENCES", "translated together", OPTION_U32, .low = 1, .high = 1 << 16, AT(batch)},
    {"src-len", "N", "tokens of every source", OPTION_U32, .low = 1, .high = 1 << 12, AT(src_len)},
    {"tgt-len", "N", "tokens of every translation", OPTION_U32, .low = 1, .high = 1 << 16, AT(tgt_len)},
    {"beam", "N", "hypotheses kept for each sentence; 1 is greedy", OPTION_U32, .low = 1, .high = 1024,
     AT(decoder.beam)},
    {"alpha", "A", "length penalty", OPTION_FLOAT, AT(decoder.alpha)},

    {.kind = OPTION_HEADING, .help = "Machine"},
    {"threads", "N", "processors to use", OPTION_U32, .low = 1, .high = 1024, AT(decoder.n_threads)},
    {"dtype", "f32|bf16|int8", "type of the weights and of the arithmetic", OPTION_CHOICE, AT(decoder.dtype)},
    {"profile", NULL, "a table of the time that operations and phases took", OPTION_FLAG, AT(profile)},
    {.kind = OPTION_END},
};

static void init(void *place)
{
    bench_decode_args *args = place;
    tfm_decoder_options_init(&args->decoder, sizeof args->decoder);
    args->preset = "tiny";
    args->sentences = 64;
    args->batch = 32;
    args->src_len = 25;
    args->tgt_len = 30;
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    bench_decode_args *args = place;
    const uint64_t longer = args->src_len > args->tgt_len ? args->src_len : args->tgt_len;
    if (!args->vocab) args->vocab = strcmp(args->preset, "tiny") == 0 ? 10000 : 37000;
    if (args->batch * longer * args->decoder.beam > MOST_TOKENS || args->sentences * longer > MOST_TOKENS)
        return console_usage(
            "%u sentences of %llu tokens, %u of them together with a beam of %u, are more than %d tokens; "
            "lower one",
            args->sentences, (unsigned long long)longer, args->batch, args->decoder.beam, (int)MOST_TOKENS);
    return bench_decoding_run(args);
}

const command command_bench_decode = {
    .name = "bench decode",
    .summary = "measures translation of random sentences",
    .usage = "[options]",
    .text =
        "Translates random sentences of one length with a model of random weights, every translation forced to "
        "the same number of tokens, and prints one JSON line.\n"
        "tokens_per_s counts tokens of translations; ms and p95_ms are the time of a sentence (of a batch, divided by "
        "its "
        "sentences), median and 95th percentile. gemm_gflops is the rate of a float32 product of 2048 x 2048 x "
        "2048 in BLIS on the same threads, measured in turns with the batches (median); utilisation is the rate of the "
        "model's analytic floating point operations, those of the decoder times beam, over it. rss_mb is the peak of "
        "memory, before BLIS is first called; load_ms the time from the model's file to a decoder. seconds tells where "
        "the "
        "time of the batches that count went.",
    .examples = "  tfm bench decode --preset base --vocab 37000\n"
                "  tfm bench decode --preset base --batch 1 --beam 1 --sentences 16 --profile\n",
    .options = rows,
    .args_size = sizeof(bench_decode_args),
    .init = init,
    .run = run,
};
