/* Whose error it is: the implementation's, or the format's, which every implementation has. */
#include <math.h>

#include "cli/picture/families.h"

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

static void answer(const struct hc_drawing *d, const struct hc_families *f, FILE *out)
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

static void make(struct hc_drawing *d)
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
        answer(d, &f, d->answer);
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
    .command = "halfcheck report RECORD --out DIR (reports/headroom.gp)",
    .make = make,
};
