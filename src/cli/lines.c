#include "cli/lines.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/text.h"
#include "op/wrap.h"

void hc_append(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text + used, bytes - used, format, arguments);
    va_end(arguments);
}

struct hc_counted hc_noun(long long count, const char *noun)
{
    struct hc_counted counted;
    size_t length = strlen(noun);
    char last = length > 0 ? noun[length - 1] : '\0';
    char before = length > 1 ? noun[length - 2] : '\0';
    bool turns = last == 'y' && !strchr("aeiou", before); /* family, not way */
    char third = length > 2 ? noun[length - 3] : '\0';
    bool hisses = strchr("sxz", last) || (last == 'h' && before == 's') ||
                  (last == 'h' && before == 'c' && strchr("nt", third)); /* batch, not epoch */
    if (count == 1 || length == 0)
        (void)snprintf(counted.text, sizeof counted.text, "%s", noun);
    else
        (void)snprintf(counted.text, sizeof counted.text, "%.*s%s", (int)(length - turns), noun,
                       turns    ? "ies"
                       : hisses ? "es"
                                : "s");
    return counted;
}

struct hc_counted hc_count(long long count, const char *noun)
{
    struct hc_counted counted;
    (void)hc_text_write(counted.text, sizeof counted.text, "%lld %s", count,
                        hc_noun(count, noun).text);
    return counted;
}

void hc_lines_add(struct hc_lines *lines, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(lines->text + lines->used, HC_LINES_TEXT - lines->used, format, arguments);
    va_end(arguments);
    lines->used += strlen(lines->text + lines->used);
}

void hc_print_folded(FILE *out, int column, int indent, const char *text)
{
    char line[HC_LINES_TEXT];
    hc_text_plain(line, sizeof line, text);
    if (hc_terminal_columns(out, 0))
        hc_print_wrapped(out, column, indent, line);
    else
        hc_print(out, "%s\n", line);
}
