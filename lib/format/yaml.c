/* Looks for keys in the lines of a YAML document. */
#include "format/yaml.h"

static tfm_text trimmed(const char *from, const char *end)
{
    while (from < end && *from == ' ') from++;
    while (from < end && strchr(" \r", end[-1]) && end[-1]) end--;
    if (end - from >= 2 && (*from == '"' || *from == '\'') && end[-1] == *from) from++, end--;
    return (tfm_text){from, (size_t)(end - from)};
}

tfm_text tfm_yaml_value(tfm_text document, const char *key)
{
    const size_t size = strlen(key);

    while (document.size) {
        const char *end = memchr(document.data, '\n', document.size);
        const size_t line = end ? (size_t)(end - document.data) : document.size;
        if (line > size && !memcmp(document.data, key, size) && document.data[size] == ':')
            return trimmed(document.data + size + 1, document.data + line);
        document.data += line + (end != NULL);
        document.size -= line + (end != NULL);
    }
    return (tfm_text){NULL, 0};
}

/* Of "[a, b]", behind its first bracket. */
static tfm_text item_in_brackets(tfm_text list, size_t index)
{
    for (const char *at = list.data, *end = at + list.size; at < end; at++) {
        const char *from = at;
        while (at < end && *at != ',' && *at != ']') at++;
        if (!index--) return trimmed(from, at);
        if (at == end || *at == ']') break;
    }
    return (tfm_text){NULL, 0};
}

/* Of lines that begin with "- ". */
static tfm_text item_in_lines(const char *at, const char *document_end, size_t index)
{
    while (at < document_end) {
        const char *newline = memchr(at, '\n', (size_t)(document_end - at)), *end = newline ? newline : document_end;
        const tfm_text line = trimmed(at, end);
        if (line.size < 2 || line.data[0] != '-' || line.data[1] != ' ') break;
        if (!index--) return trimmed(line.data + 2, line.data + line.size);
        at = end + 1;
    }
    return (tfm_text){NULL, 0};
}

tfm_text tfm_yaml_item(tfm_text document, const char *key, size_t index)
{
    const tfm_text value = tfm_yaml_value(document, key);

    if (!value.data) return value;
    if (value.size && *value.data == '[') return item_in_brackets((tfm_text){value.data + 1, value.size - 1}, index);
    const char *end = document.data + document.size, *newline = memchr(value.data, '\n', (size_t)(end - value.data));
    return newline ? item_in_lines(newline + 1, end, index) : (tfm_text){NULL, 0};
}
