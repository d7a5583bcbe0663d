/* hc_claim_call: got against the reference, and the three answers. */
#include <math.h>

#include "check/bound.h"
#include "check/tally.h"
#include "num/ulp.h"

static void compare_element(struct hc_check *check, const struct hc_call *call, int out, int64_t i)
{
    struct hc_want want;
    const struct hc_tensor *t = &call->out[out];
    hc_references[call->op](call, out, i, HC_REFERENCE_PRECISION, &want);
    double bound = hc_bound(call, &check->backend->accumulator, out, i, &want);
    double got = hc_tensor_get(t, i);
    if (bound == 0) {
        uint64_t bits = hc_encode(t->format, want.value, want.rest, HC_NEAREST);
        hc_claim_bits(check, hc_ops[call->op].name, t->format, bits, hc_tensor_bits(t, i));
        return;
    }
    hc_tally(check, fabs(got - want.value - want.rest), bound, "abs");
}

void hc_claim_call(struct hc_check *check, const struct hc_call *call)
{
    if (hc_do(check, call) != HC_OK)
        return;
    for (int out = 0; out < hc_ops[call->op].outputs; out++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[out]); i++)
            compare_element(check, call, out, i);
}
