#include "cli/report/page_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/rows.h"

static enum hc_page_kind kind_of(enum hc_verdict verdict)
{
    if (hc_verdict_is_bad(verdict, false))
        return HC_PAGE_FAILED;
    return verdict == HC_PASS ? HC_PAGE_PASSED : HC_PAGE_NOT_CHECKED;
}

/* The length of the first two parts of a name that has three or more, or else of the first. */
static int family_of(const char *name)
{
    size_t length = strcspn(name, "/");
    size_t second = name[length] ? 1 + strcspn(name + length + 1, "/") : 0;
    return (int)(name[length + second] ? length + second : length);
}

static int compare_families(const struct hc_page_result *x, const struct hc_page_result *y)
{
    int shorter = x->family < y->family ? x->family : y->family;
    int order = memcmp(x->row->name, y->row->name, (size_t)shorter);
    if (!order)
        order = x->family - y->family;
    if (!order)
        order = x->record - y->record;
    return order ? order : strcmp(x->row->backend, y->row->backend);
}

/* A NaN is further off than any number. */
static double weight(const struct hc_page_result *result)
{
    return isnan(result->ratio) ? (double)INFINITY : result->ratio;
}

static int by_place(const void *a, const void *b)
{
    const struct hc_page_result *x = a;
    const struct hc_page_result *y = b;
    int order = compare_families(x, y);
    if (!order)
        order = (int)x->kind - (int)y->kind;
    if (!order)
        order = (weight(x) < weight(y)) - (weight(x) > weight(y));
    if (!order)
        order = (x->row->wrong < y->row->wrong) - (x->row->wrong > y->row->wrong);
    return order ? order : strcmp(x->row->name, y->row->name);
}

enum hc_status hc_page_results_sort(const struct hc_page_record *records, int count,
                                    struct hc_page_results *results)
{
    int n = 0;
    *results = (struct hc_page_results){0};
    for (int r = 0; r < count; r++)
        n += records[r].record.count;
    results->all = calloc((size_t)n + 1, sizeof *results->all);
    if (!results->all)
        return hc_fail(HC_NO_MEMORY, "no memory for the page");
    for (int r = 0; r < count; r++)
        for (int i = 0; i < records[r].record.count; i++) {
            const struct hc_row *row = &records[r].record.rows[i];
            enum hc_verdict verdict = hc_row_verdict(row);
            results->all[results->count++] =
                (struct hc_page_result){.row = row,
                                        .record = r,
                                        .kind = kind_of(verdict),
                                        .ratio = hc_ratio(row->error, row->bound),
                                        .family = family_of(row->name)};
            results->kinds[kind_of(verdict)]++;
            results->of_verdict[verdict]++;
        }
    qsort(results->all, (size_t)n, sizeof *results->all, by_place);
    return HC_OK;
}

void hc_page_results_free(struct hc_page_results *results)
{
    free(results->all);
}

bool hc_page_group_next(const struct hc_page_results *results, struct hc_page_group *group)
{
    const struct hc_page_result *end = results->all + results->count;
    const struct hc_page_result *first = group->first ? group->first + group->count : results->all;
    if (first == end)
        return false;
    *group = (struct hc_page_group){.first = first};
    for (const struct hc_page_result *at = first; at < end && compare_families(first, at) == 0;
         at++) {
        if (group->kinds[at->kind]++ == 0)
            group->of_kind[at->kind] = at;
        group->count++;
    }
    (void)snprintf(group->name, sizeof group->name, "%.*s", first->family, first->row->name);
    return true;
}
