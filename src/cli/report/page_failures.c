#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/page_lists.h"
#include "op/text.h"

/* The page has room for so many failures. Of each group the first ones are shown at once. */
enum { ROOM = 1000, AT_ONCE = 5 };

static void write_error(struct hc_page_out *out, double error)
{
    if (isfinite(error))
        hc_page_print(out, "; error %.4g", error);
    else
        hc_page_print(out, "; error %s", isnan(error) ? "NaN" : "infinite");
}

static void write_numbers(struct hc_page_out *out, const struct hc_row *row)
{
    char n[HC_LONGEST_COUNT];
    char of[HC_LONGEST_COUNT];
    bool counted = strcmp(row->unit, "claims") == 0 || strcmp(row->unit, "bits") == 0;
    if (row->checked <= 0)
        return;
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, "numbers");
    if (row->wrong > 0)
        hc_page_print(out, "%s of %s comparisons wrong", hc_page_count(row->wrong, n),
                      hc_page_count(row->checked, of));
    else
        hc_page_print(out, "%s compared", hc_page_count(row->checked, of));
    if (row->bound > 0 || !counted) {
        write_error(out, row->error);
        hc_page_print(out, ", bound %.4g ", row->bound);
        hc_page_text(out, row->unit);
    }
    if (row->bound > 0 && !isnan(row->error))
        hc_page_print(out, "; error/bound %.3g", hc_ratio(row->error, row->bound));
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
}

static void write_failure(struct hc_page_out *out, const struct hc_row *row)
{
    hc_page_open(out, "article", "failure");
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
    hc_page_verdict(out, hc_verdict_names[hc_row_verdict(row)]);
    hc_page_text(out, " ");
    hc_page_code(out, row->name);
    hc_page_text(out, " on ");
    hc_page_text(out, row->backend);
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
    write_numbers(out, row);
    if (row->note[0]) {
        hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
        hc_page_text(out, row->note);
        hc_page_end(out, HC_BLOCK_PARAGRAPH);
    }
    if (row->repro[0])
        hc_page_pre(out, row->repro);
    hc_page_close(out, "article");
}

/* The command that repeats all of the group: that of its first result, with the family in place of
   the case. */
static void write_rest(struct hc_page_out *out, const struct hc_page_group *group, int left)
{
    static const char begin[] = "halfcheck run ";
    const struct hc_row *row = group->first->row;
    const char *at = "";
    char pattern[600];
    char word[1200];
    char command[2000];
    (void)snprintf(pattern, sizeof pattern, "%s/*", group->name);
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
    hc_page_print(out, "%d more are in the record.", left);
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
    size_t length = strlen(row->name);
    if (strncmp(row->repro, begin, strlen(begin)) == 0)
        at = row->repro + strlen(begin);
    if (strncmp(at, row->name, length) != 0 || (at[length] != ' ' && at[length]) ||
        !hc_text_shell(word, sizeof word, pattern))
        return;
    (void)snprintf(command, sizeof command, "%s%s%s", begin, word, at + length);
    hc_page_pre(out, command);
}

/* "op/gemm on host: 12 of 40 failed". A failure that is alone in its family says so itself. */
static void write_title(struct hc_page_out *out, const struct hc_page_record *records, int count,
                        const struct hc_page_group *group)
{
    hc_page_heading(out, 3, NULL);
    hc_page_code(out, group->name);
    hc_page_text(out, " on ");
    hc_page_text(out, group->first->row->backend);
    if (count > 1) {
        hc_page_text(out, ", ");
        hc_page_text(out, records[group->first->record].name);
    }
    hc_page_print(out, ": %d of %d failed", group->kinds[HC_PAGE_FAILED], group->count);
    hc_page_heading_end(out, 3);
}

static void write_group(struct hc_page_out *out, const struct hc_page_record *records, int count,
                        const struct hc_page_group *group, int most)
{
    const struct hc_page_result *first = group->first;
    int failed = group->kinds[HC_PAGE_FAILED];
    int shown = failed < most ? failed : most;
    int at_once = shown < AT_ONCE ? shown : AT_ONCE;
    if (failed > 1 || count > 1)
        write_title(out, records, count, group);
    for (int i = 0; i < at_once; i++)
        write_failure(out, first[i].row);
    if (shown > at_once) {
        hc_page_fold(out, false);
        hc_page_print(out, "%d more, of which none is farther off", shown - at_once);
        hc_page_fold_body(out);
        for (int i = at_once; i < shown; i++)
            write_failure(out, first[i].row);
        hc_page_fold_end(out);
    }
    if (failed > shown)
        write_rest(out, group, failed - shown);
}

void hc_page_write_failures(struct hc_page_out *out, const struct hc_page_record *records,
                            int count, const struct hc_page_results *results)
{
    struct hc_page_group group = {0};
    int groups = 0;
    while (hc_page_group_next(results, &group))
        groups += group.kinds[HC_PAGE_FAILED] > 0;
    if (groups == 0)
        return;
    int most = ROOM / groups > 1 ? ROOM / groups : 1;
    if (out->markdown && most > AT_ONCE) /* nothing folds there */
        most = AT_ONCE;
    hc_page_open(out, "section", NULL);
    hc_page_heading(out, 2, "failures");
    hc_page_text(out, "What failed");
    hc_page_heading_end(out, 2);
    group = (struct hc_page_group){0};
    while (hc_page_group_next(results, &group))
        if (group.kinds[HC_PAGE_FAILED])
            write_group(out, records, count, &group, most);
    hc_page_close(out, "section");
}
