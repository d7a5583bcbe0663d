/* What halfcheck verify scale/RULE says of wrong answers. */
#include "cli/scale/testing_pipe.h"
#include "cli/testing_lines.h"

/* Each is a mistake that somebody made, or whose like is in the field. */
Test(mistakes, are_named_with_the_first_wrong_line, .init = with_python)
{
    static const struct {
        const char *rule, *options, *answers, *says;
    } rows[] = {
        {"te-delayed", "", "te-delayed idle-rolls", "this is a history that rolls on idle steps"},
        {"te-delayed", "--window 16", "te-delayed idle-rolls", "which explains all 467"},
        {"te-delayed", "--window 1", "te-delayed longer", "with --window 2, which explains all"},
        {"te-delayed", "", "te-delayed shorter", "with --window 3, which explains all 359"},
        {"te-delayed", "", "te-delayed longer", "with --window 5, which explains all 359"},
        {"te-delayed", "--window 16", "te-delayed shorter", "with --window 15, which explains all"},
        {"te-delayed", "", "te-delayed uses-this-step", "the scale before the step of"},
        {"te-delayed", "", "te-delayed no-limit", "want 7f7fffff, got 7f800000"},
        {"te-delayed", "", "te-delayed-unfused", "this is scale/te-delayed-unfused, which"},
        {"te-current", "", "te-current reciprocal", "want 7f7ffffe, got 7f7ffffd"},
        {"te-current", "", "te-current no-limit", "want 7f7fffff, got 7f800000"},
        {"te-current", "", "te-current-pow2", "this is scale/te-current-pow2 or scale/te-block"},
        {"te-current", "", "torchao",
         "this is scale/torchao, which explains all 5506 answers read"},
        {"mx-rp", "", "mx-rp leaks-fraction", "element 11, 002a0000 (0x1.5p-128)"},
        {"mx-rp", "", "mx-rp short-block", "FAIL scale/mx-rp: line "},
        {"mx-rp", "", "mx-rp ties-away", "with ties away from zero, which explains all 1916"},
        {"mx-rp", "", "mx-rp through-bf16", "with rounding by way of bf16, which explains"},
        {"mx-rp", "", "mx-floor", "this is scale/mx-floor, which explains all 1916 answers read"},
        {"mx-rp", "--codes e2m1", "mx-ceil", "this is scale/mx-ceil"},
        {"nvfp4-te", "", "nvfp4-te reciprocal", "FAIL scale/nvfp4-te: line "},
        {"nvfp4-te", "", "nvfp4-te ties-away", "with ties away from zero"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ran *ran = judge(rows[i].rule, rows[i].options, rows[i].answers);
        cr_expect_eq(ran->status, 1, "%s: %s%s", rows[i].answers, ran->out, ran->err);
        cr_expect_not_null(strstr(ran->out, rows[i].says), "%s: %s", rows[i].answers, ran->out);
        expect_narrow(ran->out);
    }
}

/* A margin that is multiplied into the quotient, and not into the largest number, or the other way
   round, shows only where one of the two quotients overflows, which a history must hold alone. */
Test(mistakes, in_the_place_of_the_margin_show_for_every_margin, .init = with_python)
{
    static const char *const rules[] = {"te-delayed", "te-delayed-unfused", "te-jax"};
    static const int windows[] = {4, 1, 16};
    for (int margin = 0; margin <= 9; margin++)
        for (int r = 0; r < 3; r++) {
            char options[48], answers[64];
            (void)snprintf(options, sizeof options, "--margin %d --window %d", margin,
                           windows[(margin + r) % 3]);
            (void)snprintf(answers, sizeof answers, "%s margin-elsewhere", rules[r]);
            const struct ran *ran = judge(rules[r], options, answers);
            cr_expect_eq(ran->status, margin > 0, "%s %s: %s%s", options, answers, ran->out,
                         ran->err);
            expect_narrow(ran->out);
        }
}

/* TransformerEngine multiplies the margin into the largest number; its functions in Python and JAX,
   and those who copied them, into the quotient. */
Test(mistakes, in_the_place_of_the_margin_are_named_under_te_delayed, .init = with_python)
{
    static const char *const options[] = {"--margin 1", "--margin 2 --window 16",
                                          "--margin 3 --window 1", "--margin 4 --codes e5m2",
                                          "--margin 8 --most-recent"};
    for (int i = 0; i < 5; i++) {
        const struct ran *ran = judge("te-delayed", options[i], "te-delayed margin-elsewhere");
        cr_expect_eq(ran->status, 1, "%s: %s%s", options[i], ran->out, ran->err);
        cr_expect_not_null(strstr(unwrapped(ran->out), " this is a margin that is multiplied into "
                                                       "the quotient under scale/te-delayed, which "
                                                       "explains all "),
                           "%s: %s%s", options[i], ran->out, ran->err);
        expect_narrow(ran->out);
    }
}

/* What is wrong with these is none of the guesses, and some guesses explain a good part. */
Test(mistakes, that_explain_fewer_answers_than_the_rule_are_not_named, .init = with_python)
{
    static const char *const rows[][2] = {
        {"te-delayed", "te-delayed keeps-nan"},
        {"mx-rp", "mx-rp short-block"},
        {"te-current", "te-current no-limit"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ran *ran = judge(rows[i][0], "", rows[i][1]);
        cr_expect_eq(ran->status, 1, "%s: %s%s", rows[i][1], ran->out, ran->err);
        cr_expect_null(strstr(ran->out, "explains"), "%s: %s", rows[i][1], ran->out);
        expect_narrow(ran->out);
    }
}

/* torchao 0.18 has a mistake of its own under the same scale, 2^-127. */
Test(mistakes, that_resemble_a_rule_are_not_taken_for_it, .init = with_python)
{
    const struct ran *ran = judge("mx-rp", "", "mx-rp zero-code");
    const char *says = " this may be scale/torchao-0.18-rceil, which explains 1842 of the 1916"
                       " answers read; but other answers are right and speak against it\n";
    cr_expect_not_null(strstr(unwrapped(ran->out), says), "%s", ran->out);
    expect_narrow(ran->out);
}

/* Answers of mx-floor. Where it differs from mx-rp for the hundredth time, the answer is mx-rp's,
   or nobody's. */
Test(mistakes, what_explains_most_answers_is_hedged, .init = with_python)
{
    static const char *const rows[][2] = {
        {"$0 = rp[FNR]", "answers read; but other answers are right and speak against it\n"},
        {"$(NF - 1) = \"33\"", "answers read\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[512];
        (void)snprintf(line, sizeof line,
                       "$hc gen scale/mx-rp >t; <t " SCALES "mx-rp >rp; <t " SCALES
                       "mx-floor >floor; awk 'NR == FNR { rp[FNR] = $0; next } "
                       "rp[FNR] != $0 && ++n == 100 { %s } 1' rp floor | $hc verify scale/mx-rp",
                       rows[i][0]);
        const struct ran *ran = run_shell(line);
        const char *says = " this may be scale/mx-floor, which explains 1915 of the 1916 ";
        cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
        cr_expect_not_null(strstr(unwrapped(ran->out), says), "%s%s", ran->out, ran->err);
        cr_expect_not_null(strstr(unwrapped(ran->out), rows[i][1]), "%s", ran->out);
        expect_narrow(ran->out);
    }
}

Test(mistakes, in_a_block_are_shown_with_the_codes_around_them, .init = with_python)
{
    const struct ran *ran = judge("mx-rp", "", "mx-rp leaks-fraction");
    cr_expect_eq(strstr(ran->out,
                        "FAIL scale/mx-rp: line 77 of 1916: want 2a for element 11, got 2b\n"
                        "     element 11, 002a0000 (0x1.5p-128), under the scale 01\n"
                        "     want 01 ...dc74f6e92aeea225...\n"
                        "     got  01 ...dc74f6e92beea325...\n"),
                 ran->out, "%s", ran->out);
    ran = judge("mx-rp", "", "mx-floor");
    cr_expect_eq(strstr(ran->out, "FAIL scale/mx-rp: line 77 of 1916: want the scale 01, got 00\n"
                                  "     want 01 c8e46b7559b8dc74...\n"
                                  "     got  00 d0ec737d61c0e47c...\n"),
                 ran->out, "%s", ran->out);
    ran = judge("nvfp4-te", "", "nvfp4-te reciprocal");
    cr_expect_not_null(strstr(ran->out, "want 9 for element 1, got a\n"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "     want 3b 92c664207e445fa5\n"), "%s", ran->out);
}

/* Options of the trace that the program under test did not take over. */
Test(mistakes, in_taking_over_options_are_named, .init = with_python)
{
    static const char *const rows[][2] = {
        {"--margin 1", "s/margin 1/margin 0/"},
        {"--window 16", "s/window 16/window 4/"},
        {"--most-recent", "s/ --most-recent//"},
        {"--codes e5m2", "s/e5m2/e4m3/"},
    };
    static const char *const says[] = {"with --margin 0,", "with --window 4,",
                                       "without --most-recent,", "with --codes e4m3,"};
    for (int i = 0; i < 4; i++) {
        char line[1024];
        (void)snprintf(
            line, sizeof line,
            "$hc gen scale/te-delayed %s >trace; { head -1 trace; sed '%s' trace | " SCALES
            "te-delayed | tail -n +2; } | $hc verify scale/te-delayed",
            rows[i][0], rows[i][1]);
        const struct ran *ran = run_shell(line);
        cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
        cr_expect_not_null(strstr(ran->out, says[i]), "%s: %s%s", rows[i][0], ran->out, ran->err);
    }
}
