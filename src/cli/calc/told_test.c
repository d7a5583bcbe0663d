/* What halfcheck calc prints. */
#include "cli/testing.h"

static const char flagship[] = "$hc calc 'w = 1' --each 'w = w - 1e-4' --steps 1000 "
                               "--in fp16,bf16,fp32 --show w";

/* Below 1 half an ulp is 2^-12 in fp16 and 2^-9 in bf16: both stand still at 1. The nearest fp16
   number is another one as soon as 1e-4 step > 2^-12, at step 3; in bf16 at step 20. */
Test(calc, prints_formats_beside_the_real_number_and_says_why_they_part, .init = enter_folder)
{
    const struct ran *ran = run_shell(flagship);
    cr_expect_eq(ran->status, 0);
    cr_expect_str_empty(ran->err);
    cr_expect_str_eq(ran->out,
                     "      w\n"
                     "step  fp16  bf16  fp32        real\n"
                     "   0  1     1     1           1\n"
                     "   1  1     1     0.9999      0.9999\n"
                     "   2  1     1     0.99979997  0.9998\n"
                     "   3  1     1     0.99969995  0.9997\n"
                     "  20  1     1     0.99799967  0.998\n"
                     " 100  1     1     0.98999834  0.99\n"
                     " 200  1     1     0.9799967   0.98\n"
                     " 300  1     1     0.969995    0.97\n"
                     " 400  1     1     0.95999336  0.96\n"
                     " 500  1     1     0.9499917   0.95\n"
                     " 600  1     1     0.93999004  0.94\n"
                     " 700  1     1     0.9299884   0.93\n"
                     " 800  1     1     0.9199867   0.92\n"
                     " 900  1     1     0.90998507  0.91\n"
                     "1000  1     1     0.8999834   0.9\n"
                     "\n"
                     "fp16: w never moves from 1: 1e-4 is below half an ulp of w, 2^-12\n"
                     "bf16: w never moves from 1: 1e-4 is below half an ulp of w, 2^-9\n"
                     "fp32: w parts from the real number at step 2; in the end it is 1.7e-5 (280 "
                     "ulp)\n"
                     "    off, within its running bound of 3e-5\n",
                     "%s", ran->out);
}

Test(calc, a_bare_expression_is_shown, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc calc 'bf16(1/3)' '1 + 1e-4' --in fp16,fp32");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_str_eq(ran->out,
                     "           fp16   fp32    real\n"
                     "bf16(1/3)  0.334  0.334   0.33333333\n"
                     "1 + 1e-4   1      1.0001  1.0001\n"
                     "\n"
                     "fp16: 1 + 1e-4 = 1.0001 is 1 in fp16: all from 1 - 2^-12 to 1 + 2^-11 is\n"
                     "fp32: each number is the nearest of its format to the real number\n",
                     "%s", ran->out);
    ran = run_shell("$hc calc 'w = 1 # a weight; w = 9' 'w == 1; w - 0.5' --in fp16 --show w");
    cr_expect_str_eq(ran->out,
                     "         fp16  real\n"
                     "w == 1   1     1\n"
                     "w - 0.5  0.5   0.5\n"
                     "w        1     1\n"
                     "\n"
                     "fp16: each number is the nearest of its format to the real number\n",
                     "%s", ran->out);
}

Test(calc, a_formula_may_begin_with_a_minus_sign, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc calc '-1/3' '-(2)' --in fp16 | head -n 3");
    cr_expect_str_eq(ran->out,
                     "      fp16     real\n-1/3  -0.3333  -0.33333333\n-(2)  -2       -2\n", "%s%s",
                     ran->out, ran->err);
}

Test(calc, real_numbers_beyond_fp64_are_not_called_infinite_or_0, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc calc 1e400 -1e400 1e-400 1/0 --in fp64 | head -n 5");
    cr_expect_str_eq(ran->out,
                     "        fp64  real\n"
                     "1e400   inf   above 1.79e308\n"
                     "-1e400  -inf  below -1.79e308\n"
                     "1e-400  0     below 5e-324\n"
                     "1/0     inf   inf\n",
                     "%s", ran->err);
}

/* Adam in half with a gradient of 1e-5: v and eps are 0, so that the first step divides by 0. The
   cause is told before what came of it, and both before where w is in the end. */
Test(calc, what_became_0_infinite_or_nan_is_told_first, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc calc 'w = 1; v = 0; g = 1e-5' --each 'v = 0.999*v + 0.001*g*g; "
                  "w = w - 1e-3*(g/(sqrt(v) + 1e-8))' --in fp16 --steps 9 --show w");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "\n   1  -inf  "), "%s", ran->out);
    const char *zero = strstr(ran->out, "\n\nfp16: at step 1, 0.001*g = ");
    const char *division = strstr(ran->out, " is infinite: ");
    const char *end = strstr(ran->out, "\nfp16: w is -inf from step 1 on\n");
    cr_expect(zero && division && end && zero < division && division < end, "%s", ran->out);
}

/* 3^11 = 177147 is beyond fp16, and the table shows the step at which that happens. */
Test(calc, an_overflow_has_a_row_and_a_sentence, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc calc 'x = 1' --each 'x = x * 3' --steps 30");
    cr_expect_not_null(strstr(ran->out, "\n  11  inf    176128    177147        177147\n"), "%s",
                       ran->out);
    cr_expect_not_null(strstr(ran->out, "\nfp16: x is inf from step 11 on\n"), "%s", ran->out);
}

Test(calc, arms_of_which_the_same_is_told_share_a_sentence, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc calc 'distinct(1000, fp16(1 + i*1e-5))'");
    /* From 1 to 1.00999 there are 11 numbers of fp16, 2^-10 apart. A count has no ulp. */
    cr_expect_not_null(strstr(ran->out, "\nfp16, bf16, fp32: distinct(1000, fp16(1 + i*1e-5)) is "
                                        "989 off, within its\n"),
                       "%s", ran->out);
}

/* 0.9999 is 1, so nothing more need be said of why e stands still. */
Test(calc, a_constant_that_is_1_is_reason_enough, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc calc 'e = 1' --each 'e = 0.9999 * e' --in bf16 | tail -n 2");
    cr_expect_str_eq(ran->out, "bf16: 0.9999 is 1 in bf16: all from 1 - 2^-9 to 1 + 2^-8 is\n"
                               "bf16: e never moves from 1\n");
}

/* In fp32 arithmetic 1 + 1e-4 is no 1, but it is stored as 1. */
Test(calc, an_arm_may_store_in_another_format, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc calc 'w = 1' --each 'w += 1e-4' --in fp32/fp16 --hex");
    cr_expect_not_null(strstr(ran->out, "\n 100  1 0x3c00   1.01\n"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "w never moves from 1: what a step adds is at most half an "
                                        "ulp of w\n    in fp16, 0.00049\n"),
                       "%s", ran->out);
}

Test(calc, rows_are_few_or_as_asked_for, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc calc 'w = 1' --each 'w = w*1.0001 + step*0' --steps 200000 --in fp16,fp32");
    cr_expect_leq(lines_of(ran->out), 24, "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "\n100000 "), "%s", ran->out);
    ran = run_shell("$hc calc 'w = 1' --each 'w = select(isinf(w), 1 + 0*step, 1/0)' --steps 999");
    cr_expect_leq(lines_of(ran->out), 24, "%s", ran->out);
    ran = run_shell("$hc calc --each 'w = 0.5 * step' --steps 2 --in fp32 | head -n 3");
    cr_expect_str_eq(ran->out, "      w\nstep  fp32  real\n   1  0.5   0.5\n", "%s", ran->err);
    ran = run_shell("$hc calc 'w = 0' --each 'w += 1' --every 30 --in fp32 | cut -c-4");
    cr_expect_eq(strstr(ran->out, "    \nstep\n   0\n  30\n  60\n  90\n 100\n\n"), ran->out, "%s",
                 ran->out);
}

Test(calc, hex_shows_the_bits, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc calc 'x = [1, -2]; y = x / 3' --show y --hex --in fp16,fp32");
    cr_expect_not_null(
        strstr(ran->out, "y[0]  0.3333 0x3555   0.33333334 0x3eaaaaab  0.33333333\n"), "%s",
        ran->out);
    cr_expect_not_null(strstr(ran->out, "y[1]  -0.6665 0xb955  -0.6666667 0xbf2aaaab  -0.66666667"),
                       "%s", ran->out);
}

/* Four arms of two names with bits do not fit on one line. */
Test(calc, everything_fits_into_80_columns, .init = enter_folder)
{
    static const char *const lines[] = {
        "$hc calc 'm = 0; v = 0; g = 1e-3' --each 'm = 0.9*m + 0.1*g; v = 0.999*v + 0.001*g*g;"
        "u = m/(sqrt(v) + 1e-8)' --hex --in fp16,bf16,fp32,fp64,fp32/fp16,fp32/bf16 --steps 100",
        "$hc calc '1/3' '1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13' --hex "
        "--in fp16,bf16,fp32,fp64,fp32/fp16,fp64/bf16",
        "$hc calc '1/3' --show '1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14' --in "
        "'fp16 a_long_name=fp32 another_one=bf16 and_another=fp64,fp64 and_a_cast=fp16' --hex",
        "$hc calc '1e400*1e-410' 'exp(700)/7' --in fp64 --hex",
        "$hc calc --help",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct ran *ran = run_shell(lines[i]);
        cr_expect_eq(ran->status, 0, "%s", ran->err);
        const char *end;
        for (const char *at = ran->out; (end = strchr(at, '\n')) != NULL; at = end + 1)
            cr_expect_leq(end - at, 80, "%.*s", (int)(end - at), at);
    }
}

Test(told, formats_below_half_have_no_bound_where_they_put_another_number, .init = enter_folder)
{
    static const struct {
        const char *formula;
        const char *says;
    } rows[] = {
        {"x = 6.9; y = fp32(e2m1(x))", "y is 0.9 (1.9e6 ulp) off, within its running bound of 1.1"},
        {"x = 100; y = fp32(e2m1(x))", "y is 94 (1.3e7 ulp) off; its running bound is infinite"},
        {"x = inf; y = fp32(e2m1(x))", "y is 6, and the real number is infinite"},
        {"y = fp32(e3m2(nan))", "y is 28, and the real number is NaN"},
        {"x = -1; y = fp32(e8m0(x))", "y is 2 (1.7e7 ulp) off; its running bound is infinite"},
        {"x = 0; y = fp32(e8m0(x))", "off; its running bound is infinite"},
        {"x = 465; y = fp32(e4m3_sat(x))", "y is 17 (5.6e5 ulp) off; its running bound is inf"},
        {"x = 464; y = fp32(e4m3_sat(x))", "y is 16 (5.3e5 ulp) off, within its running bound"},
        {"x = e5m2(1e9); y = fp32(e5m2_sat(x))",
         "y is 1e9 (1.6e7 ulp) off; its running bound is inf"},
        {"x = -3; y = fp32(ue4m3(x))", "off; its running bound is infinite"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[160];
        (void)snprintf(line, sizeof line, "$hc calc '%s' --in fp32 --show y", rows[i].formula);
        const struct ran *ran = run_shell(line);
        cr_expect_eq(ran->status, 0, "%s", ran->err);
        cr_expect_not_null(strstr(ran->out, rows[i].says), "%s: %s", line, ran->out);
    }
}

/* NaN is near to nothing, and an infinity that becomes NaN has no nearest number. */
Test(told, nan_is_not_called_near_to_a_number, .init = enter_folder)
{
    static const struct {
        const char *formulas;
        const char *says;
    } rows[] = {
        {"'e4m3(nan)'", "fp32: e4m3(nan) is NaN, and so is the real number\n"},
        {"'w = nan' --each 'w = w + 1' --steps 3 --show w", "fp32: w is NaN, and so is the real"},
        {"'[nan, 1]'", "fp32: each number is NaN or the nearest of its format to the real number"},
        {"'e8m0(-inf)'", "fp32: -inf is NaN in e8m0, which ends at 1.70141e+38\n"},
        {"'e5m2(inf)'", "fp32: e5m2(inf) is the nearest of its format to the real number\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[160];
        (void)snprintf(line, sizeof line, "$hc calc %s --in fp32", rows[i].formulas);
        const struct ran *ran = run_shell(line);
        cr_expect_eq(ran->status, 0, "%s", ran->err);
        cr_expect_not_null(strstr(ran->out, rows[i].says), "%s: %s", line, ran->out);
        cr_expect(!strstr(ran->out, "nan is the nearest"), "%s: %s", line, ran->out);
    }
}
