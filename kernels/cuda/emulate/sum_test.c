/* The matrix unit of the stand-ins: golden vectors, sums calculated by hand, and the bounds held
   against it. */
#include "kernels/cuda/emulate/sum.h"

#include <criterion/criterion.h>
#include <math.h>

#include "check/bound/bound.h"
#include "kernels/cuda/library/accumulator.h"
#include "num/bits.h"
#include "num/rng.h"
#include "unit/testing.h"

static struct hc_sum_rule unit; /* of fp16 */
static struct hc_sum_rule tf32;

static void find_units(void)
{
    unit = hc_sum_on_unit(HC_FP16);
    tf32 = hc_sum_on_unit(HC_FP32);
}

TestSuite(sum, .init = find_units);

static float sum_of(const struct hc_sum_rule *rule, int n, const float *x, const float *y)
{
    struct hc_sum sum;
    hc_sum_begin(&sum, rule);
    for (int i = 0; i < n; i++)
        hc_sum_add(&sum, x[i], y[i]);
    return hc_sum_end(&sum);
}

/* Beside 2^24 the bits from 2^-1 on are kept: its last bit is 2^1, and two more follow. */
Test(sum, of_a_block_keeps_two_bits_below_the_last_of_its_largest_term)
{
    float x[16] = {4096, -4096};
    float y[16] = {4096, 4096};
    for (int i = 2; i < 16; i++) {
        x[i] = 0.5f;
        y[i] = 1;
    }
    cr_assert_eq(sum_of(&unit, 16, x, y), 7);
    for (int i = 2; i < 16; i++)
        x[i] = 0x1.ffcp-2f;
    cr_assert_eq(sum_of(&unit, 16, x, y), 0);
    for (int i = 2; i < 16; i++)
        x[i] = -0.875f; /* cut toward zero */
    cr_assert_eq(sum_of(&unit, 16, x, y), -7);
}

Test(sum, is_cut_to_fp32_toward_zero_after_each_block)
{
    float x[17] = {0};
    float y[17] = {0};
    x[0] = 4096;
    y[0] = 4096;
    for (int i = 1; i < 17; i++) {
        x[i] = 1.5f;
        y[i] = 1;
    }
    cr_assert_eq(sum_of(&unit, 2, x, y), 16777216); /* + 1.5: below its last bit of 2 */
    cr_assert_eq(sum_of(&unit, 16, x, y), 16777216 + 22);
    cr_assert_eq(sum_of(&unit, 17, x, y), 16777216 + 22);
    x[1] = -1.5f;
    cr_assert_eq(sum_of(&unit, 2, x, y), 16777214); /* 2^24 - 1.5: of 24 bits its last is 1 */
}

Test(sum, of_tf32_cuts_factors_and_fills_half_a_block)
{
    float x[9] = {1 + 0x1.8p-11f};
    float y[9] = {1 + 0x1p-10f};
    cr_assert_eq(sum_of(&tf32, 1, x, y), 1 + 0x1p-10f);
    x[0] = 4096;
    y[0] = 4096;
    for (int i = 1; i < 9; i++)
        x[i] = y[i] = 1;
    cr_assert_eq(sum_of(&tf32, 9, x, y), 16777216 + 6); /* 7 is cut to 6, 1 to 0 */
    cr_assert_eq(sum_of(&unit, 9, x, y), 16777216 + 8);
}

Test(sum, keeps_subnormals_infinities_and_nan)
{
    struct hc_sum_rule bf16 = hc_sum_on_unit(HC_BF16);
    float x[2] = {0x1p-70f, 0x1p-75f};
    float y[2] = {0x1p-79f, 0x1p-75f};
    cr_assert_eq(sum_of(&bf16, 2, x, y), 0x1p-149f);
    x[0] = 0x1p127f;
    y[0] = 2;
    cr_assert_eq(sum_of(&bf16, 2, x, y), INFINITY);
    x[1] = -INFINITY;
    cr_assert_eq(sum_of(&bf16, 2, x, y), -INFINITY);
    y[1] = 0;
    cr_assert(isnan(sum_of(&bf16, 2, x, y)));
    cr_assert_eq(sum_of(&bf16, 0, x, y), 0);
}

/* One element of a product of fp16 or, `single`, of fp32 inputs that are taken as tf32. */
static struct hc_call product(int n, float *x, float *y, bool single)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1, .tf32 = single}};
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP32, 1, n, x);
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP32, n, 1, y);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, 1, 1, NULL);
    return call;
}

static double error_over_bound(const struct hc_call *call, const struct hc_accumulator *stated,
                               double got)
{
    struct hc_exact want = hc_reference_value(call, 0, 0);
    return hc_bound_error(HC_FP32, &want, got) /
           hc_bound(&(struct hc_element){call, 0, 0}, stated, &want);
}

Test(sum, of_random_tf32_numbers_keeps_to_its_bound)
{
    static float x[300];
    static float y[300];
    const struct hc_accumulator hopper = HC_SUM_UNIT;
    double worst = 0;
    for (uint64_t trial = 0; trial < 300; trial++) {
        int n = 1 + (int)(hc_random(1, trial, 0) % 300);
        for (int i = 0; i < n; i++) {
            x[i] = (float)hc_random_normal(2, trial, (uint64_t)i);
            y[i] = (float)hc_random_uniform(3, trial, (uint64_t)i);
        }
        struct hc_call call = product(n, x, y, true);
        worst = fmax(worst, error_over_bound(&call, &hopper, (double)sum_of(&tf32, n, x, y)));
    }
    cr_assert(worst <= 1 && worst > 0.2, "%g", worst);
}

/* The largest ratio of error to bound of short sums by the rule. fp32 factors are cut to multiples
   of `grid` first. */
static double worst_of(const struct hc_sum_rule *rule, bool single, double grid)
{
    const struct hc_accumulator hopper = HC_SUM_UNIT;
    double worst = 0;
    for (uint64_t trial = 0; trial < 2000; trial++) {
        int n = 1 + (int)(trial % 4);
        float x[4];
        float y[4];
        float cut_x[4];
        float cut_y[4];
        uint16_t a[4];
        uint16_t b[4];
        for (int i = 0; i < n; i++) {
            x[i] = 1 + (float)hc_random_uniform(2, trial, (uint64_t)i);
            y[i] = 1 + (float)hc_random_uniform(3, trial, (uint64_t)i);
            a[i] = hc_fp16_bits(x[i]);
            b[i] = hc_fp16_bits(y[i]);
            cut_x[i] = single ? (float)(floor((double)x[i] / grid) * grid) : hc_fp16_value(a[i]);
            cut_y[i] = single ? (float)(floor((double)y[i] / grid) * grid) : hc_fp16_value(b[i]);
        }
        struct hc_call call = product(n, x, y, single);
        if (!single) {
            call.in[HC_GEMM_A] = hc_tensor2(HC_FP16, 1, n, a);
            call.in[HC_GEMM_B] = hc_tensor2(HC_FP16, n, 1, b);
            call.params.gemm.half_accumulator = true;
        }
        worst =
            fmax(worst, error_over_bound(&call, &hopper, (double)sum_of(rule, n, cut_x, cut_y)));
    }
    return worst;
}

Test(sum, of_inputs_with_a_bit_less_than_tf32_breaks_its_bound)
{
    double tf32_worst = worst_of(&tf32, true, 0x1p-10);
    cr_assert(tf32_worst <= 1 && tf32_worst > 0.5, "%g", tf32_worst);
    cr_assert_gt(worst_of(&tf32, true, 0x1p-9), 1);
}

Test(sum, in_bf16_breaks_the_bound_of_sums_in_half)
{
    const struct hc_sum_rule half = {NULL, HC_FP16};
    const struct hc_sum_rule coarse = {NULL, HC_BF16};
    double worst = worst_of(&half, false, 0);
    cr_assert(worst <= 1 && worst > 0.2, "%g", worst);
    cr_assert_gt(worst_of(&coarse, false, 0), 1);
}

/* The second of two terms is cut off beside the first. The error is nearly an ulp of the sum;
   rounding to nearest would leave half an ulp. */
Test(sum, of_two_terms_breaks_the_bound_of_rounding_to_nearest)
{
    float x[2] = {1, 0x1.ffcp-12f};
    float y[2] = {1, 0x1p-12f};
    uint16_t a[2] = {hc_fp16_bits(x[0]), hc_fp16_bits(x[1])};
    uint16_t b[2] = {hc_fp16_bits(y[0]), hc_fp16_bits(y[1])};
    const struct hc_accumulator hopper = HC_SUM_UNIT;
    const struct hc_accumulator nearest = {.precision = 24, .block = 1};
    struct hc_call call = product(2, x, y, false);
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP16, 1, 2, a);
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP16, 2, 1, b);
    double got = (double)sum_of(&unit, 2, x, y);
    cr_assert_eq(got, 1);
    cr_assert_leq(error_over_bound(&call, &hopper, got), 1);
    cr_assert_gt(error_over_bound(&call, &nearest, got), 1);
}

Test(sum, is_that_of_an_h100)
{
    const struct hc_accumulator stated = HC_SUM_UNIT;
    struct hc_accumulator hopper = hc_cuda_accumulator(9, 0);
    cr_assert(stated.precision == hopper.precision && stated.block == hopper.block &&
              stated.extra_bits == hopper.extra_bits && stated.truncates == hopper.truncates &&
              stated.aligns_subnormals == hopper.aligns_subnormals);
    cr_assert(stated.precision == unit.unit->output_fraction + 1 &&
              stated.block == unit.unit->piece && stated.block == 2 * tf32.unit->piece &&
              stated.extra_bits == unit.unit->fraction - unit.unit->output_fraction);
}

/* The first term's factors are the smallest subnormal and a large number. Their product counts as
   2^-14 * 2^15 in the alignment, of which bits from 2^-24 on are kept, and so loses what lies below
   its own leading bit. */
Test(sum, aligns_a_product_by_the_exponents_of_its_factors)
{
    float x[2] = {0x1p-24f, 0x1p-13f};
    float y[2] = {0x1p15f, 0x1p-12f};
    cr_assert_eq(sum_of(&unit, 2, x, y), 0x1p-9f);
    y[1] = 0x1p-11f;
    cr_assert_eq(sum_of(&unit, 2, x, y), 0x1p-9f + 0x1p-24f);
}

/* A factor as the stand-ins load it. */
static float factor(enum hc_format format, uint32_t code)
{
    return format == HC_FP16   ? hc_fp16_value((uint16_t)code)
           : format == HC_BF16 ? hc_bf16_value((uint16_t)code)
                               : hc_fp32_value(code);
}

static int check_vectors(enum hc_format format)
{
    struct hc_sum_rule rule = hc_sum_on_unit(format);
    static struct vector v;
    char path[4096];
    (void)snprintf(path, sizeof path, HC_SOURCE "/src/unit/vectors/%s.txt", rule.unit->name);
    FILE *in = fopen(path, "r");
    cr_assert(in != NULL, "%s: cannot be read", path);
    int lines = 0, number = 0;
    for (; next_vector(in, rule.unit, &v, &number) > 0; lines++) {
        struct hc_sum sum;
        hc_sum_begin(&sum, &rule);
        sum.value = hc_fp32_value(v.c);
        for (int64_t i = 0; i < v.n; i++)
            hc_sum_add(&sum, factor(format, v.a[i]), factor(format, v.b[i]));
        uint32_t got = hc_fp32_bits(hc_sum_end(&sum));
        cr_expect_eq(got, v.d, "%s:%d: got %08x, want %08x", path, number, got, v.d);
    }
    (void)fclose(in);
    return lines;
}

Test(sum, has_the_bits_of_the_golden_vectors)
{
    cr_expect_gt(check_vectors(HC_FP16), 50);
    cr_expect_gt(check_vectors(HC_BF16), 50);
    cr_expect_gt(check_vectors(HC_FP32), 50);
}
