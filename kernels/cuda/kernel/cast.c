/* Conversions between any two formats in the four directions. */
#include "kernels/cuda/kernel/cast.h"

#include "kernels/cuda/kernel/elements.h"
#include "num/directed.h"
#include "num/encode.h"

HC_ON_DEVICE void hc_dk_cast_body(const struct hc_dk_cast *a)
{
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride())
        hc_dk_store(&a->to, i, hc_dk_load(&a->from, i));
}
HC_LAUNCHABLE(cast)

HC_ON_DEVICE void hc_dk_cast_directed_body(const struct hc_dk_cast_directed *a)
{
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride())
        a->to[i] = a->format == HC_FP16 ? hc_fp16_directed(a->from[i], a->direction)
                                        : hc_bf16_directed(a->from[i], a->direction);
}
HC_LAUNCHABLE(cast_directed)

HC_ON_DEVICE uint64_t hc_dk_get_bits(int bytes, const void *data, int64_t i)
{
    switch (bytes) {
    case 1:
        return ((const uint8_t *)data)[i];
    case 2:
        return ((const uint16_t *)data)[i];
    case 4:
        return ((const uint32_t *)data)[i];
    default:
        return ((const uint64_t *)data)[i];
    }
}

HC_ON_DEVICE void hc_dk_put_bits(int bytes, void *data, int64_t i, uint64_t bits)
{
    switch (bytes) {
    case 1:
        ((uint8_t *)data)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)data)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)data)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)data)[i] = bits;
    }
}

HC_ON_DEVICE void hc_dk_cast_any_body(const struct hc_dk_cast_any *a)
{
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride()) {
        double value =
            hc_decode_as(&a->from_format, hc_dk_get_bits(a->from_format.bytes, a->from, i));
        hc_dk_put_bits(a->to_format.bytes, a->to, i,
                       hc_encode_as(&a->to_format, value, 0, a->direction));
    }
}
HC_LAUNCHABLE(cast_any)
