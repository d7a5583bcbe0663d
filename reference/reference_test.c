/* The references, by closed forms. */
#include "reference.h"

#include <criterion/criterion.h>
#include <math.h>

enum { ROOM = 64 };

static float memory[HC_MAX_IN + HC_MAX_OUT][ROOM * ROOM];

static struct hc_tensor vector(int slot, int64_t n)
{
    return hc_tensor1(HC_FP32, n, memory[slot]);
}

static struct hc_want reference(const struct hc_call *call, int out, int64_t i)
{
    struct hc_want want;
    hc_references[call->op](call, out, i, HC_REFERENCE_PRECISION, &want);
    return want;
}

static double value(const struct hc_call *call, int out, int64_t i)
{
    return reference(call, out, i).value;
}

static void assert_near(double want, double got)
{
    cr_assert(fabs(want - got) <= 1e-14 * fabs(want), "want %.17g, got %.17g", want, got);
}

Test(reference, sums_of_integers_and_squares_have_their_closed_forms)
{
    struct hc_call call = {.op = HC_OP_sum, .in = {vector(0, 100), vector(1, 100)}};
    for (int i = 0; i < 100; i++)
        memory[0][i] = memory[1][i] = (float)(i % 2 ? -(i + 1) : i + 1);
    struct hc_want sum = reference(&call, 0, 0);
    cr_assert_eq(sum.value, -50);
    cr_assert_eq(sum.magnitude, 5050);
    call.op = HC_OP_dot;
    cr_assert_eq(value(&call, 0, 0), 338350);
}

Test(reference, rounds_what_ieee_operations_leave_over)
{
    struct hc_call call = {.op = HC_OP_div, .in = {vector(0, 1), vector(1, 1), vector(2, 1)}};
    memory[0][0] = 1;
    memory[1][0] = 3;
    memory[2][0] = -1;
    struct hc_want third = reference(&call, 0, 0);
    cr_assert_eq(third.value, 1.0 / 3);
    assert_near(0x1p-54 / 3, third.rest); /* 1/3 = 0x1.5555555555555p-2 + 2^-54 / 3 */
    call.op = HC_OP_fma;
    cr_assert_eq(value(&call, 0, 0), 2);
    memory[0][0] = 2;
    call.op = HC_OP_sqrt;
    struct hc_want root = reference(&call, 0, 0);
    cr_assert_eq(root.value, 0x1.6a09e667f3bcdp+0);
    cr_assert_lt(root.rest, 0);
    memory[0][0] = -2;
    cr_assert(isnan(value(&call, 0, 0)));
}

/* (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 lies half way between two fp32 numbers. */
Test(reference, a_tie_is_broken_by_the_smallest_addend)
{
    struct hc_call call = {.op = HC_OP_fma, .in = {vector(0, 1), vector(1, 1), vector(2, 1)}};
    memory[0][0] = memory[1][0] = 0x1.001p+60f;
    for (int k = -1; k <= 1; k++) {
        memory[2][0] = (float)k * 0x1p-149f;
        struct hc_want want = reference(&call, 0, 0);
        double up = k > 0 ? 0x1p-23 : 0;
        cr_assert_eq(hc_decode(HC_FP32, hc_encode(HC_FP32, want.value, want.rest, HC_NEAREST)),
                     0x1p120 * (1 + 0x1p-11 + up));
    }
}

/* <y, conv(x, w)> is one trilinear form: its three gradients must give the same number. */
Test(reference, the_three_convolutions_are_gradients_of_one_number)
{
    struct hc_tensor x = hc_tensor4(HC_FP32, 2, 5, 6, 3, memory[0]);
    struct hc_tensor w = hc_tensor4(HC_FP32, 4, 3, 3, 3, memory[1]);
    struct hc_tensor y = hc_tensor4(HC_FP32, 2, 3, 3, 4, memory[2]);
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < 200; i++)
            memory[s][i] = (float)((i * 37 + s * 11) % 17 - 8);
    struct hc_call calls[3] = {
        {.op = HC_OP_conv2d, .in = {x, w}, .out = {y}, .params.conv = {.stride = 2, .pad = 1}},
        {.op = HC_OP_conv2d_bwd_data,
         .in = {y, w},
         .out = {x},
         .params.conv = {.stride = 2, .pad = 1}},
        {.op = HC_OP_conv2d_bwd_filter,
         .in = {x, y},
         .out = {w},
         .params.conv = {.stride = 2, .pad = 1}},
    };
    double form[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; i < hc_tensor_count(&calls[k].out[0]); i++)
            form[k] += value(&calls[k], 0, i) * hc_tensor_get(&calls[k].out[0], i);
    cr_assert_neq(form[0], 0);
    cr_assert_eq(form[0], form[1]);
    cr_assert_eq(form[0], form[2]);
}

Test(reference, a_filter_of_one_tap_picks_the_pixel_beside)
{
    struct hc_call call = {.op = HC_OP_conv2d, .params.conv = {.stride = 1, .pad = 1}};
    call.in[0] = hc_tensor4(HC_FP32, 1, 4, 4, 1, memory[0]);
    call.in[1] = hc_tensor4(HC_FP32, 1, 3, 3, 1, memory[1]);
    call.out[0] = hc_tensor4(HC_FP32, 1, 4, 4, 1, memory[2]);
    for (int i = 0; i < 16; i++)
        memory[0][i] = (float)(i + 1);
    memory[1][0 * 3 + 2] = 1; /* one row up, one column to the right */
    cr_assert_eq(value(&call, 0, 1 * 4 + 1), 3);
    cr_assert_eq(value(&call, 0, 2 * 4 + 2), 8);
    cr_assert_eq(value(&call, 0, 0), 0);
    cr_assert_eq(value(&call, 0, 3 * 4 + 3), 0);
}

Test(reference, gemm_transposes_scales_and_broadcasts)
{
    struct hc_call call = {.op = HC_OP_gemm,
                           .params.gemm = {.transpose_a = true, .alpha = 2, .beta = -1}};
    call.in[0] = hc_tensor2(HC_FP32, 2, 3, memory[0]); /* A^T: rows of A are columns here */
    call.in[1] = hc_tensor2(HC_FP32, 2, 2, memory[1]);
    call.in[2] = hc_tensor1(HC_FP32, 2, memory[2]);
    call.out[0] = hc_tensor2(HC_FP32, 3, 2, memory[3]);
    const float a[] = {1, 2, 3, 4, 5, 6};
    const float b[] = {1, -1, 10, 7};
    for (int i = 0; i < 6; i++)
        memory[0][i] = a[i];
    for (int i = 0; i < 4; i++)
        memory[1][i] = b[i];
    memory[2][0] = 100;
    memory[2][1] = 200;
    /* row 2 of A is (3, 6): 2 (3 * 1 + 6 * 10) - 100 and 2 (-3 + 42) - 200 */
    cr_assert_eq(value(&call, 0, 4), 26);
    cr_assert_eq(value(&call, 0, 5), -122);
    cr_assert_eq(reference(&call, 0, 5).magnitude, 2 * (3 + 42) + 200);
}

Test(reference, batch_norm_of_plus_and_minus_one)
{
    struct hc_call call = {.op = HC_OP_bn_train, .params.bn = {3, 0.5, 0}};
    call.in[0] = hc_tensor4(HC_FP32, 4, 1, 1, 1, memory[0]);
    call.out[0] = call.in[0];
    for (int i = 1; i < 5; i++)
        call.in[i] = vector(i, 1);
    for (int i = 0; i < 4; i++)
        memory[0][i] = i % 2 ? -1 : 1;
    memory[1][0] = 8; /* gamma */
    memory[2][0] = 5; /* beta */
    memory[3][0] = 2; /* running mean and variance */
    memory[4][0] = 2;
    cr_assert_eq(value(&call, 0, 0), 8 * 0.5 + 5); /* variance 1, eps 3 */
    cr_assert_eq(value(&call, 0, 1), -8 * 0.5 + 5);
    cr_assert_eq(value(&call, 1, 0), 0);
    cr_assert_eq(value(&call, 2, 0), 0.5);
    cr_assert_eq(value(&call, 3, 0), 1);
    assert_near(2 + 0.5 * (4.0 / 3 - 2), value(&call, 4, 0));
    call.op = HC_OP_bn_infer; /* mean 2, variance 2, eps 3 */
    assert_near((1 - 2) / sqrt(5) * 8 + 5, value(&call, 0, 0));
}

/* y does not change when x is moved, or stretched (but for eps): dx sums to 0, and so does
   dx * (x - mean) where eps is 0. */
Test(reference, the_gradient_of_batch_norm_is_blind_to_shift_and_scale)
{
    struct hc_call call = {.op = HC_OP_bn_bwd};
    call.in[0] = hc_tensor4(HC_FP32, 2, 1, 2, 1, memory[0]);
    call.in[1] = hc_tensor4(HC_FP32, 2, 1, 2, 1, memory[1]);
    call.out[0] = call.in[0];
    const float x[] = {1, -1, 3, -3};
    const float dy[] = {1, 2, 4, 7};
    for (int i = 0; i < 4; i++) {
        memory[0][i] = x[i];
        memory[1][i] = dy[i];
    }
    for (int i = 2; i < 5; i++)
        call.in[i] = vector(i, 1);
    memory[2][0] = 3;
    memory[3][0] = 0;
    memory[4][0] = (float)(1 / sqrt(5)); /* variance 5 */
    double shift = 0;
    double stretch = 0;
    for (int i = 0; i < 4; i++) {
        shift += value(&call, 0, i);
        stretch += value(&call, 0, i) * (double)x[i];
    }
    cr_assert(fabs(shift) < 1e-14);
    cr_assert(fabs(stretch) < 1e-5, "%g", stretch); /* 1/sqrt(5) is an fp32 number here */
    cr_assert_eq(value(&call, 2, 0), 14);
    assert_near((1 - 2 + 12 - 21) * (double)memory[4][0], value(&call, 1, 0));
}

Test(reference, equal_logits_cost_the_logarithm_of_their_number)
{
    struct hc_call call = {.op = HC_OP_xent};
    static int32_t labels[] = {3, 0};
    call.in[0] = hc_tensor2(HC_FP32, 2, 4, memory[0]);
    call.in[1] = hc_tensor1(HC_I32, 2, labels);
    call.in[2] = vector(2, 1);
    call.out[0] = call.in[0];
    memory[2][0] = 8;
    for (int i = 0; i < 8; i++)
        memory[0][i] = 1000;
    assert_near(log(4), value(&call, 0, 0));
    call.params.xent.sum = true;
    assert_near(2 * log(4), value(&call, 0, 0));
    call.op = HC_OP_xent_bwd;
    cr_assert_eq(value(&call, 0, 0), 2);
    cr_assert_eq(value(&call, 0, 3), -6);
    call.params.xent.sum = false;
    cr_assert_eq(value(&call, 0, 4), -3);
}

Test(reference, sgd_follows_the_geometric_series_of_its_momentum)
{
    struct hc_call call = {.op = HC_OP_sgd, .params.sgd = {.arithmetic = HC_FP32}};
    for (int i = 0; i < 5; i++)
        call.in[i] = vector(i, i == 3 ? 3 : 1);
    memory[1][0] = 1;
    memory[3][0] = 0.25f;
    memory[3][1] = 0.5f;
    for (int step = 0; step < 6; step++) {
        float w = (float)value(&call, 0, 0);
        memory[2][0] = (float)value(&call, 1, 0);
        memory[0][0] = w;
    }
    cr_assert_eq(memory[2][0], 2 - 0x1p-5f);
    memory[4][0] = 1;
    cr_assert_eq(value(&call, 0, 0), (double)memory[0][0]);
    memory[4][0] = 0;
    call.params.sgd.weight_decay = 4;
    call.params.sgd.decoupled = true;
    memory[0][0] = 16; /* all of w decays: 1 - 0.25 * 4 = 0 */
    cr_assert_eq(value(&call, 0, 0), -0.25 * (1 + 0.5 * (2 - 0x1p-5)));
}

/* At step 1 from zero state m = (1 - beta1) g and v = (1 - beta2) g^2, which the corrections undo:
   w - lr g / (|g| + eps). */
Test(reference, adams_first_step_is_the_learning_rate_times_the_sign)
{
    struct hc_call call = {.op = HC_OP_adamw};
    call.params.adam = (struct hc_adam){.beta2 = 0.999, .eps = 0.25, .arithmetic = HC_FP32};
    for (int i = 0; i < 5; i++)
        call.in[i] = vector(i, i == 4 ? 3 : 1);
    memory[0][0] = 1;
    memory[1][0] = -0.75f;
    memory[4][0] = 0.5f;
    memory[4][1] = 0.875f;
    memory[4][2] = 1;
    assert_near(1 + 0.5 * 0.75, value(&call, 0, 0));
    assert_near(0.125 * -0.75, value(&call, 1, 0));
    assert_near((1 - 0.999) * 0.5625, value(&call, 2, 0));
    call.params.adam.eps_inside = true; /* sqrt(0.5625 + 0.25) */
    assert_near(1 + 0.5 * 0.75 / sqrt(0.8125), value(&call, 0, 0));
    call.params.adam.weight_decay = 0.5;
    assert_near(0.75 + 0.5 * 0.75 / sqrt(0.8125), value(&call, 0, 0));
    call.op = HC_OP_adam; /* g' = -0.75 + 0.5 */
    assert_near(1 + 0.5 * 0.25 / sqrt(0.0625 + 0.25), value(&call, 0, 0));
}

Test(reference, the_detector_of_unscale_looks_at_what_comes_in)
{
    struct hc_call call = {.op = HC_OP_unscale, .in = {vector(0, 3), vector(1, 1), vector(2, 1)}};
    call.out[0] = call.in[0];
    memory[0][0] = 12;
    memory[0][1] = 1e30f;
    memory[1][0] = 1e-30f; /* the quotient overflows fp32: that is not found */
    cr_assert_eq(value(&call, 1, 0), 0);
    memory[0][2] = -INFINITY;
    cr_assert_eq(value(&call, 1, 0), 1);
    memory[0][2] = 0;
    memory[2][0] = 1;
    cr_assert_eq(value(&call, 1, 0), 1);
    memory[1][0] = 3;
    cr_assert_eq(value(&call, 0, 0), 4);
    call.params.unscale.reciprocal = true;
    cr_assert_eq(value(&call, 0, 0), 12 * (double)(1.0f / 3));
}

Test(reference, pools_and_leaks)
{
    struct hc_call call = {.op = HC_OP_avg_pool, .params.pool = {2}};
    call.in[0] = hc_tensor4(HC_FP32, 1, 2, 4, 1, memory[0]);
    call.out[0] = hc_tensor4(HC_FP32, 1, 1, 2, 1, memory[1]);
    for (int i = 0; i < 8; i++)
        memory[0][i] = (float)(1 << i);
    cr_assert_eq(value(&call, 0, 1), (4 + 8 + 64 + 128) / 4.0);
    struct hc_call back = {.op = HC_OP_avg_pool_bwd, .params.pool = {2}};
    back.in[0] = call.out[0];
    back.out[0] = call.in[0];
    memory[1][1] = 6;
    cr_assert_eq(value(&back, 0, 6), 1.5);
    cr_assert_eq(value(&back, 0, 5), 0);
    struct hc_call leak = {.op = HC_OP_leaky_relu, .params.leaky = {0.25}};
    leak.in[0] = leak.in[1] = vector(0, 2);
    memory[0][0] = -8;
    memory[0][1] = 8;
    cr_assert_eq(value(&leak, 0, 0), -2);
    cr_assert_eq(value(&leak, 0, 1), 8);
    leak.op = HC_OP_leaky_relu_bwd;
    cr_assert_eq(value(&leak, 0, 0), -2);
    cr_assert_eq(value(&leak, 0, 1), 8);
}
