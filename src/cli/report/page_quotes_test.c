/* The numbers of texts on the page of `halfcheck report`. */
#include "cli/report/wellformed.h"
#include "cli/testing.h"

static const char *page_of(const char *record)
{
    static char page[1 << 20];
    char line[256];
    (void)snprintf(line, sizeof line, "$hc report %s --out page", record);
    cr_assert_eq(run_shell(line)->status, 0);
    read_text("page/report.html", page, sizeof page);
    cr_expect_null(hc_malformed(page), "%.200s", hc_malformed(page));
    hc_drop_labels(page);
    return page;
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
