#include "check/sweep/runs8.h"

#include <criterion/criterion.h>

#include "num/bits.h"
#include "num/mpfr_test.h"

static uint64_t correct(enum hc_format to, bool saturate, uint32_t bits)
{
    mpfr_t x;
    mpfr_init2(x, 24);
    mpfr_set_flt(x, hc_fp32_value(bits), MPFR_RNDN);
    saturate ? mpfr_saturate_into(x, to, HC_NEAREST) : mpfr_round_into(x, to, HC_NEAREST);
    uint64_t code = mpfr_bits(x, to, UINT64_MAX);
    mpfr_clear(x);
    return code;
}

/* MPFR gives the code at the first and at the last pattern of each run. Rounding is monotone, so it
   gives it between them, and the runs leave no pattern out: this proves the table for all inputs
   that are not NaN. */
static void proved(enum hc_format to, bool saturate, int negative)
{
    static struct hc_runs8 runs;
    uint32_t sign = negative ? 0x80000000u : 0;
    hc_runs8_build(&runs, to, saturate, negative);
    int last = runs.count - 1;
    cr_assert_eq(runs.first[0], 0);
    cr_assert_eq(runs.first[last], 0x7f800001);
    cr_assert(runs.nan[last]);
    for (int r = 0; r < last; r++) {
        uint64_t want = runs.nan[r] ? UINT64_MAX : runs.code[r];
        uint32_t end = runs.first[r + 1] - 1;
        cr_assert(runs.first[r] <= end);
        cr_assert_eq(correct(to, saturate, sign | runs.first[r]), want, "%s: first of run %d",
                     hc_formats[to].name, r);
        cr_assert_eq(correct(to, saturate, sign | end), want, "%s: last of run %d",
                     hc_formats[to].name, r);
        cr_assert_eq(hc_runs8_at(&runs, runs.first[r]), r);
        cr_assert_eq(hc_runs8_at(&runs, end), r);
    }
    cr_assert_eq(hc_runs8_at(&runs, 0x7fffffff), last);
}

Test(runs8, mpfr_agrees_at_both_ends_of_every_run)
{
    for (int to = HC_E4M3; to < HC_I32; to++)
        for (int how = 0; how < 4; how++)
            proved((enum hc_format)to, how & 1, how >> 1);
}

Test(runs8, a_nan_is_any_nan_and_where_there_is_none_the_largest_number)
{
    static struct hc_runs8 runs;
    hc_runs8_build(&runs, HC_E4M3, true, 0);
    cr_expect(hc_runs8_right(&runs, runs.count - 1, HC_E4M3, 0xff));
    cr_expect_not(hc_runs8_right(&runs, runs.count - 1, HC_E4M3, 0x7e));
    cr_expect_not(hc_runs8_right(&runs, 0, HC_E4M3, 0x80), "a sign of its own");
    hc_runs8_build(&runs, HC_E2M1, true, 1);
    cr_expect(hc_runs8_right(&runs, runs.count - 1, HC_E2M1, 0x7));
    cr_expect_not(hc_runs8_right(&runs, runs.count - 1, HC_E2M1, 0xf));
    cr_expect_not(hc_runs8_right(&runs, runs.count - 1, HC_E2M1, 0x17), "bits above the code");
}
