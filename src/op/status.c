#include "op/status.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "op/text.h"

static _Thread_local char line[512];

enum hc_status hc_fail(enum hc_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *c = line; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    return status;
}

const char *hc_message(void)
{
    return line;
}
