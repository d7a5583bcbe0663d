#include "num/ulp.h"

#include <criterion/criterion.h>
#include <math.h>

#include "num/bits.h"

Test(ulp, is_the_gap_to_the_next_value_away_from_zero)
{
    for (uint32_t bits = 0; bits < 0x7bff; bits++) {
        double value = hc_decode(HC_FP16, bits);
        cr_assert_eq(hc_ulp(HC_FP16, value), hc_decode(HC_FP16, bits + 1) - value);
        cr_assert_eq(hc_ulp(HC_FP16, -value), hc_ulp(HC_FP16, value));
    }
    for (uint32_t bits = 0; bits < 0x7f7f; bits++) {
        double value = hc_decode(HC_BF16, bits);
        cr_assert_eq(hc_ulp(HC_BF16, value), hc_decode(HC_BF16, bits + 1) - value);
    }
    for (uint32_t bits = 0; bits < 0x7e; bits++)
        cr_assert_eq(hc_ulp(HC_E4M3, hc_decode(HC_E4M3, bits)),
                     hc_decode(HC_E4M3, bits + 1) - hc_decode(HC_E4M3, bits));
}

Test(ulp, has_an_answer_beyond_the_format)
{
    cr_assert_eq(hc_ulp(HC_FP16, 65504), 32);
    cr_assert_eq(hc_ulp(HC_FP16, 1e9), 32);
    cr_assert_eq(hc_ulp(HC_FP16, INFINITY), 32);
    cr_assert_eq(hc_ulp(HC_FP16, 1e-30), 0x1p-24);
    cr_assert_eq(hc_ulp(HC_FP32, 0x1p-140), 0x1p-149);
    cr_assert(isnan(hc_ulp(HC_FP16, NAN)));
    cr_assert_eq(hc_ulp(HC_I32, 12345), 1);
}

Test(ulp, half_of_it_is_0_nowhere)
{
    cr_assert_eq(hc_half_ulp(HC_FP32, 1), 0x1p-24);
    cr_assert_eq(hc_half_ulp(HC_FP32, 0), 0x1p-150);
    cr_assert_eq(hc_half_ulp(HC_FP64, 1), 0x1p-53);
    cr_assert_eq(hc_half_ulp(HC_FP64, 0x1p-1021), 0x1p-1074);
    cr_assert_eq(hc_half_ulp(HC_FP64, 0), 0x1p-1074);
    cr_assert(isnan(hc_half_ulp(HC_FP64, NAN)));
}

Test(ulp, neighbours_are_one_apart)
{
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        cr_assert_eq(hc_ulp_distance(HC_FP16, bits, bits + 1), 1);
        cr_assert_eq(hc_ulp_distance(HC_FP16, bits | 0x8000, bits + 1 + 0x8000), 1);
        cr_assert_eq(hc_ulp_distance(HC_FP16, bits, bits), 0);
    }
    cr_assert_eq(hc_ulp_distance(HC_TF32, 0x3f800000, 0x3f802000), 1);
    cr_assert_eq(hc_ulp_distance(HC_FP64, hc_fp64_bits(1), hc_fp64_bits(nextafter(1, 2))), 1);
    cr_assert_eq(hc_ulp_distance(HC_I32, 0xffffffffu, 1), 2);
}

Test(ulp, distance_across_zero_infinity_and_nan)
{
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0, 0x8000), 0);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 1, 0x8001), 2);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0x7bff, 0x7c00), 1);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0x7c00, 0xfc00), 0xf800);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0x7e00, 0xfc01), 0);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0x7e00, 0x7c00), UINT64_MAX);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0, 0x7e00), UINT64_MAX);
    cr_assert_eq(hc_ulp_distance(HC_FP64, hc_fp64_bits(INFINITY), hc_fp64_bits(-INFINITY)),
                 0xffe0000000000000u);
}
