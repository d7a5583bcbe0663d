/* The line of a call. */
#include "kernels/pipe/request.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *line_of(const struct hc_call *call)
{
    static struct hc_request request;
    hc_request_plan(&request, call, false, false);
    hc_request_write(&request, call, 1, 0);
    return request.line;
}

static struct hc_call product(enum hc_format format)
{
    static double memory[3];
    return (struct hc_call){.op = HC_OP_gemm,
                            .params.gemm = {.alpha = 0.1, .beta = 0},
                            .in[HC_GEMM_A] = hc_tensor2(format, 1, 1, &memory[0]),
                            .in[HC_GEMM_B] = hc_tensor2(format, 1, 1, &memory[1]),
                            .out[HC_GEMM_OUT] = hc_tensor2(format, 1, 1, &memory[2])};
}

/* A program that multiplies by fp64's 0.1 in fp64 would be off by 1.5e-8, and was said to be
   wrong. */
Test(request, parameters_that_kernels_take_as_fp32_are_sent_as_fp32)
{
    for (int wide = 0; wide < 2; wide++) {
        struct hc_call call = product(wide ? HC_FP64 : HC_FP32);
        const char *line = line_of(&call);
        cr_expect(strstr(line, "\"alpha\": \"0x1.99999ap-4\""), "%s", line);
    }
}

Test(request, divisors_of_an_average_are_sent_as_fp32)
{
    static double memory[3];
    struct hc_call call = {.op = HC_OP_all_reduce,
                           .params.all_reduce = {HC_COLLECTIVE_RING, HC_FP64, 0.1, 2, true},
                           .in[HC_ALL_REDUCE_X] = hc_tensor2(HC_FP64, 2, 1, memory),
                           .out[HC_ALL_REDUCE_OUT] = hc_tensor1(HC_FP64, 1, memory + 2)};
    const char *line = line_of(&call);
    cr_expect(strstr(line, "\"before\": \"0x1.99999ap-4\""), "%s", line);
    cr_expect(strstr(line, "\"algorithm\": \"ring\""), "%s", line);
}

Test(request, parameters_of_optimizers_are_sent_in_fp64)
{
    static float memory[8][4];
    struct hc_call call = {.op = HC_OP_adamw, .params.adam = {.beta2 = 0.1}};
    for (int s = 0; s < 5; s++)
        call.in[s] = hc_tensor1(HC_FP32, 3, memory[s]);
    for (int s = 0; s < 3; s++)
        call.out[s] = hc_tensor1(HC_FP32, 3, memory[5 + s]);
    const char *line = line_of(&call);
    cr_expect(strstr(line, "\"beta2\": \"0x1.999999999999ap-4\""), "%s", line);
}
