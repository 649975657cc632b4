/* Any bytes as a text or gzip file of lines that the program reads: refused, or lines of valid text. */
#include "../../examples/cli/text_file.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int replace = 0; replace < 2; replace++) {
        text_reader r;
        tfm_text line;
        int more = -1;
        if (text_reader_open(&r, fuzz_file(data, size), replace))
            while ((more = text_reader_next(&r, &line)) == 1)
                FUZZ_REQUIRE(tfm_utf8_check(line) == SIZE_MAX && !(line.size && memchr(line.data, '\n', line.size)));
        FUZZ_REQUIRE(more == 0 || more == -1);
        text_reader_free(&r);
    }
    return 0;
}
