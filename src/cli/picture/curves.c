/* Training curves: accuracy by epoch, loss by step, a small frame for each recipe. */
#include <math.h>
#include <string.h>

#include "op/text.h"

#include "cli/picture/frames.h"
#include "cli/picture/runs.h"

enum { MOST_POINTS = 60 };

/* What a curve shows. */
struct curve {
    void (*put)(struct hc_frames *frames, int series, const struct hc_picture_run *run);
};

/* The accuracy of an epoch whose losses are not finite is no number. */
static void put_accuracy(struct hc_frames *f, int series, const struct hc_picture_run *run)
{
    struct hc_csv csv;
    if (!hc_picture_run_read(run, "epochs.csv", &csv))
        return;
    int accuracy = hc_csv_column(&csv, "test_accuracy");
    int loss = hc_csv_column(&csv, "train_loss");
    for (int i = 0; i < csv.rows; i++) {
        if (isfinite(hc_csv_at(&csv, i, loss)))
            hc_frames_point(f, series, i + 1, 100 * hc_csv_at(&csv, i, accuracy));
        else if (series > 0)
            hc_frames_cross(f, i + 1, (double)NAN);
    }
    hc_frames_break(f);
    hc_csv_free(&csv);
}

/* Means over blocks of steps, in epochs; or the mean of each epoch where there are no steps. */
static void put_loss(struct hc_frames *f, int series, const struct hc_picture_run *run)
{
    struct hc_csv csv;
    bool steps = hc_picture_run_read(run, "steps.csv", &csv);
    if (!steps && !hc_picture_run_read(run, "epochs.csv", &csv))
        return;
    int loss = hc_csv_column(&csv, steps ? "loss" : "train_loss");
    int epoch = hc_csv_column(&csv, "epoch");
    double epochs = csv.rows > 0 ? hc_csv_at(&csv, csv.rows - 1, epoch) + 1 : 0;
    int block = steps ? (csv.rows + MOST_POINTS - 1) / MOST_POINTS : 1;
    bool lost = false; /* the last point: the first of several without a number has a cross */
    for (int i = 0; i < csv.rows; i += block) {
        int n = i + block < csv.rows ? block : csv.rows - i;
        double sum = 0;
        for (int k = i; k < i + n; k++)
            sum += hc_csv_at(&csv, k, loss);
        double at = epochs * (i + (steps ? n / 2.0 : n)) / csv.rows;
        if (isfinite(sum))
            hc_frames_point(f, series, at, sum / n);
        else if (series > 0 && !lost)
            hc_frames_cross(f, at, (double)NAN);
        if (!isfinite(sum))
            hc_frames_break(f);
        lost = !isfinite(sum);
    }
    hc_frames_break(f);
    hc_csv_free(&csv);
}

/* A frame for each recipe, with its runs, and the base behind it. */
static void put_all(struct hc_frames *f, const struct hc_picture_runs *runs,
                    const struct curve *curve)
{
    char text[512];
    char trouble[128];
    bool open = false;
    for (int i = 0; i < runs->count; i++) {
        const struct hc_picture_run *run = &runs->run[i];
        const struct hc_picture_run *base = hc_picture_run_base(runs, run);
        if (run->first)
            open = hc_frames_next(f, hc_picture_run_name(text, f->d, runs, run),
                                  hc_picture_run_trouble(trouble, runs, run));
        if (open && run->first && run != base)
            curve->put(f, 0, base);
        if (open)
            curve->put(f, 1, run);
    }
}

/* Finds the runs and draws their curves. False if there are none. */
static bool draw(struct hc_drawing *d, struct hc_picture_runs *runs,
                 const struct hc_frames_axes *axes, const struct curve *curve)
{
    struct hc_frames f;
    if (!hc_picture_runs_find(runs, d))
        return false;
    hc_frames_begin(&f, d, axes);
    hc_frames_series(&f, "the recipe, a line for each seed");
    if (runs->recipes > 1)
        hc_frames_behind(&f, runs->run[0].recipe);
    put_all(&f, runs, curve);
    hc_frames_end(&f);
    if (d->points == 0)
        hc_picture_runs_why_not(runs, d, "epochs.csv");
    return d->points > 0;
}

/* The last accuracy of a run; NaN if it ended in NaN or is not known. */
static double last_accuracy(const struct hc_picture_run *run)
{
    struct hc_csv csv;
    double accuracy = (double)NAN;
    if (!hc_picture_run_read(run, "epochs.csv", &csv))
        return accuracy;
    int last = csv.rows - 1;
    if (last >= 0 && isfinite(hc_csv_at(&csv, last, hc_csv_column(&csv, "train_loss"))))
        accuracy = 100 * hc_csv_at(&csv, last, hc_csv_column(&csv, "test_accuracy"));
    hc_csv_free(&csv);
    return accuracy;
}

static void put_run(FILE *out, const struct hc_picture_run *run, double accuracy)
{
    hc_drawing_text(out, run->recipe);
    hc_print(out, " seed %llu (%.2f %%)", (unsigned long long)run->row->seed, accuracy);
}

static void answer_accuracy(const struct hc_drawing *d, const struct hc_picture_runs *runs)
{
    int learned = 0;
    int nans = 0;
    const struct hc_picture_run *best = NULL;
    const struct hc_picture_run *worst = NULL;
    double most = 0;
    double least = 0;
    for (int i = 0; i < runs->count; i++) {
        const struct hc_picture_run *run = &runs->run[i];
        double accuracy = last_accuracy(run);
        learned += run->row->verdict == HC_PASS;
        nans += run->nan;
        if (isnan(accuracy) || run->nan)
            continue;
        if (!best || accuracy > most) {
            best = run;
            most = accuracy;
        }
        if (!worst || accuracy < least) {
            worst = run;
            least = accuracy;
        }
    }
    FILE *out = d->answer;
    if (runs->count == 1)
        (void)fputs(learned ? "The run learned" : "The run did not learn", out);
    else
        (void)fprintf(out, "%d of %d runs of %d recipe%s learned", learned, runs->count,
                      runs->recipes, runs->recipes == 1 ? "" : "s");
    (void)fprintf(out, nans ? "; %d ended in NaN." : ".", nans);
    if (best && best != worst) {
        (void)fputs(" In the end the best is ", out);
        put_run(out, best, most);
        (void)fputs(" and the worst ", out);
        put_run(out, worst, least);
        (void)fputc('.', out);
    }
}

static void make_accuracy(struct hc_drawing *d)
{
    static const struct hc_frames_axes axes = {.x = "epoch",
                                               .y = "accuracy on the test images, %",
                                               .y_least = (double)NAN,
                                               .y_most = 100,
                                               .style = HC_FRAME_DOTTED_LINES};
    struct hc_picture_runs runs;
    if (draw(d, &runs, &axes, &(struct curve){put_accuracy})) {
        answer_accuracy(d, &runs);
        (void)fprintf(d->alt,
                      "Accuracy by epoch, a small frame for each of %d recipes; red crosses where"
                      " the loss is NaN.",
                      runs.recipes);
    }
    hc_picture_runs_free(&runs);
}

static void answer_loss(const struct hc_drawing *d, const struct hc_picture_runs *runs)
{
    const struct hc_picture_run *least = NULL;
    const struct hc_picture_run *most = NULL;
    int nans = 0;
    for (int i = 0; i < runs->count; i++) {
        const struct hc_picture_run *run = &runs->run[i];
        nans += run->nan;
        if (run->nan)
            continue;
        least = !least || run->row->error < least->row->error ? run : least;
        most = !most || run->row->error > most->row->error ? run : most;
    }
    if (least) {
        (void)fputs("The last training loss is between ", d->answer);
        hc_print(d->answer, "%.3g nat (", least->row->error);
        hc_drawing_text(d->answer, least->recipe);
        hc_print(d->answer, ") and %.3g nat (", most->row->error);
        hc_drawing_text(d->answer, most->recipe);
        (void)fputs("). ", d->answer);
    }
    if (nans > 0)
        (void)fprintf(d->answer, "%d of %d runs have no finite loss: crosses show from where on.",
                      nans, runs->count);
    else
        (void)fputs("No run's loss is NaN.", d->answer);
}

static void make_loss(struct hc_drawing *d)
{
    static const struct hc_frames_axes axes = {.x = "epoch",
                                               .y = "training loss, nat (cross-entropy)",
                                               .y_least = 0,
                                               .y_most = (double)NAN,
                                               .style = HC_FRAME_LINES};
    struct hc_picture_runs runs;
    if (draw(d, &runs, &axes, &(struct curve){put_loss})) {
        answer_loss(d, &runs);
        (void)fprintf(d->alt,
                      "Training loss over the epochs, a small frame for each of %d recipes; red"
                      " crosses where it is NaN.",
                      runs.recipes);
    }
    hc_picture_runs_free(&runs);
}

const struct hc_picture_kind hc_picture_accuracy = {
    .id = "accuracy",
    .question = "Does every recipe learn as well as the base?",
    .script = "frames.gp",
    .command = "halfcheck report RECORD --out DIR (reports/frames.gp)",
    .make = make_accuracy,
};

const struct hc_picture_kind hc_picture_loss = {
    .id = "loss",
    .question = "How does the loss fall?",
    .script = "frames.gp",
    .command = "halfcheck report RECORD --out DIR (reports/frames.gp)",
    .make = make_loss,
};
