#include "kernels/cuda/scaling.h"

#include "kernels/cuda/device.h"
#include "kernels/load.h"
#include "kernels/scaling.h"

HC_ON_DEVICE void hc_dk_scale_body(const struct hc_dk_scale *a)
{
    int64_t stride = (int64_t)hc_blocks() * hc_threads();
    for (int64_t i = (int64_t)hc_block() * hc_threads() + hc_thread(); i < a->n; i += stride)
        hc_store(a->y_format, a->y, i, hc_element_scale(hc_load(a->x_format, a->x, i), *a->s));
}
HC_LAUNCHABLE(scale)
