#include <math.h>

#include "kernels/exact/testing.h"

/* Small integers: every product and sum is exact in fp32, so any order gives the integer. */
static int64_t entry(int64_t i, int64_t salt)
{
    return (i * 7 + salt * 5 + i * i % 11) % 13 - 6;
}

static struct hc_tensor integers(enum hc_format format, int64_t rows, int64_t columns, int64_t salt)
{
    struct hc_tensor t = made(hc_tensor2(format, rows, columns, NULL));
    for (int64_t i = 0; i < rows * columns; i++)
        hc_tensor_set(&t, i, (double)entry(i, salt));
    return t;
}

static void hold(const struct hc_gemm *p, enum hc_format in, enum hc_format out, int64_t m,
                 int64_t n, int64_t k)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = *p};
    call.in[HC_GEMM_A] = p->transpose_a ? integers(in, k, m, 1) : integers(in, m, k, 1);
    call.in[HC_GEMM_B] = p->transpose_b ? integers(in, n, k, 2) : integers(in, k, n, 2);
    call.in[HC_GEMM_C] = integers(HC_FP16, m, n, 3);
    bool bias = p->alpha < 0;
    if (bias)
        call.in[HC_GEMM_C] = hc_tensor1(HC_FP16, n, call.in[HC_GEMM_C].data);
    call.out[HC_GEMM_OUT] = made(hc_tensor2(out, m, n, NULL));
    call_exact(&call);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            int64_t sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += entry(p->transpose_a ? l * m + i : i * k + l, 1) *
                       entry(p->transpose_b ? j * k + l : l * n + j, 2);
            double c = p->beta != 0 ? p->beta * (double)entry(bias ? j : i * n + j, 3) : 0;
            double want = hc_round(out, p->alpha * (double)sum + c);
            cr_assert_eq(hc_tensor_get(&call.out[HC_GEMM_OUT], i * n + j), want,
                         "%ldx%ldx%ld (%ld, %ld): want %g, got %g", (long)m, (long)n, (long)k,
                         (long)i, (long)j, want, hc_tensor_get(&call.out[HC_GEMM_OUT], i * n + j));
        }
}

Test(gemm, integers_come_out_exactly_in_every_layout_and_format)
{
    static const int64_t shapes[][3] = {{1, 1, 1},  {3, 17, 5}, {5, 16, 33}, {2, 40, 7},
                                        {7, 1, 19}, {0, 4, 3},  {4, 0, 3},   {4, 5, 0}};
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    for (int s = 0; s < 8; s++)
        for (int t = 0; t < 4; t++)
            for (int f = 0; f < 9; f++) {
                struct hc_gemm p = {.transpose_a = t & 1, .transpose_b = t & 2, .alpha = 1};
                hold(&p, formats[f % 3], formats[f / 3], shapes[s][0], shapes[s][1], shapes[s][2]);
                p.alpha = 0.5;
                p.beta = 2;
                hold(&p, formats[f % 3], formats[f / 3], shapes[s][0], shapes[s][1], shapes[s][2]);
                p.alpha = -2;
                hold(&p, formats[f % 3], formats[f / 3], shapes[s][0], shapes[s][1], shapes[s][2]);
            }
}

Test(gemm, terms_are_added_in_the_order_of_k)
{
    double a[] = {0x1p24, 1, -0x1p24, 1};
    double b[] = {1, 1, 1, 1};
    struct hc_call call = {.op = HC_OP_gemm,
                           .in = {vector_of(HC_FP32, 4, a), vector_of(HC_FP32, 4, b)},
                           .out = {made(hc_tensor2(HC_FP32, 1, 1, NULL))},
                           .params.gemm = {.alpha = 1}};
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP32, 1, 4, call.in[HC_GEMM_A].data);
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP32, 4, 1, call.in[HC_GEMM_B].data);
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_GEMM_OUT], 0), 1);
}

/* One element: the sum of a[i] * b[i] with the parameters `p`. */
static double one(enum hc_format in, struct hc_gemm p, int64_t n, double *a, double *b, double c)
{
    struct hc_call call = {
        .op = HC_OP_gemm,
        .in = {vector_of(in, n, a), vector_of(in, n, b), vector_of(HC_FP32, 1, &c)},
        .out = {made(hc_tensor2(HC_FP32, 1, 1, NULL))},
        .params.gemm = p};
    call.in[HC_GEMM_A] = hc_tensor2(in, 1, n, call.in[HC_GEMM_A].data);
    call.in[HC_GEMM_B] = hc_tensor2(in, n, 1, call.in[HC_GEMM_B].data);
    call_exact(&call);
    return hc_tensor_get(&call.out[HC_GEMM_OUT], 0);
}

Test(gemm, in_tf32_rounds_its_inputs_to_nearest_and_even)
{
    struct hc_gemm p = {.alpha = 1, .tf32 = true};
    double a[] = {1 + 0x1p-11, 1 + 0x3p-11, 1 + 0x1.1p-11, 0x1.8p-136};
    double b[] = {1, 0x1p30, 0x1p60, 1};
    cr_assert_eq(one(HC_FP32, p, 1, a, b, 0), 1);
    cr_assert_eq(one(HC_FP32, p, 1, b, a, 0), 1);
    cr_assert_eq(one(HC_FP32, p, 1, a + 1, b + 1, 0), 0x1p30 + 0x1p21);
    cr_assert_eq(one(HC_FP32, p, 1, a + 2, b + 2, 0), 0x1p60 + 0x1p50);
    cr_assert_eq(one(HC_FP32, p, 1, a + 3, b + 3, 0), 0x1p-135);
    p.tf32 = false;
    cr_assert_eq(one(HC_FP32, p, 1, a, b, 0), a[0]);
}

/* Products, sums, C, and their products with alpha and beta are rounded; 2051 lies between 2050 and
   2052. */
Test(gemm, with_sums_in_half_rounds_every_one_of_them)
{
    struct hc_gemm p = {.alpha = 1, .half_accumulator = true};
    double a[] = {2048, 1, 1, 1};
    double ones[] = {1, 1, 1, 1};
    double thirds[] = {1 + 0x1p-10, 0, 0, 0};
    cr_assert_eq(one(HC_FP16, p, 4, a, ones, 0), 2048);
    cr_assert_eq(one(HC_FP16, p, 3, a + 1, ones, 0), 3);
    cr_assert_eq(one(HC_FP16, p, 1, thirds, thirds, 0), 1 + 0x1p-9);
    p.beta = 1;
    cr_assert_eq(one(HC_FP16, p, 1, ones, ones, 2051), 2052); /* 2052 + 1, ties to even */
    p.alpha = 2051;
    p.beta = 0;
    cr_assert_eq(one(HC_FP16, p, 1, ones, ones, 0), 2052);
    a[0] = 65504;
    a[1] = 32;
    p.alpha = 0.5;
    cr_assert(isinf(one(HC_FP16, p, 2, a, ones, 0)));
}

Test(gemm, over_no_terms_is_beta_c_and_its_zeros_are_positive)
{
    double none[1] = {0};
    struct hc_gemm p = {.alpha = -1, .beta = -2};
    cr_assert_eq(one(HC_FP32, p, 0, none, none, 3), -6);
    cr_assert(!signbit(one(HC_FP32, p, 0, none, none, 0.0)));
    cr_assert(!signbit(one(HC_FP32, p, 0, none, none, -0.0)));
    p.half_accumulator = true;
    cr_assert_eq(one(HC_FP16, p, 0, none, none, 3), -6);
    cr_assert(!signbit(one(HC_FP16, p, 0, none, none, 0.0)));
}
