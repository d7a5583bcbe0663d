/* The shapes of a call fit together as its op's rule says: products, images, batches, tables. */
#include <limits.h>

#include "op/testing.h"

Test(call, gemm_shapes_fit_together)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.transpose_a = true, .alpha = 1}};
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP16, 4, 2, NULL);
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP16, 4, 3, NULL);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, 2, 3, NULL);
    accepted(&call);
    call.params.gemm.transpose_b = true;
    refused(&call, "gemm: b has shape [4, 3], not [3, 4]");
    call.params.gemm.transpose_b = false;
    call.params.gemm.beta = 1;
    call.in[HC_GEMM_C] = hc_tensor1(HC_FP32, 2, call.in);
    refused(&call, "gemm: c has shape [2], not [3]");
    call.in[HC_GEMM_C] = hc_tensor1(HC_FP32, 3, call.in);
    accepted(&call);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, 4, 3, NULL);
    refused(&call, "gemm: out has shape [4, 3], not [2, 3]");
}

Test(call, factors_of_fp8_may_be_of_two_formats_and_others_are_of_one)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    call.in[HC_GEMM_A] = hc_tensor2(HC_E4M3, 4, 2, NULL);
    call.in[HC_GEMM_B] = hc_tensor2(HC_E5M2, 2, 3, NULL);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_BF16, 4, 3, NULL);
    accepted(&call);
    call.in[HC_GEMM_A].format = HC_E5M2;
    accepted(&call);
    call.in[HC_GEMM_B].format = HC_FP16;
    refused(&call, "gemm: b is fp16, not e4m3 or e5m2");
    call.in[HC_GEMM_A].format = HC_FP16;
    accepted(&call);
    call.in[HC_GEMM_B].format = HC_E4M3;
    refused(&call, "gemm: b is e4m3, not fp16");
    call.in[HC_GEMM_A].format = HC_E4M3;
    call.out[HC_GEMM_OUT].format = HC_E4M3;
    refused(&call, "gemm: out is e4m3, not fp32, bf16 or fp16");
    call.out[HC_GEMM_OUT].format = HC_FP32;
    call.params.gemm.half_accumulator = true;
    refused(&call, "gemm: sums in fp16 of inputs that are e4m3");
    call.params.gemm.half_accumulator = false;
    call.in[HC_GEMM_A].format = HC_E4M3FNUZ;
    refused(&call, "gemm: b is e4m3, not e4m3fnuz or e5m2fnuz");
    call.in[HC_GEMM_B].format = HC_E5M2FNUZ;
    accepted(&call);
    call.in[HC_GEMM_A].format = HC_E5M2;
    refused(&call, "gemm: b is e5m2fnuz, not e4m3 or e5m2");
    call = (struct hc_call){.op = HC_OP_dot, .params.reduce = {HC_FP32}};
    call.in[HC_REDUCE_X] = call.in[HC_DOT_Y] = vector(HC_E4M3, 3);
    call.out[HC_REDUCE_OUT] = vector(HC_FP32, 1);
    refused(&call, "dot: x is e4m3, not fp32, bf16 or fp16");
}

Test(call, convolutions_have_the_extents_of_their_stride_and_pad)
{
    struct hc_tensor x = hc_tensor4(HC_FP16, 2, 7, 5, 3, NULL);
    struct hc_tensor w = hc_tensor4(HC_FP16, 4, 3, 3, 3, NULL);
    struct hc_tensor y = hc_tensor4(HC_FP16, 2, 4, 3, 4, NULL);
    struct hc_call call = {
        .op = HC_OP_conv2d, .in = {x, w}, .out = {y}, .params.conv = {.stride = 2, .pad = 1}};
    accepted(&call);
    call.params.conv.stride = 1;
    refused(&call, "conv2d: y has shape [2, 4, 3, 4], not [2, 7, 5, 4]");
    call.params.conv.stride = 0;
    refused(&call, "conv2d: stride 0, pad 1");
    call = (struct hc_call){.op = HC_OP_conv2d_bwd_filter,
                            .in = {x, y},
                            .out = {w},
                            .params.conv = {.stride = 2, .pad = 1}};
    accepted(&call);
    call.out[HC_CONV_BWD_FILTER_DW].shape[3] = 2;
    refused(&call, "conv2d_bwd_filter: dw has shape [4, 3, 3, 2], not [4, 3, 3, 3]");
    call = (struct hc_call){.op = HC_OP_conv2d_bwd_data,
                            .in = {y, w},
                            .out = {x},
                            .params.conv = {.stride = 2, .pad = 1}};
    accepted(&call);
    call.out[HC_CONV_BWD_DATA_DX].shape[1] = 9;
    refused(&call, "conv2d_bwd_data: dy has shape [2, 4, 3, 4], not [2, 5, 3, 4]");
    call.out[HC_CONV_BWD_DATA_DX].shape[1] = 0;
    refused(&call, "conv2d_bwd_data: the filter does not fit into the padded image");
    call.in[HC_CONV_BWD_DATA_DY].rank = 2;
    refused(&call, "conv2d_bwd_data: dy has rank 2, not 4");
}

Test(call, batches_losses_and_windows)
{
    struct hc_call call = {.op = HC_OP_bn_train};
    call.in[HC_BN_X] = call.out[HC_BN_Y] = hc_tensor4(HC_FP16, 2, 1, 1, 3, NULL);
    for (int i = 1; i < 5; i++)
        call.in[i] = call.out[i] = vector(HC_FP32, 3);
    accepted(&call);
    call.out[HC_BN_SAVED_INVSTD].format = HC_FP16;
    refused(&call, "bn_train: saved_invstd is fp16, not fp32");
    call.out[HC_BN_SAVED_INVSTD] = vector(HC_FP32, 2);
    refused(&call, "bn_train: saved_invstd has shape [2], not 3 elements");
    call.out[HC_BN_SAVED_INVSTD] = vector(HC_FP32, 3);
    call.in[HC_BN_X].shape[0] = call.out[HC_BN_Y].shape[0] = 0;
    refused(&call, "bn_train: an empty batch");
    call.op = HC_OP_bn_leaky_train;
    refused(&call, "bn_leaky_train: an empty batch");

    call = (struct hc_call){.op = HC_OP_bn_leaky_bwd};
    for (int i = 0; i < 6; i++)
        call.in[i] = i < 3 ? hc_tensor4(HC_FP16, 2, 1, 1, 3, NULL) : vector(HC_FP32, 3);
    for (int i = 0; i < 3; i++)
        call.out[i] = i < 1 ? call.in[HC_BN_LEAKY_BWD_X] : vector(HC_FP32, 3);
    accepted(&call);
    call.in[HC_BN_LEAKY_BWD_DY].format = HC_BF16;
    refused(&call, "bn_leaky_bwd: dy is bf16, not fp16");

    call = (struct hc_call){.op = HC_OP_xent};
    call.in[HC_XENT_LOGITS] = hc_tensor2(HC_FP16, 2, 3, NULL);
    call.in[HC_XENT_LABELS] = vector(HC_I32, 3);
    call.out[HC_XENT_LOSS] = vector(HC_FP32, 1);
    refused(&call, "xent: labels has shape [3], not [2]");

    call = (struct hc_call){.op = HC_OP_avg_pool, .params.pool = {2}};
    call.in[HC_POOL_X] = hc_tensor4(HC_FP16, 1, 4, 5, 3, NULL);
    call.out[HC_POOL_Y] = hc_tensor4(HC_FP16, 1, 2, 2, 3, NULL);
    refused(&call, "avg_pool: extents 4 x 5 are no multiples of the window 2");

    call = (struct hc_call){.op = HC_OP_im2col, .params.columns = {3, 2, 1}};
    call.in[HC_IM2COL_X] = hc_tensor4(HC_FP16, 2, 4, 5, 3, NULL);
    call.out[HC_IM2COL_COLUMNS] = hc_tensor2(HC_FP16, 12, 27, NULL);
    accepted(&call);
    call.out[HC_IM2COL_COLUMNS].shape[0] = 11;
    refused(&call, "im2col: columns has shape [11, 27], not [12, 27]");
    call.params.columns.stride = 0;
    refused(&call, "im2col: kernel 3, stride 0, pad 1");
    call.params.columns = (struct hc_columns){6, 1, 0};
    refused(&call, "im2col: the filter does not fit into the padded image");
}

/* Each wraps around to the shape that the tensor has, if it is computed in 64 bits. */
Test(call, columns_of_more_elements_than_64_bits_count_are_refused)
{
    struct hc_call call = {.op = HC_OP_col2im, .params.columns = {1, 1, INT_MAX}};
    call.in[HC_COL2IM_COLUMNS] = hc_tensor2(HC_FP16, 1, 1, NULL);
    call.out[HC_COL2IM_DX] = hc_tensor4(HC_FP16, 1, 3, 3, 1, NULL);
    refused(&call, "col2im: kernel 1, stride 1, pad 2147483647 make too many columns");
    call.params.columns = (struct hc_columns){INT_MAX, 1, INT_MAX};
    call.out[HC_COL2IM_DX] = hc_tensor4(HC_FP16, 1, 1, 1, 3, NULL);
    refused(&call, "col2im: kernel 2147483647, stride 1, pad 2147483647 make too many columns");
    call.out[HC_COL2IM_DX] = hc_tensor4(HC_FP16, 1, INT64_MAX, 1, 1, NULL);
    refused(&call, "col2im: kernel 2147483647, stride 1, pad 2147483647 make too many columns");
}

Test(call, tables_of_the_engine_have_rows_of_two_and_four_and_eight_counts)
{
    struct hc_call call = {.op = HC_OP_rates,
                           .in = {hc_tensor2(HC_FP32, 5, 2, NULL), vector(HC_I32, HC_COUNTS)},
                           .out = {vector(HC_FP32, 3)}};
    accepted(&call);
    call.in[HC_RATES_COUNTS] = vector(HC_I32, 7);
    refused(&call, "rates: counts has shape [7], not 8 elements");
    call.in[HC_RATES_COUNTS] = vector(HC_I32, 8);
    call.in[HC_RATES_TABLE] = hc_tensor2(HC_FP32, 5, 3, NULL);
    refused(&call, "rates: table has shape [5, 3], not [5, 2]");
    call.in[HC_RATES_TABLE] = hc_tensor2(HC_FP32, 0, 2, NULL);
    refused(&call, "rates: a table of no rows");
    call = (struct hc_call){.op = HC_OP_step_log,
                            .in = {hc_tensor2(HC_FP32, 5, 4, NULL), vector(HC_I32, HC_COUNTS)},
                            .out = {hc_tensor2(HC_FP32, 5, 4, NULL)}};
    accepted(&call);
    call.in[HC_STEP_LOG_ROWS] = call.out[HC_STEP_LOG_NEW_ROWS] = hc_tensor2(HC_FP32, 5, 2, NULL);
    refused(&call, "step_log: rows has shape [5, 2], not [5, 4]");
}

Test(call, an_average_over_ranks_is_as_long_as_a_rank_and_has_divisors_that_divide)
{
    struct hc_call call = {
        .op = HC_OP_all_reduce,
        .in = {hc_tensor2(HC_FP16, 4, 7, NULL)},
        .out = {vector(HC_FP16, 7)},
        .params.all_reduce = {.sum = HC_FP16, .before = 1, .after = 4},
    };
    struct hc_all_reduce *p = &call.params.all_reduce;
    accepted(&call);
    p->algorithm = HC_COLLECTIVE_LIBRARY;
    refused(&call, "all_reduce: no algorithm of a stated order has the number 3");
    p->algorithm = HC_COLLECTIVE_RING;
    p->sum = HC_FP64;
    refused(&call, "all_reduce: sum is not fp32, bf16 or fp16");
    p->sum = HC_BF16;
    p->before = 0;
    refused(&call, "all_reduce: nothing can be divided by 0 in fp32");
    p->before = 1e-60;
    refused(&call, "all_reduce: nothing can be divided by 1e-60 in fp32");
    p->before = 0x1p-149;
    accepted(&call);
    p->multiplies = true;
    refused(&call, "all_reduce: nothing can be divided by 1.4013e-45 in fp32");
    p->before = 1;
    p->after = 1e39;
    refused(&call, "all_reduce: nothing can be divided by 1e+39 in fp32");
    p->after = 3;
    call.in[HC_ALL_REDUCE_X].shape[0] = 0;
    refused(&call, "all_reduce: 0 ranks, not 1 to 65536");
    call.in[HC_ALL_REDUCE_X].shape[0] = 65537;
    refused(&call, "all_reduce: 65537 ranks, not 1 to 65536");
    call.in[HC_ALL_REDUCE_X].shape[0] = 1;
    call.out[HC_ALL_REDUCE_OUT] = vector(HC_FP16, 8);
    refused(&call, "all_reduce: out has shape [8], not [7]");
    call.out[HC_ALL_REDUCE_OUT] = vector(HC_FP32, 7);
    refused(&call, "all_reduce: out is fp32, not fp16");
    call.in[HC_ALL_REDUCE_X].format = call.out[HC_ALL_REDUCE_OUT].format = HC_FP64;
    refused(&call, "all_reduce: sum is not fp64, as the first input");
    p->sum = HC_FP64;
    accepted(&call);
    call.in[HC_ALL_REDUCE_X].rank = 1;
    refused(&call, "all_reduce: x has rank 1, not 2");
}

Test(call, a_quantised_product_has_codes_that_go_together_and_a_scale_a_block)
{
    float scales[64];
    struct hc_call call = {
        .op = HC_OP_gemm_q,
        .in = {[HC_GEMM_Q_A] = hc_tensor2(HC_E4M3, 5, 70, NULL),
               [HC_GEMM_Q_B] = hc_tensor2(HC_E5M2, 9, 70, NULL),
               [HC_GEMM_Q_A_SCALES] = hc_tensor2(HC_FP32, 5, 3, NULL),
               [HC_GEMM_Q_B_SCALES] = hc_tensor2(HC_FP32, 3, 1, NULL)},
        .out = {hc_tensor2(HC_BF16, 5, 9, NULL)},
        .params.gemm_q = {1, 32, 4, 0, 0},
    };
    struct hc_tensor *in = call.in;
    accepted(&call);
    in[HC_GEMM_Q_B].format = HC_E4M3FNUZ;
    refused(&call, "gemm_q: b is e4m3fnuz, not e4m3 or e5m2");
    in[HC_GEMM_Q_A].format = HC_E5M2FNUZ;
    accepted(&call);
    in[HC_GEMM_Q_A].format = HC_E2M1;
    refused(&call, "gemm_q: b is e4m3fnuz, not e2m1");
    in[HC_GEMM_Q_B].format = HC_E2M1;
    accepted(&call);
    in[HC_GEMM_Q_A].format = HC_FP16;
    refused(&call, "gemm_q: a is fp16, not e4m3, e5m2, e4m3fnuz, e5m2fnuz, e2m3, e3m2 or e2m1");
    in[HC_GEMM_Q_A].format = HC_E2M1;
    in[HC_GEMM_Q_A_SCALES].format = HC_BF16;
    refused(&call, "gemm_q: a_scales is bf16, not fp32, e8m0 or ue4m3");
    in[HC_GEMM_Q_A_SCALES].format = HC_UE4M3;
    accepted(&call);
    in[HC_GEMM_Q_A_SCALES].shape[1] = 2;
    refused(&call, "gemm_q: a_scales has shape [5, 2], not [5, 3]");
    in[HC_GEMM_Q_A_SCALES].shape[1] = 3;
    call.params.gemm_q.b_rows = 0;
    refused(&call, "gemm_q: b_scales has shape [3, 1], not [1, 1]");
    call.params.gemm_q.b_rows = -4;
    refused(&call, "gemm_q: a block or a piece of -4");
    call.params.gemm_q.b_rows = 4;
    call.params.gemm_q.promote = -1;
    refused(&call, "gemm_q: a block or a piece of -1");
    call.params.gemm_q.promote = 128;
    in[HC_GEMM_Q_C] = hc_tensor1(HC_FP32, 9, scales);
    refused(&call, "gemm_q: c has shape [9], not [5, 9]");
    in[HC_GEMM_Q_C] = hc_tensor2(HC_FP32, 5, 9, scales);
    accepted(&call);
    in[HC_GEMM_Q_B].shape[1] = 71;
    refused(&call, "gemm_q: b has shape [9, 71], not [9, 70]");
}
