#include "check/sweep/breakpoints.h"

#include <criterion/criterion.h>

#include "num/bits.h"
#include "num/mpfr_test.h"

static struct hc_breakpoints breakpoints;

static uint64_t correct(enum hc_format to, uint32_t bits, enum hc_direction direction)
{
    mpfr_t x;
    mpfr_init2(x, 24);
    mpfr_set_flt(x, hc_fp32_value(bits), MPFR_RNDN);
    mpfr_round_into(x, to, direction);
    uint64_t code = mpfr_bits(x, to, UINT64_MAX);
    mpfr_clear(x);
    return code;
}

/* MPFR gives code c at the first and at the last pattern of each run. Rounding is monotone, so it
   gives c between them, and the runs leave no pattern out: this proves the table for all inputs
   that are not NaN. */
static void proved(enum hc_format to, enum hc_direction direction, int negative)
{
    uint32_t sign = negative ? 0x80000000u : 0;
    hc_breakpoints_build(&breakpoints, to, direction, negative);
    cr_assert_eq(breakpoints.first[0], 0);
    cr_assert_eq(breakpoints.first[breakpoints.infinity + 1], 0x7f800001);
    cr_assert_eq(hc_breakpoints_code(&breakpoints, 0x7f800001), breakpoints.infinity + 1);
    for (uint32_t c = 0; c <= breakpoints.infinity; c++) {
        cr_assert(breakpoints.first[c] < breakpoints.first[c + 1]);
        uint64_t want = c | (uint64_t)negative << 15;
        cr_assert_eq(correct(to, sign | breakpoints.first[c], direction), want, "first of %#x", c);
        cr_assert_eq(correct(to, sign | (breakpoints.first[c + 1] - 1), direction), want,
                     "last of %#x", c);
        cr_assert_eq(hc_breakpoints_code(&breakpoints, breakpoints.first[c]), c);
        cr_assert_eq(hc_breakpoints_code(&breakpoints, breakpoints.first[c + 1] - 1), c);
    }
}

static void proved_for(enum hc_format to)
{
    for (int d = 0; d < HC_DIRECTION_COUNT; d++) {
        proved(to, (enum hc_direction)d, 0);
        proved(to, (enum hc_direction)d, 1);
    }
}

Test(breakpoints, mpfr_agrees_at_both_ends_of_every_run_into_fp16)
{
    proved_for(HC_FP16);
}

Test(breakpoints, mpfr_agrees_at_both_ends_of_every_run_into_bf16)
{
    proved_for(HC_BF16);
}
