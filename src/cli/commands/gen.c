#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/scaler_trace.h"

const struct hc_command hc_command_gen;

static int print(const struct hc_scaler_choice *choice, uint64_t seed, int steps)
{
    unsigned char *found = malloc((size_t)steps);
    if (!found)
        return hc_complain("gen: no memory for %d steps", steps);
    int length = hc_scaler_trace(choice, seed, found, steps);
    for (int i = 0; i < length; i++)
        printf("%d %d %d\n", i + 1, length, found[i]);
    free(found);
    return HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
{
    enum { INTERVALS = 25, INTERVAL = 4 * 1000 * 1000, MOST = INTERVALS * INTERVAL };
    uint64_t seed = 0;
    int steps = 0;
    int interval = 0;
    double initial = 0;
    const struct hc_option options[] = {
        {.name = "seed", .value = "N", .seed = &seed, .help = "which trace (default 0)"},
        {.name = "steps",
         .value = "N",
         .count = &steps,
         .least = 1,
         .most = MOST,
         .help = "how many (default 25 times the growth interval)"},
        {.name = "interval",
         .value = "N",
         .count = &interval,
         .least = 1,
         .most = INTERVAL,
         .help = "clean steps before growth (default the rule's)"},
        {.name = "initial",
         .value = "X",
         .real = &initial,
         .least = 0x1p-1074,
         .most = 0x1p1023,
         .help = "the first scale, a power of two (default the rule's)"},
        {0},
    };
    struct hc_scaler_choice choice;
    int words;
    int status;
    if (!hc_read_options(&hc_command_gen, options, argc, argv, &words, &status))
        return status;
    if (words > 1)
        return hc_complain("gen: one subject, not also '%s'", argv[2]);
    status = hc_scaler_choose("gen", words ? argv[1] : NULL, initial, interval, &choice);
    if (status != HC_AS_CLAIMED)
        return status;
    int64_t usual = hc_scaler_promise(&choice).interval;
    return print(&choice, seed, steps ? steps : usual ? (int)usual * INTERVALS : 1000);
}

const struct hc_command hc_command_gen = {
    .name = "gen",
    .usage = "scaler/RULE [options]",
    .summary = "print inputs for an implementation of your own (see verify)",
    .text =
        "A trace for a loss scaler, one step a line:\n\n"
        "  STEP STEPS FOUND\n\n"
        "STEP counts from 1 to STEPS; FOUND is 1 where the gradients of that step hold an\n"
        "infinity or a NaN, else 0. The program under test updates its scale and prints the\n"
        "same line with the scale after the step behind it (as halfcheck verify reads it):\n\n"
        "  halfcheck gen scaler/torch --seed 7 | ./my-scaler | halfcheck verify scaler/torch\n\n"
        "The first overflows stand one step before, at and one step after growth; then the\n"
        "scale climbs to 2^24 and on, falls to 1 and on, and moves at random. At the end\n"
        "torch's falls to 0, which 166 halvings in fp32 do; deepspeed's trace ends with the\n"
        "step at which the rule gives up. Too few steps leave the end out.",
    .run = run,
};
