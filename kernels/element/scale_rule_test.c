/* The scale rules' arithmetic against their independent statements (reference_scale.h): all
   significands of some exponents, the edges of all, subnormals and what is no number. */
#include "kernels/element/scale_rule.h"

#include <criterion/criterion.h>

#include "kernels/element/scale_delayed.h"
#include "num/rng.h"
#include "reference_scale.h"

static const enum hc_format codes_of[] = {HC_E4M3,     HC_E5M2, HC_E2M1, HC_E4M3FNUZ,
                                          HC_E5M2FNUZ, HC_E2M3, HC_E3M2};
enum { CODES = sizeof codes_of / sizeof *codes_of };

static bool same(double want, float got)
{
    return (isnan(want) && isnan(got)) || (want == got && signbit(want) == signbit(got));
}

static bool same_stored(enum hc_scale_rule rule, uint64_t want, uint32_t got)
{
    if (want == got || hc_scale_format(rule) != HC_FP32)
        return want == got;
    return isnan(hc_fp32_value((uint32_t)want)) && isnan(hc_fp32_value(got));
}

static bool agrees(enum hc_scale_rule rule, enum hc_format codes, enum hc_format x,
                   float tensor_amax, float amax)
{
    struct hc_scale_formats f = hc_scale_formats_of(&hc_formats[codes], &hc_formats[x]);
    struct hc_tensor_scale t = hc_tensor_scale_of(rule, &f, tensor_amax);
    struct hc_scale got =
        rule == HC_SCALE_GIVEN ? hc_scale_of_multiplier(amax) : hc_scale_of(rule, &f, &t, amax);
    struct hc_stated_scale want =
        hc_stated_scale(rule, codes, x, (double)tensor_amax, (double)amax);
    bool equal = same(want.decode, got.decode) && same(want.encode, got.encode) &&
                 same_stored(rule, want.stored, got.stored) &&
                 same(hc_stated_tensor_scale(rule, codes, (double)tensor_amax), t.decode);
    cr_expect(equal, "%s of %s, amax %a in %a: want %a, %a, %x; got %a, %a, %x",
              hc_scale_rules[rule].name, hc_formats[codes].name, amax, tensor_amax, want.decode,
              want.encode, (unsigned)want.stored, got.decode, got.encode, got.stored);
    return equal;
}

static const float specials[] = {
    0,          INFINITY,     NAN,       0x1p-149F, 0x1p-148F, 0x1.8p-148F,    0x1.fffp-127F,
    0x1p-127F,  0x1.02p-127F, 0x1p-126F, 1e-12F,    1e-4F,     1.3165536e-36F, 0x1p127F,
    HC_FP32_MAX};

/* amax = M 2^k, 2^k or the number with half an ulp of the codes below 2^(k + 1), and its
   neighbours. */
static float edge(enum hc_format codes, int k, int which, int ulps)
{
    float unit[] = {1, hc_scale_largest(&hc_formats[codes]),
                    2 - ldexpf(1, -hc_formats[codes].precision)};
    double wide = ldexp((double)unit[which], k);
    if (wide < 0x1p-140 || wide > 0x1p127)
        return 1;
    return hc_fp32_value(hc_fp32_bits((float)wide) + (uint32_t)ulps);
}

static void check_edges(enum hc_scale_rule rule, enum hc_format codes)
{
    for (int k = -150; k < 128; k++)
        for (int which = 0; which < 3; which++)
            for (int ulps = -3; ulps <= 3; ulps++)
                if (!agrees(rule, codes, HC_FP32, 2.75F, edge(codes, k, which, ulps)))
                    return;
}

Test(scale_rule, every_rule_is_its_statement_at_the_edges_of_every_exponent)
{
    for (int r = 0; r < HC_SCALE_RULE_COUNT; r++)
        for (int c = 0; c < CODES; c++)
            check_edges((enum hc_scale_rule)r, codes_of[c]);
}

Test(scale_rule, every_rule_is_its_statement_of_what_is_no_number_and_of_every_input_format)
{
    static const enum hc_format inputs[] = {HC_FP32, HC_BF16, HC_FP16};
    enum { SPECIALS = sizeof specials / sizeof *specials };
    for (int r = 0; r < HC_SCALE_RULE_COUNT; r++)
        for (int i = 0; i < CODES * 3 * SPECIALS; i++)
            for (int t = 0; t < SPECIALS; t++)
                (void)agrees((enum hc_scale_rule)r, codes_of[i % CODES], inputs[i / CODES % 3],
                             specials[t], specials[i / CODES / 3]);
}

/* All significands within 128 of a power of two, where the rules by way of a logarithm decide, and
   some thousands of the others. */
static bool agrees_over(enum hc_scale_rule rule, uint32_t exponent)
{
    uint32_t step = 1;
    for (uint32_t m = 0; m < 0x800000; m += step) {
        enum hc_format codes = codes_of[(m + (uint32_t)rule) % 3];
        if (!agrees(rule, codes, HC_FP32, HC_FP32_MAX, hc_fp32_value(exponent << 23 | m)))
            return false;
        step = m < 128 || m >= 0x800000 - 128 ? 1 : 6101;
        if (m < 0x800000 - 128 && m + step > 0x800000 - 128)
            step = 0x800000 - 128 - m;
    }
    return true;
}

Test(scale_rule, every_rule_is_its_statement_all_over_some_exponents)
{
    static const uint32_t exponents[] = {1, 67, 127, 136, 254};
    for (int r = 0; r < HC_SCALE_RULE_COUNT; r++)
        for (int e = 0; e < 5; e++)
            if (!agrees_over((enum hc_scale_rule)r, exponents[e]))
                break;
}

/* An amax of a trace: numbers of all sizes, idle steps, repetitions and what is no number. */
static float drawn(uint64_t seed, uint64_t step)
{
    uint64_t r = hc_random(seed, 0, step);
    if (r % 8 == 0)
        return 0;
    if (r % 8 == 1)
        return specials[(r >> 8) % (sizeof specials / sizeof *specials)];
    if (r % 8 < 4)
        return hc_fp32_value((uint32_t)(r >> 16) & 0x7fffffff);
    return ldexpf(1 + (float)(r >> 8 & 0xffff) / 65536, (int)(r >> 32 & 7));
}

static bool step_agrees(const struct hc_delayed_scale *p, float amax, float *scale, float *history,
                        int64_t length)
{
    double before[16], want_history[16];
    for (int64_t i = 0; i < length; i++)
        before[i] = (double)history[i];
    double want = hc_stated_delayed(p, (double)amax, (double)*scale, before, length, want_history);
    struct hc_delayed_history h = {history, history, length, 1};
    float was = *scale;
    *scale = hc_delayed_step(p, hc_scale_largest(&hc_formats[p->codes]), amax, was, &h);
    bool equal = same(want, *scale);
    for (int64_t i = 0; i < length; i++)
        equal = equal && same(want_history[i], history[i]);
    cr_expect(equal, "%s, window %d, margin %d: amax %a, scale %a: want %a, got %a",
              hc_delayed_rules[p->rule].name, (int)length, p->margin, amax, was, want, *scale);
    return equal;
}

Test(scale_rule, every_rule_with_a_state_is_its_statement_along_traces)
{
    static const int lengths[] = {1, 2, 4, 16};
    for (int i = 0; i < HC_DELAYED_RULE_COUNT * 4 * CODES * 2; i++) {
        struct hc_delayed_scale p = {(enum hc_delayed_rule)(i % HC_DELAYED_RULE_COUNT),
                                     codes_of[i / HC_DELAYED_RULE_COUNT / 8], i % 3,
                                     i / HC_DELAYED_RULE_COUNT / 4 % 2};
        int64_t length = lengths[i / HC_DELAYED_RULE_COUNT % 4];
        float history[16] = {0}, scale = 1;
        for (uint64_t step = 0; step < 400; step++) {
            if (!step_agrees(&p, drawn((uint64_t)i, step), &scale, history, length))
                break;
            if (!(scale > 0 && isfinite(scale))) /* nothing leaves it: begin anew */
                scale = 1;
        }
    }
}
