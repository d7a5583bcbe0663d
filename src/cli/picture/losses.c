/* What each recipe loses on the way: updates that change no weight, gradients that become zero. */
#include <math.h>
#include <string.h>

#include "cli/picture/families.h"
#include "cli/picture/runs.h"

static const struct {
    const char *member; /* of "training" in run.json */
    const char *series;
} shares[] = {
    {"updates_lost", "updates that change nothing"},
    {"underflow", "gradients of weights that are 0"},
    {"activation_underflow", "gradients of outputs that are 0"},
};

enum { SHARES = sizeof shares / sizeof *shares };

static void add_run(struct hc_families *f, const struct hc_drawing *d,
                    const struct hc_picture_runs *runs, const struct hc_picture_run *run)
{
    char path[HC_RUN_PATH + 16];
    char name[512];
    (void)snprintf(path, sizeof path, "%s/run.json", run->folder);
    json_t *document = run->folder[0] ? json_load_file(path, 0, NULL) : NULL;
    const json_t *training = json_object_get(document, "training");
    for (int s = 0; s < SHARES && training; s++) {
        const json_t *share = json_object_get(training, shares[s].member);
        if (share)
            hc_families_add(f, hc_picture_run_name(name, d, runs, run), shares[s].series,
                            json_is_number(share) && !run->nan ? json_number_value(share)
                                                               : (double)NAN);
    }
    json_decref(document);
}

static void answer(const struct hc_families *f, FILE *out)
{
    int worst = -1;
    int nans = 0;
    int series = 0;
    char number[32];
    for (int s = 0; s < f->series.count; s++)
        series = strcmp(f->series.text[s], shares[0].series) == 0 ? s : series;
    for (int i = 0; i < f->family.count; i++) {
        double lost = hc_families_cell(f, i, series)->worst;
        nans += isnan(lost) != 0;
        if (!isnan(lost) && (worst < 0 || lost > hc_families_cell(f, worst, series)->worst))
            worst = i;
    }
    if (worst >= 0) {
        hc_drawing_text(out, hc_families_name(f, worst));
        (void)fprintf(out,
                      " loses the most updates: a share of %s of them is rounded away and changes"
                      " no weight.",
                      hc_drawing_number(number, hc_families_cell(f, worst, series)->worst));
    }
    if (nans > 0)
        (void)fprintf(out, " %d of %d recipes ended in NaN and have no shares.", nans,
                      f->family.count);
    (void)fputs(" A mark is the worst seed, and its line begins at the median.", out);
}

static void make(struct hc_drawing *d)
{
    struct hc_families f = {0};
    struct hc_picture_runs runs;
    if (hc_picture_runs_find(&runs, d)) {
        for (int i = 0; i < runs.count; i++)
            add_run(&f, d, &runs, &runs.run[i]);
        hc_families_sort(&f);
        if (f.count == 0 || f.no_memory)
            hc_picture_runs_why_not(&runs, d, "run.json");
        else {
            hc_families_draw(&f, d, 1e-4, 10);
            hc_plot_integer(d->values, "limit", 0, 0);
            hc_plot_text(d->values, "axis_text", 0, "share that is lost", 80);
            answer(&f, d->answer);
            (void)fprintf(d->alt,
                          "Dot chart on a logarithmic axis with a row for each of %d"
                          " recipes: shares of updates and gradients that are lost.",
                          f.family.count);
        }
    }
    hc_families_free(&f);
    hc_picture_runs_free(&runs);
}

const struct hc_picture_kind hc_picture_losses = {
    .id = "lost",
    .question = "Which recipes lose updates and gradients?",
    .script = "headroom.gp",
    .command = "halfcheck report RECORD --out DIR (reports/headroom.gp)",
    .make = make,
};
