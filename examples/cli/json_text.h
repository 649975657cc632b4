/* Text as JSON. Names of jansson are not for the program: the library would call them. */
#ifndef CLI_JSON_TEXT_H
#define CLI_JSON_TEXT_H

#include <transformer.h>

#include <stdio.h>

/* A string in quotes. Bytes that are not UTF-8 become U+FFFD. What HTML gives a meaning to is escaped, so that the text
 * may stand inside of a page. */
void put_json_text(FILE *file, tfm_text text);
void put_json(FILE *file, const char *text);

#endif
