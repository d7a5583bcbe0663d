/* Holds a call to the contract of its op: first each slot to its row in the descriptor, then the
   op's own rule, then the tensors' places in memory. */
#include <stdio.h>
#include <string.h>

#include "op/call.h"
#include "num/format.h"
#include "op/descriptor.h"
#include "op/params.h"
#include "op/rule.h"

/* A slot of a call: its number, its row and its tensor, and what all slots share. */
struct operand {
    const struct hc_descriptor *op;
    int number;
    const struct hc_slot *slot;
    const struct hc_tensor *tensor;
    bool fp64;
};

/* The formats that the slot may have in this call. */
static unsigned formats_of(const struct hc_call *call, const struct operand *o)
{
    const struct hc_slot *slot = o->slot;
    int like = slot->like; /* an input that may be absent has its format from another */
    while (o->op->in[like].format == HC_ALLOW_LIKE)
        like = o->op->in[like].like;
    enum hc_format other = call->in[like].format;
    bool codes = slot->format == HC_ALLOW_LIKE_CODES;
    if ((slot->format == HC_ALLOW_LIKE_OR_FP8 || codes) && hc_is_fp8(other))
        return hc_is_fnuz(other) ? HC_FNUZ_FORMATS : HC_OCP_FORMATS;
    if (slot->format == HC_ALLOW_LIKE || slot->format == HC_ALLOW_LIKE_OR_FP8 || codes)
        return 1u << other;
    return hc_slot_formats(call->op, o->number, o->fp64);
}

static enum hc_status check_format(const struct hc_call *call, const struct operand *o)
{
    const struct hc_slot *slot = o->slot;
    enum hc_format f = o->tensor->format;
    bool fp64 = o->fp64;
    unsigned formats = formats_of(call, o);
    char text[HC_FORMATS_TEXT];
    if (formats >> f & 1)
        return HC_OK;
    return hc_fail(HC_INVALID, "%s: %s is %s, not %s%s", hc_ops[call->op].name, slot->name,
                   hc_formats[f].name, hc_formats_text(formats, text),
                   fp64 && formats == 1u << HC_FP64 ? ", as the first input" : "");
}

static enum hc_status check_slot(const struct hc_call *call, const struct operand *o)
{
    const char *op = hc_ops[call->op].name;
    const struct hc_slot *slot = o->slot;
    const struct hc_tensor *t = o->tensor;
    const struct hc_tensor *x = &call->in[HC_FIRST];
    char shape[HC_SHAPE_TEXT];
    if (slot->optional && !t->data)
        return HC_OK;
    if (t->rank < 0 || t->rank > HC_MAX_RANK)
        return hc_fail(HC_INVALID, "%s: %s has rank %d", op, slot->name, t->rank);
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] < 0)
            return hc_fail(HC_INVALID, "%s: %s has shape %s", op, slot->name,
                           hc_shape_text(t, shape));
    if ((unsigned)t->format >= HC_FORMAT_COUNT)
        return hc_fail(HC_INVALID, "%s: %s has no format", op, slot->name);
    enum hc_status status = check_format(call, o);
    if (status != HC_OK || slot->size == HC_SIZE_RULE)
        return status;
    int64_t elements = slot->size == HC_SIZE_FIRST   ? hc_tensor_count(x)
                       : slot->size == HC_SIZE_FIXED ? slot->count
                       : x->rank                     ? x->shape[x->rank - 1]
                                                     : 1;
    if (hc_tensor_count(t) != elements)
        return hc_fail(HC_INVALID, "%s: %s has shape %s, not %lld element%s", op, slot->name,
                       hc_shape_text(t, shape), (long long)elements, elements == 1 ? "" : "s");
    return HC_OK;
}

static bool overlap(const struct hc_tensor *a, const struct hc_tensor *b)
{
    uintptr_t x = (uintptr_t)a->data;
    uintptr_t y = (uintptr_t)b->data;
    return x && y && x < y + hc_tensor_bytes(b) && y < x + hc_tensor_bytes(a);
}

bool hc_may_lie_in(const struct hc_call *call, int o, int i)
{
    const struct hc_tensor *in = &call->in[i];
    const struct hc_tensor *out = &call->out[o];
    const struct hc_slot *slot = &hc_descriptor(call->op)->out[o];
    bool same = in->format == out->format && hc_tensor_count(in) == hc_tensor_count(out);
    bool elementwise = hc_ops[call->op].class_ == HC_CLASS_ELEMENTWISE;
    return same && (elementwise || (slot->in_place && slot->like == i));
}

static enum hc_status check_overlaps(const struct hc_call *call, const struct hc_descriptor *d)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    for (int o = 0; o < op->outputs; o++) {
        for (int i = 0; i < op->inputs; i++)
            if (overlap(&call->out[o], &call->in[i]) &&
                (call->out[o].data != call->in[i].data || !hc_may_lie_in(call, o, i)))
                return hc_fail(HC_INVALID, "%s: %s overlaps %s", op->name, d->out[o].name,
                               d->in[i].name);
        for (int other = 0; other < o; other++)
            if (overlap(&call->out[o], &call->out[other]))
                return hc_fail(HC_INVALID, "%s: %s overlaps %s", op->name, d->out[o].name,
                               d->out[other].name);
    }
    return HC_OK;
}

enum hc_status hc_call_check(const struct hc_call *call)
{
    if ((unsigned)call->op >= (unsigned)HC_OP_COUNT)
        return hc_fail(HC_INVALID, "no op %d", (int)call->op);
    const struct hc_op_info *op = &hc_ops[call->op];
    const struct hc_descriptor *d = hc_descriptor(call->op);
    bool fp64 = call->in[HC_FIRST].format == HC_FP64 && d->fp64;
    enum hc_status status = HC_OK;
    for (int i = 0; i < op->inputs && status == HC_OK; i++)
        status = check_slot(call, &(struct operand){d, i, &d->in[i], &call->in[i], fp64});
    for (int o = 0; o < op->outputs && status == HC_OK; o++)
        status =
            check_slot(call, &(struct operand){d, op->inputs + o, &d->out[o], &call->out[o], fp64});
    if (status == HC_OK && d->rule)
        status = d->rule(call);
    return status == HC_OK ? check_overlaps(call, d) : status;
}

double hc_call_length(const struct hc_call *call)
{
    const struct hc_descriptor *d = hc_descriptor(call->op);
    return d->length ? (double)d->length(call) : 1;
}

void hc_call_compute_in(struct hc_call *call, enum hc_format format)
{
    switch (hc_ops[call->op].class_) {
    case HC_CLASS_REDUCTION:
        call->params.reduce.accumulator = format;
        break;
    case HC_CLASS_GEMM:
        if (call->op != HC_OP_gemm)
            break;
        call->params.gemm.tf32 = format == HC_TF32;
        call->params.gemm.half_accumulator = format == HC_FP16;
        break;
    case HC_CLASS_CONV:
        call->params.conv.tf32 = format == HC_TF32;
        break;
    case HC_CLASS_OPTIMIZER:
        *hc_optimizer_arithmetic(call->op, &call->params) = format;
        break;
    case HC_CLASS_COLLECTIVE:
        call->params.all_reduce.sum = format;
        break;
    default:
        break;
    }
}

bool hc_call_fp64(const struct hc_call *call)
{
    return call->in[HC_FIRST].format == HC_FP64 && hc_descriptor(call->op)->fp64;
}

static bool *as_given(enum hc_op op, union hc_params *p)
{
    switch (op) {
    case HC_OP_gemm:
        return &p->gemm.as_given;
    case HC_OP_leaky_relu:
    case HC_OP_leaky_relu_bwd:
        return &p->leaky.as_given;
    default:
        return hc_ops[op].class_ == HC_CLASS_BATCH_NORM ? &p->bn.as_given : NULL;
    }
}

bool hc_call_take_as_given(struct hc_call *call)
{
    bool *flag = hc_call_fp64(call) ? as_given(call->op, &call->params) : NULL;
    bool differs = false;
    for (const struct hc_param *p = hc_op_params(call->op); flag && p->name; p++) {
        double value;
        if (p->kind != HC_PARAM_REAL)
            continue;
        memcpy(&value, (const char *)&call->params + p->offset, sizeof value);
        differs = differs || hc_single(value, false) != value;
    }
    if (differs)
        *flag = true;
    return differs;
}

bool hc_call_tf32(const struct hc_call *call)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    bool tf32 = (call->op == HC_OP_gemm && call->params.gemm.tf32) ||
                (class_ == HC_CLASS_CONV && call->params.conv.tf32);
    return tf32 && call->in[HC_FIRST].format == HC_FP32;
}

const char *hc_shape_text(const struct hc_tensor *t, char text[HC_SHAPE_TEXT])
{
    int at = snprintf(text, HC_SHAPE_TEXT, "[");
    for (int d = 0; d < t->rank && at < HC_SHAPE_TEXT - 6; d++)
        at += snprintf(text + at, HC_SHAPE_TEXT - (size_t)at, "%s%lld", d ? ", " : "",
                       (long long)t->shape[d]);
    (void)snprintf(text + at, HC_SHAPE_TEXT - (size_t)at, "]");
    return text;
}

static const char *name_of(const struct hc_call *call, const struct hc_tensor *t)
{
    int slot = 0;
    while (hc_slot_tensor_const(call, slot) != t)
        slot++;
    return hc_slot(call->op, slot)->name;
}

enum hc_status hc_rule_rank(const struct hc_call *call, const struct hc_tensor *t, int rank)
{
    if (t->rank == rank)
        return HC_OK;
    return hc_fail(HC_INVALID, "%s: %s has rank %d, not %d", hc_ops[call->op].name,
                   name_of(call, t), t->rank, rank);
}

enum hc_status hc_rule_shape(const struct hc_call *call, const struct hc_tensor *t, int rank,
                             const int64_t *shape)
{
    char got[HC_SHAPE_TEXT];
    char text[HC_SHAPE_TEXT];
    struct hc_tensor want = {.rank = rank};
    bool same = t->rank == rank;
    for (int d = 0; d < rank; d++) {
        want.shape[d] = shape[d] < 0 && same ? t->shape[d] : shape[d];
        same = same && want.shape[d] == t->shape[d];
    }
    if (same)
        return HC_OK;
    return hc_fail(HC_INVALID, "%s: %s has shape %s, not %s", hc_ops[call->op].name,
                   name_of(call, t), hc_shape_text(t, got), hc_shape_text(&want, text));
}
