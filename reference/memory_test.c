/* Without memory MPFR ends the program by the handler that was given, and not by a signal. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "reference.h"

static int until_failure;

static void *scarce(void *memory, size_t bytes)
{
    return until_failure-- == 0 ? NULL : realloc(memory, bytes);
}

static void end(void)
{
    _exit(42);
}

Test(memory, a_number_without_memory_calls_the_handler, .exit_code = 42)
{
    hc_reference_watch(scarce, end);
    until_failure = 3;
    for (int i = 0; i < 10; i++)
        hc_real_free(hc_real_new_bits(1, 1000));
    _exit(1);
}

Test(memory, numbers_with_memory_are_as_they_were, .exit_code = 43)
{
    hc_reference_watch(scarce, end);
    until_failure = -1;
    struct hc_real *x = hc_real_new_bits(1, 100000);
    hc_real_free(x);
    _exit(43);
}
