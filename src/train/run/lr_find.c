#include "train/run/lr_find.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "op/output.h"
#include "op/text.h"

const struct hc_lr_range hc_lr_usual = {1e-7, 10, 100};

/* What is cut off before a suggestion is made. */
enum { SKIP_START = 10, SKIP_END = 5 };

static const double runaway = 4;

struct search {
    const struct hc_train_options *options;
    const struct hc_lr_range *range;
    struct hc_lr_point *points;
    struct hc_lr_found *found;
    double best;
    bool over;
};

static struct hc_rates growing(int64_t step, const void *plan)
{
    const struct hc_lr_range *range = plan;
    double at = (double)step / range->steps;
    return (struct hc_rates){.lr = range->from * pow(range->to / range->from, at), .beta1 = 0.9};
}

/* Steps that were queued with those that we wanted may follow the end. */
static bool look_at_loss(const struct hc_progress *progress, void *context)
{
    struct search *s = context;
    struct hc_progress shown = *progress;
    if (s->over || progress->evaluated)
        return !s->over;
    s->points[s->found->points++] =
        (struct hc_lr_point){.lr = growing(progress->step - 1, s->range).lr,
                             .loss = progress->loss,
                             .smooth = progress->smooth,
                             .scale = progress->scale,
                             .skipped = progress->skipped};
    s->best = fmin(s->best, progress->smooth);
    s->found->diverged = isnan(progress->smooth) || progress->smooth > runaway * s->best;
    s->over = s->found->diverged || s->found->points == s->range->steps;
    shown.steps = s->range->steps;
    if (s->options->progress && !s->options->progress(&shown, s->options->context))
        s->over = true;
    return !s->over;
}

void hc_lr_suggest(const struct hc_lr_point *points, int n, struct hc_lr_found *found)
{
    int last = n - 1 - SKIP_END;
    int least = SKIP_START;
    double steepest = (double)INFINITY;
    found->steepest = (double)NAN;
    found->tenth = (double)NAN;
    if (last <= SKIP_START)
        return;
    for (int i = SKIP_START; i <= last; i++)
        if (points[i].smooth < points[least].smooth)
            least = i;
    found->tenth = points[least].lr / 10;
    for (int i = SKIP_START; i <= least; i++) {
        int before = i > SKIP_START ? i - 1 : i;
        int after = i < last ? i + 1 : i;
        double slope = (points[after].smooth - points[before].smooth) / (after - before);
        if (slope < steepest) {
            steepest = slope;
            found->steepest = points[i].lr;
        }
    }
}

enum hc_status hc_lr_find(const struct hc_train_options *options, const struct hc_lr_range *range,
                          struct hc_lr_point *points, struct hc_lr_found *found)
{
    struct hc_train_options o = *options;
    struct hc_train_result result;
    struct search search = {.options = options,
                            .range = range,
                            .points = points,
                            .found = found,
                            .best = (double)INFINITY};
    int64_t batches = o.data->train.count / (o.batch ? o.batch : 64);
    assert(range->steps > 0 && range->from > 0 && range->to > range->from);
    *found = (struct hc_lr_found){0};
    o.epochs = batches > 0 ? (int)((range->steps + batches - 1) / batches) : 1;
    o.max_lr = range->to;
    o.schedule = growing;
    o.plan = range;
    o.out = NULL;
    o.resume = false;
    o.checkpoint_every = 0;
    o.measure_every = range->steps;
    o.progress = look_at_loss;
    o.context = &search;
    enum hc_status status = hc_train(&o, &result);
    hc_lr_suggest(points, found->points, found);
    return status;
}

struct curve {
    const struct hc_lr_point *points;
    int n;
};

static void print_curve(FILE *out, const void *context)
{
    const struct curve *curve = context;
    (void)fputs("step,lr,loss,smooth,scale,skipped\n", out);
    for (int i = 0; i < curve->n; i++)
        hc_print(out, "%d,%.9g,%.9g,%.9g,%.9g,%lld\n", i, curve->points[i].lr,
                 curve->points[i].loss, curve->points[i].smooth, curve->points[i].scale,
                 (long long)curve->points[i].skipped);
}

enum hc_status hc_lr_write(const char *path, const struct hc_lr_point *points, int n)
{
    struct curve curve = {points, n};
    return hc_output_print(path, print_curve, &curve);
}
