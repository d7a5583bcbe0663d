/* Copies between fp32, bf16 and fp16: a bias to all rows, a C to where cuBLAS adds to it, an fp32
   result to its own format. */
#include "kernels/cuda/kernel/arguments.h"

#include "kernels/cuda/kernel/elements.h"

HC_ON_DEVICE void hc_dk_broadcast_body(const struct hc_dk_broadcast *a)
{
    int64_t period = hc_dk_count(&a->from);
    int64_t n = hc_dk_count(&a->to);
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride()) {
        float value = a->from.data ? a->by * hc_dk_load(&a->from, i % period) : 0;
        hc_dk_store(&a->to, i, a->no_minus ? value + 0.0f : value);
    }
}
HC_LAUNCHABLE(broadcast, struct hc_dk_broadcast)
