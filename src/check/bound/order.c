/* sum and dot in a 16-bit accumulator: the contract states their order and every rounding, so there
   is one right result. It is computed here one rounding at a time, each from the exact value of the
   operation. */
#include <math.h>

#include "check/bound/rules.h"

/* x + y, rounded once. It is exactly value + rest (Knuth's TwoSum); sums of 16-bit numbers neither
   underflow nor overflow in fp64. */
static double added(enum hc_format f, double x, double y)
{
    double value = x + y;
    double share = value - x;
    double rest = isfinite(value) ? (x - (value - share)) + (y - share) : 0;
    return hc_decode(f, hc_encode(f, value, rest, HC_NEAREST));
}

bool hc_bound_in_order(const struct hc_call *call, uint64_t *bits)
{
    enum hc_format f = call->params.reduce.accumulator;
    bool dot = call->op == HC_OP_dot;
    if ((call->op != HC_OP_sum && !dot) || f == HC_FP32)
        return false;
    double sum = 0;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_REDUCE_X]); i++) {
        double term = hc_tensor_get(&call->in[HC_REDUCE_X], i);
        if (dot)
            term = hc_round(f, term * hc_tensor_get(&call->in[HC_DOT_Y], i));
        sum = added(f, sum, term);
    }
    *bits = hc_encode(call->out[HC_REDUCE_OUT].format, sum, 0, HC_NEAREST);
    return true;
}
