#include <criterion/criterion.h>
#include <math.h>

#include "cases/trail.h"
#include "cases/unit.h"

Test(scalar, the_definition_is_fp32_arithmetic_in_fp32)
{
    struct hc_scalar u = {.format = HC_FP32};
    for (uint64_t i = 0; i < 2000; i++) {
        float x = (float)hc_random_normal(1, 0, i);
        float y = (float)hc_random_normal(1, 1, i);
        float z = (float)hc_random_normal(1, 2, i);
        cr_assert_eq(hc_scalar_add(&u, x, y), (double)(x + y));
        cr_assert_eq(hc_scalar_sub(&u, x, y), (double)(x - y));
        cr_assert_eq(hc_scalar_mul(&u, x, y), (double)(x * y));
        cr_assert_eq(hc_scalar_div(&u, x, y), (double)(x / y));
        cr_assert_eq(hc_scalar_sqrt(&u, fabsf(x)), (double)sqrtf(fabsf(x)));
        cr_assert_eq(hc_scalar_op(&u, HC_OP_fma, x, y, z), (double)fmaf(x, y, z));
    }
}

Test(scalar, the_definition_rounds_once_and_ties_to_even)
{
    struct hc_scalar half = {.format = HC_FP16};
    cr_assert_eq(hc_scalar_add(&half, 1, 0x1p-11), 1);
    cr_assert_eq(hc_scalar_add(&half, 1, 0x1.8p-11), 1 + 0x1p-10);
    cr_assert_eq(hc_scalar_add(&half, 65504, 16), (double)INFINITY);
    cr_assert_eq(hc_scalar_cast(&half, HC_FP32, 0x1p-25), 0);
    cr_assert_eq(hc_scalar_model(&half, 1.0005), 1 + 0x1p-10);
    cr_assert(isnan(hc_scalar_div(&half, 0, 0)));
    cr_assert_eq(hc_scalar_div(&half, 1, 0), (double)INFINITY);
}

Test(scalar, a_decimal_is_not_rounded_through_fp64)
{
    cr_assert_eq(hc_decimal(HC_FP16, "1e-7"), 0x1p-23);
    cr_assert_eq(hc_decimal(HC_FP16, "1.00048828125"), 1);
    cr_assert_eq(hc_decimal(HC_FP16, "1.000488281250000000000000000000001"), 1 + 0x1p-10);
}

Test(tally, it_keeps_the_first_difference_and_counts_all)
{
    struct hc_running_tally tally = {0};
    hc_running_tally_note(&tally, 1, 1, 1);
    hc_running_tally_note(&tally, 2, (double)NAN, (double)NAN);
    hc_running_tally_note(&tally, 3, 0.0, -0.0);
    hc_running_tally_note(&tally, 4, 1, 2);
    cr_assert_eq(tally.checked, 4);
    cr_assert_eq(tally.wrong, 2);
    cr_assert_str_eq(tally.first, "step 3: want 0, got -0");
}

Test(tally, a_table_has_few_rows)
{
    int rows = 0;
    for (int64_t step = 0; step <= 10000; step++)
        rows += hc_running_tally_row(step);
    cr_assert_eq(rows, 6 + 10);
    cr_assert(hc_running_tally_row(2000) && !hc_running_tally_row(3000));
}
