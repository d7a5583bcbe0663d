/* A call that breaks its contract is refused with one line that names what is wrong. */
#include "op/testing.h"

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
    refused(&call,
            "scaler_update: a rule that does not always check for overflow cannot skip a step");
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
    refused(&call, "adam: new_v overlaps m");
    call.in[HC_ADAM_M].data = NULL;
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

Test(call, batch_norm_sums_over_all_extents_but_the_last_at_every_rank)
{
    struct hc_call call = {.op = HC_OP_bn_train,
                           .in = {[HC_BN_X] = hc_tensor2(HC_FP32, 7, 3, NULL)}};
    cr_assert_eq(hc_call_length(&call), 7);
    call.in[HC_BN_X].rank = 3;
    call.in[HC_BN_X].shape[2] = 5;
    cr_assert_eq(hc_call_length(&call), 7 * 3);
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

/* After an overflow new_m is a copy of m: it would be one of new_w if that lay there. */
Test(call, an_optimizer_updates_each_tensor_in_its_own_place_alone)
{
    static float memory[2][8];
    struct hc_call call = {.op = HC_OP_adam,
                           .params.adam = {.beta2 = 0.99, .eps = 1e-8, .arithmetic = HC_FP32}};
    for (int i = HC_ADAM_W; i <= HC_ADAM_V; i++)
        call.in[i] = vector(HC_FP32, 8);
    call.in[HC_ADAM_HYPER] = vector(HC_FP32, HC_HYPER_COUNT);
    for (int o = HC_ADAM_NEW_W; o <= HC_ADAM_NEW_V; o++)
        call.out[o] = vector(HC_FP32, 8);
    call.in[HC_ADAM_W].data = call.out[HC_ADAM_NEW_W].data = memory[0];
    call.in[HC_ADAM_M].data = memory[1];
    accepted(&call);
    call.out[HC_ADAM_NEW_W].data = memory[1];
    refused(&call, "adam: new_w overlaps m");
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
