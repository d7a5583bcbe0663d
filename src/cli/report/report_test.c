#include "cli/testing.h"

#include <stdbool.h>

static void make_records(void)
{
    enter_folder();
    cr_assert_eq(
        run_shell("$hc run rounding/after-one 'eps/*' --level quick --json a.json &&"
                  " sed 's/\"note\": \"\"/\"note\": \"a <b> \\& c\"/;s/PASS/FAIL/' a.json >b.json")
            ->status,
        0);
}

static bool can_draw(void)
{
    return run_shell("command -v gnuplot")->status == 0;
}

Test(report, is_one_page_that_needs_nothing_else, .init = make_records)
{
    const struct ran *ran = run_shell("$hc report a.json b.json --out page");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_str_eq(run_shell("ls -A page")->out, "report.html\n");
    cr_expect_eq(run_shell("grep -E 'src=|href=.[^#]|@import|url\\([^#]' page/report.html")->status,
                 1);
    cr_expect_eq(run_shell("grep -q 'a &lt;b&gt;' page/report.html")->status, 0);
    cr_expect_eq(run_shell("grep -q 'a <b>' page/report.html")->status, 1);
    cr_expect_eq(run_shell("grep -q '<svg' page/report.html")->status, can_draw() ? 0 : 1);
}

static void make_picture(void)
{
    enter_folder();
    cr_assert_eq(run_shell("$hc run batchnorm/running-mean-bf16-operations --backend exact,host"
                           " --json a.json")
                     ->status,
                 0);
}

Test(report, draws_the_picture_of_equal_results_once, .init = make_picture)
{
    if (!can_draw())
        return;
    cr_assert_eq(run_shell("$hc report a.json --out page")->status, 0);
    cr_expect_str_eq(run_shell("grep -oE '^<h4>.*<|^On .*' page/report.html")->out,
                     "<h4><code>batchnorm/running-mean-bf16-operations</code><\n"
                     "On exact, host</figcaption>\n");
    cr_expect_str_eq(run_shell("sed 1,/'^On exact'/d page/report.html | grep -c '<svg'")->out,
                     "1\n");
}

Test(report, draws_results_apart_that_differ, .init = make_picture)
{
    if (!can_draw())
        return;
    cr_assert_eq(
        run_shell("sed '0,/0x1.04p+9/s//0x1.06p+9/' a.json >b.json; ! cmp -s a.json b.json")
            ->status,
        0);
    cr_assert_eq(run_shell("$hc report b.json --out page")->status, 0);
    cr_expect_str_eq(run_shell("grep -o '^On .*<' page/report.html")->out, "On exact<\nOn host<\n");
}

Test(report, shows_what_a_record_says_as_text, .init = make_picture)
{
    if (!can_draw())
        return;
    cr_assert_eq(
        run_shell("sed \"s/stalls at/\\`touch a\\` '; !touch b\\$(touch c)/\" a.json >b.json")
            ->status,
        0);
    const struct ran *ran = run_shell("$hc report b.json --out page");
    cr_expect_eq(ran->status, 0);
    cr_expect_str_eq(ran->err, "");
    cr_expect_str_eq(run_shell("ls -A page")->out, "report.html\n");
    cr_expect_eq(run_shell("grep -q '!touch b' page/report.html")->status, 0);
}

Test(report, warns_of_what_was_cut_short_and_of_faults, .init = make_records)
{
    cr_assert_eq(run_shell("sed 's/\"cut\": null/\"cut\": \"stopped <i>\"/' a.json >cut.json;"
                           " $hc run 'loss/*' --json other.json; $hc merge other.json cut.json"
                           " --json all.json; $hc run rounding/after-one --json bad.json --fault"
                           " $($hc list faults | head -1 | cut -f1); $hc report all.json bad.json"
                           " --out page")
                     ->status,
                 0);
    const char *lines[] = {
        "<p class=\"FAIL\">all.json, part cut was cut short: stopped &lt;i",
        "<p class=\"FAIL\">bad.json has a planted fault: ",
        "halfcheck run &#39;loss/*&#39; --json other.json</td>",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char line[200];
        (void)snprintf(line, sizeof line, "grep -qF '%s' page/report.html", lines[i]);
        cr_expect_eq(run_shell(line)->status, 0, "%s", lines[i]);
    }
    cr_assert_eq(run_shell("$hc report a.json --out page")->status, 0);
    cr_expect_eq(run_shell("grep -q '<p class=\"FAIL' page/report.html")->status, 1);
}

Test(report, without_gnuplot_says_so_and_is_written_all_the_same, .init = make_records)
{
    const struct ran *ran = run_shell("PATH=/nonexistent $hc report a.json --out page");
    cr_expect_eq(ran->status, 0);
    cr_expect_eq(lines_of(ran->err), 1, "%s", ran->err);
    cr_expect_not_null(strstr(ran->err, "gnuplot"), "%s", ran->err);
    cr_expect_eq(run_shell("grep -q 'No pictures' page/report.html")->status, 0);
}

Test(report, refuses_what_it_cannot_read_or_write, .init = make_records)
{
    expect_refusal("$hc report a.json", "--out");
    expect_refusal("$hc report --out page", "--out");
    expect_refusal("$hc report a.json none.json --out page", "none.json");
    expect_refusal("head -c 300 a.json >cut.json; $hc report cut.json --out page", "cut.json");
    expect_refusal("$hc report a.json --out a.json", "a.json");
    expect_refusal("$hc report a.json --out /nonexistent/page", "/nonexistent/page");
}

/* Nothing of the checkout is beside it, and its own path has a space. */
Test(report, a_program_that_was_moved_draws_its_pictures, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("mkdir 'a b' && cp $hc 'a b/hc' && 'a b/hc' run 'rounding/after-one' "
                  "--level quick --json r.json && 'a b/hc' report r.json --out page && "
                  "grep -c '<svg' page/report.html");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}

/* A record that was written by hand: a PASS with twice its bound. */
Test(report, shows_no_pass_whose_error_is_beyond_its_bound, .init = enter_folder)
{
    const struct ran *ran = run_shell(
        "$hc run rounding/after-one --level quick --backend exact --json r.json >/dev/null && "
        "sed -i 's/\"error\": \"[^\"]*\"/\"error\": \"0x1p9\"/' r.json && "
        "$hc report r.json --out page && grep -c '>FAIL<' page/report.html");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}
