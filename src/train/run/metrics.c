/* What a step loses: the update that it meant, samples of its tensors, and the shares of what is
   lost; and the same of what is quantised. */
#include "train/run/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "train/net/device.h"
#include "train/update/update.h"

/* The update that a step meant for a weight, whatever its arithmetic made of it: what the
   optimizer's contract (op/optimizer.h) asks for, in fp64, from the state after the step. */

struct hc_intent {
    const struct hc_recipe *recipe;
    double lr; /* with its factor */
    double beta1;
    double l2;     /* weight decay that is added to the gradient, else 0 */
    double decay;  /* decoupled: lr * weight decay, else 0 */
    double first;  /* 1 - beta1^t */
    double second; /* 1 - beta2^t */
    double eps;    /* in the arithmetic's format */
};

/* For weights of that plan, in the optimizer's `taken`-th step. */
static struct hc_intent intent_make(const struct hc_recipe *recipe, const struct hc_slot_plan *plan,
                                    int64_t taken, double lr, double beta1)
{
    bool decoupled = recipe->decay == HC_DECAY_DECOUPLED;
    bool l2 = recipe->decay == HC_DECAY_L2;
    lr *= plan->rate;
    return (struct hc_intent){.recipe = recipe,
                              .lr = lr,
                              .beta1 = beta1,
                              .l2 = l2 ? plan->decay : 0,
                              .decay = decoupled ? lr * plan->decay : 0,
                              .first = 1 - pow(beta1, (double)taken),
                              .second = 1 - pow(recipe->beta2, (double)taken),
                              .eps = hc_round(plan->arithmetic, recipe->eps)};
}

/* Takes w before the step, its unscaled gradient, and m and v after the step (SGD ignores v). The
   weight was to become w minus the result. */
static double intent_update(const struct hc_intent *intent, double w, double g, double m, double v)
{
    const struct hc_recipe *recipe = intent->recipe;
    double inside = recipe->rate_inside ? intent->lr : 1;
    double step = recipe->nesterov ? inside * (g + intent->l2 * w) + intent->beta1 * m : m;
    if (recipe->optimizer == HC_OPTIMIZER_ADAM) {
        double second = v / intent->second;
        double root = recipe->eps_inside ? sqrt(second + intent->eps) : sqrt(second) + intent->eps;
        step = m / intent->first / root;
    }
    return (recipe->rate_inside ? 1 : intent->lr) * step + intent->decay * w;
}

static int exponent_of(double g)
{
    int e;
    if (g == 0)
        return HC_EXPONENT_ZERO;
    if (!isfinite(g))
        return HC_EXPONENT_LAST;
    (void)frexp(g, &e);
    e -= 1;
    if (e <= HC_EXPONENT_ZERO)
        return HC_EXPONENT_ZERO + 1;
    return e < HC_EXPONENT_LAST ? e : HC_EXPONENT_LAST - 1;
}

/* Counts the scaled gradient g, of a weight or an activation, and g / scale. */
static void count_gradient(int64_t *scaled, int64_t *unscaled, double g, double scale)
{
    scaled[exponent_of(g) - HC_EXPONENT_ZERO]++;
    unscaled[exponent_of(g / scale) - HC_EXPONENT_ZERO]++;
}

/* A sample of a tensor in the backend's memory: blocks that are spread evenly, the same at each
   call.
 */

enum {
    HC_SAMPLE_BLOCKS = 8,
    HC_SAMPLE_BLOCK = 128,
    HC_SAMPLE = HC_SAMPLE_BLOCKS * HC_SAMPLE_BLOCK
};

/* Copies *n values, at most HC_SAMPLE; a tensor that has no more is copied whole. */
static enum hc_status sample_draw(const struct hc_device *device, const struct hc_tensor *t,
                                  double *values, int *n)
{
    int64_t count = hc_tensor_count(t);
    size_t size = (size_t)hc_formats[t->format].bytes;
    int blocks = count <= HC_SAMPLE ? 1 : HC_SAMPLE_BLOCKS;
    int64_t length = count <= HC_SAMPLE ? count : HC_SAMPLE_BLOCK;
    *n = 0;
    for (int b = 0; b < blocks; b++) {
        double bits[HC_SAMPLE]; /* of any format */
        int64_t start = blocks == 1 ? 0 : (count - length) * b / (blocks - 1);
        struct hc_tensor block = hc_tensor1(t->format, length, bits);
        const char *from = (const char *)t->data + (size_t)start * size;
        enum hc_status status =
            device->backend->download(device->queue, bits, from, (size_t)length * size);
        if (status != HC_OK)
            return status;
        for (int64_t i = 0; i < length; i++)
            values[(*n)++] = hc_tensor_get(&block, i);
    }
    return HC_OK;
}

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
static void see_gradient(void *context, int l, const struct hc_tensor *dy)
{
    struct hc_metrics *metrics = context;
    struct sample *sample = &metrics->samples[l];
    sample->outputs = (double)hc_tensor_count(dy);
    if (metrics->seen == HC_OK)
        metrics->seen = sample_draw(metrics->device, dy, sample->dy, &sample->dys);
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
    hc_net_watch(metrics->net, watching ? see_gradient : NULL, metrics);
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

static enum hc_status draw_state(const struct hc_metrics *metrics, enum hc_state_tensor state,
                                 int parameter, double *values, int *n)
{
    struct hc_tensor t = hc_update_tensor(metrics->update, state, parameter);
    return sample_draw(metrics->device, &t, values, n);
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
        status = draw_state(metrics, HC_STATE_GRADIENT, s->parameter, s->g, &s->n);
        if (status == HC_OK)
            status = draw_state(metrics, HC_STATE_MODEL, s->parameter, s->w, &s->n);
        count_zeros(metrics, s->g, s->n, &shares->underflow, &shares->unscaled);
        count_zeros(metrics, s->dy, s->dys, &shares->activation_underflow,
                    &shares->activation_unscaled);
        for (int i = 0; i < s->n; i++)
            count_gradient(histogram->scaled, histogram->unscaled, s->g[i], metrics->scale);
        for (int i = 0; i < s->dys; i++)
            count_gradient(histogram->activations_scaled, histogram->activations_unscaled, s->dy[i],
                           metrics->scale);
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
    enum hc_status status = draw_state(metrics, HC_STATE_M, sample->parameter, m, &n);
    if (status == HC_OK && intent->recipe->optimizer == HC_OPTIMIZER_ADAM)
        status = draw_state(metrics, HC_STATE_V, sample->parameter, v, &n);
    if (status == HC_OK && clips)
        status = draw_state(metrics, HC_STATE_MASTER_GRADIENT, sample->parameter, clipped, &n);
    for (int i = 0; i < sample->n && status == HC_OK; i++) {
        double g = clips ? clipped[i] : sample->g[i] / metrics->scale;
        double u = intent_update(intent, sample->w[i], g, m[i], v[i]);
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
        struct hc_intent intent = intent_make(hc_update_recipe(metrics->update),
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

enum { ROLES = HC_QUANT_OF_DY + 1 };

struct hc_quant_metrics {
    struct hc_device *device;
    struct hc_net *net;
    struct hc_quant_shares shares[HC_MAX_LAYERS][ROLES]; /* by quantised convolution */
};

static enum hc_status first_of(const struct hc_device *device, const struct hc_tensor *t,
                               double *value)
{
    double bits = 0; /* of any format */
    struct hc_tensor one = hc_tensor1(t->format, 1, &bits);
    enum hc_status status =
        device->backend->download(device->queue, &bits, t->data, hc_tensor_bytes(&one));
    *value = hc_tensor_get(&one, 0);
    return status;
}

/* A matrix and its codes are sampled at the same places, unless one of them is transposed. */
static enum hc_status see_codes(void *context, int layer, enum hc_quant_role role,
                                const struct hc_call *call)
{
    struct hc_quant_metrics *metrics = context;
    struct hc_quant_shares *shares = &metrics->shares[layer][role];
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    double got[HC_SAMPLE] = {0};
    double was[HC_SAMPLE] = {0};
    double tensor = 1;
    double most = hc_format_max(codes->format);
    int n = 0;
    if (call->params.quantize.transpose)
        return HC_OK;
    enum hc_status status = sample_draw(metrics->device, &call->in[HC_QUANTIZE_X], was, &n);
    if (status == HC_OK)
        status = sample_draw(metrics->device, codes, got, &n);
    if (status == HC_OK)
        status = first_of(metrics->device, &call->out[HC_QUANTIZE_SCALES], &shares->scale);
    if (status == HC_OK)
        status = first_of(metrics->device, &call->out[HC_QUANTIZE_TENSOR], &tensor);
    shares->scale *= tensor;
    shares->at_max = shares->flushed = 0;
    for (int i = 0; i < n; i++) {
        shares->at_max += fabs(got[i]) == most ? 1.0 / n : 0;
        shares->flushed += got[i] == 0 && was[i] != 0 ? 1.0 / n : 0;
    }
    return status;
}

enum hc_status hc_quant_metrics_open(struct hc_quant_metrics **out, struct hc_device *device,
                                     struct hc_net *net)
{
    *out = NULL;
    if (!hc_net_quant(net))
        return HC_OK;
    struct hc_quant_metrics *metrics = malloc(sizeof *metrics);
    if (!metrics)
        return hc_fail(HC_NO_MEMORY, "no memory for metrics");
    metrics->device = device;
    metrics->net = net;
    for (int l = 0; l < HC_MAX_LAYERS; l++)
        for (int r = 0; r < ROLES; r++)
            metrics->shares[l][r] = (struct hc_quant_shares){(double)NAN, (double)NAN, (double)NAN};
    *out = metrics;
    return HC_OK;
}

void hc_quant_metrics_close(struct hc_quant_metrics *metrics)
{
    hc_quant_metrics_watch(metrics, false);
    free(metrics);
}

void hc_quant_metrics_watch(struct hc_quant_metrics *metrics, bool watching)
{
    if (metrics)
        hc_quant_watch_with(hc_net_quant(metrics->net), watching ? see_codes : NULL, metrics);
}

struct hc_quant_shares hc_quant_metrics_of(const struct hc_quant_metrics *metrics, int l,
                                           enum hc_quant_role role)
{
    int layer = metrics ? hc_net_quant_of(metrics->net, l) : -1;
    return layer >= 0 ? metrics->shares[layer][role]
                      : (struct hc_quant_shares){(double)NAN, (double)NAN, (double)NAN};
}
