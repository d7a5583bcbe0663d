/* sum and dot in a 16-bit accumulator: the contract states their order and every rounding, so that there
   is one right result. It is found here one rounding at a time, from the exact value of each operation. */
#include <math.h>

#include "check/bound/rules.h"

/* x + y is value + rest exactly (Knuth's TwoSum; fp64 is wide enough for the sums of 16-bit numbers to
   have no underflow and no overflow). */
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
    for (int64_t i = 0; i < hc_tensor_count(&call->in[0]); i++) {
        double term = hc_tensor_get(&call->in[0], i);
        if (dot)
            term = hc_round(f, term * hc_tensor_get(&call->in[1], i));
        sum = added(f, sum, term);
    }
    *bits = hc_encode(call->out[0].format, sum, 0, HC_NEAREST);
    return true;
}
