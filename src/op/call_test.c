/* A call that breaks its contract is refused with one line that names what is wrong. */
#include "op/call.h"

#include <criterion/criterion.h>
#include <string.h>

static struct hc_tensor vector(enum hc_format format, int64_t n)
{
    return hc_tensor1(format, n, NULL);
}

static void accepted(const struct hc_call *call)
{
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
}

static void refused(const struct hc_call *call, const char *line)
{
    cr_assert_eq(hc_call_check(call), HC_INVALID, "accepted: %s", line);
    cr_assert_eq(strcmp(hc_message(), line), 0, "%s", hc_message());
}

static struct hc_call add(void)
{
    return (struct hc_call){.op = HC_OP_add,
                            .in = {vector(HC_FP16, 3), vector(HC_FP16, 3)},
                            .out = {vector(HC_FP16, 3)}};
}

Test(call, operands_of_one_op_have_one_format_and_as_many_elements)
{
    struct hc_call call = add();
    accepted(&call);
    call.in[HC_Y].format = HC_BF16;
    refused(&call, "add: y is bf16, not fp16");
    call = add();
    call.out[HC_OUT] = vector(HC_FP16, 4);
    refused(&call, "add: out has shape [4], not 3 elements");
    call = add();
    call.in[HC_X].format = call.in[HC_Y].format = call.out[HC_OUT].format = HC_E4M3;
    refused(&call, "add: x is e4m3, not fp32, bf16, fp16 or fp64");
    call = add();
    call.in[HC_Y].rank = 5;
    refused(&call, "add: y has rank 5");
    call = add();
    call.in[HC_X].shape[0] = -3;
    refused(&call, "add: x has shape [-3]");
    call.op = (enum hc_op)1000;
    refused(&call, "no op 1000");
}

Test(call, scalars_are_one_fp32_number)
{
    struct hc_call call = {.op = HC_OP_scale,
                           .in = {vector(HC_FP16, 3), vector(HC_FP32, 1)},
                           .out = {vector(HC_FP32, 3)}};
    accepted(&call);
    call.in[HC_SCALE_S].format = HC_FP16;
    refused(&call, "scale: s is fp16, not fp32");
    call.in[HC_SCALE_S] = vector(HC_FP32, 3);
    refused(&call, "scale: s has shape [3], not 1 element");
}

Test(call, a_scalers_rule_skips_only_where_it_always_looks)
{
    struct hc_call call = {.op = HC_OP_scaler_update,
                           .in = {vector(HC_FP32, 1), vector(HC_I32, 8), vector(HC_FP32, 1)},
                           .out = {vector(HC_FP32, 1), vector(HC_I32, 8)},
                           .params.scaler = {.min_checked_scale = -1, .skip_on_overflow = true}};
    accepted(&call);
    call.params.scaler.min_checked_scale = 1;
    refused(&call, "scaler_update: a rule that does not always look cannot skip");
    call.params.scaler = (struct hc_scaler_update){.interval = -1};
    refused(&call, "scaler_update: a count of steps is negative");
    call.params.scaler.interval = 0;
    call.in[HC_SCALER_COUNTS] = vector(HC_I32, 7);
    refused(&call, "scaler_update: counts has shape [7], not 8 elements");
}

Test(call, accumulators_are_fp32_or_the_inputs_format)
{
    struct hc_call call = {
        .op = HC_OP_sum, .in = {vector(HC_FP16, 3)}, .out = {vector(HC_FP32, 1)}};
    call.params.reduce.accumulator = HC_FP16;
    accepted(&call);
    call.params.reduce.accumulator = HC_BF16;
    refused(&call, "sum: the accumulator is neither fp32 nor the inputs' format");
}

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
}

Test(call, optimizers_keep_the_formats_of_their_state)
{
    struct hc_call call = {.op = HC_OP_sgd, .params.sgd = {.arithmetic = HC_FP32}};
    call.in[HC_SGD_W] = call.in[HC_SGD_MOMENTUM] = call.out[HC_SGD_NEW_W] =
        call.out[HC_SGD_NEW_MOMENTUM] = vector(HC_FP32, 5);
    call.in[HC_SGD_G] = vector(HC_FP16, 5);
    call.in[HC_SGD_HYPER] = vector(HC_FP32, HC_HYPER_COUNT);
    accepted(&call);
    call.out[HC_SGD_NEW_MOMENTUM].format = HC_FP16;
    refused(&call, "sgd: new_momentum is fp16, not fp32");
    call.out[HC_SGD_NEW_MOMENTUM].format = HC_FP32;
    call.params.sgd.arithmetic = HC_FP64;
    refused(&call, "sgd: arithmetic is not fp32, bf16 or fp16");
    call.params.sgd.arithmetic = HC_FP16;
    call.in[HC_SGD_FOUND_INF] = hc_tensor1(HC_FP16, 1, call.in);
    refused(&call, "sgd: found_inf is fp16, not fp32");
}

Test(call, a_message_says_the_name_of_the_slot_and_what_it_should_have)
{
    struct hc_call call = {.op = HC_OP_adam, .params.adam = {.arithmetic = HC_FP32}};
    for (int i = 0; i < HC_ADAM_HYPER; i++)
        call.in[i] = vector(HC_FP32, 5);
    for (int o = 0; o < HC_ADAM_NEW_COMPENSATION; o++)
        call.out[o] = vector(HC_FP32, 5);
    call.in[HC_ADAM_HYPER] = vector(HC_FP32, 2);
    refused(&call, "adam: hyper has shape [2], not 3 elements");
    call.in[HC_ADAM_HYPER] = vector(HC_FP32, HC_HYPER_COUNT);
    accepted(&call);
    call.in[HC_ADAM_W].format = HC_FP64;
    refused(&call, "adam: g is fp32, not fp64, as the first input");
    call.in[HC_ADAM_W].format = HC_FP32;
    call.out[HC_ADAM_NEW_M].format = HC_FP16;
    refused(&call, "adam: new_m is fp16, not fp32");
    float state[5];
    call.in[HC_ADAM_M].data = call.out[HC_ADAM_NEW_M].data = state;
    call.out[HC_ADAM_NEW_M].format = HC_FP32;
    accepted(&call);
    call.out[HC_ADAM_NEW_V].data = state;
    refused(&call, "adam: new_v overlaps new_m");
}

Test(call, the_format_of_the_arithmetic_is_set_where_the_op_leaves_a_choice)
{
    struct hc_call call = {.op = HC_OP_dot};
    hc_call_compute_in(&call, HC_BF16);
    cr_assert_eq(call.params.reduce.accumulator, HC_BF16);
    call = (struct hc_call){.op = HC_OP_gemm};
    hc_call_compute_in(&call, HC_TF32);
    cr_assert(call.params.gemm.tf32 && !call.params.gemm.half_accumulator);
    hc_call_compute_in(&call, HC_FP16);
    cr_assert(!call.params.gemm.tf32 && call.params.gemm.half_accumulator);
    call = (struct hc_call){.op = HC_OP_conv2d_bwd_filter};
    hc_call_compute_in(&call, HC_TF32);
    cr_assert(call.params.conv.tf32);
    call = (struct hc_call){.op = HC_OP_sgd};
    hc_call_compute_in(&call, HC_BF16);
    cr_assert_eq(call.params.sgd.arithmetic, HC_BF16);
    call = (struct hc_call){.op = HC_OP_adamw};
    hc_call_compute_in(&call, HC_FP16);
    cr_assert_eq(call.params.adam.arithmetic, HC_FP16);
    cr_assert_null(hc_optimizer_stochastic(HC_OP_add, &call.params));
    cr_assert_eq(hc_optimizer_stochastic(HC_OP_adam, &call.params), &call.params.adam.stochastic);
}

Test(call, the_length_of_a_sum_is_what_the_shapes_and_parameters_say)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.transpose_a = true}};
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP16, 4, 2, NULL);
    cr_assert_eq(hc_call_length(&call), 4);
    call = (struct hc_call){.op = HC_OP_conv2d};
    struct hc_tensor w = hc_tensor4(HC_FP16, 7, 3, 2, 5, NULL);
    struct hc_tensor dy = hc_tensor4(HC_FP16, 11, 13, 17, 7, NULL);
    call.in[HC_CONV_W] = w;
    cr_assert_eq(hc_call_length(&call), 3 * 2 * 5);
    call = (struct hc_call){.op = HC_OP_conv2d_bwd_data, .in = {dy, w}};
    cr_assert_eq(hc_call_length(&call), 7 * 3 * 2);
    call = (struct hc_call){.op = HC_OP_conv2d_bwd_filter, .in = {w, dy}};
    cr_assert_eq(hc_call_length(&call), 11 * 13 * 17);
    call = (struct hc_call){.op = HC_OP_avg_pool, .params.pool = {3}};
    cr_assert_eq(hc_call_length(&call), 9);
    call = (struct hc_call){.op = HC_OP_adam};
    cr_assert_eq(hc_call_length(&call), 1);
}

Test(call, weights_are_compensated_or_rounded_stochastically_where_that_makes_sense)
{
    struct hc_call call = {.op = HC_OP_sgd, .params.sgd = {.arithmetic = HC_FP32}};
    call.in[HC_SGD_W] = call.in[HC_SGD_G] = call.in[HC_SGD_MOMENTUM] = call.out[HC_SGD_NEW_W] =
        call.out[HC_SGD_NEW_MOMENTUM] = vector(HC_BF16, 5);
    call.in[HC_SGD_HYPER] = vector(HC_FP32, 3);
    call.params.sgd.stochastic = (struct hc_stochastic){true, 1, 64};
    accepted(&call);
    call.params.sgd.stochastic.first = 32;
    refused(&call, "sgd: the first element is 32, not a multiple of 64");
    call.params.sgd.stochastic.first = 0;
    call.params.sgd.arithmetic = HC_BF16;
    refused(&call, "sgd: rounds stochastically from fp32 into bf16 alone");
    call.params.sgd.arithmetic = HC_FP32;
    call.in[HC_SGD_COMPENSATION] = hc_tensor1(HC_BF16, 5, call.in);
    refused(&call, "sgd: one of compensation and new_compensation is absent");
    call.in[HC_SGD_COMPENSATION] = (struct hc_tensor){0};
    call.out[HC_SGD_NEW_COMPENSATION] = hc_tensor1(HC_BF16, 5, &call.params);
    refused(&call, "sgd: one of compensation and new_compensation is absent");
    call.in[HC_SGD_COMPENSATION] = hc_tensor1(HC_BF16, 5, call.in);
    call.out[HC_SGD_NEW_COMPENSATION] = hc_tensor1(HC_BF16, 5, &call.params);
    refused(&call, "sgd: either rounds stochastically or compensates");
    call.params.sgd.stochastic.on = false;
    accepted(&call);
    call.params.sgd.arithmetic = HC_FP16;
    refused(&call, "sgd: compensates bf16 in fp32 or bf16, not fp16");
    call.out[HC_SGD_NEW_COMPENSATION].format = HC_FP16;
    refused(&call, "sgd: new_compensation is fp16, not bf16");
}

Test(call, orders_of_others_have_what_these_have)
{
    struct hc_call call = {.op = HC_OP_adamw, .params.adam = {.arithmetic = HC_FP32}};
    for (int i = 0; i < HC_ADAM_HYPER; i++)
        call.in[i] = vector(HC_FP16, 5);
    call.in[HC_ADAM_HYPER] = vector(HC_FP32, 3);
    for (int o = 0; o < HC_ADAM_NEW_COMPENSATION; o++)
        call.out[o] = vector(HC_FP16, 5);
    for (int order = 0; order < HC_ORDER_COUNT; order++) {
        call.params.adam.order = (enum hc_adam_order)order;
        accepted(&call);
    }
    call.params.adam.eps_inside = true;
    refused(&call, "adamw: the order apex has no eps inside the root");
    call.params.adam.eps_inside = false;
    call.params.adam.arithmetic = HC_FP16;
    refused(&call, "adamw: the order apex is one of fp32, not fp16");
    call.params.adam.order = HC_ORDER_TORCH_FUSED;
    refused(&call, "adamw: the order torch-fused is one of fp32, not fp16");
    call.params.adam.order = HC_ORDER_TORCH_LOOP;
    accepted(&call);
    call.in[HC_ADAM_COMPENSATION] = hc_tensor1(HC_FP16, 5, call.in);
    call.out[HC_ADAM_NEW_COMPENSATION] = hc_tensor1(HC_FP16, 5, &call.params);
    refused(&call, "adamw: the order torch-loop has no compensation");
    call.params.adam.order = (enum hc_adam_order)9;
    refused(&call, "adamw: no order 9");
}

Test(call, casts_have_a_direction)
{
    struct hc_call call = {
        .op = HC_OP_cast, .in = {vector(HC_FP64, 3)}, .out = {vector(HC_E5M2, 3)}};
    accepted(&call);
    call.in[HC_X].format = HC_U8;
    refused(&call, "cast: x is u8, not any format but u8");
    call.in[HC_X].format = HC_FP64;
    call.params.cast.direction = HC_DIRECTION_COUNT;
    refused(&call, "cast: no direction 4");
}

Test(call, in_place_is_for_elementwise_ops_and_whole_tensors)
{
    static uint16_t memory[8];
    struct hc_call call = add();
    call.in[HC_X].data = call.out[HC_OUT].data = memory;
    accepted(&call);
    call.out[HC_OUT].data = memory + 1;
    refused(&call, "add: out overlaps x");
    call.out[HC_OUT].data = memory + 3;
    accepted(&call);
    call = (struct hc_call){
        .op = HC_OP_sum, .in = {hc_tensor1(HC_FP16, 8, memory)}, .out = {vector(HC_FP16, 1)}};
    call.params.reduce.accumulator = HC_FP32;
    call.out[HC_REDUCE_OUT].data = memory;
    refused(&call, "sum: out overlaps x");
}

Test(call, clipping_takes_squares_summed_in_fp32_and_a_norm)
{
    struct hc_call call = {
        .op = HC_OP_sum_squares, .in = {vector(HC_FP16, 3)}, .out = {vector(HC_FP32, 1)}};
    call.params.reduce.accumulator = HC_FP16;
    refused(&call, "sum_squares: the accumulator is not fp32");
    call.params.reduce.accumulator = HC_FP32;
    accepted(&call);
    float sum = 0;
    call.in[HC_SUM_SQUARES_PARTIAL] = call.out[HC_REDUCE_OUT] = hc_tensor1(HC_FP32, 1, &sum);
    accepted(&call);
    call.in[HC_REDUCE_X] = hc_tensor1(HC_FP32, 1, &sum);
    refused(&call, "sum_squares: out overlaps x");
    call =
        (struct hc_call){.op = HC_OP_clip, .in = {vector(HC_FP32, 1)}, .out = {vector(HC_FP32, 1)}};
    accepted(&call);
    call.params.clip.max_norm = -1;
    refused(&call, "clip: no norm can be at most -1");
    call.params.clip.max_norm = 1e39;
    refused(&call, "clip: no norm can be at most 1e+39");
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
