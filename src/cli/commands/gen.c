#include <string.h>

#include "cli/cast/plan.h"
#include "cli/scale/plan.h"
#include "cli/scaler/plan.h"
#include "cli/subject.h"

const struct hc_command hc_command_gen;

/* Whether the subject takes every option that was given. */
static bool takes(const struct hc_subject *subject, const struct hc_gen *gen)
{
    const struct {
        const char *name;
        bool given;
    } options[] = {{"seed", gen->seed != 0},         {"steps", gen->steps != 0},
                   {"interval", gen->interval != 0}, {"initial", gen->initial != 0},
                   {"kind", gen->kind >= 0},         {"from", gen->from >= 0},
                   {"round", gen->direction >= 0},   {"saturate", gen->saturate},
                   {"codes", gen->codes >= 0},       {"window", gen->window != 0},
                   {"margin", gen->margin != 0},     {"most-recent", gen->most_recent}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (!hc_subject_takes(subject, "gen", options[i].name, options[i].given))
            return false;
    return true;
}

/* The options of scaler/RULE. --seed is scale/RULE's, too. */
static int add_scaler_options(struct hc_gen *gen, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "seed",
         .value = "N",
         .seed = &gen->seed,
         .help = "scale/, scaler/: seed of the random part of the trace (default 0)"},
        {.name = "steps",
         .value = "N",
         .count = &gen->steps,
         .least = 1,
         .most = HC_PLAN_STEPS,
         .help = "scaler/: length of the trace (default: as long as it takes)"},
        {.name = "interval",
         .value = "N",
         .count = &gen->interval,
         .least = 0,
         .most = HC_PLAN_INTERVAL,
         .help = "scaler/: clean steps before growth (default 0: the rule's own number)"},
        {.name = "initial",
         .value = "X",
         .real = &gen->initial,
         .least = 0x1p-1074,
         .most = 0x1p1023,
         .help = "scaler/: the first scale, a power of two (default: the rule's own)"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* The options of cast/FORMAT. --from is scale/RULE's, too. */
static int add_cast_options(struct hc_gen *gen, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "kind",
         .value = "K",
         .choice = &gen->kind,
         .choices = hc_cast_kinds,
         .help = "cast/: which inputs, all, ties, specials or every (default all)"},
        {.name = "from",
         .value = "FORMAT",
         .choice = &gen->from,
         .choices = hc_cast_sources,
         .help = "cast/, scale/: the format of the inputs, fp32, fp16 or bf16 (default fp32)"},
        {.name = "round",
         .value = "DIRECTION",
         .choice = &gen->direction,
         .choices = hc_cast_directions,
         .help = "cast/: nearest, toward-zero, upward or downward (default nearest)"},
        {.name = "saturate",
         .flag = &gen->saturate,
         .help = "cast/: overflow and infinity become the largest number"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* The options that scale/RULE alone has. */
static int add_scale_options(struct hc_gen *gen, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "codes",
         .value = "F",
         .choice = &gen->codes,
         .choices = hc_scale_code_names,
         .help = "scale/: format of the codes (default e4m3, nvfp4's e2m1)"},
        {.name = "window",
         .value = "N",
         .count = &gen->window,
         .least = 1,
         .most = HC_SCALE_WINDOW,
         .help = "scale/: amaxes in the history (default 4)"},
        {.name = "margin",
         .value = "N",
         .count = &gen->margin,
         .least = 0,
         .most = HC_SCALE_MARGIN,
         .help = "scale/: powers of two below the largest code (default 0)"},
        {.name = "most-recent",
         .flag = &gen->most_recent,
         .help = "scale/: the last amax alone, not the largest of the history"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

static int run_gen(int argc, char **argv)
{
    struct hc_gen gen = {.kind = -1, .from = -1, .direction = -1, .codes = -1};
    struct hc_option options[HC_MAX_OPTIONS + 1] = {0};
    int n = add_scaler_options(&gen, options);
    n += add_cast_options(&gen, options + n);
    (void)add_scale_options(&gen, options + n);
    int words;
    int status;
    if (!hc_read_options(&hc_command_gen, options, argc, argv, &words, &status))
        return status;
    if (words > 1)
        return hc_complain("gen takes one name, not also '%s'", argv[2]);
    const struct hc_subject *subject = hc_subject_of("gen", words ? argv[1] : NULL);
    return subject && takes(subject, &gen) ? subject->gen(argv[1], &gen) : HC_WRONG;
}

const struct hc_command hc_command_gen = {
    .name = "gen",
    .usage = "scaler/RULE|scale/RULE|cast/FORMAT [options]",
    .summary = "print test inputs for an implementation of your own (see verify)",
    .text =
        "The first line begins with # and says what is printed; echo it unchanged. The program\n"
        "under test answers the other lines, and verify judges the answers.\n\n"
        "cast/FORMAT: a conversion to a format of one byte. A line is the bits of an input in\n"
        "hexadecimal digits. The program prints it again with the code behind it:\n\n"
        "  halfcheck gen cast/e4m3 --saturate | ./my-cast | halfcheck verify cast/e4m3\n\n"
        "halfcheck help vectors says which inputs these are. With --round toward-zero, and for\n"
        "a negative number upward or a positive one downward, a finite number beyond the\n"
        "largest becomes the largest, as in IEEE 754; an infinity becomes what it becomes by\n"
        "rounding to nearest.\n\n"
        "scale/RULE: a rule for the scales of tensors below half (halfcheck list scales). All\n"
        "numbers are bits of fp32, in hexadecimal digits; with --from bf16 they are those that\n"
        "bf16 has, too. A line is one of\n\n"
        "  INDEX AMAX                   rules of one fp32 scale, and steps of a history\n"
        "  INDEX ELEMENT...             a block of 32, of rules whose scales are e8m0\n"
        "  INDEX TENSOR ELEMENT...      the tensor's amax and a block of 16, of nvfp4\n\n"
        "The program prints the line again with the scale behind it, and for a block also the\n"
        "codes:\n\n"
        "  halfcheck gen scale/mx-rp --codes e2m1 | ./mine | halfcheck verify scale/mx-rp\n\n"
        "scaler/RULE: a loss scaler. One step a line:\n\n"
        "  STEP STEPS FOUND\n\n"
        "STEP counts from 1 to STEPS. FOUND says what the gradients of that step hold: 0 if\n"
        "all are finite, else inf, -inf or nan. The program under test gives that to its\n"
        "detector, updates its scale, and prints the same line with the new scale behind it:\n\n"
        "  halfcheck gen scaler/torch | ./my-scaler | halfcheck verify scaler/torch\n\n"
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
    .run = run_gen,
};
