#include "train/drift/drift_baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hc_drift_memo {
    struct hc_drift_memo *next;
    struct hc_rounding rounding;
    struct hc_drift_effect found;
    bool skips;
    bool finite;   /* every gradient was: `skips` does not matter */
    float scale[]; /* of both runs; 1 where it does not matter */
};

/* Whether a pass at given weights is the same. */
static bool same_pass(const struct hc_rounding *a, const struct hc_rounding *b)
{
    return memcmp(a->format, b->format, HC_SOURCE_UPDATE * sizeof a->format[0]) == 0;
}

static bool rounds_passes(const struct hc_rounding *r)
{
    for (int s = 0; s < HC_SOURCE_UPDATE; s++)
        if (r->format[s][0] != HC_FP64 || r->format[s][1] != HC_FP64)
            return true;
    return false;
}

/* In fp32 and fp64 a power of two changes nothing. */
static bool feels_scale(const struct hc_rounding *r)
{
    return r->format[HC_SOURCE_GRADIENTS][0] > HC_FP32 ||
           r->format[HC_SOURCE_WEIGHT_GRADIENTS][0] > HC_FP32 ||
           r->format[HC_SOURCE_NORM][1] > HC_FP32;
}

static enum hc_status pass(struct hc_drift_baseline *w, int step, float scale, float *loss)
{
    const struct hc_drift_batches *b = w->batches;
    w->passes += w->subject.rounds;
    return hc_drift_run_pass(&w->subject, b->images + step * b->floats,
                             b->labels + (int64_t)step * b->batch, scale, loss);
}

static const double *weights_at(const struct hc_drift_baseline *w, int step)
{
    return w->w + step * w->weights;
}

static const double *gradients_at(const struct hc_drift_baseline *w, int step)
{
    return w->g + step * w->weights;
}

double hc_baseline_distance(const struct hc_drift_baseline *w, const double *x, const double *from)
{
    const double *end = weights_at(w, w->options->steps);
    return sqrt(hc_squares(x, from, w->weights) / hc_squares(end, w->w, w->weights));
}

static enum hc_status run(struct hc_drift_baseline *w)
{
    float loss = 0;
    struct hc_drift_run *s = &w->subject;
    size_t bytes = (size_t)w->weights * sizeof(double);
    enum hc_status status = hc_drift_run_get(s, HC_STATE_MASTER, w->w);
    for (int step = 0; step < w->options->steps && status == HC_OK; step++) {
        status = pass(w, step, 1, &loss);
        memcpy(w->g + step * w->weights, s->g, bytes);
        if (status == HC_OK)
            status = hc_drift_run_update(s, w->options->lr);
        if (status == HC_OK)
            status = hc_drift_run_get(s, HC_STATE_MASTER, w->w + (step + 1) * w->weights);
    }
    w->loss = (double)loss;
    return status;
}

enum hc_status hc_baseline_open(struct hc_drift_baseline *w, const struct hc_drift_options *options,
                                const struct hc_drift_batches *batches, struct hc_queue *queue,
                                const struct hc_recipe *recipe)
{
    *w = (struct hc_drift_baseline){.options = options, .batches = batches, .recipe = *recipe};
    enum hc_status status = hc_drift_run_open(&w->subject, options, queue, &w->recipe);
    if (status != HC_OK)
        return status;
    size_t steps = (size_t)options->steps;
    w->weights = w->subject.weights;
    size_t bytes = (size_t)w->weights * sizeof(double);
    w->w = malloc((steps + 1) * bytes);
    w->g = malloc(steps * bytes);
    w->latest = malloc(bytes);
    if (!w->w || !w->g || !w->latest)
        return hc_fail(HC_NO_MEMORY, "no memory for %d steps of weights in fp64", options->steps);
    return run(w);
}

void hc_baseline_close(struct hc_drift_baseline *w)
{
    for (struct hc_drift_memo *next; w->memos; w->memos = next) {
        next = w->memos->next;
        free(w->memos);
    }
    hc_drift_run_close(&w->subject);
    free(w->w);
    free(w->g);
    free(w->latest);
}

/* Through all steps at the weights of fp64. */
static enum hc_status forced(struct hc_drift_baseline *w, struct hc_drift_memo *k,
                             const struct hc_native_run *own)
{
    float loss;
    double off = 0;
    hc_drift_layer_sums tally = {0};
    struct hc_drift_run *s = &w->subject;
    enum hc_status status = hc_drift_run_restart(s, &k->rounding, w->w, false);
    for (int step = 0; step < w->options->steps && status == HC_OK; step++) {
        status = hc_drift_run_set_weights(s, weights_at(w, step));
        if (status == HC_OK)
            status = pass(w, step, k->scale[step], &loss);
        bool finite = hc_all_finite(s->g, w->weights);
        k->finite &= finite;
        if (finite)
            hc_drift_sum_gradients(tally, s, gradients_at(w, step));
        if (own && finite == hc_all_finite(own->g + step * w->weights, w->weights))
            off += finite ? hc_squares(s->g, own->g + step * w->weights, w->weights) : 0;
        else if (own)
            off = (double)INFINITY;
        if (step == 0)
            memcpy(w->latest, s->g, (size_t)w->weights * sizeof *w->latest);
    }
    w->latest_rounding = k->rounding;
    w->latest_scale = k->scale[0];
    w->has_latest = status == HC_OK;
    k->found.gradient = hc_drift_sum_layer(&tally[HC_MAX_LAYERS]).error;
    k->found.residual_gradient = sqrt(off / tally[HC_MAX_LAYERS].want);
    return status;
}

/* Whether a rounded start is not seen by the passes: the weights are fp32's to begin with, and what goes
   through the format that the pass rounds into is the same afterwards. */
static bool starts_alike(const struct hc_rounding *r)
{
    return (r->start[0] <= HC_FP32 || r->start[0] == r->format[HC_SOURCE_WEIGHTS][0]) &&
           (r->start[1] <= HC_FP32 || r->start[1] == r->format[HC_SOURCE_NORM][1]);
}

/* The first pass of a free run, which is one at the weights of fp64. */
static enum hc_status first_pass(struct hc_drift_baseline *w, const struct hc_drift_memo *k,
                                 float scale, float *loss)
{
    struct hc_drift_run *s = &w->subject;
    bool there = starts_alike(&k->rounding);
    const double *g = NULL;
    if (there && !rounds_passes(&k->rounding))
        g = w->g;
    else if (there && w->has_latest && w->latest_scale == scale &&
             same_pass(&k->rounding, &w->latest_rounding))
        g = w->latest;
    if (!g)
        return pass(w, 0, scale, loss);
    memcpy(s->g, g, (size_t)w->weights * sizeof *g);
    return HC_OK;
}

static enum hc_status go_free(struct hc_drift_baseline *w, struct hc_drift_memo *k,
                              const struct hc_native_run *own)
{
    float loss;
    struct hc_drift_run *s = &w->subject;
    const float *scale = k->scale + w->options->steps;
    bool rounded = k->rounding.start[0] != HC_FP64;
    enum hc_status status = hc_drift_run_restart(s, &k->rounding, w->w, rounded);
    for (int step = 0; step < w->options->steps && status == HC_OK; step++) {
        status = step == 0 ? first_pass(w, k, scale[0], &loss) : pass(w, step, scale[step], &loss);
        bool finite = hc_all_finite(s->g, w->weights);
        k->finite &= finite;
        if (status == HC_OK && (finite || !k->skips))
            status = hc_drift_run_update(s, w->options->lr);
    }
    if (status == HC_OK)
        status = hc_drift_run_get(s, HC_STATE_MASTER, s->g);
    k->found.distance = hc_baseline_distance(w, s->g, weights_at(w, w->options->steps));
    if (own)
        k->found.residual_distance = hc_baseline_distance(w, s->g, own->end);
    return status;
}

static bool same_scales(const struct hc_drift_baseline *w, const struct hc_drift_memo *a,
                        const struct hc_drift_memo *b, int runs)
{
    size_t n = (size_t)(runs * w->options->steps);
    return memcmp(a->scale, b->scale, n * sizeof *a->scale) == 0;
}

/* One whose gradients, or all of whose outcome, is that of k; or NULL. */
static const struct hc_drift_memo *look_up(const struct hc_drift_baseline *w,
                                           const struct hc_drift_memo *k, bool whole)
{
    for (const struct hc_drift_memo *i = w->memos; i; i = i->next)
        if (whole ? memcmp(&i->rounding, &k->rounding, sizeof k->rounding) == 0 &&
                        same_scales(w, i, k, 2) && (i->finite || i->skips == k->skips)
                  : same_pass(&i->rounding, &k->rounding) && same_scales(w, i, k, 1))
            return i;
    return NULL;
}

static enum hc_status find_out(struct hc_drift_baseline *w, struct hc_drift_memo *k,
                               const struct hc_native_run *own)
{
    const struct hc_drift_memo *peer = own ? NULL : look_up(w, k, false);
    enum hc_status status = HC_OK;
    if (peer)
        k->found.gradient = peer->found.gradient;
    else if (own || rounds_passes(&k->rounding))
        status = forced(w, k, own);
    return status == HC_OK ? go_free(w, k, own) : status;
}

enum hc_status hc_baseline_measure(struct hc_drift_baseline *w, const struct hc_rounding *rounding,
                                   const struct hc_drift_scales *scales,
                                   const struct hc_native_run *own, struct hc_drift_effect *found)
{
    int steps = w->options->steps;
    struct hc_drift_memo *k = calloc(1, sizeof *k + 2 * (size_t)steps * sizeof k->scale[0]);
    if (!k)
        return hc_fail(HC_NO_MEMORY, "no memory for drift");
    k->rounding = *rounding;
    k->skips = scales->skips;
    k->finite = true;
    for (int i = 0; i < steps; i++) {
        k->scale[i] = feels_scale(rounding) ? scales->forced[i] : 1;
        k->scale[steps + i] = feels_scale(rounding) ? scales->free[i] : 1;
    }
    const struct hc_drift_memo *memo = own ? NULL : look_up(w, k, true);
    if (memo) {
        *found = memo->found;
        free(k);
        return HC_OK;
    }
    k->next = w->memos;
    enum hc_status status = find_out(w, k, own);
    if (status != HC_OK) {
        free(k);
        return status;
    }
    *found = k->found;
    w->memos = k;
    return HC_OK;
}
