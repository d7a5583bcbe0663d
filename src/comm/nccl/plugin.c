/* The entry of the plug-in halfcheck-nccl.so. */
#include <stdarg.h>
#include <stdio.h>

#include "comm/nccl/inner.h"

static hc_comm_fail *program_fail;

/* The plug-in's own hc_fail, in place of op/status.c's. It passes the line to the program. */
enum hc_status hc_fail(enum hc_status status, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return program_fail(status, "%s", line);
}

hc_device_comm_entry hc_device_comm_plugin;
const struct hc_device_comm_kind *hc_device_comm_plugin(hc_comm_fail *fail)
{
    program_fail = fail;
    return &hc_nccl;
}
