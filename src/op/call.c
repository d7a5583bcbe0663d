#include "op/call.h"

enum hc_status hc_call_check(const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    for (int i = 0; i < op->inputs + op->outputs; i++) {
        const struct hc_tensor *t =
            i < op->inputs ? &call->in[i] : &call->out[i - op->inputs];
        if (t->rank < 0 || t->rank > HC_MAX_RANK)
            return hc_fail(HC_INVALID, "%s: tensor %d has rank %d", op->name, i, t->rank);
    }
    return HC_OK;
}
