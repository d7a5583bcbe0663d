#include "reference.h"

#include <mpfr.h>

#include "reference/kept.h"
#include "reference/unit/rules.h"
#include "op/later.h"

#define HC_NO_DEFINED_OPS
#define HC_OP(name, class, inputs, outputs, title) hc_reference hc_reference_##name;
#include "op/ops.def"
#undef HC_OP

hc_reference *const hc_references[HC_OP_ROOM] = {
#define HC_OP(name, class, inputs, outputs, title) [HC_OP_##name] = hc_reference_##name,
#include "op/ops.def"
#undef HC_OP
#define HC_OP(name, class, inputs, outputs, title) [HC_OP_##name] = hc_reference_defined,
#include "op/defined.def"
#undef HC_OP
};

static _Thread_local const struct hc_call *promised;
static _Thread_local uint64_t promises;

void hc_reference_begin(const struct hc_call *call)
{
    promised = call;
    promises++;
}

uint64_t hc_reference_promise(const struct hc_call *call)
{
    return promised == call ? promises : 0;
}

void hc_reference_end(void)
{
    promised = NULL;
    hc_channel_end();
    hc_reference_defined_end();
    mpfr_free_cache();
    hc_definition_end();
}

struct hc_exact hc_reference_value(const struct hc_call *call, int out, int64_t index)
{
    struct hc_exact want;
    hc_references[call->op](&(struct hc_element){call, out, index}, HC_REFERENCE_PRECISION, &want);
    return want;
}
