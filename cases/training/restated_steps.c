/* The forward and backward pass of the restated network, in fp64 from the layers' definitions. It
   can also be run with roundings: every number that a training stores is rounded to a format, and
   sums are taken in fp32 term by term. The distance between the two runs shows what roundings
   amount to here, and so how far another order of the same roundings may end. */
#include <math.h>
#include <string.h>

#include "cases/fixture/training/restated.h"

/* A layer's parameters: filter, gamma and beta, or weight and bias. */
enum { RESTATED_SLOTS = 3 };

struct restated_pass {
    const struct hc_restated *net;
    int batch;
    double scale;         /* of the loss, for the backward pass */
    bool rounds;          /* or fp64 throughout */
    enum hc_format model; /* of activations, their gradients, and gradients of weights */
    const double *labels;

    /* A number within `kink` of leaky ReLU's kink may lie on either side of it, depending on
       roundings: it is taken to be on the side where sides[l] has its output. */
    double kink;
    double *sides[HC_RESTATED_MAX];

    double *value[HC_RESTATED_MAX + 1]; /* value[0] is given */
    double *parameter[HC_RESTATED_MAX][RESTATED_SLOTS];
    double *gradient[HC_RESTATED_MAX][RESTATED_SLOTS]; /* divided by the scale */
    double loss;

    double *back[HC_RESTATED_MAX + 1]; /* gradients of values */
    double
        *normal[HC_RESTATED_MAX]; /* a convolution's output, then less its mean, by its deviation */
    double *deviation[HC_RESTATED_MAX]; /* by channel */
};

/* Where an output (n, p, q) of a convolution and tap (r, s) of its filter meet the input; -1 in the
   padding, which is half the kernel wide. */
static int meet(const struct hc_restated_layer *l, int64_t output, int tap)
{
    int q = (int)(output % l->side);
    int p = (int)(output / l->side % l->side);
    int n = (int)(output / l->side / l->side);
    int h = p * l->stride + tap / l->kernel - (l->kernel - 1) / 2;
    int w = q * l->stride + tap % l->kernel - (l->kernel - 1) / 2;
    bool inside = h >= 0 && h < l->side_in && w >= 0 && w < l->side_in;
    return inside ? (n * l->side_in + h) * l->side_in + w : -1;
}

static double kept(const struct restated_pass *pass, enum hc_format format, double x)
{
    return pass->rounds ? hc_round(format, x) : x;
}

static double sum(const struct restated_pass *pass, double x, double y)
{
    return pass->rounds ? (double)(float)(x + y) : x + y;
}

static int64_t restated_values(const struct restated_pass *pass, int v)
{
    const struct hc_restated_layer *l = &pass->net->layer[v - (v > 0)];
    int64_t side = v > 0 ? l->side : l->side_in;
    return pass->batch * side * side * (v > 0 ? l->channels : l->channels_in);
}

/* 0: none */
static int64_t restated_parameters(const struct hc_restated *net, int layer, int slot)
{
    const struct hc_restated_layer *l = &net->layer[layer];
    int64_t weights = (int64_t)l->kernel * l->kernel * l->channels_in * l->channels;
    if (l->kind == HC_RESTATED_CONV)
        return slot == 0 ? weights : l->channels;
    if (l->kind == HC_RESTATED_LINEAR && slot < 2)
        return slot == 0 ? weights : l->channels;
    return 0;
}

static double *room(struct hc_check *check, int64_t n)
{
    return hc_check_memory(check, (size_t)n * sizeof(double));
}

/* Allocates its arrays for net and batch, which are set. */
static void restated_open(struct hc_check *check, struct restated_pass *pass)
{
    for (int v = 0; v <= pass->net->layers; v++) {
        pass->value[v] = room(check, restated_values(pass, v));
        pass->back[v] = room(check, restated_values(pass, v));
    }
    for (int l = 0; l < pass->net->layers; l++) {
        pass->sides[l] = room(check, restated_values(pass, l + 1));
        pass->normal[l] = room(check, restated_values(pass, l + 1));
        pass->deviation[l] = room(check, pass->net->layer[l].channels);
        for (int s = 0; s < RESTATED_SLOTS; s++) {
            int64_t n = restated_parameters(pass->net, l, s);
            pass->parameter[l][s] = room(check, n);
            pass->gradient[l][s] = room(check, n);
        }
    }
}

/* Shares value[0], sides, labels and parameters with another pass of the same net. */
static void restated_same(struct restated_pass *pass, const struct restated_pass *as)
{
    pass->scale = as->scale;
    pass->labels = as->labels;
    pass->value[0] = as->value[0];
    memcpy(pass->sides, as->sides, sizeof pass->sides);
    memcpy(pass->parameter, as->parameter, sizeof pass->parameter);
}

/* y[., k] = sum over taps and channels of x w: a linear layer is a convolution of one pixel. */
static void multiply(struct restated_pass *pass, int at, double *y)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    const double *x = pass->value[l->from];
    const double *w = pass->parameter[at][0];
    int taps = l->kernel * l->kernel;
    int64_t pixels = (int64_t)pass->batch * l->side * l->side;
    for (int64_t o = 0; o < pixels; o++)
        for (int k = 0; k < l->channels; k++) {
            double all = l->kind == HC_RESTATED_LINEAR ? pass->parameter[at][1][k] : 0;
            for (int t = 0; t < taps; t++) {
                int from = meet(l, o, t);
                for (int c = 0; c < l->channels_in && from >= 0; c++)
                    all =
                        sum(pass, all,
                            x[from * l->channels_in + c] * w[(k * taps + t) * l->channels_in + c]);
            }
            y[o * l->channels + k] = kept(pass, pass->model, all);
        }
}

/* The gradients of the weights and, except for the image, of the input. */
static void multiply_back(struct restated_pass *pass, int at, const double *dy)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    const double *x = pass->value[l->from];
    const double *w = pass->parameter[at][0];
    double *dx = pass->back[l->from];
    double *dw = pass->gradient[at][0];
    int taps = l->kernel * l->kernel;
    int64_t pixels = (int64_t)pass->batch * l->side * l->side;
    int64_t weights = restated_parameters(pass->net, at, 0);
    memset(dw, 0, (size_t)weights * sizeof *dw);
    for (int64_t o = 0; o < pixels; o++)
        for (int k = 0; k < l->channels; k++)
            for (int t = 0; t < taps; t++) {
                int from = meet(l, o, t);
                double d = dy[o * l->channels + k];
                for (int c = 0; c < l->channels_in && from >= 0; c++) {
                    int in = from * l->channels_in + c;
                    int weight = (k * taps + t) * l->channels_in + c;
                    dw[weight] = sum(pass, dw[weight], d * x[in]);
                    dx[in] = sum(pass, dx[in], d * w[weight]);
                }
            }
    for (int64_t i = 0; i < restated_values(pass, l->from); i++)
        dx[i] = kept(pass, pass->model, dx[i]);
    for (int64_t i = 0; i < weights; i++)
        dw[i] = kept(pass, pass->model, dw[i]) / pass->scale;
}

static bool is_positive(const struct restated_pass *pass, int at, int64_t i, double z)
{
    return fabs(z) <= pass->kink ? pass->sides[at][i] > 0 : z > 0;
}

/* Batch norm with eps 1e-5 and the variance of the batch, leaky ReLU of slope 0.1. */
static void norm(struct restated_pass *pass, int at, int c)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    int64_t m = (int64_t)pass->batch * l->side * l->side;
    double *x = pass->normal[at] + c;
    double mean = 0;
    double variance = 0;
    for (int64_t i = 0; i < m; i++)
        mean = sum(pass, mean, x[i * l->channels]);
    mean /= (double)m;
    for (int64_t i = 0; i < m; i++)
        variance = sum(pass, variance, (x[i * l->channels] - mean) * (x[i * l->channels] - mean));
    double deviation = sqrt(variance / (double)m + 1e-5);
    pass->deviation[at][c] = deviation;
    for (int64_t i = 0; i < m; i++) {
        int64_t j = i * l->channels + c;
        pass->normal[at][j] = (pass->normal[at][j] - mean) / deviation;
        double z =
            kept(pass, pass->model,
                 pass->normal[at][j] * pass->parameter[at][1][c] + pass->parameter[at][2][c]);
        pass->value[at + 1][j] = is_positive(pass, at, j, z) ? z : kept(pass, pass->model, 0.1 * z);
    }
}

/* dz through the slope; then, with a the normalized values, dx = gamma / deviation (dz - mean dz -
   a mean (a dz)). */
static void norm_back(struct restated_pass *pass, int at, int c, double *dz)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    int64_t m = (int64_t)pass->batch * l->side * l->side;
    const double *a = pass->normal[at];
    double dgamma = 0;
    double dbeta = 0;
    for (int64_t j = c; j < m * l->channels; j += l->channels) {
        double z = a[j] * pass->parameter[at][1][c] + pass->parameter[at][2][c];
        if (!is_positive(pass, at, j, z))
            dz[j] = kept(pass, pass->model, 0.1 * dz[j]);
        dbeta = sum(pass, dbeta, dz[j]);
        dgamma = sum(pass, dgamma, dz[j] * a[j]);
    }
    for (int64_t j = c; j < m * l->channels; j += l->channels)
        dz[j] = kept(pass, pass->model,
                     pass->parameter[at][1][c] / pass->deviation[at][c] *
                         (dz[j] - dbeta / (double)m - a[j] * dgamma / (double)m));
    pass->gradient[at][1][c] = kept(pass, HC_FP32, dgamma) / pass->scale;
    pass->gradient[at][2][c] = kept(pass, HC_FP32, dbeta) / pass->scale;
}

static void forward(struct restated_pass *pass, int at)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    const double *x = pass->value[l->from];
    double *y = pass->value[at + 1];
    int64_t n = restated_values(pass, at + 1);
    int pixels = l->side_in * l->side_in;
    if (l->kind == HC_RESTATED_CONV) {
        multiply(pass, at, pass->normal[at]);
        for (int c = 0; c < l->channels; c++)
            norm(pass, at, c);
    } else if (l->kind == HC_RESTATED_LINEAR) {
        multiply(pass, at, y);
    } else if (l->kind == HC_RESTATED_SUM) {
        for (int64_t i = 0; i < n; i++)
            y[i] = kept(pass, pass->model, x[i] + pass->value[l->shortcut][i]);
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i] = 0;
            for (int p = 0; p < pixels; p++)
                y[i] = sum(pass, y[i],
                           x[(i / l->channels * pixels + p) * l->channels + i % l->channels]);
            y[i] = kept(pass, pass->model, y[i] / pixels);
        }
    }
}

static void backward(struct restated_pass *pass, int at)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    double *dy = pass->back[at + 1];
    double *dx = pass->back[l->from];
    int64_t n = restated_values(pass, at + 1);
    int pixels = l->side_in * l->side_in;
    if (l->kind == HC_RESTATED_CONV) {
        for (int c = 0; c < l->channels; c++)
            norm_back(pass, at, c, dy);
        multiply_back(pass, at, dy);
    } else if (l->kind == HC_RESTATED_LINEAR) {
        multiply_back(pass, at, dy);
        for (int k = 0; k < l->channels; k++) {
            double all = 0;
            for (int b = 0; b < pass->batch; b++)
                all = sum(pass, all, dy[b * l->channels + k]);
            pass->gradient[at][1][k] = kept(pass, pass->model, all) / pass->scale;
        }
    } else if (l->kind == HC_RESTATED_SUM) {
        for (int64_t i = 0; i < n; i++) {
            dx[i] += dy[i];
            pass->back[l->shortcut][i] += dy[i];
        }
    } else {
        for (int64_t i = 0; i < n * pixels; i++) {
            int64_t image = i / l->channels / pixels;
            dx[i] = kept(pass, pass->model, dy[image * l->channels + i % l->channels] / pixels);
        }
    }
}

/* The mean of log(sum exp z) - z of the label, and its gradient times the scale. */
static void cross_entropy(struct restated_pass *pass)
{
    int classes = pass->net->classes;
    pass->loss = 0;
    for (int b = 0; b < pass->batch; b++) {
        const double *z = pass->value[pass->net->layers] + (ptrdiff_t)b * classes;
        double *dz = pass->back[pass->net->layers] + (ptrdiff_t)b * classes;
        int label = (int)pass->labels[b];
        double all = 0;
        for (int k = 0; k < classes; k++)
            all += exp(z[k] - z[label]);
        pass->loss += log(all) / pass->batch;
        for (int k = 0; k < classes; k++)
            dz[k] = kept(pass, pass->model,
                         (exp(z[k] - z[label]) / all - (k == label)) * pass->scale / pass->batch);
    }
}

/* Runs the forward pass with batch statistics and the backward pass. */
static void restated_step(struct restated_pass *pass)
{
    int layers = pass->net->layers;
    for (int v = 0; v <= layers; v++)
        memset(pass->back[v], 0, (size_t)restated_values(pass, v) * sizeof(double));
    for (int l = 0; l < layers; l++)
        forward(pass, l);
    cross_entropy(pass);
    for (int l = layers - 1; l >= 0; l--)
        backward(pass, l);
}

/* The Euclidean distance of two vectors, or with b NULL the length of one. */
static double restated_distance(const double *a, const double *b, int64_t n)
{
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        square += b ? (a[i] - b[i]) * (a[i] - b[i]) : a[i] * a[i];
    return sqrt(square);
}

/* The distance of the gradients of two passes over all parameters, relative to the first one's:
   what roundings are of the gradient. */
static double restated_roundings(const struct restated_pass *pass,
                                 const struct restated_pass *rounded)
{
    double off = 0;
    double all = 0;
    for (int l = 0; l < pass->net->layers; l++)
        for (int s = 0; s < RESTATED_SLOTS; s++) {
            int64_t n = restated_parameters(pass->net, l, s);
            off += pow(restated_distance(pass->gradient[l][s], rounded->gradient[l][s], n), 2);
            all += pow(restated_distance(pass->gradient[l][s], NULL, n), 2);
        }
    return sqrt(off / all);
}

/* The root mean square of the gradient over a layer's parameters. */
static double restated_layer_gradient(const struct restated_pass *pass, int layer)
{
    double all = 0;
    int64_t count = 0;
    for (int s = 0; s < RESTATED_SLOTS; s++) {
        int64_t n = restated_parameters(pass->net, layer, s);
        all += pow(restated_distance(pass->gradient[layer][s], NULL, n), 2);
        count += n;
    }
    return count ? sqrt(all / (double)count) : 0;
}

/* Whole steps of a training, computed a second time from the specification. At the weights, images
   and labels that the trainer has, each step's loss, gradients, statistics and new weights are
   compared. Each step begins with the trainer's own numbers, so errors do not add up over steps.

   Bounds. m, v and w of the update are sums of two terms with three roundings of u = 2^-24 each a
   step, and the quotient takes some ten more; 64 u of the magnitudes covers 6 steps. For loss and
   gradients no useful bound follows through so many layers. So the step is computed twice, in fp64
   and with all of the recipe's roundings in another order (restated_pass.h). The distance between
   the two is a sample of what roundings amount to here, and so is the trainer's distance from fp64.
   The bound is 8 times the sample for the parameter itself and, since a sample may be small by
   chance, as much again as roundings are of the whole gradient, of this parameter's and of its
   layer's root mean square. A wrong term is thousands of times as much in fp32. */

enum { BATCH = 4, STEPS = 6, LAYERS = 16 };

struct tensor {
    const char *data;
    enum hc_format format; /* as the network sees it */
    double m[1024];
    double v[1024];
    double magnitude[1024]; /* of m, all terms taken positive */
};

struct watch {
    const struct hc_recipe *recipe;
    struct hc_restated net;
    struct hc_restated_place place;
    struct restated_pass want;
    struct restated_pass rounded;
    struct tensor tensor[LAYERS][RESTATED_SLOTS];
    double labels[BATCH];
    double loss;
    struct hc_observed_updates updates;
    int step;
    int compared;
    int unrounded; /* initial masters that the model's copy does not hold exactly */
};

static void take(const struct hc_tensor *t, double *to)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        to[i] = hc_tensor_get(t, i);
}

/* Notes a parameter as the network reads it. From the second step on the optimizer wrote it. */
static void see_parameter(struct watch *w, int layer, int slot, const struct hc_tensor *there,
                          const struct hc_tensor *copy)
{
    w->tensor[layer][slot].data = there->data;
    w->tensor[layer][slot].format = there->format;
    take(copy, w->want.parameter[layer][slot]);
}

/* Mean and variance of m numbers x, to 2^-50 of what is summed. fp32 sums, running averages and
   roundings come to about sqrt(m) u of the same, 2^-18 for 4,096 terms. That is an estimate and no
   bound: the worst case is m u, and a backend between the two would fail here. The variance is
   unbiased. */
static void see_statistics(struct hc_check *check, const struct hc_call *copy)
{
    int64_t channels = copy->in[HC_BN_GAMMA].shape[0];
    int64_t m = hc_tensor_count(&copy->in[HC_BN_X]) / channels;
    for (int64_t c = 0; c < channels; c++) {
        double mean = 0;
        double most = 0;
        double square = 0;
        for (int64_t i = 0; i < m; i++) {
            double x = hc_tensor_get(&copy->in[HC_BN_X], i * channels + c);
            mean += x / (double)m;
            most = fmax(most, fabs(x));
        }
        for (int64_t i = 0; i < m; i++) {
            double x = hc_tensor_get(&copy->in[HC_BN_X], i * channels + c) - mean;
            square += x * x / (double)(m - 1);
        }
        double old = hc_tensor_get(&copy->in[HC_BN_MEAN], c);
        hc_claim_within(check, "running mean", 0.9 * old + 0.1 * mean,
                        hc_tensor_get(&copy->out[HC_BN_NEW_MEAN], c), 0x1p-18 * (fabs(old) + most));
        old = hc_tensor_get(&copy->in[HC_BN_VARIANCE], c);
        hc_claim_within(check, "running variance", 0.9 * old + 0.1 * square,
                        hc_tensor_get(&copy->out[HC_BN_NEW_VARIANCE], c),
                        0x1p-18 * (old + most * most));
    }
}

static void see_forward(struct watch *w, struct hc_check *check, const struct hc_call *there,
                        const struct hc_call *copy, int at, bool norm)
{
    const struct hc_restated_layer *layer = &w->net.layer[at];
    if (there->op == HC_OP_bn_leaky_infer)
        return;
    if (layer->kind == HC_RESTATED_CONV && norm) {
        see_parameter(w, at, 1, &there->in[HC_BN_GAMMA], &copy->in[HC_BN_GAMMA]);
        see_parameter(w, at, 2, &there->in[HC_BN_BETA], &copy->in[HC_BN_BETA]);
        take(&copy->out[HC_BN_Y], w->want.sides[at]);
        see_statistics(check, copy);
        return;
    }
    if (at == 0)
        take(&copy->in[HC_BN_X], w->want.value[0]);
    if (layer->kind == HC_RESTATED_CONV || layer->kind == HC_RESTATED_LINEAR)
        see_parameter(w, at, 0, &there->in[HC_BN_GAMMA], &copy->in[HC_BN_GAMMA]);
    if (layer->kind == HC_RESTATED_LINEAR)
        see_parameter(w, at, 1, &there->in[HC_BN_BETA], &copy->in[HC_BN_BETA]);
}

/* AdamW on one weight. Rounding errors of m are relative to `magnitude`. */
static double updated(const struct watch *w, double old, double m, double v, double magnitude,
                      double *bound)
{
    double rate = w->updates.hyper[HC_HYPER_LR];
    double beta1 = w->updates.hyper[HC_HYPER_BETA1];
    double t = w->updates.hyper[HC_HYPER_STEP];
    double root = sqrt(v / (1 - pow(0.99, t))) + 1e-8;
    double step = rate / (1 - pow(beta1, t)) / root;
    *bound = 64 * 0x1p-24 * (step * magnitude) + 4 * 0x1p-24 * fabs(old);
    return old * (1 - rate * 1e-2) - step * m;
}

static void claim_update(struct watch *w, struct hc_check *check, struct tensor *tensor, int64_t n,
                         const double *seen)
{
    int64_t copied;
    int64_t at = hc_updates_find(&w->updates, tensor->data, &copied);
    if (!hc_claim_true(check, "the optimizer has every parameter", at >= 0))
        return;
    const double *now[HC_UPDATES_KINDS];
    for (int k = 0; k < HC_UPDATES_KINDS; k++)
        now[k] = w->updates.number[k] + at;
    for (int64_t i = 0; i < n; i++) {
        double g = now[HC_UPDATES_G][i];
        double b = w->updates.hyper[HC_HYPER_BETA1];
        double bound = 0;
        double want = now[HC_UPDATES_W][i];
        hc_claim_value(check, "what the network has of the optimizer's weight",
                       copied < 0 ? want : hc_round(tensor->format, want), seen[i]);
        if (copied >= 0 && w->step == 0)
            w->unrounded += want != hc_round(w->recipe->model, want);
        if (copied >= 0)
            hc_claim_value(check, "the model's copy of a master",
                           hc_round(tensor->format, now[HC_UPDATES_NEW_W][i]),
                           w->updates.number[HC_UPDATES_NEW_W][copied + i]);
        if (!w->updates.found) {
            tensor->m[i] = b * tensor->m[i] + (1 - b) * g;
            tensor->v[i] = 0.99 * tensor->v[i] + (1 - 0.99) * g * g;
            tensor->magnitude[i] = b * tensor->magnitude[i] + (1 - b) * fabs(g);
            want = updated(w, want, tensor->m[i], tensor->v[i], tensor->magnitude[i], &bound);
        }
        hc_claim_within(check, "first moment", tensor->m[i], now[HC_UPDATES_NEW_M][i],
                        64 * 0x1p-24 * tensor->magnitude[i] + 0x1p-148);
        hc_claim_within(check, "second moment", tensor->v[i], now[HC_UPDATES_NEW_V][i],
                        64 * 0x1p-24 * tensor->v[i] + 0x1p-148);
        hc_claim_within(check, "weight after the step", want, now[HC_UPDATES_NEW_W][i], bound);
    }
}

static void claim_gradients(struct watch *w, struct hc_check *check)
{
    double share = restated_roundings(&w->want, &w->rounded);
    hc_say(check, "step %d: roundings are %.3g of the gradient; loss %.7g", w->step, share,
           w->loss);
    hc_claim_within(
        check, "loss", w->want.loss, w->loss,
        8 * (fabs(w->rounded.loss - w->want.loss) + fmax(share, 0x1p-24) * w->want.loss));
    for (int l = 0; l < w->net.layers; l++)
        for (int s = 0; s < RESTATED_SLOTS; s++) {
            int64_t n = restated_parameters(&w->net, l, s);
            int64_t copied;
            int64_t at = n ? hc_updates_find(&w->updates, w->tensor[l][s].data, &copied) : -1;
            if (at < 0)
                continue;
            const double *want = w->want.gradient[l][s];
            double typical = restated_distance(want, NULL, n) +
                             sqrt((double)n) * restated_layer_gradient(&w->want, l);
            hc_claim_within(
                check, "a parameter's gradient: distance", 0,
                restated_distance(want, w->updates.number[HC_UPDATES_G] + at, n),
                8 * (restated_distance(want, w->rounded.gradient[l][s], n) + share * typical));
        }
}

static void see_end(struct watch *w, struct hc_check *check)
{
    if (!w->updates.found) {
        w->want.labels = w->labels;
        restated_same(&w->rounded, &w->want);
        restated_step(&w->want);
        restated_step(&w->rounded);
        claim_gradients(w, check);
        w->compared++;
    }
    for (int l = 0; l < w->net.layers; l++)
        for (int s = 0; s < RESTATED_SLOTS; s++) {
            int64_t n = restated_parameters(&w->net, l, s);
            if (n > 0)
                claim_update(w, check, &w->tensor[l][s], n, w->want.parameter[l][s]);
        }
    hc_claim_value(check, "steps taken", w->compared + w->updates.found,
                   w->updates.hyper[HC_HYPER_STEP]);
    hc_updates_clear(&w->updates);
    w->step++;
}

static void see(struct hc_observed *observed, const struct hc_call *there,
                const struct hc_call *copy)
{
    struct watch *w = observed->context;
    bool norm = w->place.norm;
    int at;
    if (hc_restated_follow(observed->check, &w->net, &w->place, there, &at))
        see_forward(w, observed->check, there, copy, at, norm);
    else if (there->op == HC_OP_xent && w->place.trains) {
        take(&copy->in[HC_XENT_LABELS], w->labels);
        take(&copy->out[HC_XENT_LOSS], &w->loss);
    } else if (there->op == HC_OP_xent_bwd)
        take(&copy->in[HC_XENT_UPSTREAM], &w->want.scale);
    else if (there->op == HC_OP_adamw || there->op == HC_OP_master_to_model)
        hc_claim_true(observed->check, "updates are few",
                      w->step < STEPS && hc_updates_note(&w->updates, there, copy));
    else if (there->op == HC_OP_scaler_update)
        see_end(w, observed->check);
}

static struct watch *open(struct hc_check *check)
{
    struct watch *w = hc_check_memory(check, sizeof *w);
    w->recipe = hc_recipe_by_name(hc_check_case(check)->data);
    w->place.layer = -1;
    w->net = hc_restated_small(2, 10);
    w->want = (struct restated_pass){
        .net = &w->net, .batch = BATCH, .kink = w->recipe->model == HC_FP32 ? 0x1p-14 : 0x1p-4};
    w->rounded = w->want;
    w->rounded.rounds = true;
    w->rounded.model = w->recipe->model;
    restated_open(check, &w->want);
    restated_open(check, &w->rounded);
    return w;
}

static void steps(struct hc_check *check)
{
    static const enum hc_op looked_at[] = {HC_OP_conv2d,         HC_OP_bn_leaky_train, HC_OP_gemm,
                                           HC_OP_xent,           HC_OP_xent_bwd,       HC_OP_adamw,
                                           HC_OP_master_to_model};
    struct watch *w = open(check);
    struct hc_train_result result;
    struct hc_observed observed = {.check = check, .see = see, .context = w, .computes = true};
    struct hc_train_options options = {
        .recipe = w->recipe, .epochs = 2, .batch = BATCH, .measure_every = 2};
    for (size_t i = 0; i < sizeof looked_at / sizeof looked_at[0]; i++)
        observed.reads[looked_at[i]] = true;
    if (!hc_restated_train(&observed, &w->net, STEPS / 2 * BATCH, 2, &options, &result))
        return;
    hc_claim_value(check, "steps", STEPS, w->step);
    hc_claim_true(check, "half of the steps and more were taken", w->compared >= STEPS / 2);
    hc_claim_true(check, "masters begin as the weights before their rounding",
                  w->unrounded > 0 || w->recipe->model == HC_FP32);
}

static const struct hc_case cases[] = {
    {"training/restated-steps-fp32",
     "whole steps of a training in fp32 do what its specification says, computed again in fp64 "
     "from the definitions",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb", .level = HC_STANDARD,
     .run = steps, .data = "fp32"},
    {"training/restated-steps-amp",
     "whole steps of a training under GradScaler do what its specification says, computed again in "
     "fp64 from the definitions",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb; pytorch 2.15.0 "
     "torch/amp/grad_scaler.py",
     .level = HC_STANDARD, .run = steps, .data = "amp"},
};

HC_CASES(training_restated_steps, cases);
