/* Errors, options of older and newer callers, arenas, buffers, memory. */
#include "base/base.h"
#include "testing.h"

/* ------------------------------------------------------------------------------------------------- errors ---- */

START_TEST(a_message_is_one_line)
{
    tfm_error error;

    ck_assert_int_eq(tfm_fail(&error, TFM_E_IO, "%s is %d", "a\nb\r\nc", 7), TFM_E_IO);
    ck_assert_int_eq(error.status, TFM_E_IO);
    ck_assert_str_eq(error.message, "a b  c is 7");
    tfm_fail(&error, TFM_E_IO, "%s",
             "a\xC2\x9B"
             "2J\xE2\x80\xA8"
             "b\xE2\x80\xA9"
             "c\x7F\xC2\xA0\xC3\xA4\xE2\x80\xA7\xE4");
    ck_assert_str_eq(error.message, "a  2J   b   c \xC2\xA0\xC3\xA4\xE2\x80\xA7\xE4");
    ck_assert_int_eq(tfm_fail(NULL, TFM_E_NOMEM, "nobody listens"), TFM_E_NOMEM);
}
END_TEST

START_TEST(a_long_message_is_cut_and_terminated)
{
    char text[1000];
    tfm_error error;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[250] = '\n';
    memset(&error, 1, sizeof error);
    tfm_fail(&error, TFM_E_FORMAT, "%s", text);
    ck_assert_uint_eq(strlen(error.message), sizeof error.message - 1);
    ck_assert_int_eq(error.message[250], ' ');
    ck_assert_uint_eq(sizeof error, 256);  /* frozen */
    memcpy(text + 249, "\xE2\x82\xAC", 3); /* at the edge: two of its bytes fit */
    tfm_fail(&error, TFM_E_FORMAT, "%s", text);
    ck_assert_uint_eq(strlen(error.message), 249);
    memcpy(text + 248, "\xE2\x82\xAC", 3);
    tfm_fail(&error, TFM_E_FORMAT, "%s", text);
    ck_assert_uint_eq(strlen(error.message), 251);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ options ---- */

typedef struct options_1 {
    uint32_t struct_size, a;
} options_1;

typedef struct options_2 {
    uint32_t struct_size, a, b, c;
} options_2;

typedef struct options_3 {
    uint32_t struct_size, a, b, c, d;
    unsigned char e[7];
} options_3;

static const options_2 defaults = {0, 10, 20, 30};

static tfm_status read_options(options_2 *o, const void *from, tfm_error *error)
{
    *o = defaults;
    return tfm_options_read(o, sizeof *o, sizeof(options_1), from, error);
}

START_TEST(a_shorter_struct_keeps_defaults)
{
    const options_1 old = {sizeof old, 11};
    tfm_error error;
    options_2 o;

    ck_assert_ok(read_options(&o, &old, &error), error);
    ck_assert_uint_eq(o.a, 11);
    ck_assert_uint_eq(o.b, 20);
    ck_assert_uint_eq(o.c, 30);
    ck_assert_uint_eq(o.struct_size, sizeof o);
}
END_TEST

START_TEST(a_longer_struct_must_end_in_zeros)
{
    options_3 new = {.struct_size = sizeof new, .a = 11, .b = 12, .c = 13};
    unsigned char *bytes = (unsigned char *)&new;
    tfm_error error;
    options_2 o;

    ck_assert_ok(read_options(&o, &new, &error), error);
    ck_assert_uint_eq(o.a, 11);
    ck_assert_uint_eq(o.c, 13);
    ck_assert_uint_eq(o.struct_size, sizeof o);
    for (size_t i = sizeof o; i < sizeof new; i++) {
        bytes[i] = 1;
        ck_assert_status(read_options(&o, &new, &error), TFM_E_UNSUPPORTED, error);
        bytes[i] = 0;
    }
    ck_assert_ok(read_options(&o, &new, &error), error);
}
END_TEST

START_TEST(a_struct_without_size_is_refused)
{
    options_1 old = {0, 11};
    tfm_error error;
    options_2 o;

    ck_assert_status(read_options(&o, NULL, &error), TFM_E_INVALID, error);
    for (old.struct_size = 0; old.struct_size < sizeof old; old.struct_size++) {
        ck_assert_status(read_options(&o, &old, &error), TFM_E_INVALID, error);
        ck_assert_ptr_nonnull(strstr(error.message, "_init"));
        ck_assert_uint_eq(o.a, 10);
    }
}
END_TEST

START_TEST(defaults_stay_within_the_callers_struct)
{
    struct {
        options_1 known;
        uint32_t guard;
    } old = {.guard = 77};
    options_3 new;

    tfm_options_fill(&old.known, sizeof old.known, &defaults, sizeof defaults);
    ck_assert_uint_eq(old.known.struct_size, sizeof old.known);
    ck_assert_uint_eq(old.known.a, 10);
    ck_assert_uint_eq(old.guard, 77);
    memset(&new, 1, sizeof new);
    tfm_options_fill(&new, sizeof new, &defaults, sizeof defaults);
    ck_assert_uint_eq(new.struct_size, sizeof new);
    ck_assert_uint_eq(new.c, 30);
    ck_assert_uint_eq(new.d, 0);
    for (size_t i = 0; i < sizeof new.e; i++) ck_assert_uint_eq(new.e[i], 0);
    tfm_options_fill(NULL, sizeof new, &defaults, sizeof defaults);
    tfm_options_fill(&old.guard, 3, &defaults, sizeof defaults); /* no room for a size */
    ck_assert_uint_eq(old.guard, 77);
}
END_TEST

START_TEST(results_fit_the_callers_struct)
{
    const options_2 result = {1, 2, 3, 4};
    struct {
        options_1 known;
        uint32_t guard;
    } old = {.guard = 77};
    options_3 new;

    tfm_result_write(&old.known, sizeof old.known, &result, sizeof result);
    ck_assert_uint_eq(old.known.a, 2);
    ck_assert_uint_eq(old.guard, 77);
    memset(&new, 1, sizeof new);
    tfm_result_write(&new, sizeof new, &result, sizeof result);
    ck_assert_uint_eq(new.c, 4);
    ck_assert_uint_eq(new.d, 0);
    tfm_result_write(NULL, 0, &result, sizeof result);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- memory ---- */

START_TEST(sizes_are_checked)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    size_t out = 0, capacity = 0;
    char *array = NULL;

    ck_assert(tfm_mul(SIZE_MAX / 3, 3, &out) && out == SIZE_MAX / 3 * 3);
    ck_assert(!tfm_mul(SIZE_MAX / 2 + 1, 2, &out));
    ck_assert(tfm_add(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX);
    ck_assert(!tfm_add(SIZE_MAX, 1, &out));
    ck_assert_ptr_null(tfm_alloc(&a, SIZE_MAX / 2 + 1, 2));
    ck_assert(!tfm_grow(&a, &array, &capacity, SIZE_MAX, 1));
    ck_assert(!tfm_grow(&a, &array, &capacity, SIZE_MAX / 4, 8));
    ck_assert_ptr_null(array);
    ck_assert_uint_eq(capacity, 0);
}
END_TEST

START_TEST(memory_is_zeroed_and_given_back)
{
    faulty f = {.fail_at = SIZE_MAX};
    const tfm_allocator a = faulty_allocator(&f);

    for (size_t n = 0; n < 100; n += 33) {
        unsigned char *p = tfm_alloc(&a, n, 3);
        ck_assert_ptr_nonnull(p); /* also for n == 0 */
        for (size_t i = 0; i < 3 * n; i++) ck_assert_uint_eq(p[i], 0);
        memset(p, 1, 3 * n);
        tfm_free(&a, p, n, 3);
        ck_assert_uint_eq(f.live, 0);
    }
    tfm_free(&a, NULL, 5, 5);
}
END_TEST

START_TEST(an_array_grows_and_survives_failure)
{
    faulty f = {.fail_at = SIZE_MAX};
    const tfm_allocator a = faulty_allocator(&f);
    size_t capacity = 0, before;
    uint32_t *array = NULL;

    for (uint32_t i = 0; i < 1000; i++) {
        ck_assert(tfm_grow(&a, &array, &capacity, i + 1, sizeof *array));
        array[i] = i;
    }
    ck_assert_uint_le(f.calls, 8); /* doubling */
    before = capacity;
    f.fail_at = f.calls;
    ck_assert(!tfm_grow(&a, &array, &capacity, capacity + 1, sizeof *array));
    ck_assert_uint_eq(capacity, before);
    for (uint32_t i = 0; i < 1000; i++) ck_assert_uint_eq(array[i], i);
    tfm_free(&a, array, capacity, sizeof *array);
    ck_assert_uint_eq(f.live, 0);
}
END_TEST

START_TEST(a_buffer_remembers_failure)
{
    faulty f = {.fail_at = 2};
    tfm_buffer b = {.allocator = faulty_allocator(&f)};
    size_t good = 0;

    for (int i = 0; i < 100; i++) {
        tfm_buffer_append(&b, "0123456789", 10);
        good += b.bad ? 0 : 10;
    }
    ck_assert(b.bad);
    ck_assert_uint_eq(b.size, good);
    ck_assert_uint_eq(good, 30); /* 16, 32, then no more */
    for (size_t i = 0; i < good; i++) ck_assert_int_eq(b.data[i], (int)('0' + i % 10));
    tfm_buffer_append(&b, NULL, 0);
    tfm_buffer_free(&b);
    ck_assert(!b.bad && !b.data && !b.size && !b.capacity);
    ck_assert_uint_eq(f.live, 0);
    tfm_buffer_append(&b, NULL, SIZE_MAX - 1); /* fails before it reads */
    ck_assert(b.bad && !b.data);
    tfm_buffer_free(&b);
}
END_TEST

START_TEST(a_buffer_cannot_wrap)
{
    tfm_buffer b = {.allocator = tfm_allocator_or_default(NULL)};

    tfm_buffer_append(&b, "abc", 3);
    tfm_buffer_append(&b, "abc", SIZE_MAX - 1);
    ck_assert(b.bad);
    ck_assert_uint_eq(b.size, 3);
    tfm_buffer_free(&b);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- arenas ---- */

enum { PIECES = 20 };

/* The same plan, measured and placed. */
static void plan(tfm_arena *arena, unsigned char *place[PIECES])
{
    for (size_t i = 0; i < PIECES; i++) place[i] = tfm_arena_take(arena, i * 7, 3);
}

START_TEST(an_arena_places_what_it_measured)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    unsigned char *measured[PIECES], *placed[PIECES];
    tfm_arena arena = {0};
    tfm_block block = {0};

    plan(&arena, measured);
    ck_assert(!arena.bad && measured[0]);
    const size_t peak = arena.peak;
    ck_assert(tfm_block_reserve(&block, &a, peak, &arena));
    plan(&arena, placed);
    ck_assert(!arena.bad);
    ck_assert_uint_eq(arena.peak, peak);
    for (size_t i = 0; i < PIECES; i++) {
        ck_assert_uint_eq((uintptr_t)placed[i] % TFM_ALIGN, 0);
        ck_assert_int_eq(placed[i] - placed[0], (intptr_t)((uintptr_t)measured[i] - (uintptr_t)measured[0]));
        if (i) ck_assert_int_ge(placed[i] - placed[i - 1], (intptr_t)((i - 1) * 21));
        memset(placed[i], (int)i, i * 21);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t j = 0; j < i * 21; j++) ck_assert_uint_eq(placed[i][j], i);
    tfm_block_free(&block, &a);
}
END_TEST

START_TEST(an_arena_out_of_room_stays_bad)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_arena arena;
    tfm_block block = {0};

    ck_assert(tfm_block_reserve(&block, &a, 256, &arena));
    const size_t room = arena.size / TFM_ALIGN * TFM_ALIGN;
    ck_assert_uint_ge(room, 256);
    ck_assert_ptr_nonnull(tfm_arena_take(&arena, room, 1));
    ck_assert(!arena.bad);
    ck_assert_ptr_null(tfm_arena_take(&arena, 1, 1));
    ck_assert(arena.bad);
    arena.used = 0;
    ck_assert_ptr_nonnull(tfm_arena_take(&arena, 1, 1));
    ck_assert(arena.bad); /* sticky */
    tfm_block_free(&block, &a);
    tfm_block_free(&block, &a);
}
END_TEST

START_TEST(an_arena_detects_overflow)
{
    static const size_t sizes[][2] = {{SIZE_MAX / 2 + 1, 2}, {SIZE_MAX, 1}, {SIZE_MAX - 62, 1}, {SIZE_MAX - 63, 1}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tfm_arena arena = {0};
        tfm_arena_take(&arena, 1, 1);
        ck_assert_ptr_null(tfm_arena_take(&arena, sizes[i][0], sizes[i][1]));
        ck_assert(arena.bad);
        ck_assert_uint_eq(arena.peak, TFM_ALIGN);
    }
    tfm_arena arena = {0};
    ck_assert_ptr_null(tfm_arena_floats(&arena, SIZE_MAX / 2, 3));
    ck_assert(arena.bad);
    arena = (tfm_arena){0};
    ck_assert_ptr_null(tfm_arena_floats(&arena, SIZE_MAX / 4, 2));
    ck_assert(arena.bad);
}
END_TEST

START_TEST(a_block_is_kept_until_it_must_grow)
{
    faulty f = {.fail_at = SIZE_MAX};
    const tfm_allocator a = faulty_allocator(&f);
    tfm_arena arena;
    tfm_block block = {0};

    ck_assert(tfm_block_reserve(&block, &a, 1000, &arena));
    ck_assert(tfm_block_reserve(&block, &a, 1, &arena));
    ck_assert(tfm_block_reserve(&block, &a, 1000, &arena));
    ck_assert_uint_eq(f.calls, 1);
    ck_assert_uint_ge(arena.size, 1000);
    f.fail_at = f.calls;
    ck_assert(!tfm_block_reserve(&block, &a, 2000, &arena));
    ck_assert_uint_eq(f.live, 0);
    ck_assert(tfm_block_reserve(&block, &a, 2000, &arena));
    ck_assert_uint_lt(f.peak, 2000 + 1000); /* never old and new together */
    ck_assert(!tfm_block_reserve(&block, &a, SIZE_MAX - 10, &arena));
    tfm_block_free(&block, &a);
    ck_assert_uint_eq(f.live, 0);
}
END_TEST

START_TEST(a_large_block_begins_at_a_large_page)
{
    static const size_t large = (size_t)1 << 21,
                        sizes[] = {1, 1 << 21, (2 << 21) - 1, 2 << 21, (2 << 21) + 1, 16 << 21};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        faulty f = {.fail_at = 0};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_arena arena;
        tfm_block block = {0};
        ck_assert(!tfm_block_reserve_large(&block, &a, sizes[i], &arena));
        ck_assert(tfm_block_reserve_large(&block, &a, sizes[i], &arena));
        ck_assert_uint_ge(arena.size, sizes[i]);
        ck_assert_uint_eq((uintptr_t)arena.base % (sizes[i] < 2 * large ? TFM_ALIGN : large), 0);
        ck_assert_uint_le(f.live, sizes[i] + large + 2 * TFM_ALIGN + 64);
        memset(arena.base, 1, arena.size);
        tfm_block_free(&block, &a);
        ck_assert_uint_eq(f.live, 0);
    }
    tfm_block block = {0};
    tfm_arena arena;
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    ck_assert(!tfm_block_reserve_large(&block, &a, SIZE_MAX - 10, &arena));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("base");
    TCase *c = tcase_create("base");

    tcase_add_test(c, a_message_is_one_line);
    tcase_add_test(c, a_long_message_is_cut_and_terminated);
    tcase_add_test(c, a_shorter_struct_keeps_defaults);
    tcase_add_test(c, a_longer_struct_must_end_in_zeros);
    tcase_add_test(c, a_struct_without_size_is_refused);
    tcase_add_test(c, defaults_stay_within_the_callers_struct);
    tcase_add_test(c, results_fit_the_callers_struct);
    tcase_add_test(c, sizes_are_checked);
    tcase_add_test(c, memory_is_zeroed_and_given_back);
    tcase_add_test(c, an_array_grows_and_survives_failure);
    tcase_add_test(c, a_buffer_remembers_failure);
    tcase_add_test(c, a_buffer_cannot_wrap);
    tcase_add_test(c, an_arena_places_what_it_measured);
    tcase_add_test(c, an_arena_out_of_room_stays_bad);
    tcase_add_test(c, an_arena_detects_overflow);
    tcase_add_test(c, a_block_is_kept_until_it_must_grow);
    tcase_add_test(c, a_large_block_begins_at_a_large_page);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
