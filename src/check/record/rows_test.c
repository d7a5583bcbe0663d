#include "check/record/rows.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/report/wellformed.h"

static const struct hc_case what = {.name = "eps/claim", .title = "", .source = ""};
static const struct hc_run_options options = {.level = HC_QUICK, .seed = 9};

/* A result of each verdict. */
static struct hc_rows all_verdicts(void)
{
    struct hc_rows rows = {0};
    for (int v = 0; v < HC_VERDICT_COUNT; v++) {
        struct hc_result result = {.what = &what,
                                   .backend = v % 2 ? "host" : "exact",
                                   .verdict = (enum hc_verdict)v,
                                   .error = 3,
                                   .bound = 2,
                                   .unit = "ulp",
                                   .implementation = (double)NAN,
                                   .format = (double)NAN};
        (void)snprintf(result.note, sizeof result.note, "why <%d> & \"so\"\n", v);
        cr_assert_eq(hc_rows_add(&rows, &result, &options, NULL), HC_OK);
    }
    return rows;
}

static int times(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        n++;
    return n;
}

Test(rows, repro_names_what_is_not_the_default)
{
    struct hc_rows rows = all_verdicts();
    cr_assert_str_eq(rows.row[1].repro,
                     "halfcheck run eps/claim --backend host --level quick --seed 9");
    hc_rows_free(&rows);
}

Test(rows, repro_of_a_fault_leaves_its_backend_to_the_faults_row)
{
    struct hc_rows rows = {0};
    struct hc_result result = {.what = &what, .backend = "host+wrong", .unit = "ulp"};
    cr_assert_eq(hc_rows_add(&rows, &result, &options, "wrong"), HC_OK);
    cr_assert_str_eq(rows.row[0].repro,
                     "halfcheck run eps/claim --level quick --seed 9 --fault wrong");
    hc_rows_free(&rows);
}

Test(rows, unimplemented_and_mistrusted_are_bad_only_when_strict)
{
    for (int strict = 0; strict < 2; strict++)
        for (int v = 0; v < HC_VERDICT_COUNT; v++) {
            bool soft = v == HC_UNIMPLEMENTED || v == HC_MISTRUSTED;
            bool bad = v == HC_FAIL || v == HC_ERROR || (soft && strict);
            cr_assert_eq(hc_verdict_is_bad((enum hc_verdict)v, strict), bad, "%d %d", v, strict);
        }
}

static void tap(bool strict, char *text, size_t size)
{
    struct hc_rows rows = all_verdicts();
    FILE *out = fmemopen(text, size, "w");
    hc_tap_begin(out, "some\nresults");
    for (int i = 0; i < rows.count; i++)
        hc_tap_row(out, i + 1, &rows.row[i], strict);
    hc_tap_plan(out, rows.count);
    (void)fclose(out);
    hc_rows_free(&rows);
}

Test(tap, not_ok_without_todo_is_what_is_bad)
{
    char text[8192];
    tap(false, text, sizeof text);
    cr_assert_eq(times(text, "\nok "), 2); /* PASS, SKIPPED */
    cr_assert_eq(times(text, "\nnot ok "), 4);
    cr_assert_eq(times(text, " # TODO "), 2);
    cr_assert_eq(times(text, " # SKIP "), 1);
    cr_assert_not_null(strstr(text, "note: \"why <1> & \\\"so\\\" \"\n"));
    cr_assert_eq(strncmp(text, "TAP version 13\n# some results\nok 1", 34), 0, "%s", text);
    cr_assert_not_null(strstr(text, "\n1..6\n"));
    tap(true, text, sizeof text);
    cr_assert_eq(times(text, "\nnot ok "), 4);
    cr_assert_eq(times(text, " # TODO "), 0);
}

static void junit(bool strict, char *text, size_t size)
{
    char path[] = "/tmp/halfcheck-junit-XXXXXX";
    struct hc_rows rows = all_verdicts();
    cr_assert_geq(mkstemp(path), 0);
    cr_assert_eq(hc_junit_write(&rows, strict, path), HC_OK);
    FILE *file = fopen(path, "r");
    text[fread(text, 1, size - 1, file)] = '\0';
    (void)fclose(file);
    (void)remove(path);
    hc_rows_free(&rows);
}

Test(junit, counts_agree_with_the_elements_and_texts_are_escaped)
{
    char text[8192];
    junit(false, text, sizeof text);
    cr_assert_eq(times(text, "<testsuite "), 2);
    cr_assert_eq(times(text, "<testcase "), HC_VERDICT_COUNT);
    cr_assert_eq(times(text, "<failure "), 1);
    cr_assert_eq(times(text, "<error "), 1);
    cr_assert_eq(times(text, "<skipped "), 3);
    cr_assert_not_null(
        strstr(text, "name=\"halfcheck host\" tests=\"3\" failures=\"1\" errors=\"1\""));
    cr_assert_not_null(strstr(text, "why &lt;1&gt; &amp; &quot;so&quot; "));
    junit(true, text, sizeof text);
    cr_assert_eq(times(text, "<failure "), 3);
    cr_assert_eq(times(text, "<skipped "), 1);
}

/* Names of plug-ins, notes that quote others, and NaNs: the document stays XML, the lines stay
   lines. */
Test(rows, any_text_is_text_in_what_ci_systems_read)
{
    static const struct hc_case odd = {.name = "<a>&\"'/\xff`", .title = "", .source = ""};
    static char text[16384];
    struct hc_rows rows = {0};
    struct hc_result result = {.what = &odd,
                               .backend = "\"><script>alert(1)</script>",
                               .verdict = HC_SKIPPED,
                               .error = copysign((double)NAN, -1),
                               .bound = 2,
                               .unit = "<ulp>&",
                               .implementation = (double)NAN,
                               .format = (double)NAN};
    (void)snprintf(result.note, sizeof result.note, "]]></skipped>\001\n<b c='d'>&amp; \xc3");
    cr_assert_eq(hc_rows_add(&rows, &result, &options, NULL), HC_OK);
    char path[] = "/tmp/halfcheck-junit-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(close(file), 0);
    cr_assert_eq(hc_junit_write(&rows, false, path), HC_OK);
    FILE *in = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    (void)fclose(in);
    (void)unlink(path);
    cr_expect_null(hc_malformed(text), "%s", hc_malformed(text));
    cr_expect_null(strstr(text, "<script"));
    cr_expect_null(strstr(text, "-nan"), "%s", text);
    FILE *out = fmemopen(text, sizeof text, "w");
    hc_tap_row(out, 2, &rows.row[0], false);
    (void)fclose(out);
    cr_expect_eq(times(text, "\n"), 11, "%s", text);
    cr_expect_null(strstr(text, "-nan"), "%s", text);
    hc_rows_free(&rows);
}
