#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/fixture/bug.h"
#include "cases/fixture/prints.h"
#include "cases/registry.h"
#include "cases/reports.h"
#include "check/selftest/fault.h"

enum { MOST_LINES = 30 };

static const struct line {
    const char *slug;
    const char *source;
    const char *why; /* the case's name, or the reason */
} lines[] = {
#define HC_REPORT(slug, source, name)     {slug, source, name},
#define HC_LEFT_OUT(slug, source, reason) {slug, source, reason},
#include "cases/field/reports.def"
    {NULL, NULL, NULL}};

static bool is_slug(const char *text)
{
    return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-")] == '\0';
}

Test(reports, every_case_that_the_index_names_exists_and_no_report_stands_twice)
{
    int n;
    const struct hc_report *reports = hc_reports(&n);
    cr_assert_not_null(reports, "%s", hc_message());
    for (int i = 0; i < n; i++) {
        const struct hc_report *r = &reports[i];
        cr_assert(is_slug(r->slug), "'%s' is no slug", r->slug);
        cr_assert(r->source && *r->source, "%s has no source", r->slug);
        cr_assert((r->shown_by != NULL) != (r->reason && *r->reason), "%s", r->slug);
        if (i)
            cr_assert_str_neq(r->slug, reports[i - 1].slug, "%s stands twice: %s and %s", r->slug,
                              r->shown_by ? r->shown_by->name : "left out",
                              reports[i - 1].shown_by ? reports[i - 1].shown_by->name : "left out");
    }
}

Test(reports, the_index_is_sorted)
{
    for (int i = 1; lines[0].slug && lines[i].slug; i++)
        cr_assert_lt(strcmp(lines[i - 1].slug, lines[i].slug), 0, "%s stands before %s",
                     lines[i - 1].slug, lines[i].slug);
}

Test(reports, every_report_is_found_by_its_slug)
{
    int n;
    const struct hc_report *reports = hc_reports(&n);
    for (int i = 0; i < n; i++)
        cr_assert_eq(hc_report_by_slug(reports[i].slug), &reports[i]);
    cr_assert_null(hc_report_by_slug("no-such-report"));
}

Test(reports, a_row_that_shows_a_bug_again_names_the_row_and_has_its_report)
{
    int n;
    int count = 0;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_bug *bug = hc_bug_of(cases[i]);
        if (!bug || !bug->again)
            continue;
        const struct hc_case *first = hc_case_by_name(bug->again);
        cr_assert(first && hc_bug_of(first) && !hc_bug_of(first)->again, "%s", bug->again);
        cr_expect(hc_report_is_same(&(struct hc_report){.source = cases[i]->source},
                                    &(struct hc_report){.source = first->source}),
                  "%s: %s, %s", cases[i]->name, cases[i]->source, first->source);
        count++;
    }
    cr_expect_gt(count, 0);
}

Test(reports, two_entries_of_a_thread_are_one_report)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"x/y PR 9, 'A', https://h.example/9: more", "PR 9 of x, https://h.example/9, 2", true},
        {"x/y PR 9, 'A', https://h.example/9", "x/y PR 9, 'A', https://h.example/91", false},
        {"PyTorch forums 1765, 'A'", "PyTorch forums 1765, 'A'; x/y issue 3", true},
        {"fast.ai forums, 'A'", "fast.ai forums, 'B'", false},
        {"found by halfcheck", "found by halfcheck", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(hc_report_is_same(&(struct hc_report){.source = rows[i].a},
                                       &(struct hc_report){.source = rows[i].b}),
                     rows[i].same, "%s, %s", rows[i].a, rows[i].b);
}

/* field/<mechanism>/<slug>, and a symptom that is a sentence. */
Test(reports, a_row_is_named_by_mechanism_and_slug_and_has_a_lesson)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_bug *bug = hc_bug_of(cases[i]);
        if (!bug)
            continue;
        char mechanism[64];
        char slug[100];
        cr_assert_eq(sscanf(cases[i]->name, "field/%63[a-z0-9-]/%99s", mechanism, slug), 2, "%s",
                     cases[i]->name);
        cr_assert_null(strchr(slug, '/'), "%s", cases[i]->name);
        cr_assert_eq(cases[i]->title[strlen(cases[i]->title) - 1], '.', "%s: '%s'", cases[i]->name,
                     cases[i]->title);
        cr_assert(bug->lesson && *bug->lesson, "%s has no lesson", cases[i]->name);
    }
}

Test(reports, every_fault_that_a_row_names_exists)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_bug *bug = hc_bug_of(cases[i]);
        int f = 0;
        while (bug && bug->fault && f < hc_fault_count() &&
               strcmp(hc_fault_at(f)->name, bug->fault) != 0)
            f++;
        cr_assert_lt(f, hc_fault_count(), "%s: no fault '%s'", cases[i]->name,
                     bug ? bug->fault : "");
    }
}

/* A day, and the sum of what was written down on it. */
Test(reports, a_frozen_row_is_as_it_was_written_down)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_bug *bug = hc_bug_of(cases[i]);
        char want[32];
        if (!bug || !bug->frozen)
            continue;
        (void)snprintf(want, sizeof want, "%.10s %08x", bug->frozen, (unsigned)hc_bug_sum(bug));
        cr_expect_str_eq(bug->frozen, want, "%s has changed since: %s, not %s", cases[i]->name,
                         want, bug->frozen);
    }
}

/* Two lists of figures of one arm have as many places. */
static void check_figures(const struct hc_case *what, const struct hc_bug_arm *arm)
{
    if (arm->prints)
        cr_expect_gt(hc_prints_claims(arm->prints), 0, "%s: %s", what->name, arm->prints);
    if (arm->is)
        cr_expect_gt(hc_prints_claims(arm->is), 0, "%s: %s", what->name, arm->is);
    if (arm->prints && arm->is)
        cr_expect_eq(hc_prints_count(arm->prints), hc_prints_count(arm->is), "%s: %s", what->name,
                     arm->is);
}

Test(reports, a_list_of_figures_has_one_and_both_lists_of_an_arm_have_as_many_places)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_bug *bug = hc_bug_of(cases[i]);
        if (!bug)
            continue;
        check_figures(cases[i], &bug->buggy);
        check_figures(cases[i], &bug->fixed);
    }
}

/* Counts the lines of each row of a file, from HC_BUG( to the bracket that closes it. */
static void count_lines(const char *path, int *lines, int *rows)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    for (const char *at = text; (at = strstr(at, "HC_BUG(")) != NULL; (*rows)++) {
        const char *start = at;
        int depth = 0;
        bool quoted = false;
        lines[*rows] = 1;
        for (at += strlen("HC_BUG"); *at && (at == start + 6 || depth > 0); at++) {
            quoted = quoted != (*at == '"' && at[-1] != '\\');
            depth += quoted ? 0 : (*at == '(') - (*at == ')');
            lines[*rows] += *at == '\n';
        }
        cr_assert_eq(depth, 0, "%s: a row does not end", path);
        cr_expect_leq(lines[*rows], MOST_LINES, "%s: %.60s... takes %d lines", path, start,
                      lines[*rows]);
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The price of one more report. */
Test(reports, a_row_has_at_most_thirty_lines)
{
    static int lines[1000];
    int rows = 0;
    glob_t files;
    cr_assert_eq(glob(HC_SOURCE "/cases/field/*/*.c", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        count_lines(files.gl_pathv[i], lines, &rows);
    globfree(&files);
    cr_assert_gt(rows, 20);
    qsort(lines, (size_t)rows, sizeof *lines, by_number);
    printf("%d rows: %d lines in the middle, %d at most\n", rows, lines[rows / 2], lines[rows - 1]);
}
