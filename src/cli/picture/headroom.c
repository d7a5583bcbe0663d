/* How close to its bound each family is. */
#include <math.h>

#include "cli/picture/families.h"
#include "cli/report/page_out.h"

struct counts {
    int results;
    int beyond;
    int nans;
    int equal_families;
    int beyond_families;
};

static struct counts count(const struct hc_families *f)
{
    struct counts c = {.results = f->count};
    for (int i = 0; i < f->count; i++) {
        c.nans += isnan(f->value[i].value) != 0;
        c.beyond += f->value[i].value > 1;
    }
    for (int i = 0; i < f->family.count; i++) {
        double worst = hc_families_worst(f, i);
        c.equal_families += worst == 0;
        c.beyond_families += !(worst <= 1);
    }
    return c;
}

static void answer_results(const struct counts *c, int families, FILE *out)
{
    char n[HC_LONGEST_COUNT];
    if (c->beyond + c->nans == 0) {
        if (c->results == 1)
            (void)fputs("The result is within its bound.", out);
        else
            (void)fprintf(out, "All %s results are within their bounds.",
                          hc_page_count(c->results, n));
        return;
    }
    (void)fprintf(out, "Of %s result%s ", hc_page_count(c->results, n), c->results == 1 ? "" : "s");
    if (c->beyond > 0)
        (void)fprintf(out, "%s %s beyond %s", hc_page_count(c->beyond, n),
                      c->beyond == 1 ? "is" : "are", c->beyond == 1 ? "its bound" : "their bounds");
    if (c->nans > 0)
        (void)fprintf(out, "%s%d %s no number", c->beyond > 0 ? " and " : "", c->nans,
                      c->nans == 1 ? "has" : "have");
    if (families > 1)
        (void)fprintf(out, ", in %d of %d families", c->beyond_families, families);
    (void)fputc('.', out);
}

/* The first families of the order, which are the closest to their bounds or beyond. */
static void answer(const struct hc_families *f, const struct counts *c, FILE *out)
{
    char number[32];
    int families = f->family.count;
    answer_results(c, families, out);
    (void)fprintf(out, " The %s famil%s ", c->beyond + c->nans == 0 ? "closest" : "farthest",
                  families == 1 ? "y is" : "ies are");
    for (int i = 0; i < families && i < 3; i++) {
        (void)fputs(i ? ", " : "", out);
        hc_drawing_text(out, hc_families_name(f, i));
        (void)fprintf(out, " (%s)", hc_drawing_number(number, hc_families_worst(f, i)));
    }
    (void)fputs(". ", out);
    if (c->equal_families == families)
        (void)fputs("Every result has an error of 0. ", out);
    else if (c->equal_families > 0)
        (void)fprintf(out, "In %d of %d families every result has an error of 0. ",
                      c->equal_families, families);
    (void)fputs("A mark is the worst result of a backend, and its line begins at the median.", out);
}

static void make(struct hc_drawing *d)
{
    char series[512];
    struct hc_families f = {0};
    for (int r = 0; r < d->count; r++)
        for (int i = 0; i < d->records[r].record.count; i++) {
            const struct hc_row *row = &d->records[r].record.rows[i];
            bool number = !isnan(row->error) && !isnan(row->bound);
            if (row->checked > 0 && row->verdict != HC_SKIPPED)
                hc_families_add(&f, row->name, hc_series_name(series, d, r, row->backend),
                                number ? hc_ratio(row->error, row->bound) : (double)NAN);
        }
    hc_families_sort(&f);
    if (f.no_memory)
        (void)snprintf(d->why_not, sizeof d->why_not, "there is no memory");
    else if (f.count == 0)
        (void)snprintf(d->why_not, sizeof d->why_not, "no result has made a comparison");
    if (!d->why_not[0]) {
        struct counts c = count(&f);
        hc_families_draw(&f, d, 1e-4, 10);
        hc_plot_integer(d->values, "limit", 0, 1);
        hc_plot_text(d->values, "axis_text", 0, "error / bound (beyond 1: broken)", 80);
        answer(&f, &c, d->answer);
        (void)fprintf(d->alt,
                      "Dot chart of error divided by bound, on a logarithmic axis, with a row for"
                      " each of %d families of cases, the closest to its bound first.",
                      f.family.count);
    }
    hc_families_free(&f);
}

const struct hc_picture_kind hc_picture_headroom = {
    .id = "headroom",
    .question = "How close to its bound is each family?",
    .script = "headroom.gp",
    .command = "halfcheck report RECORD --out DIR (reports/headroom.gp)",
    .make = make,
};
