#include "train/drift/drift_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many elements the parameters of layer l have. */
static int64_t elements(const struct hc_drift_run *s, int l)
{
    const struct hc_layer *layer = &hc_net_plan(s->net)->layer[l];
    int64_t n = 0;
    for (int p = 0; p < layer->parameters; p++)
        n += hc_parameter_count(hc_net_parameters(s->net)[layer->parameter + p]);
    return n;
}

static void add_drift_sums(struct hc_drift_sums *t, const struct hc_drift_sums *more)
{
    t->difference += more->difference;
    t->want += more->want;
    t->got += more->got;
    t->both += more->both;
    t->zeros += more->zeros;
    t->lost += more->lost;
    t->count += more->count;
}

static struct hc_drift_sums sums_of(const double *want, const double *got, int64_t n)
{
    struct hc_drift_sums t = {.count = (double)n};
    for (int64_t i = 0; i < n; i++) {
        double off = got[i] - want[i];
        t.difference += off * off;
        t.want += want[i] * want[i];
        t.got += got[i] * got[i];
        t.both += got[i] * want[i];
        t.zeros += got[i] == 0 && want[i] != 0;
    }
    return t;
}

void hc_drift_sum_gradients(hc_drift_layer_sums sums, const struct hc_drift_run *s,
                            const double *want)
{
    int64_t at = 0;
    for (int l = 0; l < hc_net_plan(s->net)->layers; l++) {
        int64_t n = elements(s, l);
        struct hc_drift_sums t = sums_of(want + at, s->g + at, n);
        add_drift_sums(&sums[l], &t);
        add_drift_sums(&sums[HC_MAX_LAYERS], &t);
        at += n;
    }
}

void hc_drift_sum_lost(hc_drift_layer_sums sums, const struct hc_drift_run *s, const double *before,
                       const double *after, const double *now)
{
    int64_t at = 0;
    for (int l = 0; l < hc_net_plan(s->net)->layers; l++) {
        struct hc_drift_sums t = {0};
        for (int64_t end = at + elements(s, l); at < end; at++)
            t.lost += before[at] != after[at] && now[at] == s->before[at];
        add_drift_sums(&sums[l], &t);
        add_drift_sums(&sums[HC_MAX_LAYERS], &t);
    }
}

struct hc_drift_layer hc_drift_sum_layer(const struct hc_drift_sums *t)
{
    return (struct hc_drift_layer){.error = sqrt(t->difference / t->want),
                                   .cosine = t->both / sqrt(t->want * t->got),
                                   .underflow = t->zeros / t->count,
                                   .lost = t->lost / t->count};
}

bool hc_all_finite(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

double hc_length(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* The sum of squares of x - y. */
static double hc_squares(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sum;
}

struct hc_drift_memo {
    struct hc_drift_memo *next;
    struct hc_rounding rounding;
    struct hc_drift_effect effect;
    int runs; /* whose numbers the effect has */
    bool skips;
    bool finite;      /* every gradient was, so that `skips` does not matter */
    float *scale;     /* of the forced run, then of the free one; 1 where it does not matter */
    double squares[]; /* those of the effect, unless another memo has them; the scales lie behind */
};

/* Whether a pass at given weights gives the same. */
static bool same_pass(const struct hc_rounding *a, const struct hc_rounding *b)
{
    return memcmp(a->format, b->format, HC_SOURCE_UPDATE * sizeof a->format[0]) == 0 &&
           memcmp(&a->average, &b->average, sizeof a->average) == 0 &&
           memcmp(&a->coding, &b->coding, sizeof a->coding) == 0;
}

static bool rounds_passes(const struct hc_rounding *r)
{
    for (int s = 0; s < HC_SOURCE_UPDATE; s++)
        if (r->format[s][0] != HC_FP64 || r->format[s][1] != HC_FP64)
            return true;
    return false;
}

/* A scale is a power of two, which changes nothing in fp32 and fp64. */
static bool feels_scale(const struct hc_rounding *r)
{
    return r->format[HC_SOURCE_GRADIENTS][0] > HC_FP32 ||
           r->format[HC_SOURCE_WEIGHT_GRADIENTS][0] > HC_FP32 ||
           r->format[HC_SOURCE_EMBEDDING][0] > HC_FP32 || r->format[HC_SOURCE_DS][0] > HC_FP32 ||
           hc_norm_format(r, 1) > HC_FP32 || r->format[HC_SOURCE_REDUCTION][0] > HC_FP32 ||
           r->format[HC_SOURCE_REDUCTION][1] > HC_FP32;
}

static enum hc_status baseline_pass(struct hc_drift_baseline *base, int step, float scale,
                                    float *loss)
{
    base->passes += base->run.rounds;
    return hc_drift_run_pass(&base->run, step, base->batches, scale, loss);
}

static const double *weights_at(const struct hc_drift_baseline *base, int step)
{
    return base->w + step * base->weights;
}

double hc_baseline_distance(const struct hc_drift_baseline *base, const double *x,
                            const double *from)
{
    const double *end = weights_at(base, base->options->steps);
    return sqrt(hc_squares(x, from, base->weights) / hc_squares(end, base->w, base->weights));
}

static enum hc_status run_all(struct hc_drift_baseline *base)
{
    float loss = 0;
    struct hc_drift_run *run = &base->run;
    size_t bytes = (size_t)base->weights * sizeof(double);
    enum hc_status status = hc_drift_run_get(run, HC_STATE_MASTER, base->w);
    for (int step = 0; step < base->options->steps && status == HC_OK; step++) {
        status = baseline_pass(base, step, 1, &loss);
        memcpy(base->g + step * base->weights, run->g, bytes);
        base->norm[step] = hc_length(run->g, base->weights);
        base->size[step] = run->sizes ? hc_length(run->sizes, base->weights) / base->norm[step] : 1;
        if (status == HC_OK)
            status = hc_drift_run_update(run, base->options->lr);
        if (status == HC_OK)
            status = hc_drift_run_get(run, HC_STATE_MASTER, base->w + (step + 1) * base->weights);
    }
    base->loss = (double)loss;
    return status;
}

enum hc_status hc_baseline_open(struct hc_drift_baseline *base,
                                const struct hc_drift_options *options,
                                const struct hc_drift_batches *batches, struct hc_queue *queue,
                                const struct hc_recipe *recipe)
{
    *base = (struct hc_drift_baseline){.options = options, .batches = batches, .recipe = *recipe};
    enum hc_status status = hc_drift_run_open(&base->run, options, queue, &base->recipe);
    if (status != HC_OK)
        return status;
    size_t steps = (size_t)options->steps;
    base->weights = base->run.weights;
    size_t bytes = (size_t)base->weights * sizeof(double);
    base->w = malloc((steps + 1) * bytes);
    base->g = malloc(steps * bytes);
    base->latest = malloc(bytes);
    base->norm = malloc(2 * steps * sizeof *base->norm);
    base->size = base->norm + steps;
    if (base->run.shards > 1)
        base->run.sizes = malloc(bytes);
    if (!base->w || !base->g || !base->latest || !base->norm ||
        (base->run.shards > 1 && !base->run.sizes))
        return hc_fail(HC_NO_MEMORY, "no memory for %d steps of weights in fp64", options->steps);
    status = run_all(base);
    free(base->run.sizes);
    base->run.sizes = NULL;
    return status;
}

void hc_baseline_close(struct hc_drift_baseline *base)
{
    for (struct hc_drift_memo *next; base->memos; base->memos = next) {
        next = base->memos->next;
        free(base->memos);
    }
    hc_drift_run_close(&base->run);
    free(base->w);
    free(base->g);
    free(base->latest);
    free(base->norm);
}

/* Teacher-forced: every step begins at the fp64 weights. */
static enum hc_status forced(struct hc_drift_baseline *base, struct hc_drift_memo *k,
                             const struct hc_native_run *native)
{
    float loss;
    double off = 0;
    hc_drift_layer_sums sums = {0};
    struct hc_drift_run *run = &base->run;
    enum hc_status status = hc_drift_run_restart(run, &k->rounding, base->w, false);
    for (int step = 0; step < base->options->steps && status == HC_OK; step++) {
        status = hc_drift_run_set_weights(run, weights_at(base, step));
        if (status == HC_OK)
            status = baseline_pass(base, step, k->scale[step], &loss);
        bool finite = hc_all_finite(run->g, base->weights);
        const double *want = base->g + step * base->weights;
        k->finite &= finite;
        k->squares[step] = finite ? hc_squares(run->g, want, base->weights) : (double)NAN;
        if (finite)
            hc_drift_sum_gradients(sums, run, want);
        if (native && finite == hc_all_finite(native->g + step * base->weights, base->weights))
            off += finite ? hc_squares(run->g, native->g + step * base->weights, base->weights) : 0;
        else if (native)
            off = (double)INFINITY;
        if (step == 0)
            memcpy(base->latest, run->g, (size_t)base->weights * sizeof *base->latest);
    }
    base->latest_rounding = k->rounding;
    base->latest_scale = k->scale[0];
    base->has_latest = status == HC_OK;
    k->effect.gradient = hc_drift_sum_layer(&sums[HC_MAX_LAYERS]).error;
    k->effect.residual_gradient = sqrt(off / sums[HC_MAX_LAYERS].want);
    return status;
}

/* Whether the passes cannot tell a rounded start from the fp64 start. The weights are fp32 numbers
   to begin with, and rounding twice into the format of the pass is rounding once. */
static bool starts_alike(const struct hc_rounding *r)
{
    return (r->start[0] <= HC_FP32 || r->start[0] == r->format[HC_SOURCE_WEIGHTS][0]) &&
           (r->start[1] <= HC_FP32 || r->start[1] == hc_norm_format(r, 1));
}

/* The first pass of a free run begins at the fp64 weights, so it may be one that is known: not
   where it leaves amaxes to the next pass. */
static enum hc_status first_pass(struct hc_drift_baseline *base, const struct hc_drift_memo *k,
                                 float scale, float *loss)
{
    struct hc_drift_run *run = &base->run;
    bool there = starts_alike(&k->rounding) && !hc_quant_recipes[k->rounding.coding.row].delayed;
    const double *g = NULL;
    if (there && !rounds_passes(&k->rounding))
        g = base->g;
    else if (there && base->has_latest && base->latest_scale == scale &&
             same_pass(&k->rounding, &base->latest_rounding))
        g = base->latest;
    if (!g)
        return baseline_pass(base, 0, scale, loss);
    memcpy(run->g, g, (size_t)base->weights * sizeof *g);
    return HC_OK;
}

static enum hc_status go_free(struct hc_drift_baseline *base, struct hc_drift_memo *k,
                              const struct hc_native_run *native)
{
    float loss;
    struct hc_drift_run *run = &base->run;
    const float *scale = k->scale + base->options->steps;
    bool rounded = k->rounding.start[0] != HC_FP64;
    enum hc_status status = hc_drift_run_restart(run, &k->rounding, base->w, rounded);
    for (int step = 0; step < base->options->steps && status == HC_OK; step++) {
        status = step == 0 ? first_pass(base, k, scale[0], &loss)
                           : baseline_pass(base, step, scale[step], &loss);
        bool finite = hc_all_finite(run->g, base->weights);
        k->finite &= finite;
        if (status == HC_OK && (finite || !k->skips))
            status = hc_drift_run_update(run, base->options->lr);
    }
    if (status == HC_OK)
        status = hc_drift_run_get(run, HC_STATE_MASTER, run->g);
    k->effect.distance = hc_baseline_distance(base, run->g, weights_at(base, base->options->steps));
    if (native)
        k->effect.residual_distance = hc_baseline_distance(base, run->g, native->end);
    return status;
}

static bool same_scales(const struct hc_drift_baseline *base, const struct hc_drift_memo *a,
                        const struct hc_drift_memo *b, int runs)
{
    size_t n = (size_t)(runs * base->options->steps);
    return memcmp(a->scale, b->scale, n * sizeof *a->scale) == 0;
}

/* A memo with that run, in which it is the same as k's; or NULL. */
static const struct hc_drift_memo *look_up(const struct hc_drift_baseline *base,
                                           const struct hc_drift_memo *k, int run)
{
    for (const struct hc_drift_memo *i = base->memos; i; i = i->next)
        if (i->runs & run &&
            (run == HC_RUN_FREE
                 ? memcmp(&i->rounding, &k->rounding, sizeof k->rounding) == 0 &&
                       same_scales(base, i, k, 2) && (i->finite || i->skips == k->skips)
                 : same_pass(&i->rounding, &k->rounding) && same_scales(base, i, k, 1)))
            return i;
    return NULL;
}

/* Makes those runs that are asked for and not known. `fresh`: k has numbers that no memo has. */
static enum hc_status measure_runs(struct hc_drift_baseline *base, struct hc_drift_memo *k,
                                   const struct hc_native_run *native, bool *fresh)
{
    const struct hc_drift_memo *same[] = {[HC_RUN_FORCED] = NULL, [HC_RUN_FREE] = NULL};
    enum hc_status status = HC_OK;
    for (int run = HC_RUN_FORCED; run <= HC_RUN_FREE && !native; run++)
        same[run] = k->runs & run ? look_up(base, k, run) : NULL;
    *fresh = false;
    if (same[HC_RUN_FORCED]) {
        k->effect.gradient = same[HC_RUN_FORCED]->effect.gradient;
        k->effect.squares = same[HC_RUN_FORCED]->effect.squares;
    } else if (k->runs & HC_RUN_FORCED) {
        k->effect.squares = k->squares;
        *fresh = true;
        if (native || rounds_passes(&k->rounding))
            status = forced(base, k, native);
    }
    if (same[HC_RUN_FREE]) {
        k->effect.distance = same[HC_RUN_FREE]->effect.distance;
    } else if (k->runs & HC_RUN_FREE && status == HC_OK) {
        *fresh = true;
        status = go_free(base, k, native);
    }
    return status;
}

enum hc_status hc_baseline_measure(struct hc_drift_baseline *base,
                                   const struct hc_rounding *rounding,
                                   const struct hc_drift_scales *scales,
                                   const struct hc_native_run *native, int runs,
                                   struct hc_drift_effect *effect)
{
    int steps = base->options->steps;
    bool fresh;
    struct hc_drift_memo *k =
        calloc(1, sizeof *k + (size_t)steps * (sizeof k->squares[0] + 2 * sizeof k->scale[0]));
    if (!k)
        return hc_fail(HC_NO_MEMORY, "no memory for drift");
    k->scale = (float *)(k->squares + steps);
    k->rounding = *rounding;
    k->runs = runs;
    k->skips = scales->skips;
    k->finite = true;
    for (int i = 0; i < steps; i++) {
        k->scale[i] = feels_scale(rounding) ? scales->forced[i] : 1;
        k->scale[steps + i] = feels_scale(rounding) ? scales->free[i] : 1;
    }
    enum hc_status status = measure_runs(base, k, native, &fresh);
    *effect = k->effect;
    if (status != HC_OK || !fresh) {
        free(k);
        return status;
    }
    k->next = base->memos;
    base->memos = k;
    return HC_OK;
}
