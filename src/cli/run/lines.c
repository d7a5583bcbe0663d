#include "cli/run/lines.h"

#include <stdarg.h>

#include "op/text.h"

void hc_lines_add(struct hc_lines *lines, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        hc_text_format(lines->text + lines->used, HC_LINES_TEXT - lines->used, format, arguments);
    va_end(arguments);
    lines->used += length > 0 ? (size_t)length : 0;
    if (lines->used >= HC_LINES_TEXT)
        lines->used = HC_LINES_TEXT - 1;
}
