/* The bound of gemm_q is what the worst roundings come to: no less, and hardly more. */
#include <criterion/criterion.h>
#include <math.h>

#include "check/bound/bound.h"
#include "num/rng.h"

enum { K = 200, PIECES = 32 };

static uint8_t a[K], b[K];
static float a_scales[PIECES], b_scales[PIECES];
static float factors[2] = {3, 0.7F};
static float c[1] = {2};

static struct hc_call call_of(const struct hc_gemm_q *p, bool whole)
{
    struct hc_call call = {.op = HC_OP_gemm_q, .params.gemm_q = *p};
    call.in[HC_GEMM_Q_A] = hc_tensor2(HC_E4M3, 1, K, a);
    call.in[HC_GEMM_Q_B] = hc_tensor2(HC_E4M3, 1, K, b);
    call.in[HC_GEMM_Q_A_SCALES] =
        hc_tensor2(HC_FP32, 1, hc_quant_blocks(K, p->a_columns), a_scales);
    call.in[HC_GEMM_Q_B_SCALES] =
        hc_tensor2(HC_FP32, 1, hc_quant_blocks(K, p->b_columns), b_scales);
    if (whole) {
        call.in[HC_GEMM_Q_A_TENSOR] = hc_tensor1(HC_FP32, 1, &factors[0]);
        call.in[HC_GEMM_Q_B_TENSOR] = hc_tensor1(HC_FP32, 1, &factors[1]);
        call.in[HC_GEMM_Q_C] = hc_tensor2(HC_FP32, 1, 1, c);
    }
    call.out[HC_GEMM_Q_OUT] = hc_tensor2(HC_FP32, 1, 1, NULL);
    for (int i = 0; i < K; i++) {
        a[i] =
            (uint8_t)hc_encode(HC_E4M3, 0.5 + hc_random_uniform(1, 0, (uint64_t)i), 0, HC_NEAREST);
        b[i] =
            (uint8_t)hc_encode(HC_E4M3, 0.5 + hc_random_uniform(1, 1, (uint64_t)i), 0, HC_NEAREST);
    }
    for (int i = 0; i < PIECES; i++) {
        a_scales[i] = (float)(1 + hc_random_uniform(2, 0, (uint64_t)i));
        b_scales[i] = (float)(1 + hc_random_uniform(2, 1, (uint64_t)i));
    }
    return call;
}

static double bound_of(const struct hc_call *call, const struct hc_accumulator *sums)
{
    struct hc_element e = {call, HC_GEMM_Q_OUT, 0};
    struct hc_exact want = hc_reference_value(call, HC_GEMM_Q_OUT, 0);
    return hc_bound(&e, sums, &want);
}

/* All terms are positive, and each operation errs upwards by all that it may. */
static double ends(const struct hc_call *call, double acc, bool whole)
{
    double up = 1 + hc_format_unit(HC_FP32);
    (void)call;
    return whole ? (acc * (double)factors[0] * (double)factors[1] * up * up + (double)c[0]) * up
                 : acc;
}

static double worst(const struct hc_call *call, const struct hc_accumulator *sums, bool whole)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    double up = 1 + hc_format_unit(HC_FP32);
    double acc = 0;
    for (int64_t from = 0, end; from < K; from = end) {
        double sum = 0;
        end = hc_gemm_q_piece_end(p, from, K);
        for (int64_t k = from; k < end; k++)
            sum += hc_decode(HC_E4M3, a[k]) * hc_decode(HC_E4M3, b[k]);
        sum *= 1 + hc_bound_growth(sums, (double)(end - from - 1));
        double x = (double)a_scales[p->a_columns > 0 ? from / p->a_columns : 0];
        double y = (double)b_scales[p->b_columns > 0 ? from / p->b_columns : 0];
        acc = (acc + sum * x * up * y) * up;
    }
    return ends(call, acc, whole);
}

/* The same where the unit takes the scales, and pieces end at `promote` alone. */
static double worst_scaled(const struct hc_call *call, const struct hc_accumulator *sums,
                           bool whole)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    double up = 1 + hc_format_unit(HC_FP32);
    double acc = 0;
    int64_t length = p->promote > 0 ? p->promote : K;
    for (int64_t from = 0; from < K; from += length) {
        double sum = 0;
        int64_t end = from + length < K ? from + length : K;
        for (int64_t k = from; k < end; k++)
            sum += hc_decode(HC_E4M3, a[k]) * hc_decode(HC_E4M3, b[k]) *
                   (double)a_scales[k / p->a_columns] * (double)b_scales[k / p->b_columns];
        sum *= 1 + hc_bound_growth(sums, (double)(end - from - 1));
        acc = p->promote > 0 ? (acc + sum) * up : sum;
    }
    return ends(call, acc, whole);
}

static const struct hc_accumulator accumulators[] = {
    {.precision = 24, .block = 1},
    {.precision = 14, .block = 32, .truncates = true},
    {.precision = 24, .block = 32, .extra_bits = 2, .truncates = true},
};

Test(quant_gemm, the_bound_is_what_the_worst_roundings_come_to)
{
    static const struct hc_gemm_q blocks[] = {
        {0}, {.promote = 64}, {1, 32, 1, 32, 0}, {1, 7, 1, 50, 13}};
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < 8; i++) {
            struct hc_call call = call_of(&blocks[i / 2], i % 2);
            double want = hc_reference_value(&call, HC_GEMM_Q_OUT, 0).hi;
            double error = worst(&call, &accumulators[s], i % 2) - want;
            double bound = bound_of(&call, &accumulators[s]);
            cr_expect(error <= bound && error > 0.98 * bound, "%d, %d: error %g, bound %g", s, i,
                      error, bound);
        }
}

Test(quant_gemm, the_bound_of_a_unit_that_takes_the_scales_is_what_its_worst_roundings_come_to)
{
    static const struct hc_accumulator unit = {.precision = 24,
                                               .block = 32,
                                               .extra_bits = 2,
                                               .truncates = true,
                                               .aligns_subnormals = true,
                                               .takes_scales = true};
    static const struct hc_gemm_q blocks[] = {
        {1, 32, 1, 32, 0}, {1, 32, 1, 32, 64}, {1, 16, 1, 16, 0}};
    for (int i = 0; i < 6; i++) {
        struct hc_call call = call_of(&blocks[i / 2], i % 2);
        double want = hc_reference_value(&call, HC_GEMM_Q_OUT, 0).hi;
        double error = worst_scaled(&call, &unit, i % 2) - want;
        double bound = bound_of(&call, &unit);
        cr_expect(error <= bound && error > 0.98 * bound, "%d: error %g, bound %g", i, error,
                  bound);
    }
}

/* P x leaves fp32, though P x y does not: the contract allows anything. */
Test(quant_gemm, the_bound_is_infinite_where_the_first_product_may_overflow)
{
    struct hc_call call = call_of(&(struct hc_gemm_q){0}, false);
    a_scales[0] = 0x1p121F;
    b_scales[0] = 0x1p-121F;
    cr_expect(isinf(bound_of(&call, &accumulators[0])));
    a_scales[0] = 0x1p-121F;
    b_scales[0] = 0x1p121F;
    cr_expect(isfinite(bound_of(&call, &accumulators[0])));
}

/* P x underflows and is then made large: what it lost is as large. */
Test(quant_gemm, the_bound_has_what_the_first_product_loses_at_the_bottom)
{
    struct hc_call call = call_of(&(struct hc_gemm_q){0}, false);
    a_scales[0] = 0x1p-149F;
    b_scales[0] = 0x1p120F;
    double bound = bound_of(&call, &accumulators[0]);
    cr_expect(bound >= 0x1p-30 && bound < 0x1p-29, "%g", bound);
}

Test(quant_gemm, a_piece_that_is_nan_or_infinite_leaves_no_room)
{
    struct hc_call call = call_of(&(struct hc_gemm_q){1, 32, 1, 32, 0}, true);
    a_scales[1] = NAN;
    cr_expect_eq(bound_of(&call, &accumulators[0]), 0);
    a_scales[1] = INFINITY;
    cr_expect_eq(bound_of(&call, &accumulators[0]), 0);
}

/* dequantize is stated to the bit: no other roundings on the way are right, whoever judges. */

/* 1.125 times d is 2^-27 above 265/256, which lies in the middle between two numbers of bf16. Its
   nearest number in fp32 is that middle, whose even neighbour is 66/64; rounded once it would be
   133/128. */
static uint8_t code[1] = {0x39};
static float scale_factors[] = {0x1.d71c72p-1F, 1};
static uint16_t y[1];

/* d is the block's scale; or, where `turned`, the tensor's factor. */
static struct hc_call dequantize_call(bool turned)
{
    struct hc_call call = {.op = HC_OP_dequantize};
    call.in[HC_DEQUANTIZE_CODES] = hc_tensor2(HC_E4M3, 1, 1, code);
    call.in[HC_DEQUANTIZE_SCALES] = hc_tensor2(HC_FP32, 1, 1, &scale_factors[turned]);
    call.in[HC_DEQUANTIZE_TENSOR] = hc_tensor1(HC_FP32, 1, &scale_factors[!turned]);
    call.out[HC_DEQUANTIZE_Y] = hc_tensor2(HC_BF16, 1, 1, y);
    return call;
}

Test(dequantize, is_rounded_into_fp32_first_whoever_judges)
{
    for (int i = 0; i < 2; i++) {
        struct hc_call call = dequantize_call(i);
        struct hc_element e = {&call, HC_DEQUANTIZE_Y, 0};
        struct hc_exact want = hc_reference_value(&call, HC_DEQUANTIZE_Y, 0);
        uint64_t ordered = 0, free = 0;
        cr_expect(hc_bound_bits(&e, &want, &ordered));
        cr_expect_eq(hc_decode(HC_BF16, ordered), 66.0 / 64);
        cr_expect(hc_bound_any_order_bits(&e, &want, &free), "other results are taken");
        cr_expect_eq(free, ordered);
        cr_expect(hc_bound_any_order_ordered(&call, HC_DEQUANTIZE_Y));
    }
}
