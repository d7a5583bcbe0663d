/* Defects of the components of mixed precision: an epsilon, a loss scale, a master's copy, a decay,
   batch norm with leaky ReLU, running statistics. */
#include <math.h>
#include <stdlib.h>

#include "check/selftest/change.h"
#include "num/format.h"

static void eps_in_half(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.eps = hc_round(HC_FP16, call->params.adam.eps);
}

static void eps_inside(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.eps_inside = true;
}

/* Too little for fp32 to show. */
static void beta2_off(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.beta2 *= 1 + 0x1p-40;
}

static enum hc_status never_found(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    double before =
        call->in[HC_UNSCALE_FOUND_INF].data ? hc_tensor_get(&call->in[HC_UNSCALE_FOUND_INF], 0) : 0;
    enum hc_status status = site->right(queue, call);
    hc_tensor_set(&call->out[HC_UNSCALE_NEW_FOUND_INF], 0, before);
    return status;
}

static enum hc_status truncated(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_MODEL_COPY];
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(out); i++)
        hc_tensor_set_bits(out, i,
                           hc_encode(out->format, hc_tensor_get(&call->in[HC_MODEL_MASTER], i), 0,
                                     HC_TOWARD_ZERO));
    return status;
}

static enum hc_status decay_in_gradient(const struct hc_fault_site *site, struct hc_queue *queue,
                                        const struct hc_call *call)
{
    struct hc_call bad = *call;
    const struct hc_tensor *w = &call->in[HC_ADAM_W];
    bad.params.adam.weight_decay = 0;
    bad.in[HC_ADAM_G].data = hc_fault_copy(&call->in[HC_ADAM_G]);
    for (int64_t i = 0; i < hc_tensor_count(w); i++)
        hc_tensor_set(&bad.in[HC_ADAM_G], i,
                      hc_tensor_get(&call->in[HC_ADAM_G], i) +
                          call->params.adam.weight_decay * hc_tensor_get(w, i));
    enum hc_status status = site->right(queue, &bad);
    free(bad.in[HC_ADAM_G].data);
    return status;
}

static void momentum_swapped(struct hc_call *call, double number)
{
    (void)number;
    call->params.bn.momentum = 1 - call->params.bn.momentum;
}

static enum hc_status statistics_in_half(const struct hc_fault_site *site, struct hc_queue *queue,
                                         const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    for (int slot = HC_BN_NEW_MEAN; slot <= HC_BN_NEW_VARIANCE && status == HC_OK; slot++)
        for (int64_t c = 0; c < hc_tensor_count(&call->out[slot]); c++)
            hc_tensor_set(&call->out[slot], c,
                          hc_round(HC_FP16, hc_tensor_get(&call->out[slot], c)));
    return status;
}

/* The op writes into an fp32 tensor, which is rounded afterwards. */
static enum hc_status slope_first(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    struct hc_call bad = *call;
    struct hc_tensor *wide = &bad.out[HC_BN_Y];
    wide->format = HC_FP32;
    wide->data = malloc(hc_tensor_bytes(wide) + 1);
    if (!wide->data)
        return hc_fail(HC_NO_MEMORY, "no memory for a fault's tensor");
    enum hc_status status = site->right(queue, &bad);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(y); i++)
        hc_tensor_set(y, i, hc_tensor_get(wide, i));
    free(wide->data);
    return status;
}

static void sign_of_x(struct hc_call *call, double number)
{
    (void)number;
    call->in[HC_BN_LEAKY_BWD_Y] = call->in[HC_BN_LEAKY_BWD_X];
}

static void slope_forgotten(struct hc_call *call, double number)
{
    (void)number;
    call->params.bn.slope = 1;
}

static void rate_outside(struct hc_call *call, double number)
{
    (void)number;
    call->params.sgd.rate_inside = false;
}

static enum hc_status scale_in_half(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    struct hc_call bad = *call;
    float s = (float)hc_round(HC_FP16, hc_tensor_get(&call->in[HC_UNSCALE_SCALE], 0));
    bad.in[HC_UNSCALE_SCALE] = hc_tensor1(HC_FP32, 1, &s);
    return site->right(queue, &bad);
}

static const struct hc_fault faults[] = {
    {"eps-in-half", "Adam's epsilon is rounded to half", HC_FAULT_ROUNDING, "adam", "eps/*",
     .change = eps_in_half},
    {"eps-inside-the-root", "Adam adds epsilon inside the square root", HC_FAULT_FORMULA, "adam",
     "eps/*", .change = eps_inside},
    {"beta2-in-40-bits", "Adam's beta2 has a relative error of 2^-40", HC_FAULT_PARAMETER, "adam",
     "op/adam/fp64/*", .change = beta2_off},
    {"scale-flushes-subnormals", "scaled gradients that are subnormal become 0", HC_FAULT_SPECIALS,
     "scale", "underflow/*",
     .outputs = &(const struct hc_change){hc_everywhere, hc_flushed, 0, HC_SCALE_OUT}},
    {"unscale-finds-nothing", "unscale overlooks infinities and NaNs", HC_FAULT_SPECIALS, "unscale",
     "underflow/*", .wrong = never_found},
    {"master-truncated", "masters are truncated, not rounded, into the model's copy",
     HC_FAULT_ROUNDING, "master_to_model", "master/*", .wrong = truncated},
    {"decay-forgotten", "AdamW does not decay", HC_FAULT_PARAMETER, "adamw", "decay/*",
     .like = "adam-decay-forgotten"},
    {"decay-in-the-gradient", "AdamW adds its decay to the gradient", HC_FAULT_FORMULA, "adamw",
     "decay/*", .wrong = decay_in_gradient},
    {"running-momentum-swapped", "running statistics use 1 - momentum as momentum",
     HC_FAULT_PARAMETER, "bn_train", "batchnorm/*", .change = momentum_swapped},
    {"running-statistics-in-half", "running statistics are rounded to half at every step",
     HC_FAULT_ROUNDING, "bn_train", "batchnorm/*", .wrong = statistics_in_half},
    {"leaky-before-the-rounding", "leaky ReLU takes batch norm's result before it is rounded",
     HC_FAULT_ROUNDING, "bn_leaky_infer", "batchnorm/*", .wrong = slope_first},
    {"leaky-by-the-sign-of-x", "the gradient of leaky ReLU goes by the sign of x, not of y",
     HC_FAULT_FORMULA, "bn_leaky_bwd", "batchnorm/*", .change = sign_of_x},
    {"leaky-slope-forgotten", "the gradient of leaky ReLU is dy everywhere", HC_FAULT_PARAMETER,
     "bn_leaky_bwd", "op/bn_leaky_bwd/*", .change = slope_forgotten},
    {"sgd-ignores-found", "SGD steps on infinities and NaNs", HC_FAULT_SKIP, "sgd", "order/*",
     .change = hc_take_for_absent, .number = HC_SGD_FOUND_INF},
    {"sgd-rate-outside", "the velocity sums plain gradients where it should include the rate",
     HC_FAULT_FORMULA, "sgd", "underflow/*", .change = rate_outside},
    {"unscale-by-a-half", "unscale rounds its scale to half, where 65536 is infinite",
     HC_FAULT_ROUNDING, "unscale", "order/*", .wrong = scale_in_half},
};

HC_FAULTS(components, faults);
