#include "cli/report/page_index.h"

#include <stdlib.h>
#include <string.h>

#include "cases/fixture/bug.h"
#include "cases/reports.h"
#include "cli/report/page_link.h"

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

static void write_report(struct hc_page_out *out, const struct hc_report *report,
                         const struct hc_page_record *records, int count)
{
    hc_page_begin(out, HC_BLOCK_ROW, NULL);
    hc_page_code_cell(out, report->slug);
    if (report->shown_by) {
        const char *verdict = verdict_of(report->shown_by, records, count);
        hc_page_code_cell(out, report->shown_by->name);
        if (strchr(verdict, ' '))
            hc_page_cell(out, verdict);
        else
            hc_page_verdict_cell(out, verdict);
    } else {
        hc_page_cell(out, report->reason);
    }
    hc_page_begin(out, HC_BLOCK_CELL, NULL);
    hc_page_write_linked(out, report->source);
    hc_page_end(out, HC_BLOCK_CELL);
    hc_page_end(out, HC_BLOCK_ROW);
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

/* The reports of one component, or those that are left out. */
static void write_component(struct hc_page_out *out, const struct hc_report **reports, int n,
                            const struct hc_page_record *records, int count)
{
    static const char *const shown[] = {"report", "shown by", "verdict", "source"};
    static const char *const left_out[] = {"report", "why", "source"};
    int length = component(reports[0]);
    hc_page_fold(out, false);
    if (length)
        hc_page_print(out, "%.*s: shown by cases of its own (%d)", length,
                      reports[0]->shown_by->name, n);
    else
        hc_page_print(out, "left out (%d)", n);
    hc_page_fold_body(out);
    hc_page_table(out, "Reports from the field", length ? shown : left_out, length ? 4 : 3);
    for (int i = 0; i < n; i++)
        write_report(out, reports[i], records, count);
    hc_page_table_end(out);
    hc_page_fold_end(out);
}

void hc_page_write_index(struct hc_page_out *out, const struct hc_page_record *records, int count)
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
        write_component(out, &other[i], end - i, records, count);
    }
    free(other);
}
