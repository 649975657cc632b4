/* Writes the parts of a page of help to standard output. */
#include "page.h"

#include <transformer.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 92, MEANING_COLUMN = 30 };

/* A character of text as roff reads it: those of the list have a meaning, or another look, of their own. */
static void put_roff(char c)
{
    static const char special[] = "\\-'`^~", *const escapes[] = {"(rs", "-", "(aq", "(ga", "(ha", "(ti"};
    const char *found = strchr(special, c);
    if (found) printf("\\%s", escapes[found - special]);
    else putchar(c);
}

/* Text with each '\n' replaced by `newline`; "\&" keeps a line that begins with '.' or a quote from being a request. */
static void print_roff(const char *text, const char *newline)
{
    fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\n') printf("%s%s", newline, text[1] ? "\\&" : "");
        else put_roff(*text);
    }
}

static void move_to(size_t *column, size_t indent)
{
    if (*column > indent) {
        putchar('\n');
        *column = 0;
    }
    for (; *column < indent; ++*column) putchar(' ');
}

/* Fills text into lines that begin at `indent`; column: where the cursor is. '\n' begins a new line. */
static void print_filled(const char *text, size_t column, size_t indent)
{
    move_to(&column, indent);
    while (*text) {
        const size_t word = strcspn(text, " \n");
        if (column > indent && column + 1 + word > COLUMNS) move_to(&column, indent);
        if (column > indent) column += (size_t)printf(" ");
        column += (size_t)printf("%.*s", (int)word, text);
        text += word;
        if (*text == '\n' && text[1]) move_to(&column, indent);
        if (*text) text++;
    }
    putchar('\n');
}

/* "tfm bench train" as the name of a page, "tfm\-bench\-train". */
static void print_page_name(const char *name, int (*change)(int))
{
    for (; *name; name++) put_roff(*name == ' ' ? '-' : (char)change((unsigned char)*name));
}

static int same(int c)
{
    return c;
}

static void print_man_title(const char *name, const char *summary, const char *usage)
{
    fputs(".TH ", stdout);
    print_page_name(name, toupper);
    printf(" 1 \"\" \"libtransformer %s\" \"User Commands\"\n.SH NAME\n", tfm_version());
    print_page_name(name, same);
    fputs(" \\- ", stdout);
    print_roff(summary, " ");
    printf("\n.SH SYNOPSIS\n.B %s\n", name);
    print_roff(usage, "\n.br\n");
    puts("\n.SH DESCRIPTION");
}

void page_title(page_form form, const char *name, const char *summary, const char *usage)
{
    if (form == PAGE_MAN) print_man_title(name, summary, usage);
    else printf("%s - %s\n\nUsage: %s %s\n\n", name, summary, name, usage);
}

void page_section(page_form form, const char *man_title, const char *plain_title)
{
    if (form == PAGE_MAN) printf(".SH %s\n", man_title);
    else if (plain_title) printf("\n%s\n", plain_title);
}

void page_heading(page_form form, const char *title)
{
    if (form == PAGE_PLAIN) {
        printf("\n%s\n", title);
        return;
    }
    fputs(".SS ", stdout);
    print_roff(title, " ");
    putchar('\n');
}

void page_text(page_form form, const char *text)
{
    if (form == PAGE_PLAIN) {
        print_filled(text, 0, 0);
        return;
    }
    puts(".PP");
    print_roff(text, "\n.PP\n");
    putchar('\n');
}

void page_entry(page_form form, const char *term, const char *meaning)
{
    if (form == PAGE_MAN) {
        fputs(".TP\n\\fB", stdout);
        print_roff(term, " ");
        puts("\\fR");
        print_roff(meaning, "\n.br\n");
        putchar('\n');
        return;
    }
    size_t column = (size_t)printf("  %s", term);
    if (column + 2 > MEANING_COLUMN) {
        putchar('\n');
        column = 0;
    }
    print_filled(meaning, column, MEANING_COLUMN);
}

void page_lines(page_form form, const char *lines)
{
    if (form == PAGE_PLAIN) {
        fputs(lines, stdout);
        return;
    }
    puts(".PP\n.nf");
    print_roff(lines, "\n");
    puts(".fi");
}
