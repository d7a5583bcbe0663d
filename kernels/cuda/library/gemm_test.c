/* gemm through the stand-ins, compared with MPFR. Then an argument is altered on its way to cuBLAS:
   each alteration must show. */
#include <math.h>
#include <string.h>

#include "kernels/cuda/emulate/testing.h"

static struct hc_tensor matrix(enum hc_format format, int64_t rows, int64_t columns, bool turned,
                               int64_t salt)
{
    return integers(turned ? hc_tensor2(format, columns, rows, NULL)
                           : hc_tensor2(format, rows, columns, NULL),
                    salt);
}

struct formats {
    enum hc_format in, c, out;
};

/* A product with m = 4 and n = 3. variant: bit 0 transposes A, bit 1 B, bit 2 adds C, bit 3 makes C
   one row. */
static struct hc_call product(struct formats f, int64_t k, int variant)
{
    struct hc_call call = {.op = HC_OP_gemm,
                           .params.gemm = {.transpose_a = variant & 1,
                                           .transpose_b = variant & 2,
                                           .alpha = 2,
                                           .beta = variant & 4 ? -3 : 0}};
    call.in[HC_GEMM_A] = matrix(f.in, 4, k, variant & 1, 1);
    call.in[HC_GEMM_B] = matrix(f.in, k, 3, variant & 2, 2);
    call.out[HC_GEMM_OUT] = made(hc_tensor2(f.out, 4, 3, NULL));
    if (variant & 4)
        call.in[HC_GEMM_C] = variant & 8 ? integers(hc_tensor1(f.c, 3, NULL), 3)
                                         : integers(hc_tensor2(f.c, 4, 3, NULL), 3);
    return call;
}

Test(cuda_gemm, products_of_integers_come_out_exactly_in_every_layout_and_format)
{
    static const enum hc_format h[] = {HC_FP32, HC_FP16, HC_BF16};
    begin();
    for (int i = 0; i < 27 * 16 * 2; i++) {
        struct formats f = {h[i % 3], h[i / 3 % 3], h[i / 9 % 3]};
        struct hc_call call = product(f, i / 27 / 16 ? 0 : 5, i / 27 % 16);
        cr_assert_eq(run(&call, 0), 0, "%s, %s to %s, variant %d: %s", hc_formats[f.in].name,
                     hc_formats[f.c].name, hc_formats[f.out].name, i / 27 % 16, hc_message());
    }
    end();
}

/* What one alteration makes of the call. */
static struct {
    int swap, lda, ldb, ldc, compute;
} change;

static int changed_gemm(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                        const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                        const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
    return hc_blas_gemm_ex(handle, change.swap ? tb : ta, change.swap ? ta : tb, m, n, k, alpha, a,
                           a_type, lda + change.lda, b, b_type, ldb + change.ldb, beta, c, c_type,
                           ldc + change.ldc, compute + change.compute, algorithm);
}

Test(cuda_gemm, swapped_transposes_and_wrong_leading_dimensions_of_a_product_show)
{
    struct formats single = {HC_FP32, HC_FP32, HC_FP32};
    begin();
    altered.cublas_gemm_ex = changed_gemm;
    for (int i = 0; i < 5; i++) {
        struct hc_call call = product(single, 5, 1);
        /* Room for what a leading dimension too large reaches. */
        call.in[HC_GEMM_A].data = integers(hc_tensor1(HC_FP32, 64, NULL), 1).data;
        call.in[HC_GEMM_B].data = integers(hc_tensor1(HC_FP32, 64, NULL), 2).data;
        call.out[HC_GEMM_OUT].data = made(hc_tensor1(HC_FP32, 64, NULL)).data;
        memset(&change, 0, sizeof change);
        cr_assert_eq(run(&call, 0), 0);
        change.swap = i == 0;
        change.lda = i == 1 ? 1 : i == 4 ? -1 : 0;
        change.ldb = i == 2;
        change.ldc = i == 3;
        cr_assert_neq(run(&call, 0), 0, "alteration %d", i);
    }
    end();
}

/* 1 + 2^-12 is no value of tf32, 2049 none of fp16. */
Test(cuda_gemm, a_product_that_may_lose_precision_does)
{
    struct hc_call call = product((struct formats){HC_FP32, HC_FP32, HC_FP32}, 5, 0);
    begin();
    hc_tensor_set(&call.in[HC_GEMM_A], 0, 1 + 0x1p-12);
    cr_assert_eq(run(&call, 0), 0);
    altered.cublas_gemm_ex = changed_gemm;
    memset(&change, 0, sizeof change);
    change.compute = HC_BLAS_COMPUTE_32F - HC_BLAS_COMPUTE_32F_PEDANTIC;
    cr_assert_gt(run(&call, 0), 0);

    change.compute = 0;
    call = product((struct formats){HC_FP16, HC_FP16, HC_FP32}, 5, 0);
    for (int64_t i = 0; i < 20; i++)
        hc_tensor_set(&call.in[HC_GEMM_A], i, i % 5 == 0 ? 2048 : 1);
    for (int64_t i = 0; i < 15; i++)
        hc_tensor_set(&call.in[HC_GEMM_B], i, 1);
    cr_assert_eq(run(&call, 0), 0);
    (void)hc_blas_set_math_mode(queue->libraries->blas, 0);
    cr_assert_gt(run(&call, 0), 0);
    end();
}

Test(cuda_gemm, a_stream_that_is_set_after_the_workspace_shows)
{
    struct hc_call call = product((struct formats){HC_FP32, HC_FP32, HC_FP32}, 5, 0);
    begin();
    (void)hc_blas_set_stream(queue->libraries->blas, NULL);
    cr_assert_eq(run(&call, 0), -1);
    end();
}

Test(cuda_gemm, in_tf32_loses_what_tf32_has_no_bits_for)
{
    struct hc_call call = product((struct formats){HC_FP32, HC_FP32, HC_FP32}, 5, 0);
    begin();
    hc_tensor_set(&call.in[HC_GEMM_A], 0, 1 + 0x1p-12);
    cr_assert_eq(run(&call, 0), 0);
    call.params.gemm.tf32 = true;
    cr_assert_gt(run(&call, 0), 0);
    end();
}

/* Integers below 2048 are fp16's; beyond there it has the even ones. */
Test(cuda_gemm, with_sums_in_half_is_exact_as_long_as_they_are_small)
{
    static const enum hc_format h[] = {HC_FP32, HC_FP16, HC_BF16};
    begin();
    for (int i = 0; i < 9 * 16 * 2; i++) {
        struct formats f = {HC_FP16, h[i % 3], h[i / 3 % 3]};
        struct hc_call call = product(f, i / 9 / 16 ? 0 : 5, i / 9 % 16);
        call.params.gemm.half_accumulator = true;
        cr_assert_eq(run(&call, 0), 0, "%s to %s, variant %d: %s", hc_formats[f.c].name,
                     hc_formats[f.out].name, i / 9 % 16, hc_message());
    }
    struct hc_call call = product((struct formats){HC_FP16, HC_FP16, HC_FP32}, 5, 0);
    call.params.gemm = (struct hc_gemm){.alpha = 1, .half_accumulator = true};
    for (int64_t i = 0; i < 20; i++)
        hc_tensor_set(&call.in[HC_GEMM_A], i, i % 5 == 0 ? 2048 : 1);
    for (int64_t i = 0; i < 15; i++)
        hc_tensor_set(&call.in[HC_GEMM_B], i, i < 3 ? 1 : i < 6 ? 1 : 0);
    cr_assert_gt(run(&call, 0), 0);
    end();
}

Test(cuda_gemm, over_no_terms_is_beta_c_and_its_zeros_are_positive)
{
    struct hc_call call = product((struct formats){HC_FP32, HC_FP32, HC_FP32}, 0, 4);
    begin();
    call.params.gemm.alpha = -1;
    for (int64_t i = 0; i < 12; i++)
        hc_tensor_set(&call.in[HC_GEMM_C], i, i % 3 == 0 ? 0 : i % 3 == 1 ? -0.0 : (double)i);
    cr_assert_eq(run(&call, 0), 0);
    for (int64_t i = 0; i < 12; i++)
        cr_assert_eq(hc_tensor_bits(&call.out[HC_GEMM_OUT], i),
                     i % 3 == 2 ? hc_fp32_bits(-3.0f * (float)i) : 0, "%d", (int)i);
    end();
}
