/* The bound of averages over ranks: it holds in any order, some order comes near it, and it is
   infinite only where a sum may overflow. And the stated orders, one rounding at a time, give the
   bits that are written out here. */
#include <criterion/criterion.h>
#include <math.h>

#include "check/bound/bound.h"
#include "check/bound/rules.h"
#include "num/rng.h"

enum { MOST = 64 };

struct trial {
    struct hc_call call;
    double memory[MOST];
    double out[1];
};

/* An average of one element. */
static void make(struct trial *t, enum hc_format format, const struct hc_all_reduce *how, int ranks,
                 const double *x)
{
    t->call = (struct hc_call){.op = HC_OP_all_reduce, .params.all_reduce = *how};
    t->call.in[HC_ALL_REDUCE_X] = hc_tensor2(format, ranks, 1, t->memory);
    t->call.out[HC_ALL_REDUCE_OUT] = hc_tensor1(format, 1, t->out);
    for (int r = 0; r < ranks; r++)
        hc_tensor_set(&t->call.in[HC_ALL_REDUCE_X], r, x[r]);
    cr_assert_eq(hc_call_check(&t->call), HC_OK, "%s", hc_message());
}

static double divided(const struct hc_all_reduce *how, double divisor, double x)
{
    double d = (double)(float)divisor;
    if (d == 1)
        return x;
    x = how->multiplies ? x * (double)(1 / (float)d) : x / d;
    return hc_round(how->sum, how->sum == HC_FP64 ? x : hc_round(HC_FP32, x));
}

/* The average with any two of the sums that there are added next. */
static double in_random_order(const struct trial *t, uint64_t seed)
{
    const struct hc_all_reduce *how = &t->call.params.all_reduce;
    const struct hc_tensor *x = &t->call.in[HC_ALL_REDUCE_X];
    double sums[MOST];
    int n = (int)x->shape[0];
    for (int r = 0; r < n; r++)
        sums[r] = divided(how, how->before, hc_round(how->sum, hc_tensor_get(x, r)));
    for (uint64_t k = 0; n > 1; k++) {
        int i = (int)(hc_random(seed, 0, k) % (uint64_t)n);
        double taken = sums[i];
        sums[i] = sums[--n];
        int j = (int)(hc_random(seed, 1, k) % (uint64_t)n);
        sums[j] = hc_round(how->sum, sums[j] + taken);
    }
    return hc_round(x->format, divided(how, how->after, sums[0]));
}

static double bound_of(const struct trial *t, struct hc_exact *want)
{
    struct hc_element e = {&t->call, HC_ALL_REDUCE_OUT, 0};
    const struct hc_accumulator none = {.precision = 24, .block = 1};
    *want = hc_reference_value(&t->call, HC_ALL_REDUCE_OUT, 0);
    return hc_bound(&e, &none, want);
}

Test(all_reduce, random_orders_in_all_formats_keep_the_bound)
{
    static const enum hc_format formats[] = {HC_FP32, HC_BF16, HC_FP16};
    int bounded = 0;
    for (int trial = 0; trial < 20000; trial++) {
        uint64_t seed = (uint64_t)trial;
        struct hc_all_reduce how = {HC_COLLECTIVE_TREE, formats[trial % 3], 1, 1, trial / 18 % 2};
        struct trial t;
        double x[MOST];
        struct hc_exact want;
        int ranks = 1 + (int)(hc_random(seed, 2, 0) % MOST);
        int spread = (int)(hc_random(seed, 2, 1) % 40);
        int low = (int)(hc_random(seed, 2, 2) % 30);
        how.before = trial / 36 % 2 ? 1 : 0.3 + ranks * hc_random_uniform(seed, 3, 0);
        how.after = trial / 72 % 2 ? 1 : 0.3 + ranks * hc_random_uniform(seed, 3, 1);
        for (int r = 0; r < ranks; r++)
            x[r] = ldexp(hc_random_normal(seed, 4, (uint64_t)r),
                         (int)(spread * hc_random_uniform(seed, 5, (uint64_t)r)) - low);
        make(&t, formats[trial / 3 % 3], &how, ranks, x);
        double bound = bound_of(&t, &want);
        double got = in_random_order(&t, seed);
        double error = hc_bound_error(formats[trial / 3 % 3], &want, got);
        bounded += isfinite(want.hi) && isfinite(bound);
        cr_assert(isinf(bound) || !isfinite(want.hi) || error <= bound,
                  "%d: %d ranks in %s: %g, error %g, bound %g", trial, ranks,
                  hc_formats[how.sum].name, want.hi, error, bound);
    }
    cr_expect_gt(bounded, 10000);
}

/* One at a time, each term just below half an ulp of 1 is lost. The lost ones come to nearly u of 1
   each, and so does the bound. */
Test(all_reduce, a_sum_that_stagnates_comes_near_the_bound)
{
    static const enum hc_format formats[] = {HC_FP32, HC_BF16, HC_FP16};
    for (int f = 0; f < 3; f++)
        for (int divides = 0; divides < 2; divides++) {
            struct hc_all_reduce how = {HC_COLLECTIVE_RING, formats[f], 1, divides ? 64 : 1, false};
            struct trial t;
            double x[MOST];
            struct hc_exact want;
            uint64_t bits;
            int ranks = f == 0 ? 64 : 16;
            for (int r = 0; r < ranks; r++)
                x[r] = r == 1 ? 1 : hc_format_unit(formats[f]) * (1 - 0x1p-6);
            make(&t, formats[f], &how, ranks, x);
            double bound = bound_of(&t, &want);
            struct hc_element e = {&t.call, HC_ALL_REDUCE_OUT, 0};
            cr_assert(hc_bound_bits(&e, &want, &bits));
            double error = fabs(hc_decode(formats[f], bits) - want.hi - want.lo);
            cr_expect(error <= bound && error > (divides ? 0.7 : 0.8) * bound, "%s: %g of %g",
                      hc_formats[formats[f]].name, error, bound);
        }
}

Test(all_reduce, a_division_before_the_sum_keeps_the_bound_finite)
{
    struct hc_all_reduce how = {HC_COLLECTIVE_TREE, HC_FP16, 1, 4, false};
    static const double x[] = {40000, 30000, -40000, 20000};
    struct trial t;
    struct hc_exact want;
    make(&t, HC_FP16, &how, 4, x);
    cr_expect_eq(bound_of(&t, &want), (double)INFINITY); /* 40000 + 30000 first */
    how.before = 4;
    how.after = 1;
    make(&t, HC_FP16, &how, 4, x);
    cr_expect(bound_of(&t, &want) < 80); /* 4 roundings of 32500 in all, one of 12500 */
    how.sum = HC_FP32;
    how.before = 1;
    how.after = 4;
    make(&t, HC_FP16, &how, 4, x);
    double bound = bound_of(&t, &want);
    cr_expect(bound >= 4 && bound < 4.1, "%g", bound); /* 12500 is between 2^13 and 2^14 */
    make(&t, HC_FP32, &(struct hc_all_reduce){HC_COLLECTIVE_TREE, HC_FP16, 4, 1, false}, 1,
         (double[]){70000});
    cr_expect_eq(bound_of(&t, &want), (double)INFINITY); /* it overflows before it is divided */
}

static double stated(enum hc_collective algorithm, int ranks, const double *x, int length, int at)
{
    double memory[MOST];
    double out[1];
    uint64_t bits = 0;
    struct hc_call call = {.op = HC_OP_all_reduce,
                           .params.all_reduce = {algorithm, HC_FP16, 1, 1, false}};
    call.in[HC_ALL_REDUCE_X] = hc_tensor2(HC_FP16, ranks, length, memory);
    call.out[HC_ALL_REDUCE_OUT] = hc_tensor1(HC_FP16, length, out);
    for (int i = 0; i < ranks * length; i++)
        hc_tensor_set(&call.in[HC_ALL_REDUCE_X], i, x[i / length]);
    struct hc_element e = {&call, HC_ALL_REDUCE_OUT, at};
    cr_assert(hc_bound_over_ranks(&e, &bits));
    return hc_decode(HC_FP16, bits);
}

/* Among fp16's numbers from 2048 to 4096 there is every second integer, and what lies half way goes
   to the multiple of 4. */
Test(all_reduce, the_stated_orders_are_these)
{
    cr_expect_eq(stated(HC_COLLECTIVE_TREE, 4, (double[]){2048, 1, 0, 1}, 1, 0), 2048);
    cr_expect_eq(stated(HC_COLLECTIVE_HALVING, 4, (double[]){2048, 1, 0, 1}, 1, 0), 2050);
    cr_expect_eq(stated(HC_COLLECTIVE_TREE, 6, (double[]){0, 0, 2048, 1, 1, 0}, 1, 0), 2048);
    cr_expect_eq(stated(HC_COLLECTIVE_HALVING, 6, (double[]){2048, 1, 0, 0, 0, 1}, 1, 0), 2050);
    cr_expect_eq(stated(HC_COLLECTIVE_RING, 4, (double[]){1, 2048, 1, 1}, 6, 1), 2048);
    cr_expect_eq(stated(HC_COLLECTIVE_RING, 4, (double[]){1, 2048, 1, 1}, 6, 2), 2052);
    cr_expect_eq(stated(HC_COLLECTIVE_RING, 4, (double[]){1, 2048, 1, 1}, 6, 4), 2052);
    cr_expect_eq(stated(HC_COLLECTIVE_RING, 4, (double[]){1, 2048, 1, 1}, 6, 5), 2048);
}
