/* Inputs whose terms leave little of each other. */
#include <math.h>

#include "check/generate/draw.h"
#include "num/ulp.h"

/* The elements of a slot that one sum runs over: `extent` of them, `stride` apart. */
struct run {
    int64_t stride;
    int64_t extent;
};

static struct run run_of(const struct hc_call *call, int slot)
{
    const struct hc_tensor *t = &call->in[slot];
    const int64_t *d = t->shape;
    bool along_rows;
    switch (call->op) {
    case HC_OP_gemm_q:
        return (struct run){1, d[1]};
    case HC_OP_gemm:
        along_rows = slot == 0 ? call->params.gemm.transpose_a : !call->params.gemm.transpose_b;
        return along_rows ? (struct run){d[1], d[0]} : (struct run){1, d[1]};
    case HC_OP_conv2d:
        return (struct run){1, d[3]};
    case HC_OP_conv2d_bwd_data:
        return slot == 0 ? (struct run){1, d[3]} : (struct run){d[1] * d[2] * d[3], d[0]};
    case HC_OP_conv2d_bwd_filter:
        return (struct run){d[1] * d[2] * d[3], d[0]};
    case HC_OP_avg_pool:
        return (struct run){d[3], call->params.pool.window};
    case HC_OP_all_reduce:
        return (struct run){d[1], d[0]};
    default:
        return (struct run){1, hc_tensor_count(t)};
    }
}

/* Neighbours along the sum are a pair: their factors y agree, and their x agree but for the sign.
   The one that is taken away is larger by up to 2^-6, and comes first in half of the pairs. What
   pairs leave has one sign, so that the sum is between 2^-10 and 2^-6 of its terms' magnitude and
   never less than a rounding error. Pairs differ in size by up to 2^8, so that sums have more bits
   than fp32. A last term without a partner is 2^-12 of the others' size. */
static double paired(struct hc_draw_site p, int slot, enum hc_values values)
{
    struct run run = run_of(p.call, slot);
    uint64_t along = p.index / (uint64_t)run.stride % (uint64_t)run.extent;
    bool second = along % 2;
    bool alone = !second && along + 1 == (uint64_t)run.extent;
    bool swapped = (uint32_t)(along / 2) * 2654435761u >> 31;
    bool taken = !alone && second != swapped;
    double beside = taken ? 0x1p-7 * (1 + hc_draw_uniform(&p, 2)) / 2 : 0;
    double flip = values == HC_VALUES_DATA && taken ? -1 : 1;
    p.index -= second ? (uint64_t)run.stride : 0;
    int smaller = (int)(8 * hc_draw_uniform(&p, 3)) + (alone ? 12 : 0);
    return flip * ldexp(fabs(hc_draw_normal(&p)) * (1 + beside), -smaller);
}

bool hc_op_cancels(const struct hc_call *call)
{
    switch (hc_ops[call->op].class_) {
    case HC_CLASS_REDUCTION:
    case HC_CLASS_GEMM:
    case HC_CLASS_CONV:
    case HC_CLASS_POOL:
    case HC_CLASS_COLLECTIVE:
        return run_of(call, 0).extent > 1;
    default:
        return true;
    }
}

/* A value that takes away nearly all that the slots before it come to. */
static double opposite(const struct hc_draw_site *p)
{
    const struct hc_tensor *in = p->call->in;
    int64_t i = (int64_t)p->index;
    double x = hc_tensor_get(&in[HC_X], i);
    double by = 1;
    if (p->call->op == HC_OP_fma)
        by = hc_tensor_get(&in[HC_Y], i);
    if (p->call->op == HC_OP_axpy)
        by = p->call->params.axpy.alpha;
    double whole = hc_round(p->format, (p->call->op == HC_OP_sub ? 1 : -1) * x * by);
    return whole + (floor(hc_draw_uniform(p, 2) * 5) - 2) * hc_ulp(p->format, whole);
}

double hc_draw_cancelling(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    switch (hc_ops[p->call->op].class_) {
    case HC_CLASS_ELEMENTWISE:
        return slot == 0 || values == HC_VALUES_FACTOR ? hc_draw_normal(p) : opposite(p);
    case HC_CLASS_NORM:
        return values == HC_VALUES_DATA ? 500 + 8 * hc_draw_normal(p) : hc_draw_normal(p);
    case HC_CLASS_LOSS:
        return 100 + 4 * hc_draw_normal(p);
    default:
        return paired(*p, slot, values);
    }
}
