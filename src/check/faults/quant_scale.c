/* Codes decoded under wrong scales, and delayed scales that move when they should not. */
#include <math.h>

#include "check/selftest/change.h"
#include "num/format.h"

/* The smallest power of two, whose code is 0, is taken for zero, as a shift into an exponent
   field makes it. */
static enum hc_status least_as_zero(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    const struct hc_dequantize *p = &call->params.dequantize;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    const struct hc_tensor *scales = &call->in[HC_DEQUANTIZE_SCALES];
    enum hc_status status = site->right(queue, call);
    for (int64_t at = 0; scales->format == HC_E8M0 && at < hc_tensor_count(codes); at++) {
        int64_t down = p->rows > 0 ? at / codes->shape[1] / p->rows : 0;
        int64_t across = p->columns > 0 ? at % codes->shape[1] / p->columns : 0;
        if (hc_tensor_bits(scales, down * scales->shape[1] + across) == 0)
            hc_tensor_set(&call->out[HC_DEQUANTIZE_Y], at, 0);
    }
    return status;
}

/* The block's scale and the tensor's are multiplied first. */
static enum hc_status scales_first(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    const struct hc_dequantize *p = &call->params.dequantize;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    const struct hc_tensor *scales = &call->in[HC_DEQUANTIZE_SCALES];
    const struct hc_tensor *tensor = &call->in[HC_DEQUANTIZE_TENSOR];
    enum hc_status status = site->right(queue, call);
    for (int64_t at = 0; tensor->data && at < hc_tensor_count(codes); at++) {
        int64_t down = p->rows > 0 ? at / codes->shape[1] / p->rows : 0;
        int64_t across = p->columns > 0 ? at % codes->shape[1] / p->columns : 0;
        double scale = hc_round(HC_FP32, hc_tensor_get(scales, down * scales->shape[1] + across) *
                                             hc_tensor_get(tensor, 0));
        hc_tensor_set(&call->out[HC_DEQUANTIZE_Y], at,
                      hc_round(HC_FP32, hc_tensor_get(codes, at) * scale));
    }
    return status;
}

/* mx-even cuts the amax to the element's precision, as mx-floor does, in place of rounding it. */
static enum hc_status even_cuts(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    struct hc_call cut = *call;
    if (call->params.quantize.rule == HC_SCALE_MX_EVEN)
        cut.params.quantize.rule = HC_SCALE_MX_FLOOR;
    return site->right(queue, &cut);
}

/* The history of a tensor that was idle moves, too. */
static enum hc_status rolled_idle(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    const struct hc_tensor *amax = &call->in[HC_DELAYED_AMAX];
    const struct hc_tensor *history = &call->out[HC_DELAYED_NEW_HISTORY];
    int64_t tensors = history->shape[1];
    int64_t steps = history->shape[0];
    enum hc_status status = site->right(queue, call);
    for (int64_t t = 0; t < tensors && call->params.delayed_scale.rule == HC_DELAYED_TE; t++) {
        if (hc_tensor_get(amax, t) != 0)
            continue;
        for (int64_t i = 0; i + 1 < steps; i++)
            hc_tensor_set(history, i * tensors + t, hc_tensor_get(history, (i + 1) * tensors + t));
        hc_tensor_set(history, (steps - 1) * tensors + t, 0);
        hc_tensor_set(history, t, 0);
    }
    return status;
}

/* This step's amax alone makes the scale, or the whole history where it alone should. */
static void recent_or_not(struct hc_call *call, double number)
{
    (void)number;
    call->params.delayed_scale.most_recent = !call->params.delayed_scale.most_recent;
}

static void without_margin(struct hc_call *call, double number)
{
    (void)number;
    call->params.delayed_scale.margin = 0;
}

/* The fused kernel's scale comes from a product with the reciprocal, as in Python. */
static void by_reciprocal(struct hc_call *call, double number)
{
    if (call->params.delayed_scale.rule == HC_DELAYED_TE)
        call->params.delayed_scale.rule = (enum hc_delayed_rule)number;
}

static const struct hc_change infinite_kept = {hc_everywhere, hc_infinity_to_largest, 0,
                                               HC_DELAYED_AMAX};
static const struct hc_change last_up = {hc_at_the_end, hc_one_ulp_up, 0, HC_DEQUANTIZE_Y};

#define CASES "op/delayed_scale/* bits/delayed_scale/*"

static const struct hc_fault faults[] = {
    {"mx-even-cuts", "the rule mx-even cuts the amax where it should round it", HC_FAULT_COMMON,
     "quantize", "scale/golden-*", .wrong = even_cuts, .place = HC_PLACE_BOTH},
    {"dequantize-least-as-zero", "the smallest power of two of e8m0 is taken for zero",
     HC_FAULT_SPECIALS, "dequantize", "op/dequantize/*e8m0*/subnormals bits/dequantize/*",
     .wrong = least_as_zero},
    {"dequantize-scales-first", "both scales are multiplied before the code", HC_FAULT_ROUNDING,
     "dequantize", "op/dequantize/* bits/dequantize/*", .wrong = scales_first},
    {"dequantize-last-element", "the last number is off in its last bit", HC_FAULT_TAIL,
     "dequantize", "op/dequantize/* bits/dequantize/*", .outputs = &last_up,
     .place = HC_PLACE_HOST},
    {"delayed-rolls-idle", "the history of a tensor that was idle moves", HC_FAULT_STATE,
     "delayed_scale", CASES, .wrong = rolled_idle},
    {"delayed-recent", "the scale comes from the last amax where it should from all, or from all",
     HC_FAULT_STATE, "delayed_scale", CASES, .change = recent_or_not},
    {"delayed-without-margin", "the margin of a delayed scale is left out", HC_FAULT_PARAMETER,
     "delayed_scale", "op/delayed_scale/*-margin/*", .change = without_margin},
    {"delayed-by-reciprocal", "a delayed scale is a product with a reciprocal", HC_FAULT_ROUNDING,
     "delayed_scale", CASES, .change = by_reciprocal, .number = HC_DELAYED_TE_UNFUSED,
     .place = HC_PLACE_HOST},
    {"delayed-infinite-counts", "an infinite amax counts as the largest number", HC_FAULT_SPECIALS,
     "delayed_scale", "op/delayed_scale/*/specials", .inputs = &infinite_kept},
    {"common-delayed-idle", "histories of idle tensors move in all backends", HC_FAULT_COMMON,
     "delayed_scale", "op/delayed_scale/*", .like = "delayed-rolls-idle", .place = HC_PLACE_BOTH},
};

HC_FAULTS(quant_scale, faults);
