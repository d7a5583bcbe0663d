/* The results on the page, by family: what failed, what was not checked, and what passed. */
#include "cli/report/sections.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/rows.h"
#include "op/text.h"

/* The page has room for so many failures. Of each group the first ones are shown at once. Reasons
   that a family has in common are told once, and so many different ones at most. */
enum { ROOM = 1000, AT_ONCE = 5, MOST_REASONS = 3 };

static enum hc_page_kind kind_of(enum hc_verdict verdict)
{
    if (hc_verdict_is_bad(verdict, false))
        return HC_PAGE_FAILED;
    return verdict == HC_PASS ? HC_PAGE_PASSED : HC_PAGE_NOT_CHECKED;
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

enum hc_status hc_page_results_sort(const struct hc_page *page, struct hc_page_results *results)
{
    int n = 0;
    *results = (struct hc_page_results){0};
    for (int r = 0; r < page->count; r++)
        n += page->records[r].record.count;
    results->all = calloc((size_t)n + 1, sizeof *results->all);
    if (!results->all)
        return hc_fail(HC_NO_MEMORY, "no memory for the page");
    for (int r = 0; r < page->count; r++)
        for (int i = 0; i < page->records[r].record.count; i++) {
            const struct hc_row *row = &page->records[r].record.rows[i];
            enum hc_verdict verdict = hc_row_verdict(row);
            results->all[results->count++] =
                (struct hc_page_result){.row = row,
                                        .record = r,
                                        .kind = kind_of(verdict),
                                        .ratio = hc_ratio(row->error, row->bound),
                                        .family = hc_family_length(row->name)};
            results->kinds[kind_of(verdict)]++;
            results->of_verdict[verdict]++;
        }
    qsort(results->all, (size_t)n, sizeof *results->all, by_place);
    return HC_OK;
}

/* The results of one family in one record on one backend. */
struct group {
    const struct hc_page_result *first;
    int count;
    const struct hc_page_result *of_kind[HC_PAGE_KINDS]; /* where those of each kind begin */
    int kinds[HC_PAGE_KINDS];                            /* and how many there are */
    char name[512];                                      /* of the family */
};

/* The next group; the first one after (struct group){0}. Returns false behind the last. */
static bool next_group(const struct hc_page_results *results, struct group *group)
{
    const struct hc_page_result *end = results->all + results->count;
    const struct hc_page_result *first = group->first ? group->first + group->count : results->all;
    if (first == end)
        return false;
    *group = (struct group){.first = first};
    for (const struct hc_page_result *at = first; at < end && compare_families(first, at) == 0;
         at++) {
        if (group->kinds[at->kind]++ == 0)
            group->of_kind[at->kind] = at;
        group->count++;
    }
    (void)snprintf(group->name, sizeof group->name, "%.*s", first->family, first->row->name);
    return true;
}

/* A row of a table, and what each row begins with. */
static json_t *add_group(json_t *list, const struct hc_page *page, const struct group *group,
                         enum hc_page_kind kind)
{
    json_t *row = hc_page_add(list);
    hc_page_text(row, "record", page->records[group->first->record].name);
    hc_page_text(row, "family", group->name);
    hc_page_text(row, "backend", group->first->row->backend);
    hc_page_number(row, "results", group->kinds[kind]);
    return row;
}

static void set_numbers(json_t *failure, const struct hc_row *row)
{
    char n[HC_LONGEST_COUNT];
    char of[HC_LONGEST_COUNT];
    char compared[100];
    char distance[100] = "";
    char ratio[40] = "";
    const char *unit = "";
    bool counted = strcmp(row->unit, "claims") == 0 || strcmp(row->unit, "bits") == 0;
    if (row->wrong > 0)
        (void)snprintf(compared, sizeof compared, "%s of %s comparisons wrong",
                       hc_page_count(row->wrong, n), hc_page_count(row->checked, of));
    else
        (void)snprintf(compared, sizeof compared, "%s compared", hc_page_count(row->checked, of));
    if (row->bound > 0 || !counted) {
        unit = row->unit;
        if (isfinite(row->error))
            (void)snprintf(distance, sizeof distance, "; error %.4g, bound %.4g ", row->error,
                           row->bound);
        else
            (void)snprintf(distance, sizeof distance, "; error %s, bound %.4g ",
                           isnan(row->error) ? "NaN" : "infinite", row->bound);
    }
    if (row->bound > 0 && !isnan(row->error))
        (void)snprintf(ratio, sizeof ratio, "; error/bound %.3g", hc_ratio(row->error, row->bound));
    hc_page_print(failure, "numbers", "%s%s%s%s", compared, distance, unit, ratio);
}

static json_t *add_failure(json_t *list, const struct hc_row *row)
{
    json_t *failure = hc_page_add(list);
    hc_page_text(failure, "verdict", hc_verdict_names[hc_row_verdict(row)]);
    hc_page_text(failure, "name", row->name);
    hc_page_text(failure, "backend", row->backend);
    hc_page_text(failure, "note", row->note);
    hc_page_text(failure, "repro", row->repro);
    if (row->checked > 0)
        set_numbers(failure, row);
    return failure;
}

/* The command that repeats all of the group: that of its first result, with the family in place of
   the case. */
static void set_repeat_all(json_t *family, const struct group *group)
{
    static const char begin[] = "halfcheck run ";
    const struct hc_row *row = group->first->row;
    const char *at = "";
    char pattern[600];
    char word[1200];
    size_t length = strlen(row->name);
    (void)snprintf(pattern, sizeof pattern, "%s/*", group->name);
    if (strncmp(row->repro, begin, strlen(begin)) == 0)
        at = row->repro + strlen(begin);
    if (strncmp(at, row->name, length) == 0 && (at[length] == ' ' || !at[length]) &&
        hc_text_shell(word, sizeof word, pattern))
        hc_page_print(family, "repeat_all", "%s%s%s", begin, word, at + length);
}

/* A failure that is alone in its family says so itself, and needs no title. */
static void add_failures(json_t *list, const struct hc_page *page, const struct group *group,
                         int most)
{
    int failed = group->kinds[HC_PAGE_FAILED];
    int shown = failed < most ? failed : most;
    json_t *family = add_group(list, page, group, HC_PAGE_FAILED);
    hc_page_flag(family, "titled", failed > 1 || page->count > 1);
    hc_page_number(family, "failed", failed);
    hc_page_number(family, "results", group->count);
    json_t *failures = hc_page_list(family, "shown");
    for (int i = 0; i < shown; i++) {
        json_t *failure = add_failure(failures, group->first[i].row);
        if (i == AT_ONCE)
            hc_page_number(failure, "folded", shown - AT_ONCE);
    }
    hc_page_flag(family, "folds", shown > AT_ONCE);
    hc_page_number(family, "left", failed - shown);
    if (failed > shown)
        set_repeat_all(family, group);
}

static bool was_written(const struct hc_page_result *results, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(results[j].row->note, results[i].row->note) == 0 &&
            hc_row_verdict(results[j].row) == hc_row_verdict(results[i].row))
            return true;
    return false;
}

static void add_not_checked(json_t *list, const struct hc_page *page, const struct group *group)
{
    const struct hc_page_result *results = group->of_kind[HC_PAGE_NOT_CHECKED];
    json_t *family = add_group(list, page, group, HC_PAGE_NOT_CHECKED);
    json_t *reasons = hc_page_list(family, "reasons");
    int different = 0;
    for (int i = 0; i < group->kinds[HC_PAGE_NOT_CHECKED]; i++) {
        if (was_written(results, i) || different++ >= MOST_REASONS)
            continue;
        json_t *reason = hc_page_add(reasons);
        hc_page_text(reason, "verdict", hc_verdict_names[hc_row_verdict(results[i].row)]);
        hc_page_text(reason, "name", results[i].row->name);
        hc_page_text(reason, "note", results[i].row->note);
    }
    hc_page_number(family, "untold", different > MOST_REASONS ? different - MOST_REASONS : 0);
}

static void add_passed(json_t *list, const struct hc_page *page, const struct group *group)
{
    const struct hc_page_result *nearest = group->of_kind[HC_PAGE_PASSED];
    long long checked = 0;
    double seconds = 0;
    for (int i = 0; i < group->kinds[HC_PAGE_PASSED]; i++) {
        checked += nearest[i].row->checked;
        seconds += nearest[i].row->seconds;
    }
    bool bounded = nearest->ratio > 0;
    json_t *family = add_group(list, page, group, HC_PAGE_PASSED);
    hc_page_number(family, "comparisons", checked);
    hc_page_print(family, "ratio", "%.3g", bounded ? nearest->ratio : 0.0);
    hc_page_text(family, "worst", bounded ? nearest->row->name + nearest->family : "");
    hc_page_print(family, "seconds", "%.2f", seconds);
}

void hc_page_results(json_t *data, const struct hc_page *page,
                     const struct hc_page_results *results, bool markdown)
{
    struct group group = {0};
    int groups = 0;
    json_t *verdicts = hc_page_list(data, "verdicts");
    json_t *failures = hc_page_list(data, "failures");
    json_t *not_checked = hc_page_list(data, "not_checked");
    json_t *passed = hc_page_list(data, "passed");
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        if (results->of_verdict[v]) {
            json_t *verdict = hc_page_add(verdicts);
            hc_page_text(verdict, "verdict", hc_verdict_names[v]);
            hc_page_number(verdict, "results", results->of_verdict[v]);
        }
    while (next_group(results, &group))
        groups += group.kinds[HC_PAGE_FAILED] > 0;
    int most = groups && ROOM / groups > 1 ? ROOM / groups : 1;
    if (markdown && most > AT_ONCE) /* nothing folds there */
        most = AT_ONCE;
    for (group = (struct group){0}; next_group(results, &group);) {
        if (group.kinds[HC_PAGE_FAILED])
            add_failures(failures, page, &group, most);
        if (group.kinds[HC_PAGE_NOT_CHECKED])
            add_not_checked(not_checked, page, &group);
        if (group.kinds[HC_PAGE_PASSED])
            add_passed(passed, page, &group);
    }
    hc_page_number(data, "passed_count", results->kinds[HC_PAGE_PASSED]);
    hc_page_flag(data, "open", results->count < 200);
}
