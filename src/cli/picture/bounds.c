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
            hc_drawing_say(out, "The result is within its bound.");
        else
            hc_drawing_say(out, "All %s results are within their bounds.",
                           hc_page_count(c->results, n));
        return;
    }
    hc_drawing_say(out, "Of %s result%s ", hc_page_count(c->results, n),
                   c->results == 1 ? "" : "s");
    if (c->beyond > 0)
        hc_drawing_say(out, "%s %s beyond %s", hc_page_count(c->beyond, n),
                       c->beyond == 1 ? "is" : "are",
                       c->beyond == 1 ? "its bound" : "their bounds");
    if (c->nans > 0)
        hc_drawing_say(out, "%s%d %s no number", c->beyond > 0 ? " and " : "", c->nans,
                       c->nans == 1 ? "has" : "have");
    if (families > 1)
        hc_drawing_say(out, ", in %d of %d families", c->beyond_families, families);
    hc_drawing_say(out, ".");
}

/* The first families of the order, which are the closest to their bounds or beyond. */
static void answer_headroom(const struct hc_families *f, const struct counts *c, FILE *out)
{
    char number[32];
    int families = f->family.count;
    answer_results(c, families, out);
    hc_drawing_say(out, " The %s famil%s ", c->beyond + c->nans == 0 ? "closest" : "farthest",
                   families == 1 ? "y is" : "ies are");
    for (int i = 0; i < families && i < 3; i++) {
        hc_drawing_say(out, "%s%s (%s)", i ? ", " : "", hc_families_name(f, i),
                       hc_drawing_number(number, hc_families_worst(f, i)));
    }
    hc_drawing_say(out, ". ");
    if (c->equal_families == families)
        hc_drawing_say(out, "Every result has an error of 0. ");
    else if (c->equal_families > 0)
        hc_drawing_say(out, "In %d of %d families every result has an error of 0. ",
                       c->equal_families, families);
    hc_drawing_say(out,
                   "A mark is the worst result of a backend, and its line begins at the median.");
}

static void make_headroom(struct hc_drawing *d)
{
    static const struct hc_families_axis axis = {1e-4, 10, true,
                                                 "error / bound (beyond 1: broken)"};
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
    if (hc_families_draw(&f, d, &axis, "no result has made a comparison")) {
        struct counts c = count(&f);
        answer_headroom(&f, &c, d->answer);
        hc_families_say_others(&f, d->answer);
    }
    hc_families_free(&f);
}

const struct hc_picture_kind hc_picture_headroom = {
    .id = "headroom",
    .question = "How close to its bound is each family?",
    .script = "headroom.gp",
    .alt = "Dot chart of error divided by bound, on a logarithmic axis, with a row for "
           "each family of cases (%d), the closest to its bound first.",
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
        hc_drawing_say(out, " No format's share is beyond the bound.");
        return;
    }
    char number[32];
    hc_drawing_say(out,
                   " In %d result%s the format's share is beyond the bound: there even the "
                   "correctly rounded value is that far from the real one, because the format ends "
                   "or loses digits, and only equal bits pass; the farthest is %s (%s).",
                   beyond, beyond == 1 ? "" : "s", farthest->name,
                   hc_drawing_number(number, farthest->format));
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
        hc_drawing_say(
            out,
            "All error is the format's: the implementation's results are the format-exact ones.");
    else if (exact > 0)
        hc_drawing_say(out,
                       "In %d of %d families all error is the format's: the implementation's "
                       "results are the format-exact ones.",
                       exact, families);
    else
        hc_drawing_say(out, "In no family is all error the format's.");
    if (worst >= 0)
        hc_drawing_say(
            out,
            " The implementation adds the most in %s: %s of the bound from the format-exact value.",
            hc_families_name(f, worst), hc_drawing_number(number, most));
    if (most > 1)
        hc_drawing_say(out, " Two values within the bound are up to two bounds apart if the real "
                            "one lies between them.");
    explain(d, out);
}

static void make_answers(struct hc_drawing *d)
{
    static const struct hc_families_axis axis = {1e-4, 10, true,
                                                 "share / bound (beyond 1: explained in words)"};
    struct hc_families f = {0};
    for (int r = 0; r < d->count; r++)
        for (int i = 0; i < d->records[r].record.count; i++) {
            const struct hc_row *row = &d->records[r].record.rows[i];
            if (isnan(row->implementation) || isnan(row->format))
                continue;
            hc_families_add(&f, row->name, implementation, row->implementation);
            hc_families_add(&f, row->name, format, row->format);
        }
    if (hc_families_draw(&f, d, &axis, "no result says whose its error is")) {
        answer_answers(d, &f, d->answer);
        hc_families_say_others(&f, d->answer);
    }
    hc_families_free(&f);
}

const struct hc_picture_kind hc_picture_answers = {
    .id = "answers",
    .question = "Whose error is it, the implementation's or the format's?",
    .script = "headroom.gp",
    .alt = "Dot chart with a row for each family (%d): how far the results are from "
           "the format-exact value, and that from the real one, divided by the bound.",
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
    hc_drawing_say(out,
                   "Of %d results that both have, %d have another error than in the baseline: %d "
                   "larger, %d smaller.",
                   c->common, c->changed, c->worse, c->changed - c->worse);
    if (c->worse > 0)
        hc_drawing_say(out, " The farthest is %s on %s (%s times its error).", c->farthest->name,
                       strcmp(c->farthest->backend, "-") == 0 ? "no backend" : c->farthest->backend,
                       hc_drawing_number(number, c->most));
    if (c->units > 0)
        hc_drawing_say(out, " %d more have another unit and are not compared.", c->units);
    hc_drawing_say(out, " Only families with changes have a row; 1 is the baseline's error.");
}

static void make_baseline(struct hc_drawing *d)
{
    static const struct hc_families_axis axis = {0.01, 100, true, "error / the baseline's error"};
    struct hc_families f = {0};
    struct changes c = {0};
    const struct hc_page_record *baseline = d->baseline;
    if (baseline)
        add_all(&f, &c, d, baseline);
    if (!baseline)
        hc_drawing_why_not(d, "there is no baseline to compare with");
    else if (c.common == 0)
        hc_drawing_why_not(d, "the baseline has no result in common with the record");
    else if (f.count == 0)
        hc_drawing_why_not(d, "all %d common results have the baseline's errors", c.common);
    if (hc_families_draw(&f, d, &axis, "")) {
        answer_baseline(&c, d->answer);
        hc_families_say_others(&f, d->answer);
    }
    hc_families_free(&f);
}

const struct hc_picture_kind hc_picture_baseline = {
    .id = "baseline",
    .question = "Which errors have changed since the baseline?",
    .script = "headroom.gp",
    .records = "BASELINE RECORD",
    .alt = "Dot chart of errors divided by the baseline's, on a logarithmic axis, with "
           "a row for each family that changed (%d).",
    .make = make_baseline,
};
