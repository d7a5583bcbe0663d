#include "op/descriptor.h"

#include "op/families.h"

const struct hc_descriptor *hc_descriptor(enum hc_op op)
{
    static const struct hc_descriptor *const *const families[] = {
        [HC_CLASS_ELEMENTWISE] = hc_elementwise_ops,
        [HC_CLASS_REDUCTION] = hc_reduction_ops,
        [HC_CLASS_GEMM] = hc_gemm_ops,
        [HC_CLASS_CONV] = hc_conv_ops,
        [HC_CLASS_NORM] = hc_norm_ops,
        [HC_CLASS_POOL] = hc_conv_ops,
        [HC_CLASS_LOSS] = hc_loss_ops,
        [HC_CLASS_OPTIMIZER] = hc_optimizer_ops,
        [HC_CLASS_CONTROL] = hc_control_ops,
    };
    return families[hc_ops[op].class_][op];
}

int hc_slot_count(enum hc_op op)
{
    return hc_ops[op].inputs + hc_ops[op].outputs;
}

const struct hc_slot *hc_slot(enum hc_op op, int slot)
{
    const struct hc_descriptor *d = hc_descriptor(op);
    int inputs = hc_ops[op].inputs;
    return slot < inputs ? &d->in[slot] : &d->out[slot - inputs];
}

struct hc_tensor *hc_slot_tensor(struct hc_call *call, int slot)
{
    int inputs = hc_ops[call->op].inputs;
    return slot < inputs ? &call->in[slot] : &call->out[slot - inputs];
}

const struct hc_tensor *hc_slot_tensor_const(const struct hc_call *call, int slot)
{
    int inputs = hc_ops[call->op].inputs;
    return slot < inputs ? &call->in[slot] : &call->out[slot - inputs];
}
