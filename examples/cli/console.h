/* Messages on standard error, and memory that ends the program when there is none. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_USAGE = 2 }; /* beside EXIT_SUCCESS and EXIT_FAILURE: the command line itself was wrong */

/* "tfm: message" on one line; returns EXIT_FAILURE or EXIT_USAGE, so that callers write `return console_fail(...)`. */
int console_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int console_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
void console_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line of an answer that was asked for, which --quiet does not silence. */
void console_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Progress; silent after console_silence(). A status is a passing line: shown on a terminal only, until the next
 * message. */
void console_silence(void);
bool console_silent(void);
void console_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void console_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool console_is_terminal(void);
size_t console_columns(void);

/* A tfm_log_fn. */
void console_log(void *user, int32_t level, const char *message);

/* Grows *array (elements of size) to hold at least want; the program ends with a message when there is no memory. */
void memory_grow(void *array, size_t *capacity, size_t want, size_t size);

/* The first size bytes of text, terminated; freed by the caller. */
char *memory_copy(const char *text, size_t size);

/* "1,234,567". The text is out. */
const char *format_count(char out[32], uint64_t value);
/* "2:03:04" or "3:04". The text is out. */
const char *format_seconds(char out[32], double seconds);

/* Seconds of a clock that never goes back. */
double clock_seconds(void);

#endif
