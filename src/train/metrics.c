#include "train/metrics.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCKS = 8, BLOCK = 128, SAMPLE = BLOCKS * BLOCK };

struct sample {
    int parameter; /* the layer's filter or weight; -1: none */
    int n;         /* elements sampled */
    double g[SAMPLE];
    double w[SAMPLE];
};

struct hc_metrics {
    struct hc_device *device;
    const struct hc_plan *plan;
    const struct hc_update *update;
    double half_tiny;           /* half of F's smallest subnormal */
    double scale;               /* of the step */
    int64_t skipped;            /* steps, before this one */
    struct hc_storage *squares; /* fp32: each parameter's sum of squares */
    float *norms;               /* and in host memory */
    struct sample *samples;
    struct hc_shares shares[HC_MAX_LAYERS];
    struct hc_shares all;
};

enum hc_status hc_metrics_open(struct hc_metrics **out, struct hc_device *device,
                               const struct hc_net *net, const struct hc_update *update)
{
    const struct hc_plan *plan = hc_net_plan(net);
    enum hc_format model = hc_update_recipe(update)->model;
    *out = NULL;
    struct hc_metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics)
        return hc_fail(HC_NO_MEMORY, "no memory for metrics");
    metrics->device = device;
    metrics->plan = plan;
    metrics->update = update;
    metrics->half_tiny = hc_format_tiny(model == HC_FP32 ? HC_FP16 : model) / 2;
    metrics->squares = hc_storage_new(device, HC_FP32, plan->parameters);
    metrics->norms = calloc((size_t)plan->parameters, sizeof *metrics->norms);
    metrics->samples = calloc((size_t)plan->layers, sizeof *metrics->samples);
    if (!metrics->squares || !metrics->norms || !metrics->samples) {
        hc_metrics_close(metrics);
        return hc_fail(HC_NO_MEMORY, "no memory for metrics");
    }
    for (int l = 0; l < plan->layers; l++)
        metrics->samples[l].parameter = plan->layer[l].parameter;
    *out = metrics;
    return HC_OK;
}

void hc_metrics_close(struct hc_metrics *metrics)
{
    if (!metrics)
        return;
    hc_storage_drop(metrics->squares);
    free(metrics->norms);
    free(metrics->samples);
    free(metrics);
}

/* The sampled elements of a piece, as fp64; *n of them. */
static enum hc_status draw(const struct hc_metrics *metrics, enum hc_piece piece, int parameter,
                           double *values, int *n)
{
    const struct hc_device *device = metrics->device;
    struct hc_tensor t = hc_update_tensor(metrics->update, piece, parameter);
    int64_t count = hc_tensor_count(&t);
    size_t size = (size_t)hc_formats[t.format].bytes;
    int blocks = count <= SAMPLE ? 1 : BLOCKS;
    int64_t length = count <= SAMPLE ? count : BLOCK;
    *n = 0;
    for (int b = 0; b < blocks; b++) {
        float bits[SAMPLE];
        int64_t start = blocks == 1 ? 0 : (count - length) * b / (blocks - 1);
        struct hc_tensor block = hc_tensor1(t.format, length, bits);
        enum hc_status status = device->backend->download(
            device->queue, bits, (char *)t.data + (size_t)start * size, (size_t)length * size);
        if (status != HC_OK)
            return status;
        for (int64_t i = 0; i < length; i++)
            values[(*n)++] = hc_tensor_get(&block, i);
    }
    return HC_OK;
}

static struct hc_shares gradient_shares(const struct hc_metrics *metrics,
                                        const struct sample *sample, struct hc_histogram *histogram)
{
    int under = 0;
    int unscaled = 0;
    for (int i = 0; i < sample->n; i++) {
        double g = sample->g[i];
        under += fabs(g) <= metrics->half_tiny;
        unscaled += fabs(g / metrics->scale) <= metrics->half_tiny;
        hc_histogram_add(histogram, g, metrics->scale);
    }
    return (struct hc_shares){.underflow = (double)under / sample->n,
                              .unscaled = (double)unscaled / sample->n};
}

enum hc_status hc_metrics_before(struct hc_metrics *metrics, struct hc_histogram *histogram)
{
    struct hc_counters counters = hc_update_counters(metrics->update);
    enum hc_status status = HC_OK;
    metrics->scale = (double)counters.scaler.scale;
    metrics->skipped = counters.skipped;
    for (int l = 0; l < metrics->plan->layers; l++) {
        struct sample *sample = &metrics->samples[l];
        if (sample->parameter < 0)
            continue;
        status = draw(metrics, HC_PIECE_GRADIENT, sample->parameter, sample->g, &sample->n);
        if (status == HC_OK)
            status = draw(metrics, HC_PIECE_MODEL, sample->parameter, sample->w, &sample->n);
        if (status != HC_OK)
            return status;
        metrics->shares[l] = gradient_shares(metrics, sample, histogram);
    }
    return HC_OK;
}

/* What the optimizer's contract (op/call.h) asks for, from the state after the step, in fp64. */
struct rule {
    const struct hc_recipe *recipe;
    double lr;
    double decay; /* decoupled: lr * weight decay, else 0 */
    double first; /* 1 - beta1^t */
    double second;
    double eps;
};

static struct rule rule_of(const struct hc_metrics *metrics, double lr, double beta1)
{
    const struct hc_recipe *r = hc_update_recipe(metrics->update);
    double t = (double)hc_update_counters(metrics->update).taken;
    enum hc_role role = HC_ROLE_WEIGHT;
    enum hc_format arithmetic = hc_recipe_optimizes(r, role, r->arithmetic);
    bool decoupled = r->decay == HC_DECAY_DECOUPLED && hc_recipe_decays(r, role);
    return (struct rule){.recipe = r,
                         .lr = lr,
                         .decay = decoupled ? lr * r->weight_decay : 0,
                         .first = 1 - pow(beta1, t),
                         .second = 1 - pow(r->beta2, t),
                         .eps = hc_round(arithmetic, r->eps)};
}

static double update_of(const struct rule *rule, double w, double m, double v)
{
    double step = m;
    if (rule->recipe->optimizer == HC_OPTIMIZER_ADAM) {
        double root = rule->recipe->eps_inside ? sqrt(v / rule->second + rule->eps)
                                               : sqrt(v / rule->second) + rule->eps;
        step = m / rule->first / root;
    }
    return rule->lr * step + rule->decay * w;
}

static enum hc_status updates_lost(struct hc_metrics *metrics, const struct sample *sample,
                                   const struct rule *rule, double *share)
{
    double m[SAMPLE] = {0};
    double v[SAMPLE] = {0};
    enum hc_format model = rule->recipe->model;
    int n;
    int lost = 0;
    enum hc_status status = draw(metrics, HC_PIECE_M, sample->parameter, m, &n);
    if (status == HC_OK && rule->recipe->optimizer == HC_OPTIMIZER_ADAM)
        status = draw(metrics, HC_PIECE_V, sample->parameter, v, &n);
    for (int i = 0; i < sample->n && status == HC_OK; i++) {
        double u = update_of(rule, sample->w[i], m[i], v[i]);
        lost += isfinite(u) && u != 0 && hc_round(model, sample->w[i] - u) == sample->w[i];
    }
    *share = (double)lost / sample->n;
    return status;
}

static enum hc_status sum_squares(struct hc_metrics *metrics)
{
    for (int p = 0; p < metrics->plan->parameters; p++) {
        struct hc_tensor g = hc_update_tensor(metrics->update, HC_PIECE_MASTER_GRADIENT, p);
        g = hc_tensor1(g.format, hc_tensor_count(&g), g.data);
        struct hc_call dot = {.op = HC_OP_dot,
                              .in = {g, g},
                              .out = {hc_tensor1(HC_FP32, 1, (float *)metrics->squares->data + p)},
                              .params.reduce = {HC_FP32}};
        enum hc_status status = hc_device_run(metrics->device, &dot);
        if (status != HC_OK)
            return status;
    }
    return hc_storage_read(metrics->squares, metrics->norms);
}

static void add_layer(struct hc_metrics *metrics, int l, double *elements)
{
    const struct hc_layer *layer = &metrics->plan->layer[l];
    struct hc_shares *shares = &metrics->shares[l];
    double squares = 0;
    for (int p = 0; p < (layer->kind == HC_LAYER_CONV ? 3 : 2); p++)
        squares += (double)metrics->norms[layer->parameter + p];
    shares->gradient_norm = sqrt(squares);
    struct hc_tensor t = hc_update_tensor(metrics->update, HC_PIECE_MODEL, layer->parameter);
    double n = (double)hc_tensor_count(&t);
    *elements += n;
    metrics->all.underflow += n * shares->underflow;
    metrics->all.unscaled += n * shares->unscaled;
    metrics->all.update_lost += n * shares->update_lost;
    metrics->all.gradient_norm += squares;
}

enum hc_status hc_metrics_after(struct hc_metrics *metrics, double lr, double beta1)
{
    struct rule rule = rule_of(metrics, lr, beta1);
    bool skipped = hc_update_counters(metrics->update).skipped != metrics->skipped;
    enum hc_status status = sum_squares(metrics);
    double elements = 0;
    metrics->all = (struct hc_shares){0};
    for (int l = 0; l < metrics->plan->layers && status == HC_OK; l++) {
        const struct sample *sample = &metrics->samples[l];
        if (sample->parameter < 0)
            continue;
        metrics->shares[l].update_lost = (double)NAN;
        if (!skipped)
            status = updates_lost(metrics, sample, &rule, &metrics->shares[l].update_lost);
        add_layer(metrics, l, &elements);
    }
    metrics->all.underflow /= elements;
    metrics->all.unscaled /= elements;
    metrics->all.update_lost /= elements;
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
