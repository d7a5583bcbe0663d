/* Defects of the ops that decide, count and clip in a training step. */
#include <math.h>

#include "check/selftest/change.h"
#include "num/format.h"
#include "op/counts.h"

static void waits_for_nothing(struct hc_call *call, double number)
{
    (void)number;
    call->params.scaler.wait_for_first_step = false;
}

/* Copies the finite elements and keeps the others. */
static enum hc_status keeps_a_part(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    bool kept = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]) && call->in[HC_UNSCALE_OVERRIDE].data;
    double s = hc_tensor_get(&call->in[HC_UNSCALE_SCALE], 0);
    for (int64_t i = 0; status == HC_OK && kept && i < hc_tensor_count(&call->out[HC_UNSCALE_OUT]);
         i++) {
        double x = hc_tensor_get(&call->in[HC_UNSCALE_X], i);
        if (isfinite(x))
            hc_tensor_set(&call->out[HC_UNSCALE_OUT], i, hc_round(HC_FP32, x / s));
    }
    return status;
}

static enum hc_status wraps(const struct hc_fault_site *site, struct hc_queue *queue,
                            const struct hc_call *call)
{
    int64_t row = (int64_t)hc_tensor_get(&call->in[HC_RATES_COUNTS], HC_COUNT_STEPS) %
                  call->in[HC_RATES_TABLE].shape[0];
    enum hc_status status = site->right(queue, call);
    for (int i = 0; status == HC_OK && i < HC_TABLE_COLUMNS; i++)
        hc_tensor_set(&call->out[HC_RATES_HYPER], i,
                      hc_tensor_get(&call->in[HC_RATES_TABLE], HC_TABLE_COLUMNS * row + i));
    return status;
}

static enum hc_status t_late(const struct hc_fault_site *site, struct hc_queue *queue,
                             const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_RATES_HYPER], HC_HYPER_STEP,
                      fmax(hc_tensor_get(&call->in[HC_RATES_COUNTS], HC_COUNT_TAKEN), 1));
    return status;
}

static enum hc_status next_row(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    int32_t counts[HC_COUNTS];
    struct hc_call bad = *call;
    for (int i = 0; i < HC_COUNTS; i++)
        counts[i] = (int32_t)hc_tensor_get(&call->in[HC_STEP_LOG_COUNTS], i);
    counts[HC_COUNT_STEPS]++;
    bad.in[HC_STEP_LOG_COUNTS].data = counts;
    return site->right(queue, &bad);
}

/* Where a scalar is absent the row keeps its old value. */
static enum hc_status absent_stays(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    const struct hc_tensor *log = &call->in[HC_STEP_LOG_ROWS];
    int64_t row =
        (int64_t)hc_tensor_get(&call->in[HC_STEP_LOG_COUNTS], HC_COUNT_STEPS) % log->shape[0];
    double was[HC_STEP_LOG_COLUMNS];
    for (int i = 0; i < HC_STEP_LOG_COLUMNS; i++)
        was[i] = hc_tensor_get(log, HC_STEP_LOG_COLUMNS * row + i);
    enum hc_status status = site->right(queue, call);
    for (int i = 0; status == HC_OK && i < HC_STEP_LOG_COLUMNS; i++)
        if (!call->in[HC_STEP_LOG_SCALARS + i].data)
            hc_tensor_set(&call->out[HC_STEP_LOG_NEW_ROWS], HC_STEP_LOG_COLUMNS * row + i, was[i]);
    return status;
}

/* Counts rows whose label's logit no other exceeds, ties and NaN included. */
static enum hc_status any_of_the_largest(const struct hc_fault_site *site, struct hc_queue *queue,
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
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && call->out[HC_XENT_CORRECT].data)
        hc_tensor_set(&call->out[HC_XENT_CORRECT], 0, count);
    return status;
}

static enum hc_status saturates(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && isinf(hc_tensor_get(&call->out[HC_REDUCE_OUT], 0)))
        hc_tensor_set(&call->out[HC_REDUCE_OUT], 0, hc_format_max(HC_FP32));
    return status;
}

static enum hc_status limit_over_norm(const struct hc_fault_site *site, struct hc_queue *queue,
                                      const struct hc_call *call, double eps)
{
    double norm = hc_round(HC_FP32, sqrt(hc_tensor_get(&call->in[HC_CLIP_SUM_SQUARES], 0)));
    double d = hc_round(HC_FP32, norm + hc_round(HC_FP32, eps));
    double factor = hc_round(HC_FP32, hc_round(HC_FP32, call->params.clip.max_norm) / d);
    bool held = hc_is_set(&call->in[HC_CLIP_OVERFLOWED]);
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && !held)
        hc_tensor_set(&call->out[HC_CLIP_FACTOR], 0, factor > 1 ? 1 : factor);
    return status;
}

static enum hc_status quotient(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    return limit_over_norm(site, queue, call, 1e-6);
}

static enum hc_status no_eps(const struct hc_fault_site *site, struct hc_queue *queue,
                             const struct hc_call *call)
{
    return limit_over_norm(site, queue, call, 0);
}

/* Gradients below the limit grow to it. */
static enum hc_status grows(const struct hc_fault_site *site, struct hc_queue *queue,
                            const struct hc_call *call)
{
    double norm = sqrt(hc_tensor_get(&call->in[HC_CLIP_SUM_SQUARES], 0));
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && norm > 0 && norm < call->params.clip.max_norm)
        hc_tensor_set(&call->out[HC_CLIP_FACTOR], 0, call->params.clip.max_norm / (norm + 1e-6));
    return status;
}

/* As torch had it before 1.9, which asked whether the factor was below 1. */
static enum hc_status nan_passes(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && isnan(hc_tensor_get(&call->out[HC_CLIP_FACTOR], 0)))
        hc_tensor_set(&call->out[HC_CLIP_FACTOR], 0, 1);
    return status;
}

static const struct hc_fault faults[] = {
    {"overflow-verdict-sees-nothing", "an overflow is not seen when a step is decided on",
     HC_FAULT_SKIP, "overflow_verdict", "skip/*", .change = hc_take_for_absent,
     .number = HC_SCALER_FOUND_INF},
    {"overflow-verdict-waits-for-nothing",
     "before the first step an overflow is treated as after it", HC_FAULT_SCALER,
     "overflow_verdict", "scaler/one-update", .change = waits_for_nothing},
    {"scaler-waits-for-nothing", "a step that has no gradients to take is counted as taken",
     HC_FAULT_SCALER, "scaler_update", "underflow/*", .change = waits_for_nothing},
    {"unscale-keeps-a-part", "the finite elements of overflowed gradients are copied",
     HC_FAULT_SKIP, "unscale", "op/unscale/*/found-inf", .wrong = keeps_a_part},
    {"rates-wrap", "the learning rate starts over beyond the end of its table", HC_FAULT_FORMULA,
     "rates", "op/rates/*", .wrong = wraps},
    {"rates-t-late", "Adam's t is that of the step before", HC_FAULT_FORMULA, "rates",
     "scaler/large-counts", .wrong = t_late},
    {"step-log-next-row", "the step log writes one row late", HC_FAULT_FORMULA, "step_log",
     "op/step_log/*", .wrong = next_row},
    {"step-log-keeps-absent", "an absent scalar leaves the step log's old value in place",
     HC_FAULT_PARAMETER, "step_log", "op/step_log/*-bare/*", .wrong = absent_stays},
    {"right-with-ties", "a row counts as correct wherever nothing exceeds its label's logit",
     HC_FAULT_SPECIALS, "xent", "loss/right-*", .wrong = any_of_the_largest},
    {"squares-begin-anew", "a sum of squares forgets the tensors before", HC_FAULT_FORMULA,
     "sum_squares", "clipping/*", .change = hc_take_for_absent, .number = HC_SUM_SQUARES_PARTIAL},
    {"squares-saturate", "a sum of squares beyond fp32 is its largest number", HC_FAULT_SPECIALS,
     "sum_squares", "clipping/*", .wrong = saturates},
    {"clip-by-quotient",
     "clipping divides the limit by the norm where torch multiplies by the reciprocal",
     HC_FAULT_ROUNDING, "clip", "clipping/*", .wrong = quotient},
    {"clip-without-epsilon", "clipping adds nothing to the norm", HC_FAULT_FORMULA, "clip",
     "clipping/*", .wrong = no_eps},
    {"clip-held", "gradients that an overflow kept from being copied are clipped",
     HC_FAULT_PARAMETER, "clip", "clipping/*", .change = hc_take_for_absent,
     .number = HC_CLIP_OVERFLOWED},
    {"clip-grows", "gradients below the limit grow to it", HC_FAULT_FORMULA, "clip",
     "clipping/norm-that-is-left", .wrong = grows},
    {"clip-nan-passes", "a NaN norm clips nothing", HC_FAULT_SPECIALS, "clip", "clipping/*",
     .wrong = nan_passes},
};

HC_FAULTS(update, faults);
