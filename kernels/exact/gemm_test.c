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
        hc_tensor_put(&t, i, (double)entry(i, salt));
    return t;
}

static void hold(const struct hc_gemm *p, enum hc_format in, enum hc_format out, int64_t m,
                 int64_t n, int64_t k)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = *p};
    call.in[0] = p->transpose_a ? integers(in, k, m, 1) : integers(in, m, k, 1);
    call.in[1] = p->transpose_b ? integers(in, n, k, 2) : integers(in, k, n, 2);
    call.in[2] = integers(HC_FP16, m, n, 3);
    bool bias = p->alpha < 0;
    if (bias)
        call.in[2] = hc_tensor1(HC_FP16, n, call.in[2].data);
    call.out[0] = made(hc_tensor2(out, m, n, NULL));
    call_exact(&call);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            int64_t sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += entry(p->transpose_a ? l * m + i : i * k + l, 1) *
                       entry(p->transpose_b ? j * k + l : l * n + j, 2);
            double c = p->beta != 0 ? p->beta * (double)entry(bias ? j : i * n + j, 3) : 0;
            double want = hc_round(out, p->alpha * (double)sum + c);
            cr_assert_eq(hc_tensor_get(&call.out[0], i * n + j), want,
                         "%ldx%ldx%ld (%ld, %ld): want %g, got %g", (long)m, (long)n, (long)k,
                         (long)i, (long)j, want, hc_tensor_get(&call.out[0], i * n + j));
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
    call.in[0] = hc_tensor2(HC_FP32, 1, 4, call.in[0].data);
    call.in[1] = hc_tensor2(HC_FP32, 4, 1, call.in[1].data);
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[0], 0), 1);
}
