/* Training runs, a small frame for each recipe: accuracy by epoch, loss by step, and the loss scale
   with the steps that it skipped; and what each recipe loses on the way. */
#include <math.h>
#include <string.h>

#include "cli/lines.h"
#include "cli/picture/families.h"
#include "cli/picture/runs.h"

enum { MOST_POINTS = 60 };

/* Writes the curve of a run. */
typedef void put_curve(struct hc_frames *frames, int series, const struct hc_picture_run *run);

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

/* Finds the runs and draws a frame for each recipe, with a curve for each run, and the base behind
   it. False if there are none. */
static bool draw(struct hc_drawing *d, struct hc_picture_runs *runs,
                 const struct hc_frames_axes *axes, put_curve *put)
{
    struct hc_frames f;
    bool open = false;
    const struct hc_picture_run *base = NULL; /* the first of its record: fp32, or whatever it is */
    if (!hc_picture_runs_find(runs, d))
        return false;
    hc_frames_begin(&f, d, axes);
    hc_frames_series(&f, "the recipe, a line for each seed");
    if (runs->recipes > 1)
        hc_frames_behind(&f, runs->run[0].recipe);
    for (int i = 0; i < runs->count; i++) {
        const struct hc_picture_run *run = &runs->run[i];
        if (i == 0 || run->record != base->record)
            base = run;
        if (run->first)
            open = hc_picture_run_frame(&f, runs, run);
        if (open && run->first && run != base)
            put(&f, 0, base);
        if (open)
            put(&f, 1, run);
    }
    hc_frames_end(&f);
    if (d->points == 0)
        hc_picture_runs_why_not(runs, d, "epochs.csv");
    return d->points > 0;
}

/* The recipes of one outcome of the test, and the first names among them. */
struct outcome {
    int count;
    char names[200];
};

static void add_recipe(struct outcome *outcome, const struct hc_row *row)
{
    enum { NAMED = 4 };
    const char *name = row->name + strlen("compare/");
    const char *end = strstr(name, "-as-");
    if (outcome->count < NAMED)
        hc_append(outcome->names, sizeof outcome->names, "%s%.*s", outcome->count ? ", " : "",
                  end ? (int)(end - name) : 60, name);
    else if (outcome->count == NAMED)
        hc_append(outcome->names, sizeof outcome->names, ", ...");
    outcome->count++;
}

static void say_outcome(FILE *out, const struct outcome *outcome, const char *is, const char *are)
{
    if (outcome->count)
        hc_drawing_say(out, " %s %s (%s).", hc_count(outcome->count, "recipe").text,
                       outcome->count == 1 ? is : are, outcome->names);
}

/* What the test of pairs says, which training has put into the record: the best and the worst of
   many runs differ by chance, too. */
static void answer_test(const struct hc_drawing *d)
{
    struct outcome equivalent = {0};
    struct outcome different = {0};
    struct outcome undecided = {0};
    double margin = (double)NAN;
    for (int r = 0; r < d->count; r++)
        for (int i = 0; i < d->records[r].record.count; i++) {
            const struct hc_row *row = &d->records[r].record.rows[i];
            if (strncmp(row->name, "compare/", 8) != 0)
                continue;
            enum hc_verdict verdict = hc_row_verdict(row);
            margin = row->bound;
            add_recipe(verdict == HC_PASS   ? &equivalent
                       : verdict == HC_FAIL ? &different
                                            : &undecided,
                       row);
        }
    if (isnan(margin))
        return;
    char number[32];
    hc_drawing_say(d->answer, " By the test of pairs with equal seeds and a margin of %s %s:",
                   hc_drawing_number(number, margin), hc_noun(margin == 1 ? 1 : 2, "point").text);
    say_outcome(d->answer, &equivalent, "is equivalent to the base", "are equivalent to the base");
    say_outcome(d->answer, &different, "is not equivalent, or ends in NaN",
                "are not equivalent, or end in NaN");
    say_outcome(d->answer, &undecided, "is undecided: more seeds could decide",
                "are undecided: more seeds could decide");
}

static void answer_accuracy(const struct hc_drawing *d, const struct hc_picture_runs *runs)
{
    int learned = 0;
    int nans = 0;
    for (int i = 0; i < runs->count; i++) {
        learned += runs->run[i].row->verdict == HC_PASS;
        nans += runs->run[i].nan;
    }
    FILE *out = d->answer;
    if (runs->count == 1)
        hc_drawing_say(out, "%s", learned ? "The run learned" : "The run did not learn");
    else
        hc_drawing_say(out, "%d of %s of %s learned", learned, hc_count(runs->count, "run").text,
                       hc_count(runs->recipes, "recipe").text);
    if (nans)
        hc_drawing_say(out, "; %d ended in NaN", nans);
    hc_drawing_say(out, ".");
    answer_test(d);
}

static void make_accuracy(struct hc_drawing *d)
{
    static const struct hc_frames_axes axes = {.x = "epoch",
                                               .y = "accuracy on the test images, %",
                                               .y_least = (double)NAN,
                                               .y_most = (double)NAN,
                                               .style = HC_FRAME_DOTTED_LINES};
    struct hc_picture_runs runs;
    if (draw(d, &runs, &axes, put_accuracy))
        answer_accuracy(d, &runs);
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
    if (least)
        hc_drawing_say(d->answer,
                       "The last training loss is between %.3g nat (%s) and %.3g nat (%s). ",
                       least->row->error, least->recipe, most->row->error, most->recipe);
    if (nans > 0)
        hc_drawing_say(d->answer, "%d of %d runs have no finite loss: crosses show from where on.",
                       nans, runs->count);
    else
        hc_drawing_say(d->answer, "No run's loss is NaN.");
}

static void make_loss(struct hc_drawing *d)
{
    static const struct hc_frames_axes axes = {.x = "epoch",
                                               .y = "training loss, nat (cross-entropy)",
                                               .y_least = 0,
                                               .y_most = (double)NAN,
                                               .style = HC_FRAME_LINES};
    struct hc_picture_runs runs;
    if (draw(d, &runs, &axes, put_loss))
        answer_loss(d, &runs);
    hc_picture_runs_free(&runs);
}

const struct hc_picture_kind hc_picture_accuracy = {
    .id = "accuracy",
    .question = "Does every recipe learn as well as the base?",
    .script = "frames.gp",
    .alt = "Accuracy by epoch, a small frame for each recipe (%d); red crosses where "
           "the loss is NaN.",
    .make = make_accuracy,
};

const struct hc_picture_kind hc_picture_loss = {
    .id = "loss",
    .question = "How does the loss fall?",
    .script = "frames.gp",
    .alt = "Training loss over the epochs, a small frame for each recipe (%d); red "
           "crosses where it is NaN.",
    .make = make_loss,
};

/* The loss scale and the steps that it skipped, over time. */
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

static double epoch_of(const struct scale *s, int row)
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
static double put_scale(struct hc_frames *f, const struct hc_picture_run *run)
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
            hc_frames_point(f, 1, epoch_of(&s, i), scale);
    }
    hc_frames_break(f);
    for (int i = 0; i < s.csv.rows; i++)
        if (hc_csv_at(&s.csv, i, s.skipped) > 0) {
            skipped += hc_csv_at(&s.csv, i, s.skipped);
            if (crosses++ < MOST_CROSSES)
                hc_frames_cross(f, epoch_of(&s, i), hc_csv_at(&s.csv, i, s.scale));
        }
    hc_csv_free(&s.csv);
    return skipped;
}

struct moved {
    int moving;
    double skipped;
    double most;
    const char *recipe; /* that skipped the most */
};

static void put_scales(struct hc_frames *f, const struct hc_picture_runs *runs, struct moved *sum)
{
    for (int i = 0; i < runs->count; i++) {
        const struct hc_picture_run *run = &runs->run[i];
        if (!run->first || !moves(run) || !hc_picture_run_frame(f, runs, run))
            continue;
        double skipped = put_scale(f, run);
        sum->moving++;
        sum->skipped += skipped;
        if (skipped > sum->most) {
            sum->most = skipped;
            sum->recipe = run->recipe;
        }
    }
}

static void answer_scale(const struct moved *sum, const struct hc_picture_runs *runs, FILE *out)
{
    hc_drawing_say(out,
                   "%d of %s %s or skip%s steps (the first seed of each is shown); "
                   "together these runs skip %.0f step%s.",
                   sum->moving, hc_count(runs->recipes, "recipe").text,
                   sum->moving == 1 ? "moves its scale" : "move their scale",
                   sum->moving == 1 ? "s" : "", sum->skipped, sum->skipped == 1 ? "" : "s");
    if (sum->moving > 1 && sum->most > 0)
        hc_drawing_say(out, " Most are skipped by %s (%.0f).", sum->recipe, sum->most);
}

static void make_scale(struct hc_drawing *d)
{
    static const struct hc_frames_axes axes = {.x = "epoch",
                                               .y = "loss scale",
                                               .log_y = 2,
                                               .y_least = (double)NAN,
                                               .y_most = (double)NAN,
                                               .style = HC_FRAME_LINES};
    struct hc_picture_runs runs;
    struct hc_frames f;
    struct moved sum = {0};
    if (hc_picture_runs_find(&runs, d)) {
        hc_frames_begin(&f, d, &axes);
        hc_frames_series(&f, "scale (cross: a step was skipped)");
        put_scales(&f, &runs, &sum);
        hc_frames_end(&f);
        if (d->points > 0)
            answer_scale(&sum, &runs, d->answer);
        else if (runs.count == runs.missing)
            hc_picture_runs_why_not(&runs, d, "steps.csv or epochs.csv");
        else
            hc_drawing_why_not(d, "no run moved its loss scale or skipped a step");
    }
    hc_picture_runs_free(&runs);
}

const struct hc_picture_kind hc_picture_scale = {
    .id = "scale",
    .question = "How did the loss scale move, and when were steps skipped?",
    .script = "frames.gp",
    .alt = "Loss scale over the epochs on a logarithmic axis, a small frame for "
           "each recipe (%d); red crosses where steps were skipped.",
    .make = make_scale,
};

/* Updates that change no weight, gradients that become zero. */
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

static void answer_losses(const struct hc_families *f, FILE *out)
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
    if (worst >= 0)
        hc_drawing_say(out,
                       "%s loses the most updates: a share of %s of them is rounded away and "
                       "changes no weight.",
                       hc_families_name(f, worst),
                       hc_drawing_number(number, hc_families_cell(f, worst, series)->worst));
    if (nans > 0)
        hc_drawing_say(out, " %d of %d recipes ended in NaN and have no shares.", nans,
                       f->family.count);
    hc_drawing_say(out, " A mark is the worst seed, and its line begins at the median.");
}

static void make_losses(struct hc_drawing *d)
{
    static const struct hc_families_axis axis = {1e-4, 10, false, "share that is lost"};
    struct hc_families f = {0};
    struct hc_picture_runs runs;
    if (hc_picture_runs_find(&runs, d)) {
        for (int i = 0; i < runs.count; i++)
            add_run(&f, d, &runs, &runs.run[i]);
        if (f.count == 0)
            hc_picture_runs_why_not(&runs, d, "run.json");
        if (hc_families_draw(&f, d, &axis, "")) {
            answer_losses(&f, d->answer);
            hc_families_say_others(&f, d->answer);
        }
    }
    hc_families_free(&f);
    hc_picture_runs_free(&runs);
}

const struct hc_picture_kind hc_picture_losses = {
    .id = "lost",
    .question = "Which recipes lose updates and gradients?",
    .script = "headroom.gp",
    .alt = "Dot chart on a logarithmic axis with a row for each recipe (%d): "
           "shares of updates and gradients that are lost.",
    .make = make_losses,
};
