/* Lines of text from plain or gzip files and standard input, and to files and standard output. */
#ifndef CLI_TEXT_FILE_H
#define CLI_TEXT_FILE_H

#include <transformer.h>

#include <stdbool.h>
#include <stdio.h>
#include <zlib.h>

/*
 * Only '\n' ends a line; one '\r' before it is dropped; the last line may lack its '\n'. Lines are valid UTF-8: others
 * are an error that names file and line, or are repaired. A byte order mark at the beginning of a file is dropped.
 * Functions report failures themselves.
 */
typedef struct text_reader {
    const char *name; /* for messages */
    int fd;
    bool replace_invalid, gzip, ended, cut; /* cut: the line delivered last has no '\n' */
    uint64_t line; /* how many were delivered */
    char *data;    /* data[start..end) is read and not yet delivered; no '\n' in [start, scanned) */
    size_t start, scanned, end, capacity;
    unsigned char *packed;
    z_stream zip;
    char *repaired;
    size_t repaired_capacity;
} text_reader;

/* A path as messages say it: "-" is standard input. */
const char *text_name(const char *path);

/* path "-": standard input, for one reader in the life of the program. Free it even after a failure. */
bool text_reader_open(text_reader *r, const char *path, bool replace_invalid);
/* 1: *line is lent until the next call; 0: the end; -1: reported failure. */
int text_reader_next(text_reader *r, tfm_text *line);
/* Whether text_reader_next() would return without waiting for another program or a person. */
bool text_reader_ready(text_reader *r);
void text_reader_free(text_reader *r);

/* Lines in memory; they do not move as more are added. */
typedef struct text_lines {
    tfm_text *lines;
    size_t size, capacity;
    struct text_chunk *chunks;
} text_lines;

void text_lines_add(text_lines *l, tfm_text line);
/* Adds all lines of a file. */
bool text_lines_read(text_lines *l, const char *path, bool replace_invalid);
void text_lines_clear(text_lines *l);

/* Adds each file to its list; unequal line counts are an error that names both. */
bool text_pairs_read(text_lines *a, text_lines *b, const char *a_path, const char *b_path, bool replace_invalid);

bool text_counts_match(const char *a_path, size_t a, const char *b_path, size_t b);

/* Output. A file is written as FILE.part, or FILE.part2 where that is there already, and gets its name and an old one's
 * permissions at the end, so that a failure leaves an old one as it was. */
typedef struct text_writer {
    FILE *file;
    const char *path;    /* NULL: standard output */
    char *part, *target; /* target: path, or where its link leads; NULL: no regular file, written directly */
} text_writer;

/* path NULL or "-": standard output. */
bool text_writer_open(text_writer *w, const char *path);
/* Text of a line, in which a '\n' becomes a space. */
void text_writer_text(text_writer *w, tfm_text text);
void text_writer_line(text_writer *w, tfm_text text);
bool text_writer_flush(text_writer *w);
/* commit false: after a failure already reported; what was written, if anything, stays in FILE.part. Returns commit, or false. */
bool text_writer_close(text_writer *w, bool commit);

/* Whether path's folder exists and is writable; and moreover whether no device or folder has that name. */
bool output_folder_check(const char *path);
bool output_path_check(const char *path);
/* Whether both names are of one regular file or folder, or would be of one that is not there yet. */
bool same_file(const char *a, const char *b);

/* A file of comma-separated values, to write rows to: anew, or behind those that it has. A file that does not begin
 * with the first two names of the header is refused. NULL: a reported failure. */
FILE *csv_open(const char *path, bool append, const char *header);

#endif
