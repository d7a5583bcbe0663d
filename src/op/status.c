#include "op/status.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char line[512];

enum hc_status hc_fail(enum hc_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return status;
}

const char *hc_message(void)
{
    return line;
}
