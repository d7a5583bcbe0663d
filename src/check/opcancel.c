/* Values that leave little of each other. */
#include <math.h>

#include "check/opvalue.h"
#include "num/ulp.h"

/* Along the direction in which the op sums: elements there are `stride` apart. */
static int64_t stride_of(const struct hc_call *call, int slot)
{
    const struct hc_tensor *t = &call->in[slot];
    bool along_rows;
    switch (call->op) {
    case HC_OP_gemm:
        along_rows = slot == 0 ? call->params.gemm.transpose_a : !call->params.gemm.transpose_b;
        return along_rows ? t->shape[1] : 1;
    case HC_OP_conv2d_bwd_data:
        return slot == 0 ? 1 : t->shape[1] * t->shape[2] * t->shape[3];
    case HC_OP_conv2d_bwd_filter:
        return t->shape[1] * t->shape[2] * t->shape[3];
    case HC_OP_avg_pool:
        return t->shape[3];
    default:
        return 1;
    }
}

/* Neighbours along the sum have factors y that agree, and x that agree but for the sign and 2^-6 of
   their size; pairs differ in size by up to 2^8, so that sums have more bits than fp32. */
static double paired(struct hc_place p, int slot, char role)
{
    uint64_t stride = (uint64_t)stride_of(p.call, slot);
    uint64_t along = p.index / stride;
    uint64_t first = p.index - (along % 2) * stride;
    double beside = along % 2 ? 0x1p-6 * (hc_place_uniform(&p, 2) - 0.5) : 0;
    double flip = role == 'x' && along % 2 ? -1 : 1;
    p.index = first;
    return flip * ldexp(hc_place_normal(&p) * (1 + beside), -(int)(8 * hc_place_uniform(&p, 3)));
}

/* What takes nearly all away from the slots before. */
static double opposite(const struct hc_place *p)
{
    const struct hc_tensor *in = p->call->in;
    int64_t i = (int64_t)p->index;
    double x = hc_tensor_get(&in[0], i);
    double by = 1;
    if (p->call->op == HC_OP_fma)
        by = hc_tensor_get(&in[1], i);
    if (p->call->op == HC_OP_axpy)
        by = p->call->params.axpy.alpha;
    double whole = hc_round(p->format, (p->call->op == HC_OP_sub ? 1 : -1) * x * by);
    return whole + (floor(hc_place_uniform(p, 2) * 5) - 2) * hc_ulp(p->format, whole);
}

double hc_place_cancelling(const struct hc_place *p, int slot, char role)
{
    switch (hc_ops[p->call->op].class_) {
    case HC_CLASS_ELEMENTWISE:
        return slot == 0 || role == 'y' ? hc_place_normal(p) : opposite(p);
    case HC_CLASS_NORM:
        return role == 'x' ? 500 + 8 * hc_place_normal(p) : hc_place_normal(p);
    case HC_CLASS_LOSS:
        return 100 + 4 * hc_place_normal(p);
    default:
        return paired(*p, slot, role);
    }
}
