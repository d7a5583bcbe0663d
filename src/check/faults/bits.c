/* Defects of single roundings. They are within most bounds, but `exact` has other bits. */
#include "check/selftest/change.h"

#include <math.h>

static enum hc_status not_fused(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    float alpha = (float)call->params.axpy.alpha;
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(&call->out[HC_OUT]); i++) {
        float product = alpha * (float)hc_tensor_get(&call->in[HC_X], i);
        hc_tensor_set(&call->out[HC_OUT], i,
                      (double)(product + (float)hc_tensor_get(&call->in[HC_Y], i)));
    }
    return status;
}

/* The velocity as a compiler would contract it, of SGD in fp32 without decay in the gradient. */
static enum hc_status contracted(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    const struct hc_sgd *p = &call->params.sgd;
    float beta1 = (float)hc_tensor_get(&call->in[HC_SGD_HYPER], HC_HYPER_BETA1);
    enum hc_status status = site->right(queue, call);
    if (p->arithmetic != HC_FP32 || !p->decoupled || hc_is_set(&call->in[HC_SGD_FOUND_INF]))
        return status;
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(&call->out[HC_SGD_NEW_MOMENTUM]);
         i++)
        hc_tensor_set(&call->out[HC_SGD_NEW_MOMENTUM], i,
                      (double)fmaf(beta1, (float)hc_tensor_get(&call->in[HC_SGD_MOMENTUM], i),
                                   (float)hc_tensor_get(&call->in[HC_SGD_G], i)));
    return status;
}

static enum hc_status flushed(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    for (int o = 0; status == HC_OK && o < 3; o++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[o]); i++)
            if (fabs(hc_tensor_get(&call->out[o], i)) < 0x1p-126)
                hc_tensor_set(&call->out[o], i, 0);
    return status;
}

static void by_reciprocal(struct hc_call *call, double number)
{
    (void)number;
    call->params.unscale.reciprocal = true;
}

/* The means have nine digits, more than fp32 holds. */
static void single_pixels(struct hc_call *call, double number)
{
    (void)number;
    for (int c = 0; c < 3; c++)
        call->params.augment.mean[c] = (double)(float)call->params.augment.mean[c];
}

/* The last element of a vector loop is computed otherwise. */
static enum hc_status last_one(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *out = &call->out[HC_LEAKY_Y];
    int64_t last = hc_tensor_count(out) - 1;
    if (status == HC_OK && last % 16 == 2)
        hc_tensor_set_bits(out, last, hc_tensor_bits(out, last) ^ 1);
    return status;
}

static const struct hc_fault faults[] = {
    {"axpy-not-fused", "axpy rounds its product", HC_FAULT_ROUNDING, "axpy", "bits/axpy/*",
     .wrong = not_fused},
    {"sgd-contracted", "SGD does not round momentum times velocity", HC_FAULT_ROUNDING, "sgd",
     "bits/sgd/*", .wrong = contracted},
    {"adamw-flushes", "AdamW's subnormal results become 0", HC_FAULT_SPECIALS, "adamw",
     "bits/adamw/*", .wrong = flushed},
    {"unscale-by-reciprocal", "unscale multiplies where it should divide", HC_FAULT_ROUNDING,
     "unscale", "bits/unscale/*", .change = by_reciprocal},
    {"leaky-last-element", "leaky ReLU is off in the last bit at the end of a vector",
     HC_FAULT_TAIL, "leaky_relu", "bits/leaky_relu/*", .wrong = last_one},
    {"scale-grows-late", "the loss scale grows one step late", HC_FAULT_SCALER, "scaler_update",
     "bits/scaler_update", .like = "scaler-grows-late"},
    {"pixel-means-in-single", "the means subtracted from pixels are rounded into fp32 first",
     HC_FAULT_ROUNDING, "augment", "bits/augment", .change = single_pixels},
};

HC_FAULTS(bits, faults);
