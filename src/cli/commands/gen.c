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
        {.name = "seed",
         .value = "N",
         .seed = &plan.seed,
         .help = "seed of the random part of the trace (default 0)"},
        {.name = "steps",
         .value = "N",
         .count = &plan.steps,
         .least = 1,
         .most = HC_PLAN_STEPS,
         .help = "length of the trace (default: as long as it takes)"},
        {.name = "interval",
         .value = "N",
         .count = &plan.interval,
         .least = 0,
         .most = HC_PLAN_INTERVAL,
         .help = "clean steps before growth (default 0: the rule's own number)"},
        {.name = "initial",
         .value = "X",
         .real = &plan.initial,
         .least = 0x1p-1074,
         .most = 0x1p1023,
         .help = "the first scale, a power of two (default: the rule's own)"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_gen, options, argc, argv, &words, &status))
        return status;
    if (words > 1)
        return hc_complain("gen takes one rule, not also '%s'", argv[2]);
    status = hc_scaler_plan_for("gen", words ? argv[1] : NULL, &plan);
    return status == HC_AS_CLAIMED ? print(plan) : status;
}

const struct hc_command hc_command_gen = {
    .name = "gen",
    .usage = "scaler/RULE [options]",
    .summary = "print test inputs for a loss scaler of your own (see verify)",
    .text =
        "Prints a trace. Its first line begins with # and says which trace it is; echo it\n"
        "unchanged. Then comes one step a line:\n\n"
        "  STEP STEPS FOUND\n\n"
        "STEP counts from 1 to STEPS. FOUND says what the gradients of that step hold: 0 if\n"
        "all are finite, else inf, -inf or nan. The program under test gives that to its\n"
        "detector, updates its scale, and prints the same line with the new scale behind it:\n\n"
        "  halfcheck gen scaler/torch --seed 7 | ./my-scaler | halfcheck verify scaler/torch\n\n"
        "A trace covers overflows one step before, at and one step after growth; a climb to\n"
        "2^26 or the cap; a fall to 1 and below; moves at random; a climb to the cap or to\n"
        "the last finite power of two (2^127 for torch's fp32, 2^1023 for Python's floats);\n"
        "and the state that the rule ends in:\n\n"
        "  torch            falls to 0\n"
        "  apex-amp         falls to 0, and then to the error of a division by it\n"
        "  apex-fp16utils, deepspeed-fused, deepspeed-unfused\n"
        "                   rise to infinity\n"
        "  fastai2, other DeepSpeed rules\n"
        "                   fall with an even seed, to 0 and to their error; rise to\n"
        "                   infinity with an odd seed\n\n"
        "With the rules' own intervals this takes 25,000 steps (fastai) to a million.\n"
        "--interval 20 shows the same in fewer, if the program's interval is 20, too. Fewer\n"
        "--steps cut off the end, and verify says so.",
    .run = run,
};
