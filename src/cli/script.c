#include "cli/script.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *hc_script(const char *name)
{
    static char path[4096 + 128];
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(program, '/');
    (void)snprintf(path, sizeof path, "%.*s/reports/%s", slash ? (int)(slash - program) : 0,
                   program, name);
    if (access(path, R_OK) != 0 && *HC_REPORTS == '/')
        (void)snprintf(path, sizeof path, "%s/%s", HC_REPORTS, name);
    return path;
}
