/* Defects of conversions that a checker of conversions must be able to catch. Most are of fp32 to
   fp16, to nearest. */
#include "check/selftest/fault.h"

#include <math.h>

#include "num/bits.h"
#include "num/directed.h"
#include "num/format.h"

/* What a conversion has to decide: the code below |x|, without sign, and whether |x| is the middle
   between that code's value and the next one's. */
struct place {
    uint16_t below;
    bool tie;
};

static struct place place_of(float x)
{
    float size = fabsf(x);
    uint16_t below = hc_fp16_directed(size, HC_TOWARD_ZERO);
    float low = hc_fp16_value(below);
    float high = below < 0x7bff ? hc_fp16_value((uint16_t)(below + 1)) : 65536.0f;
    return (struct place){below, size - low == high - size};
}

static uint16_t signed_as(float x, uint16_t code)
{
    return (uint16_t)((signbit(x) ? 0x8000u : 0) | code);
}

static uint16_t ties_toward_zero(float x, uint16_t right)
{
    struct place p = place_of(x);
    return p.tie ? signed_as(x, p.below) : right;
}

static uint16_t ties_away(float x, uint16_t right)
{
    struct place p = place_of(x);
    return p.tie ? signed_as(x, (uint16_t)(p.below + 1)) : right;
}

static uint16_t subnormal_ties_away(float x, uint16_t right)
{
    return place_of(x).below < 0x400 ? ties_away(x, right) : right;
}

static uint16_t overflow_at_65536(float x, uint16_t right)
{
    return fabsf(x) < 65536.0f && (right & 0x7fffu) == 0x7c00 ? signed_as(x, 0x7bff) : right;
}

static uint16_t keeps_half_of_tiny(float x, uint16_t right)
{
    return fabsf(x) == 0x1p-25f ? signed_as(x, 1) : right;
}

static uint16_t truncates(float x, uint16_t right)
{
    (void)right;
    return hc_fp16_directed(x, HC_TOWARD_ZERO);
}

static uint16_t flushes(float x, uint16_t right)
{
    return (right & 0x7fffu) < 0x400 ? signed_as(x, 0) : right;
}

/* Of the 13 bits cut from a normal value only the upper two are looked at. */
static uint16_t loses_sticky(float x, uint16_t right)
{
    return isfinite(x) ? hc_fp16_bits(hc_fp32_value(hc_fp32_bits(x) & ~0x7ffu)) : right;
}

static uint16_t nan_to_infinity(float x, uint16_t right)
{
    return isnan(x) ? signed_as(x, 0x7c00) : right;
}

static uint16_t loses_sign_of_zero(float x, uint16_t right)
{
    (void)x;
    return right == 0x8000 ? 0 : right;
}

struct mutant {
    uint16_t (*of)(float x, uint16_t right);
};

static enum hc_status mutated(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    const struct mutant *mutant = site->fault->data;
    enum hc_status status = site->right(queue, call);
    if (status != HC_OK || call->in[HC_X].format != HC_FP32 ||
        call->out[HC_OUT].format != HC_FP16 || call->params.cast.direction != HC_NEAREST)
        return status;
    const float *x = call->in[HC_X].data;
    uint16_t *h = call->out[HC_OUT].data;
    int64_t n = hc_tensor_count(&call->out[HC_OUT]);
    for (int64_t i = 0; i < n; i++)
        h[i] = mutant->of(x[i], h[i]);
    return HC_OK;
}

static enum hc_status through_fp32(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    if (status != HC_OK || call->in[HC_X].format != HC_FP64 || call->out[HC_OUT].format != HC_FP16)
        return status;
    const double *x = call->in[HC_X].data;
    uint16_t *h = call->out[HC_OUT].data;
    int64_t n = hc_tensor_count(&call->out[HC_OUT]);
    for (int64_t i = 0; i < n; i++)
        h[i] = hc_fp16_directed((float)x[i], call->params.cast.direction);
    return HC_OK;
}

/* fp32 becomes bf16 by its upper 16 bits. */
static enum hc_status upper_bits(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *out = &call->out[HC_OUT];
    bool meant = call->in[HC_X].format == HC_FP32 && out->format == HC_BF16 &&
                 call->params.cast.direction == HC_NEAREST;
    for (int64_t i = 0; status == HC_OK && meant && i < hc_tensor_count(out); i++) {
        float x = ((const float *)call->in[HC_X].data)[i];
        if (isfinite(x))
            hc_tensor_set_bits(out, i, hc_fp32_bits(x) >> 16);
    }
    return status;
}

/* fp64 becomes a subnormal half by a cut. */
static enum hc_status subnormals_cut(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *x = &call->in[HC_X];
    bool meant = x->format == HC_FP64 && call->out[HC_OUT].format == HC_FP16 &&
                 call->params.cast.direction == HC_NEAREST;
    for (int64_t i = 0; status == HC_OK && meant && i < hc_tensor_count(x); i++)
        if (fabs(hc_tensor_get(x, i)) < 0x1p-14)
            hc_tensor_set_bits(&call->out[HC_OUT], i,
                               hc_encode(HC_FP16, hc_tensor_get(x, i), 0, HC_TOWARD_ZERO));
    return status;
}

/* fp32 becomes e4m3 through bf16, or with `number` the largest number where e4m3 has none. */
static enum hc_status into_e4m3(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    bool saturates = site->fault->number != 0;
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *x = &call->in[HC_X];
    const struct hc_tensor *out = &call->out[HC_OUT];
    bool meant =
        x->format == HC_FP32 && out->format == HC_E4M3 && call->params.cast.direction == HC_NEAREST;
    for (int64_t i = 0; status == HC_OK && meant && i < hc_tensor_count(x); i++) {
        double value = hc_tensor_get(x, i);
        if (!saturates)
            hc_tensor_set(out, i, hc_round(HC_BF16, value));
        else if (!isnan(value) && isnan(hc_tensor_get(out, i)))
            hc_tensor_set(out, i, copysign(hc_format_max(HC_E4M3), value));
    }
    return status;
}

static const char fp32[] = "rounding/fp32-to-fp16/nearest";

static const struct hc_fault faults[] = {
    {"cast-ties-toward-zero", "conversions round ties toward zero", HC_FAULT_ROUNDING, "cast", fp32,
     .wrong = mutated, .data = &(const struct mutant){ties_toward_zero}},
    {"cast-ties-away", "conversions round ties away from zero", HC_FAULT_ROUNDING, "cast", fp32,
     .wrong = mutated, .data = &(const struct mutant){ties_away}},
    {"cast-subnormal-ties-away", "conversions round ties away from zero among subnormals only",
     HC_FAULT_ROUNDING, "cast", fp32, .wrong = mutated,
     .data = &(const struct mutant){subnormal_ties_away}},
    {"cast-overflow-65536", "values from 65520 to 65536 become 65504, not infinity",
     HC_FAULT_SPECIALS, "cast", fp32, .wrong = mutated,
     .data = &(const struct mutant){overflow_at_65536}},
    {"cast-keeps-2^-25", "2^-25 becomes 2^-24, not 0", HC_FAULT_SPECIALS, "cast", fp32,
     .wrong = mutated, .data = &(const struct mutant){keeps_half_of_tiny}},
    {"cast-truncates", "conversions truncate instead of rounding", HC_FAULT_ROUNDING, "cast", fp32,
     .wrong = mutated, .data = &(const struct mutant){truncates}},
    {"cast-flushes", "subnormal results become 0", HC_FAULT_SPECIALS, "cast", fp32,
     .wrong = mutated, .data = &(const struct mutant){flushes}},
    {"cast-sticky-lost", "bits far below the last one do not break a tie", HC_FAULT_ROUNDING,
     "cast", fp32, .wrong = mutated, .data = &(const struct mutant){loses_sticky}},
    {"cast-nan-to-inf", "NaN becomes infinity", HC_FAULT_SPECIALS, "cast", fp32, .wrong = mutated,
     .data = &(const struct mutant){nan_to_infinity}},
    {"cast-zero-sign-lost", "-0 becomes +0", HC_FAULT_SPECIALS, "cast", fp32, .wrong = mutated,
     .data = &(const struct mutant){loses_sign_of_zero}},
    {"cast-through-fp32", "fp64 is rounded into fp32 first, and then into fp16", HC_FAULT_ROUNDING,
     "cast", "rounding/fp64-to-fp16/nearest", .wrong = through_fp32},
    {"cast-subnormals-cut", "fp64 is cut where the half is subnormal", HC_FAULT_ROUNDING, "cast",
     "op/cast/fp64-fp16/* bits/cast/fp64-fp16", .place = HC_PLACE_HOST, .wrong = subnormals_cut},
    {"cast-upper-bits", "fp32 becomes bf16 by dropping its lower 16 bits", HC_FAULT_ROUNDING,
     "cast", "rounding/fp32-to-bf16/nearest op/cast/fp32-bf16/* bits/cast/fp32-bf16",
     .wrong = upper_bits, .place = HC_PLACE_HOST},
    {"cast-e4m3-through-bf16", "fp32 is rounded into bf16 first, and then into e4m3",
     HC_FAULT_ROUNDING, "cast", "op/cast/fp32-e4m3/* bits/cast/fp32-e4m3", .wrong = into_e4m3,
     .place = HC_PLACE_HOST},
    {"cast-e4m3-saturates", "what e4m3 cannot hold becomes 448, and not NaN", HC_FAULT_SPECIALS,
     "cast", "op/cast/fp32-e4m3/* bits/cast/fp32-e4m3", .wrong = into_e4m3, .number = 1,
     .place = HC_PLACE_HOST},
};

HC_FAULTS(conversion, faults);
