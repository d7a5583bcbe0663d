#define _XOPEN_SOURCE 700 /* sigaltstack, setrlimit */
#include "check/last_word.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { BYTES = 1 << 16 };

void *hc_handler_stack_begin(void)
{
    stack_t stack;
    if (sigaltstack(NULL, &stack) != 0 || !(stack.ss_flags & SS_DISABLE))
        return NULL;
    stack = (stack_t){.ss_sp = malloc(BYTES), .ss_size = BYTES};
    if (stack.ss_sp && sigaltstack(&stack, NULL) == 0)
        return stack.ss_sp;
    free(stack.ss_sp);
    return NULL;
}

void hc_handler_stack_end(void *stack)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    if (stack && sigaltstack(&none, NULL) == 0)
        free(stack);
}

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
