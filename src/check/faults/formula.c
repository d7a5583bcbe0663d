/* Terms of a formula that are missing, misplaced or added. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"
#include "num/format.h"

static double element(const struct hc_tensor *t, int64_t i)
{
    return hc_tensor_get(t, i);
}

/* The call with a copy of input `slot` in which element i is old element from(i). */
static enum hc_status rearranged(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call, int slot,
                                 int64_t (*from)(const struct hc_tensor *t, int64_t i))
{
    struct hc_call bad = *call;
    const struct hc_tensor *t = &call->in[slot];
    bad.in[slot].data = hc_fault_copy(t);
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set_bits(&bad.in[slot], i, hc_tensor_bits(t, from(t, i)));
    enum hc_status status = site->right(queue, &bad);
    free(bad.in[slot].data);
    return status;
}

/* [K, R, S, C] turned by half a circle: a convolution in the mathematical sense. */
static int64_t turned(const struct hc_tensor *w, int64_t i)
{
    int64_t c = i % w->shape[3];
    int64_t place = i / w->shape[3];
    int64_t area = w->shape[1] * w->shape[2];
    return (place / area * area + area - 1 - place % area) * w->shape[3] + c;
}

static enum hc_status turned_filter(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    return rearranged(site, queue, call, HC_CONV_SECOND, turned);
}

/* Each row of pixels is the one above it, the first one stays. */
static int64_t row_above(const struct hc_tensor *x, int64_t i)
{
    int64_t row = x->shape[2] * x->shape[3];
    return i / row % x->shape[1] > 0 ? i - row : i;
}

static enum hc_status padded_above(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    if (call->params.conv.pad == 0)
        return site->right(queue, call);
    return rearranged(site, queue, call, HC_CONV_FIRST, row_above);
}

/* The running variance takes the biased variance of the batch. */
static enum hc_status biased_variance(const struct hc_fault_site *site, struct hc_queue *queue,
                                      const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    double m = (double)hc_tensor_count(x) / fmax((double)x->shape[3], 1);
    void *was = hc_fault_copy(&call->in[HC_BN_VARIANCE]);
    struct hc_tensor before = call->in[HC_BN_VARIANCE];
    before.data = was;
    enum hc_status status = site->right(queue, call);
    for (int64_t c = 0;
         status == HC_OK && m > 1 && c < hc_tensor_count(&call->out[HC_BN_NEW_VARIANCE]); c++) {
        double kept = (1 - call->params.bn.momentum) * element(&before, c);
        double batch = element(&call->out[HC_BN_NEW_VARIANCE], c) - kept;
        hc_tensor_set(&call->out[HC_BN_NEW_VARIANCE], c, kept + batch * (m - 1) / m);
    }
    free(was);
    return status;
}

/* exp(z) without subtracting the largest logit. */
static enum hc_status plain_exponentials(const struct hc_fault_site *site, struct hc_queue *queue,
                                         const struct hc_call *call)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    double loss = 0;
    enum hc_status status = site->right(queue, call);
    for (int64_t row = 0; row < z->shape[0]; row++) {
        double sum = 0;
        for (int64_t j = 0; j < z->shape[1]; j++)
            sum =
                hc_round(HC_FP32, sum + hc_round(HC_FP32, exp(element(z, row * z->shape[1] + j))));
        int64_t label = (int64_t)element(&call->in[HC_XENT_LABELS], row);
        loss += log(sum) - element(z, row * z->shape[1] + label);
    }
    if (status == HC_OK && z->format != HC_FP64)
        hc_tensor_set(&call->out[HC_XENT_LOSS], 0,
                      call->params.xent.sum ? loss : loss / (double)z->shape[0]);
    return status;
}

/* Every output times a number. */
static enum hc_status times(const struct hc_fault_site *site, struct hc_queue *queue,
                            const struct hc_call *call)
{
    double factor = site->fault->number;
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(&call->out[HC_FIRST]); i++)
        hc_tensor_set(&call->out[HC_FIRST], i, element(&call->out[HC_FIRST], i) * factor);
    return status;
}

/* The mean over a batch of N rows, and its gradient, is taken over N + 1. */
static enum hc_status over_one_more(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    double n = (double)call->in[HC_FIRST].shape[0];
    enum hc_status status = site->right(queue, call);
    bool mean = !call->params.xent.sum;
    for (int64_t i = 0; status == HC_OK && mean && i < hc_tensor_count(&call->out[HC_FIRST]); i++)
        hc_tensor_set(&call->out[HC_FIRST], i, element(&call->out[HC_FIRST], i) * n / (n + 1));
    return status;
}

/* The upstream gradient, which holds the loss scale, is taken to be 1. */
static enum hc_status without_upstream(const struct hc_fault_site *site, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    double one[1];
    struct hc_call bad = *call;
    bad.in[HC_XENT_UPSTREAM].data = one;
    hc_tensor_set(&bad.in[HC_XENT_UPSTREAM], 0, 1);
    return site->right(queue, &bad);
}

/* The optimizer gets another count of steps. */
struct steps {
    double factor;
    double more;
};

static enum hc_status other_steps(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    const struct steps *steps = site->fault->data;
    struct hc_call bad = *call;
    struct hc_tensor *hyper = &bad.in[hc_optimizer_slots(call->op)->hyper];
    hyper->data = hc_fault_copy(hyper);
    double t = element(hyper, HC_HYPER_STEP);
    hc_tensor_set(hyper, HC_HYPER_STEP, fmax(t * steps->factor + steps->more, 1));
    enum hc_status status = site->right(queue, &bad);
    free(hyper->data);
    return status;
}

/* The decay is not multiplied by the rate. */
static void decay_without_rate(struct hc_call *call, double number)
{
    (void)number;
    double rate = element(&call->in[HC_ADAM_HYPER], HC_HYPER_LR);
    if (rate > 0)
        call->params.adam.weight_decay /= rate;
}

/* The slope does not apply at 0: x < 0 is tested instead of x > 0. */
static enum hc_status gradient_at_zero(const struct hc_fault_site *site, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    int64_t n = hc_tensor_count(&call->in[HC_LEAKY_BWD_Y]);
    struct hc_tensor y = call->in[HC_LEAKY_BWD_Y];
    struct hc_tensor dy = call->in[HC_LEAKY_BWD_DY];
    y.data = hc_fault_copy(&call->in[HC_LEAKY_BWD_Y]);
    dy.data = hc_fault_copy(&call->in[HC_LEAKY_BWD_DY]);
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; status == HC_OK && i < n; i++)
        if (element(&y, i) == 0)
            hc_tensor_set(&call->out[HC_LEAKY_BWD_DX], i, element(&dy, i));
    free(y.data);
    free(dy.data);
    return status;
}

/* The detector sees NaNs alone with `number`, and without it infinities alone. */
static enum hc_status sees_one_kind(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    bool nans = site->fault->number != 0;
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++) {
        double x = element(&call->in[HC_UNSCALE_X], i);
        found = found || (nans ? isnan(x) : isinf(x));
    }
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_UNSCALE_NEW_FOUND_INF], 0, found);
    return status;
}

/* The detector checks the quotients. */
static enum hc_status looks_after(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_UNSCALE_OUT]); i++)
        found = found || !isfinite(element(&call->out[HC_UNSCALE_OUT], i));
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_UNSCALE_NEW_FOUND_INF], 0, found);
    return status;
}

/* A NaN flag is treated as 0. */
static void nan_is_not_found(struct hc_call *call, double number)
{
    (void)number;
    if (call->in[HC_SCALER_FOUND_INF].data && isnan(element(&call->in[HC_SCALER_FOUND_INF], 0)))
        call->in[HC_SCALER_FOUND_INF] = hc_tensor1(HC_FP32, 0, NULL);
}

static const struct hc_fault faults[] = {
    {"conv-turned-filter", "a convolution rotates its filter by half a turn", HC_FAULT_FORMULA,
     "conv2d conv2d_bwd_data", "op/conv2d/* op/conv2d_bwd_data/*", .wrong = turned_filter},
    {"conv-padded-above", "a convolution pads twice above and not below", HC_FAULT_FORMULA,
     "conv2d conv2d_bwd_filter", "op/conv2d/* op/conv2d_bwd_filter/*", .wrong = padded_above,
     .place = HC_PLACE_HOST},
    {"conv-off-by-a-tenth-percent", "a convolution's filter gradient has a relative error of 2^-9",
     HC_FAULT_FORMULA, "conv2d_bwd_filter", "op/conv2d_bwd_filter/fp32/*", .wrong = times,
     .number = 1 - 0x1p-9},
    {"norm-biased-variance", "the running variance lacks the factor M / (M - 1)", HC_FAULT_FORMULA,
     "bn_train bn_leaky_train", "op/bn_train/* op/bn_leaky_train/*", .wrong = biased_variance},
    {"loss-plain-exponentials", "the loss does not subtract the largest logit from the others",
     HC_FAULT_FORMULA, "xent", "op/xent/*", .wrong = plain_exponentials, .place = HC_PLACE_HOST},
    {"loss-over-one-more", "the loss's mean is over one row too many", HC_FAULT_FORMULA,
     "xent xent_bwd", "op/xent/* op/xent_bwd/*", .wrong = over_one_more, .place = HC_PLACE_HOST},
    {"loss-gradient-unscaled", "the gradient of the loss is not multiplied with the loss scale",
     HC_FAULT_FORMULA, "xent_bwd", "op/xent_bwd/*", .wrong = without_upstream},
    {"pool-of-three", "a mean over a window is a third of it", HC_FAULT_FORMULA, "avg_pool",
     "op/avg_pool/*", .wrong = times, .number = 1.0 / 3, .place = HC_PLACE_HOST},
    {"pool-gradient-of-three", "the gradient of a mean is a third of it", HC_FAULT_FORMULA,
     "avg_pool_bwd", "op/avg_pool_bwd/*", .wrong = times, .number = 1.0 / 3},
    {"squares-off", "a sum of squares has a relative error of 2^-16", HC_FAULT_FORMULA,
     "sum_squares", "op/sum_squares/*", .wrong = times, .number = 1 + 0x1p-16,
     .place = HC_PLACE_HOST},
    {"adam-no-bias-correction", "Adam does not correct its moments' bias", HC_FAULT_FORMULA,
     "adam adamw", "op/adam/* bits/adamw/*", .wrong = other_steps,
     .data = &(const struct steps){0, 1e6}},
    {"adam-step-before", "Adam corrects its bias by the step before", HC_FAULT_FORMULA, "adam",
     "op/adam/* bits/adam/*", .wrong = other_steps, .data = &(const struct steps){1, -1},
     .place = HC_PLACE_HOST},
    {"adamw-decay-without-rate", "AdamW's decay is not multiplied with the rate", HC_FAULT_FORMULA,
     "adamw", "op/adamw/* bits/adamw/* decay/*", .change = decay_without_rate},
    {"leaky-gradient-at-0", "the gradient of leaky ReLU at 0 takes a slope of 1", HC_FAULT_FORMULA,
     "leaky_relu_bwd", "bits/leaky_relu_bwd/*", .wrong = gradient_at_zero},
    {"unscale-sees-no-nan", "the detector sees infinities and no NaN", HC_FAULT_SPECIALS, "unscale",
     "bits/unscale/*", .wrong = sees_one_kind, .place = HC_PLACE_HOST},
    {"unscale-sees-no-infinity", "the detector sees NaNs and no infinity", HC_FAULT_SPECIALS,
     "unscale", "bits/unscale/* op/unscale/*", .wrong = sees_one_kind, .number = 1},
    {"unscale-looks-after", "the detector looks at gradients after their division",
     HC_FAULT_FORMULA, "unscale", "bits/unscale/*", .wrong = looks_after, .place = HC_PLACE_HOST},
    {"overflow-verdict-nan-is-not-found", "an overflow flag that is NaN counts as not set",
     HC_FAULT_SPECIALS, "overflow_verdict scaler_update", "scaler/one-update",
     .change = nan_is_not_found},
};

HC_FAULTS(formula, faults);
