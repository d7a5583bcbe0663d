#include <stdio.h>
#include <stdlib.h>

#include "cli/scaler/trace.h"

const struct hc_command hc_command_gen;

static int print(struct hc_scaler_plan plan)
{
    char line[HC_PLAN_LINE];
    char sent_line[HC_STEP_LINE];
    if (plan.steps == 0)
        plan.steps = hc_scaler_trace(&plan, NULL).length;
    unsigned char *sent = malloc((size_t)plan.steps);
    if (!sent)
        return hc_complain("gen: no memory for %d steps", plan.steps);
    int length = hc_scaler_trace(&plan, sent).length;
    hc_scaler_plan_line(&plan, line);
    puts(line);
    for (int i = 0; i < length; i++) {
        hc_scaler_step_line(sent_line, i + 1, length, (enum hc_gradients)sent[i]);
        puts(sent_line);
    }
    free(sent);
    return HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
{
    struct hc_scaler_plan plan = {0};
    const struct hc_option options[] = {
        {.name = "seed", .value = "N", .seed = &plan.seed, .help = "which trace (default 0)"},
        {.name = "steps",
         .value = "N",
         .count = &plan.steps,
         .least = 1,
         .most = HC_PLAN_STEPS,
         .help = "how many (default as many as it takes)"},
        {.name = "interval",
         .value = "N",
         .count = &plan.interval,
         .least = 0,
         .most = HC_PLAN_INTERVAL,
         .help = "clean steps before growth (0, the default: the rule's)"},
        {.name = "initial",
         .value = "X",
         .real = &plan.initial,
         .least = 0x1p-1074,
         .most = 0x1p1023,
         .help = "the first scale, a power of two (default the rule's)"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_gen, options, argc, argv, &words, &status))
        return status;
    if (words > 1)
        return hc_complain("gen: one subject, not also '%s'", argv[2]);
    status = hc_scaler_plan_for("gen", words ? argv[1] : NULL, &plan);
    return status == HC_AS_CLAIMED ? print(plan) : status;
}

const struct hc_command hc_command_gen = {
    .name = "gen",
    .usage = "scaler/RULE [options]",
    .summary = "print inputs for an implementation of your own (see verify)",
    .text =
        "A trace for a loss scaler. The first line begins with # and says which trace it is;\n"
        "it is to be printed as it came. Then one step a line:\n\n"
        "  STEP STEPS FOUND\n\n"
        "STEP counts from 1 to STEPS. FOUND is what that step's gradients hold: 0 where they\n"
        "are finite, else inf, -inf or nan. The program under test hands it to its detector,\n"
        "updates its scale and prints the same line with the scale after the step behind it:\n\n"
        "  halfcheck gen scaler/torch --seed 7 | ./my-scaler | halfcheck verify scaler/torch\n\n"
        "The first overflows stand one step before, at and one step after growth; the scale\n"
        "climbs to 2^26 or its cap, falls to 1 and on, and moves at random. Then it climbs\n"
        "to the rule's cap or to the last finite power of two (2^127 in torch's fp32, 2^1023\n"
        "in Python's floats). At the end torch's falls to 0, apex-amp's to 0 and to the error\n"
        "of a division by it, and those of apex-fp16utils, deepspeed-fused and\n"
        "deepspeed-unfused rise to infinity; fastai2's falls to 0, those of DeepSpeed's other\n"
        "rules to their error with an even seed, and all four to infinity with an odd one.\n"
        "With the rules' intervals that takes 25,000 steps (fastai) to a million; --interval 20\n"
        "shows the same in fewer, where the program's interval is 20, too. Fewer --steps\n"
        "leave the end out, and verify says so.",
    .run = run,
};
