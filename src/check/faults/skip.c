/* Defects of a skipped step: it moves what it must not. */
#include "check/selftest/change.h"

#include <math.h>
#include <string.h>

/* The decay comes before the optimizer checks for overflow. */
static enum hc_status decays_anyway(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    const struct hc_tensor *w = &call->out[HC_ADAM_NEW_W];
    double factor =
        1 - hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_LR) * call->params.adam.weight_decay;
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0;
         status == HC_OK && hc_is_set(&call->in[HC_ADAM_FOUND_INF]) && i < hc_tensor_count(w); i++)
        hc_tensor_set(w, i, hc_tensor_get(w, i) * factor);
    return status;
}

/* Infinite and NaN gradients are treated as 0, and the optimizer runs. */
static enum hc_status momentum_moves(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    const struct hc_tensor *m = &call->out[HC_ADAM_NEW_M];
    double beta1 = hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_BETA1);
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0;
         status == HC_OK && hc_is_set(&call->in[HC_ADAM_FOUND_INF]) && i < hc_tensor_count(m); i++)
        hc_tensor_set(m, i, hc_tensor_get(m, i) * beta1);
    return status;
}

static void counts_t(struct hc_call *call, double number)
{
    (void)number;
    call->params.scaler.skip_on_overflow = false;
}

static enum hc_status statistics_stay(const struct hc_fault_site *site, struct hc_queue *queue,
                                      const struct hc_call *call)
{
    float was[2][256];
    size_t bytes = hc_tensor_bytes(&call->in[HC_BN_MEAN]);
    bool small = bytes <= sizeof was[0];
    for (int k = 0; k < 2 && small; k++)
        memcpy(was[k], call->in[HC_BN_MEAN + k].data, bytes);
    enum hc_status status = site->right(queue, call);
    for (int k = 0; k < 2 && small && status == HC_OK; k++)
        memcpy(call->out[HC_BN_NEW_MEAN + k].data, was[k], bytes);
    return status;
}

/* Zeros are not written, so that the masters' gradients stay. */
static enum hc_status keeps_gradients(const struct hc_fault_site *site, struct hc_queue *queue,
                                      const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_X];
    bool zeros = x->format == HC_FP32 && call->out[HC_OUT].format == HC_FP32;
    for (int64_t i = 0; zeros && i < hc_tensor_count(x); i++)
        zeros = hc_tensor_bits(x, i) == 0;
    return zeros ? HC_OK : site->right(queue, call);
}

/* Without a gradient no weight moves, whatever the momentum. */
static enum hc_status stands(const struct hc_fault_site *site, struct hc_queue *queue,
                             const struct hc_call *call)
{
    struct hc_call bad = *call;
    const struct hc_tensor *told = &call->in[HC_ADAM_HYPER];
    float hyper[HC_HYPER_COUNT] = {[HC_HYPER_BETA1] = (float)hc_tensor_get(told, HC_HYPER_BETA1),
                                   [HC_HYPER_STEP] = (float)hc_tensor_get(told, HC_HYPER_STEP)};
    bool still = true;
    for (int64_t i = 0; still && i < hc_tensor_count(&call->in[HC_ADAM_G]); i++)
        still = hc_tensor_get(&call->in[HC_ADAM_G], i) == 0;
    if (still)
        bad.in[HC_ADAM_HYPER] = hc_tensor1(HC_FP32, HC_HYPER_COUNT, hyper);
    return site->right(queue, &bad);
}

/* One infinite or NaN gradient makes all momenta NaN. */
static enum hc_status spreads(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    const struct hc_tensor *m = &call->out[HC_ADAM_NEW_M];
    enum hc_status status = site->right(queue, call);
    bool lost = false;
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(m); i++)
        lost = lost || !isfinite(hc_tensor_get(m, i));
    for (int64_t i = 0; status == HC_OK && lost && i < hc_tensor_count(m); i++)
        hc_tensor_set(m, i, (double)NAN);
    return status;
}

/* Statistics that became infinite or NaN are set to 0. */
static enum hc_status cleans_statistics(const struct hc_fault_site *site, struct hc_queue *queue,
                                        const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    for (int k = HC_BN_NEW_MEAN; k <= HC_BN_NEW_VARIANCE && status == HC_OK; k++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[k]); i++)
            if (!isfinite(hc_tensor_get(&call->out[k], i)))
                hc_tensor_set(&call->out[k], i, 0);
    return status;
}

/* Infinite and NaN gradients are set to 0 on their way back. */
static enum hc_status drops(const struct hc_fault_site *site, struct hc_queue *queue,
                            const struct hc_call *call)
{
    const struct hc_tensor *dy = &call->in[HC_BN_LEAKY_BWD_DY];
    for (int64_t i = 0; i < hc_tensor_count(dy); i++)
        if (!isfinite(hc_tensor_get(dy, i)))
            hc_tensor_set(dy, i, 0);
    return site->right(queue, call);
}

static const struct hc_fault faults[] = {
    {"skip-decays", "a skipped step decays the weights", HC_FAULT_SKIP, "adamw", "skip/*",
     .wrong = decays_anyway},
    {"skip-moves-momentum", "a skipped step decays the momentum", HC_FAULT_SKIP, "adamw", "skip/*",
     .wrong = momentum_moves},
    {"skip-counts-t", "a skipped step is counted in Adam's t", HC_FAULT_SKIP, "scaler_update",
     "skip/*", .change = counts_t},
    {"skip-forgets", "only the last gradient's infinities skip the step", HC_FAULT_SKIP, "unscale",
     "skip/*", .change = hc_take_for_absent, .number = HC_UNSCALE_FOUND_INF},
    {"skip-copies", "fastai's overflowed gradients are copied to the masters", HC_FAULT_SKIP,
     "unscale", "skip/*", .change = hc_take_for_absent, .number = HC_UNSCALE_OVERRIDE},
    {"skip-holds-statistics", "running statistics do not move", HC_FAULT_SKIP, "bn_leaky_train",
     "skip/*", .wrong = statistics_stay},
    {"skip-cleans-statistics", "running statistics that an infinity reached become 0",
     HC_FAULT_SKIP, "bn_leaky_train", "skip/*", .wrong = cleans_statistics},
    {"skip-keeps-gradients", "fastai's masters keep the gradients of the step before",
     HC_FAULT_SKIP, "cast", "skip/*", .wrong = keeps_gradients},
    {"skip-stands", "fastai's step on zeros moves momenta, but no weight", HC_FAULT_SKIP, "adamw",
     "skip/*", .wrong = stands},
    {"skip-drops", "a gradient that comes back infinite is taken as 0", HC_FAULT_SKIP,
     "bn_leaky_bwd", "skip/*", .wrong = drops},
    {"poison-spreads", "without overflow checks one infinity spreads to all momenta", HC_FAULT_SKIP,
     "adamw", "skip/*", .wrong = spreads},
};

HC_FAULTS(skip, faults);
