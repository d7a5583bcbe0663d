/* The words, the files and the errors of halfcheck calc. */
#include "cli/testing.h"

static const char flagship[] = "$hc calc 'w = 1' --each 'w = w - 1e-4' --steps 1000 "
                               "--in fp16,bf16,fp32 --show w";

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

Test(calc, the_examples_of_the_help_run, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc calc --help | sed -n '/^  halfcheck/,/^$/p' | "
                  "sed 's/^  halfcheck/\"$hc\"/' >examples; grep -c calc examples; sh -e examples");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_eq(strncmp(ran->out, "4\n", 2), 0, "%s", ran->out);
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
        {"$hc calc w=1 --in 'fp16 sum=fp32'", "arm 'fp16 sum=fp32': 'sum' has a meaning already"},
        {"$hc calc w=1 --in 'fp16 a=fp32 a=bf16'", "gives 'a' a format twice"},
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
