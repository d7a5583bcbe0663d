/* The exponents of gradients, and the window that half has for them. */
#include <math.h>

#include "cli/picture/runs.h"

#define LEAST 1e-3 /* %, the lowest share that is drawn */

enum { BINS = HC_FRAME_INFINITE - HC_FRAME_ZERO + 1, ZERO = -150, INFINITE = 128 };

/* Shares by exponent, of gradients as they are stored and as they were without the scale. */
struct exponents {
    double share[2][BINS];
    double total[2];
};

static int bin_of(double exponent)
{
    if (exponent <= ZERO)
        return 0;
    if (exponent >= INFINITE)
        return BINS - 1;
    return (int)fmin(fmax(exponent, HC_FRAME_LEAST), HC_FRAME_MOST) - HC_FRAME_ZERO;
}

static void count(struct exponents *e, int kind, double exponent, double n)
{
    if (isnan(exponent) || !(n > 0) || isinf(n))
        return;
    e->share[kind][bin_of(exponent)] += n;
    e->total[kind] += n;
}

/* Shares below the lowest one that the frames show are drawn as none. */
static double percent(const struct exponents *e, int kind, int bin)
{
    double share = 100 * e->share[kind][bin] / e->total[kind];
    return share >= LEAST ? share : 0;
}

/* Writes the bins from the first to the last that have entries, with an empty one around them. */
static void put(struct hc_frames *f, const struct exponents *e)
{
    for (int kind = 0; kind < 2; kind++) {
        int first = 0;
        int last = BINS - 1;
        if (!(e->total[kind] > 0))
            continue;
        while (first < last && percent(e, kind, first) == 0)
            first++;
        while (last > first && percent(e, kind, last) == 0)
            last--;
        first -= first > 0;
        last += last < BINS - 1;
        for (int b = first; b <= last; b++)
            hc_frames_point(f, kind + 1, HC_FRAME_ZERO + b, percent(e, kind, b));
        hc_frames_break(f);
    }
}

/* The share that half makes zero or infinite, in %. */
static double lost(const struct exponents *e, int kind)
{
    double sum = e->share[kind][0] + e->share[kind][BINS - 1];
    for (int b = 1; b < BINS - 1; b++)
        if (HC_FRAME_ZERO + b < -24 || HC_FRAME_ZERO + b >= 16)
            sum += e->share[kind][b];
    return e->total[kind] > 0 ? 100 * sum / e->total[kind] : 0;
}

struct summary {
    double most; /* beyond half's window without the scale */
    double then; /* and with it, of the same gradients */
    char name[256];
};

/* The histograms of the runs. `columns` are those of gradients.csv. */
static void add_runs(struct hc_frames *f, struct summary *s, const struct hc_picture_runs *runs,
                     const char *const columns[2])
{
    char text[512];
    char trouble[128];
    for (int i = 0; i < runs->count; i++) {
        struct hc_csv csv;
        struct exponents e = {0};
        if (!runs->run[i].first || !hc_picture_run_read(&runs->run[i], "gradients.csv", &csv))
            continue;
        int exponent = hc_csv_column(&csv, "exponent");
        for (int kind = 0; kind < 2; kind++)
            for (int r = 0; r < csv.rows; r++)
                count(&e, kind, hc_csv_at(&csv, r, exponent),
                      hc_csv_at(&csv, r, hc_csv_column(&csv, columns[kind])));
        hc_csv_free(&csv);
        if (e.total[0] + e.total[1] <= 0 || !hc_picture_run_frame(f, runs, &runs->run[i]))
            continue;
        put(f, &e);
        if (!hc_picture_run_trouble(trouble, runs, &runs->run[i])[0] &&
            (!s->name[0] || lost(&e, 1) > s->most)) {
            s->most = lost(&e, 1);
            s->then = lost(&e, 0);
            (void)snprintf(s->name, sizeof s->name, "%.250s",
                           hc_picture_run_name(text, f->d, runs, &runs->run[i]));
        }
    }
}

static void answer(const struct summary *s, const char *what, FILE *out)
{
    if (s->name[0])
        hc_drawing_say(out,
                       "Of %s, without a loss scale at most %.3g %% lie beyond half's window (%s); "
                       "as they are stored, with its scale, that is %.3g %%. ",
                       what, s->most, s->name, s->then);
    hc_drawing_say(out, "Red is beyond the window, which is from 2^-24 to 2^16; yellow is where "
                        "half has only subnormal numbers, below 2^-14.");
}

static const struct hc_frame_tick ticks[] = {{HC_FRAME_ZERO, "zero"},
                                             {-20, "-20"},
                                             {0, "0"},
                                             {HC_FRAME_INFINITE, "\xe2\x88\x9e"},
                                             {0, NULL}};

static void make(struct hc_drawing *d, const char *what, const char *const columns[2])
{
    static const struct hc_frames_axes axes = {.x = "exponent of 2",
                                               .y = "share of the entries, %",
                                               .log_y = 10,
                                               .y_least = LEAST,
                                               .y_most = 100,
                                               .style = HC_FRAME_STEPS,
                                               .ticks = ticks,
                                               .half_windows = true};
    struct hc_picture_runs runs;
    struct hc_frames f;
    struct summary s = {0};
    if (hc_picture_runs_find(&runs, d)) {
        hc_frames_begin(&f, d, &axes);
        hc_frames_series(&f, "as stored, with the scale");
        hc_frames_series(&f, "without the scale");
        add_runs(&f, &s, &runs, columns);
        hc_frames_end(&f);
        if (d->points == 0)
            hc_picture_runs_why_not(&runs, d, "gradients.csv");
        else
            answer(&s, what, d->answer);
    }
    hc_picture_runs_free(&runs);
}

static void make_weights(struct hc_drawing *d)
{
    make(d, "the gradients of weights", (const char *const[2]){"scaled", "unscaled"});
}

static void make_outputs(struct hc_drawing *d)
{
    make(d, "the gradients of layers' outputs",
         (const char *const[2]){"activations_scaled", "activations_unscaled"});
}

const struct hc_picture_kind hc_picture_weight_exponents = {
    .id = "weight-gradients",
    .question = "Do the gradients of weights fit into half's window?",
    .script = "frames.gp",
    .alt = "Histograms of exponents on logarithmic axes, a small frame for each "
           "recipe (%d), with the window of half shaded.",
    .make = make_weights,
};

const struct hc_picture_kind hc_picture_output_exponents = {
    .id = "output-gradients",
    .question = "Do the gradients of layers' outputs fit into half's window?",
    .script = "frames.gp",
    .alt = "Histograms of exponents on logarithmic axes, a small frame for each "
           "recipe (%d), with the window of half shaded.",
    .make = make_outputs,
};
