/* halfcheck gen | an implementation | halfcheck verify. */
#include "cli/testing.h"

/* GradScaler's rule in awk, whose numbers are fp64: below 2^-149 they are 0 in fp32. */
#define RIGHT "awk -f right.awk"

static void write_right(void)
{
    enter_folder();
    write_text("right.awk", "BEGIN { s = 65536 }\n"
                            "$3 { s /= 2; n = 0 }\n"
                            "!$3 && ++n == 2000 { s *= 2; n = 0 }\n"
                            "s < 1e-45 { s = 0 }\n"
                            "{ printf \"%s %.17g\\n\", $0, s }\n");
}

/* The lines of a program up to the given one, which it names as the first that is wrong. */
static void expect_first(const char *program, const char *step, const char *want, const char *got)
{
    char line[1024];
    (void)snprintf(line, sizeof line, "$hc gen scaler/torch | { %s; } | $hc verify scaler/torch",
                   program);
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, 1, "%s: %d %s", program, ran->status, ran->err);
    const char *words[] = {"FAIL scaler/torch: ", step, want, got};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_expect_not_null(strstr(ran->out, words[i]), "%s: no '%s' in %s", program, words[i],
                           ran->out);
}

Test(verify, passes_an_implementation_of_the_rule, .init = write_right)
{
    const char *seeds[] = {"0", "7", "0xffffffffffffffff"};
    for (int i = 0; i < 3; i++) {
        char line[1024];
        (void)snprintf(line, sizeof line,
                       "$hc gen scaler/torch --seed %s | " RIGHT " | $hc verify scaler/torch",
                       seeds[i]);
        const struct ran *ran = run_shell(line);
        cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
        cr_expect_eq(strncmp(ran->out, "PASS scaler/torch: 50000 steps", 30), 0, "%s", ran->out);
    }
}

Test(verify, names_the_first_step_that_is_wrong, .init = write_right)
{
    /* The trace: 1999 clean steps, an overflow, 2000, an overflow, 2001, an overflow, ... */
    expect_first("sed '2s/; n = 0//' right.awk > other.awk; awk -f other.awk", "step 2001 of",
                 "want 32768", "got 65536");
    expect_first("sed 's/++n/n++/' right.awk > other.awk; awk -f other.awk", "step 4000 of",
                 "want 65536", "got 32768");
    expect_first("awk 'BEGIN { s = 65536 } { print $0, s } $3 { s /= 2 }'", "step 2000 of",
                 "want 32768", "got 65536");
    expect_first("sed /1e-45/d right.awk > other.awk; awk -f other.awk", "of 50000",
                 "want 0 (0x0p+0)", "got 7.0064923216240854e-46 (0x1p-150)");
    expect_first("awk '{ print $0, \"raises\" }'", "step 1 of", "want 65536", "got raises");
    expect_first("awk '{ print $0, \"nan\" }'", "step 1 of", "want 65536", "got nan");
}

/* The rule's trace through scalers.py's `program`. */
static void expect_python(const char *rule, const char *program, int status, const char *verdict)
{
    char line[1024];
    (void)snprintf(line, sizeof line,
                   "$hc gen scaler/%s --seed 3 | python3 " HC_SOURCE
                   "/cases/scaler/scalers.py %s | $hc verify scaler/%s",
                   rule, program, rule);
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s: %s%s", line, ran->out, ran->err);
    cr_expect_eq(strncmp(ran->out, verdict, strlen(verdict)), 0, "%s", ran->out);
}

Test(verify, every_rule_in_python_is_as_promised, .init = enter_folder)
{
    if (run_shell("command -v python3")->status != 0)
        cr_skip_test("no python3");
    const char *rules[] = {"none",     "static", "fastai",    "fastai2",        "apex-fp16utils",
                           "apex-amp", "torch",  "deepspeed", "deepspeed-fused"};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        expect_python(rules[i], rules[i], 0, "PASS");
    /* Rules that differ in a cap, a step's delay, a floor. */
    expect_python("torch", "apex-amp", 1, "FAIL");
    expect_python("apex-fp16utils", "deepspeed-fused", 1, "FAIL");
    expect_python("apex-amp", "torch", 1, "FAIL");
}

Test(verify, takes_an_interval_and_a_first_scale_of_ones_own, .init = write_right)
{
    const char *line = "$hc gen scaler/torch --interval 3 --initial 0x1p4 --steps 400 |"
                       " awk 'BEGIN { s = 16 } $3 { s /= 2; n = 0 }"
                       " !$3 && ++n == 3 { s *= 2; n = 0 } { printf \"%s %.17g\\n\", $0, s }' |"
                       " $hc verify scaler/torch --interval 3 --initial 16";
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    expect_refusal("$hc gen scaler/torch --initial 12", "power of two");
    expect_refusal("$hc gen scaler/apex-amp --initial 0x1p25", "cannot start");
    expect_refusal("$hc gen scaler/deepspeed --initial 0.5", "cannot start");
    expect_refusal("$hc gen scaler/torch --initial 0", "--initial");
}

Test(verify, a_trace_without_growth_or_overflow_is_mistrusted, .init = write_right)
{
    const char *line = "$hc gen scaler/torch --steps 100 | " RIGHT " | $hc verify scaler/torch";
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, 0);
    cr_expect_eq(strncmp(ran->out, "MISTRUSTED", 10), 0, "%s", ran->out);
    ran = run_shell("$hc gen scaler/torch --steps 100 | " RIGHT
                    " | $hc verify scaler/torch --strict");
    cr_expect_eq(ran->status, 1);
    ran = run_shell("seq 2001 | awk '{ print $1, 2001, 0 }' | " RIGHT " | $hc verify scaler/torch");
    cr_expect_eq(strncmp(ran->out, "MISTRUSTED", 10), 0, "%s", ran->out);
}

Test(verify, bad_lines_are_refused_by_their_number, .init = write_right)
{
    expect_refusal("$hc verify scaler/torch < /dev/null", "no step");
    expect_refusal("$hc gen scaler/torch | " RIGHT " | head -5 | $hc verify scaler/torch",
                   "ends after step 5 of 50000");
    expect_refusal("$hc gen scaler/torch | $hc verify scaler/torch", "input:1: not STEP");
    expect_refusal("$hc gen scaler/torch | " RIGHT " | sed 7d | $hc verify scaler/torch",
                   "input:7: steps do not follow");
    expect_refusal("echo 1 2 0 65536x | $hc verify scaler/torch", "input:1: SCALE");
    expect_refusal("echo 1 2 0 65536 1 | $hc verify scaler/torch", "input:1: more than");
    expect_refusal("echo 1 2 2 65536 | $hc verify scaler/torch", "input:1: FOUND");
    expect_refusal("printf '1 2 0 65536\\n2 3 0 65536\\n' | $hc verify scaler/torch",
                   "input:2: STEPS");
    expect_refusal("printf '1 2 0 65536\\n%0300d\\n' 0 | $hc verify scaler/torch",
                   "input:2: a line");
    expect_refusal("$hc verify scaler/abacus", "abacus");
    expect_refusal("$hc verify torch", "scaler/RULE");
    expect_refusal("$hc gen", "scaler/RULE");
    expect_refusal("$hc gen scaler/torch scaler/none", "scaler/none");
}

Test(gen, the_trace_is_the_seeds_and_goes_around_growth, .init = write_right)
{
    cr_expect_eq(run_shell("$hc gen scaler/torch --seed 5 > a && $hc gen scaler/torch --seed 5 > b"
                           " && cmp a b && ! $hc gen scaler/torch --seed 6 | cmp -s a -")
                     ->status,
                 0);
    const struct ran *ran = run_shell("$hc gen scaler/torch | awk '$3 { print $1 }' | head -3");
    cr_expect_str_eq(ran->out, "2000\n4001\n6003\n");
    /* It ends with the step at which the rule gives up, whatever the seed. */
    for (int seed = 0; seed < 5; seed++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "$hc gen scaler/deepspeed --interval 50 --steps 5000 --seed %d | tail -1",
                       seed);
        ran = run_shell(line);
        int step = 0;
        int steps = 0;
        int found = 0;
        cr_assert_eq(sscanf(ran->out, "%d %d %d", &step, &steps, &found), 3);
        cr_expect(step == steps && step > 4000 && step < 5000 && found == 1, "%s", ran->out);
    }
}
