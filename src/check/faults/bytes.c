/* Defects of conversions into formats of one byte, as emulations and kernels have had them, and of
   the way back. */
#include "check/selftest/fault.h"

#include <math.h>

#include "num/bits.h"
#include "num/narrow8.h"

/* A conversion of the fp32 number x into `to`, of which `right` is the right code. */
struct into {
    enum hc_format to;
    bool saturate;
    float x;
    uint8_t right;
};

static uint8_t code_of(const struct into *c, float x)
{
    struct hc_narrow8 n = hc_narrow8_of(&hc_formats[c->to], c->saturate);
    return hc_narrow8(&n, hc_fp32_bits(x));
}

static uint8_t signed_as(const struct into *c, uint64_t magnitude)
{
    const struct hc_format_info *f = &hc_formats[c->to];
    return (uint8_t)(magnitude | (signbit(c->x) && f->sign ? UINT64_C(1) << (f->bits - 1) : 0));
}

static uint8_t largest_of(const struct into *c)
{
    return signed_as(c, hc_encode(c->to, hc_format_max(c->to), 0, HC_NEAREST));
}

/* The code of the number below |x|, without the sign. */
static uint64_t below(const struct into *c)
{
    return hc_encode_saturated(c->to, fabs((double)c->x), 0, HC_TOWARD_ZERO);
}

/* Whether |x| is the middle of two neighbours of the format. */
static bool is_tie(const struct into *c)
{
    double low = hc_decode(c->to, below(c));
    double high = hc_decode(c->to, below(c) + 1);
    return fabs((double)c->x) == (low + high) / 2;
}

static uint8_t through_fp16(const struct into *c)
{
    return code_of(c, hc_fp16_value(hc_fp16_bits(c->x)));
}

static uint8_t through_bf16(const struct into *c)
{
    return code_of(c, hc_bf16_value(hc_bf16_bits(c->x)));
}

static uint8_t ties_away(const struct into *c)
{
    return is_tie(c) ? signed_as(c, below(c) + 1) : c->right;
}

static uint8_t ties_to_zero(const struct into *c)
{
    return is_tie(c) ? signed_as(c, below(c)) : c->right;
}

static uint8_t truncates(const struct into *c)
{
    return isfinite(c->x) ? signed_as(c, below(c)) : c->right;
}

static uint8_t loses_sticky(const struct into *c)
{
    uint32_t bits = hc_fp32_bits(c->x);
    return isfinite(c->x) ? code_of(c, hc_fp32_value(bits & ~0xfffffu)) : c->right;
}

static uint8_t flushes(const struct into *c)
{
    double normal = ldexp(1, hc_formats[c->to].emin);
    return fabs(hc_decode(c->to, c->right)) < normal ? signed_as(c, 0) : c->right;
}

/* The fraction wraps to 0, and the exponent stays. */
static uint8_t loses_carry(const struct into *c)
{
    uint64_t ones = (UINT64_C(1) << (hc_formats[c->to].precision - 1)) - 1;
    bool carried = isfinite(c->x) && (below(c) & ones) == ones &&
                   c->right == signed_as(c, below(c) + 1) && below(c) > ones;
    return carried ? signed_as(c, below(c) & ~ones) : c->right;
}

/* What is larger than the largest number overflows, also where it rounds to that number. */
static uint8_t decides_early(const struct into *c)
{
    bool beyond = isfinite(c->x) && fabs((double)c->x) > hc_format_max(c->to);
    return beyond ? code_of(c, copysignf(INFINITY, c->x)) : c->right;
}

static uint8_t overflows_at_480(const struct into *c)
{
    return isfinite(c->x) && fabsf(c->x) < 480 && fabsf(c->x) > 448 ? largest_of(c) : c->right;
}

static uint8_t always_saturates(const struct into *c)
{
    bool beyond = !isnan(c->x) && fabs((double)c->x) > hc_format_max(c->to);
    return beyond ? largest_of(c) : c->right;
}

static uint8_t never_saturates(const struct into *c)
{
    const struct into plain = {c->to, false, c->x, c->right};
    return code_of(&plain, c->x);
}

static uint8_t infinity_stays(const struct into *c)
{
    const struct into plain = {c->to, false, c->x, c->right};
    return isinf(c->x) ? code_of(&plain, c->x) : c->right;
}

static uint8_t nan_to_largest(const struct into *c)
{
    return isnan(c->x) ? largest_of(c) : c->right;
}

static uint8_t loses_sign_of_zero(const struct into *c)
{
    return hc_decode(c->to, c->right) == 0 ? 0 : c->right;
}

static uint8_t keeps_sign_of_zero(const struct into *c)
{
    return hc_decode(c->to, c->right) == 0 ? signed_as(c, 0) : c->right;
}

static uint8_t keeps_half_of_tiny(const struct into *c)
{
    return fabs((double)c->x) == hc_format_tiny(c->to) / 2 ? signed_as(c, 1) : c->right;
}

/* floor(|x| / tiny + 0.5) in fp32, which rounds the number below one half up. */
static uint8_t keeps_below_half_of_tiny(const struct into *c)
{
    float half = (float)hc_format_tiny(c->to) / 2;
    return fabsf(c->x) == nextafterf(half, 0) ? signed_as(c, 1) : c->right;
}

/* The exponent field of fp32 is e8m0's code. */
static uint8_t is_exponent_field(const struct into *c)
{
    return isfinite(c->x) ? (uint8_t)(hc_fp32_bits(c->x) >> 23) : c->right;
}

struct mutant {
    enum hc_format to;
    uint8_t (*of)(const struct into *c);
};

static enum hc_status mutated(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    const struct mutant *mutant = site->fault->data;
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *out = &call->out[HC_OUT];
    if (status != HC_OK || call->in[HC_X].format != HC_FP32 || out->format != mutant->to ||
        call->params.cast.direction != HC_NEAREST)
        return status;
    const float *x = call->in[HC_X].data;
    uint8_t *codes = out->data;
    int64_t n = hc_tensor_count(out);
    for (int64_t i = 0; i < n; i++) {
        const struct into c = {mutant->to, call->params.cast.saturate, x[i], codes[i]};
        codes[i] = mutant->of(&c);
    }
    return HC_OK;
}

/* The way back. */
struct reading {
    enum hc_format from;
    double (*of)(enum hc_format from, uint64_t code, double right);
};

static double without_subnormals(enum hc_format from, uint64_t code, double right)
{
    (void)code;
    return fabs(right) < ldexp(1, hc_formats[from].emin) ? copysign(0, right) : right;
}

static double with_ocps_bias(enum hc_format from, uint64_t code, double right)
{
    (void)from;
    (void)code;
    return 2 * right;
}

/* The shift of e8m0's code into fp32's exponent field gives 0 for code 0. */
static double by_shift(enum hc_format from, uint64_t code, double right)
{
    (void)from;
    return code == 0 ? 0 : right;
}

static double nan_is_a_number(enum hc_format from, uint64_t code, double right)
{
    (void)from;
    return isnan(right) ? copysign(480, code & 0x80 ? -1 : 1) : right;
}

static enum hc_status misread(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    const struct reading *reading = site->fault->data;
    const struct hc_tensor *x = &call->in[HC_X];
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; status == HC_OK && x->format == reading->from && i < hc_tensor_count(x);
         i++)
        hc_tensor_set(&call->out[HC_OUT], i,
                      reading->of(x->format, hc_tensor_bits(x, i), hc_tensor_get(x, i)));
    return status;
}

#define INTO(name, title, class_, format, id, of)                                                  \
    {                                                                                              \
        "cast-" format "-" name, (title), (class_), "cast", "rounding/fp32-to-" format "/*",       \
            .wrong = mutated, .data = &(const struct mutant)                                       \
        {                                                                                          \
            (id), (of)                                                                             \
        }                                                                                          \
    }
#define READ(name, title, format, id, of)                                                          \
    {                                                                                              \
        "cast-" format "-" name, (title), HC_FAULT_SPECIALS, "cast",                               \
            "rounding/" format "-decoded", .wrong = misread, .data = &(const struct reading)       \
        {                                                                                          \
            (id), (of)                                                                             \
        }                                                                                          \
    }

static const struct hc_fault faults[] = {
    INTO("through-fp16", "fp32 is rounded into fp16 first, and then into e4m3", HC_FAULT_ROUNDING,
         "e4m3", HC_E4M3, through_fp16),
    INTO("through-fp16", "fp32 is rounded into fp16 first, and then into e5m2", HC_FAULT_ROUNDING,
         "e5m2", HC_E5M2, through_fp16),
    INTO("through-bf16", "fp32 is rounded into bf16 first, and then into e2m1", HC_FAULT_ROUNDING,
         "e2m1", HC_E2M1, through_bf16),
    INTO("ties-away", "fp32 into e4m3 rounds ties away from zero", HC_FAULT_ROUNDING, "e4m3",
         HC_E4M3, ties_away),
    INTO("ties-to-zero", "fp32 into e2m3 rounds ties toward zero", HC_FAULT_ROUNDING, "e2m3",
         HC_E2M3, ties_to_zero),
    INTO("truncates", "fp32 into e3m2 truncates", HC_FAULT_ROUNDING, "e3m2", HC_E3M2, truncates),
    INTO("sticky-lost", "fp32 into e4m3 ignores the lower 20 bits", HC_FAULT_ROUNDING, "e4m3",
         HC_E4M3, loses_sticky),
    INTO("flushes", "subnormal results in e4m3fnuz become 0", HC_FAULT_SPECIALS, "e4m3fnuz",
         HC_E4M3FNUZ, flushes),
    INTO("carry-lost", "a fraction that rounds up to 1 does not raise e4m3's exponent",
         HC_FAULT_ROUNDING, "e4m3", HC_E4M3, loses_carry),
    INTO("overflow-before-rounding", "what is above 448 is NaN, also below 464", HC_FAULT_SPECIALS,
         "e4m3", HC_E4M3, decides_early),
    INTO("overflow-before-rounding", "what is above 240 is NaN, also below 248", HC_FAULT_SPECIALS,
         "e4m3fnuz", HC_E4M3FNUZ, decides_early),
    INTO("overflow-at-480", "what is too large is NaN from 480 on, not above 464",
         HC_FAULT_SPECIALS, "e4m3", HC_E4M3, overflows_at_480),
    INTO("always-saturates", "e5m2 ends at 57344, whether the call saturates or not",
         HC_FAULT_PARAMETER, "e5m2", HC_E5M2, always_saturates),
    INTO("never-saturates", "what is too large for e4m3fnuz is NaN, also where the call saturates",
         HC_FAULT_PARAMETER, "e4m3fnuz", HC_E4M3FNUZ, never_saturates),
    INTO("infinity-stays", "infinity stays infinite in e5m2, also where the call saturates",
         HC_FAULT_SPECIALS, "e5m2", HC_E5M2, infinity_stays),
    INTO("nan-to-largest", "NaN becomes e4m3's largest number", HC_FAULT_SPECIALS, "e4m3", HC_E4M3,
         nan_to_largest),
    INTO("zero-sign-lost", "-0 becomes +0 in e4m3", HC_FAULT_SPECIALS, "e4m3", HC_E4M3,
         loses_sign_of_zero),
    INTO("zero-sign-kept", "-0 becomes the sign bit alone in e5m2fnuz, which is NaN",
         HC_FAULT_SPECIALS, "e5m2fnuz", HC_E5M2FNUZ, keeps_sign_of_zero),
    INTO("keeps-half-of-the-smallest", "half of e4m3's smallest number becomes it",
         HC_FAULT_ROUNDING, "e4m3", HC_E4M3, keeps_half_of_tiny),
    INTO("keeps-below-half-of-the-smallest", "the number below half of e2m1's smallest becomes it",
         HC_FAULT_ROUNDING, "e2m1", HC_E2M1, keeps_below_half_of_tiny),
    INTO("exponent-field", "fp32's exponent field is e8m0's code", HC_FAULT_ROUNDING, "e8m0",
         HC_E8M0, is_exponent_field),
    READ("subnormals-read-as-0", "e4m3's subnormal numbers are read as 0", "e4m3", HC_E4M3,
         without_subnormals),
    READ("nan-read-as-480", "e4m3's NaN is read as 480", "e4m3", HC_E4M3, nan_is_a_number),
    READ("read-with-ocps-bias", "e4m3fnuz is read with the bias of e4m3", "e4m3fnuz", HC_E4M3FNUZ,
         with_ocps_bias),
    READ("zero-by-shift", "code 0 of e8m0 is read as 0, not as 2^-127", "e8m0", HC_E8M0, by_shift),
};

HC_FAULTS(bytes, faults);
