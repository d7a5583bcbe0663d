/* The comparison with the baseline: errors divided by what they were. */
#include <math.h>
#include <string.h>

#include "cli/picture/families.h"

struct counts {
    int common;
    int changed;
    int worse;
    int units; /* in another unit, which cannot be compared */
    const struct hc_row *farthest;
    double most;
};

/* What an error has been multiplied by. */
static double ratio(double before, double now)
{
    if (isnan(before) || isnan(now))
        return isnan(before) && isnan(now) ? 1 : (double)NAN;
    if (before == now)
        return 1;
    return before > 0 ? now / before : (double)INFINITY;
}

static void add_row(struct hc_families *f, struct counts *c, const struct hc_row *before,
                    const struct hc_row *now, const char *series)
{
    if (strcmp(before->unit, now->unit) != 0) {
        c->units++;
        return;
    }
    c->common++;
    double x = ratio(before->error, now->error);
    if (x == 1)
        return;
    c->changed++;
    c->worse += !(x < 1);
    if (!c->farthest || x > c->most || isnan(x)) {
        c->farthest = now;
        c->most = x;
    }
    hc_families_add(f, now->name, series, x);
}

static void add_all(struct hc_families *f, struct counts *c, const struct hc_drawing *d,
                    const struct hc_page_record *baseline)
{
    char series[512];
    for (int r = 0; r < d->count; r++)
        for (int i = 0; i < d->records[r].record.count; i++) {
            const struct hc_row *now = &d->records[r].record.rows[i];
            const struct hc_row *before =
                d->records[r].record.document == baseline->record.document
                    ? NULL
                    : hc_record_find(&baseline->record, now->name, now->backend);
            if (before)
                add_row(f, c, before, now, hc_series_name(series, d, r, now->backend));
        }
}

static void answer(const struct counts *c, FILE *out)
{
    char number[32];
    (void)fprintf(out,
                  "Of %d results that both have, %d have another error than in the baseline: %d"
                  " larger, %d smaller.",
                  c->common, c->changed, c->worse, c->changed - c->worse);
    if (c->worse > 0) {
        (void)fputs(" The farthest is ", out);
        hc_drawing_text(out, c->farthest->name);
        (void)fprintf(out, " on %s (%s times its error).",
                      strcmp(c->farthest->backend, "-") == 0 ? "no backend" : c->farthest->backend,
                      hc_drawing_number(number, c->most));
    }
    if (c->units > 0)
        (void)fprintf(out, " %d more have another unit and are not compared.", c->units);
    (void)fputs(" Only families with changes have a row; 1 is the baseline's error.", out);
}

static void make(struct hc_drawing *d)
{
    struct hc_families f = {0};
    struct counts c = {0};
    const struct hc_page_record *baseline = d->baseline;
    if (baseline) {
        add_all(&f, &c, d, baseline);
        hc_families_sort(&f);
    }
    if (f.no_memory)
        (void)snprintf(d->why_not, sizeof d->why_not, "there is no memory");
    else if (!baseline)
        (void)snprintf(d->why_not, sizeof d->why_not, "there is no baseline to compare with");
    else if (c.common == 0)
        (void)snprintf(d->why_not, sizeof d->why_not,
                       "the baseline has no result in common with the record");
    else if (f.count == 0)
        (void)snprintf(d->why_not, sizeof d->why_not,
                       "all %d common results have the baseline's errors", c.common);
    else {
        hc_families_draw(&f, d, 0.01, 100);
        hc_plot_integer(d->values, "limit", 0, 1);
        hc_plot_text(d->values, "axis_text", 0, "error / the baseline's error", 80);
        answer(&c, d->answer);
        (void)fprintf(d->alt,
                      "Dot chart of errors divided by the baseline's, on a logarithmic axis, with a"
                      " row for each of %d families that changed.",
                      f.family.count);
    }
    hc_families_free(&f);
}

const struct hc_picture_kind hc_picture_baseline = {
    .id = "baseline",
    .question = "Which errors have changed since the baseline?",
    .script = "headroom.gp",
    .command = "halfcheck report BASELINE RECORD --out DIR (reports/headroom.gp)",
    .make = make,
};
