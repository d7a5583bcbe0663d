/* The page of `halfcheck report`, as a file and as the owner of a CI sees it: the verdict, what was
   run, what failed. */
#include <jansson.h>
#include <stdbool.h>

#include "cli/report/wellformed.h"
#include "cli/testing.h"

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
        "halfcheck run &#39;loss/*&#39; <span>--json</span> other.json</td>",
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

static char page[1 << 24];

static const char *make_page(const char *words, const char *name)
{
    char line[512];
    (void)snprintf(line, sizeof line, "$hc report %s --out page", words);
    const struct ran *ran = run_shell(line);
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    (void)snprintf(line, sizeof line, "page/%s", name);
    read_text(line, page, sizeof page);
    return page;
}

static void expect_parts(const char *const *parts)
{
    for (; *parts; parts++)
        cr_expect_not_null(strstr(page, *parts), "%s", *parts);
}

static void make_good(void)
{
    enter_folder();
    cr_assert_eq(
        run_shell("$hc run rounding/after-one 'eps/*' --backend exact --seed 7 --json good.json")
            ->status,
        0);
}

Test(report_page, begins_with_the_verdict_and_with_what_was_run, .init = make_good)
{
    static const char *const parts[] = {"<title>PASS: all ",
                                        "<h1><b>PASS</b> <span>all ",
                                        "<dt>Version</dt>",
                                        "<dt>Machine</dt>",
                                        "<dt>Backends</dt><dd>exact</dd>",
                                        "<dt>Level</dt><dd>standard</dd>",
                                        "<dt>Seed</dt><dd>7</dd>",
                                        "<dt>Cases</dt><dd>rounding/after-one eps/*</dd>",
                                        "<dt>Date</dt><dd>20",
                                        "<code>halfcheck run <span>rounding/after-one</span> "
                                        "&#39;eps/*&#39; <span>--backend</span> "
                                        "exact <span>--seed</span> 7",
                                        "<h2 id=\"passed\">",
                                        NULL};
    (void)make_page("good.json", "report.html");
    expect_parts(parts);
    cr_expect(run_shell("command -v gnuplot")->status != 0 || strstr(page, "\tmedian\t"),
              "the columns of a picture's data");
    cr_expect_null(hc_malformed(page), "%.200s", hc_malformed(page));
    cr_expect_null(strstr(page, "FAIL</b>"));
    cr_expect_null(strstr(page, "<h2 id=\"failures\">"));
}

Test(report_page, says_which_backends_were_left_out_and_why, .init = make_good)
{
    cr_assert_eq(
        run_shell("sed 's/\"left_out\": {/\"left_out\": {\"gpu\": \"no <GPU>\", \"other\": "
                  "\"no <GPU>\", \"small\": {\"op\": {\"absent\": 1200, \"refused\": 34, "
                  "\"why\": \"no gemm\"}},/; s/},}/}}/' good.json >left.json")
            ->status,
        0);
    static const char *const parts[] = {
        "<dd>gpu, other: no &lt;GPU&gt;<br/>small: 1,234 cases, the first because: no gemm", NULL};
    (void)make_page("left.json", "report.html");
    expect_parts(parts);
}

Test(report_page, shows_failures_first_with_numbers_and_commands, .init = enter_folder)
{
    (void)run_shell("$hc run 'bits/adamw/*' --backend exact --level quick --fault adamw-flushes "
                    "--json bad.json");
    static const char *const parts[] = {
        "<title>FAIL: 2 of 2 results failed; bad.json has a planted fault: adamw-flushes",
        "<h1><b>FAIL</b>",
        ": 2 of 2 failed</h3>",
        "<b class=\"FAIL\">FAIL</b> <code>bits/adamw/fp16</code>",
        "4 of 101,778 comparisons wrong</p>",
        "<pre tabindex=\"0\">halfcheck run bits/adamw/fp16 <span>--level</span> quick "
        "<span>--fault</span> <span>adamw-flushes</span>",
        NULL};
    (void)make_page("bad.json", "report.html");
    expect_parts(parts);
    cr_expect_lt(strstr(page, "id=\"failures\""), strstr(page, "id=\"pictures\""));
}

Test(report_page, claims_nothing_where_nothing_was_checked, .init = make_good)
{
    (void)run_shell("sed 's/\"PASS\"/\"SKIPPED\"/; s/\"note\": \"\"/\"note\": \"no GPU\"/' "
                    "good.json >none.json; sed 's/\"cut\": null/\"cut\": \"by <C-c>\"/' good.json "
                    ">cut.json");
    (void)make_page("none.json", "report.html");
    cr_expect_not_null(strstr(page, "<h1><b>NOTHING</b> <span>nothing was checked<"));
    cr_expect_not_null(strstr(page, "SKIPPED</b> <code>eps/"));
    cr_expect_not_null(strstr(page, ": no GPU</td>"));
    (void)make_page("cut.json", "report.html");
    cr_expect_not_null(strstr(page, "<h1><b>FAIL</b>"));
    cr_expect_not_null(strstr(page, "cut.json was cut short: by &lt;C-c&gt;"));
}

/* Each with texts of 100 characters. */
static void make_many(int count)
{
    json_t *record = json_load_file("good.json", 0, NULL);
    json_t *results = json_object_get(record, "results");
    json_t *one = json_incref(json_array_get(results, 0));
    char name[64];
    (void)json_array_clear(results);
    for (int i = 0; i < count; i++) {
        json_t *copy = json_deep_copy(one);
        (void)snprintf(name, sizeof name, "op/kind%d/case%d", i % 300, i);
        (void)json_object_set_new(copy, "case", json_string(name));
        (void)json_object_set_new(copy, "verdict", json_string("FAIL"));
        (void)json_object_set_new(copy, "note", json_sprintf("%0100d", i));
        (void)json_object_set_new(copy, "repro", json_sprintf("halfcheck run %s --seed 7", name));
        (void)json_array_append_new(results, copy);
    }
    cr_assert_eq(json_dump_file(record, "many.json", 0), 0);
    json_decref(one);
    json_decref(record);
}

Test(report_page, of_many_failures_shows_the_worst_and_how_to_repeat_all, .init = make_good)
{
    make_many(14000);
    (void)make_page("many.json", "report.html");
    cr_expect_lt(strlen(page), 2u << 20);
    cr_expect_not_null(strstr(page, "14,000 of 14,000 results failed"));
    cr_expect_not_null(strstr(page, "<p>44 more are in the record.</p>"));
    cr_expect_not_null(strstr(page, ">halfcheck run &#39;op/kind299/*&#39; <span>--seed</span> 7"));
    (void)make_page("many.json --format md", "report.md");
    cr_expect_lt(strlen(page), 1u << 20, "GitHub takes no longer summary of a job");
    cr_expect_not_null(strstr(page, "\nhalfcheck run 'op/kind299/*' --seed 7\n"));
    (void)run_shell("sed 's/\"PASS\"/\"FAIL\"/' good.json >bad.json");
    (void)make_page("bad.json --format md", "report.md");
    cr_expect_not_null(strstr(page, "\n13 more are in the record.\n"), "nothing folds there");
}

Test(report_page, says_what_was_trained_and_how, .init = make_good)
{
    (void)run_shell(
        "sed '0,/{/s//{\"training\": {\"network\": \"net<1>\", \"data\": \"images\","
        " \"ranks\": 4, \"classes\": [\"cat\", \"dog\"], \"epochs\": 5, \"batch\": 64, \"max_lr\":"
        " 0.003},/' good.json >trained.json");
    (void)make_page("trained.json", "report.html");
    cr_expect_not_null(strstr(page,
                              "<dt>Training</dt><dd>net&lt;1&gt;, images (cat, dog); epochs 5,"
                              " batch 64, 4 ranks, highest learning rate 0.003</dd>"));
    (void)make_page("good.json", "report.html");
    cr_expect_null(strstr(page, "<dt>Training"));
}

Test(report_page, compares_with_a_baseline, .init = make_good)
{
    (void)run_shell("sed '0,/\"PASS\"/s//\"FAIL\"/' good.json >worse.json");
    (void)make_page("good.json --baseline good.json", "report.html");
    cr_expect_not_null(strstr(page, "<h1><b>PASS</b>"));
    cr_expect_not_null(strstr(page, "; nothing is worse than in the baseline</span>"));
    (void)make_page("worse.json --baseline good.json", "report.html");
    static const char *const parts[] = {"; against the baseline: 1 worse (1 verdict)</span>",
                                        "<h2 id=\"baseline\">", "<h3>worse: 1</h3>",
                                        "data-label=\"kind\">verdict</td>", NULL};
    expect_parts(parts);
    cr_expect_null(hc_malformed(page), "%.200s", hc_malformed(page));
    (void)run_shell("$hc run 'eps/*' --backend exact --seed 7 --json less.json");
    (void)make_page("less.json --baseline good.json", "report.html");
    cr_expect_not_null(strstr(page, "<h1><b>FAIL</b> <span>against the baseline: "));
    expect_refusal("$hc report good.json worse.json --baseline good.json --out page", "one record");
    expect_refusal("$hc report good.json --baseline none.json --out page", "none.json");
}

Test(report_page, is_markdown_that_no_text_can_break, .init = make_good)
{
    cr_assert_eq(run_shell("python3 -c 'import json\n"
                           "r = json.load(open(\"good.json\"))\n"
                           "for i, x in enumerate(r[\"results\"]):\n"
                           "    x[\"case\"] += \"|`<b>``*_[a](b)\" + str(i)\n"
                           "    x[\"note\"] = \"<script>|a|\\n\\n# ![x](http://x/)\"\n"
                           "    x[\"verdict\"] = (\"FAIL\", \"SKIPPED\", \"PASS\")[i % 3]\n"
                           "    x[\"repro\"] = \"```\\n# a\"\n"
                           "json.dump(r, open(\"b.json\", \"w\"))'")
                     ->status,
                 0);
    (void)make_page("b.json --format md", "report.md");
    static const char *const parts[] = {"# halfcheck: FAIL\n",
                                        "\n## What failed\n",
                                        "&lt;script&gt;\\|a\\|  \\# !\\[x\\](http://x/)",
                                        "````text\n```\n# a\n````",
                                        "``` eps/",
                                        NULL};
    static const char *const never[] = {"<script", "\n# !", "[x]", NULL};
    expect_parts(parts);
    for (const char *const *bad = never; *bad; bad++)
        cr_expect_null(strstr(page, *bad), "%s", *bad);
    for (const char *row = page; (row = strstr(row, "\n| ")) != NULL; row++)
        cr_expect_eq(strcspn(row + 1, "\n"), (size_t)(strstr(row, " |\n") - row) + 1, "%.200s",
                     row);
    cr_expect_str_eq(run_shell("ls page")->out, "report.md\n");
}

Test(report_page, is_a_pdf_where_there_is_a_browser, .init = make_good)
{
    const struct ran *ran = run_shell("mkdir bin; ln -s $(command -v gnuplot) bin/; PATH=$PWD/bin "
                                      "$hc report good.json --format pdf --out page");
    cr_expect_eq(ran->status, 2);
    cr_expect_not_null(strstr(ran->err, "neither Chromium nor Chrome"), "%s", ran->err);
    cr_expect_str_eq(run_shell("ls -A page")->out, "", "nothing is left behind");
    if (run_shell("command -v chromium-headless-shell || command -v chromium")->status != 0)
        return;
    ran = run_shell("$hc report good.json --format pdf --out 'a page #1'");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_str_eq(run_shell("head -c 5 'a page #1/report.pdf'")->out, "%PDF-");
    cr_expect_str_eq(run_shell("ls -A 'a page #1'")->out, "report.pdf\n");
}

Test(report_page, refuses_a_format_that_it_does_not_know, .init = make_good)
{
    expect_refusal("$hc report good.json --format docx --out page", "docx");
}

/* The page and its pictures where there is nothing, one thing, too much, or no number. */
static json_t *result(const char *name, const char *backend, const char *error, const char *bound)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:s, s:s}", "case",
                     name, "backend", backend, "verdict", "PASS", "checked", 1, "error", error,
                     "bound", bound, "unit", "ulp", "implementation", error, "format", bound,
                     "seed", "0", "seconds", 0.5, "note", "", "repro", "halfcheck run x");
}

/* A curve of three points whose y are given; with a logarithmic axis where log_y. */
static json_t *picture(const char *ys, bool log_y)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:[], s:[{s:s, s:s, s:s}]}", "title",
                     "a picture", "x", "step", "y", "value", "log_x", 0, "log_y", log_y, "bars", 0,
                     "marks", "series", "name", "curve", "x", "0x1p+0 0x1p+1 0x1.8p+1", "y", ys);
}

/* Writes the results as a record and reads the page that report makes of it. */
static void draw_page(json_t *results)
{
    json_t *record = json_pack("{s:i, s:{}, s:o}", "schema", 1, "environment", "results", results);
    cr_assert_not_null(record);
    cr_assert_eq(json_dump_file(record, "r.json", 0), 0);
    json_decref(record);
    const struct ran *ran = run_shell("$hc report r.json --out page");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect(*ran->err == '\0' || strstr(ran->err, "not installed") != NULL, "%s", ran->err);
    read_text("page/report.html", page, sizeof page);
    cr_expect_null(hc_malformed(page), "%.200s", hc_malformed(page));
    cr_expect_null(strstr(page, "-nan"));
    cr_expect_str_eq(run_shell("ls -A page")->out, "report.html\n");
}

static int pictures_in_page(void)
{
    int count = 0;
    for (const char *at = page; (at = strstr(at, "<svg")) != NULL; at++)
        count++;
    return count;
}

static json_t *with_picture(json_t *row, json_t *drawn)
{
    (void)json_object_set_new(row, "pictures", json_pack("[o]", drawn));
    return row;
}

Test(report_extremes, an_empty_record_makes_a_page_without_pictures, .init = enter_folder)
{
    draw_page(json_array());
    cr_expect_eq(pictures_in_page(), 0);
}

Test(report_extremes, one_result_is_drawn, .init = enter_folder)
{
    draw_page(json_pack("[o]", result("a/b", "exact", "0x1p-2", "0x1p+0")));
    cr_expect_eq(pictures_in_page(), can_draw() ? 2 : 0);
}

Test(report_extremes, every_group_has_a_row_of_its_own, .init = enter_folder)
{
    char name[64];
    char want[64];
    json_t *results = json_array();
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "group%d/case", i);
        (void)json_array_append_new(results, result(name, "exact", "0x1p-2", "0x1p+0"));
    }
    draw_page(results);
    for (int i = 0; i < 200 && can_draw(); i++) {
        (void)snprintf(want, sizeof want, ">group%d<", i);
        cr_expect_not_null(strstr(page, want), "%s", want);
    }
}

/* A NaN has a place of its own: neither the edge for what is beyond the bound, nor 0. */
Test(report_extremes, what_is_not_a_number_is_drawn_and_told_as_such, .init = enter_folder)
{
    static const char *const nans[] = {"nan", "-nan"};
    for (int i = 0; i < 2; i++) {
        draw_page(json_pack("[oo]", result("a/b", "exact", nans[i], "0x1p+0"),
                            with_picture(result("a/c", "exact", nans[i], nans[i]),
                                         picture("nan nan -nan", false))));
        cr_expect_not_null(strstr(page, "; error NaN, bound 1 ulp"));
        if (!can_draw())
            continue;
        cr_expect_not_null(strstr(page, ">NaN<"), "no tic for what is no number");
        cr_expect_not_null(strstr(page, "no picture: none of its points is a number"));
    }
}

Test(report_extremes, a_curve_says_from_where_on_it_is_not_finite, .init = enter_folder)
{
    if (!can_draw())
        return;
    draw_page(json_pack("[o]", with_picture(result("a/b", "exact", "0x0p+0", "0x0p+0"),
                                            picture("0x1p+0 nan inf", false))));
    cr_expect_not_null(strstr(page, "curve (not finite from 2 on)"));
}

/* The plot has 340 pixels less the key, which were too few for it beside a key of seven lines. */
Test(report_extremes, a_long_key_makes_a_picture_higher, .init = enter_folder)
{
    json_t *drawn = picture("0x1p+0 0x1p+1 0x1p+2", false);
    json_t *series = json_object_get(drawn, "series");
    for (int i = 1; i < 7; i++) {
        json_t *more = json_copy(json_array_get(series, 0));
        (void)json_object_set_new(more, "name",
                                  json_sprintf("a curve whose name takes a line by itself, %d", i));
        (void)json_array_append_new(series, more);
    }
    draw_page(json_pack("[o]", with_picture(result("a/b", "exact", "0x0p+0", "0x0p+0"), drawn)));
    if (can_draw())
        cr_expect_not_null(strstr(page, "viewBox=\"0 0 600 442\""), "340 and six lines of 17");
}

Test(report_extremes, all_equal_zero_and_huge_values_are_drawn, .init = enter_folder)
{
    static const char *const ys[] = {"0x1p+0 0x1p+0 0x1p+0", "0x0p+0 0x0p+0 0x0p+0",
                                     "-0x1p+1000 0x0p+0 0x1p+1000"};
    for (int i = 0; i < 6; i++) {
        bool drawable = i % 2 == 0 || i / 2 != 1; /* a logarithm shows no zeros */
        draw_page(json_pack("[o]", with_picture(result("a/b", "exact", "0x0p+0", "0x0p+0"),
                                                picture(ys[i / 2], i % 2))));
        cr_expect_eq(pictures_in_page(), can_draw() ? 2 + drawable : 0, "%s: %d", ys[i / 2],
                     pictures_in_page());
    }
}

Test(report_extremes, names_of_two_hundred_characters_leave_room_for_the_picture,
     .init = enter_folder)
{
    char name[256];
    char full[256];
    memset(name, 'x', 200);
    (void)strcpy(name + 200, "1/y");
    (void)strcpy(full, name);
    full[200] = '2';
    draw_page(json_pack("[oo]", result(name, "exact", "0x1p-2", "0x1p+0"),
                        result(full, "exact", "0x1p-2", "0x1p+0")));
    full[201] = '\0';
    cr_expect_not_null(strstr(page, full), "the family is whole in the table");
    if (can_draw()) {
        cr_expect_not_null(strstr(page, "\xe2\x80\xa6xxx"), "short in the picture");
        cr_expect_not_null(strstr(page, "xxx1<"));
        cr_expect_not_null(strstr(page, "xxx2<"), "two groups, though only their ends differ");
    }
}

Test(report_extremes, ten_thousand_results_are_one_page, .init = enter_folder)
{
    char name[64];
    json_t *results = json_array();
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof name, "op/kind%d/case%d", i % 50, i);
        (void)json_array_append_new(
            results, result(name, i % 3 ? "exact" : "host", "0x1p-2", i % 7 ? "0x1p+0" : "0x0p+0"));
    }
    draw_page(results);
    cr_expect_not_null(strstr(page, ">op/kind49<"), "its family");
    cr_expect_null(strstr(page, "op/kind49/case9949"), "not each of its results");
    cr_expect_lt(strlen(page), 2u << 20);
    cr_expect_eq(pictures_in_page(), can_draw() ? 2 : 0);
}
