/* Elementwise ops as loops over arrays of the working format. maps.def is their list, with the
   formula of each; maps.inc is their text. */
#ifndef HC_KERNELS_ELEMENT_MAPS_H
#define HC_KERNELS_ELEMENT_MAPS_H

#include <stdbool.h>

#include "kernels/element/arithmetic.h"
#include "kernels/element/leaky.h"
#include "kernels/element/scaling.h"
#include "op/call.h"

/* What an element needs besides the inputs' elements. */
struct hc_map_scalars {
    int inputs;            /* how many inputs are arrays */
    enum hc_format format; /* of the operands, for fma */
    hc_number factor;      /* axpy: alpha; scale: s; unscale: s or 1/s; leaky ReLU: the slope */
    bool reciprocal;       /* unscale */
};

/* An elementwise op on n elements; `out` may be one of the inputs. */
typedef void hc_map(const hc_number *const in[3], hc_number *out, int64_t n,
                    const struct hc_map_scalars *scalars);

/* The scalars of a call of any op in maps.def, or of fma. */
static inline struct hc_map_scalars hc_map_scalars_of(const struct hc_call *call)
{
    struct hc_map_scalars s = {.inputs = hc_ops[call->op].inputs,
                               .format = call->out[HC_OUT].format};
    if (call->op == HC_OP_axpy)
        s.factor = hc_parameter(call->params.axpy.alpha);
    if (call->op == HC_OP_leaky_relu || call->op == HC_OP_leaky_relu_bwd)
        s.factor = hc_parameter(call->params.leaky.slope);
    if (call->op == HC_OP_scale || call->op == HC_OP_unscale) {
        bool divides = call->op == HC_OP_unscale;
        float by = *(const float *)call->in[divides ? HC_UNSCALE_SCALE : HC_SCALE_S].data;
        s.reciprocal = divides && call->params.unscale.reciprocal;
        s.factor = s.reciprocal ? hc_unscale_reciprocal(by) : by;
        s.inputs = 1;
    }
    return s;
}

#endif
