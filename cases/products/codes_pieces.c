/* The pieces of a product of quantised matrices: where they end, how they are added, and what comes
   after them. Kernels, units and bounds take the ends from one function (op/quant.h) and most
   kernels the sums from another (kernels/element/quant_gemm.h), so that none of them shows what is
   wrong with these. What is expected here is counted by hand, or is a sum of integers. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/quantised.h"

static struct hc_call product(struct hc_check *check, enum hc_format out, int64_t k,
                              const struct hc_gemm_q *p)
{
    struct hc_call call = hc_quantised_product(check, (enum hc_format[]){HC_E4M3, HC_E4M3}, HC_FP32,
                                               (int64_t[]){1, 1, k}, p);
    call.out[HC_GEMM_Q_OUT].format = out;
    return call;
}

static void set_terms(const struct hc_call *call, int64_t from, int64_t end, double a, double b)
{
    for (int64_t k = from; k < end; k++) {
        hc_tensor_set(&call->in[HC_GEMM_Q_A], k, a);
        hc_tensor_set(&call->in[HC_GEMM_Q_B], k, b);
    }
}

/* Integers. The blocks of a have the scales 1, 2, 3, ..., those of b 1, 4, 7, ..., and term k is 1
   times 1 + k mod 3: what belongs to another block has another scale. Sums are below 2^24, and
   those of a piece below 2^10, which every accumulator holds. */
static void ends(struct hc_check *check)
{
    static const struct {
        struct hc_gemm_q p;
        int64_t k;
    } rows[] = {
        {{1, 32, 1, 48, 40}, 100}, {{1, 32, 1, 48, 40}, 96}, {{0, 16, 0, 0, 0}, 100},
        {{0, 0, 0, 16, 0}, 100},   {{1, 7, 1, 11, 13}, 90},  {{1, 128, 128, 128, 0}, 300},
        {{1, 16, 16, 16, 32}, 65}, {{1, 1, 1, 1, 0}, 17},    {{1, 64, 1, 32, 128}, 257},
        {{1, 200, 1, 3, 0}, 128},  {{0, 0, 0, 0, 50}, 149},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct hc_gemm_q *p = &rows[i].p;
        struct hc_call call = product(check, HC_FP32, rows[i].k, p);
        double want = 0;
        for (int64_t k = 0; k < rows[i].k; k++) {
            int64_t of_a = p->a_columns > 0 ? k / p->a_columns : 0;
            int64_t of_b = p->b_columns > 0 ? k / p->b_columns : 0;
            set_terms(&call, k, k + 1, 1, (double)(1 + k % 3));
            hc_tensor_set(&call.in[HC_GEMM_Q_A_SCALES], of_a, (double)(1 + of_a));
            hc_tensor_set(&call.in[HC_GEMM_Q_B_SCALES], of_b, (double)(1 + 3 * of_b));
            want += (double)((1 + k % 3) * (1 + of_a) * (1 + 3 * of_b));
        }
        if (hc_do(check, &call) != HC_OK)
            return;
        char what[96];
        (void)snprintf(what, sizeof what, "%d terms, blocks of %d and %d, promoted every %d",
                       (int)rows[i].k, (int)p->a_columns, (int)p->b_columns, (int)p->promote);
        hc_claim_value(check, what, want, hc_tensor_get(&call.out[HC_GEMM_Q_OUT], 0));
    }
}

/* Whether sums of a piece are fp32's. */
static bool sums_in_fp32(const struct hc_check *check, const struct hc_call *call)
{
    struct hc_accumulator sums = hc_backend_accumulator(hc_check_backend(check), call);
    return sums.precision >= 24 && !sums.truncates;
}

/* 448^2 = 200704 has the ulp 2^-6. Behind it, in a piece of its own, are 64 terms of 2^-8, each of
   which is less than half an ulp: their sum, 1/4, is added exactly, where one of them after the
   other would be lost. Or there are two pieces of 2^-7, half an ulp each: both ties go to the even
   number, 200704, where their sum would not be lost. */
static void ways(struct hc_check *check)
{
    enum { PIECE = 64 };
    static const struct hc_gemm_q all[] = {
        {.promote = PIECE}, {1, PIECE, 0, 0, 0}, {0, 0, 1, PIECE, 0}, {1, PIECE, 1, 2 * PIECE, 0}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct hc_call call = product(check, HC_FP32, 3 * PIECE, &all[i]);
        if (!sums_in_fp32(check, &call)) {
            hc_skip(check, "its accumulator is not fp32");
            return;
        }
        set_terms(&call, 0, 1, 448, 448);
        set_terms(&call, PIECE, 2 * PIECE, 0x1p-4, 0x1p-4);
        if (hc_do(check, &call) != HC_OK)
            return;
        hc_claim_value(check, "terms that are added to each other first", 200704.25,
                       hc_tensor_get(&call.out[HC_GEMM_Q_OUT], 0));
        set_terms(&call, 1, 3 * PIECE, 0, 0);
        set_terms(&call, PIECE, PIECE + 1, 0x1p-4, 0x1p-3);
        set_terms(&call, 2 * PIECE, 2 * PIECE + 1, 0x1p-4, 0x1p-3);
        if (hc_do(check, &call) != HC_OK)
            return;
        hc_claim_value(check, "pieces that are added one by one", 200704,
                       hc_tensor_get(&call.out[HC_GEMM_Q_OUT], 0));
    }
}

/* Two pieces of one term, each 1. */
static struct hc_call two_pieces(struct hc_check *check, enum hc_format out, double a0, double b0,
                                 double a1, double b1)
{
    struct hc_call call = product(check, out, 2, &(struct hc_gemm_q){1, 1, 1, 1, 0});
    set_terms(&call, 0, 2, 1, 1);
    hc_tensor_set(&call.in[HC_GEMM_Q_A_SCALES], 0, a0);
    hc_tensor_set(&call.in[HC_GEMM_Q_A_SCALES], 1, a1);
    hc_tensor_set(&call.in[HC_GEMM_Q_B_SCALES], 0, b0);
    hc_tensor_set(&call.in[HC_GEMM_Q_B_SCALES], 1, b1);
    return call;
}

static struct hc_tensor factor(struct hc_check *check, double value)
{
    struct hc_tensor t = hc_check_vector(check, HC_FP32, 1);
    hc_tensor_set(&t, 0, value);
    return t;
}

/* Within its bound on every backend, and to the bit where the contract's order is owed. */
static bool claim(struct hc_check *check, const char *what, const struct hc_call *call, double want)
{
    if (hc_claim_call_met(check, call) != HC_OK)
        return false;
    if (!hc_check_backend(check)->free_order)
        hc_claim_value(check, what, want, hc_tensor_get(&call->out[HC_GEMM_Q_OUT], 0));
    return true;
}

static void roundings(struct hc_check *check)
{
    double x = 1 + 0x1p-23;
    struct hc_call call = two_pieces(check, HC_FP32, -1, 1 + 0x1p-22, x, x);
    if (!claim(check, "the second scale and the sum are one rounding", &call, 0x1p-46))
        return;
    call = two_pieces(check, HC_FP32, x, x, 0, 0);
    (void)claim(check, "x x, rounded once", &call, 1 + 0x1p-22);
    call = two_pieces(check, HC_FP32, 0x1p127, 0x1p-127, 0, 0);
    hc_tensor_set(&call.in[HC_GEMM_Q_A], 0, 2);
    (void)claim(check, "a's scale comes first, and overflows", &call, (double)INFINITY);
    call = two_pieces(check, HC_FP32, 0x1p-127, 0x1p127, 0, 0);
    hc_tensor_set(&call.in[HC_GEMM_Q_A], 0, 2);
    (void)claim(check, "b's scale comes second, and does not", &call, 2);
    call = two_pieces(check, HC_FP32, 1, 1, 1, 1);
    call.in[HC_GEMM_Q_A_TENSOR] = factor(check, 0x1p100);
    call.in[HC_GEMM_Q_B_TENSOR] = factor(check, 0x1p100);
    (void)claim(check, "the factors' product overflows", &call, (double)INFINITY);
    call.in[HC_GEMM_Q_B_TENSOR] = factor(check, 0x1p-100);
    (void)claim(check, "and does not", &call, 2);
    call.in[HC_GEMM_Q_C] = hc_check_tensor(check, hc_tensor2(HC_FP16, 1, 1, NULL));
    hc_tensor_set(&call.in[HC_GEMM_Q_C], 0, 0x1p-8);
    (void)claim(check, "C comes last", &call, 2 + 0x1p-8);
    struct hc_call narrow = two_pieces(check, HC_BF16, 1, 1, 1, 1);
    narrow.in[HC_GEMM_Q_C] = call.in[HC_GEMM_Q_C];
    (void)claim(check, "and all is rounded at the end", &narrow, 2);
}

static const struct hc_case cases[] = {
    {.name = "products/codes-pieces-end-at-blocks",
     .title = "a product of quantised matrices takes each term with the scales of its blocks, "
              "wherever blocks and promotions end",
     .source = "src/op/quant.h; integers",
     .level = HC_QUICK,
     .run = ends},
    {.name = "products/codes-pieces-one-by-one",
     .title = "the terms of a piece are added to each other, and the pieces one by one",
     .source = "src/op/quant.h; deepseek-ai/DeepGEMM, promotion every 128 terms",
     .level = HC_QUICK,
     .run = ways},
    {.name = "products/codes-pieces-are-rounded",
     .title = "scales, factors of tensors and C come in their order, each with its rounding",
     .source = "src/op/quant.h",
     .level = HC_QUICK,
     .run = roundings},
};

HC_CASES(products_codes_pieces, cases);
