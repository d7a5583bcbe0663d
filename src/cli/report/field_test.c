/* Bugs from the field, and the numbers of texts, on the page of `halfcheck report`. */
#include "cases/reports.h"
#include "cli/report/wellformed.h"
#include "cli/testing.h"

static const char *page_of(const char *records)
{
    static char page[1 << 22];
    char line[256];
    (void)snprintf(line, sizeof line, "$hc report %s --out page", records);
    cr_assert_eq(run_shell(line)->status, 0);
    read_text("page/report.html", page, sizeof page);
    cr_expect_null(hc_malformed(page), "%.200s", hc_malformed(page));
    hc_drop_labels(page);
    return page;
}

/* Every report that has a slug is on the page. */
Test(museum, the_page_accounts_for_every_report, .init = enter_folder)
{
    int n;
    const struct hc_report *reports = hc_reports(&n);
    cr_assert_eq(run_shell("$hc run 'field/*' --backend exact --json a.json")->status, 0);
    const char *page = page_of("a.json");
    for (int i = 0; i < n; i++)
        cr_expect_not_null(strstr(page, reports[i].slug), "%s", reports[i].slug);
}

static void make_record(void)
{
    enter_folder();
    cr_assert_eq(run_shell("$hc run 'field/hidden-overflow/*' order/clip-divides-again "
                           "--backend "
                           "exact,host --json a.json")
                     ->status,
                 0);
}

Test(museum, a_bug_has_its_symptom_source_table_and_lesson, .init = make_record)
{
    const char *page = page_of("a.json");
    static const char *const parts[] = {
        "<h2 id=\"bugs\">Bugs from the field</h2>",
        "<details ><summary>hidden-overflow (",
        "<p><code>field/hidden-overflow/adam-state-advances-on-skip</code> from ",
        "<a href=\"https://github.com/mlnomadpy/flaxchat/issues/6\">",
        "<td class=\"c\">weight</td>",
        "<p class=\"lesson\">A zero gradient is a step: ",
        ">clip-after-unscale-assumed-before</td><td class=\"c\">order/"
        "clip-divides-again</td>\n<td><b class=\"PASS\">PASS</b></td>",
        ">not in the record</td>",
        "<summary>left out (",
        ">topk-half-radix</td><td>The key",
        "<b class=\"PASS\">PASS</b> on exact, <b class=\"PASS\">PASS</b> on host",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        cr_expect_not_null(strstr(page, parts[i]), "%s", parts[i]);
}

Test(museum, a_failure_is_open_and_tells_its_words, .init = make_record)
{
    cr_assert_eq(run_shell("python3 -c 'import json; r = json.load(open(\"a.json\")); x = [x for x "
                           "in r[\"results\"] if x[\"case\"].endswith(\"nan-to-num-hides\")][0]; "
                           "x[\"verdict\"] = \"FAIL\"; x[\"note\"] = \"it <did> not show\"; "
                           "x[\"exhibits\"][0][\"name\"] = \"<b>w\"; "
                           "json.dump(r, open(\"b.json\", \"w\"))'")
                     ->status,
                 0);
    const char *page = page_of("b.json a.json");
    cr_expect_not_null(strstr(page, "open=\"open\"><summary>hidden-overflow"));
    cr_expect_not_null(strstr(page, "<b class=\"FAIL\">FAIL</b> 1</summary>"));
    cr_expect_not_null(strstr(page, "<p class=\"FAIL\">it &lt;did&gt; not show</p>"));
    cr_expect_not_null(strstr(page, "<td class=\"c\">&lt;b&gt;w</td>"));
    cr_expect_not_null(strstr(page, "on b.json: exact"));
}

Test(museum, a_case_that_this_program_does_not_know_is_shown_by_its_name, .init = make_record)
{
    cr_assert_eq(
        run_shell("sed 's,field/hidden-overflow/,field/later-version/,' a.json >b.json")->status,
        0);
    const char *page = page_of("b.json");
    cr_expect_not_null(strstr(page, "<summary>later-version "));
    cr_expect_not_null(strstr(page, "<h3>field/later-version/nan-to-num-hides</h3>"));
}

Test(museum, other_rules_judge_the_bugs_of_the_records, .init = make_record)
{
    const char *page = page_of("a.json");
    static const char *const parts[] = {
        "<h2 id=\"catches\">Who catches what</h2>",
        ">halfcheck&#39;s bound</td>",
        "<summary>What halfcheck itself misses</summary>",
        "<tr><td class=\"c\">field/hidden-overflow/nan-to-num-hides</td>"
        "<td>caught</td><td>caught</td><td>-</td><td>caught</td>"
        "<td class=\"miss\">missed</td><td>caught</td><td>caught</td></tr>",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        cr_expect_not_null(strstr(page, parts[i]), "%s", parts[i]);
    const char *first =
        strstr(page, "<td class=\"c\">field/hidden-overflow/nan-to-num-hides</td><td>");
    cr_assert_not_null(first);
    cr_expect_null(
        strstr(first + 1, "<td class=\"c\">field/hidden-overflow/nan-to-num-hides</td><td>"),
        "two backends show it, and it is judged once");
}

Test(museum, there_is_none_without_bugs, .init = enter_folder)
{
    cr_assert_eq(run_shell("$hc run rounding/after-one --json a.json")->status, 0);
    const char *page = page_of("a.json");
    cr_expect_null(strstr(page, "Bugs from the field"));
    cr_expect_null(strstr(page, "Who catches what"));
}

Test(quotes, a_text_has_a_table_of_what_it_says_and_what_is_true, .init = enter_folder)
{
    (void)run_shell("$hc run 'seeds/00[12]*' --backend exact,host --json a.json");
    const char *page = page_of("a.json");
    static const char *const parts[] = {
        "<h2 id=\"texts\">Numbers of texts</h2>",
        "<summary>fastai/fastai_old @c8285fbc",
        "<td>wrong</td><td class=\"c\">a - 1, b - 1</td><td class=\"c\">2e-10, -</td>"
        "<td class=\"c\">0, 9.765625e-4 exact</td>",
        "2^-10 is meant, which is 9.765625e-4.</td>",
        "<a href=\"https://github.com/fastai/fastai2/issues/241\">",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        cr_expect_not_null(strstr(page, parts[i]), "%s", parts[i]);
}

Test(quotes, one_that_failed_says_so, .init = enter_folder)
{
    (void)run_shell("$hc run 'seeds/001-fp16-notebook/1-*' --backend exact,host --json a.json; "
                    "python3 -c 'import json; r = json.load(open(\"a.json\")); "
                    "r[\"results\"][1][\"verdict\"] = \"FAIL\"; "
                    "r[\"results\"][1][\"note\"] = \"it <did> not\"; "
                    "json.dump(r, open(\"b.json\", \"w\"))'");
    const char *page = page_of("b.json");
    cr_expect_not_null(strstr(page, "<td><b class=\"FAIL\">FAIL</b></td>"));
    cr_expect_not_null(strstr(page, "<br/>it &lt;did&gt; not</td>"));
}

Test(quotes, there_is_no_section_without_them, .init = enter_folder)
{
    (void)run_shell("$hc run rounding/after-one --json a.json");
    cr_expect_null(strstr(page_of("a.json"), "Numbers of texts"));
}
