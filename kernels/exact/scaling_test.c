#include <math.h>

#include "kernels/exact/testing.h"

Test(scaling, axpy_fuses_in_fp32_and_rounds_into_the_output)
{
    double x = 1 + 0x1p-10;
    double y = -1;
    struct hc_call call = {.op = HC_OP_axpy,
                           .in = {vector_of(HC_FP16, 1, &x), vector_of(HC_BF16, 1, &y)},
                           .out = {made(hc_tensor1(HC_FP32, 1, NULL))},
                           .params.axpy.alpha = 1 + 0x1p-23};
    call_exact(&call);
    /* (1 + 2^-10)(1 + 2^-23) - 1 = 2^-10 + 2^-23 + 2^-33, of which only a fused sum
       keeps the last. */
    cr_assert_eq(hc_tensor_get(&call.out[HC_OUT], 0), 0x1p-10 + 0x1p-23 + 0x1p-33);
    call.out[HC_OUT] = made(hc_tensor1(HC_FP16, 1, NULL));
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_OUT], 0), 0x1p-10);
}

Test(scaling, scale_multiplies_in_fp32)
{
    double x[] = {0x1p-24, 3, 60000};
    double s = 512;
    double want[] = {0x1p-15, 1536, INFINITY};
    struct hc_call call = {.op = HC_OP_scale,
                           .in = {vector_of(HC_FP16, 3, x), vector_of(HC_FP32, 1, &s)},
                           .out = {made(hc_tensor1(HC_FP16, 3, NULL))}};
    call_exact(&call);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(hc_tensor_get(&call.out[HC_OUT], i), want[i]);
}

static struct hc_call unscale(enum hc_format from, enum hc_format to, double x, double s,
                              double found)
{
    struct hc_call call = {
        .op = HC_OP_unscale,
        .in = {vector_of(from, 1, &x), vector_of(HC_FP32, 1, &s), vector_of(HC_FP32, 1, &found)},
        .out = {made(hc_tensor1(to, 1, NULL)), made(hc_tensor1(HC_FP32, 1, NULL))}};
    return call;
}

Test(scaling, unscaling_in_half_loses_what_fp32_keeps)
{
    /* 1e-9 * 65536 in half is 1100 * 2^-24 = 6.5565e-5. */
    double scaled = hc_round(HC_FP16, 1e-9 * 65536);
    struct hc_call call = unscale(HC_FP16, HC_FP32, scaled, 65536, 0);
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_OUT], 0), 0x1.13p-14 / 65536);
    call = unscale(HC_FP16, HC_FP16, scaled, 65536, 0);
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_OUT], 0), 0);
}

Test(scaling, division_and_the_rounded_reciprocal_differ)
{
    struct hc_call call = unscale(HC_FP32, HC_FP32, 9, 3, 0);
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_OUT], 0), 3);
    /* Of the integers 41 is the first whose product with its rounded reciprocal is not 1: 1/41 is
       rounded down by more than u / 41. */
    for (int n = 1; n <= 41; n++) {
        call = unscale(HC_FP32, HC_FP32, n, n, 0);
        call.params.unscale.reciprocal = true;
        call_exact(&call);
        cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_OUT], 0), n < 41 ? 1 : 1 - 0x1p-24, "%d",
                     n);
    }
}

Test(scaling, any_infinity_or_nan_is_found_before_the_division_and_found_stays)
{
    static const struct {
        double x, s, found, want;
    } rows[] = {
        {1, 2, 0, 0}, {INFINITY, 2, 0, 1}, {-INFINITY, 2, 0, 1},    {NAN, 2, 0, 1},
        {1, 2, 1, 1}, {1, 2, NAN, 1},      {65504, 0x1p-126, 0, 0}, {1, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_call call = unscale(HC_FP32, HC_FP16, rows[i].x, rows[i].s, rows[i].found);
        call_exact(&call);
        cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_NEW_FOUND_INF], 0), rows[i].want, "row %zu",
                     i);
        call.out[HC_UNSCALE_NEW_FOUND_INF] = call.in[HC_UNSCALE_FOUND_INF];
        call_exact(&call);
        cr_assert_eq(hc_tensor_get(&call.in[HC_UNSCALE_FOUND_INF], 0), rows[i].want,
                     "row %zu, in place", i);
    }
}
