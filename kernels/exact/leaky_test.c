#include <math.h>

#include "kernels/exact/testing.h"

Test(leaky, below_zero_the_slope_in_fp32_is_multiplied_and_rounded)
{
    double x[] = {3, -4, 0, -0.0, -0x1p-24, INFINITY, -INFINITY};
    double want[] = {3, -0.5, 0, -0.0, -0.0, INFINITY, -INFINITY};
    struct hc_call call = {.op = HC_OP_leaky_relu,
                           .in = {vector_of(HC_FP16, 7, x)},
                           .out = {made(hc_tensor1(HC_FP16, 7, NULL))},
                           .params.leaky.slope = 0.125};
    call_exact(&call);
    for (int i = 0; i < 7; i++)
        cr_assert_eq(hc_fp64_bits(hc_tensor_get(&call.out[HC_LEAKY_Y], i)), hc_fp64_bits(want[i]));
    call.params.leaky.slope = 0.1;
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_LEAKY_Y], 1), hc_round(HC_FP16, (double)(-4 * 0.1f)));
}

Test(leaky, zero_is_not_above_zero)
{
    double x = 0;
    struct hc_call call = {.op = HC_OP_leaky_relu,
                           .in = {vector_of(HC_FP32, 1, &x)},
                           .out = {made(hc_tensor1(HC_FP32, 1, NULL))},
                           .params.leaky.slope = -1};
    call_exact(&call);
    cr_assert(signbit(hc_tensor_get(&call.out[HC_LEAKY_Y], 0)));
}

Test(leaky, a_nan_stays_in_both_passes)
{
    double nan = (double)NAN;
    double one = 1;
    struct hc_tensor x = vector_of(HC_BF16, 1, &nan);
    struct hc_call call = {.op = HC_OP_leaky_relu, .in = {x}, .out = {made(x)}};
    call_exact(&call);
    cr_assert(isnan(hc_tensor_get(&call.out[HC_LEAKY_Y], 0)));
    call.op = HC_OP_leaky_relu_bwd;
    call.in[HC_LEAKY_BWD_Y] = vector_of(HC_BF16, 1, &one);
    call.in[HC_LEAKY_BWD_DY] = x;
    call_exact(&call);
    cr_assert(isnan(hc_tensor_get(&call.out[HC_LEAKY_BWD_DX], 0)));
}

Test(leaky, the_gradient_passes_whole_above_zero_only)
{
    double y[] = {2, -2, 0, -0.0};
    double dy[] = {8, 8, 8, 8};
    double want[] = {8, 2, 2, 2};
    struct hc_call call = {.op = HC_OP_leaky_relu_bwd,
                           .in = {vector_of(HC_FP32, 4, y), vector_of(HC_FP32, 4, dy)},
                           .out = {made(hc_tensor1(HC_FP32, 4, NULL))},
                           .params.leaky.slope = 0.25};
    call_exact(&call);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(hc_tensor_get(&call.out[HC_LEAKY_BWD_DX], i), want[i]);
}
