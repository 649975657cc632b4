/* tfm bench train: its options and its page. */
#include "bench_training.h"
#include "commands.h"
#include "console.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 1 << 24 }; /* of a side of a batch, in the library too */

#define AT(field) .offset = offsetof(bench_train_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Work"},
    {"preset", "NAME", "tiny, small, base or big", OPTION_TEXT, AT(preset)},
    {"set", "KEY=VALUE", "change a field of the preset, as for 'tfm train'", OPTION_LIST, AT(sets)},
    {"batch", "SENTENCES", "of a step; default: 280 for tiny, 40 for the others", OPTION_U32, .low = 1, .high = 1 << 20,
     AT(batch)},
    {"src-len", "N", "tokens of every source; default: 14 for tiny, 25 for the others", OPTION_U32, .low = 1,
     .high = 1 << 16, AT(src_len)},
    {"tgt-len", "N", "tokens of every target; default: as --src-len", OPTION_U32, .low = 1, .high = 1 << 16,
     AT(tgt_len)},
    {"vocab", "N", "entries of the vocabulary; default: 10000 for tiny, 37000 for the others", OPTION_U32, .low = 8,
     .high = 1 << 24, AT(vocab)},
    {"dropout", "P", "on the output of each sub-layer; default: 0.3 for tiny, 0.1 for the others", OPTION_FLOAT,
     .high = 1, AT(dropout)},
    {"attention-dropout", "P", "on the attention weights", OPTION_FLOAT, .high = 1, AT(trainer.dropout_attention)},
    {"relu-dropout", "P", "inside the feed-forward network", OPTION_FLOAT, .high = 1, AT(trainer.dropout_relu)},
    {"steps", "N", "to be measured, after two that are not", OPTION_U32, .low = 1, .high = 100000, AT(steps)},

    {.kind = OPTION_HEADING, .help = "Machine"},
    {"threads", "N", "processors to use", OPTION_U32, .low = 1, .high = 1024, AT(trainer.n_threads)},
    {"dtype", "f32|bf16", "type of the operands of matrix products", OPTION_CHOICE, AT(trainer.dtype)},
    {"memory", "SIZE",
     "that the training may take, such as 6G; a batch that needs more is worked off in pieces; default: no limit",
     OPTION_BYTES, AT(trainer.memory)},
    {"recompute", NULL, "compute activations again when they are needed: less memory, more time", OPTION_FLAG,
     AT(trainer.recompute)},
    {"profile", NULL, "a table of the time that operations and phases took in the steps that count", OPTION_FLAG,
     AT(profile)},
    {.kind = OPTION_END},
};

static void init(void *place)
{
    bench_train_args *args = place;
    tfm_trainer_options_init(&args->trainer, sizeof args->trainer);
    args->trainer.n_threads = 1;
    args->preset = "tiny";
    args->dropout = -1;
    args->steps = 7;
}

/* The work of the figures in doc/performance.md. */
static void set_work(bench_train_args *args)
{
    const bool tiny = strcmp(args->preset, "tiny") == 0;
    if (!args->batch) args->batch = tiny ? 280 : 40;
    if (!args->src_len) args->src_len = tiny ? 14 : 25;
    if (!args->tgt_len) args->tgt_len = args->src_len;
    if (!args->vocab) args->vocab = tiny ? 10000 : 37000;
    args->trainer.dropout = args->dropout >= 0 ? args->dropout : tiny ? 0.3f : 0.1f;
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    bench_train_args *args = place;
    set_work(args);
    const uint32_t longer = args->src_len > args->tgt_len ? args->src_len : args->tgt_len;
    if ((uint64_t)args->batch * longer > MOST_TOKENS)
        return console_usage("--batch %u of %u tokens is more than %d tokens; lower one", args->batch, longer,
                             (int)MOST_TOKENS);
    return bench_training_run(args);
}

const command command_bench_train = {
    .name = "bench train",
    .summary = "measures training on random sentences",
    .usage = "[options]",
    .text = "Trains a model with random weights on random sentences of one length and prints one JSON line.\n"
            "tokens_per_s counts target tokens; ms and p95_ms are the time of a step, median and 95th percentile. "
            "gemm_gflops is "
            "the rate of a float32 product of 2048 x 2048 x 2048 in BLIS on the same threads, measured in turns with "
            "the steps "
            "(median); utilisation is the rate of the model's analytic floating point operations over it. rss_mb is "
            "the peak of "
            "memory, before BLIS is first called; piece_tokens the most tokens of a side that are worked off together; "
            "first_step_s counts from the start of the process.",
    .examples = "  tfm bench train --preset tiny\n"
                "  tfm bench train --preset base --threads 2 --steps 11\n",
    .options = rows,
    .args_size = sizeof(bench_train_args),
    .init = init,
    .run = run,
};
