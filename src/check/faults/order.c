/* Defects that only a wrong order of operations shows. */
#include "check/selftest/change.h"
#include "num/format.h"

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
    {"sgd-ignores-found", "SGD steps on infinities and NaNs", HC_FAULT_SKIP, "sgd", "order/*",
     .change = hc_take_for_absent, .number = HC_SGD_FOUND_INF},
    {"sgd-rate-outside", "the velocity sums plain gradients where it should include the rate",
     HC_FAULT_FORMULA, "sgd", "underflow/*", .change = rate_outside},
    {"unscale-by-a-half", "unscale rounds its scale to half, where 65536 is infinite",
     HC_FAULT_ROUNDING, "unscale", "order/*", .wrong = scale_in_half},
};

HC_FAULTS(order, faults);
