/* halfcheck gen scale/RULE | an implementation | halfcheck verify scale/RULE. */
#include "cli/testing.h"

#define SCALES "python3 '" HC_SOURCE "/cases/scale/scales.py' "

static void with_python(void)
{
    enter_folder();
    if (run_shell("command -v python3")->status != 0)
        cr_skip_test("no python3");
}

/* The rule's trace, answered by scales.py's rule with that mistake. */
static const struct ran *judge(const char *rule, const char *options, const char *answers)
{
    char line[512];
    (void)snprintf(line, sizeof line, "$hc gen scale/%s %s | " SCALES "%s | $hc verify scale/%s",
                   rule, options, answers, rule);
    return run_shell(line);
}

Test(verify_scale, passes_the_rules_in_plain_python, .init = with_python)
{
    static const char *const rows[][3] = {
        {"te-current", "--seed 1", "all 5506 scales follow the rule"},
        {"te-current-pow2", "--codes e5m2", "scales follow the rule"},
        {"torchao", "--seed 2", "all 5506 scales follow the rule"},
        {"deepgemm", "", "all 5506 scales follow the rule"},
        {"mx-floor", "--codes e5m2", "blocks, scales and codes, follow the rule"},
        {"mx-rp", "--codes e2m1\n--from\nbf16", "blocks, scales and codes, follow the rule"},
        {"mx-ceil", "--from fp16", "blocks, scales and codes, follow the rule"},
        {"nvfp4-te", "--seed 7", "blocks, scales and codes, follow the rule"},
        {"te-delayed", "--seed 3", "steps follow the rule"},
        {"te-delayed", "--window 16\n--margin 1\n--codes e5m2", "steps follow the rule"},
        {"te-delayed", "--window 1\n--most-recent", "steps follow the rule"},
        {"te-delayed-unfused", "--window 4", "steps follow the rule"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char options[64];
        (void)snprintf(options, sizeof options, "%s", rows[i][1]);
        for (char *c = options; *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        const struct ran *ran = judge(rows[i][0], options, rows[i][0]);
        cr_expect_eq(ran->status, 0, "%s %s: %s%s", rows[i][0], options, ran->out, ran->err);
        cr_expect_not_null(strstr(ran->out, rows[i][2]), "%s", ran->out);
    }
}

/* Each is a mistake that somebody made, or whose like is in the field. */
Test(verify_scale, names_the_first_wrong_line_and_the_mistake, .init = with_python)
{
    static const struct {
        const char *rule, *options, *answers, *says;
    } rows[] = {
        {"te-delayed", "", "te-delayed idle-rolls", "a history that rolls on idle steps, too"},
        {"te-delayed", "", "te-delayed uses-this-step", "the scale before the step of"},
        {"te-delayed", "", "te-delayed no-limit", "want 7f7fffff, got 7f800000"},
        {"te-delayed", "", "te-delayed-unfused", "this is scale/te-delayed-unfused, which"},
        {"te-current", "", "te-current reciprocal", "want 7f7ffffe, got 7f7ffffd"},
        {"te-current", "", "te-current no-limit", "want 7f7fffff, got 7f800000"},
        {"te-current", "", "te-current-pow2", "this is scale/te-current-pow2 or scale/te-block"},
        {"te-current", "", "torchao", "this is scale/torchao, which explains 5506 of the 5506"},
        {"mx-rp", "", "mx-rp leaks-fraction", "element 11, 002a0000 (0x1.5p-128)"},
        {"mx-rp", "", "mx-rp short-block", "FAIL scale/mx-rp: line "},
        {"mx-rp", "", "mx-rp ties-away", "with ties away from zero, which explains 1916 of"},
        {"mx-rp", "", "mx-rp through-bf16", "with rounding by way of bf16, which explains"},
        {"mx-rp", "", "mx-floor", "this is scale/mx-floor, which explains 1916 of the 1916"},
        {"mx-rp", "--codes e2m1", "mx-ceil", "this is scale/mx-ceil"},
        {"nvfp4-te", "", "nvfp4-te reciprocal", "FAIL scale/nvfp4-te: line "},
        {"nvfp4-te", "", "nvfp4-te ties-away", "with ties away from zero"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ran *ran = judge(rows[i].rule, rows[i].options, rows[i].answers);
        cr_expect_eq(ran->status, 1, "%s: %s%s", rows[i].answers, ran->out, ran->err);
        cr_expect_not_null(strstr(ran->out, rows[i].says), "%s: %s", rows[i].answers, ran->out);
    }
}

/* Options of the trace that the program under test did not take over. */
Test(verify_scale, names_an_option_that_was_not_taken_over, .init = with_python)
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

static void expect_line(const char *line, int status, const char *says)
{
    const struct ran *ran = run_shell(line);
    const char *text = status == 1 ? ran->out : ran->err;
    cr_expect_eq(ran->status, status, "%s: %d %s%s", line, ran->status, ran->out, ran->err);
    cr_expect_not_null(strstr(text, says), "%s: %s", line, text);
    cr_expect(status == 1 || strchr(text, '\n') == text + strlen(text) - 1, "%s: %s", line, text);
}

Test(verify_scale, refuses_what_it_cannot_read, .init = enter_folder)
{
#define TRACE "$hc gen scale/mx-rp >t; "
#define JUDGE "$hc verify scale/mx-rp"
    expect_line(TRACE JUDGE " <t", 2, "this is not gen's line with an answer behind it");
    expect_line(TRACE "sed '2,$s/$/ 7f/' t | " JUDGE, 2, "no codes come after the scale");
    expect_line(TRACE "sed '2,$s/$/ 7x/' t | " JUDGE, 2, "the scale is not 2 hexadecimal digits");
    expect_line(TRACE "sed '2,$s/$/ 7f 0123/' t | " JUDGE, 2, "there are not two digits a code");
    expect_line(TRACE "sed -n '2,$s/$/ 7f 0123/p' t | " JUDGE, 2, "comes before the first line");
    expect_line(TRACE "sed '1s/seed 0/seed 00/' t | " JUDGE, 2, "this is not a first line of gen");
    expect_line(TRACE "sed '1s/mx-rp/mx-floor/' t | " JUDGE, 2, "the trace is of scale/mx-floor");
    expect_line(TRACE "sed '1s/mx-rp/mx-rq/' t | " JUDGE, 2, "there is no rule 'mx-rq'; did you");
    expect_line(TRACE "head -1 t | " JUDGE, 2, "standard input has no answer");
    expect_line(JUDGE " </dev/null", 2, "standard input has no answer");
    expect_line("printf '%01000d\n' 1 | " JUDGE, 2, "this line is too long");
    expect_line(TRACE "sed '2s/$/ 7f \\x00/' t | " JUDGE, 2, "input:2: this line has a NUL byte");
    expect_line("printf '\\0\\n' | " JUDGE, 2, "input:1: this line has a NUL byte");
    expect_line("$hc gen scale/mx-rp --window 4", 2, "scale/mx-rp keeps no history");
    expect_line("$hc gen scale/te-delayed --from bf16", 2, "are fp32: --from is for the other");
    expect_line("$hc gen scale/nvfp4-te --codes e4m3", 2, "is for e2m1, not for e4m3");
    expect_line("$hc gen scale/given", 2, "there is no rule 'given'");
    expect_line(TRACE JUDGE " --from bf16 <t", 2, "--from is not for scale/RULE; see");
    expect_line(TRACE JUDGE " --strict <t", 2, "--strict is not for scale/RULE; see");
    expect_line(TRACE JUDGE " --round upward <t", 2, "--round is not for scale/RULE; see");
    expect_line(TRACE JUDGE " --saturate <t", 2, "--saturate is not for scale/RULE; see");
    expect_line("$hc gen scale/mx-rp --interval 20", 2, "--interval is not for scale/RULE");
    expect_line("$hc gen scaler/torch --window 4", 2, "--window is not for scaler/RULE");
}

/* Each would be taken over, or taken for another number, by a reader that looks less closely. */
Test(verify_scale, refuses_a_first_line_beyond_the_limits_of_gen, .init = enter_folder)
{
    static const char *const numbers[] = {"--window 0 --margin 0",
                                          "--window 4097 --margin 0",
                                          "--window -1 --margin 0",
                                          "--window -2147483648 --margin 0",
                                          "--window 4 --margin 33",
                                          "--window 4 --margin -2147483648",
                                          "--window 4 --margin -1",
                                          "--window 4294967300 --margin 0",
                                          "--window +4 --margin 0",
                                          "--window 4x --margin 0",
                                          "--window 4 --margin 0x",
                                          "--window 4 --margin 4294967296",
                                          "--window 18446744073709551620 --margin 0"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "printf '# halfcheck gen scale/te-delayed --seed 0 --codes e4m3 %s\\n' |"
                       " $hc verify scale/te-delayed",
                       numbers[i]);
        expect_line(line, 2, "this is not a first line of gen");
    }
}

Test(verify_scale, tells_of_a_wrong_answer_before_a_line_it_cannot_read, .init = with_python)
{
    const char *line = "$hc gen scale/te-current | " SCALES "torchao | sed '9s/.*/x/' |"
                       " $hc verify scale/te-current";
    const struct ran *ran = run_shell(line);
    cr_expect_eq(strncmp(ran->out, "FAIL scale/te-current: line 1 of 5506: want ", 44), 0, "%s",
                 ran->out);
    cr_expect_not_null(strstr(ran->out, "this is scale/torchao, which explains 7 of the 7"), "%s",
                       ran->out);
    expect_line(line, 2, "input:9: this is not gen's line with an answer behind it: 'x'");
}

Test(verify_scale, fails_answers_that_end_early, .init = with_python)
{
    expect_line("$hc gen scale/te-delayed | " SCALES "te-delayed | head -30 | $hc verify "
                "scale/te-delayed",
                1, "line 30 of 349: no answer came back");
}
