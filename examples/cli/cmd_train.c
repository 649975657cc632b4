/* tfm train: its options and its page. */
#include "commands.h"
#include "console.h"
#include "free_memory.h"
#include "model_args.h"
#include "training.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) .offset = offsetof(train_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Data"},
    {"src", "FILE", "source side, one sentence a line; give it several times to train on several files", OPTION_LIST,
     .required = true, .file = 'r', AT(src)},
    {"tgt", "FILE",
     "target side: line i is the translation of line i of --src; as many times as --src, in the same order",
     OPTION_LIST, .required = true, .file = 'r', AT(tgt)},
    {"valid-src", "FILE", "source side of sentences held out to watch the training", OPTION_LIST, .file = 'r',
     AT(valid_src)},
    {"valid-tgt", "FILE", "and their translations", OPTION_LIST, .file = 'r', AT(valid_tgt)},
    {"max-length", "N", "pairs with more tokens than this on a side are skipped", OPTION_U32, AT(trainer.max_length)},
    {"replace-invalid", NULL, "invalid UTF-8 becomes U+FFFD instead of an error", OPTION_FLAG, AT(replace_invalid)},

    {.kind = OPTION_HEADING, .help = "Output"},
    {"model", "OUT", "file for the trained model, tokenizer included; written once, at the end", OPTION_TEXT,
     .required = true, .file = 'w', AT(model)},
    {"checkpoint", "PREFIX", "checkpoints are PREFIX-STEP.ckpt; default: OUT-STEP.ckpt", OPTION_TEXT, AT(checkpoint)},
    {"checkpoint-every", "N", "steps between checkpoints; default: one each epoch", OPTION_U64,
     AT(trainer.checkpoint_steps)},
    {"checkpoint-minutes", "M", "and one every M minutes, instead of each epoch; default: not by time", OPTION_FLOAT,
     AT(checkpoint_minutes)},
    {"keep", "K", "how many of the latest checkpoints stay, 0: all; an end between two writes one more", OPTION_U32,
     AT(trainer.keep)},
    {"average", "K",
     "the model is the mean of the last K checkpoints (section 6.1 of the paper: 5); default: the last "
     "weights",
     OPTION_U32, .high = MOST_AVERAGED, AT(average)},
    {"resume", "FILE",
     "go on from a checkpoint, by default the newest; give the other options as at the start, the limits "
     "may change; the model and the tokenizer are those of the checkpoint",
     OPTION_MAYBE, AT(resume)},
    {"restart", NULL,
     "start anew and delete the checkpoints of an earlier training of that name; with --resume FILE: go on from FILE, "
     "and delete those that came after it",
     OPTION_FLAG, AT(restart)},
    {"log", "FILE.csv", "one row for each step, epoch, validation and checkpoint; with --resume rows are added",
     OPTION_TEXT, .file = 'w', AT(log)},
    {"samples", "N",
     "at each validation, translations of N sentences of --valid-src go to FILE.samples.csv beside the log; 'tfm report' shows "
     "both",
     OPTION_U32, .high = 1000, AT(samples)},

    {.kind = OPTION_HEADING, .help = "Tokenizer"},
    {"tokenizer", "bpe|subword-nmt|wordpiece",
     "learned from both sides: bpe for raw text, subword-nmt for text that is "
     "already split into words, wordpiece for raw text as the paper had it for English-French",
     OPTION_CHOICE, AT(tokenizer)},
    {"vocab-size", "N", "bpe: entries of the vocabulary, 256 bytes included; wordpiece: about so many; default 8000",
     OPTION_U32, .low = 1, AT(vocab_size)},
    {"merges", "N", "subword-nmt: merge operations; default 10000", OPTION_U32, .low = 1, AT(merges)},
    {"min-frequency", "N", "a pair of symbols seen less often is not merged; default 2", OPTION_U32, .low = 1,
     AT(min_frequency)},
    {"tokenizer-file", "FILE", "use the tokenizer of this file (of 'tfm tokenizer learn', or a model)", OPTION_TEXT,
     .file = 'r', AT(tokenizer_file)},
    {"target-tokenizer-file", "FILE",
     "and that of this file for targets: --tokenizer-file is then for sources alone, and embeddings are not shared "
     "between them (sharing=target) unless --set says so",
     OPTION_TEXT, .file = 'r', AT(target_tokenizer_file)},
    {"codes", "FILE", "use the merges of this subword-nmt file", OPTION_TEXT, .file = 'r', AT(codes)},

    {.kind = OPTION_HEADING, .help = "Model"},
    {"preset", "NAME",
     "tiny (4+4 layers, width 128), small (4+4, 256), base (6+6, 512) or big (6+6, 1024); default tiny", OPTION_TEXT,
     AT(preset)},
    {"set", "KEY=VALUE",
     "any field of tfm_model_options: n_encoder_layers, n_decoder_layers, d_model, d_ff, n_heads, d_k, "
     "d_v, norm_order=post|pre, positions=paper|halves|learned|split, position_offset, max_positions, "
     "sharing=all|target|none, "
     "start=bos|zero, attention_bias, ffn_bias, softmax_bias, init=fused|separate, layer_norm_eps, seed, "
     "activation=relu|gelu|gelu_tanh|swish, embedding_norm, plain_embedding",
     OPTION_LIST, AT(sets)},
    {"init", "FILE",
     "fine-tuning: begin with the weights and the tokenizer of this model, or checkpoint, instead of random weights; "
     "anything that 'tfm convert' reads and is not quantised",
     OPTION_TEXT, .file = 'r', AT(init)},

    {.kind = OPTION_HEADING, .help = "How long (the first limit reached ends the training)"},
    {"steps", "N", "updates of the weights; default 100000, or no limit with --epochs or --max-time", OPTION_U64,
     .low = 1, AT(steps)},
    {"epochs", "N", "passes over the data; default: no limit", OPTION_U64, AT(trainer.max_epochs)},
    {"max-time", "TIME", "of this run: seconds, or 90s, 20m, 2h; default: no limit", OPTION_SECONDS,
     AT(trainer.max_seconds)},
    {"patience", "N", "validations without a better result before the end; default: never", OPTION_U32,
     AT(trainer.patience)},

    {.kind = OPTION_HEADING, .help = "Optimiser (sections 5.3 and 5.4 of the paper)"},
    {"batch-tokens", "N", "a batch holds at most this many source and as many target tokens", OPTION_U32, .low = 1,
     AT(trainer.batch_tokens)},
    {"accumulate", "N", "batches for each update of the weights: steadier steps at no cost of memory", OPTION_U32,
     .low = 1, AT(trainer.accumulate)},
    {"warmup", "N", "steps while the learning rate rises to its highest value; fewer for a short training", OPTION_U32,
     .low = 1, AT(trainer.warmup)},
    {"lr-scale", "X", "factor on the learning rate of equation (3)", OPTION_FLOAT, AT(trainer.lr_scale)},
    {"cooldown", "N",
     "in the last N of --steps the rate falls in a straight line to nearly zero, which brings a short training further; "
     "default: it falls as equation (3) says to the end",
     OPTION_U64, .low = 1, AT(trainer.cooldown)},
    {"dropout", "P",
     "chance of a value to be left out, on the output of each sub-layer: more keeps a small corpus from being learned "
     "by heart",
     OPTION_FLOAT, .high = 1, AT(trainer.dropout)},
    {"embedding-dropout", "P", "on the sum of embedding and position; default: as --dropout", OPTION_FLOAT, .low = -1,
     .high = 1, AT(trainer.dropout_embedding)},
    {"attention-dropout", "P", "on the attention weights", OPTION_FLOAT, .high = 1, AT(trainer.dropout_attention)},
    {"relu-dropout", "P", "inside the feed-forward network", OPTION_FLOAT, .high = 1, AT(trainer.dropout_relu)},
    {"bpe-dropout", "P",
     "chance of each merge of the tokenizer to be left out, anew in each epoch, so that words are seen in many pieces "
     "(BPE-dropout); 0.1 helps small corpora; for --tokenizer bpe and subword-nmt",
     OPTION_FLOAT, .high = 1, AT(bpe_dropout)},
    {"bpe-dropout-side", "both|source|target", "which text --bpe-dropout cuts", OPTION_CHOICE,
     .needs = "bpe-dropout", AT(bpe_dropout_side)},
    {"label-smoothing", "E", "share of the target's probability given to all other tokens", OPTION_FLOAT, .high = 1,
     AT(trainer.label_smoothing)},
    {"uniform-smoothing", NULL, "spread that share over all tokens, the target included", OPTION_FLAG,
     AT(uniform_smoothing)},
    {"clip", "NORM",
     "scale larger gradients down to this norm, when the loss jumps or becomes NaN; default: no clipping", OPTION_FLOAT,
     AT(trainer.clip_norm)},
    {"max-skipped", "N",
     "a step whose loss or gradient is not finite is skipped, with a warning; so many in a row end the training; "
     "default: 10",
     OPTION_U64, .low = 1, AT(trainer.max_skipped)},
    {"adam-beta1", "B", "decay of the first moment", OPTION_FLOAT, .high = 1, AT(trainer.adam_beta1)},
    {"adam-beta2", "B", "decay of the second moment", OPTION_FLOAT, .high = 1, AT(trainer.adam_beta2)},
    {"adam-eps", "E", "keeps the divisor from zero", OPTION_FLOAT, AT(trainer.adam_eps)},
    {"seed", "N", "of weights, order of the data and dropout", OPTION_U64, AT(trainer.seed)},

    {.kind = OPTION_HEADING, .help = "Validation"},
    {"valid-every", "N", "steps between validations; default: one each epoch", OPTION_U64, AT(trainer.valid_every)},
    {"valid-bleu", NULL, "translate the validation source too; BLEU then decides for --patience", OPTION_FLAG,
     AT(trainer.valid_bleu)},

    {.kind = OPTION_HEADING, .help = "Machine"},
    {"threads", "N", "processors to use; the result does not depend on it; default: all", OPTION_U32,
     AT(trainer.n_threads)},
    {"dtype", "f32|bf16",
     "operands of the matrix products: bf16 is two to three times as fast on processors with AMX, and keeps weights, "
     "loss and optimiser in float32",
     OPTION_CHOICE, AT(trainer.dtype)},
    {"memory", "SIZE",
     "that the training may take, such as 500M, 6G or 4GiB, 0: no limit; a batch that needs more is worked off in "
     "pieces, which changes the last bits of sums; default: half of what is free",
     OPTION_BYTES, AT(memory)},
    {"recompute", NULL, "less memory, more time: compute activations again when they are needed", OPTION_FLAG,
     AT(trainer.recompute)},
    {"profile", NULL, "at the end, a table of the time that operations and phases took", OPTION_FLAG, AT(profile)},
    {.kind = OPTION_END},
};

static void init(void *place)
{
    train_args *args = place;
    tfm_trainer_options_init(&args->trainer, sizeof args->trainer);
    args->steps = args->memory = UINT64_MAX;
}

/* The ways to name a tokenizer exclude each other, and each has its own size; --init brings its own. */
static int check_tokenizer(const train_args *args)
{
    if (args->init && (args->tokenizer_file || args->codes || args->tokenizer || args->vocab_size || args->merges ||
                       args->min_frequency || args->preset || args->sets.size))
        return console_usage("--init gives the tokenizer and the shape of the model: leave out --preset, --set and the "
                             "options of the tokenizer");
    if (args->target_tokenizer_file && !args->tokenizer_file)
        return console_usage("--target-tokenizer-file needs --tokenizer-file, the tokenizer of sources");
    if (args->tokenizer_file && args->codes)
        return console_usage("--tokenizer-file and --codes exclude each other; give one");
    if (args->tokenizer && (args->tokenizer_file || (args->codes && args->tokenizer != TOKENIZER_SUBWORD_NMT)))
        return console_usage("--tokenizer is for learning a tokenizer, but %s gives one; leave out one of them",
                             args->codes ? args->codes : args->tokenizer_file);
    if ((args->tokenizer_file || args->codes) && (args->vocab_size || args->merges || args->min_frequency))
        return console_usage(
            "--vocab-size, --merges and --min-frequency are for learning a tokenizer, but %s gives one",
            args->codes ? args->codes : args->tokenizer_file);
    if (args->tokenizer != TOKENIZER_SUBWORD_NMT && args->merges)
        return console_usage("--merges is for --tokenizer subword-nmt; the others take --vocab-size");
    if (args->tokenizer == TOKENIZER_WORDPIECE && args->min_frequency)
        return console_usage("--min-frequency is for --tokenizer bpe and subword-nmt; wordpiece finds it itself");
    if (args->tokenizer == TOKENIZER_SUBWORD_NMT && args->vocab_size)
        return console_usage("--vocab-size is for --tokenizer bpe; subword-nmt takes --merges");
    return EXIT_SUCCESS;
}

static int check(const train_args *args)
{
    const tfm_trainer_options *t = &args->trainer;
    if (args->src.size != args->tgt.size)
        return console_usage("%zu --src but %zu --tgt: each source file needs its target file", args->src.size,
                             args->tgt.size);
    if (args->valid_src.size != args->valid_tgt.size)
        return console_usage("%zu --valid-src but %zu --valid-tgt: each needs the other", args->valid_src.size,
                             args->valid_tgt.size);
    if (args->valid_src.size == 0 && (t->patience || t->valid_bleu || t->valid_every))
        return console_usage("--patience, --valid-bleu and --valid-every need --valid-src and --valid-tgt");
    if (args->samples > 0 && (!args->log || args->valid_src.size == 0))
        return console_usage(
            "--samples needs --log, which names their file, and --valid-src, whose sentences they are");
    if (args->resume && !*args->resume && args->restart)
        return console_usage("--restart is for a training from the start, or from a --resume FILE; name the FILE");
    return check_tokenizer(args);
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    train_args *args = place;
    const int code = check(args);
    if (code) return code;
    tfm_trainer_options *t = &args->trainer;
    if (args->steps != UINT64_MAX) t->max_steps = args->steps;
    else if (t->max_epochs > 0 || t->max_seconds > 0) t->max_steps = 0;
    t->memory = args->memory == UINT64_MAX ? free_memory() / 2 : args->memory;
    t->smoothing = args->uniform_smoothing ? TFM_SMOOTHING_UNIFORM : TFM_SMOOTHING_PAPER;
    t->bpe_dropout_source = args->bpe_dropout_side != DROPOUT_TARGET ? args->bpe_dropout : 0.0f;
    t->bpe_dropout_target = args->bpe_dropout_side != DROPOUT_SOURCE ? args->bpe_dropout : 0.0f;
    t->checkpoint_seconds = 60.0 * (double)args->checkpoint_minutes;
    t->checkpoint_path = args->checkpoint ? args->checkpoint : args->model;
    if (t->keep > 0 && t->keep < args->average) t->keep = args->average;
    return training_run(args);
}

const command command_train = {
    .name = "train",
    .summary = "trains a model on parallel text",
    .usage = "--src FILE --tgt FILE --model OUT [options]",
    .text =
        "Reads two text files of which line i of one is the translation of line i of the other, learns a tokenizer "
        "(which cuts words into pieces, the tokens) and a Transformer from them, and writes both into one model file "
        "for 'tfm translate'.\n"
        "The defaults are the paper's, made for millions of pairs of lines. For up to some 100,000 pairs begin with "
        "--warmup 1000 --dropout 0.3, hold out a few hundred pairs as --valid-src and --valid-tgt, and stop when their "
        "perplexity (ppl) no longer falls: --patience 5 does so by itself.\n"
        "Ctrl-C stops cleanly: a checkpoint is written, and the same command with --resume goes on as if nothing had "
        "happened. An existing OUT is replaced only when the training has ended.",
    .examples = "  A first model within minutes; raw text, progress on the screen:\n"
                "    tfm train --src train.en --tgt train.de --model en-de.tfm --warmup 1000 --max-time 20m\n\n"
                "  With held-out data, the mean of the last 5 checkpoints, and a log to plot:\n"
                "    tfm train --src train.en.gz --tgt train.de.gz --valid-src dev.en --valid-tgt dev.de \\\n"
                "        --model en-de.tfm --preset small --epochs 20 --average 5 --log en-de.csv\n\n"
                "  Go on after an interruption:\n"
                "    tfm train ... the same options ... --resume\n\n"
                "  Fine-tuning: a model that is there, on text of another kind:\n"
                "    tfm train --src law.en --tgt law.de --model law.tfm --init en-de.tfm --lr-scale 0.2 \\\n"
                "        --warmup 200 --steps 2000 --cooldown 1000\n\n"
                "  The base model of the paper, updates of 25,000 tokens:\n"
                "    tfm train --src a.en --src b.en --tgt a.de --tgt b.de --model base.tfm \\\n"
                "        --preset base --vocab-size 37000 --batch-tokens 25000 --memory 6G \\\n"
                "        --checkpoint-minutes 10 --average 5\n",
    .options = rows,
    .args_size = sizeof(train_args),
    .init = init,
    .run = run,
};
