#include "train/run/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "train/update/intent.h"
#include "train/run/sample.h"

struct sample {
    int parameter; /* the layer's filter or weight; -1: none */
    int n;         /* elements of its gradient and of itself */
    double g[HC_SAMPLE];
    double w[HC_SAMPLE];
    int dys; /* elements of the gradient of the layer's output */
    double dy[HC_SAMPLE];
    double outputs; /* how many that has */
};

struct hc_metrics {
    struct hc_device *device;
    struct hc_net *net;
    const struct hc_plan *plan;
    const struct hc_update *update;
    double half_tiny;           /* half of F's smallest subnormal */
    double scale;               /* of the step */
    int64_t skipped;            /* steps, before this one */
    enum hc_status seen;        /* whether gradients could be sampled on the way back */
    struct hc_storage *squares; /* fp32: each parameter's sum of squares */
    struct hc_storage *square;  /* of a gradient in fp64 */
    float *norms;               /* and in host memory */
    struct sample *samples;
    struct hc_shares shares[HC_MAX_LAYERS];
    struct hc_shares all;
};

/* Keeps a sample of the gradient that comes to layer l's output, until hc_metrics_before. */
static void see(void *context, int l, const struct hc_tensor *dy)
{
    struct hc_metrics *metrics = context;
    struct sample *sample = &metrics->samples[l];
    sample->outputs = (double)hc_tensor_count(dy);
    if (metrics->seen == HC_OK)
        metrics->seen = hc_sample_draw(metrics->device, dy, sample->dy, &sample->dys);
}

enum hc_status hc_metrics_open(struct hc_metrics **out, struct hc_device *device,
                               struct hc_net *net, const struct hc_update *update)
{
    const struct hc_plan *plan = hc_net_plan(net);
    enum hc_format model = hc_update_recipe(update)->model;
    *out = NULL;
    struct hc_metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics)
        return hc_fail(HC_NO_MEMORY, "no memory for metrics");
    metrics->device = device;
    metrics->net = net;
    metrics->plan = plan;
    metrics->update = update;
    metrics->half_tiny = hc_format_tiny(model == HC_FP32 || model == HC_FP64 ? HC_FP16 : model) / 2;
    metrics->squares = hc_storage_new(device, HC_FP32, plan->parameters);
    metrics->square = hc_storage_new(device, HC_FP64, 1);
    metrics->norms = calloc((size_t)plan->parameters, sizeof *metrics->norms);
    metrics->samples = calloc((size_t)plan->layers, sizeof *metrics->samples);
    if (!metrics->squares || !metrics->square || !metrics->norms || !metrics->samples) {
        hc_metrics_close(metrics);
        return hc_fail(HC_NO_MEMORY, "no memory for metrics");
    }
    for (int l = 0; l < plan->layers; l++)
        metrics->samples[l].parameter = plan->layer[l].parameter;
    hc_metrics_watch(metrics, true);
    *out = metrics;
    return HC_OK;
}

void hc_metrics_watch(struct hc_metrics *metrics, bool watching)
{
    hc_net_watch(metrics->net, watching ? see : NULL, metrics);
}

void hc_metrics_close(struct hc_metrics *metrics)
{
    if (!metrics)
        return;
    hc_net_watch(metrics->net, NULL, NULL);
    hc_storage_drop(metrics->squares);
    hc_storage_drop(metrics->square);
    free(metrics->norms);
    free(metrics->samples);
    free(metrics);
}

static enum hc_status draw(const struct hc_metrics *metrics, enum hc_state_tensor state,
                           int parameter, double *values, int *n)
{
    struct hc_tensor t = hc_update_tensor(metrics->update, state, parameter);
    return hc_sample_draw(metrics->device, &t, values, n);
}

/* The shares of values that F rounds to zero as they are, and divided by the scale. */
static void count_zeros(const struct hc_metrics *metrics, const double *g, int n, double *zero,
                        double *unscaled)
{
    int zeros = 0;
    int unscaled_zeros = 0;
    for (int i = 0; i < n; i++) {
        zeros += fabs(g[i]) <= metrics->half_tiny;
        unscaled_zeros += fabs(g[i] / metrics->scale) <= metrics->half_tiny;
    }
    *zero = n ? (double)zeros / n : 0;
    *unscaled = n ? (double)unscaled_zeros / n : 0;
}

/* In fp64 by gemm, since dot has no fp64. */
static enum hc_status square_wide(struct hc_metrics *metrics, struct hc_tensor g,
                                  struct hc_tensor to)
{
    int64_t n = hc_tensor_count(&g);
    struct hc_tensor square = hc_tensor2(HC_FP64, 1, 1, metrics->square->data);
    struct hc_call product = {.op = HC_OP_gemm,
                              .in = {[HC_GEMM_A] = hc_tensor2(HC_FP64, 1, n, g.data),
                                     [HC_GEMM_B] = hc_tensor2(HC_FP64, n, 1, g.data)},
                              .out = {[HC_GEMM_OUT] = square},
                              .params.gemm = {.alpha = 1}};
    enum hc_status status = hc_device_run(metrics->device, &product);
    return status == HC_OK ? hc_device_cast(metrics->device, square, to) : status;
}

/* Whether the optimizer's gradients are zeroed after the step, or clipped in it. */
static bool gone_after(const struct hc_metrics *metrics)
{
    const struct hc_recipe *recipe = hc_update_recipe(metrics->update);
    return hc_recipe_steps_on_overflow(recipe) || recipe->clip > 0;
}

/* The squares of the optimizer's gradients. If these do not last beyond the step, the model's are
   summed before the step instead, and divided by the scale. */
static enum hc_status sum_squares(struct hc_metrics *metrics)
{
    bool gone = gone_after(metrics);
    enum hc_state_tensor state = gone ? HC_STATE_GRADIENT : HC_STATE_MASTER_GRADIENT;
    for (int p = 0; p < metrics->plan->parameters; p++) {
        struct hc_tensor g = hc_update_tensor(metrics->update, state, p);
        g = hc_tensor1(g.format, hc_tensor_count(&g), g.data);
        struct hc_tensor square = hc_storage_element(metrics->squares, p);
        struct hc_call dot = {.op = HC_OP_dot,
                              .in = {[HC_REDUCE_X] = g, [HC_DOT_Y] = g},
                              .out = {[HC_REDUCE_OUT] = square},
                              .params.reduce = {HC_FP32}};
        enum hc_status status = g.format == HC_FP64 ? square_wide(metrics, g, square)
                                                    : hc_device_run(metrics->device, &dot);
        if (status != HC_OK)
            return status;
    }
    enum hc_status status = hc_storage_read(metrics->squares, metrics->norms);
    for (int p = 0; gone && p < metrics->plan->parameters; p++)
        metrics->norms[p] /= (float)(metrics->scale * metrics->scale);
    return status;
}

enum hc_status hc_metrics_before(struct hc_metrics *metrics, struct hc_histogram *histogram)
{
    struct hc_counters counters = {0};
    enum hc_status status = metrics->seen;
    if (status == HC_OK)
        status = hc_update_counters(metrics->update, &counters);
    metrics->scale = (double)counters.scale;
    metrics->skipped = counters.skipped;
    for (int l = 0; l < metrics->plan->layers && status == HC_OK; l++) {
        struct sample *s = &metrics->samples[l];
        struct hc_shares *shares = &metrics->shares[l];
        if (s->parameter < 0)
            continue;
        status = draw(metrics, HC_STATE_GRADIENT, s->parameter, s->g, &s->n);
        if (status == HC_OK)
            status = draw(metrics, HC_STATE_MODEL, s->parameter, s->w, &s->n);
        count_zeros(metrics, s->g, s->n, &shares->underflow, &shares->unscaled);
        count_zeros(metrics, s->dy, s->dys, &shares->activation_underflow,
                    &shares->activation_unscaled);
        for (int i = 0; i < s->n; i++)
            hc_histogram_add_weight(histogram, s->g[i], metrics->scale);
        for (int i = 0; i < s->dys; i++)
            hc_histogram_add_activation(histogram, s->dy[i], metrics->scale);
    }
    if (status == HC_OK && gone_after(metrics))
        status = sum_squares(metrics);
    return status;
}

static enum hc_status updates_lost(struct hc_metrics *metrics, const struct sample *sample,
                                   const struct hc_intent *intent, double *share)
{
    double m[HC_SAMPLE] = {0};
    double v[HC_SAMPLE] = {0};
    double clipped[HC_SAMPLE];
    const struct hc_recipe *recipe = intent->recipe;
    bool clips = recipe->clip > 0 && recipe->nesterov && !hc_recipe_steps_on_overflow(recipe);
    enum hc_format model = intent->recipe->model;
    int n;
    int lost = 0;
    enum hc_status status = draw(metrics, HC_STATE_M, sample->parameter, m, &n);
    if (status == HC_OK && intent->recipe->optimizer == HC_OPTIMIZER_ADAM)
        status = draw(metrics, HC_STATE_V, sample->parameter, v, &n);
    if (status == HC_OK && clips)
        status = draw(metrics, HC_STATE_MASTER_GRADIENT, sample->parameter, clipped, &n);
    for (int i = 0; i < sample->n && status == HC_OK; i++) {
        double g = clips ? clipped[i] : sample->g[i] / metrics->scale;
        double u = hc_intent_update(intent, sample->w[i], g, m[i], v[i]);
        lost += isfinite(u) && u != 0 && hc_round(model, sample->w[i] - u) == sample->w[i];
    }
    *share = (double)lost / sample->n;
    return status;
}

/* What the network's shares are divided by. */
struct weights {
    double elements;
    double outputs;
};

static void add_layer(struct hc_metrics *metrics, int l, struct weights *weights)
{
    const struct hc_layer *layer = &metrics->plan->layer[l];
    struct hc_shares *shares = &metrics->shares[l];
    struct hc_shares *all = &metrics->all;
    double squares = 0;
    for (int p = 0; p < layer->parameters; p++)
        squares += (double)metrics->norms[layer->parameter + p];
    shares->gradient_norm = sqrt(squares);
    struct hc_tensor t = hc_update_tensor(metrics->update, HC_STATE_MODEL, layer->parameter);
    double n = (double)hc_tensor_count(&t);
    double outputs = metrics->samples[l].outputs;
    weights->elements += n;
    weights->outputs += outputs;
    all->underflow += n * shares->underflow;
    all->unscaled += n * shares->unscaled;
    all->activation_underflow += outputs * shares->activation_underflow;
    all->activation_unscaled += outputs * shares->activation_unscaled;
    all->update_lost += n * shares->update_lost;
    all->gradient_norm += squares;
}

enum hc_status hc_metrics_after(struct hc_metrics *metrics, double lr, double beta1)
{
    struct hc_counters counters = {0};
    enum hc_status status = hc_update_counters(metrics->update, &counters);
    bool skipped = counters.skipped != metrics->skipped;
    if (status == HC_OK && !gone_after(metrics))
        status = sum_squares(metrics);
    struct weights weights = {0};
    metrics->all = (struct hc_shares){0};
    for (int l = 0; l < metrics->plan->layers && status == HC_OK; l++) {
        const struct sample *sample = &metrics->samples[l];
        if (sample->parameter < 0)
            continue;
        metrics->shares[l].update_lost = (double)NAN;
        struct hc_intent intent = hc_intent_make(hc_update_recipe(metrics->update),
                                                 hc_update_plan(metrics->update, sample->parameter),
                                                 counters.taken, lr, beta1);
        if (!skipped)
            status = updates_lost(metrics, sample, &intent, &metrics->shares[l].update_lost);
        add_layer(metrics, l, &weights);
    }
    metrics->all.underflow /= weights.elements;
    metrics->all.unscaled /= weights.elements;
    metrics->all.activation_underflow /= fmax(weights.outputs, 1);
    metrics->all.activation_unscaled /= fmax(weights.outputs, 1);
    metrics->all.update_lost /= weights.elements;
    metrics->all.gradient_norm = sqrt(metrics->all.gradient_norm);
    return status;
}

struct hc_shares hc_metrics_layer(const struct hc_metrics *metrics, int l)
{
    return metrics->shares[l];
}

struct hc_shares hc_metrics_all(const struct hc_metrics *metrics)
{
    return metrics->all;
}
