#include "cli/bug.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *printed(void (*print)(FILE *, const struct hc_bug *), const struct hc_bug *bug)
{
    static char text[1 << 12];
    FILE *out = fmemopen(text, sizeof text, "w");
    cr_assert_not_null(out);
    print(out, bug);
    cr_assert_eq(fclose(out), 0);
    return text;
}

static const struct hc_bug weight = {.formula = "w = 1; eps := 1e-4",
                                     .each = "w -= eps",
                                     .steps = 1000,
                                     .show = "w, 1 - w",
                                     .buggy = {.in = "fp16 acc=fp32", .prints = "1 exact, 0"},
                                     .fixed = {.in = "fp32", .prints = "0.9000, -"},
                                     .lesson = "Keep masters.",
                                     .correction = "The thread prints 0.8."};

Test(bug, what_the_arms_share_is_shown_once)
{
    cr_assert_str_eq(printed(hc_bug_print_arms, &weight),
                     "\n"
                     "  formula w = 1; eps := 1e-4\n"
                     "          1000 times: w -= eps\n"
                     "  buggy   in fp16 acc=fp32; the report prints 1 exact, 0\n"
                     "  fixed   in fp32; the report prints 0.9000, -\n");
    cr_assert_str_eq(printed(hc_bug_print_lesson, &weight),
                     "\n"
                     "  lesson  Keep masters.\n"
                     "  not so  The thread prints 0.8.\n"
                     "  try     halfcheck calc 'w = 1' 'eps := 1e-4' --each 'w -= eps' "
                     "--steps 1000 \\\n"
                     "              --in 'fp16 acc=fp32,fp32' --show 'w, 1 - w'\n");
}

Test(bug, a_negative_control_says_that_it_is_no_bug)
{
    struct hc_bug control = weight;
    control.not_a_bug = true;
    const char *text = printed(hc_bug_print_arms, &control);
    cr_assert(strstr(text, "\n  control not a bug: what was reported as one is right\n"), "%s",
              text);
}

Test(bug, what_differs_is_shown_beside_its_arm)
{
    struct hc_bug bug = weight;
    bug.correction = NULL;
    bug.buggy = (struct hc_bug_arm){
        .in = "fp16", .with = "eps := 1e-8", .each = "w -= 2 * eps # twice\n w += 0"};
    bug.fixed = (struct hc_bug_arm){.in = "fp16", .formula = "w = 2 # two; it is\n eps := it's ;"};
    cr_assert_str_eq(printed(hc_bug_print_arms, &bug),
                     "\n"
                     "  formula w = 1; eps := 1e-4\n"
                     "          1000 times: w -= eps\n"
                     "  buggy   in fp16\n"
                     "          eps := 1e-8\n"
                     "          1000 times: w -= 2 * eps # twice\n"
                     "          w += 0\n"
                     "  fixed   in fp16\n"
                     "          w = 2 # two; it is\n"
                     "          eps := it's ;\n");
    cr_assert_str_eq(printed(hc_bug_print_lesson, &bug),
                     "\n"
                     "  lesson  Keep masters.\n"
                     "  try     halfcheck calc 'eps := 1e-8' 'w = 1' 'eps := 1e-4' \\\n"
                     "              --each 'w -= 2 * eps ; w += 0' --steps 1000 --in fp16 \\\n"
                     "              --show 'w, 1 - w'\n"
                     "          halfcheck calc 'w = 2' 'eps := it'\\''s' --each 'w -= eps' \\\n"
                     "              --steps 1000 --in fp16 --show 'w, 1 - w'\n");
}

Test(bug, figures_of_the_report_stand_apart_from_those_that_were_computed)
{
    struct hc_bug bug = weight;
    bug.buggy.prints = "1 exact, -";
    bug.buggy.is = "-, 0";
    bug.fixed.prints = NULL;
    bug.fixed.is = "0.9000, -";
    bug.rule = "The format is right.";
    bug.no_bound = "It is too wide.";
    bug.frozen = "2026-11-27 0123abcd";
    cr_assert_str_eq(printed(hc_bug_print_arms, &bug),
                     "\n"
                     "  rule    The format is right.\n"
                     "  unbound It is too wide.\n"
                     "  frozen  on 2026-11-27, before its bound was known\n"
                     "  formula w = 1; eps := 1e-4\n"
                     "          1000 times: w -= eps\n"
                     "  buggy   in fp16 acc=fp32; the report prints 1 exact, -; computed: -, 0\n"
                     "  fixed   in fp32; computed: 0.9000, -\n");
}

static void none(struct hc_check *check, struct hc_exhibits *shown)
{
    (void)check;
    (void)shown;
}

Test(bug, a_play_has_no_command_but_says_what_runs)
{
    const struct hc_bug bug = {.play = none, .lesson = "Skip.", .fault = "skip-nothing"};
    cr_assert_str_eq(printed(hc_bug_print_arms, &bug),
                     "\n  play    both arms run the code that trains\n");
    cr_assert_str_eq(printed(hc_bug_print_lesson, &bug),
                     "\n  lesson  Skip.\n"
                     "  fault   a defect of the same kind: halfcheck selftest skip-nothing\n");
    char line[HC_LONGEST_COMMAND];
    hc_bug_command(&bug, true, line);
    cr_assert_str_eq(line, "");
}
