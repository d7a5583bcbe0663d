/* halfcheck gen cast/FORMAT, verify cast/FORMAT and vectors, with conversions in Python. */
#include "cli/testing.h"
#include "cli/testing_lines.h"

#define PYTHON "python3 '" HC_SOURCE "/cases/rounding/conversion.py' "

static const struct ran *run_conversion(const char *format, const char *options,
                                        const char *mistakes)
{
    char line[512];
    (void)snprintf(line, sizeof line,
                   "$hc gen cast/%s %s | " PYTHON "%s | $hc verify cast/%s --strict", format,
                   options, mistakes, format);
    return run_shell(line);
}

static void need_python(void)
{
    enter_folder();
    if (run_shell("command -v python3")->status != 0)
        cr_skip_test("no python3");
}

Test(verify_cast, passes_what_exact_arithmetic_gives, .init = need_python)
{
    static const char *const formats[] = {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz",
                                          "e2m3", "e3m2", "e2m1"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct ran *ran = run_conversion(formats[i], i % 2 ? "--saturate" : "", "");
        cr_expect_eq(ran->status, 0, "%s: %s%s", formats[i], ran->out, ran->err);
        cr_expect_eq(strncmp(ran->out, "PASS", 4), 0, "%s", ran->out);
    }
    const struct ran *ran = run_conversion("e2m1", "--kind every --from fp16", "");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}

Test(verify_cast, names_the_mistake_of_a_wrong_conversion, .init = need_python)
{
    static const struct {
        const char *mistakes;
        const char *options;
        const char *says;
    } rows[] = {
        {"ties-away", "",
         "3a800000 (0.0009765625): want 00 (0), got 01 (0.001953125)\n     wrong: 128 of"},
        {"ties-to-zero", "", "it rounds ties toward zero, which explains all"},
        {"truncate", "", "it truncates, which explains all"},
        {"via-fp16", "", "it rounds by way of fp16, which explains all"},
        {"via-bf16", "", "it rounds by way of bf16, which explains all"},
        {"early-overflow", "", "it decides about overflow before rounding, which explains all"},
        {"late-overflow", "", "only from one step beyond the largest number on, which"},
        {"nan-to-max", "", "it makes the largest positive number of NaN of either sign, which"},
        {"flush", "", "it flushes subnormal results to 0, which explains all"},
        {"no-carry", "", "it loses the carry: a fraction of all ones becomes 0, and"},
        {"no-sign-of-zero", "", "it makes +0 of -0, which explains all"},
        {"half-of-tiny", "", "it makes the smallest number of its half, which is a tie, which"},
        {"floor-of-half-more", "", "it rounds by floor(x + 1/2) in fp32, which explains all"},
        {"no-sticky", "", "it forgets the bits behind the first two cut off, which explains all"},
        {"saturate", "", "it saturates, which explains all"},
        {"unsaturated", "--saturate", "it does not saturate, which explains all"},
        {"ties-away nan-to-max", "",
         "and it makes the largest positive number of NaN of either sign, which"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ran *ran = run_conversion("e4m3", rows[i].options, rows[i].mistakes);
        cr_expect_eq(ran->status, 1, "%s: %s%s", rows[i].mistakes, ran->out, ran->err);
        cr_expect_eq(strncmp(ran->out, "FAIL cast/e4m3: answer ", 23), 0, "%s", ran->out);
        cr_expect_not_null(strstr(ran->out, rows[i].says), "%s: %s", rows[i].mistakes, ran->out);
    }
}

/* The words of a text with one blank between any two. */
static void join_lines(const char *text, char *words, size_t room)
{
    size_t n = 0;
    for (; *text && n + 2 < room; text++)
        if (*text != ' ' && *text != '\n')
            words[n++] = *text;
        else if (n > 0 && words[n - 1] != ' ')
            words[n++] = ' ';
    words[n] = '\0';
}

/* Of the right answers to `cast`, edited by an awk program. */
static const struct ran *run_edited(const char *cast, const char *edit)
{
    char line[512];
    (void)snprintf(line, sizeof line,
                   "$hc vectors --format %s | awk '{ %s; print }' | $hc verify cast/%.4s --strict",
                   cast, edit, cast);
    return run_shell(line);
}

Test(verify_cast, names_what_goes_wrong_at_the_brink_of_overflow, .init = enter_folder)
{
    static const struct {
        const char *cast;
        const char *edit;
        const char *says;
    } rows[] = {
        /* 480 and more, of either sign, are NaN though 448 is what lies toward zero. */
        {"e4m3 --round toward-zero",
         "if ($1 ~ /^[4c]/ && substr($1, 2) >= \"3f00000\" || $1 ~ /^[5-7d-f]/) $2 = \"7f\"",
         "it makes infinity or NaN of an overflow whatever the direction, which explains"},
        {"e5m2 --round downward", "if ($1 >= \"47800000\" && $1 <= \"7f800000\") $2 = \"7c\"",
         "it makes infinity or NaN of an overflow whatever the direction, which explains"},
        {"e4m3", "if ($1 ~ /^[4c]3e80000/) $2 = \"7f\"",
         "it makes an overflow of the tie between the largest number and overflow, which"},
        {"e5m2", "if ($1 ~ /^[4c]7700000/) sub(\"c$\", \"b\")",
         "it makes the largest number of the tie between that and overflow, which explains"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ran *ran = run_edited(rows[i].cast, rows[i].edit);
        char words[4096] = "";
        cr_expect_eq(ran->status, 1, "%s: %s%s", rows[i].cast, ran->out, ran->err);
        join_lines(ran->out, words, sizeof words);
        cr_expect_not_null(strstr(words, rows[i].says), "%s: %s", rows[i].cast, ran->out);
        cr_expect_not_null(strstr(words, "explains all"), "%s: %s", rows[i].cast, words);
        cr_expect_null(strstr(words, "truncates"), "%s: %s", rows[i].cast, words);
    }
}

/* The first line is one, for those who read it by program. */
Test(verify_cast, says_what_went_wrong_in_lines_of_80_columns, .init = need_python)
{
    const struct ran *ran = run_conversion("e4m3", "", "no-carry nan-to-max");
    const char *line = strchr(ran->out, '\n');
    cr_assert(line && ran->status == 1, "%s%s", ran->out, ran->err);
    for (; line[1]; line = strchr(line + 1, '\n'))
        cr_expect_leq(strcspn(line + 1, "\n"), 80, "%s", ran->out);
    cr_expect_not_null(
        strstr(ran->out,
               "     it loses the carry: a fraction of all ones becomes 0, and the exponent\n"
               "         stays, which explains 540 of the wrong answers\n"),
        "%s", ran->out);
}

Test(verify_cast, takes_vectors_and_lines_of_ones_own, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc vectors --format e2m1 | $hc verify cast/e2m1 --strict");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    ran = run_shell("printf '43e80000 7E\\n0x3f800000 0x38\\nffffffff 7f\\n' |"
                    " $hc verify cast/e4m3 --saturate");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_eq(strncmp(ran->out, "MISTRUSTED cast/e4m3: all 3 answers are right; ", 47), 0);
    cr_expect_not_null(strstr(ran->out, "no input shows whether it rounds by way of fp16\n"));
    ran = run_shell("printf '00000000 0\n' | $hc verify cast/e4m3");
    cr_expect_eq(strncmp(ran->out, "MISTRUSTED cast/e4m3: the answer is right; ", 43), 0, "%s",
                 ran->out);
    expect_narrow(ran->out);
    ran = run_shell("echo 3f880001 38 | $hc verify cast/e4m3");
    cr_expect_not_null(strstr(ran->out, "\n     wrong: the only answer\n"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, ", which explains the answer\n"), "%s", ran->out);
    ran = run_shell("$hc gen cast/e4m3 --saturate | python3 '" HC_SOURCE
                    "/cases/rounding/conversion.py' | sed 's/^43e80001 7e/43e80001 7d/' |"
                    " $hc verify cast/e4m3");
    cr_expect_not_null(strstr(ran->out, "wrong: 1 of 12978 answers\n"), "%s", ran->out);
    cr_expect_null(strstr(ran->out, "explains"), "%s", ran->out);
    ran = run_shell("echo 7fc00000 8 | $hc verify cast/e2m1 --strict");
    cr_expect_eq(ran->status, 1);
    cr_expect_not_null(strstr(ran->out, "     not judged: 1, because"), "%s", ran->out);
    ran = run_shell("$hc gen cast/e4m3 --kind ties --from fp16 | sed '2,$s/$/ 0/' |"
                    " $hc verify cast/e4m3 --saturate");
    cr_expect_eq(ran->status, 2, "the first line says that nothing saturates");
}

Test(verify_cast, wants_every_answer_in_its_place, .init = enter_folder)
{
    static const struct {
        const char *edit;
        const char *says;
    } rows[] = {{"sed '$d'", "no answer came back"},
                {"sed 5d", "answer 4 of 4270: sent 0028, got back 002f"},
                {"cat - extra", "after the last input came 0000"}};
    write_text("extra", "0 0\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "$hc vectors --format e2m1 --kind all --from bf16 | grep -v '^# [0-9c]' |"
                       " %s | $hc verify cast/e2m1",
                       rows[i].edit);
        const struct ran *ran = run_shell(line);
        cr_expect_eq(ran->status, 1, "%s", ran->out);
        cr_expect_not_null(strstr(ran->out, rows[i].says), "%s: %s", rows[i].edit, ran->out);
    }
}

/* A code of 7 bits has no sign: ff is e4m3's NaN, and no code of ue4m3. */
Test(verify_cast, refuses_a_byte_that_is_no_code_of_the_format, .init = enter_folder)
{
    static const char *const rows[][3] = {{"ue4m3", "7f$/ff", "want 7f (nan), got ff (no code)"},
                                          {"e2m1", " 07$/ 17", "want 07 (6), got 17 (no code)"}};
    for (int i = 0; i < 2; i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "$hc vectors --format %s --from bf16 | sed 's/%s/' | $hc verify cast/%s",
                       rows[i][0], rows[i][1], rows[i][0]);
        const struct ran *ran = run_shell(line);
        cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
        cr_expect_not_null(strstr(ran->out, rows[i][2]), "%s", ran->out);
    }
}

Test(vectors, end_with_their_checksum, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc vectors --format e5m2 --from fp16 >v && grep -v '^#' v >lines &&"
                  " tail -n 1 v && echo \"# $(wc -l <lines) lines; sha256 of the lines without #:"
                  " $(sha256sum <lines | cut -c-64)\"");
    const char *second = strchr(ran->out, '\n');
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_assert_not_null(second);
    cr_expect_eq(strncmp(ran->out, second + 1, (size_t)(second - ran->out)), 0, "%s", ran->out);
}

Test(vectors, of_a_kind_are_among_all, .init = enter_folder)
{
    cr_assert_eq(run_shell("for f in e4m3 e8m0; do for k in all ties specials; do"
                           " $hc vectors --format $f --kind $k | grep -v '^#' | sort >$k; done &&"
                           " test -z \"$(cat ties specials | sort -u | comm -23 - all)\" &&"
                           " test $(wc -l <ties) -lt $(wc -l <all) || exit 1; done")
                     ->status,
                 0);
    cr_assert_eq(
        run_shell("test $($hc gen cast/e4m3 --kind every --from fp16 | wc -l) = 65537")->status, 0);
}

Test(verify_cast, tells_of_a_wrong_answer_before_a_line_it_cannot_read, .init = enter_folder)
{
    const char *line = "printf '3f800000 39\\n40000000 41\\nx\\n' | $hc verify cast/e4m3";
    expect_refusal(line, "input:3: the line is not INPUT CODE: 'x'");
    const struct ran *ran = run_shell(line);
    cr_expect_not_null(strstr(ran->out, "want 38 (1), got 39 (1.125)\n     wrong: 2 of 2 answers"),
                       "%s", ran->out);
}

Test(verify_cast, bad_lines_and_options_are_refused, .init = enter_folder)
{
    expect_refusal("$hc vectors", "--format is missing");
    expect_refusal("$hc vectors --format e4m4", "e4m3");
    expect_refusal("$hc vectors --format fp16", "no format of one byte");
    expect_refusal("$hc vectors --format e4m3 --kind every", "2^32");
    expect_refusal("$hc vectors e4m3", "options alone");
    expect_refusal("$hc gen cast/u8", "no format of one byte");
    expect_refusal("$hc gen cast/e4m3fn", "did you mean 'e4m3'?");
    expect_refusal("$hc vectors --format float8_e5m2", "did you mean 'e5m2'?");
    expect_refusal("$hc vectors --format float8_e4m3fnuz", "did you mean 'e4m3fnuz'?");
    expect_refusal("$hc gen cast/e4m3 --steps 3", "--steps is not for cast/FORMAT");
    expect_refusal("$hc gen scaler/torch --saturate", "--saturate is not for scaler/RULE");
    expect_refusal("$hc verify scaler/torch --from fp16", "--from is not for scaler/RULE");
    expect_refusal("$hc gen abacus", "scaler/RULE, cast/FORMAT or scale/RULE, not 'abacus'");
    expect_refusal("$hc verify cast/e4m3 </dev/null", "no answer");
    expect_refusal("echo 0 | $hc verify cast/e4m3", "input:1: the line is not INPUT CODE");
    expect_refusal("echo 0 0 0 | $hc verify cast/e4m3", "input:1: the line is not INPUT CODE");
    expect_refusal("echo 1ffffffff 0 | $hc verify cast/e4m3", "INPUT is not the bits");
    expect_refusal("echo 10000 0 | $hc verify cast/e4m3 --from fp16", "INPUT is not the bits");
    expect_refusal("echo 0 0x100 | $hc verify cast/e4m3", "CODE is not one byte");
    expect_refusal("printf '\\033[1m 0\\n' | $hc verify cast/e4m3", "INPUT is not the bits");
    expect_refusal("printf '%0300d\\n' 0 | $hc verify cast/e4m3", "input:1: a line is longer");
    expect_refusal("printf '0 0\\n0 0\\0garbage\\n' | $hc verify cast/e4m3",
                   "input:2: a line has a NUL byte: '0 0'");
    expect_refusal("printf '0 0\\n\\0001\\n' | $hc verify cast/e4m3", "input:2: a line has a NUL");
    expect_refusal("$hc gen cast/e4m3 | $hc verify cast/e5m2", "inputs are of cast/e4m3");
    expect_refusal("$hc gen cast/e4m3 | sed '1s/all/some/' | $hc verify cast/e4m3",
                   "not a first line");
    expect_refusal("printf '# halfcheck gen cast/e4m3 --from fp32 --kind every\\n' |"
                   " $hc verify cast/e4m3",
                   "--kind every is for --from fp16 and bf16: fp32 has 2^32 inputs");
}
