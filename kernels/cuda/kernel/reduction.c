/* sum, dot and sum_squares, and the average of what ranks have. With an fp32 accumulator every
   thread sums its own elements, every block its threads, and the last block the blocks: an order
   that depends on the number of elements alone. With a 16-bit accumulator one thread takes the
   terms in order. */
#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/arguments.h"
#include "kernels/cuda/kernel/elements.h"
#include "kernels/element/collective.h"
#include "kernels/element/round.h"

/* x[i], x[i] * y[i] or x[i]^2. */
HC_ON_DEVICE float hc_dk_term(const struct hc_call *c, int64_t i)
{
    float x = hc_dk_load(&c->in[HC_REDUCE_X], i);
    if (c->op == HC_OP_sum)
        return x;
    return x * (c->op == HC_OP_dot ? hc_dk_load(&c->in[HC_DOT_Y], i) : x);
}

/* scratch[block] = the block's sum. The last block adds them up. Shared memory: a float for every
   warp. */
HC_ON_DEVICE void hc_dk_partial_sums_body(const struct hc_dk_counted_call *a)
{
    const struct hc_call *c = &a->call;
    const float *onto =
        c->op == HC_OP_sum_squares ? (const float *)c->in[HC_SUM_SQUARES_PARTIAL].data : NULL;
    int64_t n = hc_dk_count(&c->in[HC_REDUCE_X]);
    float *shared = (float *)hc_shared();
    float *sums = (float *)c->scratch;
    float sum = 0;
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride())
        sum += hc_dk_term(c, i);
    sum = hc_dk_block_sum(sum, shared);
    if (hc_thread() == 0)
        sums[hc_block()] = sum;
    if (!hc_dk_last_block(a->counters, hc_blocks()))
        return;
    sum = hc_dk_sum_of(sums, hc_blocks(), shared);
    if (hc_thread() == 0)
        hc_dk_store(&c->out[HC_REDUCE_OUT], 0, onto ? *onto + sum : sum);
}
HC_LAUNCHABLE(partial_sums, struct hc_dk_counted_call)

/* One thread: products and partial sums are rounded into the accumulator, in the order 0, 1, 2,
   ... */
HC_ON_DEVICE void hc_dk_sum_in_order_body(const struct hc_call *c)
{
    enum hc_format accumulator = c->params.reduce.accumulator;
    int64_t n = hc_dk_count(&c->in[HC_REDUCE_X]);
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum = hc_into(accumulator, sum + hc_into(accumulator, hc_dk_term(c, i)));
    hc_dk_store(&c->out[HC_REDUCE_OUT], 0, sum);
}
HC_LAUNCHABLE(sum_in_order, struct hc_call)

/* all_reduce: a thread for each element of the average, which reads that element of every rank.
   What is added to what depends on the element and on the number of ranks alone, never on the
   grid. */
HC_ON_DEVICE void hc_dk_all_reduce_body(const struct hc_call *c)
{
    const struct hc_tensor *x = &c->in[HC_ALL_REDUCE_X];
    struct hc_average a =
        hc_average_of(&c->params.all_reduce, x->format, x->data, x->shape[0], x->shape[1]);
    for (int64_t i = hc_dk_first(); i < a.count; i += hc_dk_stride())
        hc_dk_store(&c->out[HC_ALL_REDUCE_OUT], i, hc_element_all_reduce(&a, i));
}
HC_LAUNCHABLE(all_reduce, struct hc_call)
