/* The checksum of a file's data, against its formula in doc/format.md. */
#include "format/checksum.h"

#include "testing.h"

enum { MOST = 300 };

static unsigned char bytes[MOST];

static void setup(void)
{
    for (size_t i = 0; i < MOST; i++) bytes[i] = (unsigned char)(i * 37 + i / 7);
}

static uint64_t checksum(const void *data, size_t size)
{
    tfm_checksum sum;

    tfm_checksum_begin(&sum);
    tfm_checksum_add(&sum, data, size);
    return tfm_checksum_end(&sum);
}

/* Byte by byte, and one lane after the other. */
static uint64_t oracle(const unsigned char *data, size_t size)
{
    uint64_t result = size, step;

    for (size_t lane = 0; lane <= 8; lane++) {
        uint64_t value = lane + 1;
        for (size_t at = 8 * lane; lane < 8 && at - 8 * lane < size; at += 64) {
            uint64_t word = 0;
            for (size_t i = 0; i < 8; i++) word += at + i < size ? (uint64_t)data[at + i] << (8 * i) : 0;
            step = (value ^ word) * 11400714819323198485u;
            value = step * 536870912u + (step >> 35);
        }
        if (lane == 8) value = result / 4294967296u;
        step = (result ^ value) * 11400714819323198485u;
        result = step * 536870912u + (step >> 35);
    }
    return result;
}

START_TEST(every_size_is_as_documented)
{
    ck_assert(checksum("", 0) == 0xadb82cf92e2bda7du); /* from the Python of doc/format.md */
    for (size_t size = 0; size <= MOST; size++)
        if (checksum(bytes, size) != oracle(bytes, size)) ck_abort_msg("%zu bytes", size);
}
END_TEST

START_TEST(pieces_do_not_matter)
{
    for (size_t first = 0; first <= 140; first++)
        for (size_t second = 0; second <= 140; second++) {
            tfm_checksum sum;
            tfm_checksum_begin(&sum);
            tfm_checksum_add(&sum, bytes, first);
            tfm_checksum_add(&sum, bytes + first, second);
            tfm_checksum_add(&sum, bytes + first + second, 20);
            if (tfm_checksum_end(&sum) != oracle(bytes, first + second + 20))
                ck_abort_msg("%zu, then %zu", first, second);
        }
}
END_TEST

START_TEST(every_change_of_a_byte_is_seen)
{
    const uint64_t right = checksum(bytes, MOST);

    for (size_t i = 0; i < MOST; i++)
        for (unsigned change = 1; change < 256; change++) {
            bytes[i] ^= (unsigned char)change;
            if (checksum(bytes, MOST) == right) ck_abort_msg("byte %zu, bits %#x", i, change);
            bytes[i] ^= (unsigned char)change;
        }
}
END_TEST

START_TEST(order_and_length_count)
{
    const uint64_t right = checksum(bytes, 256);
    unsigned char moved[MOST] = {0};

    for (size_t shift = 1; shift < 256; shift++) {
        memcpy(moved, bytes + shift, 256 - shift);
        memcpy(moved + 256 - shift, bytes, shift);
        ck_assert(checksum(moved, 256) != right);
    }
    memset(moved, 0, sizeof moved);
    for (size_t size = 0; size < MOST; size++) ck_assert(checksum(moved, size) != checksum(moved, size + 1));
}
END_TEST

static Suite *checksum_suite(void)
{
    Suite *suite = suite_create("checksum");
    TCase *tc = tcase_create("checksum");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, every_size_is_as_documented);
    tcase_add_test(tc, pieces_do_not_matter);
    tcase_add_test(tc, every_change_of_a_byte_is_seen);
    tcase_add_test(tc, order_and_length_count);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(checksum_suite)
