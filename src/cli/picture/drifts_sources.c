/* Which roundings make the drift from fp64. */
#include <math.h>
#include <string.h>

#include "cli/picture/drifts.h"
#include "cli/picture/families.h"
#include "op/text.h"

/* A source that makes less than this of both drifts has no row. */
#define LEAST_SHARE 0.01

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

/* The largest source of the gradients' drift that acts alone. */
struct largest {
    const json_t *source;
    double share;
};

static struct largest add_sources(struct hc_families *f, const char *name, const json_t *recipe,
                                  int *left_out)
{
    size_t i;
    json_t *source;
    struct largest largest = {0};
    json_array_foreach(json_object_get(recipe, "sources"), i, source)
    {
        char row[1024];
        double gradients = share(hc_drifts_real(source, "gradient_alone"), hc_drifts_error(recipe));
        double weights =
            share(hc_drifts_real(source, "free_alone"), hc_drifts_real(recipe, "free"));
        if (strcmp(hc_drifts_text(source, "format"), "-") == 0) /* all of them together */
            continue;
        if (gradients > largest.share)
            largest = (struct largest){source, gradients};
        if (gradients < LEAST_SHARE && weights < LEAST_SHARE) {
            ++*left_out;
            continue;
        }
        (void)snprintf(row, sizeof row, "%s: %.200s", name, hc_drifts_text(source, "source"));
        for (char *at = row; *at; at++)
            *at = *at == '/' ? '-' : *at; /* a slash would end the name of a family */
        hc_families_add(f, row, "gradients, at fp64's weights", gradients);
        hc_families_add(f, row, "weights, after a free run", weights);
    }
    return largest;
}

static void make_sources(struct hc_drawing *d)
{
    char name[512];
    int left_out = 0;
    /* Over ranks there is room for "reduction over ranks". */
    struct hc_families f = {.as_added = true, .longest = hc_drifts_most_ranks(d) > 0 ? 34 : 0};
    struct hc_drifts_summary s = hc_drifts_sum_up(d);
    struct largest largest = {0};
    for (int r = 0; r < d->count; r++) {
        size_t i;
        json_t *recipe;
        json_array_foreach((json_t *)hc_drifts_recipes(&d->records[r]), i, recipe)
        {
            struct largest own =
                add_sources(&f, hc_drifts_name(name, d, r, recipe), recipe, &left_out);
            if (recipe == s.most)
                largest = own;
        }
    }
    hc_families_sort(&f);
    if (s.recipes == 0 || f.count == 0 || f.no_memory)
        (void)snprintf(d->why_not, sizeof d->why_not, "%s",
                       s.recipes == 0 ? "no record is one of compare --drift"
                                      : "no source makes a share of the drift");
    else {
        hc_families_draw(&f, d, 1e-4, 10);
        hc_plot_integer(d->values, "limit", 0, 0);
        hc_plot_text(d->values, "axis_text", 0, "drift of this rounding alone / drift measured",
                     80);
        if (largest.source) {
            (void)fputs("In ", d->answer);
            hc_drawing_text(d->answer, hc_drifts_text(s.most, "recipe"));
            (void)fputs(", which drifts the most, the largest source of the gradients' drift is ",
                        d->answer);
            hc_drawing_text(d->answer, hc_drifts_text(largest.source, "source"));
            hc_print(d->answer, " in ");
            hc_drawing_text(d->answer, hc_drifts_text(largest.source, "format"));
            hc_print(d->answer, ": alone it makes %.3g of it. ", largest.share);
        }
        (void)fputs("Each rounding acts alone in a run of fp64; shares do not add up to 1, because"
                    " independent errors add in squares.",
                    d->answer);
        if (left_out > 0)
            (void)fprintf(d->answer, " %d source%s less than %g of both drifts %s no row.",
                          left_out, left_out == 1 ? " that makes" : "s that make", LEAST_SHARE,
                          left_out == 1 ? "has" : "have");
        hc_drifts_answer_ranks(d);
        (void)fprintf(d->alt,
                      "Dot chart on a logarithmic axis with %d rows, a recipe and a source each:"
                      " its share of the drift of gradients and of weights.",
                      f.family.count);
    }
    hc_families_free(&f);
}

const struct hc_picture_kind hc_picture_drift_sources = {
    .id = "drift-sources",
    .question = "Which roundings make the drift?",
    .script = "headroom.gp",
    .command = "halfcheck report RECORD --out DIR (reports/headroom.gp)",
    .make = make_sources,
};
