#include "cli/report/page_lists.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reasons that a family has in common are told once, and so many different ones at most. */
enum { MOST_REASONS = 3 };

static const char *record_of(const struct hc_page_record *records, int count,
                             const struct hc_page_group *group)
{
    return count > 1 ? records[group->first->record].name : NULL;
}

/* The cells with which each row begins. */
static void write_place(struct hc_page_out *out, const char *record,
                        const struct hc_page_group *group)
{
    if (record)
        hc_page_code_cell(out, record);
    hc_page_code_cell(out, group->name);
    hc_page_cell(out, group->first->row->backend);
}

static bool was_told(const struct hc_page_result *results, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(results[j].row->note, results[i].row->note) == 0 &&
            hc_row_verdict(results[j].row) == hc_row_verdict(results[i].row))
            return true;
    return false;
}

static void write_reasons(struct hc_page_out *out, const struct hc_page_group *group)
{
    const struct hc_page_result *results = group->of_kind[HC_PAGE_NOT_CHECKED];
    int told = 0;
    int untold = 0;
    hc_page_begin(out, HC_BLOCK_CELL, NULL);
    for (int i = 0; i < group->kinds[HC_PAGE_NOT_CHECKED]; i++) {
        if (was_told(results, i))
            continue;
        if (told == MOST_REASONS) {
            untold++;
            continue;
        }
        if (told++)
            hc_page_break(out);
        hc_page_verdict(out, hc_verdict_names[hc_row_verdict(results[i].row)]);
        hc_page_text(out, " ");
        hc_page_code(out, results[i].row->name);
        hc_page_text(out, results[i].row->note[0] ? ": " : "");
        hc_page_text(out, results[i].row->note);
    }
    if (untold) {
        char more[64];
        (void)snprintf(more, sizeof more, "and %d more with reasons of their own", untold);
        hc_page_break(out);
        hc_page_text(out, more);
    }
    hc_page_end(out, HC_BLOCK_CELL);
}

void hc_page_write_not_checked(struct hc_page_out *out, const struct hc_page_record *records,
                               int count, const struct hc_page_results *results)
{
    static const char *const titles[] = {"record", "cases", "backend", "#results", "why"};
    struct hc_page_group group = {0};
    if (results->kinds[HC_PAGE_NOT_CHECKED] == 0)
        return;
    hc_page_open(out, "section", NULL);
    hc_page_heading(out, 2, "not-checked");
    hc_page_text(out, "What was not checked");
    hc_page_heading_end(out, 2);
    hc_page_table(out, "What was not checked", titles + (count == 1), 5 - (count == 1));
    while (hc_page_group_next(results, &group)) {
        if (group.kinds[HC_PAGE_NOT_CHECKED] == 0)
            continue;
        hc_page_begin(out, HC_BLOCK_ROW, NULL);
        write_place(out, record_of(records, count, &group), &group);
        hc_page_number_cell(out, "%d", group.kinds[HC_PAGE_NOT_CHECKED]);
        write_reasons(out, &group);
        hc_page_end(out, HC_BLOCK_ROW);
    }
    hc_page_table_end(out);
    hc_page_close(out, "section");
}

static void write_family(struct hc_page_out *out, const char *record,
                         const struct hc_page_group *group)
{
    char number[HC_LONGEST_COUNT];
    const struct hc_page_result *nearest = group->of_kind[HC_PAGE_PASSED];
    long long checked = 0;
    double seconds = 0;
    for (int i = 0; i < group->kinds[HC_PAGE_PASSED]; i++) {
        checked += nearest[i].row->checked;
        seconds += nearest[i].row->seconds;
    }
    bool bounded = nearest->ratio > 0;
    hc_page_begin(out, HC_BLOCK_ROW, NULL);
    write_place(out, record, group);
    hc_page_number_cell(out, "%d", group->kinds[HC_PAGE_PASSED]);
    hc_page_number_cell(out, "%s", hc_page_count(checked, number));
    if (bounded)
        hc_page_number_cell(out, "%.3g", nearest->ratio);
    else
        hc_page_number_cell(out, "0");
    hc_page_code_cell(out, bounded ? nearest->row->name + nearest->family : "");
    hc_page_number_cell(out, "%.2f", seconds);
    hc_page_end(out, HC_BLOCK_ROW);
}

void hc_page_write_passes(struct hc_page_out *out, const struct hc_page_record *records, int count,
                          const struct hc_page_results *results)
{
    static const char *const titles[] = {"record",       "cases",        "backend",
                                         "#results",     "#comparisons", "#worst error/bound",
                                         "the worst is", "#seconds"};
    struct hc_page_group group = {0};
    char number[HC_LONGEST_COUNT];
    if (results->kinds[HC_PAGE_PASSED] == 0)
        return;
    hc_page_open(out, "section", NULL);
    hc_page_heading(out, 2, "passed");
    hc_page_text(out, "What passed");
    hc_page_heading_end(out, 2);
    hc_page_fold(out, results->count < 200);
    hc_page_print(out,
                  "%s results by family: a worst error/bound of 1 is still within its bound, "
                  "and 0 means that all bits or claims hold",
                  hc_page_count(results->kinds[HC_PAGE_PASSED], number));
    hc_page_fold_body(out);
    hc_page_table(out, "What passed, by family", titles + (count == 1), 8 - (count == 1));
    while (hc_page_group_next(results, &group))
        if (group.kinds[HC_PAGE_PASSED])
            write_family(out, record_of(records, count, &group), &group);
    hc_page_table_end(out);
    hc_page_fold_end(out);
    hc_page_close(out, "section");
}
