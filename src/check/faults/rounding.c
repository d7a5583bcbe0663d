/* Results that are rounded otherwise than the contract says: once too often, once too little,
   into too few bits, or with other random numbers. */
#include <math.h>
#include <stdlib.h>

#include "check/selftest/change.h"
#include "num/format.h"
#include "num/stochastic.h"

/* Results that are rounded once too often, or not as the contract says. */

static double product_first(const struct hc_call *call, int64_t i)
{
    enum hc_format format = call->out[HC_OUT].format;
    return hc_round(format, hc_in(call, HC_X, i) * hc_in(call, HC_Y, i)) + hc_in(call, HC_Z, i);
}

/* The reciprocal is rounded before it is multiplied with. */
static double by_reciprocal(const struct hc_call *call, int64_t i)
{
    return hc_in(call, HC_X, i) * hc_round(call->out[HC_OUT].format, 1 / hc_in(call, HC_Y, i));
}

/* x times 1/sqrt(x), as fast vector code has it. */
static double by_reciprocal_root(const struct hc_call *call, int64_t i)
{
    double x = hc_in(call, HC_X, i);
    double root = hc_round(call->out[HC_OUT].format, 1 / sqrt(x));
    return x > 0 && isfinite(root) && isfinite(x) ? x * root : sqrt(x);
}

static double exact_product(const struct hc_call *call, int64_t i)
{
    return hc_in(call, HC_X, i) * hc_in(call, HC_Y, i);
}

/* An elementwise op by another formula in fp64, in formats that are narrower. */
struct formula {
    double (*value)(const struct hc_call *call, int64_t i);
    enum hc_direction direction;
};

static enum hc_status by_formula(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct formula *formula = site->fault->data;
    struct hc_call kept = *call;
    const struct hc_tensor *out = &call->out[HC_OUT];
    uint64_t wrong[256];
    if (out->format == HC_FP64)
        return hc_right(site, call);
    int64_t n = hc_tensor_count(out);
    for (int64_t first = 0; first < n; first += 256) {
        int64_t length = n - first < 256 ? n - first : 256;
        for (int64_t i = 0; i < length; i++)
            wrong[i] =
                hc_encode(out->format, formula->value(&kept, first + i), 0, formula->direction);
        for (int64_t i = 0; i < length; i++)
            hc_tensor_set_bits(out, first + i, wrong[i]);
    }
    return HC_OK;
}

/* Defects of single roundings. They are within most bounds, but `exact` has other bits. */

static void not_fused(const struct hc_call *call)
{
    float alpha = (float)call->params.axpy.alpha;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_OUT]); i++) {
        float product = alpha * (float)hc_in(call, HC_X, i);
        hc_give(call, HC_OUT, i, (double)(product + (float)hc_in(call, HC_Y, i)));
    }
}

/* The velocity as a compiler would contract it, of SGD in fp32 without decay in the gradient. The
   inputs are as they were before, also where the sound kernel has written over them. */
static void contracted(const struct hc_call *call)
{
    const struct hc_sgd *p = &call->params.sgd;
    if (p->arithmetic != HC_FP32 || !p->decoupled || hc_is_set(&call->in[HC_SGD_FOUND_INF]))
        return;
    float beta1 = (float)hc_in(call, HC_SGD_HYPER, HC_HYPER_BETA1);
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_SGD_NEW_MOMENTUM]); i++)
        hc_give(call, HC_SGD_NEW_MOMENTUM, i,
                (double)fmaf(beta1, (float)hc_in(call, HC_SGD_MOMENTUM, i),
                             (float)hc_in(call, HC_SGD_G, i)));
}

static void flushed(const struct hc_call *call)
{
    for (int o = 0; o < 3; o++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[o]); i++)
            if (fabs(hc_out(call, o, i)) < 0x1p-126)
                hc_give(call, o, i, 0);
}

/* The means have nine digits, more than fp32 holds. */
static void single_pixels(struct hc_call *call)
{
    for (int c = 0; c < 3; c++)
        call->params.augment.mean[c] = (double)(float)call->params.augment.mean[c];
}

/* The last element of a vector loop is computed otherwise. */
static void last_one(const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_LEAKY_Y];
    int64_t last = hc_tensor_count(out) - 1;
    if (last % 16 == 2)
        hc_tensor_set_bits(out, last, hc_tensor_bits(out, last) ^ 1);
}

/* Numbers in a format that is too small for them: a count, a label, a probability, a decay close to
   1, a moment, a square. Reports of such bugs are the cases field/; here each is planted into the
   component that has the number, and the component's own cases must catch it. */

static double rounded(enum hc_format format, double x)
{
    return hc_decode(format, hc_encode(format, x, 0, HC_NEAREST));
}

/* A label through the format, but still a class. */
static uint64_t label_through(const struct hc_changed_element *e, uint64_t bits,
                              enum hc_format format)
{
    double last = (double)e->call->in[HC_XENT_LOGITS].shape[1] - 1;
    double label = rounded(format, hc_decode(e->format, bits));
    return hc_encode(e->format, fmin(label, last), 0, HC_NEAREST);
}

static uint64_t label_in_half(const struct hc_changed_element *e, uint64_t bits)
{
    return label_through(e, bits, HC_FP16);
}

static uint64_t label_in_bf16(const struct hc_changed_element *e, uint64_t bits)
{
    return label_through(e, bits, HC_BF16);
}

static bool is_of_the_label(const struct hc_changed_element *e)
{
    int64_t classes = e->call->in[HC_XENT_LOGITS].shape[1];
    return (double)(e->i % classes) == hc_tensor_get(&e->call->in[HC_XENT_LABELS], e->i / classes);
}

/* What a mask sets to -infinity. */
static uint64_t minus_1e4(const struct hc_changed_element *e, uint64_t bits)
{
    bool masked = hc_decode(e->format, bits) == -(double)INFINITY;
    return masked ? hc_encode(e->format, -1e4, 0, HC_NEAREST) : bits;
}

/* The loss is divided by the number of rows as half holds it. */
static void rows_in_half(const struct hc_call *call)
{
    double n = (double)call->in[HC_XENT_LOGITS].shape[0];
    const struct hc_tensor *loss = &call->out[HC_XENT_LOSS];
    if (!call->params.xent.sum)
        hc_tensor_set(loss, 0, hc_tensor_get(loss, 0) * (n / rounded(HC_FP16, n)));
}

/* The loss is the logarithm of a probability, which half holds. */
static void log_of_half(const struct hc_call *call)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    int64_t classes = z->shape[1];
    double loss = 0;
    for (int64_t row = 0; row < z->shape[0]; row++) {
        double largest = -(double)INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < classes; j++)
            largest = fmax(largest, hc_tensor_get(z, row * classes + j));
        for (int64_t j = 0; j < classes; j++)
            sum += exp(hc_tensor_get(z, row * classes + j) - largest);
        int64_t label = (int64_t)hc_in(call, HC_XENT_LABELS, row);
        double p = exp(hc_tensor_get(z, row * classes + label) - largest) / sum;
        loss -= log(rounded(HC_FP16, p));
    }
    hc_give(call, HC_XENT_LOSS, 0, call->params.xent.sum ? loss : loss / (double)z->shape[0]);
}

/* How many rows are right is counted on logits in bf16, where neighbours are equal. */
static enum hc_status right_in_bf16(const struct hc_fault_site *site, const struct hc_call *call)
{
    struct hc_call narrow = *call;
    struct hc_tensor *z = &narrow.in[HC_XENT_LOGITS];
    double loss;
    z->data = hc_fault_copy(z);
    for (int64_t i = 0; i < hc_tensor_count(z); i++)
        hc_tensor_set(z, i, rounded(HC_BF16, hc_tensor_get(z, i)));
    narrow.out[HC_XENT_LOSS].data = &loss;
    enum hc_status status = hc_right(site, call);
    if (status == HC_OK && call->out[HC_XENT_CORRECT].data)
        status = hc_right(site, &narrow);
    free(z->data);
    return status;
}

/* The factor M / (M - 1) of the running variance is made of two numbers in half. */
static void count_in_half(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    double m = (double)hc_tensor_count(x) / fmax((double)x->shape[3], 1);
    double factor = rounded(HC_FP16, m) / rounded(HC_FP16, m - 1) * (m - 1) / m;
    for (int64_t c = 0; m > 1 && c < hc_tensor_count(&call->out[HC_BN_NEW_VARIANCE]); c++) {
        double kept = (1 - call->params.bn.momentum) * hc_in(call, HC_BN_VARIANCE, c);
        hc_give(call, HC_BN_NEW_VARIANCE, c,
                kept + (hc_out(call, HC_BN_NEW_VARIANCE, c) - kept) * factor);
    }
}

/* The saved 1 / deviation of squares in half, where 256 squared is infinite. */
static void variance_in_half(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    int64_t channels = x->shape[3];
    int64_t n = hc_tensor_count(x);
    for (int64_t c = 0; c < channels; c++) {
        double mean = hc_out(call, HC_BN_SAVED_MEAN, c);
        double sum = 0;
        for (int64_t i = c; i < n; i += channels) {
            double d = hc_tensor_get(x, i) - mean;
            sum += rounded(HC_FP16, d * d);
        }
        double variance = sum / ((double)n / (double)channels);
        hc_give(call, HC_BN_SAVED_INVSTD, c, 1 / sqrt(variance + call->params.bn.eps));
    }
}

/* Normalised data are rounded into the result's format before they meet the gain. */
static void rounded_before_gain(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    int64_t channels = x->shape[3];
    for (int64_t i = 0; i < hc_tensor_count(y); i++) {
        int64_t c = i % channels;
        double d = hc_tensor_get(x, i) - hc_out(call, HC_BN_SAVED_MEAN, c);
        double normal = rounded(y->format, d * hc_out(call, HC_BN_SAVED_INVSTD, c));
        hc_tensor_set(y, i, normal * hc_in(call, HC_BN_GAMMA, c) + hc_in(call, HC_BN_BETA, c));
    }
}

static void beta2_in_bf16(struct hc_call *call)
{
    call->params.adam.beta2 = rounded(HC_BF16, call->params.adam.beta2);
}

/* Defects of stochastic rounding and of compensated weights. */

/* SGD uses its count of steps for random numbers only. */
static void same_each_step(struct hc_call *call)
{
    hc_tensor_set(&call->in[HC_SGD_HYPER], HC_HYPER_STEP, 1);
}

static struct hc_tensor element(const struct hc_tensor *t, int64_t i)
{
    unsigned char *data = t->data;
    return hc_tensor1(t->format, 1, data + i * hc_formats[t->format].bytes);
}

/* Each element rounds as the first does. */
static enum hc_status same_each_element(const struct hc_fault_site *site,
                                        const struct hc_call *call)
{
    enum hc_status status = HC_OK;
    if (!call->params.sgd.stochastic.on)
        return hc_right(site, call);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_SGD_W]) && status == HC_OK; i++) {
        struct hc_call one = *call;
        for (int k = 0; k < 3; k++)
            one.in[k] = element(&call->in[k], i);
        for (int k = 0; k < 2; k++)
            one.out[k] = element(&call->out[k], i);
        status = hc_right(site, &one);
    }
    return status;
}

/* Adds 1 to 65536 instead of 0 to 65535, or random numbers of `number` bits. */
static enum hc_status other_random(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_stochastic *s = &call->params.sgd.stochastic;
    int64_t n = hc_tensor_count(&call->in[HC_SGD_W]);
    struct hc_call wide = *call;
    if (!s->on)
        return hc_right(site, call);
    float *w = malloc(((size_t)n + 1) * sizeof *w);
    if (!w)
        return hc_fail(HC_NO_MEMORY, "no memory for a fault's weights");
    for (int64_t i = 0; i < n; i++)
        w[i] = (float)hc_in(call, HC_SGD_W, i);
    wide.in[HC_SGD_W] = wide.out[HC_SGD_NEW_W] = hc_tensor1(HC_FP32, n, w);
    wide.params.sgd.stochastic.on = false;
    uint32_t t = (uint32_t)hc_in(call, HC_SGD_HYPER, HC_HYPER_STEP);
    enum hc_status status = hc_right(site, &wide);
    int bits = (int)site->fault->number;
    for (int64_t i = 0; i < n && status == HC_OK; i++) {
        uint32_t random = hc_round_random(s->seed, t, (uint64_t)(s->first + i));
        random = bits ? random >> (16 - bits) << (16 - bits) : random + 1;
        hc_tensor_set_bits(&call->out[HC_SGD_NEW_W], i, hc_bf16_stochastic(w[i], random));
    }
    free(w);
    return status;
}

/* A skipped step negates the compensation. */
static void moves(const struct hc_call *call)
{
    bool skipped = hc_is_set(&call->in[HC_ADAM_FOUND_INF]);
    const struct hc_tensor *c = &call->out[HC_ADAM_NEW_COMPENSATION];
    for (int64_t i = 0; skipped && c->data && i < hc_tensor_count(c); i++)
        hc_tensor_set(c, i, -hc_tensor_get(c, i));
}

static const struct hc_fault faults[] = {
#include "check/faults/rounding.def"
};

HC_FAULTS(rounding, faults);
