#include "cli/scale/rounding.h"

#include <math.h>

static uint32_t ties_away(enum hc_format codes, float x)
{
    uint32_t below = (uint32_t)hc_encode_saturated(codes, (double)x, 0, HC_TOWARD_ZERO);
    double low = fabs(hc_decode(codes, below));
    double high = fabs(hc_decode(codes, below + 1)); /* NaN or -0 beyond the largest */
    double size = fabs((double)x);
    return below + (low < high && size - low >= high - size);
}

static uint32_t truncated(enum hc_format codes, float x)
{
    return (uint32_t)hc_encode_saturated(codes, (double)x, 0, HC_TOWARD_ZERO);
}

static uint32_t by_way_of_bf16(enum hc_format codes, float x)
{
    return (uint32_t)hc_encode_saturated(codes, hc_round(HC_BF16, (double)x), 0, HC_NEAREST);
}

static uint32_t by_way_of_fp16(enum hc_format codes, float x)
{
    return (uint32_t)hc_encode_saturated(codes, hc_round(HC_FP16, (double)x), 0, HC_NEAREST);
}

static uint32_t not_saturated(enum hc_format codes, float x)
{
    return (uint32_t)hc_encode(codes, (double)x, 0, HC_NEAREST);
}

static uint32_t flushed(enum hc_format codes, float x)
{
    double least = ldexp(1, hc_formats[codes].emin);
    double size = fabs((double)x);
    return (uint32_t)hc_encode_saturated(codes, size < least ? copysign(0, (double)x) : (double)x,
                                         0, HC_NEAREST);
}

const struct hc_wrong_rounding hc_wrong_roundings[] = {
    {"ties away from zero", ties_away},
    {"truncation", truncated},
    {"rounding by way of bf16", by_way_of_bf16},
    {"rounding by way of fp16", by_way_of_fp16},
    {"no saturation", not_saturated},
    {"subnormal codes flushed to zero", flushed},
    {0},
};
