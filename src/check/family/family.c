#include "check/family/family.h"

#include "op/later.h"

#define HC_NO_DEFINED_OPS
#define HC_OP(name, class, inputs, outputs, title) extern const struct hc_family hc_family_##name;
#include "op/ops.def"
#undef HC_OP

static const struct hc_family *of[HC_OP_ROOM] = {
#define HC_OP(name, class, inputs, outputs, title) [HC_OP_##name] = &hc_family_##name,
#include "op/ops.def"
#undef HC_OP
};

const struct hc_family *hc_family(enum hc_op op)
{
    return of[op] ? of[op] : hc_family_defined(op);
}

const struct hc_family *hc_family_replace(enum hc_op op, const struct hc_family *family)
{
    const struct hc_family *old = hc_family(op);
    of[op] = family;
    return old;
}
