/* gemm_q on exact: the order of its operations, by sums that tell one from another. */
#include <math.h>

#include "kernels/exact/testing.h"

static struct hc_tensor filled(enum hc_format format, int64_t rows, int64_t columns, double x)
{
    struct hc_tensor t = made(hc_tensor2(format, rows, columns, NULL));
    for (int64_t i = 0; i < rows * columns; i++)
        hc_tensor_set(&t, i, x);
    return t;
}

/* One element of two pieces of one term, each 1. */
static struct hc_call two_pieces(double a0, double b0, double a1, double b1)
{
    struct hc_call call = {.op = HC_OP_gemm_q, .params.gemm_q = {1, 1, 1, 1, 0}};
    call.in[HC_GEMM_Q_A] = filled(HC_E4M3, 1, 2, 1);
    call.in[HC_GEMM_Q_B] = filled(HC_E5M2, 1, 2, 1);
    call.in[HC_GEMM_Q_A_SCALES] = filled(HC_FP32, 1, 2, a0);
    call.in[HC_GEMM_Q_B_SCALES] = filled(HC_FP32, 1, 2, b0);
    hc_tensor_set(&call.in[HC_GEMM_Q_A_SCALES], 1, a1);
    hc_tensor_set(&call.in[HC_GEMM_Q_B_SCALES], 1, b1);
    call.out[HC_GEMM_Q_OUT] = filled(HC_FP32, 1, 1, 0);
    return call;
}

static double result(struct hc_call *call)
{
    call_exact(call);
    return hc_tensor_get(&call->out[HC_GEMM_Q_OUT], 0);
}

Test(quant_gemm, the_second_scale_and_the_sum_are_one_rounding)
{
    double x = 1 + 0x1p-23;
    struct hc_call call = two_pieces(-1, 1 + 0x1p-22, x, x);
    cr_expect_eq(result(&call), 0x1p-46); /* x x - (1 + 2^-22) */
}

Test(quant_gemm, the_first_scale_is_a_s)
{
    struct hc_call call = two_pieces(0x1p127, 0x1p-127, 0, 0);
    hc_tensor_set(&call.in[HC_GEMM_Q_A], 0, 2);
    cr_expect(isinf(result(&call)));
    call = two_pieces(0x1p-127, 0x1p127, 0, 0);
    hc_tensor_set(&call.in[HC_GEMM_Q_A], 0, 2);
    cr_expect_eq(result(&call), 2);
}

/* The factors are multiplied with each other first; C is added in fp32 and the whole rounded. */
Test(quant_gemm, the_tensors_factors_come_after_the_sum_and_c_last)
{
    struct hc_call call = two_pieces(1, 1, 1, 1);
    call.in[HC_GEMM_Q_A_TENSOR] = vector_of(HC_FP32, 1, (double[]){0x1p100});
    call.in[HC_GEMM_Q_B_TENSOR] = vector_of(HC_FP32, 1, (double[]){0x1p100});
    cr_expect(isinf(result(&call)));
    hc_tensor_set(&call.in[HC_GEMM_Q_B_TENSOR], 0, 0x1p-100);
    cr_expect_eq(result(&call), 2);
    call.in[HC_GEMM_Q_C] = filled(HC_FP16, 1, 1, 0x1p-8);
    cr_expect_eq(result(&call), 2 + 0x1p-8);
    call.out[HC_GEMM_Q_OUT] = filled(HC_BF16, 1, 1, 0);
    cr_expect_eq(result(&call), 2);
}

Test(quant_gemm, pieces_end_at_every_block_and_at_every_promotion)
{
    struct hc_gemm_q p = {1, 32, 128, 48, 40};
    static const int64_t ends[] = {32, 40, 48, 64, 80, 96, 100};
    int64_t at = 0;
    for (int i = 0; i < 7; i++) {
        at = hc_gemm_q_piece_end(&p, at, 100);
        cr_expect_eq(at, ends[i], "%lld", (long long)at);
    }
    cr_expect_eq(hc_gemm_q_piece_end(&(struct hc_gemm_q){0}, 0, 100), 100);
    p = (struct hc_gemm_q){.a_columns = (INT64_MAX >> 1) + 2, .promote = INT64_MAX};
    cr_expect_eq(hc_gemm_q_piece_end(&p, 0, 100), 100);
    cr_expect_eq(hc_gemm_q_piece_end(&p, p.a_columns, INT64_MAX - 1), INT64_MAX - 1);
}
