#include "cli/report/page_index.h"

#include <stdlib.h>
#include <string.h>

#include "cases/fixture/bug.h"
#include "cases/reports.h"
#include "cli/report/page_link.h"
#include "op/text.h"

static void cell(FILE *out, const char *class, const char *text)
{
    (void)fprintf(out, "<td class=\"%s\">", class);
    hc_text_markup(out, text);
    (void)fputs("</td>", out);
}

/* By the case that shows them, those left out at the end. */
static int by_case(const void *a, const void *b)
{
    const struct hc_report *x = *(const struct hc_report *const *)a;
    const struct hc_report *y = *(const struct hc_report *const *)b;
    if (!x->shown_by || !y->shown_by)
        return (y->shown_by != NULL) - (x->shown_by != NULL);
    int order = strcmp(x->shown_by->name, y->shown_by->name);
    return order ? order : strcmp(x->slug, y->slug);
}

/* The worst verdict of a case in all records. */
static const char *verdict_of(const struct hc_case *what, const struct hc_page_record *records,
                              int count)
{
    static const int badness[HC_VERDICT_COUNT] = {
        [HC_SKIPPED] = 1,    [HC_PASS] = 2,  [HC_UNIMPLEMENTED] = 3,
        [HC_MISTRUSTED] = 4, [HC_ERROR] = 5, [HC_FAIL] = 6};
    int worst = -1;
    for (int r = 0; r < count; r++)
        for (int i = 0; i < records[r].record.count; i++) {
            const struct hc_row *row = &records[r].record.rows[i];
            if (strcmp(row->name, what->name) != 0)
                continue;
            int verdict = (int)hc_row_verdict(row);
            if (worst < 0 || badness[verdict] > badness[worst])
                worst = verdict;
        }
    return worst < 0 ? "not in the record" : hc_verdict_names[worst];
}

static void write_report(FILE *out, const struct hc_report *report,
                         const struct hc_page_record *records, int count)
{
    (void)fputs("<tr>", out);
    cell(out, "c", report->slug);
    if (report->shown_by) {
        const char *verdict = verdict_of(report->shown_by, records, count);
        cell(out, "c", report->shown_by->name);
        cell(out, strchr(verdict, ' ') ? "f" : verdict, verdict);
    } else {
        cell(out, "", report->reason);
    }
    (void)fputs("<td>", out);
    hc_page_write_linked(out, report->source);
    (void)fputs("</td></tr>\n", out);
}

/* The length of the component's name; 0 for a report that is left out. */
static int component(const struct hc_report *report)
{
    return report->shown_by ? (int)strcspn(report->shown_by->name, "/") : 0;
}

static bool same_component(const struct hc_report *x, const struct hc_report *y)
{
    int n = component(x);
    return n == component(y) &&
           (n == 0 || strncmp(x->shown_by->name, y->shown_by->name, (size_t)n) == 0);
}

void hc_page_write_index(FILE *out, const struct hc_page_record *records, int count)
{
    int n;
    int others = 0;
    const struct hc_report *reports = hc_reports(&n);
    const struct hc_report **other = calloc((size_t)n + 1, sizeof *other);
    for (int i = 0; i < n && other; i++)
        if (!reports[i].shown_by || !hc_bug_of(reports[i].shown_by))
            other[others++] = &reports[i];
    if (others)
        qsort(other, (size_t)others, sizeof *other, by_case);
    for (int i = 0, end; i < others; i = end) {
        for (end = i; end < others && same_component(other[i], other[end]);)
            end++;
        int length = component(other[i]);
        (void)fputs("<details class=\"m\"><summary>", out);
        if (length)
            (void)fprintf(out, "%.*s: shown by cases of its own", length, other[i]->shown_by->name);
        else
            (void)fputs("left out", out);
        (void)fprintf(out, " <span class=\"f\">%d</span></summary>\n<table><tr><th>report</th>",
                      end - i);
        (void)fputs(length ? "<th>shown by</th><th>verdict</th>" : "<th>why</th>", out);
        (void)fputs("<th>source</th></tr>\n", out);
        for (int k = i; k < end; k++)
            write_report(out, other[k], records, count);
        (void)fputs("</table></details>\n", out);
    }
    free(other);
}
