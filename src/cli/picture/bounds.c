/* Dot charts of all results by family: how close each is to its bound, whose its error is, and what
   has changed since the baseline. */
#include <math.h>
#include <string.h>

#include "cli/picture/families.h"
#include "cli/report/template.h"

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
static void answer_headroom(const struct hc_families *f, const struct counts *c, FILE *out)
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

static void make_headroom(struct hc_drawing *d)
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
        answer_headroom(&f, &c, d->answer);
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
    .make = make_headroom,
};

/* Whose error it is: the implementation's, or the format's, which every implementation has. */
static const char implementation[] = "the implementation's";
static const char format[] = "the format's";

/* Results whose format-exact value is farther from the real one than the bound: the format lacks
   the range or the precision that the inputs ask for, and equal bits are all that can be asked. */
static void explain(const struct hc_drawing *d, FILE *out)
{
    int beyond = 0;
    const struct hc_row *farthest = NULL;
    for (int r = 0; r < d->count; r++)
        for (int i = 0; i < d->records[r].record.count; i++) {
            const struct hc_row *row = &d->records[r].record.rows[i];
            if (isnan(row->implementation) || !(row->format > 1))
                continue;
            beyond++;
            if (!farthest || row->format > farthest->format)
                farthest = row;
        }
    if (!farthest) {
        (void)fputs(" No format's share is beyond the bound.", out);
        return;
    }
    char number[32];
    (void)fprintf(out,
                  " In %d result%s the format's share is beyond the bound: there even the correctly"
                  " rounded value is that far from the real one, because the format ends or loses"
                  " digits, and only equal bits pass; the farthest is ",
                  beyond, beyond == 1 ? "" : "s");
    hc_drawing_text(out, farthest->name);
    (void)fprintf(out, " (%s).", hc_drawing_number(number, farthest->format));
}

static void answer_answers(const struct hc_drawing *d, const struct hc_families *f, FILE *out)
{
    int exact = 0;
    int worst = -1;
    double most = 0;
    char number[32];
    for (int i = 0; i < f->family.count; i++) {
        double own = hc_families_cell(f, i, 0)->worst;
        exact += own == 0;
        if (own > most || isnan(own)) {
            worst = i;
            most = own;
        }
    }
    int families = f->family.count;
    if (exact == families)
        (void)fputs("All error is the format's: the implementation's results are the format-exact"
                    " ones.",
                    out);
    else if (exact > 0)
        (void)fprintf(out,
                      "In %d of %d families all error is the format's: the implementation's results"
                      " are the format-exact ones.",
                      exact, families);
    else
        (void)fputs("In no family is all error the format's.", out);
    if (worst >= 0) {
        (void)fputs(" The implementation adds the most in ", out);
        hc_drawing_text(out, hc_families_name(f, worst));
        (void)fprintf(out, ": %s of the bound from the format-exact value.",
                      hc_drawing_number(number, most));
    }
    if (most > 1)
        (void)fputs(" Two values within the bound are up to two bounds apart if the real one lies"
                    " between them.",
                    out);
    explain(d, out);
}

static void make_answers(struct hc_drawing *d)
{
    struct hc_families f = {0};
    for (int r = 0; r < d->count; r++)
        for (int i = 0; i < d->records[r].record.count; i++) {
            const struct hc_row *row = &d->records[r].record.rows[i];
            if (isnan(row->implementation) || isnan(row->format))
                continue;
            hc_families_add(&f, row->name, implementation, row->implementation);
            hc_families_add(&f, row->name, format, row->format);
        }
    hc_families_sort(&f);
    if (f.no_memory)
        (void)snprintf(d->why_not, sizeof d->why_not, "there is no memory");
    else if (f.count == 0)
        (void)snprintf(d->why_not, sizeof d->why_not, "no result says whose its error is");
    if (!d->why_not[0]) {
        hc_families_draw(&f, d, 1e-4, 10);
        hc_plot_integer(d->values, "limit", 0, 1);
        hc_plot_text(d->values, "axis_text", 0, "share / bound (beyond 1: explained in words)", 80);
        answer_answers(d, &f, d->answer);
        (void)fprintf(d->alt,
                      "Dot chart with a row for each of %d families: how far the results are from"
                      " the format-exact value, and that from the real one, divided by the bound.",
                      f.family.count);
    }
    hc_families_free(&f);
}

const struct hc_picture_kind hc_picture_answers = {
    .id = "answers",
    .question = "Whose error is it, the implementation's or the format's?",
    .script = "headroom.gp",
    .make = make_answers,
};

/* What has changed since the baseline. */
struct changes {
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

static void add_row(struct hc_families *f, struct changes *c, const struct hc_row *before,
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

static void add_all(struct hc_families *f, struct changes *c, const struct hc_drawing *d,
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

static void answer_baseline(const struct changes *c, FILE *out)
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

static void make_baseline(struct hc_drawing *d)
{
    struct hc_families f = {0};
    struct changes c = {0};
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
        answer_baseline(&c, d->answer);
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
    .records = "BASELINE RECORD",
    .make = make_baseline,
};
