/* The first line of a program behind a pipe. */
#include "kernels/pipe/greeting.h"

#include "fuzz.h"

static void fuzz_greeting(const uint8_t *data, size_t size)
{
    static struct hc_greeting greeting;
    (void)hc_greeting_read(&greeting, "fuzz", (const char *)data, size);
}

const struct hc_fuzz_target hc_fuzz_greeting = {"greeting", fuzz_greeting};
