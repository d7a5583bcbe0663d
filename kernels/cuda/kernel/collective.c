/* all_reduce: a thread for each element of the average, which reads that element of every rank.
   What is added to what depends on the element and on the number of ranks alone, never on the
   grid. */
#include "kernels/element/collective.h"

#include "kernels/cuda/kernel/elements.h"

HC_ON_DEVICE void hc_dk_all_reduce_body(const struct hc_call *c)
{
    const struct hc_tensor *x = &c->in[HC_ALL_REDUCE_X];
    struct hc_average a =
        hc_average_of(&c->params.all_reduce, x->format, x->data, x->shape[0], x->shape[1]);
    for (int64_t i = hc_dk_first(); i < a.count; i += hc_dk_stride())
        hc_dk_store(&c->out[HC_ALL_REDUCE_OUT], i, hc_element_all_reduce(&a, i));
}
HC_LAUNCHABLE(all_reduce, struct hc_call)
