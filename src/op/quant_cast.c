/* The descriptor of stochastic_cast (op/quant.h). */
#include "op/quant.h"

#include "op/families.h"
#include "op/rule.h"

static enum hc_status stochastic_rule(const struct hc_call *call)
{
    int bits = call->params.stochastic_cast.bits;
    if (bits >= 1 && bits <= HC_STOCHASTIC_MAX_BITS)
        return HC_OK;
    return hc_fail(HC_INVALID, "stochastic_cast: %d random bits, not 1 to %d", bits,
                   HC_STOCHASTIC_MAX_BITS);
}

const struct hc_descriptor hc_descriptor_stochastic_cast = {
    .in = {[HC_STOCHASTIC_X] = {"x", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA,
                                .pass = HC_PASS_EITHER},
           [HC_STOCHASTIC_WORDS] = {"words", HC_ALLOW_I32, .values = HC_VALUES_COUNTS}},
    .out = {[HC_STOCHASTIC_OUT] = {"out", HC_ALLOW_NARROW}},
    .rule = stochastic_rule,
};
