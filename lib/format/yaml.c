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
