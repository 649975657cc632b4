/* Reads and writes text line by line, so that every command treats files, gzip and pipes alike. */
#include "text_file.h"
#include "console.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 16, CHUNK_SIZE = 1 << 20 };

const char *text_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The part of a path behind its folder, whose state is found. */
static const char *last_name(const char *path, struct stat *folder)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
    const bool found = parent && stat(parent, folder) == 0;
    free(parent);
    return !found ? NULL : slash ? slash + 1 : path;
}

bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    const bool is_a = stat(a, &x) == 0, is_b = stat(b, &y) == 0;
    if (is_a && is_b) return (S_ISREG(x.st_mode) || S_ISDIR(x.st_mode)) && same_inode(&x, &y);
    if (is_a || is_b) return false;
    const char *name = last_name(a, &x), *other = last_name(b, &y);
    return name && other && strcmp(name, other) == 0 && same_inode(&x, &y);
}

bool text_reader_open(text_reader *r, const char *path, bool replace_invalid)
{
    static bool input_taken;
    const bool input = strcmp(path, "-") == 0;
    *r = (text_reader){.name = text_name(path), .replace_invalid = replace_invalid};
    r->fd = -1;
    if (input && input_taken) {
        console_fail("standard input is already read as something else; name a file instead of a second '-'");
        return false;
    }
    input_taken |= input;
    r->fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0) console_fail("cannot open %s: %s", path, strerror(errno));
    return r->fd >= 0;
}

/* Bytes read, 0 at the end, -1 after a reported failure. */
static ssize_t read_some(text_reader *r, void *to)
{
    ssize_t n;
    do n = read(r->fd, to, READ_SIZE);
    while (n < 0 && errno == EINTR);
    if (n < 0) console_fail("cannot read %s: %s", r->name, strerror(errno));
    return n;
}

static bool read_packed(text_reader *r)
{
    const ssize_t n = read_some(r, r->packed);
    r->zip.next_in = r->packed;
    r->zip.avail_in = n > 0 ? (uInt)n : 0;
    return n >= 0;
}

/* After a member's end: another one may follow; anything else is ignored, as gzip does. */
static bool next_member(text_reader *r)
{
    if (r->zip.avail_in == 0 && !read_packed(r)) return false;
    if (r->zip.avail_in == 0 || *r->zip.next_in != 0x1f) r->ended = true;
    else inflateReset(&r->zip);
    return true;
}

static bool inflate_some(text_reader *r)
{
    if (r->zip.avail_in == 0 && !read_packed(r)) return false;
    if (r->zip.avail_in == 0) {
        console_fail("%s is a truncated gzip file", r->name);
        return false;
    }
    r->zip.next_out = (unsigned char *)r->data + r->end;
    r->zip.avail_out = READ_SIZE;
    const int code = inflate(&r->zip, Z_NO_FLUSH);
    r->end += READ_SIZE - r->zip.avail_out;
    if (code == Z_STREAM_END) return next_member(r);
    if (code != Z_OK && code != Z_BUF_ERROR) console_fail("%s is a corrupt gzip file", r->name);
    return code == Z_OK || code == Z_BUF_ERROR;
}

/* At the first bytes: switches to gzip when they are its magic number, which no UTF-8 text begins with. */
static bool detect_gzip(text_reader *r)
{
    const unsigned char *data = (unsigned char *)r->data;
    if (r->gzip || r->line > 0 || r->start > 0 || r->end < 2 || data[0] != 0x1f || data[1] != 0x8b) return true;
    size_t capacity = 0;
    memory_grow(&r->packed, &capacity, READ_SIZE * 2, 1);
    if (inflateInit2(&r->zip, 16 + MAX_WBITS) != Z_OK) {
        console_fail("out of memory");
        return false;
    }
    r->gzip = true;
    memcpy(r->packed, r->data, r->end);
    r->zip.next_in = r->packed;
    r->zip.avail_in = (uInt)r->end;
    r->end = r->scanned = 0;
    return true;
}

/* One more read(). */
static bool fill(text_reader *r)
{
    if (r->start > 0) {
        memmove(r->data, r->data + r->start, r->end - r->start);
        r->scanned -= r->start;
        r->end -= r->start;
        r->start = 0;
    }
    memory_grow(&r->data, &r->capacity, r->end + READ_SIZE, 1);
    if (r->gzip) return inflate_some(r);
    const ssize_t n = read_some(r, r->data + r->end);
    if (n < 0) return false;
    if (n == 0) r->ended = true;
    r->end += (size_t)n;
    return detect_gzip(r);
}

/* The end of the first whole line in the buffer, or NULL. */
static char *find_newline(text_reader *r)
{
    char *newline = r->scanned < r->end ? memchr(r->data + r->scanned, '\n', r->end - r->scanned) : NULL;
    r->scanned = newline ? (size_t)(newline - r->data) : r->end;
    return newline;
}

static int check_line(text_reader *r, tfm_text *line)
{
    const size_t offset = tfm_utf8_check(*line);
    if (offset == SIZE_MAX) return 1;
    if (!r->replace_invalid) {
        console_fail("%s:%llu: invalid UTF-8 at byte %zu; repair the file, or give --replace-invalid", r->name,
                     (unsigned long long)r->line, offset + 1);
        return -1;
    }
    size_t size;
    tfm_utf8_repair(NULL, 0, &size, *line);
    memory_grow(&r->repaired, &r->repaired_capacity, size, 1);
    tfm_utf8_repair(r->repaired, size, &size, *line);
    *line = (tfm_text){r->repaired, size};
    return 1;
}

/* A first line without the byte order mark that some editors and spreadsheets begin a file with. */
static tfm_text without_mark(tfm_text line)
{
    const size_t n = line.size >= 3 && memcmp(line.data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    return (tfm_text){line.data + n, line.size - n};
}

int text_reader_next(text_reader *r, tfm_text *line)
{
    char *newline;
    while (!(newline = find_newline(r)) && !r->ended)
        if (!fill(r)) return -1;
    if (!newline && r->start == r->end) return 0;
    const size_t stop = newline ? (size_t)(newline - r->data) : r->end;
    *line = (tfm_text){r->data + r->start, stop - r->start};
    if (line->size > 0 && line->data[line->size - 1] == '\r') line->size--;
    if (r->line == 0) *line = without_mark(*line);
    r->start = r->scanned = newline ? stop + 1 : stop;
    r->line++;
    r->cut = !newline;
    return check_line(r, line);
}

bool text_reader_ready(text_reader *r)
{
    struct pollfd input = {.fd = r->fd, .events = POLLIN};
    while (!find_newline(r) && !r->ended)
        if (poll(&input, 1, 0) <= 0 || !fill(r)) return false;
    return true;
}

void text_reader_free(text_reader *r)
{
    if (r->fd > STDIN_FILENO) close(r->fd);
    if (r->gzip) inflateEnd(&r->zip);
    free(r->data);
    free(r->packed);
    free(r->repaired);
    *r = (text_reader){0};
}

struct text_chunk {
    struct text_chunk *next;
    size_t used, size;
    char data[];
};

void text_lines_add(text_lines *l, tfm_text line)
{
    if (!l->chunks || l->chunks->size - l->chunks->used < line.size) {
        const size_t size = line.size > CHUNK_SIZE ? line.size : CHUNK_SIZE;
        struct text_chunk *chunk = NULL;
        size_t capacity = 0;
        memory_grow(&chunk, &capacity, sizeof *chunk + size, 1);
        *chunk = (struct text_chunk){.next = l->chunks, .size = size};
        l->chunks = chunk;
    }
    char *copy = l->chunks->data + l->chunks->used;
    if (line.size > 0) memcpy(copy, line.data, line.size);
    l->chunks->used += line.size;
    memory_grow(&l->lines, &l->capacity, l->size + 1, sizeof *l->lines);
    l->lines[l->size++] = (tfm_text){copy, line.size};
}

bool text_lines_read(text_lines *l, const char *path, bool replace_invalid)
{
    text_reader r;
    tfm_text line;
    int got = -1;
    if (text_reader_open(&r, path, replace_invalid))
        while ((got = text_reader_next(&r, &line)) > 0) text_lines_add(l, line);
    text_reader_free(&r);
    return got == 0;
}

void text_lines_clear(text_lines *l)
{
    while (l->chunks) {
        struct text_chunk *next = l->chunks->next;
        free(l->chunks);
        l->chunks = next;
    }
    free(l->lines);
    *l = (text_lines){0};
}

bool text_pairs_read(text_lines *a, text_lines *b, const char *a_path, const char *b_path, bool replace_invalid)
{
    const size_t a_old = a->size, b_old = b->size;
    if (!text_lines_read(a, a_path, replace_invalid) || !text_lines_read(b, b_path, replace_invalid)) return false;
    return text_counts_match(a_path, a->size - a_old, b_path, b->size - b_old);
}

bool text_counts_match(const char *a_path, size_t a, const char *b_path, size_t b)
{
    if (a == b) return true;
    console_fail("%s has %zu lines and %s has %zu; line i of one must belong to line i of the other", text_name(a_path),
                 a, text_name(b_path), b);
    return false;
}

/* Whether path is absent or a regular file: what a rename may replace. */
static bool may_replace(const char *path)
{
    struct stat status;
    return stat(path, &status) != 0 || S_ISREG(status.st_mode);
}

static bool has_name(const char *path)
{
    if (!*path) console_fail("an output file has an empty name; give it one");
    return *path;
}

bool output_folder_check(const char *path)
{
    if (!has_name(path)) return false;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? memory_copy(path, (size_t)(slash - path) + 1) : memory_copy(".", 1);
    const bool writable = access(folder, W_OK | X_OK) == 0;
    if (!writable) console_fail("cannot write %s: folder %s: %s", path, folder, strerror(errno));
    free(folder);
    return writable;
}

bool output_path_check(const char *path)
{
    if (may_replace(path)) return output_folder_check(path);
    console_fail("%s is not a regular file and is not replaced; give another name", path);
    return false;
}

/* The file that is written instead of a symbolic link to it, so that the link stays; freed by the caller. NULL: a
 * reported failure. */
static char *follow_link(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode)) return memory_copy(path, strlen(path));
    char *target = realpath(path, NULL);
    if (!target) console_fail("cannot follow the link %s: %s", path, strerror(errno));
    return target;
}

/* Opens a file that was not there, FILE.part or else FILE.part2 and so on, since another may be a file of the user's or
 * of a run that was stopped. It has the permissions of the one that it will replace. NULL: errno. */
static FILE *open_part(text_writer *w)
{
    enum { LONGEST = 240, MOST = 10000 };
    const char *slash = strrchr(w->target, '/'), *name = slash ? slash + 1 : w->target;
    size_t stem = strlen(name), capacity = 0;
    struct stat old;
    const bool replaces = stat(w->target, &old) == 0;
    const mode_t mode = replaces ? old.st_mode & 0777 : 0666;
    int fd = -1;
    if (stem > LONGEST)
        for (stem = LONGEST; stem > 0 && (name[stem] & 0xC0) == 0x80;) stem--; /* in the midst of a character */
    stem += (size_t)(name - w->target);
    memory_grow(&w->part, &capacity, stem + sizeof ".part10000", 1);
    memcpy(w->part, w->target, stem);
    strcpy(w->part + stem, ".part");
    for (int n = 2; n <= MOST; n++) {
        fd = open(w->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) break;
        snprintf(w->part + stem, capacity - stem, ".part%d", n);
    }
    if (fd >= 0 && replaces) fchmod(fd, mode); /* what the umask took */
    return fd >= 0 ? fdopen(fd, "w") : NULL;
}

bool text_writer_open(text_writer *w, const char *path)
{
    *w = (text_writer){.path = path};
    if (!path || strcmp(path, "-") == 0) {
        *w = (text_writer){.file = stdout};
        return true;
    }
    if (!has_name(path)) return false;
    if (may_replace(path)) {
        w->target = follow_link(path);
        if (!w->target) return false;
    }
    w->file = w->target ? open_part(w) : fopen(path, "w");
    const char *name = w->part ? w->part : path;
    if (!w->file) console_fail("cannot write %s: %s", name, strerror(errno));
    return w->file != NULL;
}

void text_writer_text(text_writer *w, tfm_text text)
{
    for (size_t i = 0; i < text.size; i++) putc(text.data[i] == '\n' ? ' ' : text.data[i], w->file);
}

void text_writer_line(text_writer *w, tfm_text text)
{
    text_writer_text(w, text);
    putc('\n', w->file);
}

bool text_writer_flush(text_writer *w)
{
    errno = EIO; /* of an earlier write that failed */
    if (fflush(w->file) == 0 && !ferror(w->file)) return true;
    console_fail("cannot write %s: %s", w->path ? w->path : "standard output", strerror(errno));
    return false;
}

bool text_writer_close(text_writer *w, bool commit)
{
    bool good = commit;
    if (w->file && commit) good = text_writer_flush(w);
    else if (w->file) fflush(w->file);
    const bool empty = !good && w->part && w->file && ftell(w->file) == 0;
    if (w->path && w->file) fclose(w->file);
    if (empty) unlink(w->part);
    if (good && w->part && rename(w->part, w->target) != 0) {
        console_fail("cannot rename %s to %s: %s", w->part, w->target, strerror(errno));
        good = false;
    }
    free(w->part);
    free(w->target);
    *w = (text_writer){0};
    return good;
}

/* Whether a regular file begins with the first n bytes of the header, behind a byte order mark or not. */
static bool begins_as(FILE *file, const char *header, size_t n)
{
    char line[64];
    const size_t size = fread(line, 1, sizeof line, file);
    const tfm_text text = without_mark((tfm_text){line, size});
    return text.size >= n && memcmp(text.data, header, n) == 0;
}

/* Whether the last line has no end, as that of a program that was killed. */
static bool is_cut(FILE *file)
{
    return fseek(file, -1, SEEK_END) == 0 && getc(file) != '\n';
}

FILE *csv_open(const char *path, bool append, const char *header)
{
    const size_t first = strcspn(header, ","), n = first + 1 + strcspn(header + first + 1, ",");
    struct stat status;
    FILE *file = fopen(path, "a+");
    if (!file) {
        console_fail("cannot write %s: %s", path, strerror(errno));
        return NULL;
    }
    const bool regular = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
    if (regular && status.st_size > 0 && !begins_as(file, header, n)) {
        console_fail("%s holds something else than rows of '%.*s,...' and is not replaced; give another name", path,
                     (int)n, header);
        fclose(file);
        return NULL;
    }
    const bool whole = !append || !regular || !is_cut(file);
    fseek(file, 0, SEEK_END); /* between reading and writing */
    if (!append && regular && ftruncate(fileno(file), 0) != 0)
        console_warn("cannot empty %s: %s", path, strerror(errno));
    if (!whole) putc('\n', file);
    if (!append || !regular || status.st_size == 0) fputs(header, file);
    return file;
}
