#include "cli/cast/plan.h"
#include "cli/subject.h"

const struct hc_command hc_command_verify;

static int run_verify(int argc, char **argv)
{
    struct hc_verify verify = {.from = -1, .direction = -1};
    const struct hc_option options[] = {
        {.name = "strict",
         .flag = &verify.strict,
         .help = "cast/, scaler/: count MISTRUSTED as a failure"},
        {.name = "from",
         .value = "FORMAT",
         .choice = &verify.from,
         .choices = hc_cast_sources,
         .help = "cast/: the format of the inputs, fp32, fp16 or bf16 (default fp32)"},
        {.name = "round",
         .value = "DIRECTION",
         .choice = &verify.direction,
         .choices = hc_cast_directions,
         .help = "cast/: nearest, toward-zero, upward or downward (default nearest)"},
        {.name = "saturate",
         .flag = &verify.saturate,
         .help = "cast/: overflow and infinity become the largest number"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_verify, options, argc, argv, &words, &status))
        return status;
    if (words > 1)
        return hc_complain("verify takes one name, not also '%s'", argv[2]);
    const struct hc_subject *subject = hc_subject_of("verify", words ? argv[1] : NULL);
    if (!subject || !hc_subject_takes(subject, "verify", "strict", verify.strict) ||
        !hc_subject_takes(subject, "verify", "from", verify.from >= 0) ||
        !hc_subject_takes(subject, "verify", "round", verify.direction >= 0) ||
        !hc_subject_takes(subject, "verify", "saturate", verify.saturate))
        return HC_WRONG;
    return subject->verify(argv[1], &verify);
}

const struct hc_command hc_command_verify = {
    .name = "verify",
    .usage = "scaler/RULE|scale/RULE|cast/FORMAT [options]",
    .summary = "check the output of an implementation of your own (see gen)",
    .text =
        "Reads from standard input the lines of halfcheck gen, each with an answer behind it.\n\n"
        "cast/FORMAT: a conversion. The answer is the code, in hexadecimal digits:\n\n"
        "  INPUT CODE\n\n"
        "The first wrong answer is named, with what was wanted and what came; then how many\n"
        "are wrong, and the mistake that explains them. Any NaN is as good as another. PASS\n"
        "says how many wrong conversions would have shown. Lines of halfcheck vectors are\n"
        "taken, too. Without the first line of gen or vectors, any inputs are taken in any\n"
        "order, and --from, --round and --saturate say what is judged; inputs that leave out a\n"
        "mistake are MISTRUSTED.\n\n"
        "scale/RULE: a rule for scales. The answer is the scale, 8 digits, or for blocks its "
        "code,\n"
        "2 digits, and the elements' codes run together:\n\n"
        "  INDEX AMAX SCALE\n"
        "  INDEX ELEMENT... SCALE CODES\n\n"
        "The first wrong line is named, with the state before it, and another rule, an option\n"
        "or a wrong rounding that explains all answers. Any NaN is as good as another; under a\n"
        "scale that is NaN no code is wrong. docs/scales.md says which scale each rule shows.\n\n"
        "scaler/RULE: a loss scaler. The answer is the scale after that step:\n\n"
        "  STEP STEPS FOUND SCALE\n\n"
        "SCALE is a decimal number with all its digits, or a hex float (Python's float.hex).\n"
        "If the rule raises an error at that step (DeepSpeed's rules under ZeRO at their\n"
        "floor, apex-amp at 0), write 'raises' in its place. The first line of gen must come\n"
        "first and unchanged: the trace is made again from its seed, interval and first\n"
        "scale. Blank lines and other lines that begin with # are ignored.\n\n"
        "The first step that differs is named, with what was sent or wanted and what came;\n"
        "the status is 1, also if steps are missing. If a wrong number, another system's\n"
        "rule, a missed overflow or a disabled scaler explains the answers, that is said,\n"
        "too. The status is 2 if a line cannot be read.\n\n"
        "PASS covers that trace: inf, -inf and nan, growth, the floor, the cap or last finite\n"
        "power of two, and the state that the rule ends in, as halfcheck gen --help says. It\n"
        "covers the scale alone, not whether a step is skipped or what is saved. A trace that\n"
        "leaves out a part (few --steps) is MISTRUSTED.\n\n"
        "torch's scale is an fp32 number; those of the other rules are Python floats.",
    .run = run_verify,
};
