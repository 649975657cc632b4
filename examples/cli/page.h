/* How a page of help is written: plain for a terminal, or roff for man. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

typedef enum page_form { PAGE_PLAIN, PAGE_MAN } page_form;

/* Name and one-line summary, then the usage line. name: "tfm", "tfm bench train". */
void page_title(page_form form, const char *name, const char *summary, const char *usage);

/* A section. Those of man pages have names that readers look for; a plain page may do without (NULL). */
void page_section(page_form form, const char *man_title, const char *plain_title);

/* The title of a group of entries. */
void page_heading(page_form form, const char *title);

/* '\n' begins a new paragraph. */
void page_text(page_form form, const char *text);

/* A term and what it means: an option, a command. */
void page_entry(page_form form, const char *term, const char *meaning);

/* Lines that keep their breaks, each ended by '\n'. */
void page_lines(page_form form, const char *lines);

#endif
