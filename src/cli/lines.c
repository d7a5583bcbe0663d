#include "cli/lines.h"

#include <stdarg.h>
#include <string.h>

#include "op/text.h"

void hc_append(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text + used, bytes - used, format, arguments);
    va_end(arguments);
}

void hc_lines_add(struct hc_lines *lines, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(lines->text + lines->used, HC_LINES_TEXT - lines->used, format, arguments);
    va_end(arguments);
    lines->used += strlen(lines->text + lines->used);
}
