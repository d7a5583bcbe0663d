/* An amax that is looked for once is the one that is looked for each time. */
#include "reference/testing.h"

static uint8_t codes[ROOM * ROOM];

/* x of 32 x 32 numbers, each another one, in blocks of rows x columns under a rule of two levels:
   of each element the reference asks for the amax of its block and of the tensor. */
static struct hc_call quantize(int rows, int columns)
{
    struct hc_call call = {.op = HC_OP_quantize, .params.quantize = {.rule = HC_SCALE_NVFP4_TE}};
    call.params.quantize.rows = rows;
    call.params.quantize.columns = columns;
    call.in[HC_QUANTIZE_X] = hc_tensor2(HC_FP32, 32, 32, memory[0]);
    call.out[HC_QUANTIZE_CODES] = hc_tensor2(HC_E2M1, 32, 32, codes);
    call.out[HC_QUANTIZE_SCALES] =
        hc_tensor2(HC_UE4M3, rows ? 32 / rows : 1, columns ? 32 / columns : 1, codes);
    call.out[HC_QUANTIZE_TENSOR] = call.out[HC_QUANTIZE_AMAX] = vector(1, 1);
    for (int i = 0; i < 32 * 32; i++)
        memory[0][i] = (float)((i * 37 % 1024 + 1) * (i % 2 ? 1 : -1));
    return call;
}

/* All elements of all outputs. */
static void value_all(const struct hc_call *call, double *to)
{
    for (int out = 0; out < hc_ops[call->op].outputs; out++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[out]); i++)
            *to++ = value(call, out, i);
}

static void expect_the_same(struct hc_call call, const char *what)
{
    static double want[3 * 32 * 32];
    static double got[3 * 32 * 32];
    value_all(&call, want);
    hc_reference_begin(&call);
    value_all(&call, got);
    hc_reference_end();
    cr_expect_eq(memcmp(want, got, sizeof want), 0, "%s", what);
}

Test(amax, looked_for_once_it_is_the_one_that_is_looked_for_each_time)
{
    static const int blocks[][2] = {{0, 0}, {1, 16}, {4, 4}, {32, 1}, {1, 0}, {16, 16}};
    for (int b = 0; b < 6; b++) {
        struct hc_call call = quantize(blocks[b][0], blocks[b][1]);
        expect_the_same(call, "as it is");
        call.params.quantize.transpose = true;
        expect_the_same(call, "transposed");
        call.params.quantize.hadamard = true;
        expect_the_same(call, "multiplied");
    }
}

Test(amax, it_is_looked_for_again_once_the_call_may_have_changed)
{
    struct hc_call call = quantize(0, 0);
    hc_reference_begin(&call);
    cr_assert_eq(value(&call, HC_QUANTIZE_AMAX, 0), 1024);
    hc_reference_end();
    memory[0][5] = 4096;
    cr_assert_eq(value(&call, HC_QUANTIZE_AMAX, 0), 4096);
    memory[0][5] = 5000;
    cr_assert_eq(value(&call, HC_QUANTIZE_AMAX, 0), 5000);
    hc_reference_begin(&call);
    cr_assert_eq(value(&call, HC_QUANTIZE_AMAX, 0), 5000);
    memory[0][5] = 6000;
    hc_reference_begin(&call);
    cr_assert_eq(value(&call, HC_QUANTIZE_AMAX, 0), 6000);
    struct hc_call other = call;
    memory[0][5] = 7000;
    cr_assert_eq(value(&other, HC_QUANTIZE_AMAX, 0), 7000);
    hc_reference_end();
}
