/* The references of the network's ops, by closed forms. */
#include "reference/testing.h"

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
        for (int64_t i = 0; i < hc_tensor_count(&calls[k].out[HC_CONV_RESULT]); i++)
            form[k] += value(&calls[k], HC_CONV_RESULT, i) *
                       hc_tensor_get(&calls[k].out[HC_CONV_RESULT], i);
    cr_assert_neq(form[0], 0);
    cr_assert_eq(form[0], form[1]);
    cr_assert_eq(form[0], form[2]);
}

Test(reference, a_filter_of_one_tap_picks_the_pixel_beside)
{
    struct hc_call call = {.op = HC_OP_conv2d, .params.conv = {.stride = 1, .pad = 1}};
    call.in[HC_CONV_X] = hc_tensor4(HC_FP32, 1, 4, 4, 1, memory[0]);
    call.in[HC_CONV_W] = hc_tensor4(HC_FP32, 1, 3, 3, 1, memory[1]);
    call.out[HC_CONV_Y] = hc_tensor4(HC_FP32, 1, 4, 4, 1, memory[2]);
    for (int i = 0; i < 16; i++)
        memory[0][i] = (float)(i + 1);
    memory[1][0 * 3 + 2] = 1; /* one row up, one column to the right */
    cr_assert_eq(value(&call, HC_CONV_Y, 1 * 4 + 1), 3);
    cr_assert_eq(value(&call, HC_CONV_Y, 2 * 4 + 2), 8);
    cr_assert_eq(value(&call, HC_CONV_Y, 0), 0);
    cr_assert_eq(value(&call, HC_CONV_Y, 3 * 4 + 3), 0);
}

Test(reference, gemm_transposes_scales_and_broadcasts)
{
    struct hc_call call = {.op = HC_OP_gemm,
                           .params.gemm = {.transpose_a = true, .alpha = 2, .beta = -1}};
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP32, 2, 3, memory[0]); /* A^T: rows of A are columns here */
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP32, 2, 2, memory[1]);
    call.in[HC_GEMM_C] = hc_tensor1(HC_FP32, 2, memory[2]);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, 3, 2, memory[3]);
    const float a[] = {1, 2, 3, 4, 5, 6};
    const float b[] = {1, -1, 10, 7};
    for (int i = 0; i < 6; i++)
        memory[0][i] = a[i];
    for (int i = 0; i < 4; i++)
        memory[1][i] = b[i];
    memory[2][0] = 100;
    memory[2][1] = 200;
    /* row 2 of A is (3, 6): 2 (3 * 1 + 6 * 10) - 100 and 2 (-3 + 42) - 200 */
    cr_assert_eq(value(&call, HC_GEMM_OUT, 4), 26);
    cr_assert_eq(value(&call, HC_GEMM_OUT, 5), -122);
    cr_assert_eq(reference(&call, HC_GEMM_OUT, 5).magnitude, 2 * (3 + 42) + 200);
}

Test(reference, batch_norm_of_plus_and_minus_one)
{
    struct hc_call call = {.op = HC_OP_bn_train, .params.bn = {3, 0.5, 0}};
    call.in[HC_BN_X] = hc_tensor4(HC_FP32, 4, 1, 1, 1, memory[HC_BN_X]);
    call.out[HC_BN_Y] = call.in[HC_BN_X];
    for (int i = HC_BN_GAMMA; i <= HC_BN_VARIANCE; i++)
        call.in[i] = vector(i, 1);
    for (int i = 0; i < 4; i++)
        memory[HC_BN_X][i] = i % 2 ? -1 : 1;
    memory[HC_BN_GAMMA][0] = 8;
    memory[HC_BN_BETA][0] = 5;
    memory[HC_BN_MEAN][0] = 2;
    memory[HC_BN_VARIANCE][0] = 2;
    cr_assert_eq(value(&call, HC_BN_Y, 0), 8 * 0.5 + 5); /* variance 1, eps 3 */
    cr_assert_eq(value(&call, HC_BN_Y, 1), -8 * 0.5 + 5);
    cr_assert_eq(value(&call, HC_BN_SAVED_MEAN, 0), 0);
    cr_assert_eq(value(&call, HC_BN_SAVED_INVSTD, 0), 0.5);
    cr_assert_eq(value(&call, HC_BN_NEW_MEAN, 0), 1);
    assert_near(2 + 0.5 * (4.0 / 3 - 2), value(&call, HC_BN_NEW_VARIANCE, 0));
    call.op = HC_OP_bn_infer; /* mean 2, variance 2, eps 3 */
    assert_near((1 - 2) / sqrt(5) * 8 + 5, value(&call, HC_BN_Y, 0));
}

/* y does not change when x is moved, or stretched (but for eps): dx sums to 0, and so does
   dx * (x - mean) where eps is 0. */
Test(reference, the_gradient_of_batch_norm_is_blind_to_shift_and_scale)
{
    struct hc_call call = {.op = HC_OP_bn_bwd};
    call.in[HC_BN_BWD_X] = hc_tensor4(HC_FP32, 2, 1, 2, 1, memory[HC_BN_BWD_X]);
    call.in[HC_BN_BWD_DY] = hc_tensor4(HC_FP32, 2, 1, 2, 1, memory[HC_BN_BWD_DY]);
    call.out[HC_BN_BWD_DX] = call.in[HC_BN_BWD_X];
    const float x[] = {1, -1, 3, -3};
    const float dy[] = {1, 2, 4, 7};
    for (int i = 0; i < 4; i++) {
        memory[HC_BN_BWD_X][i] = x[i];
        memory[HC_BN_BWD_DY][i] = dy[i];
    }
    for (int i = HC_BN_BWD_GAMMA; i <= HC_BN_BWD_INVSTD; i++)
        call.in[i] = vector(i, 1);
    memory[HC_BN_BWD_GAMMA][0] = 3;
    memory[HC_BN_BWD_MEAN][0] = 0;
    memory[HC_BN_BWD_INVSTD][0] = (float)(1 / sqrt(5)); /* variance 5 */
    double shift = 0;
    double stretch = 0;
    for (int i = 0; i < 4; i++) {
        shift += value(&call, HC_BN_BWD_DX, i);
        stretch += value(&call, HC_BN_BWD_DX, i) * (double)x[i];
    }
    cr_assert(fabs(shift) < 1e-14);
    cr_assert(fabs(stretch) < 1e-5, "%g", stretch); /* 1/sqrt(5) is an fp32 number here */
    cr_assert_eq(value(&call, HC_BN_BWD_DBETA, 0), 14);
    assert_near((1 - 2 + 12 - 21) * (double)memory[HC_BN_BWD_INVSTD][0],
                value(&call, HC_BN_BWD_DGAMMA, 0));
}

Test(reference, equal_logits_cost_the_logarithm_of_their_number)
{
    struct hc_call call = {.op = HC_OP_xent};
    static int32_t labels[] = {3, 0};
    call.in[HC_XENT_LOGITS] = hc_tensor2(HC_FP32, 2, 4, memory[0]);
    call.in[HC_XENT_LABELS] = hc_tensor1(HC_I32, 2, labels);
    call.in[HC_XENT_UPSTREAM] = vector(2, 1);
    call.out[HC_XENT_DLOGITS] = call.in[HC_XENT_LOGITS];
    memory[2][0] = 8;
    for (int i = 0; i < 8; i++)
        memory[0][i] = 1000;
    assert_near(log(4), value(&call, HC_XENT_LOSS, 0));
    call.params.xent.sum = true;
    assert_near(2 * log(4), value(&call, HC_XENT_LOSS, 0));
    call.op = HC_OP_xent_bwd;
    cr_assert_eq(value(&call, HC_XENT_DLOGITS, 0), 2);
    cr_assert_eq(value(&call, HC_XENT_DLOGITS, 3), -6);
    call.params.xent.sum = false;
    cr_assert_eq(value(&call, HC_XENT_DLOGITS, 4), -3);
}

Test(reference, pools_and_leaks)
{
    struct hc_call call = {.op = HC_OP_avg_pool, .params.pool = {2}};
    call.in[HC_POOL_X] = hc_tensor4(HC_FP32, 1, 2, 4, 1, memory[0]);
    call.out[HC_POOL_Y] = hc_tensor4(HC_FP32, 1, 1, 2, 1, memory[1]);
    for (int i = 0; i < 8; i++)
        memory[0][i] = (float)(1 << i);
    cr_assert_eq(value(&call, HC_POOL_Y, 1), (4 + 8 + 64 + 128) / 4.0);
    struct hc_call back = {.op = HC_OP_avg_pool_bwd, .params.pool = {2}};
    back.in[HC_POOL_BWD_DY] = call.out[HC_POOL_Y];
    back.out[HC_POOL_BWD_DX] = call.in[HC_POOL_X];
    memory[1][1] = 6;
    cr_assert_eq(value(&back, HC_POOL_BWD_DX, 6), 1.5);
    cr_assert_eq(value(&back, HC_POOL_BWD_DX, 5), 0);
    struct hc_call leak = {.op = HC_OP_leaky_relu, .params.leaky = {0.25}};
    leak.in[HC_LEAKY_BWD_Y] = leak.in[HC_LEAKY_BWD_DY] = vector(0, 2);
    memory[0][0] = -8;
    memory[0][1] = 8;
    cr_assert_eq(value(&leak, HC_LEAKY_Y, 0), -2);
    cr_assert_eq(value(&leak, HC_LEAKY_Y, 1), 8);
    leak.op = HC_OP_leaky_relu_bwd;
    cr_assert_eq(value(&leak, HC_LEAKY_BWD_DX, 0), -2);
    cr_assert_eq(value(&leak, HC_LEAKY_BWD_DX, 1), 8);
}
