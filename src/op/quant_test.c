/* Calls of quantize, dequantize and delayed_scale that are refused, each with its line. */
#include "op/quant.h"

#include "op/testing.h"

static struct hc_call quantize(void)
{
    return (struct hc_call){
        .op = HC_OP_quantize,
        .in = {hc_tensor2(HC_BF16, 20, 48, NULL)},
        .out = {hc_tensor2(HC_E4M3, 20, 48, NULL), hc_tensor2(HC_E8M0, 20, 2, NULL),
                vector(HC_FP32, 1), vector(HC_FP32, 1)},
        .params.quantize = {.rule = HC_SCALE_MX_RP, .rows = 1, .columns = 32},
    };
}

Test(quant, blocks_that_do_not_divide_are_smaller_at_the_end_and_no_block_is_negative)
{
    struct hc_call call = quantize();
    struct hc_quantize *p = &call.params.quantize;
    accepted(&call);
    call.out[HC_QUANTIZE_SCALES].shape[1] = 1;
    refused(&call, "quantize: scales has shape [20, 1], not [20, 2]");
    p->columns = 0;
    accepted(&call);
    p->columns = -32;
    refused(&call, "quantize: no block has 1 rows and -32 columns");
    p->columns = 48;
    p->rows = 7;
    call.out[HC_QUANTIZE_SCALES].shape[0] = 3;
    accepted(&call);
    p->transpose = true;
    refused(&call, "quantize: codes has shape [20, 48], not [48, 20]");
}

Test(quant, a_block_may_be_larger_than_any_matrix)
{
    struct hc_call call = quantize();
    struct hc_quantize *p = &call.params.quantize;
    call.out[HC_QUANTIZE_SCALES].shape[1] = 1;
    p->columns = INT64_MAX;
    accepted(&call);
    p->rows = INT64_MAX - 18;
    call.out[HC_QUANTIZE_SCALES].shape[0] = 1;
    accepted(&call);
    p->rows = INT64_MIN;
    refused(&call, "quantize: no block has -9223372036854775808 rows and 9223372036854775807 "
                   "columns");
}

Test(quant, blocks_are_counted_where_extents_and_sizes_are_the_largest)
{
    cr_expect_eq(hc_quant_blocks(0, INT64_MAX), 0);
    cr_expect_eq(hc_quant_blocks(1, INT64_MAX), 1);
    cr_expect_eq(hc_quant_blocks(INT64_MAX, INT64_MAX), 1);
    cr_expect_eq(hc_quant_blocks(INT64_MAX, INT64_MAX - 1), 2);
    cr_expect_eq(hc_quant_blocks(INT64_MAX, 2), INT64_MAX / 2 + 1);
    cr_expect_eq(hc_quant_blocks(INT64_MAX, 0), 1);
}

Test(quant, scales_have_the_rules_format_and_rules_of_two_levels_are_for_e2m1)
{
    struct hc_call call = quantize();
    struct hc_quantize *p = &call.params.quantize;
    p->rule = HC_SCALE_TE_BLOCK;
    refused(&call, "quantize: scales is e8m0, not fp32 as te-block stores them");
    p->rule = HC_SCALE_NVFP4_TE;
    call.out[HC_QUANTIZE_SCALES].format = HC_UE4M3;
    refused(&call, "quantize: codes is e4m3, not e2m1, which nvfp4-te is for");
    call.out[HC_QUANTIZE_CODES].format = HC_E2M1;
    accepted(&call);
    p->rule = HC_SCALE_RULE_COUNT;
    call.out[HC_QUANTIZE_CODES].format = HC_FP16;
    refused(&call,
            "quantize: codes is fp16, not e4m3, e5m2, e4m3fnuz, e5m2fnuz, e2m3, e3m2 or e2m1");
    call = quantize();
    call.in[HC_QUANTIZE_X].format = HC_FP64;
    refused(&call, "quantize: x is fp64, not fp32, bf16 or fp16");
}

Test(quant, a_multiplier_is_given_to_the_rule_given_and_to_no_other)
{
    static float scale = 2;
    struct hc_call call = quantize();
    struct hc_quantize *p = &call.params.quantize;
    call.in[HC_QUANTIZE_SCALE] = hc_tensor1(HC_FP32, 1, &scale);
    refused(&call, "quantize: scale is given under the rule mx-rp");
    p->rule = HC_SCALE_GIVEN;
    call.out[HC_QUANTIZE_SCALES].format = HC_FP32;
    accepted(&call);
    call.in[HC_QUANTIZE_SCALE].data = NULL;
    refused(&call, "quantize: scale is absent under the rule given");
}

Test(quant, a_hadamard_matrix_takes_whole_groups_and_random_bits_are_few)
{
    struct hc_call call = quantize();
    struct hc_quantize *p = &call.params.quantize;
    p->hadamard = true;
    accepted(&call);
    p->random_bits = 17;
    refused(&call, "quantize: 17 random bits, not 0 to 16");
    p->random_bits = 16;
    call.in[HC_QUANTIZE_X].shape[1] = call.out[HC_QUANTIZE_CODES].shape[1] = 50;
    refused(&call, "quantize: rows of 50 have no whole groups of 16 to multiply");
}

Test(quant, dequantize_has_the_scales_of_its_blocks)
{
    struct hc_call call = {
        .op = HC_OP_dequantize,
        .in = {hc_tensor2(HC_E2M1, 20, 48, NULL), hc_tensor2(HC_UE4M3, 20, 3, NULL)},
        .out = {hc_tensor2(HC_FP16, 20, 48, NULL)},
        .params.dequantize = {1, 16},
    };
    accepted(&call);
    call.params.dequantize.columns = 17;
    accepted(&call);
    call.params.dequantize.columns = 24;
    refused(&call, "dequantize: scales has shape [20, 3], not [20, 2]");
    call.in[HC_DEQUANTIZE_SCALES].format = HC_FP16;
    refused(&call, "dequantize: scales is fp16, not fp32, e8m0 or ue4m3");
}

Test(quant, a_history_has_a_step_and_a_margin_leaves_numbers)
{
    struct hc_call call = {
        .op = HC_OP_delayed_scale,
        .in = {vector(HC_FP32, 5), hc_tensor2(HC_FP32, 16, 5, NULL), vector(HC_FP32, 5)},
        .out = {hc_tensor2(HC_FP32, 16, 5, NULL), vector(HC_FP32, 5)},
        .params.delayed_scale = {.codes = HC_E5M2, .margin = 100},
    };
    struct hc_delayed_scale *p = &call.params.delayed_scale;
    accepted(&call);
    p->margin = 101;
    refused(&call, "delayed_scale: margin is 101, not -100 to 100");
    p->margin = 0;
    p->codes = HC_BF16;
    refused(&call, "delayed_scale: codes is no format of codes");
    p->codes = HC_E4M3;
    p->rule = HC_DELAYED_RULE_COUNT;
    refused(&call, "delayed_scale: no rule has the number 5");
    call.in[HC_DELAYED_HISTORY].shape[1] = 4;
    refused(&call, "delayed_scale: history has shape [16, 4], not [16, 5]");
    call.in[HC_DELAYED_HISTORY] = call.out[HC_DELAYED_NEW_HISTORY] =
        hc_tensor2(HC_FP32, 0, 5, NULL);
    refused(&call, "delayed_scale: a history of no steps");
}
