/* Whether a page is well-formed, for tests: tags nest, attributes are quoted, entities are
   known. */
#ifndef HC_CLI_REPORT_WELLFORMED_H
#define HC_CLI_REPORT_WELLFORMED_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { HC_MAX_OPEN_TAGS = 64, HC_MAX_TAG_NAME = 32 };

struct hc_open_tags {
    char name[HC_MAX_OPEN_TAGS][HC_MAX_TAG_NAME];
    int count;
};

/* An ampersand must begin one of XML's own entities or a number. */
static inline bool is_entity(const char *at)
{
    static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(at, names[i], strlen(names[i])) == 0)
            return true;
    size_t digits = at[1] == '#' ? strspn(at + 2, "0123456789") : 0;
    return digits > 0 && at[2 + digits] == ';';
}

/* The end of a tag's attributes, its '>' or '/'; NULL if one is malformed. */
static inline const char *after_attributes(const char *at)
{
    for (at += strspn(at, " \t\n"); *at && *at != '>' && *at != '/'; at += strspn(at, " \t\n")) {
        at += strcspn(at, "= \t\n<>\"'");
        at += strspn(at, " \t\n");
        if (*at++ != '=')
            return NULL;
        at += strspn(at, " \t\n");
        if (*at != '"' && *at != '\'')
            return NULL;
        char quote = *at++;
        for (; *at && *at != quote; at++)
            if (*at == '<' || (*at == '&' && !is_entity(at)))
                return NULL;
        if (*at++ != quote)
            return NULL;
    }
    return *at ? at : NULL;
}

/* The end of a tag, which is pushed on the stack or popped from it; NULL if it is malformed. */
static inline const char *after_tag(const char *at, struct hc_open_tags *open)
{
    bool ends = at[1] == '/';
    const char *name = at + 1 + ends;
    size_t length = 0;
    while (isalnum((unsigned char)name[length]) || name[length] == ':' || name[length] == '-')
        length++;
    if (length == 0 || length >= HC_MAX_TAG_NAME)
        return NULL;
    if (ends) {
        if (open->count == 0 || strlen(open->name[open->count - 1]) != length ||
            strncmp(open->name[--open->count], name, length) != 0 || name[length] != '>')
            return NULL;
        return name + length + 1;
    }
    at = after_attributes(name + length);
    if (!at || (*at == '/' && at[1] != '>'))
        return NULL;
    if (*at == '/')
        return at + 2;
    if (open->count == HC_MAX_OPEN_TAGS)
        return NULL;
    (void)snprintf(open->name[open->count++], HC_MAX_TAG_NAME, "%.*s", (int)length, name);
    return at + 1;
}

/* The place of the first mistake, or NULL. */
static inline const char *hc_malformed(const char *text)
{
    struct hc_open_tags open = {.count = 0};
    while (*text) {
        const char *at = text;
        if (strncmp(at, "<!--", 4) == 0)
            text = strstr(at, "-->") ? strstr(at, "-->") + 3 : NULL;
        else if ((strncmp(at, "<!", 2) == 0 || strncmp(at, "<?", 2) == 0) && open.count == 0)
            text = strchr(at, '>') ? strchr(at, '>') + 1 : NULL;
        else if (*at == '<')
            text = after_tag(at, &open);
        else
            text = (*at == '&' && !is_entity(at)) || ((unsigned char)*at < ' ' && !isspace(*at))
                       ? NULL
                       : at + 1;
        if (!text)
            return at;
    }
    return open.count == 0 ? NULL : text;
}

#endif
