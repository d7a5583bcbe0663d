/* The bounds of sums, on accumulators that truncate; and what an infinity counts as. */
#include "check/bound/bound.h"

#include <criterion/criterion.h>
#include <math.h>

#include "num/bits.h"
#include "num/rng.h"

static const struct hc_accumulator volta = {.precision = 24, .block = 4, .truncates = true};
static const struct hc_accumulator ampere = {
    .precision = 24, .block = 8, .extra_bits = 1, .truncates = true};
static const struct hc_accumulator hopper = {
    .precision = 24, .block = 16, .extra_bits = 2, .truncates = true};
static const struct hc_accumulator cdna = {.precision = 24, .block = 4, .extra_bits = 40};

static double cut(double x, int bit)
{
    return ldexp(trunc(ldexp(x, -bit)), bit);
}

static int top_bit(double x)
{
    return x == 0 ? -2000 : ilogb(x);
}

/* The published model of a matrix unit: the block's products and the accumulator, aligned to the
   largest exponent, cut below its last bit and the extra ones, added exactly, cut again. */
static double matrix_unit(const struct hc_accumulator *a, const double *products, int n, double c)
{
    double sum = c;
    for (int first = 0; first < n; first += a->block) {
        int end = first + a->block < n ? first + a->block : n;
        int top = top_bit(sum);
        for (int i = first; i < end; i++)
            top = top_bit(products[i]) > top ? top_bit(products[i]) : top;
        int last = top - (a->precision - 1) - a->extra_bits;
        double exact = cut(sum, last);
        for (int i = first; i < end; i++)
            exact += cut(products[i], last);
        sum = a->truncates ? cut(exact, top_bit(exact) - (a->precision - 1)) : (double)(float)exact;
    }
    return sum;
}

enum { N = 512 };

static uint16_t x[N];
static uint16_t y[N];
static double products[N];

static struct hc_call dot(int n)
{
    struct hc_call call = {.op = HC_OP_dot, .params.reduce = {HC_FP32}};
    call.in[HC_REDUCE_X] = hc_tensor1(HC_FP16, n, x);
    call.in[HC_DOT_Y] = hc_tensor1(HC_FP16, n, y);
    call.out[HC_REDUCE_OUT] = hc_tensor1(HC_FP32, 1, NULL);
    for (int i = 0; i < n; i++)
        products[i] =
            hc_tensor_get(&call.in[HC_REDUCE_X], i) * hc_tensor_get(&call.in[HC_DOT_Y], i);
    return call;
}

static double error_over_bound(const struct hc_call *call, const struct hc_accumulator *stated,
                               double got)
{
    struct hc_exact want = hc_reference_value(call, 0, 0);
    return hc_bound_error(HC_FP32, &want, got) /
           hc_bound(&(struct hc_element){call, 0, 0}, stated, &want);
}

Test(bound, matrix_units_keep_to_the_bound_of_their_own_model)
{
    const struct hc_accumulator *units[] = {&volta, &ampere, &hopper, &cdna};
    for (int u = 0; u < 4; u++) {
        double worst = 0;
        for (uint64_t trial = 0; trial < 400; trial++) {
            int n = 1 + (int)(hc_random(1, trial, 0) % N);
            for (int i = 0; i < n; i++) {
                double size = hc_random_normal(2, trial, (uint64_t)i);
                x[i] = hc_fp16_bits((float)(trial % 2 ? fabs(size) : 30 * size));
                y[i] = hc_fp16_bits((float)hc_random_uniform(3, trial, (uint64_t)i));
            }
            struct hc_call call = dot(n);
            double ratio = error_over_bound(&call, units[u], matrix_unit(units[u], products, n, 0));
            if (n > 1)
                worst = fmax(worst, ratio);
        }
        cr_assert(worst <= 1 && worst > 0.02, "unit %d: %g", u, worst);
    }
}

/* What the alignment cuts off is largest when one pair of large terms cancels and the others end
   just below the last bit that is kept. */
static double worst_block(const struct hc_accumulator *device, const struct hc_accumulator *stated)
{
    int n = stated->block;
    x[0] = hc_fp16_bits(4096);
    x[1] = hc_fp16_bits(-4096);
    y[0] = y[1] = hc_fp16_bits(4096);
    int last = 24 - 23 - device->extra_bits; /* of 2^24 */
    for (int i = 2; i < n; i++) {
        x[i] = hc_fp16_bits((float)ldexp(0x1.ffcp-1, last / 2));
        y[i] = hc_fp16_bits((float)ldexp(1, last - last / 2));
    }
    struct hc_call call = dot(n);
    return error_over_bound(&call, stated, matrix_unit(device, products, n, 0));
}

Test(bound, a_unit_that_cuts_more_than_it_states_is_caught)
{
    struct hc_accumulator coarse = hopper;
    cr_assert_leq(worst_block(&hopper, &hopper), 1);
    cr_assert_gt(worst_block(&hopper, &hopper), 0.1);
    coarse.extra_bits = -1;
    cr_assert_gt(worst_block(&coarse, &hopper), 1);
}

/* gemm of one row and one column, to which C is added, and its products. */
static struct hc_call row_by_column(enum hc_format format, int n, uint8_t *a, uint8_t *b, float *c)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1, .beta = 1}};
    call.in[HC_GEMM_A] = hc_tensor2(format, 1, n, a);
    call.in[HC_GEMM_B] = hc_tensor2(format, n, 1, b);
    call.in[HC_GEMM_C] = hc_tensor2(HC_FP32, 1, 1, c);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, 1, 1, NULL);
    for (int i = 0; i < n; i++)
        products[i] = hc_tensor_get(&call.in[HC_GEMM_A], i) * hc_tensor_get(&call.in[HC_GEMM_B], i);
    return call;
}

/* 1 + 3/4 of an ulp of 1: a unit that cuts gives 1, one that rounds gives the next number. */
Test(bound, a_c_that_a_sum_begins_with_is_one_addition_more)
{
    uint8_t one = 0x38;
    float c = 0.75f * 0x1p-23f;
    struct hc_accumulator nearest = {.precision = 24, .block = 1};
    struct hc_call call = row_by_column(HC_E4M3, 1, &one, &one, &c);
    cr_assert_eq(products[0], 1);
    cr_assert_leq(error_over_bound(&call, &hopper, 1), 1);
    cr_assert_leq(error_over_bound(&call, &nearest, 1 + 0x1p-23), 1);
    cr_assert_gt(error_over_bound(&call, &nearest, 1), 1);
}

/* Sums of fp8 on Hopper: 32 products and C, cut below 2^-13 of the largest. */
static const struct hc_accumulator hopper_fp8 = {
    .precision = 14, .block = 32, .truncates = true, .aligns_subnormals = true};

Test(bound, sums_of_fp8_in_fourteen_bits_keep_to_their_bound)
{
    static const enum hc_format formats[] = {HC_E4M3, HC_E5M2};
    static uint8_t a[N];
    static uint8_t b[N];
    double worst = 0;
    for (uint64_t trial = 0; trial < 2000; trial++) {
        enum hc_format f = formats[trial % 2];
        int n = 1 + (int)(hc_random(1, trial, 0) % (trial % 4 ? 40 : N));
        float c = (float)ldexp(hc_random_normal(4, trial, 0), (int)(trial % 31) - 15);
        for (int i = 0; i < n; i++) {
            double x = hc_random_normal(2, trial, (uint64_t)i);
            a[i] = (uint8_t)hc_encode(f, trial % 3 ? x : fabs(x), 0, HC_NEAREST);
            b[i] = (uint8_t)hc_encode(f, hc_random_uniform(3, trial, (uint64_t)i), 0, HC_NEAREST);
        }
        struct hc_call call = row_by_column(f, n, a, b, &c);
        worst = fmax(worst, error_over_bound(&call, &hopper_fp8,
                                             matrix_unit(&hopper_fp8, products, n, (double)c)));
    }
    cr_assert(worst <= 1 && worst > 0.1, "%g", worst);
}

/* C = 2 - 2^-23 alone is cut to 2 - 2^-13. */
Test(bound, a_c_of_more_bits_than_the_accumulator_may_be_cut)
{
    uint8_t zero = 0;
    float c = 2 - 0x1p-23f;
    struct hc_call call = row_by_column(HC_E4M3, 1, &zero, &zero, &c);
    double cut_c = matrix_unit(&hopper_fp8, products, 1, (double)c);
    cr_assert_eq(cut_c, 2 - 0x1p-13);
    cr_assert_leq(error_over_bound(&call, &hopper_fp8, cut_c), 1);
    cr_assert_gt(error_over_bound(&call, &hopper, cut_c), 1);
    c = 0x1p-149f; /* below the smallest number of 14 bits */
    call = row_by_column(HC_E4M3, 1, &zero, &zero, &c);
    cr_assert_leq(error_over_bound(&call, &hopper_fp8, 0), 1);
}

/* 64 products of 2^-64 and 2^-64: a unit that flushes gives 0, and the real sum is 2^-122. */
Test(bound, only_a_unit_that_states_to_flush_may_lose_what_is_subnormal)
{
    struct hc_accumulator states = {.precision = 24, .block = 1, .flushes = true};
    struct hc_accumulator silent = {.precision = 24, .block = 1};
    struct hc_call call = dot(64);
    call.in[HC_REDUCE_X].format = call.in[HC_DOT_Y].format = HC_BF16;
    for (int i = 0; i < 64; i++)
        x[i] = y[i] = (uint16_t)hc_encode(HC_BF16, 0x1p-64, 0, HC_NEAREST);
    cr_assert_leq(error_over_bound(&call, &states, 0), 1);
    cr_assert_gt(error_over_bound(&call, &states, 0x1p-118), 1);
    cr_assert_gt(error_over_bound(&call, &silent, 0), 1);
    call.in[HC_REDUCE_X].format = call.in[HC_DOT_Y].format = HC_FP32;
    struct hc_exact want = {1, 0, 1};
    struct hc_element e = {&call, 0, 0};
    cr_assert_eq(hc_bound(&e, &states, &want), hc_bound(&e, &silent, &want)); /* no unit: fp32 */
}

Test(bound, fp32_goes_through_ordinary_arithmetic_on_every_unit)
{
    struct hc_exact want = {1, 0, 1};
    struct hc_call call = dot(64);
    struct hc_accumulator nearest = {.precision = 24, .block = 1};
    call.in[HC_REDUCE_X].format = call.in[HC_DOT_Y].format = HC_FP32;
    cr_assert_eq(hc_bound(&(struct hc_element){&call, 0, 0}, &hopper, &want),
                 hc_bound(&(struct hc_element){&call, 0, 0}, &nearest, &want));
}

Test(bound, an_infinity_is_the_next_number_of_its_format)
{
    struct hc_exact want = {65519, 0, 65519};
    double infinity = (double)INFINITY;
    cr_assert_eq(hc_bound_error(HC_FP16, &want, infinity), 65536 - 65519);
    cr_assert_eq(hc_bound_error(HC_FP16, &want, 65504), 15);
    cr_assert_eq(hc_bound_error(HC_FP16, &want, -infinity), 65536 + 65519);
    want.hi = 1e9;
    cr_assert_eq(hc_bound_error(HC_FP16, &want, infinity), 0);
    cr_assert_eq(hc_bound_error(HC_FP16, &want, 65504), 1e9 - 65504);
    cr_assert(isinf(hc_bound_error(HC_FP16, &want, (double)NAN)));
    want.hi = infinity;
    cr_assert_eq(hc_bound_error(HC_FP16, &want, infinity), 0);
    cr_assert(isinf(hc_bound_error(HC_FP16, &want, 65504)));
    cr_assert(isinf(hc_bound_error(HC_FP16, &want, -infinity)));
    want.hi = (double)NAN;
    cr_assert_eq(hc_bound_error(HC_FP16, &want, (double)NAN), 0);
    cr_assert(isinf(hc_bound_error(HC_FP16, &want, infinity)));
}

Test(bound, partial_sums_that_may_overflow_are_not_bounded)
{
    struct hc_call call = dot(4);
    struct hc_accumulator nearest = {.precision = 24, .block = 1};
    struct hc_exact want = {1, 0, 60000};
    call.params.reduce.accumulator = HC_FP16;
    cr_assert(isfinite(hc_bound(&(struct hc_element){&call, 0, 0}, &nearest, &want)));
    want.magnitude = 70000;
    cr_assert(isinf(hc_bound(&(struct hc_element){&call, 0, 0}, &nearest, &want)));
    call.params.reduce.accumulator = HC_FP32;
    cr_assert(isfinite(hc_bound(&(struct hc_element){&call, 0, 0}, &nearest, &want)));
}
