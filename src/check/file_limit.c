#define _XOPEN_SOURCE 700 /* setrlimit */
#include "check/file_limit.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

static struct rlimit limit;
static bool known;

void hc_file_limit_begin(void)
{
    known = getrlimit(RLIMIT_FSIZE, &limit) == 0;
}

int hc_file_limit_reset(char *text, size_t size)
{
    struct rlimit now;
    if (!known || getrlimit(RLIMIT_FSIZE, &now) != 0 || now.rlim_cur >= limit.rlim_cur)
        return 0;
    struct rlimit back = {limit.rlim_cur, now.rlim_max};
    if (back.rlim_cur > back.rlim_max)
        back.rlim_cur = back.rlim_max;
    (void)setrlimit(RLIMIT_FSIZE, &back);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)snprintf(text, size, "limits files to %llu bytes", (unsigned long long)now.rlim_cur);
    return 1;
}
