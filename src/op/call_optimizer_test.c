/* An optimizer's call: the formats of its state, and what each order of roundings goes with. */
#include "op/testing.h"

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
