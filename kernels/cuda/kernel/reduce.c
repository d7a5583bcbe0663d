/* sum, dot and sum_squares. With an fp32 accumulator every thread sums its own elements, every block its threads,
   and one block the blocks: an order that depends on the number of elements alone. With a 16-bit
   accumulator one thread takes them in order. */
#include "kernels/cuda/kernel/reduce.h"

#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/elements.h"
#include "kernels/element/round.h"

HC_ON_DEVICE float hc_dk_term(const struct hc_dk_terms *t, int64_t i)
{
    float x = hc_dk_load(&t->x, i);
    return t->y.data ? x * hc_dk_load(&t->y, i) : x;
}

HC_ON_DEVICE void hc_dk_partial_sums_body(const struct hc_dk_partial_sums *a)
{
    float sum = 0;
    for (int64_t i = hc_dk_first(); i < a->terms.n; i += hc_dk_stride())
        sum += hc_dk_term(&a->terms, i);
    sum = hc_dk_block_sum(sum, (float *)hc_shared());
    if (hc_thread() == 0)
        a->to[hc_block()] = sum;
}
HC_LAUNCHABLE(partial_sums)

HC_ON_DEVICE void hc_dk_whole_sum_body(const struct hc_dk_whole_sum *a)
{
    float sum = 0;
    for (int64_t i = hc_thread(); i < a->n; i += hc_threads())
        sum += a->from[i];
    sum = hc_dk_block_sum(sum, (float *)hc_shared());
    if (hc_thread() == 0)
        hc_dk_store(&a->out, 0, a->onto ? *a->onto + sum / a->by : sum / a->by);
}
HC_LAUNCHABLE(whole_sum)

HC_ON_DEVICE void hc_dk_sum_in_order_body(const struct hc_dk_sum_in_order *a)
{
    float sum = 0;
    for (int64_t i = 0; i < a->terms.n; i++)
        sum = hc_into(a->accumulator, sum + hc_into(a->accumulator, hc_dk_term(&a->terms, i)));
    hc_dk_store(&a->out, 0, sum);
}
HC_LAUNCHABLE(sum_in_order)
