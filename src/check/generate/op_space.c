#include "check/generate/op_space.h"

#include "check/generate/op_quant.h"
#include "op/descriptor.h"

struct hc_opspace hc_opspace(enum hc_op op)
{
    if (hc_is_op_quant(op))
        return hc_opspace_quant(op);
    return (struct hc_opspace){hc_op_format_sets(op), hc_op_shapes(op), hc_op_variants(op)};
}

/* Of Adam's orders these compute in fp32 alone. */
static bool computes_in_fp32(enum hc_op op, const struct hc_variant *variant)
{
    enum hc_adam_order order = variant->params.adam.order;
    return (op == HC_OP_adam || op == HC_OP_adamw) &&
           (order == HC_ORDER_TORCH_FUSED || order == HC_ORDER_APEX);
}

bool hc_format_set_allowed(enum hc_op op, const struct hc_format_set *set,
                           const struct hc_variant *variant)
{
    if (hc_is_op_quant(op))
        return hc_format_set_allowed_quant(op, set, variant);
    if (computes_in_fp32(op, variant) && hc_formats[set->work].bytes == 2)
        return false;
    const struct hc_stochastic *stochastic = hc_optimizer_stochastic(op, &variant->params);
    if (stochastic && stochastic->on && (set->state != HC_BF16 || set->work != HC_FP32))
        return false;
    if (variant->compensated && hc_formats[set->state].bytes != 2)
        return false;
    const struct hc_descriptor *d = hc_descriptor(op);
    enum hc_allowed in = d->in[HC_FIRST].format;
    enum hc_allowed out = d->out[HC_FIRST].format;
    if (in == HC_ALLOW_FP32 && set->in != HC_FP32)
        return false;
    if (hc_is_fp8(set->in) && !(hc_slot_formats(op, HC_FIRST, false) >> set->in & 1))
        return false;
    if (set->in == HC_FP64 && !d->fp64 && in != HC_ALLOW_FLOAT_OR_FP64 && in != HC_ALLOW_ANY)
        return false;
    /* Batch norm computes in fp32 whatever its state is, or all of it is fp64. */
    if (hc_ops[op].class_ == HC_CLASS_NORM && set->work != HC_FP32 && set->work != HC_FP64)
        return false;
    /* Convolutions accumulate in fp32 alone. */
    if (hc_ops[op].class_ == HC_CLASS_CONV && set->work == HC_FP16)
        return false;
    if (hc_ops[op].class_ == HC_CLASS_OPTIMIZER)
        return true;
    return (out != HC_ALLOW_LIKE && out != HC_ALLOW_FP32 && out != HC_ALLOW_WIDE) ||
           set->in == set->out;
}
