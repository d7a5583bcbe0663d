/* halfcheck gen | an implementation | halfcheck verify. */
#include "cli/testing.h"
#include "cli/testing_lines.h"
#include "train/update/scaler.h"

/* GradScaler's rule in awk, whose numbers are fp64. In fp32 those below 2^-149 are 0, and 2^127
   is the last finite power of two. */
#define RIGHT      "awk -f right.awk"
#define ECHO_FIRST "/^#/ { print; next } "

static void write_right(void)
{
    enter_folder();
    write_text("right.awk", "BEGIN { s = 65536 }\n" ECHO_FIRST "\n"
                            "$3 != \"0\" { s /= 2; n = 0 }\n"
                            "$3 == \"0\" && ++n == 20 { if (s < 1.7e38) s *= 2; n = 0 }\n"
                            "s < 1e-45 { s = 0 }\n"
                            "{ printf \"%s %.17g\\n\", $0, s }\n");
}

/* The lines of a program up to the given one, which it names as the first that is wrong. */
static void expect_first(const char *program, const char *step, const char *want, const char *got)
{
    char line[1024];
    (void)snprintf(line, sizeof line,
                   "$hc gen scaler/torch --interval 20 | { %s; } | $hc verify scaler/torch",
                   program);
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, 1, "%s: %d %s", program, ran->status, ran->err);
    const char *words[] = {"FAIL scaler/torch: ", step, want, got};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_expect_not_null(strstr(unwrapped(ran->out), words[i]), "%s: no '%s' in %s", program,
                           words[i], ran->out);
    expect_narrow(ran->out);
}

Test(verify, passes_an_implementation_of_the_rule, .init = write_right)
{
    static const char *const lines[] = {
        "$hc gen scaler/torch --interval 20 | " RIGHT " | $hc verify scaler/torch --strict",
        "sed 's/== 20 /== 2000 /' right.awk > usual.awk; $hc gen scaler/torch --seed "
        "0xffffffffffffffff | awk -f usual.awk | $hc verify scaler/torch --strict",
    };
    for (int i = 0; i < 2; i++) {
        const struct ran *ran = run_shell(lines[i]);
        cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
        cr_expect_eq(strncmp(ran->out, "PASS scaler/torch: ", 19), 0, "%s", ran->out);
        cr_expect_not_null(strstr(ran->out, "scale 0 to 2^127\n"), "%s", ran->out);
    }
}

Test(verify, names_the_first_step_that_is_wrong, .init = write_right)
{
    /* The trace: 19 clean steps, inf, 20, nan, 21, -inf, ... */
    expect_first("sed '3s/; n = 0//' right.awk > other.awk; awk -f other.awk", "step 21 of",
                 "want 32768", "got 65536");
    expect_first("sed 's/++n/n++/' right.awk > other.awk; awk -f other.awk", "step 40 of",
                 "want 65536", "got 32768");
    expect_first("awk 'BEGIN { s = 65536 } " ECHO_FIRST "{ print $0, s } $3 != \"0\" { s /= 2 }'",
                 "step 20 of", "want 32768", "got 65536");
    expect_first("sed '3s/!= \"0\"/~ \"inf\"/' right.awk > other.awk; awk -f other.awk",
                 "step 41 of", "want 32768", "nan after 20 clean steps");
    expect_first("sed /1e-45/d right.awk > other.awk; awk -f other.awk", "", "want 0 (0x0p+0)",
                 "got 7.0064923216240854e-46 (0x1p-150)");
    expect_first("sed 's/if (s < 1.7e38)//' right.awk > other.awk; awk -f other.awk", "",
                 "want 1.7014118346046923e+38 (0x1p+127)", "got 3.4028236692093846e+38");
    expect_first("awk '" ECHO_FIRST "{ print $0, \"raises\" }'", "step 1 of", "want 65536",
                 "got raises");
    expect_first("awk '" ECHO_FIRST "{ print $0, \"nan\" }'", "step 1 of", "want 65536", "got nan");
}

/* What verify makes of a program whose numbers are others. */
static void expect_diagnosis(const char *interval, const char *program, const char *said)
{
    char line[1024];
    (void)snprintf(line, sizeof line,
                   "$hc gen scaler/torch --interval %s | { %s; } | $hc verify scaler/torch",
                   interval, program);
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, 1, "%s: %d %s", program, ran->status, ran->err);
    cr_expect_not_null(strstr(unwrapped(ran->out), said), "%s: no '%s' in %s", program, said,
                       ran->out);
    expect_narrow(ran->out);
}

Test(verify, names_what_explains_the_wrong_answers, .init = write_right)
{
#define OTHER(change) "sed '" change "' right.awk > other.awk; awk -f other.awk"
    expect_diagnosis("1999", OTHER("s/== 20 /== 2000 /"),
                     "the rule with growth interval 2000 in place of 1999, which explains all ");
    expect_diagnosis("20", OTHER("s/== 20 /== 2000 /"),
                     "the rule with growth interval 2000 in place of 20, which explains all ");
    expect_diagnosis("20", OTHER("s/65536/1024/"),
                     "the rule with a first scale of 1024 in place of 65536, which explains all ");
    expect_diagnosis("20", OTHER("s/s \\*= 2/s *= 4/; s/1.7e38/8.5e37/"),
                     "the rule with growth factor 4 in place of 2, ");
    expect_diagnosis("20", OTHER("3s/s .= 2/s *= 0.25/"),
                     "the rule with backoff factor 0.25 in place of 0.5, ");
    expect_diagnosis("20", OTHER("2s/n = 0/n = 1/; 3s/n = 0/n = 1/"),
                     "counting an overflow as a clean step, so growth comes a step early, ");
    expect_diagnosis("20", OTHER("3s/n = 0/n = -1/"),
                     "the rule, but growing a step late after an overflow, ");
    expect_diagnosis("20", OTHER("s/++n/n++/"),
                     "the rule with growth interval 21 in place of 20, ");
    expect_diagnosis("20", OTHER("s/s < 1e-45/s < 1/; s/s = 0 }/s = 1 }/"),
                     "the rule with a floor of 1, ");
    expect_diagnosis("20", OTHER("3d; 4s/$3 == \"0\" .. //"),
                     "the rule with a detector that does not see any overflow, ");
    expect_diagnosis("20", OTHER("3d"), "the rule, but ignoring overflows, ");
    expect_diagnosis("20", OTHER("4d"), "the rule without growth, ");
    expect_diagnosis("20", "awk '" ECHO_FIRST "{ print $0, 65536 }'",
                     "the scale never moves: it is 65536 at all ");
    expect_diagnosis("20", "awk '" ECHO_FIRST "{ print $0, 1 }'",
                     "torch.cuda.amp.GradScaler disables itself without a GPU");
    expect_diagnosis("20", "python3 '" HC_SOURCE "/cases/scaler/scalers.py' apex-amp",
                     "the rule scaler/apex-amp, which explains all ");
#undef OTHER
}

Test(verify, names_no_cause_where_none_explains_the_answers, .init = write_right)
{
    const struct ran *ran = run_shell("$hc gen scaler/torch --interval 20 | " RIGHT
                                      " | sed '9s/65536/65537/' | $hc verify scaler/torch");
    cr_expect_eq(ran->status, 1);
    cr_expect_null(strstr(ran->out, "this is"), "%s", ran->out);
    /* An overflow that is missed once would be explained by hysteresis, but for what comes
       later. */
    ran = run_shell(
        "sed 's/^\\$3 != /$1 != 20 \\&\\& $3 != /' right.awk > other.awk;"
        "$hc gen scaler/torch --interval 20 | awk -f other.awk | $hc verify scaler/torch");
    cr_expect_eq(ran->status, 1);
    cr_expect_not_null(strstr(ran->out, "step 20 of"), "%s", ran->out);
    cr_expect_null(strstr(ran->out, "this is"), "%s", ran->out);
}

Test(verify, names_the_first_step_that_is_not_as_it_was_sent, .init = write_right)
{
    expect_first("sed '2,$s/nan$/0/' | " RIGHT, "step 41 of", "sent '41 ", "got back '41 ");
    expect_first("sed '2,$s/inf$/0/' | " RIGHT, "step 20 of", " inf', got back", " 0'");
    expect_first("sed '2,$s/-inf/inf/' | " RIGHT, "step 63 of", " -inf', got back", " inf'");
    expect_first(RIGHT " | sed 7d", "step 6 of", "sent '6 ", "got back '7 ");
    expect_first(RIGHT " | head -6", "step 6 of", "no answer came back", "");
    expect_first("awk '" ECHO_FIRST "NR < 5002 { $2 = 5000; print }' | " RIGHT, "step 1 of",
                 "got back '1 5000 0'", "");
    expect_first("head -9 | sed '1s/--steps [0-9]*/--steps 8/; 2,$s/ [0-9]* / 8 /' | " RIGHT
                 " | sed '$p'",
                 "step 8 of 8", "after this last step came '8 8 0'", "");
}

/* The rule's trace through scalers.py's `program`. */
static void expect_python(const char *rule, const char *program, int status, const char *verdict)
{
    char line[1024];
    (void)snprintf(line, sizeof line,
                   "$hc gen scaler/%s --seed 3 --interval 20 | python3 '" HC_SOURCE
                   "/cases/scaler/scalers.py' %s | $hc verify scaler/%s",
                   rule, program, rule);
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s: %s%s", line, ran->out, ran->err);
    cr_expect_eq(strncmp(ran->out, verdict, strlen(verdict)), 0, "%s", ran->out);
}

Test(verify, passes_every_rule_in_python, .init = enter_folder)
{
    if (run_shell("command -v python3")->status != 0)
        cr_skip_test("no python3");
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++)
        expect_python(hc_scalers[rule].name, hc_scalers[rule].name, 0, "PASS");
    /* Rules that differ in a cap, a step's delay, a floor, patience. */
    expect_python("torch", "apex-amp", 1, "FAIL");
    expect_python("apex-fp16utils", "deepspeed-fused", 1, "FAIL");
    expect_python("apex-amp", "torch", 1, "FAIL");
    expect_python("deepspeed-0.17.0", "deepspeed-0.17.1", 1, "FAIL");
    expect_python("deepspeed-0.17.1", "deepspeed-0.17.0", 1, "FAIL");
    expect_python("deepspeed-0.17.1", "deepspeed-consecutive", 1, "FAIL");
    expect_python("deepspeed-fused", "deepspeed-unfused", 1, "FAIL");
}

Test(verify, takes_an_interval_and_a_first_scale_of_ones_own, .init = write_right)
{
    const char *line = "sed 's/== 20 /== 3 /; s/65536/16/' right.awk > own.awk;"
                       " $hc gen scaler/torch --interval 3 --initial 0x1p4 | awk -f own.awk |"
                       " $hc verify scaler/torch --strict";
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    expect_refusal("printf '# a comment\\n#\\0hidden\\n' | $hc verify scaler/torch",
                   "input:2: a line has a NUL byte: '#'");
    expect_refusal("$hc gen scaler/torch --initial 12", "power of two");
    expect_refusal("$hc gen scaler/apex-amp --initial 0x1p25", "cannot start");
    expect_refusal("$hc gen scaler/deepspeed-0.17.0 --initial 0.5", "cannot start");
    expect_refusal("$hc gen scaler/torch --initial 0", "--initial");
}

Test(verify, a_trace_that_leaves_out_a_limit_is_mistrusted, .init = write_right)
{
    static const struct {
        int steps;
        const char *lacks;
    } rows[] = {{10, "does not have all of inf, nan and -inf"},
                {1000, "the scale never reached and kept its cap or last"},
                {3700, "the scale never reached 0"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int strict = 0; strict < 2; strict++) {
            char line[256];
            (void)snprintf(line, sizeof line,
                           "$hc gen scaler/torch --interval 20 --steps %d | " RIGHT
                           " | $hc verify %s "
                           "scaler/torch",
                           rows[i].steps, strict ? "--strict" : "");
            const struct ran *ran = run_shell(line);
            cr_expect_eq(ran->status, strict, "%s%s", ran->out, ran->err);
            cr_expect_eq(strncmp(ran->out, "MISTRUSTED", 10), 0, "%s", ran->out);
            cr_expect_not_null(strstr(unwrapped(ran->out), rows[i].lacks), "%s", ran->out);
            expect_narrow(ran->out);
        }
}

Test(verify, bad_lines_are_refused_by_their_number, .init = write_right)
{
#define TWO "$hc gen scaler/torch --steps 2 | "
    expect_refusal("$hc verify scaler/torch < /dev/null", "has no step");
    expect_refusal("$hc gen scaler/torch --steps 2 | $hc verify scaler/torch",
                   "input:2: the line is not STEP");
    expect_refusal("echo 1 2 0 65536 | $hc verify scaler/torch", "input:1: a step comes before");
    expect_refusal(TWO "sed '2,$s/$/ 65536x/' | $hc verify scaler/torch", "input:2: SCALE");
    expect_refusal(TWO "sed '2,$s/$/ 65536 1/' | $hc verify scaler/torch",
                   "input:2: the line has more than");
    expect_refusal(TWO "sed '1s/--seed 0/--seed 00/' | $hc verify scaler/torch", "first line");
    expect_refusal(TWO "sed '1s/--steps 2/--steps 0/' | $hc verify scaler/torch", "first line");
    expect_refusal(TWO "sed '1s/$/ 1/' | $hc verify scaler/torch", "first line");
    expect_refusal(TWO "sed '1s/torch/abacus/' | $hc verify scaler/torch", "abacus");
    expect_refusal(TWO "$hc verify scaler/none", "scaler/torch, not of scaler/none");
    expect_refusal("printf '%0300d\\n' 0 | $hc verify scaler/torch", "input:1: a line");
    expect_refusal("$hc verify scaler/abacus", "abacus");
    expect_refusal("$hc verify scaler/deepspeed", "there are deepspeed-0.17.0, deepspeed-0.17.1, ");
    expect_refusal("$hc verify torch", "scaler/RULE");
    expect_refusal("$hc gen", "scaler/RULE");
    expect_refusal("$hc gen scaler/torch scaler/none", "scaler/none");
#undef TWO
}

Test(gen, the_trace_is_the_seeds_and_goes_around_growth, .init = write_right)
{
    const char *line = "trace() { $hc gen scaler/torch --interval 9 --seed $1 | sed 1d; };"
                       " trace 5 > a && trace 5 | cmp a - && ! trace 6 | cmp -s a -";
    cr_expect_eq(run_shell(line)->status, 0);
    const struct ran *ran = run_shell("$hc gen scaler/torch --steps 7000 |"
                                      " awk '!/^#/ && $3 != \"0\" { print $1, $3 }' | head -3");
    cr_expect_str_eq(ran->out, "2000 inf\n4001 nan\n6003 -inf\n");
    /* It ends with the step at which the rule gives up, with each even seed. */
    for (int seed = 0; seed < 6; seed += 2) {
        char command[256];
        (void)snprintf(command, sizeof command,
                       "$hc gen scaler/deepspeed-0.17.1 --interval 5 --seed %d | tail -1", seed);
        ran = run_shell(command);
        int step = 0;
        int steps = 0;
        char found[8];
        cr_assert_eq(sscanf(ran->out, "%d %d %7s", &step, &steps, found), 3);
        cr_expect(step == steps && step > 5000 && strcmp(found, "0") != 0, "%s", ran->out);
    }
}

/* What a program answers never reaches a terminal as orders to it. */
Test(verify, control_characters_of_a_line_after_the_last_are_blanks, .init = write_right)
{
    const struct ran *ran = run_shell("{ $hc gen scaler/torch --interval 20 | " RIGHT
                                      "; printf '1 2 \\033[31mred 0x1p4\n'; }"
                                      " | $hc verify scaler/torch");
    cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(unwrapped(ran->out), "came '1 2 [31mred'"), "%s", ran->out);
    cr_expect_null(strchr(ran->out, '\033'), "%s", ran->out);
}
