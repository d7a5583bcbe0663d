#include "train/drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/drift_rounding.h"
#include "train/loader.h"
#include "train/update.h"

/* The batches, and the run in fp64: weights before each step and after the last, gradients of each. */
struct world {
    const struct hc_drift_options *options;
    struct hc_queue *queue;
    struct hc_plan plan;
    struct hc_recipe wide; /* the recipe with nothing but fp64 */
    int64_t weights;
    float *images;
    int32_t *labels;
    double *w;
    double *g;
    float *scale; /* the recipe's at each step */
    double loss;
};

/* One training in step with the world. */
struct subject {
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
    struct hc_rounder rounder;
    double *g; /* unscaled */
    double *kept;
};

static int64_t image_floats(const struct world *w)
{
    return (int64_t)w->options->batch * HC_IMAGE_BYTES;
}

static struct hc_recipe unclipped(const struct hc_recipe *recipe)
{
    struct hc_recipe r = *recipe;
    r.clip = 0;
    r.clip_groups = r.clip_scaled = false;
    return r;
}

static struct hc_recipe widened(const struct hc_recipe *recipe)
{
    struct hc_recipe r = unclipped(recipe);
    r.model = r.norm = r.statistics = r.loss = r.gradient = r.state = r.arithmetic = HC_FP64;
    r.masters = HC_MASTERS_NONE;
    r.scaler = (struct hc_scaler){.rule = HC_SCALER_NONE};
    r.norm_rounded = r.tf32 = r.reciprocal = r.stochastic = r.kahan = false;
    if (r.decay == HC_DECAY_SCALED)
        r.decay = HC_DECAY_L2;
    if (r.decay == HC_DECAY_MODEL)
        r.decay = HC_DECAY_DECOUPLED;
    return r;
}

static enum hc_status subject_open(struct subject *s, const struct world *w,
                                   const struct hc_recipe *recipe,
                                   const struct hc_rounding *rounding)
{
    struct hc_tensor gradients[3 * HC_MAX_LAYERS];
    *s = (struct subject){.device = {.backend = w->options->backend, .queue = w->queue},
                          .rounder = {.rounding = rounding}};
    s->g = malloc((size_t)w->weights * sizeof *s->g);
    s->kept = malloc((size_t)w->weights * sizeof *s->kept);
    enum hc_status status = s->g && s->kept ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for drift");
    if (status == HC_OK)
        status = hc_net_open(&s->net, &s->device, w->options->network, w->options->data->classes,
                             w->options->batch, w->options->seed);
    if (status == HC_OK)
        status = hc_update_open(&s->update, &s->device, recipe, hc_net_parameters(s->net),
                                w->plan.parameters);
    for (int i = 0; i < w->plan.parameters && status == HC_OK; i++)
        gradients[i] = hc_update_tensor(s->update, HC_PIECE_GRADIENT, i);
    if (status == HC_OK)
        status = hc_net_prepare(s->net, recipe, gradients);
    if (rounding)
        hc_rounder_attach(&s->rounder, &s->device);
    return status;
}

static void subject_close(struct subject *s)
{
    hc_update_close(s->update);
    hc_net_close(s->net);
    hc_device_end(&s->device);
    free(s->g);
    free(s->kept);
}

/* All of a piece, one parameter after the other, to or from doubles. */
static void get(const struct subject *s, enum hc_piece piece, double *to)
{
    for (int p = 0; p < hc_update_parameters(s->update); p++) {
        struct hc_tensor t = hc_update_tensor(s->update, piece, p);
        for (int64_t i = 0; i < hc_tensor_count(&t); i++)
            *to++ = hc_tensor_get(&t, i);
    }
}

static void put(const struct subject *s, enum hc_piece piece, const double *from)
{
    for (int p = 0; p < hc_update_parameters(s->update); p++) {
        struct hc_tensor t = hc_update_tensor(s->update, piece, p);
        for (int64_t i = 0; i < hc_tensor_count(&t); i++)
            hc_tensor_put(&t, i, *from++);
    }
}

/* Masters from the weights, the model's copy from the masters. */
static void give_weights(struct subject *s, const double *w)
{
    put(s, HC_PIECE_MASTER, w);
    get(s, HC_PIECE_MASTER, s->kept);
    put(s, HC_PIECE_MODEL, s->kept);
}

/* x, by parameters, rounded in the source of weights (or their gradients) or that of norms. */
static void round_by_role(const struct subject *s, enum hc_source weights, double *x)
{
    const struct hc_rounding *r = s->rounder.rounding;
    struct hc_parameter *const *parameters = hc_net_parameters(s->net);
    for (int p = 0; p < hc_update_parameters(s->update); p++) {
        int64_t n = hc_parameter_count(parameters[p]);
        bool norm = parameters[p]->role == HC_ROLE_NORM;
        hc_rounded(r->format[norm ? HC_SOURCE_NORM : weights], x, n);
        x += n;
    }
}

/* One pass: s->g are the gradients, unscaled. */
static enum hc_status pass(struct subject *s, const struct world *w, int step, float *scale,
                           float *loss)
{
    int right;
    struct hc_tensor factor = hc_tensor1(HC_FP32, 1, scale);
    bool rounds = s->rounder.rounding != NULL;
    s->rounder.backward = false;
    get(s, HC_PIECE_MASTER, s->kept);
    if (rounds) {
        memcpy(s->g, s->kept, (size_t)w->weights * sizeof *s->g);
        round_by_role(s, HC_SOURCE_WEIGHTS, s->g);
        put(s, HC_PIECE_MODEL, s->g);
    }
    enum hc_status status =
        hc_net_train(s->net, w->images + step * image_floats(w),
                     w->labels + (int64_t)step * w->options->batch, &factor, loss, &right);
    get(s, HC_PIECE_GRADIENT, s->g);
    if (rounds) {
        round_by_role(s, HC_SOURCE_WEIGHT_GRADIENTS, s->g);
        put(s, HC_PIECE_MODEL, s->kept);
    }
    for (int64_t i = 0; i < w->weights; i++)
        s->g[i] /= (double)*scale;
    if (rounds)
        put(s, HC_PIECE_GRADIENT, s->g);
    return status;
}

static bool finite(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static void round_state(struct subject *s, const struct world *w)
{
    static const struct {
        enum hc_piece piece;
        enum hc_source source;
    } states[] = {{HC_PIECE_M, HC_SOURCE_STATE},
                  {HC_PIECE_V, HC_SOURCE_STATE},
                  {HC_PIECE_MASTER, HC_SOURCE_MASTER}};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (states[i].piece == HC_PIECE_V && w->wide.optimizer != HC_OPTIMIZER_ADAM)
            continue;
        get(s, states[i].piece, s->g);
        hc_rounded(s->rounder.rounding->format[states[i].source], s->g, w->weights);
        put(s, states[i].piece, s->g);
    }
}

/* The update after a pass. In fp64 with roundings: left out as a scaler would, masters rounded. */
static enum hc_status update(struct subject *s, const struct world *w)
{
    bool rounds = s->rounder.rounding != NULL;
    if (rounds && !finite(s->g, w->weights))
        return HC_OK;
    enum hc_status status = hc_update_step(s->update, w->options->lr, 0.9);
    if (status == HC_OK && rounds)
        round_state(s, w);
    return status;
}

struct sums {
    double difference;
    double want;
    double got;
    double both;
    double zeros;
    double lost;
    double count;
};

static struct hc_drift_layer layer_of(const struct sums *t)
{
    return (struct hc_drift_layer){.error = sqrt(t->difference / t->want),
                                   .cosine = t->both / sqrt(t->want * t->got),
                                   .underflow = t->zeros / t->count,
                                   .lost = t->lost / t->count};
}

static void add(struct sums *t, const struct sums *more)
{
    t->difference += more->difference;
    t->want += more->want;
    t->got += more->got;
    t->both += more->both;
    t->zeros += more->zeros;
    t->lost += more->lost;
    t->count += more->count;
}

/* Sums per layer; tally[HC_MAX_LAYERS] is the network's. */
static void compare(const struct subject *s, const struct world *w, int step, struct sums *tally)
{
    const double *want = w->g + step * w->weights;
    int64_t at = 0;
    for (int l = 0; l < w->plan.layers; l++) {
        const struct hc_layer *layer = &w->plan.layer[l];
        int parameters = layer->parameter < 0 ? 0 : layer->kind == HC_LAYER_CONV ? 3 : 2;
        struct sums t = {0};
        for (int p = 0; p < parameters; p++) {
            int64_t end = at + hc_parameter_count(hc_net_parameters(s->net)[layer->parameter + p]);
            for (; at < end; at++) {
                double g = s->g[at];
                t.difference += (g - want[at]) * (g - want[at]);
                t.want += want[at] * want[at];
                t.got += g * g;
                t.both += g * want[at];
                t.zeros += g == 0 && want[at] != 0;
                t.count++;
            }
        }
        add(&tally[l], &t);
        add(&tally[HC_MAX_LAYERS], &t);
    }
}

/* Weights that fp64 moves at this step and the subject does not. s->kept: before its update. */
static void count_lost(struct subject *s, const struct world *w, int step, struct sums *tally)
{
    const double *before = w->w + step * w->weights;
    const double *after = before + w->weights;
    int64_t at = 0;
    get(s, HC_PIECE_MASTER, s->g);
    for (int l = 0; l < w->plan.layers; l++) {
        const struct hc_layer *layer = &w->plan.layer[l];
        int parameters = layer->parameter < 0 ? 0 : layer->kind == HC_LAYER_CONV ? 3 : 2;
        for (int p = 0; p < parameters; p++) {
            int64_t end = at + hc_parameter_count(hc_net_parameters(s->net)[layer->parameter + p]);
            for (; at < end; at++) {
                bool lost = before[at] != after[at] && s->g[at] == s->kept[at];
                tally[l].lost += lost;
                tally[HC_MAX_LAYERS].lost += lost;
            }
        }
    }
}

/* Through all steps at the weights of fp64. `scales`: the recipe's own scale is kept there. */
static enum hc_status forced(struct world *w, const struct hc_recipe *recipe,
                             const struct hc_rounding *rounding, struct sums *tally)
{
    struct subject s;
    float loss;
    enum hc_status status = subject_open(&s, w, recipe, rounding);
    memset(tally, 0, (HC_MAX_LAYERS + 1) * sizeof *tally);
    for (int step = 0; step < w->options->steps && status == HC_OK; step++) {
        if (!rounding)
            w->scale[step] = *(const float *)hc_update_scale(s.update).data;
        give_weights(&s, w->w + step * w->weights);
        status = pass(&s, w, step, &w->scale[step], &loss);
        bool good = finite(s.g, w->weights);
        if (good)
            compare(&s, w, step, tally);
        if (status == HC_OK)
            status = update(&s, w);
        if (good)
            count_lost(&s, w, step, tally);
    }
    subject_close(&s);
    return status;
}

static double distance(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum);
}

static enum hc_status go_free(struct world *w, const struct hc_recipe *recipe,
                              const struct hc_rounding *rounding, double *away, double *unlike)
{
    struct subject s;
    float loss = 0;
    int steps = w->options->steps;
    const double *end = w->w + steps * w->weights;
    enum hc_status status = subject_open(&s, w, recipe, rounding);
    for (int step = 0; step < steps && status == HC_OK; step++) {
        float scale = rounding ? w->scale[step] : *(const float *)hc_update_scale(s.update).data;
        status = pass(&s, w, step, &scale, &loss);
        if (status == HC_OK)
            status = update(&s, w);
    }
    if (status == HC_OK) {
        get(&s, HC_PIECE_MASTER, s.g);
        *away = distance(s.g, end, w->weights) / distance(end, w->w, w->weights);
        *unlike = (double)loss - w->loss;
    }
    subject_close(&s);
    return status;
}

static enum hc_status run_wide(struct world *w)
{
    struct subject s;
    float loss = 0;
    float one = 1;
    enum hc_status status = subject_open(&s, w, &w->wide, NULL);
    for (int step = 0; step < w->options->steps && status == HC_OK; step++) {
        get(&s, HC_PIECE_MASTER, w->w + step * w->weights);
        status = pass(&s, w, step, &one, &loss);
        memcpy(w->g + step * w->weights, s.g, (size_t)w->weights * sizeof *s.g);
        if (status == HC_OK)
            status = update(&s, w);
    }
    if (status == HC_OK)
        get(&s, HC_PIECE_MASTER, w->w + w->options->steps * w->weights);
    w->loss = (double)loss;
    subject_close(&s);
    return status;
}

/* With the recipe's formats in source k alone, or in all but k; k = HC_SOURCE_COUNT: in all. */
static struct hc_rounding chosen(const struct hc_recipe *recipe, int k, bool alone)
{
    struct hc_rounding r = hc_rounding_of(recipe);
    for (int i = 0; i < HC_SOURCE_COUNT; i++)
        if (k < HC_SOURCE_COUNT && (i == k) != alone)
            r.format[i] = HC_FP64;
    return r;
}

static enum hc_status attribute(struct world *w, const struct hc_recipe *recipe, bool alone,
                                double *gradient, double *away)
{
    struct sums tally[HC_MAX_LAYERS + 1];
    double unlike;
    enum hc_status status = HC_OK;
    for (int k = 0; k <= HC_SOURCE_COUNT && status == HC_OK; k++) {
        struct hc_rounding rounding = chosen(recipe, k, alone);
        status = forced(w, &w->wide, &rounding, tally);
        gradient[k] = layer_of(&tally[HC_MAX_LAYERS]).error;
        if (status == HC_OK)
            status = go_free(w, &w->wide, &rounding, &away[k], &unlike);
    }
    return status;
}

static enum hc_status world_open(struct world *w, const struct hc_recipe *recipe)
{
    const struct hc_drift_options *o = w->options;
    struct hc_stream stream = {o->data, true, o->batch, o->seed};
    struct hc_loader *loader = NULL;
    size_t steps = (size_t)o->steps;
    hc_plan_make(o->network, o->data->classes, &w->plan);
    w->wide = widened(recipe);
    w->weights = w->plan.weights + w->plan.norm_weights;
    w->images = malloc(steps * (size_t)image_floats(w) * sizeof *w->images);
    w->labels = malloc(steps * (size_t)o->batch * sizeof *w->labels);
    w->w = malloc((steps + 1) * (size_t)w->weights * sizeof *w->w);
    w->g = malloc(steps * (size_t)w->weights * sizeof *w->g);
    w->scale = calloc(steps, sizeof *w->scale);
    if (!w->images || !w->labels || !w->w || !w->g || !w->scale)
        return hc_fail(HC_NO_MEMORY, "no memory for %d steps of weights in fp64", o->steps);
    enum hc_status status = hc_loader_open(&stream, 0, &loader);
    for (int s = 0; s < o->steps && status == HC_OK; s++) {
        const struct hc_batch *batch = hc_loader_next(loader);
        memcpy(w->images + s * image_floats(w), batch->images,
               (size_t)image_floats(w) * sizeof *w->images);
        memcpy(w->labels + (int64_t)s * o->batch, batch->labels,
               (size_t)o->batch * sizeof *w->labels);
    }
    hc_loader_close(loader);
    return status == HC_OK ? o->backend->open(&w->queue, o->threads) : status;
}

static void world_close(struct world *w)
{
    if (w->queue)
        w->options->backend->close(w->queue);
    free(w->images);
    free(w->labels);
    free(w->w);
    free(w->g);
    free(w->scale);
}

enum hc_status hc_drift_measure(const struct hc_drift_options *options,
                                const struct hc_recipe *recipe, struct hc_drift *drift)
{
    struct world w = {.options = options};
    struct sums tally[HC_MAX_LAYERS + 1];
    struct hc_recipe own = unclipped(recipe);
    *drift = (struct hc_drift){.recipe = recipe};
    recipe = &own;
    if (!options->backend->fp64 || !options->backend->host_memory)
        return hc_fail(HC_UNSUPPORTED, "drift: %s has no fp64", options->backend->name);
    enum hc_status status = world_open(&w, recipe);
    if (status == HC_OK)
        status = run_wide(&w);
    if (status == HC_OK)
        status = forced(&w, recipe, NULL, tally);
    for (int l = 0; l < w.plan.layers && status == HC_OK; l++)
        drift->layer[l] = layer_of(&tally[l]);
    if (status == HC_OK) {
        drift->all = layer_of(&tally[HC_MAX_LAYERS]);
        status = go_free(&w, recipe, NULL, &drift->free, &drift->unlike);
    }
    if (status == HC_OK)
        status = attribute(&w, recipe, true, drift->alone_gradient, drift->alone_free);
    if (status == HC_OK)
        status = attribute(&w, recipe, false, drift->without_gradient, drift->without_free);
    world_close(&w);
    return status;
}
