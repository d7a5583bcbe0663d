#include "op/descriptor.h"

#include <stdio.h>
#include <string.h>

#include "op/defined.h"
#include "op/families.h"

static const struct {
    const struct hc_descriptor *const *ops;
    const char *header;
} families[] = {
    [HC_CLASS_ELEMENTWISE] = {hc_elementwise_ops, "src/op/elementwise.h"},
    [HC_CLASS_REDUCTION] = {hc_reduction_ops, "src/op/reduction.h"},
    [HC_CLASS_GEMM] = {hc_gemm_ops, "src/op/gemm.h"},
    [HC_CLASS_CONV] = {hc_conv_ops, "src/op/conv.h"},
    [HC_CLASS_BATCH_NORM] = {hc_norm_ops, "src/op/norm.h"},
    [HC_CLASS_POOL] = {hc_conv_ops, "src/op/conv.h"},
    [HC_CLASS_LOSS] = {hc_loss_ops, "src/op/loss.h"},
    [HC_CLASS_OPTIMIZER] = {hc_optimizer_ops, "src/op/optimizer.h"},
    [HC_CLASS_CONTROL] = {hc_control_ops, "src/op/control.h"},
    [HC_CLASS_COLLECTIVE] = {hc_collective_ops, "src/op/collective.h"},
    [HC_CLASS_QUANT] = {hc_quant_ops, "src/op/quant.h"},
    [HC_CLASS_DEFINED] = {hc_defined_ops, NULL},
};

const struct hc_descriptor *hc_descriptor(enum hc_op op)
{
    return families[hc_ops[op].class_].ops[op];
}

const char *hc_op_contract(enum hc_op op)
{
    if (op == HC_OP_gemm_q)
        return "src/op/quant.h"; /* beside the ops that make its operands */
    const char *header = families[hc_ops[op].class_].header;
    return header ? header : hc_defined_text(op);
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

enum {
    FLOAT = 1u << HC_FP32 | 1u << HC_BF16 | 1u << HC_FP16,
    FP64 = 1u << HC_FP64,
    ANY = ((1u << HC_FORMAT_COUNT) - 1) & ~(1u << HC_U8)
};

unsigned hc_slot_formats(enum hc_op op, int slot, bool fp64)
{
    const struct hc_slot *s = hc_slot(op, slot);
    unsigned floats = s->format == HC_ALLOW_FLOAT_OR_FP8 ? FLOAT | HC_FP8_FORMATS : FLOAT;
    switch (s->format) {
    case HC_ALLOW_FLOAT:
    case HC_ALLOW_FLOAT_OR_FP8:
        if (slot == HC_FIRST && hc_descriptor(op)->fp64)
            return floats | FP64;
        return fp64 ? FP64 : floats;
    case HC_ALLOW_WIDE:
        return fp64 ? FP64 : 1u << HC_FP32;
    case HC_ALLOW_LIKE:
    case HC_ALLOW_LIKE_OR_FP8:
        return hc_slot_formats(op, s->like, fp64);
    case HC_ALLOW_CODES:
    case HC_ALLOW_LIKE_CODES:
        return HC_CODE_FORMATS;
    case HC_ALLOW_SCALES:
        return HC_SCALE_FORMATS;
    case HC_ALLOW_FLOAT_OR_FP64:
        return FLOAT | FP64;
    case HC_ALLOW_ANY:
        return ANY;
    case HC_ALLOW_NARROW:
        return HC_NARROW_FORMATS;
    case HC_ALLOW_FP32:
        return 1u << HC_FP32;
    case HC_ALLOW_I32:
        return 1u << HC_I32;
    case HC_ALLOW_U8:
        return 1u << HC_U8;
    }
    return 0;
}

const char *hc_formats_text(unsigned formats, char text[HC_FORMATS_TEXT])
{
    const char *names[HC_FORMAT_COUNT];
    int count = 0;
    for (int i = 1; i <= HC_FORMAT_COUNT; i++) /* fp64, which is 0, last */
        if (formats >> i % HC_FORMAT_COUNT & 1)
            names[count++] = hc_formats[i % HC_FORMAT_COUNT].name;
    (void)snprintf(text, HC_FORMATS_TEXT, "%s", formats == ANY ? "any format but u8" : names[0]);
    for (int i = 1; i < count && formats != ANY; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, HC_FORMATS_TEXT - used, "%s%s", i < count - 1 ? ", " : " or ",
                       names[i]);
    }
    return text;
}
