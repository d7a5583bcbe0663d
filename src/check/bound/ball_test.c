/* Running error analysis holds for the arithmetic that it stands for, and is not far from it. */
#include "check/bound/ball.h"

#include <criterion/criterion.h>
#include <math.h>

#include "num/rng.h"

static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};

enum { DRAWS = 20000 };

/* A number of the format, and a real one within `error` of it. */
struct strayed {
    double computed;
    struct hc_ball ball;
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
    return (struct strayed){computed, hc_ball_of(real, error)};
}

static double of_fp32(enum hc_format f, float x)
{
    return hc_round(f, (double)x);
}

/* error / bound of one operation on strayed operands. */
static double ratio(struct hc_ball bound, double computed)
{
    return fabs(computed - bound.mid) / bound.rad;
}

Test(ball, sums_products_quotients_and_roots_stay_within_their_errors)
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
                ratio(hc_ball_add(f, x.ball, y.ball), of_fp32(f, a + b)),
                ratio(hc_ball_sub(f, x.ball, y.ball), of_fp32(f, a - b)),
                ratio(hc_ball_mul(f, x.ball, y.ball), of_fp32(f, a * b)),
                ratio(hc_ball_div(f, x.ball, y.ball), of_fp32(f, a / b)),
                ratio(hc_ball_sqrt(f, z.ball), of_fp32(f, sqrtf(c))),
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

Test(ball, exponentials_and_logarithms_stay_within_their_errors)
{
    double worst = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct strayed x = draw(HC_FP32, 1, i, false);
        struct strayed z = draw(HC_FP32, 3, i, true);
        double of_exp = ratio(hc_ball_exp(HC_FP32, x.ball), (double)expf((float)x.computed));
        double of_log = ratio(hc_ball_log(HC_FP32, z.ball), (double)logf((float)z.computed));
        cr_assert(of_exp <= 1 && of_log <= 1, "%g %g", of_exp, of_log);
        worst = fmax(worst, fmax(of_exp, of_log));
    }
    cr_assert_gt(worst, 0.5);
}

Test(ball, sums_in_any_order_stay_within_their_error)
{
    enum { TERMS = 64 };
    for (uint64_t trial = 0; trial < 200; trial++) {
        struct hc_ball_sum sum = {0};
        float forward = 0;
        float backward = 0;
        struct strayed x[TERMS];
        for (int i = 0; i < TERMS; i++) {
            x[i] = draw(HC_FP32, 10 + trial, (uint64_t)i, trial % 2);
            hc_ball_term(&sum, x[i].ball);
        }
        for (int i = 0; i < TERMS; i++) {
            forward += (float)x[i].computed;
            backward += (float)x[TERMS - 1 - i].computed;
        }
        struct hc_ball total = hc_ball_total(HC_FP32, &sum);
        cr_assert(ratio(total, (double)forward) <= 1);
        cr_assert(ratio(total, (double)backward) <= 1);
    }
}

Test(ball, what_may_overflow_or_divide_by_nothing_has_no_bound)
{
    struct hc_ball big = hc_ball_exact(60000);
    struct hc_ball doubtful = hc_ball_of(1e-3, 1e-3);
    cr_assert(isinf(hc_ball_add(HC_FP16, big, big).rad));
    cr_assert(isfinite(hc_ball_add(HC_FP32, big, big).rad));
    cr_assert(isinf(hc_ball_mul(HC_FP32, hc_ball_exact(1e30), hc_ball_exact(1e30)).rad));
    cr_assert(isinf(hc_ball_div(HC_FP32, big, doubtful).rad));
    cr_assert(isinf(hc_ball_log(HC_FP32, doubtful).rad));
}

Test(ball, what_is_infinite_by_an_operand_is_exact)
{
    struct hc_ball infinite = hc_ball_exact(-(double)INFINITY);
    struct hc_ball about = hc_ball_of(2, 1e-3);
    cr_assert_eq(hc_ball_add(HC_FP32, infinite, about).rad, 0);
    cr_assert_eq(hc_ball_mul(HC_FP16, about, infinite).rad, 0);
    cr_assert_eq(hc_ball_div(HC_FP32, infinite, about).rad, 0);
    cr_assert_eq(hc_ball_div(HC_FP32, hc_ball_exact(2), infinite).rad, 0);
    struct hc_ball doubtful = hc_ball_of(0, 1e-3);
    cr_assert_neq(hc_ball_mul(HC_FP32, doubtful, infinite).rad, 0);
}

Test(ball, subnormal_products_carry_half_the_smallest_number)
{
    struct hc_ball tiny = hc_ball_exact(0x1p-20);
    cr_assert_geq(hc_ball_mul(HC_FP16, tiny, tiny).rad, 0x1p-40);
    cr_assert_leq(hc_ball_mul(HC_FP16, tiny, tiny).rad, 0x1.01p-25);
    cr_assert_lt(hc_ball_add(HC_FP32, hc_ball_exact(0x1p-140), hc_ball_exact(0x1p-149)).rad,
                 0x1p-160);
    cr_assert_eq(hc_ball_mul(HC_FP16, hc_ball_exact(0), tiny).rad, 0);
}

/* 1e-400 is not 0, though fp64, in which `mid` is computed, has nothing else for it. */
Test(ball, what_underflows_where_its_value_is_computed_has_an_error)
{
    struct hc_ball small = hc_ball_exact(1e-200);
    struct hc_ball fourth = hc_ball_mul(HC_FP64, hc_ball_mul(HC_FP64, small, small), small);
    cr_assert_geq(hc_ball_mul(HC_FP64, small, small).rad, 0x1p-1074);
    cr_assert_gt(fourth.rad, 0);
    cr_assert_gt(hc_ball_mul(HC_FP32, small, small).rad, 0);
    cr_assert_gt(hc_ball_div(HC_FP64, small, hc_ball_exact(1e200)).rad, 0);
    cr_assert_gt(hc_ball_exp(HC_FP64, hc_ball_exact(-1000)).rad, 0);
    cr_assert_gt(hc_ball_exp(HC_FP32, hc_ball_exact(-1000)).rad, 0);
    cr_assert_eq(hc_ball_mul(HC_FP64, hc_ball_exact(0), small).rad, 0);
    cr_assert_eq(hc_ball_div(HC_FP32, hc_ball_exact(0), small).rad, 0);
    cr_assert_eq(hc_ball_div(HC_FP32, small, hc_ball_exact((double)INFINITY)).rad, 0);
    cr_assert_eq(hc_ball_add(HC_FP16, small, hc_ball_exact(-1e-200)).rad, 0);
}

/* x + 0 is x wherever f has x; of a number that is not known nothing of the kind is said. */
Test(ball, a_number_to_which_nothing_is_added_is_not_rounded)
{
    struct hc_ball zero = hc_ball_exact(0);
    struct hc_ball tenth = hc_ball_exact((double)0.1F);
    cr_assert_eq(hc_ball_add(HC_FP32, zero, tenth).rad, 0);
    cr_assert_eq(hc_ball_sub(HC_FP32, tenth, zero).rad, 0);
    cr_assert_eq(hc_ball_sub(HC_FP32, zero, tenth).mid, -(double)0.1F);
    cr_assert_gt(hc_ball_add(HC_BF16, zero, tenth).rad, 0, "bf16 has no such number");
    cr_assert_gt(hc_ball_add(HC_FP32, tenth, hc_ball_exact(1)).rad, 0);
    cr_assert_gt(hc_ball_add(HC_FP32, hc_ball_of(0, 1e-30), tenth).rad, 0);
}

/* A number of fp64 that was computed from two others and is exact as a pair: x + y / 2^60. */
static struct hc_ball of_pair(uint64_t stream, uint64_t i)
{
    struct hc_ball x = {.mid = ldexp(1 + hc_random_uniform(1, stream, i),
                                     (int)(hc_random_uniform(2, stream, i) * 12) - 6)};
    x.lo = ldexp(x.mid * (2 * hc_random_uniform(3, stream, i) - 1), -54);
    return x;
}

static long double value_of(struct hc_ball x)
{
    return (long double)x.mid + (long double)x.lo;
}

/* long double has 64 bits here, 11 more than fp64: it sees whether `mid` alone was meant. */
Test(ball, in_fp64_the_middle_is_a_pair_and_one_rounding_is_one)
{
    double worst = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct hc_ball x = of_pair(20, i);
        struct hc_ball y = of_pair(21, i);
        struct hc_ball got[] = {
            hc_ball_add(HC_FP64, x, y), hc_ball_sub(HC_FP64, x, y), hc_ball_mul(HC_FP64, x, y),
            hc_ball_div(HC_FP64, x, y), hc_ball_sqrt(HC_FP64, x),
        };
        long double want[] = {
            value_of(x) + value_of(y), value_of(x) - value_of(y), value_of(x) * value_of(y),
            value_of(x) / value_of(y), sqrtl(value_of(x)),
        };
        for (int op = 0; op < 5; op++) {
            double size = fabs(x.mid) + fabs(y.mid) + fabs(got[op].mid);
            cr_assert_lt((double)fabsl(value_of(got[op]) - want[op]), 0x1p-61 * size, "op %d", op);
            cr_assert_leq(got[op].rad, 0x1.0001p-53 * fabs(got[op].mid) + 0x1p-90);
            double error = (double)fabsl((long double)(double)want[op] - want[op]);
            worst = fmax(worst, error / got[op].rad);
        }
    }
    cr_assert(worst > 0.9 && worst <= 1, "%g", worst);
}

/* The remainder of a product, quotient or root of very small and large numbers is one still. */
Test(ball, a_pair_is_one_at_both_ends_of_fp64)
{
    static const int ends[] = {-940, -900, -300, 0, 300, 900, 1000};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++) {
            struct hc_ball x = of_pair(22, (uint64_t)(7 * i + j));
            struct hc_ball y = of_pair(23, (uint64_t)(7 * i + j));
            struct hc_ball quotient = hc_ball_div(HC_REAL, x, y);
            struct hc_ball a = {.mid = ldexp(x.mid, ends[i]), .lo = ldexp(x.lo, ends[i])};
            struct hc_ball b = {.mid = ldexp(y.mid, ends[j]), .lo = ldexp(y.lo, ends[j])};
            struct hc_ball got = hc_ball_div(HC_REAL, a, b);
            int e = ends[i] - ends[j];
            if (abs(e) > 950)
                continue;
            cr_expect_eq(got.mid, ldexp(quotient.mid, e), "%d %d", ends[i], ends[j]);
            cr_expect_float_eq(got.lo, ldexp(quotient.lo, e), ldexp(0x1p-90, e), "%d %d", ends[i],
                               ends[j]);
        }
}
