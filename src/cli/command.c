#include "cli/command.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "hc_command_list.h"
#include "op/status.h"

static const struct hc_command *const all[] = {HC_LIST};

const struct hc_command *const *hc_commands(int *n)
{
    *n = (int)(sizeof all / sizeof all[0]) - 1;
    return all;
}

int hc_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fflush(stdout);
    (void)fputs("halfcheck: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    return HC_WRONG;
}

int hc_complain_message(void)
{
    return hc_complain("%s", hc_message());
}
