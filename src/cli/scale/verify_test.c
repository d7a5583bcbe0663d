/* halfcheck gen scale/RULE | an implementation | halfcheck verify scale/RULE. */
#include "cli/scale/testing_pipe.h"
#include "cli/testing_lines.h"

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
        {"te-jax", "--margin 2", "steps follow the rule"},
        {"te-jax", "--window 1\n--most-recent", "steps follow the rule"},
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
    expect_line(TRACE "sed \"2,\\$s/$/ 7f $(printf '%064d' 0)1/\" t | " JUDGE, 2,
                "something comes after the answer");
    expect_line("$hc gen scale/torchao | sed '2,$s/$/ 7f8000000/' | $hc verify scale/torchao", 2,
                "something comes after the answer");
    expect_line(TRACE "sed '1s/seed 0/seed 00/' t | " JUDGE, 2, "this is not a first line of gen");
    expect_line(TRACE "sed '1s/mx-rp/mx-floor/' t | " JUDGE, 2, "the trace is of scale/mx-floor");
    expect_line(TRACE "sed '1s/mx-rp/mx-rq/' t | " JUDGE, 2, "there is no rule 'mx-rq'; did you");
    expect_line(TRACE "head -1 t | " JUDGE, 2, "standard input has no answer");
    expect_line(JUDGE " </dev/null", 2, "standard input has no answer");
    expect_line("printf '%01000d\n' 1 | " JUDGE, 2, "this line is too long");
    expect_line(TRACE "sed '2s/$/ 7f \\x00/' t | " JUDGE, 2, "input:2: this line has a NUL byte");
    expect_line("printf '\\0\\n' | " JUDGE, 2, "input:1: this line has a NUL byte");
    expect_line("$hc gen scale/mx-rp --window 4", 2, "scale/mx-rp keeps no history");
    expect_line("$hc gen scale/flax-delayed --most-recent", 2, "flax-delayed has no --most-recent");
    expect_line("$hc gen scale/ms-amp --most-recent", 2, "ms-amp has no --most-recent");
    expect_line("$hc gen scale/flax-delayed | sed '1s/$/ --most-recent/' | "
                "$hc verify scale/flax-delayed",
                2, "flax-delayed has no --most-recent");
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
    cr_expect_not_null(strstr(ran->out, "this is scale/torchao, which explains all 7 answers"),
                       "%s", ran->out);
    expect_line(line, 2, "input:9: this is not gen's line with an answer behind it: 'x'");
}

Test(verify_scale, fails_answers_that_end_early, .init = with_python)
{
    expect_line("$hc gen scale/te-delayed | " SCALES "te-delayed | head -30 | $hc verify "
                "scale/te-delayed",
                1, "line 30 of 359: no answer came back");
}

/* verify cast/F and verify scaler/RULE do so, too. */
Test(verify_scale, fails_lines_after_the_last_one, .init = with_python)
{
#define ANSWERS "$hc gen scale/te-delayed | " SCALES "te-delayed >t; "
#define AFTER   "{ cat t; echo '360 3f800000 43e00000'; } | "
    const char *judge_it = "$hc verify scale/te-delayed";
    char line[512];
    (void)snprintf(line, sizeof line, ANSWERS AFTER "%s", judge_it);
    expect_line(line, 1,
                "FAIL scale/te-delayed: line 359 of 359: after this last line came '360 3f800000\n"
                "     43e00000'\n");
    (void)snprintf(line, sizeof line, ANSWERS "{ cat t; printf '%%0300d\\n' 7; } | %s", judge_it);
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "000...'\n"), "%s", ran->out);
    expect_narrow(ran->out);
    (void)snprintf(line, sizeof line, ANSWERS "{ cat t; echo; echo '# the end'; } | %s", judge_it);
    cr_expect_eq(run_shell(line)->status, 0, "blank lines and comments are no answers");
    (void)snprintf(line, sizeof line, ANSWERS "sed -i '2s/ [^ ]*$/ 00000001/' t; " AFTER "%s",
                   judge_it);
    expect_line(line, 1, "FAIL scale/te-delayed: line 1 of 359: want 43155555, got 00000001\n");
}

Test(verify_scale, takes_0x_and_upper_case, .init = with_python)
{
    static const char *const rules[] = {"te-delayed", "te-current", "mx-rp", "nvfp4-te"};
    static const char *const edits[] = {"s/[^ ]*$/0x&/", "s/[^ ]*$/0X\\U&/",
                                        "s/ \\([^ ]*\\) \\([^ ]*\\)$/ 0x\\U\\1 0X\\L\\2/"};
    for (int r = 0; r < 4; r++)
        for (int e = 0; e < 3; e++) {
            if (e == 2 && r < 2)
                continue; /* they have no codes */
            char line[512];
            (void)snprintf(line, sizeof line,
                           "$hc gen scale/%s | " SCALES "%s | sed '2,$%s' | $hc verify scale/%s",
                           rules[r], rules[r], edits[e], rules[r]);
            const struct ran *ran = run_shell(line);
            cr_expect_eq(ran->status, 0, "%s: %s%s", line, ran->out, ran->err);
        }
}

/* An echo of a whole block would fill four lines of a terminal. */
Test(verify_scale, cuts_long_lines_that_it_cannot_read, .init = enter_folder)
{
    static const char *const lines[] = {
        "$hc gen scale/mx-rp | $hc verify scale/mx-rp",
        "printf '# halfcheck gen scale/mx-rp --seed %0250d\n' 0 | $hc verify scale/mx-rp",
    };
    for (int i = 0; i < 2; i++) {
        const struct ran *ran = run_shell(lines[i]);
        size_t length = strlen(ran->err);
        cr_expect_eq(ran->status, 2, "%s", ran->err);
        cr_expect_leq(length, 160, "%s", ran->err);
        cr_assert_gt(length, 5, "%s", ran->err);
        cr_expect_str_eq(ran->err + length - 5, "...'\n", "%s", ran->err);
    }
}

Test(verify_scale, help_says_that_scale_rules_have_a_seed, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc gen --help");
    const char *seed = strstr(ran->out, "--seed");
    cr_assert_not_null(seed, "%s", ran->out);
    cr_expect_not_null(strstr(seed, "scale/, scaler/: seed of"), "%s", ran->out);
}

/* What a program answers never reaches a terminal as orders to it. */
Test(verify_scale, control_characters_of_a_line_after_the_last_are_blanks, .init = with_python)
{
    const struct ran *ran =
        run_shell("{ $hc gen scale/te-current | " SCALES "te-current;"
                  " printf '1 \\033[31mred\n'; } | $hc verify scale/te-current");
    cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strchr(ran->out, '['), "%s", ran->out);
    cr_expect_null(strchr(ran->out, '\033'), "%s", ran->out);
}
