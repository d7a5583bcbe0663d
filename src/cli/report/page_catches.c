#include "cli/report/page_catches.h"

#include <stdlib.h>
#include <string.h>

#include "cases/registry.h"
#include "check/record/exhibits.h"
#include "cli/catches/inquiry.h"
#include "op/text.h"

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

static void write_summary(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fputs("<table><tr><th>rule</th><th>threshold</th><th class=\"n\">misses</th>"
                "<th class=\"n\">false alarms</th><th class=\"n\">told apart</th></tr>\n",
                out);
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        struct hc_catch_counts c = hc_catch_count(inquiry->row, inquiry->count, r);
        (void)fputs("<tr><td>", out);
        hc_text_markup(out, hc_rules[r].what);
        (void)fputs("</td><td>", out);
        hc_text_markup(out, hc_rules[r].threshold);
        (void)fprintf(out,
                      "</td><td class=\"n\">%d of %d</td><td class=\"n\">%d of %d</td>"
                      "<td class=\"n\">%d</td></tr>\n",
                      c.missed, c.bugs, c.alarms, c.right, c.apart);
    }
    (void)fputs("</table>\n", out);
}

static void write_own(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fputs("<details><summary>What halfcheck itself misses</summary><ul>\n", out);
    for (int item = 0;; item++) {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = open_memstream(&text, &size);
        bool more = memory && hc_inquiry_own(memory, inquiry, item);
        if (memory && fclose(memory) == 0 && more && size) {
            (void)fputs("<li>", out);
            hc_text_markup(out, text);
            (void)fputs("</li>\n", out);
        }
        free(text);
        if (!more)
            break;
    }
    (void)fputs("</ul></details>\n", out);
}

static void write_rows(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fputs("<details><summary>Every bug</summary>\n<table><tr><th>bug</th>", out);
    for (int r = 0; r < HC_CATCH_RULES; r++)
        (void)fprintf(out, "<th>%s</th>", hc_rules[r].name);
    (void)fputs("</tr>\n", out);
    for (int i = 0; i < inquiry->count; i++) {
        (void)fputs("<tr><td class=\"c\">", out);
        hc_text_markup(out, inquiry->row[i].name);
        (void)fputs("</td>", out);
        for (int r = 0; r < HC_CATCH_RULES; r++) {
            const char *word = hc_catch_word(&inquiry->row[i], r);
            bool fine = strcmp(word, "caught") == 0 || strcmp(word, "right") == 0;
            (void)fprintf(out, "<td%s>%s</td>", fine || *word == '-' ? "" : " class=\"FAIL\"",
                          word);
        }
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</table></details>\n", out);
}

void hc_page_write_catches(FILE *out, const struct hc_page_record *records, int count)
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
        (void)fputs("<h2 id=\"catches\">Who catches what</h2>\n<p>The arms of these bugs, as other rules of "
                    "comparison judge them: to accept a buggy arm is a miss, and to refuse an arm "
                    "that is right is a false alarm.</p>\n",
                    out);
        write_summary(out, &inquiry);
        write_own(out, &inquiry);
        write_rows(out, &inquiry);
    }
    free(entry);
    hc_inquiry_free(&inquiry);
}
