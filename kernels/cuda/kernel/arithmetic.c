/* The six IEEE operations, in H and fp64. */
#include "kernels/cuda/kernel/arithmetic.h"

#include "kernels/element/arithmetic.h"
#include "kernels/cuda/kernel/elements.h"
#include "op/op.h"

HC_ON_DEVICE float hc_dk_arithmetic_h(enum hc_op op, enum hc_format f, float x, float y, float z)
{
    switch (op) {
    case HC_OP_add:
        return hc_element_add(x, y);
    case HC_OP_sub:
        return hc_element_sub(x, y);
    case HC_OP_mul:
        return hc_element_mul(x, y);
    case HC_OP_div:
        return hc_element_div(x, y);
    case HC_OP_sqrt:
        return hc_element_sqrt(x);
    default:
        return hc_element_fma(f, x, y, z);
    }
}

HC_ON_DEVICE double hc_dk_arithmetic_fp64(enum hc_op op, double x, double y, double z)
{
    switch (op) {
    case HC_OP_add:
        return x + y;
    case HC_OP_sub:
        return x - y;
    case HC_OP_mul:
        return x * y;
    case HC_OP_div:
        return x / y;
    case HC_OP_sqrt:
        return sqrt(x);
    default:
        return fma(x, y, z);
    }
}

HC_ON_DEVICE void hc_dk_arithmetic_body(const struct hc_dk_arithmetic *a)
{
    enum hc_format f = a->format;
    const void *y = a->y ? a->y : a->x;
    const void *z = a->z ? a->z : a->x;
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride())
        if (f == HC_FP64)
            ((double *)a->out)[i] = hc_dk_arithmetic_fp64(
                a->op, ((const double *)a->x)[i], ((const double *)y)[i], ((const double *)z)[i]);
        else
            hc_store(f, a->out, i,
                     hc_dk_arithmetic_h(a->op, f, hc_load(f, a->x, i), hc_load(f, y, i),
                                        hc_load(f, z, i)));
}
HC_LAUNCHABLE(arithmetic)
