#include <criterion/criterion.h>
#include <math.h>

#include "cases/trail.h"
#include "cases/unit.h"

Test(unit, the_definition_is_fp32_arithmetic_in_fp32)
{
    struct hc_unit u = {.format = HC_FP32};
    for (uint64_t i = 0; i < 2000; i++) {
        float x = (float)hc_random_normal(1, 0, i);
        float y = (float)hc_random_normal(1, 1, i);
        float z = (float)hc_random_normal(1, 2, i);
        cr_assert_eq(hc_unit_add(&u, x, y), (double)(x + y));
        cr_assert_eq(hc_unit_sub(&u, x, y), (double)(x - y));
        cr_assert_eq(hc_unit_mul(&u, x, y), (double)(x * y));
        cr_assert_eq(hc_unit_div(&u, x, y), (double)(x / y));
        cr_assert_eq(hc_unit_sqrt(&u, fabsf(x)), (double)sqrtf(fabsf(x)));
        cr_assert_eq(hc_unit_op(&u, HC_OP_fma, x, y, z), (double)fmaf(x, y, z));
    }
}

Test(unit, the_definition_rounds_once_and_ties_to_even)
{
    struct hc_unit half = {.format = HC_FP16};
    cr_assert_eq(hc_unit_add(&half, 1, 0x1p-11), 1);
    cr_assert_eq(hc_unit_add(&half, 1, 0x1.8p-11), 1 + 0x1p-10);
    cr_assert_eq(hc_unit_add(&half, 65504, 16), (double)INFINITY);
    cr_assert_eq(hc_unit_cast(&half, HC_FP32, 0x1p-25), 0);
    cr_assert_eq(hc_unit_model(&half, 1.0005), 1 + 0x1p-10);
    cr_assert(isnan(hc_unit_div(&half, 0, 0)));
    cr_assert_eq(hc_unit_div(&half, 1, 0), (double)INFINITY);
}

Test(unit, a_decimal_is_not_rounded_through_fp64)
{
    cr_assert_eq(hc_decimal(HC_FP16, "1e-7"), 0x1p-23);
    cr_assert_eq(hc_decimal(HC_FP16, "1.00048828125"), 1);
    cr_assert_eq(hc_decimal(HC_FP16, "1.000488281250000000000000000000001"), 1 + 0x1p-10);
}

Test(trail, it_keeps_the_first_difference_and_counts_all)
{
    struct hc_trail trail = {0};
    hc_trail_note(&trail, 1, 1, 1);
    hc_trail_note(&trail, 2, (double)NAN, (double)NAN);
    hc_trail_note(&trail, 3, 0.0, -0.0);
    hc_trail_note(&trail, 4, 1, 2);
    cr_assert_eq(trail.checked, 4);
    cr_assert_eq(trail.wrong, 2);
    cr_assert_str_eq(trail.first, "step 3: want 0, got -0");
}

Test(trail, a_table_has_few_rows)
{
    int rows = 0;
    for (int64_t step = 0; step <= 10000; step++)
        rows += hc_trail_row(step);
    cr_assert_eq(rows, 6 + 10);
    cr_assert(hc_trail_row(2000) && !hc_trail_row(3000));
}
