#include "num/bits.h"

#include <criterion/criterion.h>
#include <math.h>

#include "num/format.h"

static void rounds_as_defined(enum hc_format format, float (*round)(float), uint32_t bits)
{
    float x = hc_fp32_value(bits);
    float got = round(x);
    double want = hc_round(format, (double)x);
    if (isnan(want))
        cr_assert(isnan(got), "0x%08x: want NaN, got %a", bits, (double)got);
    else
        cr_assert_eq(hc_fp64_bits((double)got), hc_fp64_bits(want), "0x%08x: want %a, got %a", bits,
                     want, (double)got);
}

static float fp16_round(float x)
{
    return hc_fp16_round(x);
}

static float bf16_round(float x)
{
    return hc_bf16_round(x);
}

static float tf32_round(float x)
{
    return hc_tf32_round(x);
}

Test(bits, rounding_without_a_branch_is_right_about_tf32_values_and_ties)
{
    for (uint32_t code = 0; code < 1u << 19; code += code < 2048 ? 1 : 37)
        for (uint32_t i = 0; i < 3; i++) {
            rounds_as_defined(HC_TF32, tf32_round, (code << 13) - 1 + i);
            rounds_as_defined(HC_TF32, tf32_round, (code << 13) + 0xfff + i);
        }
}

Test(bits, rounding_without_a_branch_is_right_about_every_fp16_value_and_tie)
{
    for (uint32_t code = 0; code < 0xfc00; code += code == 0x7c00 ? 0x400 : 1) {
        uint32_t at = hc_fp32_bits(hc_fp16_value((uint16_t)code));
        uint32_t tie = at + 0x1000;
        for (uint32_t i = 0; i < 3; i++) {
            rounds_as_defined(HC_FP16, fp16_round, at - 1 + i);
            rounds_as_defined(HC_FP16, fp16_round, tie - 1 + i);
        }
    }
}

Test(bits, rounding_without_a_branch_is_right_about_every_bf16_value_and_tie)
{
    for (uint32_t code = 0; code < 0x10000; code++)
        for (uint32_t i = 0; i < 3; i++) {
            rounds_as_defined(HC_BF16, bf16_round, (code << 16) - 1 + i);
            rounds_as_defined(HC_BF16, bf16_round, (code << 16) + 0x7fff + i);
        }
}

Test(bits, rounding_without_a_branch_is_right_across_all_of_fp32)
{
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
        rounds_as_defined(HC_FP16, fp16_round, (uint32_t)bits);
        rounds_as_defined(HC_BF16, bf16_round, (uint32_t)bits);
        rounds_as_defined(HC_TF32, tf32_round, (uint32_t)bits);
    }
}
