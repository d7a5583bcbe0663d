#include "check/generate/op_space.h"

#include "check/family/family.h"
#include "op/descriptor.h"

struct hc_opspace hc_opspace(enum hc_op op)
{
    static const struct hc_format_set no_sets[] = {{.name = NULL}};
    static const struct hc_op_shape no_shapes[] = {{.name = NULL}};
    static const struct hc_variant no_variants[] = {{.name = NULL}};
    const struct hc_family *f = hc_family(op);
    return (struct hc_opspace){f->sets ? f->sets : no_sets, f->shapes ? f->shapes : no_shapes,
                               f->variants ? f->variants : no_variants};
}

const char *hc_opspace_lacks(enum hc_op op)
{
    const struct hc_family *f = hc_family(op);
    if (f->sets && !f->sets->name)
        return NULL;
    return !f->sets ? "formats" : !f->shapes ? "shapes" : !f->variants ? "parameters" : NULL;
}

bool hc_format_set_allowed(enum hc_op op, const struct hc_format_set *set,
                           const struct hc_variant *variant)
{
    const struct hc_family *f = hc_family(op);
    const struct hc_descriptor *d = hc_descriptor(op);
    enum hc_allowed in = d->in[HC_FIRST].format;
    enum hc_allowed out = d->out[HC_FIRST].format;
    if (f->allows && !f->allows(set, variant))
        return false;
    if (f->sets_are_chosen)
        return true;
    if (in == HC_ALLOW_FP32 && set->in != HC_FP32)
        return false;
    if (hc_is_fp8(set->in) && !(hc_slot_formats(op, HC_FIRST, false) >> set->in & 1))
        return false;
    if (set->in == HC_FP64 && !d->fp64 && in != HC_ALLOW_FLOAT_OR_FP64 && in != HC_ALLOW_ANY)
        return false;
    return (out != HC_ALLOW_LIKE && out != HC_ALLOW_FP32 && out != HC_ALLOW_WIDE) ||
           set->in == set->out;
}

static void set_format(struct hc_call *call, int number, const struct hc_format_set *set)
{
    const struct hc_family *f = hc_family(call->op);
    const struct hc_slot *slot = hc_slot(call->op, number);
    struct hc_tensor *t = hc_slot_tensor(call, number);
    bool output = number >= hc_ops[call->op].inputs;
    bool state = slot->size == HC_SIZE_CHANNELS || f->state >> number & 1;
    bool addend = f->addends >> number & 1;
    switch (slot->format) {
    case HC_ALLOW_LIKE:
        t->format = call->in[slot->like].format;
        break;
    case HC_ALLOW_LIKE_OR_FP8:
        t->format = hc_is_fp8(set->in) ? set->state : set->in;
        break;
    case HC_ALLOW_LIKE_CODES:
        t->format = set->state;
        break;
    case HC_ALLOW_SCALES:
        t->format = set->work;
        break;
    case HC_ALLOW_FP32:
        t->format = HC_FP32;
        break;
    case HC_ALLOW_WIDE:
        t->format = set->in == HC_FP64 ? HC_FP64 : HC_FP32;
        break;
    case HC_ALLOW_I32:
        t->format = HC_I32;
        break;
    default:
        t->format = state ? set->state : output || addend ? set->out : set->in;
    }
}

/* Slots that may be absent: those of a compensation hold state; the others in fp32 hold a scalar, a
   flag or an override. The addend of a product may be absent, too. */
static bool is_compensation(const struct hc_slot *slot)
{
    return slot->optional && slot->format == HC_ALLOW_LIKE;
}

static bool is_extra(enum hc_op op, int number)
{
    const struct hc_slot *slot = hc_slot(op, number);
    return slot->optional &&
           (slot->format == HC_ALLOW_FP32 || hc_family(op)->addends >> number & 1);
}

/* What is absent has no elements. A C that has none because the product has no rows is there. */
bool hc_op_absent(const struct hc_call *call, int number)
{
    const struct hc_tensor *t = hc_slot_tensor_const(call, number);
    return (is_extra(call->op, number) || is_compensation(hc_slot(call->op, number))) &&
           t->rank == 1 && t->shape[0] == 0;
}

struct hc_call hc_op_call(enum hc_op op, const struct hc_format_set *set,
                          const struct hc_op_shape *shape, const struct hc_variant *variant)
{
    const struct hc_family *f = hc_family(op);
    struct hc_call call = {.op = op, .params = variant->params};
    if (f->open)
        f->open(&call, shape->d, variant);
    else
        call.in[HC_FIRST] = hc_tensor1(HC_FP32, shape->d[0], NULL);
    const struct hc_tensor *x = &call.in[HC_FIRST];
    for (int i = 0; i < hc_slot_count(op); i++) {
        const struct hc_slot *slot = hc_slot(op, i);
        struct hc_tensor *t = hc_slot_tensor(&call, i);
        if (slot->size == HC_SIZE_FIRST)
            *t = *x;
        else if (slot->size == HC_SIZE_CHANNELS)
            *t = hc_tensor1(HC_FP32, x->shape[x->rank - 1], NULL);
        else if (slot->size == HC_SIZE_FIXED)
            *t = hc_tensor1(HC_FP32, slot->count, NULL);
        if ((variant->bare && is_extra(op, i)) || (!variant->compensated && is_compensation(slot)))
            *t = hc_tensor1(HC_FP32, 0, NULL);
        set_format(&call, i, set);
    }
    hc_call_compute_in(&call, set->work);
    if (f->finish)
        f->finish(&call, shape->d, set);
    return call;
}
