#include "cli/report/page_catches.h"

#include <stdlib.h>
#include <string.h>

#include "cases/registry.h"
#include "check/record/exhibits.h"
#include "cli/catches/inquiry.h"
#include "op/memory_stream.h"

/* A result that has a table. */
struct entry {
    const struct hc_row *row;
    int place; /* in all records */
};

/* `exact` first; then the order of the records. */
static int by_name(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = strcmp(x->row->name, y->row->name);
    if (order == 0)
        order = (strcmp(y->row->backend, "exact") == 0) - (strcmp(x->row->backend, "exact") == 0);
    return order ? order : x->place - y->place;
}

static const struct hc_bug *bug_of(const char *name)
{
    const struct hc_case *what = hc_case_by_name(name);
    return what ? hc_bug_of(what) : NULL;
}

/* Judges the first result of each name. One that cannot be judged is left out. */
static void judge(struct hc_inquiry *inquiry, struct entry *entry, int n)
{
    struct hc_exhibits shown;
    qsort(entry, (size_t)n, sizeof *entry, by_name);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i].row->name;
        if (i && strcmp(name, entry[i - 1].row->name) == 0)
            continue;
        hc_exhibits_read(entry[i].row->exhibits, &shown);
        inquiry->count +=
            hc_catch_judge(name, bug_of(name), &shown, &inquiry->row[inquiry->count]) == HC_OK;
    }
    hc_catch_sort(inquiry->row, inquiry->count);
}

static void write_summary(struct hc_page_out *out, const struct hc_inquiry *inquiry)
{
    static const char *const titles[] = {"rule", "threshold", "#misses", "#false alarms",
                                         "#told apart"};
    hc_page_table(out, "Who catches what", titles, 5);
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        struct hc_catch_counts c = hc_catch_count(inquiry->row, inquiry->count, r);
        hc_page_begin(out, HC_BLOCK_ROW, NULL);
        hc_page_cell(out, hc_rules[r].what);
        hc_page_cell(out, hc_rules[r].threshold);
        hc_page_number_cell(out, "%d of %d", c.missed, c.bugs);
        hc_page_number_cell(out, "%d of %d", c.alarms, c.right);
        hc_page_number_cell(out, "%d", c.apart);
        hc_page_end(out, HC_BLOCK_ROW);
    }
    hc_page_table_end(out);
}

static void write_own(struct hc_page_out *out, const struct hc_inquiry *inquiry)
{
    hc_page_fold(out, false);
    hc_page_text(out, "What halfcheck itself misses");
    hc_page_fold_body(out);
    hc_page_begin(out, HC_BLOCK_LIST, NULL);
    for (int item = 0;; item++) {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = hc_memory_stream(&text, &size);
        bool more = memory && hc_inquiry_own(memory, inquiry, item);
        if (memory && fclose(memory) == 0 && more && size) {
            hc_page_begin(out, HC_BLOCK_ITEM, NULL);
            hc_page_text(out, text);
            hc_page_end(out, HC_BLOCK_ITEM);
        }
        free(text);
        if (!more)
            break;
    }
    hc_page_end(out, HC_BLOCK_LIST);
    hc_page_fold_end(out);
}

static void write_word(struct hc_page_out *out, const char *word)
{
    bool fine = strcmp(word, "caught") == 0 || strcmp(word, "right") == 0 || *word == '-';
    hc_page_begin(out, HC_BLOCK_CELL, fine ? NULL : "miss");
    hc_page_text(out, word);
    hc_page_end(out, HC_BLOCK_CELL);
}

static void write_rows(struct hc_page_out *out, const struct hc_inquiry *inquiry)
{
    const char *titles[HC_CATCH_RULES + 1] = {"bug"};
    for (int r = 0; r < HC_CATCH_RULES; r++)
        titles[r + 1] = hc_rules[r].name;
    hc_page_fold(out, false);
    hc_page_text(out, "Every bug");
    hc_page_fold_body(out);
    hc_page_table(out, "Every bug, as each rule judges it", titles, HC_CATCH_RULES + 1);
    for (int i = 0; i < inquiry->count; i++) {
        hc_page_begin(out, HC_BLOCK_ROW, NULL);
        hc_page_code_cell(out, inquiry->row[i].name);
        for (int r = 0; r < HC_CATCH_RULES; r++)
            write_word(out, hc_catch_word(&inquiry->row[i], r));
        hc_page_end(out, HC_BLOCK_ROW);
    }
    hc_page_table_end(out);
    hc_page_fold_end(out);
}

void hc_page_write_catches(struct hc_page_out *out, const struct hc_page_record *records, int count)
{
    int results = 0;
    int n = 0;
    for (int r = 0; r < count; r++)
        results += records[r].record.count;
    struct entry *entry = calloc((size_t)results + 1, sizeof *entry);
    struct hc_inquiry inquiry = {.row = calloc((size_t)results + 1, sizeof *inquiry.row)};
    for (int r = 0; r < count && entry; r++)
        for (int i = 0; i < records[r].record.count; i++)
            if (records[r].record.rows[i].exhibits) {
                entry[n] = (struct entry){&records[r].record.rows[i], n};
                n++;
            }
    if (n && inquiry.row) {
        judge(&inquiry, entry, n);
        hc_page_heading(out, 2, "catches");
        hc_page_text(out, "Who catches what");
        hc_page_heading_end(out, 2);
        hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
        hc_page_text(out, "The arms of these bugs, as other rules of comparison judge them: to "
                          "accept a buggy arm is a miss, and to refuse an arm that is right is a "
                          "false alarm.");
        hc_page_end(out, HC_BLOCK_PARAGRAPH);
        write_summary(out, &inquiry);
        write_own(out, &inquiry);
        if (!out->markdown)
            write_rows(out, &inquiry);
    }
    free(entry);
    hc_inquiry_free(&inquiry);
}
