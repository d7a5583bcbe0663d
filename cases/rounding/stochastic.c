/* Stochastic rounding with given random bits: whether a number goes up is decided by the part that
   is cut off, in units of 2^-k of the last place that is kept, and by nothing else. */
#include <math.h>

#include "case.h"

enum { INPUTS = 4096 };

struct setting {
    enum hc_format from;
    enum hc_format to;
    int bits;
    bool saturate;
};

/* What |x| becomes with the random bits r. All of this is exact in fp64: a number of fp32 and what
   is added have 24 bits each at most. */
static double rounded(const struct setting *s, double x, uint32_t r)
{
    const struct hc_format_info *f = &hc_formats[s->to];
    int exponent = ilogb(x) < f->emin ? f->emin : ilogb(x);
    int last = exponent - f->precision + 1;
    double units = floor(ldexp(x, s->bits - last)) + (double)r;
    return ldexp(floor(ldexp(units, -s->bits)), last);
}

/* Every seventh input is a number of the format or lies beside one, another seventh is as far from
   it as the random bits can tell and one bit less, and the rest is anywhere from below the smallest
   number to beyond the largest. */
static double input(const struct setting *s, uint64_t seed, uint64_t i)
{
    const struct hc_format_info *f = &hc_formats[s->to];
    int low = f->emin - f->precision - 2;
    int exponent = low + (int)(hc_random_uniform(seed, 0, i) * (f->emax + 3 - low));
    double x = ldexp(1 + hc_random_uniform(seed, 1, i), exponent);
    double number = hc_round(s->to, fmin(x, hc_format_max(s->to)));
    double step = ldexp(hc_ulp(s->to, number), -s->bits);
    x = i % 7 == 0 ? number : i % 7 == 1 ? number + step : i % 7 == 2 ? number - step : x;
    float narrow = (float)fabs(x);
    narrow = i % 7 == 1 && i % 2 ? nextafterf(narrow, 0) : narrow;
    return hc_round(s->from, i % 3 ? (double)narrow : -(double)narrow);
}

/* Random bits: none, all, those that just reach the next number, one less, and any. The bits above
   the k that count are set to show that they do not. */
static uint32_t word(const struct setting *s, double x, uint64_t seed, uint64_t i)
{
    uint32_t mask = (UINT32_C(1) << s->bits) - 1;
    const struct hc_format_info *f = &hc_formats[s->to];
    int exponent = x != 0 && ilogb(x) > f->emin ? ilogb(x) : f->emin;
    double units = floor(ldexp(fabs(x), s->bits - exponent + f->precision - 1));
    uint32_t cut = (uint32_t)fmod(units, (double)mask + 1);
    const uint32_t choices[] = {0, mask, mask + 1 - cut, mask - cut,
                                (uint32_t)hc_random(seed, 2, i)};
    return (choices[hc_random(seed, 3, i) % 5] & mask) | ((uint32_t)hc_random(seed, 4, i) & ~mask);
}

static void stochastic(struct hc_check *check)
{
    const struct setting *s = hc_check_case(check)->data;
    uint64_t seed = hc_check_seed(check);
    struct hc_call call = {.op = HC_OP_stochastic_cast,
                           .params.stochastic_cast = {s->bits, s->saturate}};
    call.in[HC_STOCHASTIC_X] = hc_check_vector(check, s->from, INPUTS);
    call.in[HC_STOCHASTIC_WORDS] = hc_check_vector(check, HC_I32, INPUTS);
    call.out[HC_STOCHASTIC_OUT] = hc_check_vector(check, s->to, INPUTS);
    uint32_t *want = hc_check_memory(check, INPUTS * sizeof *want);
    static const double ends[] = {0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN};
    for (uint64_t i = 0; i < INPUTS; i++) {
        double x = i < 5 ? ends[i] : input(s, seed, i);
        uint32_t bits = isfinite(x) ? word(s, x, seed, i) : UINT32_MAX;
        bool number = isfinite(x) && x != 0;
        uint32_t r = bits & ((UINT32_C(1) << s->bits) - 1);
        double y = number ? copysign(rounded(s, fabs(x), r), x) : x;
        hc_tensor_set(&call.in[HC_STOCHASTIC_X], (int64_t)i, x);
        hc_tensor_set_bits(&call.in[HC_STOCHASTIC_WORDS], (int64_t)i, bits);
        want[i] =
            (uint32_t)(s->saturate ? hc_encode_saturated : hc_encode)(s->to, y, 0, HC_NEAREST);
    }
    hc_claim_elements(check, &call, want);
}

static const char source[] = "gfloat 0.5.2, RoundMode.StochasticFastest; NVIDIA TransformerEngine "
                             "@d0067d0 common/util/ptx.cuh";

#define ROW_FROM(in, from, id, name, k, saturates, how)                                            \
    {                                                                                              \
        "rounding/stochastic/" name "-" #k how,                                                    \
            from " goes up into " name " where what is cut off and " #k " random bits say so",     \
            source, .run = stochastic, .data = &(const struct setting)                             \
        {                                                                                          \
            (in), (id), (k), (saturates)                                                           \
        }                                                                                          \
    }
#define ROW(id, name, k, saturates, how) ROW_FROM(HC_FP32, "fp32", id, name, k, saturates, how)

static const struct hc_case cases[] = {
    ROW(HC_E4M3, "e4m3", 4, false, ""),
    ROW(HC_E4M3, "e4m3", 8, true, "-saturating"),
    ROW(HC_E4M3, "e4m3", 20, true, "-saturating"),
    ROW(HC_E5M2, "e5m2", 13, false, ""),
    ROW(HC_E5M2, "e5m2", 8, true, "-saturating"),
    ROW(HC_E4M3FNUZ, "e4m3fnuz", 8, false, ""),
    ROW(HC_E5M2FNUZ, "e5m2fnuz", 16, true, "-saturating"),
    ROW(HC_E2M3, "e2m3", 8, true, ""),
    ROW(HC_E3M2, "e3m2", 1, true, ""),
    ROW(HC_E2M1, "e2m1", 8, true, ""),
    ROW(HC_E2M1, "e2m1", 24, true, ""),
    ROW(HC_UE4M3, "ue4m3", 8, true, ""),
    ROW(HC_FP16, "fp16", 8, false, ""),
    ROW(HC_BF16, "bf16", 16, false, ""),
    ROW_FROM(HC_BF16, "bf16", HC_E4M3, "e4m3", 4, true, "-saturating-from-bf16"),
    ROW_FROM(HC_FP16, "fp16", HC_E5M2, "e5m2", 7, false, "-from-fp16"),
    ROW_FROM(HC_FP16, "fp16", HC_BF16, "bf16", 3, false, "-from-fp16"),
};

HC_CASES(rounding_stochastic, cases);
