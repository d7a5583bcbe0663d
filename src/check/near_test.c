/* Running error analysis holds for the arithmetic that it stands for, and is not far from it. */
#include "check/near.h"

#include <criterion/criterion.h>
#include <math.h>

#include "num/rng.h"

static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};

enum { DRAWS = 20000 };

/* A number of the format, and a real one within `error` of it. */
struct strayed {
    double computed;
    struct hc_near near;
};

static struct strayed draw(enum hc_format f, uint64_t stream, uint64_t i, bool positive)
{
    double size =
        ldexp(1 + hc_random_uniform(1, stream, i), (int)(hc_random_uniform(2, stream, i) * 12) - 6);
    if (!positive && hc_random(3, stream, i) & 1)
        size = -size;
    double computed = hc_round(f, size);
    double error = fabs(computed) * 8 * hc_format_unit(f) * hc_random_uniform(4, stream, i);
    double real = computed + error * (2 * hc_random_uniform(5, stream, i) - 1);
    return (struct strayed){computed, {real, error}};
}

static double of_fp32(enum hc_format f, float x)
{
    return hc_round(f, (double)x);
}

/* error / bound of one operation on strayed operands. */
static double ratio(struct hc_near bound, double computed)
{
    return fabs(computed - bound.value) / bound.error;
}

Test(near, sums_products_quotients_and_roots_stay_within_their_errors)
{
    for (int k = 0; k < 3; k++) {
        enum hc_format f = formats[k];
        double worst[5] = {0};
        for (uint64_t i = 0; i < DRAWS; i++) {
            struct strayed x = draw(f, 1, i, false);
            struct strayed y = draw(f, 2, i, false);
            struct strayed z = draw(f, 3, i, true);
            float a = (float)x.computed;
            float b = (float)y.computed;
            float c = (float)z.computed;
            double now[5] = {
                ratio(hc_near_add(f, x.near, y.near), of_fp32(f, a + b)),
                ratio(hc_near_sub(f, x.near, y.near), of_fp32(f, a - b)),
                ratio(hc_near_mul(f, x.near, y.near), of_fp32(f, a * b)),
                ratio(hc_near_div(f, x.near, y.near), of_fp32(f, a / b)),
                ratio(hc_near_sqrt(f, z.near), of_fp32(f, sqrtf(c))),
            };
            for (int op = 0; op < 5; op++) {
                cr_assert(now[op] <= 1, "op %d in %s: %g", op, hc_formats[f].name, now[op]);
                worst[op] = fmax(worst[op], now[op]);
            }
        }
        for (int op = 0; op < 5; op++)
            cr_assert(worst[op] > 0.7, "op %d in %s: %g", op, hc_formats[f].name, worst[op]);
    }
}

Test(near, exponentials_and_logarithms_stay_within_their_errors)
{
    double worst = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct strayed x = draw(HC_FP32, 1, i, false);
        struct strayed z = draw(HC_FP32, 3, i, true);
        double of_exp = ratio(hc_near_exp(HC_FP32, x.near), (double)expf((float)x.computed));
        double of_log = ratio(hc_near_log(HC_FP32, z.near), (double)logf((float)z.computed));
        cr_assert(of_exp <= 1 && of_log <= 1, "%g %g", of_exp, of_log);
        worst = fmax(worst, fmax(of_exp, of_log));
    }
    cr_assert_gt(worst, 0.5);
}

Test(near, sums_in_any_order_stay_within_their_error)
{
    enum { TERMS = 64 };
    for (uint64_t trial = 0; trial < 200; trial++) {
        struct hc_near_sum sum = {0};
        float forward = 0;
        float backward = 0;
        struct strayed x[TERMS];
        for (int i = 0; i < TERMS; i++) {
            x[i] = draw(HC_FP32, 10 + trial, (uint64_t)i, trial % 2);
            hc_near_term(&sum, x[i].near);
        }
        for (int i = 0; i < TERMS; i++) {
            forward += (float)x[i].computed;
            backward += (float)x[TERMS - 1 - i].computed;
        }
        struct hc_near total = hc_near_total(HC_FP32, &sum);
        cr_assert(ratio(total, (double)forward) <= 1);
        cr_assert(ratio(total, (double)backward) <= 1);
    }
}

Test(near, what_may_overflow_or_divide_by_nothing_has_no_bound)
{
    struct hc_near big = hc_near_exact(60000);
    struct hc_near doubtful = {1e-3, 1e-3};
    cr_assert(isinf(hc_near_add(HC_FP16, big, big).error));
    cr_assert(isfinite(hc_near_add(HC_FP32, big, big).error));
    cr_assert(isinf(hc_near_mul(HC_FP32, hc_near_exact(1e30), hc_near_exact(1e30)).error));
    cr_assert(isinf(hc_near_div(HC_FP32, big, doubtful).error));
    cr_assert(isinf(hc_near_log(HC_FP32, doubtful).error));
}

Test(near, what_is_infinite_by_an_operand_is_exact)
{
    struct hc_near infinite = hc_near_exact(-(double)INFINITY);
    struct hc_near about = {2, 1e-3};
    cr_assert_eq(hc_near_add(HC_FP32, infinite, about).error, 0);
    cr_assert_eq(hc_near_mul(HC_FP16, about, infinite).error, 0);
    cr_assert_eq(hc_near_div(HC_FP32, infinite, about).error, 0);
    cr_assert_eq(hc_near_div(HC_FP32, hc_near_exact(2), infinite).error, 0);
    struct hc_near doubtful = {0, 1e-3};
    cr_assert_neq(hc_near_mul(HC_FP32, doubtful, infinite).error, 0);
}

Test(near, subnormal_products_carry_half_the_smallest_number)
{
    struct hc_near tiny = hc_near_exact(0x1p-20);
    cr_assert_geq(hc_near_mul(HC_FP16, tiny, tiny).error, 0x1p-40);
    cr_assert_leq(hc_near_mul(HC_FP16, tiny, tiny).error, 0x1.01p-25);
    cr_assert_lt(hc_near_add(HC_FP32, hc_near_exact(0x1p-140), hc_near_exact(0x1p-149)).error,
                 0x1p-160);
    cr_assert_eq(hc_near_mul(HC_FP16, hc_near_exact(0), tiny).error, 0);
}

/* 1e-400 is not 0, though fp64, in which `value` is computed, has nothing else for it. */
Test(near, what_underflows_where_its_value_is_computed_has_an_error)
{
    struct hc_near small = hc_near_exact(1e-200);
    struct hc_near fourth = hc_near_mul(HC_FP64, hc_near_mul(HC_FP64, small, small), small);
    cr_assert_geq(hc_near_mul(HC_FP64, small, small).error, 0x1p-1074);
    cr_assert_gt(fourth.error, 0);
    cr_assert_gt(hc_near_mul(HC_FP32, small, small).error, 0);
    cr_assert_gt(hc_near_div(HC_FP64, small, hc_near_exact(1e200)).error, 0);
    cr_assert_gt(hc_near_exp(HC_FP64, hc_near_exact(-1000)).error, 0);
    cr_assert_gt(hc_near_exp(HC_FP32, hc_near_exact(-1000)).error, 0);
    cr_assert_eq(hc_near_mul(HC_FP64, hc_near_exact(0), small).error, 0);
    cr_assert_eq(hc_near_div(HC_FP32, hc_near_exact(0), small).error, 0);
    cr_assert_eq(hc_near_div(HC_FP32, small, hc_near_exact((double)INFINITY)).error, 0);
    cr_assert_eq(hc_near_add(HC_FP16, small, hc_near_exact(-1e-200)).error, 0);
}
