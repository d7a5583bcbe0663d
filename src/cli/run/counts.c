#include "cli/run/counts.h"

#include <math.h>
#include <string.h>

#include "cli/run/table.h"
#include "op/text.h"

void hc_sums_add(struct hc_sums *sums, const struct hc_row *row)
{
    double ratio = hc_ratio(row->error, row->bound);
    sums->count[row->verdict]++;
    sums->checked += row->checked;
    sums->seconds += row->seconds;
    sums->bounded |= row->bound > 0;
    if (row->checked > 0 && ratio > sums->worst) {
        sums->worst = ratio;
        sums->nearest = row;
    }
}

/* The columns beside the counts of verdicts. What a terminal is too narrow for is left out: the
   last ones first. */
struct layout {
    int component; /* widths */
    int backend;   /* 0: left out */
    bool size;
    bool checked;
    bool seconds;
    bool name; /* of the case with the largest error */
};

enum { SIZE = 18, CHECKED = 13, SECONDS = 10, NAME = 30, NARROW = 60, WIDE = 1000 };

static int verdict_width(const struct hc_sums *all, int v)
{
    return v <= HC_FAIL ? 6 : all->count[v] ? (int)strlen(hc_verdict_names[v]) : -1;
}

static struct layout layout(FILE *out, const struct hc_sums *all, bool one_backend)
{
    int room = hc_table_columns(out, WIDE) - 1;
    struct layout l = {.component = room < NARROW ? 11 : 14,
                       .backend = one_backend     ? 0
                                  : room < NARROW ? 10
                                                  : 14};
    room -= l.component + (l.backend ? 1 + l.backend : 0);
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        room -= verdict_width(all, v) + 1;
    l.size = room >= SIZE;
    l.checked = room >= SIZE + CHECKED;
    l.seconds = !one_backend && room >= SIZE + CHECKED + SECONDS;
    l.name = !one_backend && room >= SIZE + CHECKED + SECONDS + NAME;
    return l;
}

/* How large an error is beside what is allowed: "1.00 of bound" passes. */
static void size_text(const struct hc_sums *sums, char *text, size_t size)
{
    if (sums->nearest && isinf(sums->worst))
        (void)snprintf(text, size, "beyond bound");
    else if (sums->nearest && sums->worst > 1)
        (void)hc_text_write(text, size, "%.3g times bound", sums->worst);
    else if (sums->nearest)
        (void)hc_text_write(text, size, "%#.3g of bound", sums->worst);
    else
        (void)snprintf(text, size, "%s", sums->checked && !sums->bounded ? "equal bits" : "-");
}

static void print_counts(FILE *out, const struct layout *l, const struct hc_sums *all,
                         const struct hc_sums *sums)
{
    char size[48];
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        if (verdict_width(all, v) > 0)
            hc_print(out, " %*d", verdict_width(all, v), sums->count[v]);
    if (l->checked)
        hc_print(out, " %*lld", CHECKED - 1, sums->checked);
    if (l->seconds)
        hc_print(out, " %*.2f", SECONDS - 1, sums->seconds);
    size_text(sums, size, sizeof size);
    if (l->size)
        hc_print(out, "  %s", size);
    if (l->name && sums->nearest)
        hc_print(out, ", %s", sums->nearest->name);
    (void)fputc('\n', out);
}

static void print_columns(FILE *out, const struct layout *l, const struct hc_sums *all)
{
    hc_print(out, "%-*s", l->component, "component");
    if (l->backend)
        hc_print(out, " %-*s", l->backend, "backend");
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        if (verdict_width(all, v) > 0)
            hc_print(out, " %*s", verdict_width(all, v), hc_verdict_names[v]);
    if (l->checked)
        hc_print(out, " %*s", CHECKED - 1, "checked");
    if (l->seconds)
        hc_print(out, " %*s", SECONDS - 1, "seconds");
    hc_print(out, "%s\n", l->size ? "  largest error" : "");
}

static bool same_line(const struct hc_row *a, const struct hc_row *b, bool one_backend)
{
    size_t length = strcspn(a->name, "/");
    return strcspn(b->name, "/") == length && strncmp(a->name, b->name, length) == 0 &&
           (one_backend || strcmp(a->backend, b->backend) == 0);
}

static void print_names(FILE *out, const struct layout *l, const char *component, int length,
                        const char *backend)
{
    hc_print(out, "%-*.*s", l->component, length, component);
    if (l->backend)
        hc_print(out, " %-*s", l->backend, backend);
}

void hc_print_components(FILE *out, const struct hc_rows *rows, const struct hc_sums *all,
                         bool one_backend)
{
    const struct layout l = layout(out, all, one_backend);
    print_columns(out, &l, all);
    for (int i = 0; i < rows->count; i++) {
        const struct hc_row *row = &rows->row[i];
        struct hc_sums sums = {0};
        bool earlier = false;
        for (int j = i - 1; j >= 0 && !earlier; j--)
            earlier = same_line(row, &rows->row[j], one_backend);
        if (earlier)
            continue;
        for (int j = i; j < rows->count; j++)
            if (same_line(row, &rows->row[j], one_backend))
                hc_sums_add(&sums, &rows->row[j]);
        print_names(out, &l, row->name, (int)strcspn(row->name, "/"), row->backend);
        print_counts(out, &l, all, &sums);
    }
    print_names(out, &l, "total", 5, "");
    print_counts(out, &l, all, all);
}
