/* The bits of host's gemm_q are exact's: with every set of loops, on any number of threads, in
   shapes that blocks, panels and slabs do not divide. */
#include "kernels/host/testing.h"

static struct hc_tensor codes_of(enum hc_format format, int64_t rows, int64_t columns,
                                 uint64_t stream)
{
    struct hc_tensor t = made(hc_tensor2(format, rows, columns, NULL));
    for (int64_t i = 0; i < rows * columns; i++)
        if (hc_random(3, stream, (uint64_t)i) % 512 == 0)
            hc_tensor_set_bits(&t, i, hc_random(4, stream, (uint64_t)i));
        else
            hc_tensor_set(&t, i, hc_random_normal(5, stream, (uint64_t)i));
    return t;
}

static struct hc_tensor scales_of(enum hc_format format, int64_t rows, int64_t columns,
                                  uint64_t stream)
{
    struct hc_tensor t = made(hc_tensor2(format, rows, columns, NULL));
    for (int64_t i = 0; i < rows * columns; i++)
        hc_tensor_set(&t, i, exp2(4 * hc_random_normal(6, stream, (uint64_t)i)));
    return t;
}

static const struct {
    enum hc_format a, b, scales, out;
} formats[] = {{HC_E4M3, HC_E4M3, HC_FP32, HC_FP32},  {HC_E5M2, HC_E4M3, HC_E8M0, HC_BF16},
               {HC_E2M1, HC_E2M1, HC_UE4M3, HC_FP16}, {HC_E4M3FNUZ, HC_E5M2FNUZ, HC_FP32, HC_FP32},
               {HC_E2M3, HC_E2M3, HC_E8M0, HC_FP32},  {HC_E3M2, HC_E3M2, HC_E8M0, HC_BF16}};

static const struct hc_gemm_q blocks[] = {{0},
                                          {.promote = 128},
                                          {1, 32, 1, 32, 0},
                                          {1, 128, 128, 128, 0},
                                          {3, 7, 5, 11, 13},
                                          {1, 16, 16, 16, 0}};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

static struct hc_call call_of(int f, const struct hc_gemm_q *p, const int64_t size[3], bool whole)
{
    int64_t m = size[0];
    int64_t n = size[1];
    int64_t k = size[2];
    struct hc_call call = {.op = HC_OP_gemm_q, .params.gemm_q = *p};
    call.in[HC_GEMM_Q_A] = codes_of(formats[f].a, m, k, 1);
    call.in[HC_GEMM_Q_B] = codes_of(formats[f].b, n, k, 2);
    call.in[HC_GEMM_Q_A_SCALES] = scales_of(formats[f].scales, hc_quant_blocks(m, p->a_rows),
                                            hc_quant_blocks(k, p->a_columns), 3);
    call.in[HC_GEMM_Q_B_SCALES] = scales_of(formats[f].scales, hc_quant_blocks(n, p->b_rows),
                                            hc_quant_blocks(k, p->b_columns), 4);
    if (whole) {
        call.in[HC_GEMM_Q_A_TENSOR] = vector_of(HC_FP32, 1, (double[]){0.7});
        call.in[HC_GEMM_Q_B_TENSOR] = vector_of(HC_FP32, 1, (double[]){-1.3});
        call.in[HC_GEMM_Q_C] = made(hc_tensor2(HC_BF16, m, n, NULL));
        for (int64_t i = 0; i < m * n; i++)
            hc_tensor_set(&call.in[HC_GEMM_Q_C], i, hc_random_normal(7, 5, (uint64_t)i));
    }
    call.out[HC_GEMM_Q_OUT] = made(hc_tensor2(formats[f].out, m, n, NULL));
    return call;
}

Test(quant_gemm, gives_the_bits_of_exact_in_every_format_and_block)
{
    static const int64_t sizes[][3] = {{1, 1, 1},    {7, 65, 33}, {50, 300, 70},
                                       {49, 3, 520}, {5, 3, 0},   {0, 4, 9}};
    for (int f = 0; f < 6; f++)
        for (int p = 0; p < BLOCKS; p++)
            for (int s = 0; s < 6; s++) {
                struct hc_call call = call_of(f, &blocks[p], sizes[s], (f + p + s) % 2);
                assert_exact_bits(&call);
            }
}

Test(quant_gemm, gives_the_bits_of_exact_where_a_slab_ends_within_the_sum)
{
    for (int p = 0; p < 5; p++) {
        struct hc_call call = call_of(p, &blocks[p], (int64_t[]){3, 8200, 600}, false);
        assert_exact_bits(&call);
    }
    struct hc_call bytes = call_of(2, &blocks[1], (int64_t[]){3, 8200, 2090}, false);
    assert_exact_bits(&bytes);
}

/* Beyond 2^22 fp32 loses a quarter, which an integer would keep. */
Test(quant_gemm, sums_that_fp32_rounds_have_the_bits_of_exact)
{
    enum { SIXES = 116512, TERMS = SIXES + 8 };
    struct hc_call call = call_of(2, &blocks[0], (int64_t[]){1, 1, TERMS}, false);
    call.out[HC_GEMM_Q_OUT] = made(hc_tensor2(HC_FP32, 1, 1, NULL));
    for (int i = 0; i < 2; i++) {
        for (int64_t k = 0; k < TERMS; k++)
            hc_tensor_set(&call.in[i ? HC_GEMM_Q_B : HC_GEMM_Q_A], k, k < SIXES ? 6 : 0.5);
        hc_tensor_set(&call.in[i ? HC_GEMM_Q_B_SCALES : HC_GEMM_Q_A_SCALES], 0, 1);
    }
    assert_exact_bits(&call);
}

/* Codes of every byte, through the loop that decodes without branches. */
Test(quant_gemm, reads_every_code_as_exact_does)
{
    for (int f = 0; f < 6; f++) {
        struct hc_call call = call_of(f, &blocks[0], (int64_t[]){256, 1, 1}, false);
        for (int i = 0; i < 256; i++)
            hc_tensor_set_bits(&call.in[HC_GEMM_Q_A], i, (uint64_t)i);
        hc_tensor_set(&call.in[HC_GEMM_Q_B], 0, 1);
        hc_tensor_set(&call.in[HC_GEMM_Q_A_SCALES], 0, 1);
        hc_tensor_set(&call.in[HC_GEMM_Q_B_SCALES], 0, 1);
        assert_exact_bits(&call);
    }
}
