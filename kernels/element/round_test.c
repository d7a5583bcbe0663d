#include "kernels/element/round.h"

#include <criterion/criterion.h>
#include <math.h>

#include "num/rng.h"

/* Doubles of exponents around fp16's and bf16's range, many of them near ties: a 16-bit value plus
   half an ulp or nothing, and something far below. */
static double sample(uint64_t i)
{
    uint32_t key[2] = {7, 0};
    uint32_t counter[4] = {(uint32_t)i, 0, 0, 0};
    struct hc_philox c = hc_philox(key, counter);
    int exponent = (int)(c.word[0] % 300) - 150;
    double value = ldexp((double)(c.word[1] & 0x1fff), exponent);
    int far = exponent - 20 - (int)(c.word[2] % 40);
    return value + ldexp((int)(c.word[2] >> 8 & 3) - 1, far);
}

Test(round, a_coefficient_is_rounded_once_into_its_format)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    for (int f = 0; f < 3; f++)
        for (uint64_t i = 0; i < 300000; i++) {
            double x = i & 1 ? -sample(i) : sample(i);
            double want = hc_decode(formats[f], hc_encode(formats[f], x, 0, HC_NEAREST));
            double got = (double)hc_coefficient(formats[f], x);
            cr_assert(hc_fp64_bits(want) == hc_fp64_bits(got), "%s: %a: want %a, got %a",
                      hc_formats[formats[f]].name, x, want, got);
        }
}

/* Every sign, exponent and kept bit, with bits below them that are around the ties. */
Test(round, into_half_is_what_the_definition_says)
{
    static const uint32_t below[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x1fff};
    for (uint32_t top = 0; top < 1u << 19; top++)
        for (int i = 0; i < 6; i++) {
            float x = hc_fp32_value(top << 13 | below[i]);
            double want = hc_decode(HC_FP16, hc_encode(HC_FP16, (double)x, 0, HC_NEAREST));
            float got = hc_into(HC_FP16, x);
            cr_assert(isnan(want) ? isnan(got) : hc_fp64_bits(want) == hc_fp64_bits((double)got),
                      "%a: want %a, got %a", (double)x, want, (double)got);
        }
}

Test(round, a_coefficient_does_not_pass_through_fp32)
{
    cr_assert_eq(hc_coefficient(HC_FP16, 63343.99805), 63328);
    cr_assert_eq(hc_into(HC_FP16, (float)63343.99805), 63360);
}

Test(round, what_overflows_or_is_not_finite_survives_rounding_to_odd)
{
    cr_assert_eq(hc_fp32_to_odd(1e300), 0x1.fffffep127f);
    cr_assert_eq(hc_fp32_to_odd(-1e300), -0x1.fffffep127f);
    cr_assert(isinf(hc_fp32_to_odd((double)INFINITY)));
    cr_assert(isnan(hc_fp32_to_odd((double)NAN)));
    cr_assert_eq(hc_fp32_to_odd(1e-300), 0x1p-149f);
    cr_assert(signbit(hc_fp32_to_odd(-0.0)));
    cr_assert(isnan(hc_add_to_odd((double)INFINITY, -(double)INFINITY)));
    cr_assert(isinf(hc_add_to_odd((double)INFINITY, 1)));
}

Test(round, a_sum_rounded_to_odd_shows_which_side_of_a_number_it_lies)
{
    cr_assert_eq(hc_add_to_odd(1, 0x1p-100), 0x1.0000000000001p0);
    cr_assert_eq(hc_add_to_odd(1, -0x1p-100), 0x1.fffffffffffffp-1);
    cr_assert_eq(hc_add_to_odd(-1, -0x1p-100), -0x1.0000000000001p0);
    cr_assert_eq(hc_add_to_odd(0x1p-100, -1), -0x1.fffffffffffffp-1);
    cr_assert_eq(hc_add_to_odd(1, 0x1p-52), 0x1.0000000000001p0);
    cr_assert_eq(hc_add_to_odd(3, -3), 0);
}
