/* The program's commands. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "options.h"

extern const command command_train, command_translate, command_score, command_evaluate, command_attention,
    command_report, command_average, command_quantize, command_convert, command_inspect, command_tokenizer_learn,
    command_tokenizer_encode, command_tokenizer_decode, command_tokenizer_normalize, command_tokenizer_pair,
    command_tokenizer_restrict, command_tokenizer_keep_case, command_tokenizer_pretokenize,
    command_tokenizer_detokenize, command_bench_train, command_bench_decode, command_bench_gemm,
    command_bench_attention, command_bench_kernels;

#endif
