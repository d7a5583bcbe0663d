/* The loss scale and the steps that it skipped, over time. */
#include <math.h>
#include <string.h>

#include "cli/picture/frames.h"
#include "cli/picture/runs.h"

enum { MOST_CROSSES = 150 };

/* The scale of a run, by epochs. */
struct scale {
    struct hc_csv csv;
    bool by_step; /* otherwise a row is an epoch */
    int scale;
    int skipped;
    int epoch;
};

static bool read_scale(const struct hc_picture_run *run, struct scale *s)
{
    s->by_step = hc_picture_run_read(run, "steps.csv", &s->csv);
    if (!s->by_step && !hc_picture_run_read(run, "epochs.csv", &s->csv))
        return false;
    s->scale = hc_csv_column(&s->csv, "scale");
    s->skipped = hc_csv_column(&s->csv, "skipped");
    s->epoch = hc_csv_column(&s->csv, "epoch");
    return true;
}

static double at(const struct scale *s, int row)
{
    double epochs = hc_csv_at(&s->csv, s->csv.rows - 1, s->epoch) + 1;
    return epochs * (row + (s->by_step ? 0 : 1)) / s->csv.rows;
}

/* Whether it ever moves or skips; a scale that stays is no picture. */
static bool moves(const struct hc_picture_run *run)
{
    struct scale s;
    bool any = false;
    if (!read_scale(run, &s))
        return false;
    for (int i = 0; i < s.csv.rows; i++)
        any |= hc_csv_at(&s.csv, i, s.skipped) > 0 ||
               hc_csv_at(&s.csv, i, s.scale) != hc_csv_at(&s.csv, 0, s.scale);
    hc_csv_free(&s.csv);
    return any;
}

/* Only the corners of the curve are points. Returns how many steps were skipped. */
static double put(struct hc_frames *f, const struct hc_picture_run *run)
{
    struct scale s;
    double skipped = 0;
    int crosses = 0;
    if (!read_scale(run, &s))
        return 0;
    for (int i = 0; i < s.csv.rows; i++) {
        double scale = hc_csv_at(&s.csv, i, s.scale);
        bool corner = i == 0 || i == s.csv.rows - 1 || scale != hc_csv_at(&s.csv, i - 1, s.scale) ||
                      scale != hc_csv_at(&s.csv, i + 1, s.scale);
        if (corner)
            hc_frames_point(f, 1, at(&s, i), scale);
    }
    hc_frames_break(f);
    for (int i = 0; i < s.csv.rows; i++)
        if (hc_csv_at(&s.csv, i, s.skipped) > 0) {
            skipped += hc_csv_at(&s.csv, i, s.skipped);
            if (crosses++ < MOST_CROSSES)
                hc_frames_cross(f, at(&s, i), hc_csv_at(&s.csv, i, s.scale));
        }
    hc_csv_free(&s.csv);
    return skipped;
}

struct summary {
    int moving;
    double skipped;
    double most;
    char recipe[256]; /* that skipped the most */
};

static void put_all(struct hc_frames *f, const struct hc_picture_runs *runs, struct summary *sum)
{
    char text[512];
    char trouble[128];
    for (int i = 0; i < runs->count; i++) {
        const struct hc_picture_run *run = &runs->run[i];
        if (!run->first || !moves(run) ||
            !hc_frames_next(f, hc_picture_run_name(text, f->d, runs, run),
                            hc_picture_run_trouble(trouble, runs, run)))
            continue;
        double skipped = put(f, run);
        sum->moving++;
        sum->skipped += skipped;
        if (skipped > sum->most) {
            sum->most = skipped;
            (void)snprintf(sum->recipe, sizeof sum->recipe, "%s", run->recipe);
        }
    }
}

static void answer(const struct summary *sum, const struct hc_picture_runs *runs, FILE *out)
{
    (void)fprintf(out,
                  "%d of %d recipe%s %s or skip%s steps (the first seed of each is shown);"
                  " together these runs skip %.0f step%s.",
                  sum->moving, runs->recipes, runs->recipes == 1 ? "" : "s",
                  sum->moving == 1 ? "moves its scale" : "move their scale",
                  sum->moving == 1 ? "s" : "", sum->skipped, sum->skipped == 1 ? "" : "s");
    if (sum->moving > 1 && sum->most > 0) {
        (void)fputs(" Most are skipped by ", out);
        hc_drawing_text(out, sum->recipe);
        (void)fprintf(out, " (%.0f).", sum->most);
    }
}

static void make(struct hc_drawing *d)
{
    static const struct hc_frames_axes axes = {.x = "epoch",
                                               .y = "loss scale",
                                               .log_y = 2,
                                               .y_least = (double)NAN,
                                               .y_most = (double)NAN,
                                               .style = HC_FRAME_LINES};
    struct hc_picture_runs runs;
    struct hc_frames f;
    struct summary sum = {0};
    if (hc_picture_runs_find(&runs, d)) {
        hc_frames_begin(&f, d, &axes);
        hc_frames_series(&f, "scale (cross: a step was skipped)");
        put_all(&f, &runs, &sum);
        hc_frames_end(&f);
        if (d->points > 0) {
            answer(&sum, &runs, d->answer);
            (void)fprintf(d->alt,
                          "Loss scale over the epochs on a logarithmic axis, a small frame"
                          " for each of %d recipes; red crosses where steps were skipped.",
                          sum.moving);
        } else if (runs.count == runs.missing)
            hc_picture_runs_why_not(&runs, d, "steps.csv or epochs.csv");
        else
            (void)snprintf(d->why_not, sizeof d->why_not,
                           "no run moved its loss scale or skipped a step");
    }
    hc_picture_runs_free(&runs);
}

const struct hc_picture_kind hc_picture_scale = {
    .id = "scale",
    .question = "How did the loss scale move, and when were steps skipped?",
    .script = "frames.gp",
    .command = "halfcheck report RECORD --out DIR (reports/frames.gp)",
    .make = make,
};
