/* libFuzzer's entry: the environment's HC_FUZZ_TARGET, or the program's name behind "fuzz-", says
   which target runs. */
#include <stdio.h>
#include <stdlib.h>

#include "check/record/json.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct hc_fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *wish = getenv("HC_FUZZ_TARGET");
    (void)argc;
    (void)argv;
    target = wish ? hc_fuzz_by_name(wish) : NULL;
    hc_json_watch(malloc);
    if (target)
        return 0;
    (void)fprintf(stderr, "HC_FUZZ_TARGET is one of:");
    for (int i = 0; hc_fuzz_at(i); i++)
        (void)fprintf(stderr, " %s", hc_fuzz_at(i)->name);
    (void)fprintf(stderr, "\n");
    exit(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target->run(data, size);
    return 0;
}
