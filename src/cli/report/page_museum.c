#include "cli/report/page_museum.h"

#include <stdlib.h>
#include <string.h>

#include "cases/registry.h"
#include "cli/report/page_bug.h"
#include "cli/report/page_index.h"

static int by_name(const void *a, const void *b)
{
    const struct hc_page_entry *x = a;
    const struct hc_page_entry *y = b;
    int order = strcmp(x->row->name, y->row->name);
    return order ? order : x->place - y->place;
}

/* The second part of field/<mechanism>/<slug>; all of it where the name has other parts. */
static const char *mechanism(const char *name, int *length)
{
    const char *slash = strchr(name, '/');
    *length = slash ? (int)strcspn(slash + 1, "/") : (int)strlen(name);
    return slash ? slash + 1 : name;
}

static bool same_mechanism(const char *a, const char *b)
{
    int n;
    int m;
    const char *x = mechanism(a, &n);
    const char *y = mechanism(b, &m);
    return n == m && strncmp(x, y, (size_t)n) == 0;
}

/* A mechanism, and how many entries, different bugs and failures it has. */
struct kind {
    char name[128];
    int entries;
    int bugs;
    int wrong;
};

static struct kind count_kind(const struct hc_page_entry *entry, int count)
{
    struct kind kind = {.entries = 0};
    int length;
    const char *at = mechanism(entry[0].row->name, &length);
    (void)snprintf(kind.name, sizeof kind.name, "%.*s", length, at);
    for (int i = 0; i < count && same_mechanism(entry[i].row->name, entry[0].row->name); i++) {
        enum hc_verdict verdict = hc_row_verdict(entry[i].row);
        kind.entries++;
        kind.bugs += i == 0 || strcmp(entry[i].row->name, entry[i - 1].row->name) != 0;
        kind.wrong += verdict == HC_FAIL || verdict == HC_ERROR;
    }
    return kind;
}

/* All bugs of a mechanism. */
static void write_mechanism(struct hc_page_out *out, const struct hc_page_entry *entry,
                            const struct kind *kind, const struct hc_drawn *drawn)
{
    const struct hc_case *first = hc_case_by_name(entry[0].row->name);
    hc_page_fold(out, kind->wrong > 0);
    hc_page_text(out, kind->name);
    hc_page_print(out, " (%d%s", kind->bugs, kind->bugs > 1 ? ", such as: " : ": ");
    hc_page_text(out, first ? first->title : "");
    hc_page_text(out, ") ");
    if (kind->wrong) {
        hc_page_verdict(out, "FAIL");
        hc_page_print(out, " %d", kind->wrong);
    }
    hc_page_fold_body(out);
    for (int i = 0, n; i < kind->entries; i += n) {
        for (n = 1;
             i + n < kind->entries && strcmp(entry[i + n].row->name, entry[i].row->name) == 0;)
            n++;
        hc_page_write_bug(out, &entry[i], n, drawn);
    }
    hc_page_fold_end(out);
}

/* In Markdown a mechanism is a row. */
static void write_mechanisms(struct hc_page_out *out, const struct hc_page_entry *entry, int n,
                             const struct hc_drawn *drawn)
{
    static const char *const titles[] = {"mechanism", "#bugs", "#failed"};
    if (out->markdown)
        hc_page_table(out, "Bugs from the field", titles, 3);
    for (int i = 0; i < n;) {
        struct kind kind = count_kind(&entry[i], n - i);
        if (out->markdown) {
            hc_page_begin(out, HC_BLOCK_ROW, NULL);
            hc_page_code_cell(out, kind.name);
            hc_page_number_cell(out, "%d", kind.bugs);
            hc_page_number_cell(out, "%d", kind.wrong);
            hc_page_end(out, HC_BLOCK_ROW);
        } else {
            write_mechanism(out, &entry[i], &kind, drawn);
        }
        i += kind.entries;
    }
    if (out->markdown)
        hc_page_table_end(out);
}

static void write_museum(struct hc_page_out *out, const struct hc_page_entry *entry, int n,
                         const struct hc_drawn *drawn)
{
    int bugs = 0;
    for (int i = 0; i < n; i++)
        bugs += i == 0 || strcmp(entry[i].row->name, entry[i - 1].row->name) != 0;
    hc_page_open(out, "section", NULL);
    hc_page_heading(out, 2, "bugs");
    hc_page_text(out, "Bugs from the field");
    hc_page_heading_end(out, 2);
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
    hc_page_print(out,
                  "%d bugs that people reported, each as two arms: the buggy one must show the "
                  "symptom, and the fixed one must lie within its bound of the real numbers. They "
                  "are grouped by mechanism.",
                  bugs);
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
    write_mechanisms(out, entry, n, drawn);
}

void hc_page_write_museum(struct hc_page_out *out, const struct hc_page_record *records, int count,
                          const struct hc_drawn *drawn)
{
    int n = 0;
    for (int r = 0; r < count; r++)
        n += records[r].record.count;
    struct hc_page_entry *entry = calloc((size_t)n + 1, sizeof *entry);
    n = 0;
    for (int r = 0; r < count && entry; r++)
        for (int i = 0; i < records[r].record.count; i++)
            if (records[r].record.rows[i].exhibits) {
                entry[n].row = &records[r].record.rows[i];
                entry[n].record = count > 1 ? records[r].name : NULL;
                entry[n].place = n;
                n++;
            }
    if (n) {
        qsort(entry, (size_t)n, sizeof *entry, by_name);
        write_museum(out, entry, n, drawn);
        if (!out->markdown)
            hc_page_write_index(out, records, count);
        hc_page_close(out, "section");
    }
    free(entry);
}
