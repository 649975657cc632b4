/* tfm report: how trainings went, as a page. */
#include "commands.h"
#include "console.h"
#include "report.h"
#include "text_file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LOGS = 12 };

typedef struct report_args {
    const char *output;
} report_args;

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"output", "FILE", "the page, FILE.html", OPTION_TEXT, .letter = 'o', .file = 'w',
     .offset = offsetof(report_args, output)},
    {.kind = OPTION_END},
};

static void init(void *place)
{
    ((report_args *)place)->output = "report.html";
}

static int read_logs(training_log *logs, const string_list *paths)
{
    int code = EXIT_SUCCESS;
    for (size_t i = 0; i < paths->size && !code; i++) {
        code = training_log_read(&logs[i], paths->items[i]);
        for (size_t k = 0; k < logs[i].notes.size; k++) console_warn("%s", logs[i].notes.items[k]);
    }
    return code;
}

static int run(void *place, const string_list *operands)
{
    const report_args *args = place;
    const char *dot = strrchr(args->output, '.');
    training_log logs[MOST_LOGS] = {0};
    text_writer out;
    if (operands->size == 0) return console_usage("report needs a log of 'tfm train --log'");
    if (!dot || strcmp(dot, ".html") != 0)
        return console_usage("--output is '%s'; its end must be .html", args->output);
    if (!output_path_check(args->output)) return EXIT_FAILURE;
    int code = read_logs(logs, operands);
    if (!code) {
        const bool opened = text_writer_open(&out, args->output);
        if (opened) report_write(out.file, logs, operands->size);
        if (!text_writer_close(&out, opened)) code = EXIT_FAILURE;
        else console_say("wrote %s", args->output);
    }
    for (size_t i = 0; i < operands->size; i++) training_log_free(&logs[i]);
    return code;
}

const command command_report = {
    .name = "report",
    .summary = "shows how trainings went, as a page",
    .usage = "LOG.csv... [-o report.html]",
    .text =
        "Reads logs of 'tfm train --log' and writes one page that needs no network: loss, perplexity, BLEU, learning rate, "
        "gradients and speed over steps or time, and the translations of 'tfm train --samples' (LOG.samples.csv beside "
        "LOG.csv) as they grow better. Several logs, up to 12, are drawn into the same charts.\n"
        "A log may be of a training that still runs, or that was stopped and resumed. Rows that are cut off or damaged are named "
        "with their line on standard error and in the page, and what they still say is shown.",
    .examples = "  tfm train ... --valid-src dev.en --valid-tgt dev.de --log en-de.csv --samples 5\n"
                "  tfm report en-de.csv -o en-de.html\n"
                "  tfm report small.csv base.csv -o compared.html\n",
    .options = rows,
    .max_operands = MOST_LOGS,
    .args_size = sizeof(report_args),
    .init = init,
    .run = run,
};
