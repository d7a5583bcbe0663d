/* Copies between the formats of H: a bias to all rows, a C to where cuBLAS adds to it, a result in
   fp32 to its own format. */
#include "kernels/cuda/kernel/broadcast.h"

#include "kernels/cuda/kernel/device.h"
#include "kernels/element/load.h"

HC_ON_DEVICE void hc_dk_broadcast_body(const struct hc_dk_broadcast *a)
{
    int64_t stride = (int64_t)hc_blocks() * hc_threads();
    for (int64_t i = (int64_t)hc_block() * hc_threads() + hc_thread(); i < a->n; i += stride) {
        float value = a->from ? a->by * hc_load(a->from_format, a->from, i % a->period) : 0;
        value = a->no_minus ? value + 0.0f : value;
        hc_store(a->to_format, a->to, i, value);
    }
}
HC_LAUNCHABLE(broadcast)
