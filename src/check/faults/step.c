/* A training step's decision, its loss scale, and what a skipped step leaves alone. */
#include <math.h>
#include <string.h>

#include "check/selftest/change.h"
#include "num/format.h"
#include "op/counts.h"

/* Defects of the ops that decide, count and clip in a training step. */

/* Copies the finite elements and keeps the others. */
static void keeps_a_part(const struct hc_call *call)
{
    bool kept = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]) && call->in[HC_UNSCALE_OVERRIDE].data;
    double s = hc_in(call, HC_UNSCALE_SCALE, 0);
    for (int64_t i = 0; kept && i < hc_tensor_count(&call->out[HC_UNSCALE_OUT]); i++) {
        double x = hc_in(call, HC_UNSCALE_X, i);
        if (isfinite(x))
            hc_give(call, HC_UNSCALE_OUT, i, hc_round(HC_FP32, x / s));
    }
}

static void wraps(const struct hc_call *call)
{
    int64_t row =
        (int64_t)hc_in(call, HC_RATES_COUNTS, HC_COUNT_STEPS) % call->in[HC_RATES_TABLE].shape[0];
    for (int i = 0; i < HC_TABLE_COLUMNS; i++)
        hc_give(call, HC_RATES_HYPER, i, hc_in(call, HC_RATES_TABLE, HC_TABLE_COLUMNS * row + i));
}

static void t_late(const struct hc_call *call)
{
    hc_give(call, HC_RATES_HYPER, HC_HYPER_STEP,
            fmax(hc_in(call, HC_RATES_COUNTS, HC_COUNT_TAKEN), 1));
}

static void next_row(struct hc_call *call)
{
    ((int32_t *)call->in[HC_STEP_LOG_COUNTS].data)[HC_COUNT_STEPS]++;
}

/* Where a scalar is absent the row keeps its old value. */
static void absent_stays(const struct hc_call *call)
{
    int64_t first = (int64_t)hc_in(call, HC_STEP_LOG_COUNTS, HC_COUNT_STEPS) %
                    call->in[HC_STEP_LOG_ROWS].shape[0] * HC_STEP_LOG_COLUMNS;
    for (int i = 0; i < HC_STEP_LOG_COLUMNS; i++)
        if (!call->in[HC_STEP_LOG_SCALARS + i].data)
            hc_give(call, HC_STEP_LOG_NEW_ROWS, first + i,
                    hc_in(call, HC_STEP_LOG_ROWS, first + i));
}

/* Counts rows whose label's logit no other exceeds, ties and NaN included. */
static void any_of_the_largest(const struct hc_call *call)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    int64_t classes = z->shape[1];
    double count = 0;
    for (int64_t row = 0; row < z->shape[0]; row++) {
        int64_t label = (int64_t)hc_in(call, HC_XENT_LABELS, row);
        bool best = !isnan(hc_tensor_get(z, row * classes + label));
        for (int64_t j = 0; j < classes; j++)
            best = best &&
                   !(hc_tensor_get(z, row * classes + j) > hc_tensor_get(z, row * classes + label));
        count += best;
    }
    if (call->out[HC_XENT_CORRECT].data)
        hc_give(call, HC_XENT_CORRECT, 0, count);
}

static void saturates(const struct hc_call *call)
{
    if (isinf(hc_out(call, HC_REDUCE_OUT, 0)))
        hc_give(call, HC_REDUCE_OUT, 0, hc_format_max(HC_FP32));
}

/* The limit over the norm plus `number`. */
static void limit_over_norm(const struct hc_call *call, const struct hc_fault *row)
{
    double norm = hc_round(HC_FP32, sqrt(hc_in(call, HC_CLIP_SUM_SQUARES, 0)));
    double d = hc_round(HC_FP32, norm + hc_round(HC_FP32, row->number));
    double factor = hc_round(HC_FP32, hc_round(HC_FP32, call->params.clip.max_norm) / d);
    if (!hc_is_set(&call->in[HC_CLIP_OVERFLOWED]))
        hc_give(call, HC_CLIP_FACTOR, 0, factor > 1 ? 1 : factor);
}

/* Gradients below the limit grow to it. */
static void grows(const struct hc_call *call)
{
    double norm = sqrt(hc_in(call, HC_CLIP_SUM_SQUARES, 0));
    if (norm > 0 && norm < call->params.clip.max_norm)
        hc_give(call, HC_CLIP_FACTOR, 0, call->params.clip.max_norm / (norm + 1e-6));
}

/* As torch had it before 1.9, which asked whether the factor was below 1. */
static void nan_passes(const struct hc_call *call)
{
    if (isnan(hc_out(call, HC_CLIP_FACTOR, 0)))
        hc_give(call, HC_CLIP_FACTOR, 0, 1);
}

/* Defects of a loss scale's update. */
static void delay_more(struct hc_call *call, const struct hc_fault *row)
{
    call->params.scaler.delay += (int32_t)row->number;
}

/* Growth comes before the overflow check, so that both happen. */
static void growth_first(const struct hc_call *call)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    bool due = p->interval && hc_in(call, HC_SCALER_COUNTS, HC_COUNT_CLEAN) + 1 == p->interval;
    if (due && hc_is_set(&call->in[HC_SCALER_FOUND_INF]))
        hc_give(call, HC_SCALER_NEW_SCALE, 0, hc_in(call, HC_SCALER_SCALE, 0));
}

static void looks_at_one(struct hc_call *call)
{
    if (call->params.scaler.min_checked_scale == 1)
        call->params.scaler.min_checked_scale = -1;
}

/* Ignores the recipe's factors. */
static void doubles_and_halves(struct hc_call *call)
{
    call->params.scaler.growth = 2;
    call->params.scaler.backoff = 0.5F;
}

/* Defects of a skipped step: it moves what it must not. */

/* The decay comes before the optimizer checks for overflow. */
static void decays_anyway(const struct hc_call *call)
{
    double factor = 1 - hc_in(call, HC_ADAM_HYPER, HC_HYPER_LR) * call->params.adam.weight_decay;
    bool found = hc_is_set(&call->in[HC_ADAM_FOUND_INF]);
    for (int64_t i = 0; found && i < hc_tensor_count(&call->out[HC_ADAM_NEW_W]); i++)
        hc_give(call, HC_ADAM_NEW_W, i, hc_out(call, HC_ADAM_NEW_W, i) * factor);
}

/* Infinite and NaN gradients are treated as 0, and the optimizer runs. */
static void momentum_moves(const struct hc_call *call)
{
    double beta1 = hc_in(call, HC_ADAM_HYPER, HC_HYPER_BETA1);
    bool found = hc_is_set(&call->in[HC_ADAM_FOUND_INF]);
    for (int64_t i = 0; found && i < hc_tensor_count(&call->out[HC_ADAM_NEW_M]); i++)
        hc_give(call, HC_ADAM_NEW_M, i, hc_out(call, HC_ADAM_NEW_M, i) * beta1);
}

static void statistics_stay(const struct hc_call *call)
{
    size_t bytes = hc_tensor_bytes(&call->in[HC_BN_MEAN]);
    for (int k = 0; k < 2 && bytes <= 256 * sizeof(float); k++)
        memcpy(call->out[HC_BN_NEW_MEAN + k].data, call->in[HC_BN_MEAN + k].data, bytes);
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
static void stands(struct hc_call *call)
{
    bool still = true;
    for (int64_t i = 0; still && i < hc_tensor_count(&call->in[HC_ADAM_G]); i++)
        still = hc_in(call, HC_ADAM_G, i) == 0;
    if (still)
        hc_tensor_set(&call->in[HC_ADAM_HYPER], HC_HYPER_LR, 0);
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
            if (!isfinite(hc_out(call, k, i)))
                hc_give(call, k, i, 0);
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
