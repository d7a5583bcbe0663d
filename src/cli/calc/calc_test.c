/* halfcheck calc as people run it. Expected numbers are derived in the comments, or computed here
   by the machine's own fp32 arithmetic. */
#include "cli/testing.h"

#include <jansson.h>
#include <stdint.h>

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

/* The document of a command line that is to succeed. */
static json_t *document_of(const char *arguments)
{
    char line[2048];
    (void)snprintf(line, sizeof line, "$hc calc %s --json c.json", arguments);
    const struct ran *ran = run_shell(line);
    cr_assert_eq(ran->status, 0, "%s: %s", line, ran->err);
    json_t *document = json_load_file("c.json", 0, NULL);
    cr_assert_not_null(document, "%s", line);
    return document;
}

static const json_t *row_of(const json_t *document, int64_t step)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(document, "rows"), i, row)
    {
        if (json_integer_value(json_object_get(row, "step")) == step)
            return row;
    }
    cr_assert_fail("no row of step %lld", (long long)step);
    return NULL;
}

static const json_t *cell_of(const json_t *row, int item, int arm)
{
    const json_t *shown = json_array_get(json_object_get(row, "shown"), (size_t)item);
    return json_array_get(json_object_get(shown, "arms"), (size_t)arm);
}

static double value_of(const json_t *cell)
{
    return strtod(json_string_value(json_object_get(cell, "value")), NULL);
}

static const char *bits_of(const json_t *cell)
{
    return json_string_value(json_object_get(cell, "bits"));
}

static int64_t course_of(const json_t *document, int arm, const char *what)
{
    const json_t *a = json_array_get(json_object_get(document, "arms"), (size_t)arm);
    const json_t *step = json_object_get(json_array_get(json_object_get(a, "shown"), 0), what);
    return json_is_null(step) ? -1 : json_integer_value(step);
}

Test(calc, fp32_follows_the_machine_step_by_step, .init = enter_folder)
{
    json_t *document = document_of("'w = 1' --each 'w = w - 1e-4' --steps 1000");
    volatile float w = 1;
    int64_t parts = -1;
    for (int step = 1; step <= 1000; step++) {
        w = w - 1e-4f;
        if (parts < 0 && w != (float)(1 - step * 1e-4))
            parts = step;
        if (step % 100 == 0)
            cr_expect_eq(value_of(cell_of(row_of(document, step), 0, 2)), (double)w, "%d", step);
    }
    cr_expect_eq(course_of(document, 2, "parts"), parts);
    cr_expect_eq(course_of(document, 2, "stands_from"), -1);
    cr_expect_eq(course_of(document, 0, "parts"), 3);
    cr_expect_eq(course_of(document, 0, "stands_from"), 0);
    cr_expect_eq(course_of(document, 1, "parts"), 20);
    cr_expect_str_eq(bits_of(cell_of(row_of(document, 1000), 0, 0)), "0x3c00");
    cr_expect_str_eq(bits_of(cell_of(row_of(document, 1000), 0, 1)), "0x3f80");
    json_decref(document);
}

/* 0.001 is 0.0010004 in fp16 and 0.00099945 in bf16. A sum stands still where this is below half
   an ulp: in fp16 from 4 on (2^-9 = 0.00195), in bf16 from 0.5 on (2^-9). */
Test(calc, sums_and_averages_stand_still_where_half_an_ulp_exceeds_the_term, .init = enter_folder)
{
    json_t *document = document_of("'s = sum(4096, 1e-3)'");
    const json_t *row = json_array_get(json_object_get(document, "rows"), 0);
    cr_expect_eq(value_of(cell_of(row, 0, 0)), 4);
    cr_expect_eq(value_of(cell_of(row, 0, 1)), 0.5);
    json_decref(document);
    document = document_of("'v = 0; g = 1' --each 'v = 0.999 * v + 0.001 * g * g' --steps 1000");
    cr_expect_eq(value_of(cell_of(row_of(document, 1000), 0, 1)), 0.5);
    cr_expect_gt(course_of(document, 1, "stands_from"), 100);
    json_decref(document);
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

Test(calc, an_arm_may_give_a_cast_its_format, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc calc 's = sum(4096, acc(1))' --in 'fp16,fp16 acc=fp32' | head -n 2");
    cr_expect_str_eq(ran->out, "   fp16  fp16 acc=fp32  real\ns  2048  4096           4096\n");
}

Test(calc, rows_are_few_or_as_asked_for, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc calc 'w = 1' --each 'w = w*1.0001 + step*0' --steps 200000 --in fp16,fp32");
    cr_expect_leq(lines_of(ran->out), 24, "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "\n100000 "), "%s", ran->out);
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

Test(calc, a_formula_comes_from_a_file_or_from_standard_input, .init = enter_folder)
{
    write_text("f", "w = 1 # one\nw *= 3\n");
    const struct ran *ran = run_shell("$hc calc --file f --in fp16 | head -n 2");
    cr_expect_str_eq(ran->out, "   fp16  real\nw  3     3\n", "%s", ran->err);
    ran = run_shell("$hc calc - --in fp16 <f | head -n 2");
    cr_expect_str_eq(ran->out, "   fp16  real\nw  3     3\n", "%s", ran->err);
    expect_refusal("$hc calc 'w = 1' --file f", "not both");
    expect_refusal("$hc calc --file none", "none: No such file");
    expect_refusal("printf 'w\\0' | $hc calc -", "a zero byte");
    expect_refusal("yes 'w = 1' | head -c 70000 | $hc calc -", "too long");
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

/* The bound on the error of the real number grows fourfold at every step of this map, so that 256
   bits are used up after some 110 steps, and 1024 after the 496th, where the bound began at the
   smallest number of fp64. */
Test(calc, a_chaotic_formula_gets_more_bits, .init = enter_folder)
{
    json_t *document =
        document_of("'x = 0.3' --each 'x = 4*x*(1-x)' --steps 400 --in fp64 --every 100");
    cr_expect_eq(json_integer_value(json_object_get(document, "precision")), 1024);
    cr_expect(json_is_null(json_object_get(document, "real_uncertain_from")));
    const json_t *shown = json_array_get(json_object_get(row_of(document, 400), "shown"), 0);
    /* By Python's decimal module with 400 digits, of which the map uses up 121. */
    double real = strtod(json_string_value(json_object_get(shown, "real_value")), NULL);
    cr_expect_float_eq(real, 0.350391256283690186, 1e-14, "%.17g", real);
    json_decref(document);
    const struct ran *ran =
        run_shell("$hc calc 'x = 0.3' --each 'x = 4*x*(1-x)' --steps 600 --in fp64");
    cr_expect_not_null(
        strstr(ran->out, "\nreal: is not known well from step 496 on, not even with 2048 bits\n"),
        "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "0.69120941 ?\n"), "%s", ran->out);
}

/* An average reaches its limit in every format and in 256 bits. */
Test(calc, a_loop_that_changes_nothing_more_ends_early, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc calc 'v = 0' --each 'v = 0.5*v + 0.5' --steps 1e12");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "Nothing changes after step 320, so the other 999999999680 "
                                        "steps were left out."),
                       "%s", ran->out);
    ran = run_shell("$hc calc 'v = 0' --each 'v = 1 + 0*step' --steps 300");
    cr_expect_null(strstr(ran->out, "Nothing changes"), "%s", ran->out);
}

Test(calc, a_stopped_loop_prints_what_it_has, .init = enter_folder)
{
    const struct ran *ran = run_shell(
        "timeout -s INT 2 $hc calc 'w = 1' --each 'w = w * 1.0000001' --steps 1e12 --in fp32; "
        "test $? = 124");
    cr_expect_eq(ran->status, 0);
    cr_expect_not_null(strstr(ran->out, " 1000  1.0001192  1.0001\n"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->err, "stopped by signal 2 after step "), "%s", ran->err);
    cr_expect_not_null(strstr(ran->err, " of 1000000000000\n"), "%s", ran->err);
    cr_expect_eq(lines_of(ran->err), 1, "%s", ran->err);
}

Test(calc, a_backend_is_held_to_the_definition, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc calc 'w = 1' --each 'w = w * 0.99 - 1e-4' --steps 20 --backend exact");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(
        strstr(ran->out, "\nfp32: exact has the definition's bits in all 40 operations\n"), "%s",
        ran->out);
}

Test(calc, plot_makes_a_picture, .init = enter_folder)
{
    static const char *const names[] = {"w.png", "w.svg"};
    static const char *const starts[] = {"\x89PNG", "<?xml"};
    for (int i = 0; i < 2; i++) {
        char line[256];
        char text[8];
        (void)snprintf(line, sizeof line, "%s --plot %s", flagship, names[i]);
        const struct ran *ran = run_shell(line);
        if (strstr(ran->err, "gnuplot is not installed"))
            cr_skip_test("no gnuplot here");
        cr_expect_eq(ran->status, 0, "%s", ran->err);
        read_text(names[i], text, sizeof text);
        cr_expect_eq(strncmp(text, starts[i], 4), 0, "%s", names[i]);
    }
    cr_expect_eq(run_shell("PATH= $hc calc 'w = 1' --each 'w += 1' --plot n.png")->status, 2);
    cr_expect_eq(access("n.png", F_OK), -1);
}

Test(calc, bad_formulas_are_shown_with_a_caret, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc calc 'w = 1' --each 'w = w -* 2'");
    cr_expect_eq(ran->status, 2);
    cr_expect_str_empty(ran->out);
    cr_expect_str_eq(ran->err, "halfcheck: calc: an expression is missing before '*'\n"
                               "  w = w -* 2\n"
                               "         ^\n");
    ran = run_shell("$hc calc '[1, 2] / [1, 2, 3]'");
    cr_expect_eq(ran->status, 2);
    cr_expect_not_null(strstr(ran->err, "\n  [1, 2] / [1, 2, 3]\n  ^~~"), "%s", ran->err);
    ran = run_shell("$hc calc 'w = 1; w + v'");
    cr_expect_not_null(strstr(ran->err, "there is no 'v'"), "%s", ran->err);
    ran = run_shell("$hc calc 'x = list(2000000, i)' --show 'sum(x)'");
    cr_expect_eq(ran->status, 2, "%s", ran->err);
}

Test(calc, bad_options_get_one_line, .init = enter_folder)
{
    static const char *const rows[][2] = {
        {"$hc calc", "needs a FORMULA"},
        {"$hc calc ''", "the formula is empty"},
        {"$hc calc '# nothing'", "the formula is empty"},
        {"$hc calc w=1 --each w=w+1 --steps 0", "from 1 to 1000000000000, not '0'"},
        {"$hc calc w=1 --each w=w+1 --steps -1", "not '-1'"},
        {"$hc calc w=1 --each w=w+1 --steps 1e13", "not '1e13'"},
        {"$hc calc w=1 --each w=w+1 --steps abc", "not 'abc'"},
        {"$hc calc w=1 --each w=w+1 --steps 1.5", "not '1.5'"},
        {"$hc calc w=1 --each w=w+1 --steps nan", "not 'nan'"},
        {"$hc calc w=1 --each w=w+1 --steps 1e6 --every 10", "more than 1000 rows"},
        {"$hc calc w=1 --steps 5", "--steps needs --each"},
        {"$hc calc w=1 --in fp17", "fp17"},
        {"$hc calc w=1 --in fp16,", "an element is empty"},
        {"$hc calc w=1 --in fp16,fp16", "named twice"},
        {"$hc calc w=1 --in fp16,bf16,fp32,fp64,fp32/fp16,fp32/bf16,fp64/fp16", "at most 6 arms"},
        {"$hc calc w=1 --backend abacus", "no backend 'abacus'"},
        {"$hc calc w=1 --backend exact,host", "on one backend"},
        {"$hc calc 'x = list(40, i)'", "shows at most 16 numbers, and with 'x' they are 40"},
        {"$hc calc w=1 --plot p.png", "--plot needs --each"},
        {"$hc calc w=1 --each w=w+1 --plot p.gif", "FILE.png or FILE.svg"},
        {"$hc calc w=1 --each w=w+1 --plot /nonexistent/p.png", "cannot write"},
        {"$hc calc w=1 --each w=w+1 --steps 1e12 --json /nonexistent/p", "cannot write"},
        {"$hc calc w=1 --each w=w+1 --plot p.png --json p.png", "the same file"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_refusal(rows[i][0], rows[i][1]);
}

Test(calc, json_to_standard_output_leaves_the_table_to_standard_error, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc calc 'w = 1' --json - --in fp16 --backend exact");
    cr_expect_eq(ran->status, 0);
    cr_expect_eq(strncmp(ran->err, "   fp16  real\nw  1     1\n", 25), 0, "%s", ran->err);
    json_t *document = json_loads(ran->out, 0, NULL);
    cr_assert_not_null(document, "%s", ran->out);
    const json_t *cell = cell_of(json_array_get(json_object_get(document, "rows"), 0), 0, 0);
    cr_expect_str_eq(json_string_value(json_object_get(cell, "got_bits")), "0x3c00");
    json_decref(document);
}
