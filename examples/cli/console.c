/* What the program tells its user: one-line errors, warnings, progress, all on standard error. */
#include "console.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static bool silent;
static bool status_shown; /* a status stands on the terminal's last line */

/* Control characters (a newline in a file's name) and separators of lines become '?': a message is one line, and a
 * terminal is not steered by it. */
static void make_plain(char *line)
{
    for (unsigned char *c = (unsigned char *)line; *c; c++) {
        const bool high = *c == 0xC2 && (c[1] & 0xE0) == 0x80;
        const bool separator = *c == 0xE2 && c[1] == 0x80 && (c[2] == 0xA8 || c[2] == 0xA9);
        if (*c < 0x20 || *c == 0x7f || high || separator) memset(c, '?', separator ? 3 : high ? 2 : 1);
    }
}

/* The last character of a line that was cut off may be half of one. */
static void drop_last(char *line)
{
    size_t n = strlen(line);
    while (n > 0 && (line[n - 1] & 0xC0) == 0x80) n--;
    if (n > 0) line[n - 1] = '\0';
}

static void print_line(const char *prefix, const char *format, va_list arguments, const char *end)
{
    char line[2048];
    if (vsnprintf(line, sizeof line, format, arguments) >= (int)sizeof line) drop_last(line);
    make_plain(line);
    fprintf(stderr, "%s%s%s%s", status_shown ? "\r\033[K" : "", prefix, line, end);
    fflush(stderr);
    status_shown = !*end;
}

int console_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("tfm: ", format, arguments, "\n");
    va_end(arguments);
    return EXIT_FAILURE;
}

int console_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("tfm: ", format, arguments, "\n");
    va_end(arguments);
    return EXIT_USAGE;
}

void console_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("tfm: warning: ", format, arguments, "\n");
    va_end(arguments);
}

void console_silence(void)
{
    silent = true;
}

bool console_silent(void)
{
    return silent;
}

void console_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments, "\n");
    va_end(arguments);
}

void console_say(const char *format, ...)
{
    if (silent) return;
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments, "\n");
    va_end(arguments);
}

void console_status(const char *format, ...)
{
    if (silent || !console_is_terminal()) return;
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments, "");
    va_end(arguments);
}

bool console_is_terminal(void)
{
    return isatty(STDERR_FILENO);
}

size_t console_columns(void)
{
    struct winsize window;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) return window.ws_col;
    return 80;
}

void console_log(void *user, int32_t level, const char *message)
{
    (void)user;
    if (level > 0) console_warn("%s", message);
    else console_say("%s", message);
}

void memory_grow(void *array, size_t *capacity, size_t want, size_t size)
{
    if (want <= *capacity) return;
    size_t room = *capacity > want / 2 ? *capacity * 2 : want, bytes;
    if (room < 16) room = 16;
    void *old, *grown = NULL;
    memcpy(&old, array, sizeof old);
    if (!__builtin_mul_overflow(room, size, &bytes)) grown = realloc(old, bytes);
    if (!grown) exit(console_fail("out of memory: %zu elements of %zu bytes are needed", room, size));
    memcpy(array, &grown, sizeof grown);
    *capacity = room;
}

char *memory_copy(const char *text, size_t size)
{
    char *copy = NULL;
    size_t capacity = 0;
    memory_grow(&copy, &capacity, size + 1, 1);
    memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *format_count(char out[32], uint64_t value)
{
    char digits[32];
    const int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *to = out;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return out;
}

const char *format_seconds(char out[32], double seconds)
{
    const unsigned long long s = seconds > 0 && seconds < 1e15 ? (unsigned long long)(seconds + 0.5) : 0;
    if (s >= 3600) snprintf(out, 32, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
    else snprintf(out, 32, "%llu:%02llu", s / 60, s % 60);
    return out;
}
