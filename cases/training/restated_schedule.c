/* What a training begins with and is led by, restated: its weights and its schedule. */
#include <math.h>
#include <stdlib.h>

#include "cases/fixture/training/restated.h"

/* The rates, counts and decays that reach the optimizer in each step of a training, compared with
   the one-cycle and the AdamW of the specification. Only the loop runs; nothing is multiplied. */

enum { MAX = 64 };

/* A training. There is a middle step if the number of steps is odd. */
struct plan {
    int images;
    int epochs;
    int batch;
    int steps;
    double max_lr; /* as given to the trainer; 0 for the default */
    bool own_memory;
};

struct parameter {
    const char *data;
    size_t bytes;
    int covered; /* how many optimizer calls of this step cover it */
};

struct watch {
    const struct plan *plan;
    struct hc_restated net;
    struct hc_restated_place place;
    struct parameter parameter[3 * HC_RESTATED_MAX];
    int parameters;
    int step;
    int passes;
};

static const double pi = 3.14159265358979323846;

/* Over the first half of the steps the rate rises linearly from a 25th of the maximum; over the
   second half it falls along half a cosine to a 10,000th of its initial value. beta1 goes the other
   way, between .95 and .85. */
static void claim_rates(struct hc_check *check, const struct plan *plan, int step,
                        const struct hc_tensor *hyper)
{
    double most = plan->max_lr == 0 ? 3e-3 : plan->max_lr;
    double begin = most / 25;
    double end = begin / 1e4;
    double at = 2.0 * step / (plan->steps - 1);
    double rate = begin + at * (most - begin);
    double beta = 0.95 - at * (0.95 - 0.85);
    if (at > 1) {
        double left = (1 + cos(pi * (at - 1))) / 2;
        rate = end + left * (most - end);
        beta = 0.95 - left * (0.95 - 0.85);
    }
    /* Bound: one rounding to fp32, and some ulp of fp64 of the maximum. */
    hc_claim_within(check, "learning rate", rate, hc_tensor_get(hyper, HC_HYPER_LR),
                    0x1p-24 * rate + 0x1p-49 * most);
    hc_claim_within(check, "beta1", beta, hc_tensor_get(hyper, HC_HYPER_BETA1),
                    0x1p-24 * beta + 0x1p-49);
    hc_claim_value(check, "the optimizer's count of steps", step + 1,
                   hc_tensor_get(hyper, HC_HYPER_STEP));
}

static void know(struct watch *w, const struct hc_tensor *t)
{
    w->parameter[w->parameters++] =
        (struct parameter){.data = t->data, .bytes = hc_tensor_bytes(t)};
}

/* The first pass shows where the parameters lie. */
static void learn(struct watch *w, const struct hc_call *there)
{
    if (there->op == HC_OP_conv2d)
        know(w, &there->in[HC_CONV_W]);
    if (there->op == HC_OP_bn_leaky_train) {
        know(w, &there->in[HC_BN_GAMMA]);
        know(w, &there->in[HC_BN_BETA]);
    }
    if (there->op == HC_OP_gemm) {
        know(w, &there->in[HC_GEMM_B]);
        know(w, &there->in[HC_GEMM_C]);
    }
}

static void see_optimizer(struct watch *w, struct hc_check *check, const struct hc_call *there,
                          const struct hc_call *copy)
{
    const struct hc_adam *p = &there->params.adam;
    claim_rates(check, w->plan, w->step, &copy->in[HC_ADAM_HYPER]);
    hc_claim_value(check, "beta2", 0.99, p->beta2);
    hc_claim_value(check, "the optimizer's epsilon", 1e-8, p->eps);
    hc_claim_true(check, "the epsilon stands outside the root", !p->eps_inside);
    hc_claim_value(check, "decay, of norms and biases too", 1e-2, p->weight_decay);
    hc_claim_true(check, "weights are updated in place",
                  there->in[HC_ADAM_W].data == there->out[HC_ADAM_NEW_W].data);
    const char *from = there->out[HC_ADAM_NEW_W].data;
    for (int i = 0; i < w->parameters; i++)
        w->parameter[i].covered +=
            w->parameter[i].data >= from && w->parameter[i].data + w->parameter[i].bytes <=
                                                from + hc_tensor_bytes(&there->out[HC_ADAM_NEW_W]);
}

static void see_end(struct watch *w, struct hc_check *check)
{
    for (int i = 0; i < w->parameters; i++) {
        hc_claim_value(check, "updates of a parameter in a step", 1, w->parameter[i].covered);
        w->parameter[i].covered = 0;
    }
    w->step++;
}

static void see(struct hc_observed *observed, const struct hc_call *there,
                const struct hc_call *copy)
{
    struct watch *w = observed->context;
    int at;
    if (there->op == HC_OP_adamw)
        see_optimizer(w, observed->check, there, copy);
    else if (there->op == HC_OP_scaler_update)
        see_end(w, observed->check);
    else if (hc_restated_follow(observed->check, &w->net, &w->place, there, &at)) {
        if (w->passes == 0)
            learn(w, there);
        w->passes += w->place.layer < 0;
        hc_claim_value(observed->check, "images in a batch", w->plan->batch ? w->plan->batch : 64,
                       (double)there->in[HC_FIRST].shape[0]);
    }
}

static void train(struct hc_check *check, const struct plan *plan, struct watch *w)
{
    struct hc_train_result result;
    struct hc_observed observed = {
        .check = check, .see = see, .context = w, .own_memory = plan->own_memory};
    struct hc_train_options options = {
        .epochs = plan->epochs, .batch = plan->batch, .max_lr = plan->max_lr};
    observed.reads[HC_OP_adamw] = true;
    *w = (struct watch){.plan = plan, .place.layer = -1};
    w->net = hc_restated_small(1, 10);
    if (!hc_restated_train(&observed, &w->net, plan->images, 2, &options, &result))
        return;
    hc_claim_value(check, "steps of a training", plan->steps, w->step);
    hc_claim_value(check, "steps that the trainer counts", plan->steps, (double)result.steps);
    hc_claim_value(check, "parameters, tensor by tensor", 3 * 4 + 2, w->parameters);
}

static void schedule(struct hc_check *check)
{
    static const struct plan plans[] = {
        {.images = 20, .epochs = 9, .batch = 4, .steps = 45},
        {.images = 20, .epochs = 9, .batch = 4, .steps = 45, .own_memory = true},
        {.images = 22, .epochs = 2, .batch = 4, .steps = 10, .max_lr = 0.1},
        {.images = 130, .epochs = 1, .steps = 2}};
    struct watch *w = hc_check_memory(check, sizeof *w);
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++)
        train(check, &plans[p], w);
}

/* What a training starts from: the layers of Darknet, the parameters of each op, and the initial
   weights, compared with the specification (cases/fixture/training/restated.h). Only the loop
   runs; nothing is multiplied. */

enum { KEPT = 432 }; /* the stem's weights */

struct start_weights {
    struct hc_restated net;
    struct hc_restated_place place;
    int passes;
    int64_t elements;                       /* elements of the parameters seen */
    const void *value[HC_RESTATED_MAX + 1]; /* address of each value */
    const void *convolved;                  /* address that a norm reads */
    double before[KEPT];                    /* of the layer before, in units of its bound */
    double first[KEPT];                     /* of the stem */
};

/* Means of n independent draws, each uniform in +-1, of their products with others, or of their
   squares less 1/3: E exp(s u) <= exp(s^2 / 6) for a uniform u, so that a mean is further from 0
   than 4.4 / sqrt(n) with a chance below 2 exp(-3/2 4.4^2) = 2^-40; of squares, whose range is 1,
   with less by Hoeffding. */
static double room(double n)
{
    return 4.4 / sqrt(n);
}

/* The largest draw is below 1 - 28 / n with a chance of exp(-28) = 2^-40. */
static void claim_uniform(struct start_weights *s, struct hc_check *check,
                          const struct hc_tensor *t, int fan_in)
{
    int64_t n = hc_tensor_count(t);
    double bound = 1 / sqrt((double)fan_in);
    double largest = 0;
    double mean = 0;
    double square = 0;
    double neighbours = 0;
    double layers = 0;
    double last = 0;
    for (int64_t i = 0; i < n; i++) {
        double w = hc_tensor_get(t, i) / bound;
        largest = fmax(largest, fabs(w));
        mean += w / (double)n;
        square += (w * w - 1 / 3.0) / (double)n;
        neighbours += w * last / (double)n;
        if (i < KEPT) {
            layers += w * s->before[i];
            s->before[i] = w;
        }
        last = w;
    }
    layers /= (double)(n < KEPT ? n : KEPT);
    hc_claim_true(check, "initial weights are within 1 / sqrt(fan in)", largest <= 1 + 0x1p-24);
    hc_claim_true(check, "initial weights reach up to 1 / sqrt(fan in)",
                  largest >= 1 - 28 / (double)n);
    hc_claim_within(check, "the mean of initial weights", 0, mean, room((double)n));
    hc_claim_within(check, "the mean square of initial weights", 0, square, room((double)n));
    hc_claim_within(check, "what neighbours among initial weights have in common", 0, neighbours,
                    room((double)n));
    hc_claim_within(check, "what two layers' initial weights have in common", 0, layers,
                    room(n < KEPT ? (double)n : KEPT));
    s->elements += n;
}

static void claim_all(struct start_weights *s, struct hc_check *check, const char *what,
                      const struct hc_tensor *t, int64_t n, double want)
{
    hc_claim_value(check, "elements of a norm", (double)n, (double)hc_tensor_count(t));
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_claim_value(check, what, want, hc_tensor_get(t, i));
    s->elements += hc_tensor_count(t);
}

static void claim_shape(struct hc_check *check, const char *what, const struct hc_tensor *t,
                        int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t want[] = {a, b, c, d};
    for (int i = 0; i < t->rank; i++)
        hc_claim_value(check, what, (double)want[i], (double)t->shape[i]);
}

static void see_conv(struct start_weights *s, struct hc_check *check, const struct hc_call *call,
                     const struct hc_restated_layer *layer)
{
    int k = layer->kernel;
    int half = (k - 1) / 2;
    claim_shape(check, "shape of a filter", &call->in[HC_CONV_W], layer->channels, k, k,
                layer->channels_in);
    hc_claim_value(check, "a convolution's stride", layer->stride, call->params.conv.stride);
    hc_claim_value(check, "a convolution's padding, half its kernel", half, call->params.conv.pad);
    claim_uniform(s, check, &call->in[HC_CONV_W], k * k * layer->channels_in);
}

/* Op parameters given as double are taken as fp32. */
static void see_norm(struct start_weights *s, struct hc_check *check, const struct hc_call *call,
                     const struct hc_restated_layer *layer)
{
    int64_t n = layer->channels;
    int64_t elements = s->elements;
    hc_claim_value(check, "a norm's epsilon", (double)1e-5F, (double)(float)call->params.bn.eps);
    hc_claim_value(check, "a norm's momentum", (double)0.1F,
                   (double)(float)call->params.bn.momentum);
    hc_claim_value(check, "the slope of the leaky ReLU", (double)0.1F,
                   (double)(float)call->params.bn.slope);
    claim_all(s, check, "gamma at the start", &call->in[HC_BN_GAMMA], n, 1);
    claim_all(s, check, "beta at the start", &call->in[HC_BN_BETA], n, 0);
    claim_all(s, check, "the running mean at the start", &call->in[HC_BN_MEAN], n, 0);
    claim_all(s, check, "the running variance at the start", &call->in[HC_BN_VARIANCE], n, 1);
    s->elements = elements + 2 * n;
}

static void see_other(struct start_weights *s, struct hc_check *check, const struct hc_call *there,
                      const struct hc_call *call, const struct hc_restated_layer *layer)
{
    if (layer->kind == HC_RESTATED_SUM) {
        const void *shortcut = s->value[layer->shortcut];
        hc_claim_true(check, "a block's sum takes the block's own input",
                      there->in[HC_X].data == shortcut || there->in[HC_Y].data == shortcut);
    } else if (layer->kind == HC_RESTATED_POOL) {
        hc_claim_value(check, "the window of the average", layer->side_in,
                       call->params.pool.window);
    } else {
        const struct hc_gemm *p = &call->params.gemm;
        claim_shape(check, "shape of the linear layer", &call->in[HC_GEMM_B], layer->channels,
                    layer->channels_in, 0, 0);
        hc_claim_true(check, "the linear layer is x w' + b",
                      !p->transpose_a && p->transpose_b && p->alpha == 1 && p->beta == 1 &&
                          call->in[HC_GEMM_C].rank == 1);
        claim_uniform(s, check, &call->in[HC_GEMM_B], layer->channels_in);
        claim_uniform(s, check, &call->in[HC_GEMM_C], layer->channels_in);
    }
}

/* Each layer reads the value that the specification says, and gives one of its shape. */
static void see_flow(struct start_weights *s, struct hc_check *check, const struct hc_call *there,
                     const struct hc_restated_layer *layer, bool norm)
{
    const struct hc_tensor *y = &there->out[HC_FIRST];
    bool ends = norm || layer->kind != HC_RESTATED_CONV;
    if (layer->from == 0 && !norm)
        s->value[0] = there->in[HC_FIRST].data;
    const void *from = norm ? s->convolved : s->value[layer->from];
    hc_claim_true(check, "a layer reads what the layer before it wrote",
                  there->in[HC_FIRST].data == from ||
                      (layer->kind == HC_RESTATED_SUM && there->in[HC_Y].data == from));
    claim_shape(check, "shape of a layer's output", y, y->shape[0],
                y->rank == 2 ? layer->channels : layer->side, layer->side, layer->channels);
    s->convolved = y->data;
    if (ends)
        s->value[layer->from + 1] = y->data;
}

static void see_weights(struct hc_observed *observed, const struct hc_call *there,
                        const struct hc_call *copy)
{
    struct start_weights *s = observed->context;
    struct hc_check *check = observed->check;
    bool norm = s->place.norm;
    int at;
    if (s->passes > 0 || !hc_restated_follow(check, &s->net, &s->place, there, &at))
        return;
    const struct hc_restated_layer *layer = &s->net.layer[at];
    see_flow(s, check, there, layer, norm);
    if (layer->kind == HC_RESTATED_CONV && !norm)
        see_conv(s, check, copy, layer);
    else if (layer->kind == HC_RESTATED_CONV)
        see_norm(s, check, copy, layer);
    else
        see_other(s, check, there, copy, layer);
    if (at == 0)
        for (int i = 0; i < KEPT && !norm; i++)
            s->first[i] = s->before[i];
    s->passes += s->place.layer < 0;
}

static bool start_weights(struct hc_check *check, struct start_weights *s,
                          const struct hc_network *network, uint64_t seed,
                          struct hc_train_result *result)
{
    struct hc_observed observed = {.check = check, .see = see_weights, .context = s};
    struct hc_train_options options = {.network = network, .epochs = 1, .batch = 2, .seed = seed};
    static const enum hc_op looked_at[] = {HC_OP_conv2d, HC_OP_bn_leaky_train, HC_OP_gemm};
    for (size_t i = 0; i < sizeof looked_at / sizeof looked_at[0]; i++)
        observed.reads[looked_at[i]] = true;
    s->place.layer = -1;
    hc_restated_make(&s->net);
    return hc_restated_train(&observed, &s->net, 2, 2, &options, result) &&
           hc_claim_true(check, "a pass went forward to its end", s->passes == 1);
}

/* The network of the specification; and, with another seed, its first layers. */
static void weights(struct hc_check *check)
{
    struct start_weights *s = hc_check_memory(check, 2 * sizeof *s);
    struct hc_train_result result;
    double common = 0;
    double norms = 7872;
    s[0].net = (struct hc_restated){.width = 16,
                                    .groups = 5,
                                    .strides = {2, 1, 2, 2, 2},
                                    .blocks = {1, 2, 2, 2, 2},
                                    .classes = 2};
    s[1].net =
        (struct hc_restated){.width = 16, .groups = 1, .strides = {2}, .blocks = {1}, .classes = 3};
    if (!start_weights(check, &s[0], &hc_darknet16, 0, &result))
        return;
    hc_claim_value(check, "parameters of norms", norms, (double)s[0].net.norms);
    hc_claim_value(check, "parameters that were looked at", 5067378, (double)s[0].elements);
    hc_claim_value(check, "parameters that the trainer counts", 5067378, (double)result.parameters);
    hc_claim_value(check, "products of a forward pass", 63751168, (double)s[0].net.products);
    hc_claim_value(check, "products that the trainer counts", 63751168, (double)result.macs);
    if (!start_weights(check, &s[1], NULL, 1, &result))
        return;
    for (int i = 0; i < KEPT; i++)
        common += s[0].first[i] * s[1].first[i] / KEPT;
    hc_claim_within(check, "what two seeds' initial weights have in common", 0, common, room(KEPT));
}

static const struct hc_case cases[] = {
    {"training/restated-schedule",
     "the optimizer gets the one-cycle's rates from the first step to the last, counts from 1 on, "
     "and decays every parameter once",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: OneCycleScheduler, AdamW with "
     "bn_wd",
     .level = HC_STANDARD, .run = schedule},
    {"training/restated-weights",
     "a training starts with Darknet's layers, paddings, slope and norms, and with weights that "
     "are uniform in 1 / sqrt(fan in), as its specification says",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: Darknet([1,2,2,2,2], nf=16), "
     "and PyTorch's initialisation",
     .level = HC_STANDARD, .run = weights},
};

HC_CASES(training_restated_schedule, cases);
