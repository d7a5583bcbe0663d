/* Sweeps over all operands of 16 bits or all fp32 and i32 numbers: the operands, generated from
   their numbers, and the judge that compares the results with the integer arithmetic of
   num/integer16.h. */
#include "kernels/cuda/kernel/arguments.h"

#include "kernels/cuda/kernel/elements.h"
#include "num/integer16.h"

/* A cast's operand is its number; of the other ops the upper half of the number is x, the lower
   y. */
HC_ON_DEVICE void hc_dk_operands_body(const struct hc_dk_sweep *a)
{
    const struct hc_call *c = &a->call;
    int64_t n = hc_dk_count(&c->out[HC_OUT]);
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride()) {
        uint32_t k = a->first + (uint32_t)i;
        ((uint16_t *)c->out[HC_OUT].data)[i] = a->unwritten;
        if (c->op == HC_OP_cast) {
            ((uint32_t *)c->in[HC_X].data)[i] = k;
        } else {
            ((uint16_t *)c->in[HC_X].data)[i] = (uint16_t)(k >> 16);
            ((uint16_t *)c->in[HC_Y].data)[i] = (uint16_t)k;
        }
    }
}
HC_LAUNCHABLE(operands, struct hc_dk_sweep)

/* The correctly rounded result for operands number k. */
HC_ON_DEVICE uint16_t hc_dk_right_result(const struct hc_call *c, uint32_t k)
{
    enum hc_format to = c->out[HC_OUT].format;
    uint32_t x = k >> 16;
    uint32_t y = k & 65535u;
    switch (c->op) {
    case HC_OP_add:
        return hc_integer_add(to, x, y);
    case HC_OP_sub:
        return hc_integer_add(to, x, y ^ 0x8000u);
    case HC_OP_mul:
        return hc_integer_mul(to, x, y);
    case HC_OP_div:
        return hc_integer_div(to, x, y);
    default:
        return c->in[HC_X].format == HC_I32 ? hc_integer_from_i32(to, k, c->params.cast.direction)
                                            : hc_integer_from_fp32(to, k, c->params.cast.direction);
    }
}

/* The threads of a block gather in shared memory (three unsigned integers) what each has seen; the
   first of them adds it to the whole. */
HC_ON_DEVICE void hc_dk_judge_body(const struct hc_dk_sweep *a)
{
    const struct hc_call *c = &a->call;
    const uint16_t *got = (const uint16_t *)c->out[HC_OUT].data;
    struct hc_fields16 fields = hc_fields16_of(c->out[HC_OUT].format);
    int64_t n = hc_dk_count(&c->out[HC_OUT]);
    unsigned *shared = (unsigned *)hc_shared();
    unsigned checked = 0;
    unsigned wrong = 0;
    unsigned from_end = 0;
    if (hc_thread() < 3)
        shared[hc_thread()] = 0;
    hc_sync();
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride()) {
        uint16_t want = hc_dk_right_result(c, a->first + (uint32_t)i);
        checked++;
        if (hc_same16(fields, want, got[i]))
            continue;
        wrong++;
        if (from_end == 0)
            from_end = (unsigned)(n - i);
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
HC_LAUNCHABLE(judge, struct hc_dk_sweep)
