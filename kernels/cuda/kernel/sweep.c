/* Sweeps: operands by their numbers, and the judge of the results. */
#include "kernels/cuda/kernel/sweep.h"

#include "kernels/cuda/kernel/elements.h"
#include "num/integer16.h"

HC_ON_DEVICE void hc_dk_operands_body(const struct hc_dk_operands *a)
{
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride()) {
        uint32_t k = a->first + (uint32_t)i;
        a->out[i] = a->unwritten;
        if (a->wide) {
            a->wide[i] = k;
        } else {
            a->x[i] = (uint16_t)(k >> 16);
            a->y[i] = (uint16_t)k;
        }
    }
}
HC_LAUNCHABLE(operands)

/* The result for operands number k. */
HC_ON_DEVICE uint16_t hc_dk_right_result(const struct hc_dk_judge *a, uint32_t k)
{
    uint32_t x = k >> 16;
    uint32_t y = k & 65535u;
    switch (a->op) {
    case HC_OP_add:
        return hc_integer_add(a->to, x, y);
    case HC_OP_sub:
        return hc_integer_add(a->to, x, y ^ 0x8000u);
    case HC_OP_mul:
        return hc_integer_mul(a->to, x, y);
    case HC_OP_div:
        return hc_integer_div(a->to, x, y);
    default:
        return a->from == HC_I32 ? hc_integer_from_i32(a->to, k, a->direction)
                                 : hc_integer_from_fp32(a->to, k, a->direction);
    }
}

/* The threads of a block gather in shared memory what each has seen; the first of them adds it to the
   whole. */
HC_ON_DEVICE void hc_dk_judge_body(const struct hc_dk_judge *a)
{
    struct hc_fields16 fields = hc_fields16_of(a->to);
    unsigned *shared = (unsigned *)hc_shared();
    unsigned checked = 0;
    unsigned wrong = 0;
    unsigned from_end = 0;
    if (hc_thread() < 3)
        shared[hc_thread()] = 0;
    hc_sync();
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride()) {
        uint16_t want = hc_dk_right_result(a, a->first + (uint32_t)i);
        checked++;
        if (hc_same16(fields, want, a->out[i]))
            continue;
        wrong++;
        if (from_end == 0)
            from_end = (unsigned)(a->n - i);
    }
    (void)hc_atomic_add(&shared[0], checked);
    (void)hc_atomic_add(&shared[1], wrong);
    (void)hc_atomic_max(&shared[2], from_end);
    hc_sync();
    if (hc_thread() > 0)
        return;
    (void)hc_atomic_add(&a->judged[0], shared[0]);
    (void)hc_atomic_add(&a->judged[1], shared[1]);
    (void)hc_atomic_max(&a->judged[2], shared[2]);
}
HC_LAUNCHABLE(judge)
