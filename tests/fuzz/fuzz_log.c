/* Any bytes as the log of a training: refused, or rows in the order of their steps, and a report whose data is JSON. */
#include "fuzz.h"

#include "../../examples/cli/console.h"
#include "../../examples/cli/report.h"

#include <jansson.h>
#include <math.h>

static void check_rows(const log_rows *rows)
{
    for (size_t i = 0; i < rows->size; i++) {
        for (int c = 0; c < LOG_COLUMNS; c++) FUZZ_REQUIRE(!isinf(rows->rows[i].values[c]));
        FUZZ_REQUIRE(!isnan(rows->rows[i].values[LOG_STEP]));
        FUZZ_REQUIRE(i == 0 || rows->rows[i - 1].values[LOG_STEP] < rows->rows[i].values[LOG_STEP]);
    }
}

static void check_report(const training_log *log)
{
    static const char mark[] = "application/json\">";
    char *page = NULL;
    size_t size;
    FILE *file = open_memstream(&page, &size);

    FUZZ_REQUIRE(file != NULL);
    report_write(file, log, 1);
    fclose(file);
    char *begin = strstr(page, mark) + sizeof mark - 1, *end = strstr(begin, "</script>");
    json_t *data = json_loadb(begin, (size_t)(end - begin), 0, NULL);
    FUZZ_REQUIRE(data && json_array_size(json_object_get(data, "runs")) == 1);
    json_decref(data);
    free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    training_log log;

    if (training_log_read(&log, fuzz_file(data, size)) == EXIT_SUCCESS) {
        FUZZ_REQUIRE(log.steps.size + log.valid.size > 0);
        check_rows(&log.steps);
        check_rows(&log.valid);
        check_report(&log);
    }
    training_log_free(&log);
    return 0;
}
