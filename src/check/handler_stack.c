#define _XOPEN_SOURCE 700 /* sigaltstack */
#include "check/handler_stack.h"

#include <signal.h>
#include <stdlib.h>

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
