/* Roundings of arithmetic: of the IEEE operations, of real numbers, and by random bits. */
#include <math.h>

#include "case.h"

/* The IEEE operations on 16-bit values, over all operands at level exhaustive. */

struct operation {
    enum hc_op op;
    enum hc_format format;
};

static void pairs(struct hc_check *check)
{
    const struct operation *o = hc_check_case(check)->data;
    hc_sweep_pairs(check, o->op, o->format);
}

static void roots(struct hc_check *check)
{
    const struct operation *o = hc_check_case(check)->data;
    hc_sweep_sqrt(check, o->format);
}

static void fused(struct hc_check *check)
{
    const struct operation *o = hc_check_case(check)->data;
    hc_sweep_fma(check, o->format);
}

static const struct operation operations[] = {
    {HC_OP_add, HC_FP16}, {HC_OP_sub, HC_FP16}, {HC_OP_mul, HC_FP16}, {HC_OP_div, HC_FP16},
    {HC_OP_add, HC_BF16}, {HC_OP_sub, HC_BF16}, {HC_OP_mul, HC_BF16}, {HC_OP_div, HC_BF16},
};

static const char source[] = "IEEE 754-2019, 5.4.1";

/* hc_encode, which turns every real number that a reference returns (hi + lo) into bits: midpoints
   between neighbours, and numbers beside them by less than fp64 can hold, against integers. */

/* Codes c and c + 1 of a 16-bit format, and a real number halfway between them, beside that, or
   beside c. */
static void neighbours(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP16, HC_BF16};
    int64_t wrong = 0;
    int64_t checked = 0;
    for (int f = 0; f < 2; f++) {
        uint64_t infinite = formats[f] == HC_FP16 ? 0x7c00 : 0x7f80;
        for (uint64_t c = 0; c + 1 < infinite; c += c < 4096 ? 1 : 7)
            for (int sign = 0; sign < 2; sign++)
                for (int rest = -1; rest <= 1; rest++)
                    for (int d = 0; d < HC_DIRECTION_COUNT; d++) {
                        double low = hc_decode(formats[f], c);
                        double half = low + (hc_decode(formats[f], c + 1) - low) / 2;
                        double tiny = ldexp(half, -60) * rest;
                        bool up = d == HC_NEAREST ? rest > 0 || (rest == 0 && c % 2 == 1)
                                                  : d == (sign ? HC_DOWNWARD : HC_UPWARD);
                        uint64_t want = (c + up) | (uint64_t)sign << 15;
                        uint64_t got = hc_encode(formats[f], sign ? -half : half,
                                                 sign ? -tiny : tiny, (enum hc_direction)d);
                        wrong += want != got;
                        checked++;
                        /* Beside c itself. Below 0 there is nothing on this side. */
                        tiny = ldexp(low, -60) * rest;
                        bool below = rest < 0;
                        up = d == (sign ? HC_DOWNWARD : HC_UPWARD) && rest > 0;
                        bool down = d != HC_NEAREST && d != (sign ? HC_DOWNWARD : HC_UPWARD);
                        want = c == 0 ? 0 : c + up - (below && down);
                        got = hc_encode(formats[f], sign ? -low : low, sign ? -tiny : tiny,
                                        (enum hc_direction)d);
                        wrong += (want | (uint64_t)sign << 15) != got;
                        checked++;
                    }
    }
    hc_claim_sweep(check, "midpoints and what lies beside them", checked, wrong,
                   wrong ? "hc_encode of a midpoint and a rest" : NULL);
}

/* Stochastic rounding with given random bits: whether a number goes up is decided by the part that
   is cut off, in units of 2^-k of the last place that is kept, and by nothing else. */

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

static const char source_stochastic[] = "gfloat 0.5.2, RoundMode.StochasticFastest; NVIDIA "
                                        "TransformerEngine @d0067d0 common/util/ptx.cuh";

#define ROW_FROM(in, from, id, name, k, saturates, how)                                            \
    {                                                                                              \
        "rounding/stochastic/" name "-" #k how,                                                    \
            from " goes up into " name " where what is cut off and " #k " random bits say so",     \
            source_stochastic, .run = stochastic, .data = &(const struct setting)                  \
        {                                                                                          \
            (in), (id), (k), (saturates)                                                           \
        }                                                                                          \
    }
#define ROW(id, name, k, saturates, how) ROW_FROM(HC_FP32, "fp32", id, name, k, saturates, how)

static const struct hc_case cases[] = {
    {"rounding/fp16/add", "x + y of fp16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[0]},
    {"rounding/fp16/sub", "x - y of fp16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[1]},
    {"rounding/fp16/mul", "x * y of fp16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[2]},
    {"rounding/fp16/div", "x / y of fp16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[3]},
    {"rounding/fp16/sqrt", "the square root of every fp16 value is correctly rounded", source,
     .run = roots, .data = &operations[3]},
    {"rounding/fp16/fma", "x * y + z of fp16 values is rounded once", source, .run = fused,
     .data = &operations[3]},
    {"rounding/bf16/add", "x + y of bf16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[4]},
    {"rounding/bf16/sub", "x - y of bf16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[5]},
    {"rounding/bf16/mul", "x * y of bf16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[6]},
    {"rounding/bf16/div", "x / y of bf16 values is correctly rounded for all pairs", source,
     .run = pairs, .data = &operations[7]},
    {"rounding/bf16/sqrt", "the square root of every bf16 value is correctly rounded", source,
     .run = roots, .data = &operations[7]},
    {"rounding/bf16/fma", "x * y + z of bf16 values is rounded once", source, .run = fused,
     .data = &operations[7]},
    {"rounding/midpoints-and-neighbours",
     "a real number halfway between two codes of fp16 or bf16, or a millionth of fp64's last bit "
     "beside that, is rounded once in every direction",
     "IEEE 754-2019, 4.3", .level = HC_QUICK, .once = true, .run = neighbours},
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

HC_CASES(rounding_arithmetic, cases);
