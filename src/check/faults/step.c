/* A training step's decision, its loss scale, and what a skipped step leaves alone. */
#include <math.h>
#include <string.h>

#include "check/selftest/change.h"
#include "num/format.h"
#include "op/counts.h"

/* Defects of the ops that decide, count and clip in a training step. */

static void waits_for_nothing(struct hc_call *call)
{
    call->params.scaler.wait_for_first_step = false;
}

/* Copies the finite elements and keeps the others. */
static void keeps_a_part(const struct hc_call *call)
{
    bool kept = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]) && call->in[HC_UNSCALE_OVERRIDE].data;
    double s = hc_tensor_get(&call->in[HC_UNSCALE_SCALE], 0);
    for (int64_t i = 0; kept && i < hc_tensor_count(&call->out[HC_UNSCALE_OUT]); i++) {
        double x = hc_tensor_get(&call->in[HC_UNSCALE_X], i);
        if (isfinite(x))
            hc_tensor_set(&call->out[HC_UNSCALE_OUT], i, hc_round(HC_FP32, x / s));
    }
}

static enum hc_status wraps(const struct hc_fault_site *site, const struct hc_call *call)
{
    int64_t row = (int64_t)hc_tensor_get(&call->in[HC_RATES_COUNTS], HC_COUNT_STEPS) %
                  call->in[HC_RATES_TABLE].shape[0];
    enum hc_status status = hc_right(site, call);
    for (int i = 0; status == HC_OK && i < HC_TABLE_COLUMNS; i++)
        hc_tensor_set(&call->out[HC_RATES_HYPER], i,
                      hc_tensor_get(&call->in[HC_RATES_TABLE], HC_TABLE_COLUMNS * row + i));
    return status;
}

static void t_late(const struct hc_call *call)
{
    hc_tensor_set(&call->out[HC_RATES_HYPER], HC_HYPER_STEP,
                  fmax(hc_tensor_get(&call->in[HC_RATES_COUNTS], HC_COUNT_TAKEN), 1));
}

static enum hc_status next_row(const struct hc_fault_site *site, const struct hc_call *call)
{
    int32_t counts[HC_COUNTS];
    struct hc_call bad = *call;
    for (int i = 0; i < HC_COUNTS; i++)
        counts[i] = (int32_t)hc_tensor_get(&call->in[HC_STEP_LOG_COUNTS], i);
    counts[HC_COUNT_STEPS]++;
    bad.in[HC_STEP_LOG_COUNTS].data = counts;
    return hc_right(site, &bad);
}

/* Where a scalar is absent the row keeps its old value. */
static enum hc_status absent_stays(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *log = &call->in[HC_STEP_LOG_ROWS];
    int64_t row =
        (int64_t)hc_tensor_get(&call->in[HC_STEP_LOG_COUNTS], HC_COUNT_STEPS) % log->shape[0];
    double was[HC_STEP_LOG_COLUMNS];
    for (int i = 0; i < HC_STEP_LOG_COLUMNS; i++)
        was[i] = hc_tensor_get(log, HC_STEP_LOG_COLUMNS * row + i);
    enum hc_status status = hc_right(site, call);
    for (int i = 0; status == HC_OK && i < HC_STEP_LOG_COLUMNS; i++)
        if (!call->in[HC_STEP_LOG_SCALARS + i].data)
            hc_tensor_set(&call->out[HC_STEP_LOG_NEW_ROWS], HC_STEP_LOG_COLUMNS * row + i, was[i]);
    return status;
}

/* Counts rows whose label's logit no other exceeds, ties and NaN included. */
static enum hc_status any_of_the_largest(const struct hc_fault_site *site,
                                         const struct hc_call *call)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    int64_t classes = z->shape[1];
    double count = 0;
    for (int64_t row = 0; row < z->shape[0]; row++) {
        int64_t label = (int64_t)hc_tensor_get(&call->in[HC_XENT_LABELS], row);
        bool best = !isnan(hc_tensor_get(z, row * classes + label));
        for (int64_t j = 0; j < classes; j++)
            best = best &&
                   !(hc_tensor_get(z, row * classes + j) > hc_tensor_get(z, row * classes + label));
        count += best;
    }
    enum hc_status status = hc_right(site, call);
    if (status == HC_OK && call->out[HC_XENT_CORRECT].data)
        hc_tensor_set(&call->out[HC_XENT_CORRECT], 0, count);
    return status;
}

static void saturates(const struct hc_call *call)
{
    if (isinf(hc_tensor_get(&call->out[HC_REDUCE_OUT], 0)))
        hc_tensor_set(&call->out[HC_REDUCE_OUT], 0, hc_format_max(HC_FP32));
}

static enum hc_status limit_over_norm(const struct hc_fault_site *site, const struct hc_call *call,
                                      double eps)
{
    double norm = hc_round(HC_FP32, sqrt(hc_tensor_get(&call->in[HC_CLIP_SUM_SQUARES], 0)));
    double d = hc_round(HC_FP32, norm + hc_round(HC_FP32, eps));
    double factor = hc_round(HC_FP32, hc_round(HC_FP32, call->params.clip.max_norm) / d);
    bool held = hc_is_set(&call->in[HC_CLIP_OVERFLOWED]);
    enum hc_status status = hc_right(site, call);
    if (status == HC_OK && !held)
        hc_tensor_set(&call->out[HC_CLIP_FACTOR], 0, factor > 1 ? 1 : factor);
    return status;
}

static enum hc_status quotient(const struct hc_fault_site *site, const struct hc_call *call)
{
    return limit_over_norm(site, call, 1e-6);
}

static enum hc_status no_eps(const struct hc_fault_site *site, const struct hc_call *call)
{
    return limit_over_norm(site, call, 0);
}

/* Gradients below the limit grow to it. */
static enum hc_status grows(const struct hc_fault_site *site, const struct hc_call *call)
{
    double norm = sqrt(hc_tensor_get(&call->in[HC_CLIP_SUM_SQUARES], 0));
    enum hc_status status = hc_right(site, call);
    if (status == HC_OK && norm > 0 && norm < call->params.clip.max_norm)
        hc_tensor_set(&call->out[HC_CLIP_FACTOR], 0, call->params.clip.max_norm / (norm + 1e-6));
    return status;
}

/* As torch had it before 1.9, which asked whether the factor was below 1. */
static void nan_passes(const struct hc_call *call)
{
    if (isnan(hc_tensor_get(&call->out[HC_CLIP_FACTOR], 0)))
        hc_tensor_set(&call->out[HC_CLIP_FACTOR], 0, 1);
}

/* Defects of a loss scale's update. */

static void keep_clean_is(struct hc_call *call, double number)
{
    call->params.scaler.keep_clean = number != 0;
}

static void delay_is(struct hc_call *call, double number)
{
    call->params.scaler.delay = (int32_t)number;
}

static void delay_more(struct hc_call *call, double number)
{
    call->params.scaler.delay += (int32_t)number;
}

/* Growth comes before the overflow check, so that both happen. */
static enum hc_status growth_first(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    double before = hc_tensor_get(&call->in[HC_SCALER_SCALE], 0);
    bool due = p->interval &&
               hc_tensor_get(&call->in[HC_SCALER_COUNTS], HC_COUNT_CLEAN) + 1 == p->interval;
    enum hc_status status = hc_right(site, call);
    if (status == HC_OK && due && hc_is_set(&call->in[HC_SCALER_FOUND_INF]))
        hc_tensor_set(&call->out[HC_SCALER_NEW_SCALE], 0, before);
    return status;
}

static void no_floor(struct hc_call *call)
{
    call->params.scaler.floor = 0;
}

static void no_cap(struct hc_call *call)
{
    call->params.scaler.cap = HC_CAP_NONE;
}

static void no_hysteresis(struct hc_call *call)
{
    call->params.scaler.hysteresis = 0;
}

static void no_refill(struct hc_call *call)
{
    call->params.scaler.refill_hysteresis = false;
}

static void looks_at_one(struct hc_call *call)
{
    if (call->params.scaler.min_checked_scale == 1)
        call->params.scaler.min_checked_scale = -1;
}

static void never_skips(struct hc_call *call)
{
    call->params.scaler.skip_on_overflow = false;
}

static void never_gives_up(struct hc_call *call)
{
    call->params.scaler.error_at_floor = false;
}

/* Ignores the recipe's factors. */
static void doubles_and_halves(struct hc_call *call)
{
    call->params.scaler.growth = 2;
    call->params.scaler.backoff = 0.5F;
}

static void never_grows(struct hc_call *call)
{
    call->params.scaler.interval = 0;
}

static void other_way(struct hc_call *call)
{
    call->params.unscale.reciprocal = !call->params.unscale.reciprocal;
}

/* Each must be caught by a rule's traces alone; scaler/one-update would see them all. */

/* Defects of a skipped step: it moves what it must not. */

/* The decay comes before the optimizer checks for overflow. */
static enum hc_status decays_anyway(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *w = &call->out[HC_ADAM_NEW_W];
    double factor =
        1 - hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_LR) * call->params.adam.weight_decay;
    enum hc_status status = hc_right(site, call);
    for (int64_t i = 0;
         status == HC_OK && hc_is_set(&call->in[HC_ADAM_FOUND_INF]) && i < hc_tensor_count(w); i++)
        hc_tensor_set(w, i, hc_tensor_get(w, i) * factor);
    return status;
}

/* Infinite and NaN gradients are treated as 0, and the optimizer runs. */
static enum hc_status momentum_moves(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *m = &call->out[HC_ADAM_NEW_M];
    double beta1 = hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_BETA1);
    enum hc_status status = hc_right(site, call);
    for (int64_t i = 0;
         status == HC_OK && hc_is_set(&call->in[HC_ADAM_FOUND_INF]) && i < hc_tensor_count(m); i++)
        hc_tensor_set(m, i, hc_tensor_get(m, i) * beta1);
    return status;
}

static void counts_t(struct hc_call *call)
{
    call->params.scaler.skip_on_overflow = false;
}

static enum hc_status statistics_stay(const struct hc_fault_site *site, const struct hc_call *call)
{
    float was[2][256];
    size_t bytes = hc_tensor_bytes(&call->in[HC_BN_MEAN]);
    bool small = bytes <= sizeof was[0];
    for (int k = 0; k < 2 && small; k++)
        memcpy(was[k], call->in[HC_BN_MEAN + k].data, bytes);
    enum hc_status status = hc_right(site, call);
    for (int k = 0; k < 2 && small && status == HC_OK; k++)
        memcpy(call->out[HC_BN_NEW_MEAN + k].data, was[k], bytes);
    return status;
}

/* Zeros are not written, so that the masters' gradients stay. */
static enum hc_status keeps_gradients(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_X];
    bool zeros = x->format == HC_FP32 && call->out[HC_OUT].format == HC_FP32;
    for (int64_t i = 0; zeros && i < hc_tensor_count(x); i++)
        zeros = hc_tensor_bits(x, i) == 0;
    return zeros ? HC_OK : hc_right(site, call);
}

/* Without a gradient no weight moves, whatever the momentum. */
static enum hc_status stands(const struct hc_fault_site *site, const struct hc_call *call)
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
    return hc_right(site, &bad);
}

/* One infinite or NaN gradient makes all momenta NaN. */
static void spreads(const struct hc_call *call)
{
    const struct hc_tensor *m = &call->out[HC_ADAM_NEW_M];
    bool lost = false;
    for (int64_t i = 0; i < hc_tensor_count(m); i++)
        lost = lost || !isfinite(hc_tensor_get(m, i));
    for (int64_t i = 0; lost && i < hc_tensor_count(m); i++)
        hc_tensor_set(m, i, (double)NAN);
}

/* Statistics that became infinite or NaN are set to 0. */
static void cleans_statistics(const struct hc_call *call)
{
    for (int k = HC_BN_NEW_MEAN; k <= HC_BN_NEW_VARIANCE; k++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[k]); i++)
            if (!isfinite(hc_tensor_get(&call->out[k], i)))
                hc_tensor_set(&call->out[k], i, 0);
}

/* Infinite and NaN gradients are set to 0 on their way back. */
static enum hc_status drops(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *dy = &call->in[HC_BN_LEAKY_BWD_DY];
    for (int64_t i = 0; i < hc_tensor_count(dy); i++)
        if (!isfinite(hc_tensor_get(dy, i)))
            hc_tensor_set(dy, i, 0);
    return hc_right(site, call);
}

static const struct hc_fault faults[] = {
#include "check/faults/step.def"
};

HC_FAULTS(step, faults);
