/* The probable verdict on sums: no right order crosses it, and factors that are taken as tf32 do,
   which the bound allows in long sums.

   HALFCHECK_TRIALS=N tries each order so often, on inputs of its own. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/bound/bound.h"
#include "check/judge/judge.h"
#include "num/rng.h"

enum { TERMS = 1024, TRIALS = 3000, DOTS = 16 };

static const struct hc_accumulator nearest = {.precision = 24, .block = 1};
static float x[TERMS];
static float y[TERMS];

typedef float order(const float *term, int n);

static float sequential(const float *term, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += term[i];
    return sum;
}

static float tree(const float *term, int n)
{
    return n == 1 ? term[0] : tree(term, n / 2) + tree(term + n / 2, n - n / 2);
}

static float blocked(const float *term, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i += 32)
        sum += sequential(term + i, n - i < 32 ? n - i : 32);
    return sum;
}

/* Eight lanes, each in order, and their sum; in four parts of the terms. */
static float split(const float *term, int n)
{
    float sum = 0;
    for (int part = 0; part < 4; part++) {
        float lane[8] = {0};
        for (int i = part * n / 4; i < (part + 1) * n / 4; i++)
            lane[i % 8] += term[i];
        sum += sequential(lane, 8);
    }
    return sum;
}

static float backward(const float *term, int n)
{
    float sum = 0;
    for (int i = n - 1; i >= 0; i--)
        sum += term[i];
    return sum;
}

static order *const orders[] = {sequential, tree, blocked, split, backward};
static const char *const order_names[] = {"sequential", "tree", "blocked", "split", "backward"};

/* Normal, of one sign, and of many sizes. */
static float drawn(uint64_t stream, int kind, uint64_t at)
{
    double u = hc_random_uniform(3, stream, at);
    double normal = hc_random_normal(5, stream, at);
    return (float)(kind == 0 ? normal : kind == 1 ? 0.5 + u : ldexp(normal, (int)(16 * u)));
}

static void draw(uint64_t trial, int kind)
{
    for (int i = 0; i < TERMS; i++) {
        x[i] = drawn(2 * trial, kind, (uint64_t)i);
        y[i] = drawn(2 * trial + 1, kind, (uint64_t)i);
    }
}

static float as_tf32(float v)
{
    return (float)hc_round(HC_TF32, (double)v);
}

/* Adds the error of a dot product in that order to `probable`; fp64 is good enough for the real
   value. Returns error/bound. */
static double add(struct hc_probable *probable, order *sum, bool tf32)
{
    struct hc_call call = {.op = HC_OP_dot, .params.reduce = {HC_FP32}};
    struct hc_exact want = {0};
    struct hc_element e = {&call, 0, 0};
    float term[TERMS];
    float out;
    call.in[HC_REDUCE_X] = hc_tensor1(HC_FP32, TERMS, x);
    call.in[HC_DOT_Y] = hc_tensor1(HC_FP32, TERMS, y);
    call.out[HC_REDUCE_OUT] = hc_tensor1(HC_FP32, 1, &out);
    for (int i = 0; i < TERMS; i++) {
        double product = (double)x[i] * (double)y[i];
        want.hi += product;
        want.magnitude += fabs(product);
        term[i] = tf32 ? as_tf32(x[i]) * as_tf32(y[i]) : x[i] * y[i];
    }
    double error = fabs((double)sum(term, TERMS) - want.hi);
    hc_probable_add(probable, error, hc_judge_deviation(&e, &nearest, &want));
    return error / hc_bound(&e, &nearest, &want);
}

static int trials(void)
{
    const char *text = getenv("HALFCHECK_TRIALS");
    return text ? atoi(text) : TRIALS;
}

Test(probable, no_right_order_crosses_the_line)
{
    double worst[2][5] = {{0}};
    struct hc_probable group[5] = {{0}};
    int n = trials();
    for (int trial = 0; trial < n; trial++) {
        draw((uint64_t)trial, trial / DOTS % 3);
        for (int o = 0; o < 5; o++) {
            struct hc_probable one = {0};
            (void)add(&one, orders[o], false);
            (void)add(&group[o], orders[o], false);
            worst[0][o] = fmax(worst[0][o], hc_probable_excess(&one, 1));
            if (trial % DOTS == DOTS - 1) {
                worst[1][o] = fmax(worst[1][o], hc_probable_excess(&group[o], DOTS));
                group[o] = (struct hc_probable){0};
            }
        }
    }
    for (int o = 0; o < 5; o++) {
        if (getenv("HALFCHECK_TRIALS"))
            (void)fprintf(stderr, "%-10s of one %.3f, of %d %.3f\n", order_names[o], worst[0][o],
                          DOTS, worst[1][o]);
        cr_expect_lt(worst[0][o], 0.75, "%s: %g", order_names[o], worst[0][o]);
        cr_expect_lt(worst[1][o], 0.75, "%s: %g", order_names[o], worst[1][o]);
    }
}

/* One sum of random signs tells; it takes sixteen of one sign. */
Test(probable, factors_in_tf32_cross_it_where_the_bound_does_not_see_them)
{
    for (int kind = 0; kind < 2; kind++)
        for (uint64_t first = 0; first < 160; first += DOTS) {
            struct hc_probable group = {0};
            double ratio = 0;
            for (uint64_t trial = first; trial < first + DOTS; trial++) {
                draw(trial, kind);
                ratio = fmax(ratio, add(&group, sequential, true));
            }
            cr_expect_lt(ratio, 1);
            cr_expect_gt(hc_probable_excess(&group, DOTS), 1, "kind %d: %g", kind,
                         hc_probable_excess(&group, DOTS));
        }
}

/* alpha times the same dot product plus beta C, C being a bias of that size; C is added
   last, or the sum begins with it. */
struct affine {
    double alpha;
    double beta;
    double size;
    bool first;
};

static double add_affine(struct hc_probable *probable, const struct affine *f, uint64_t trial,
                         bool tf32)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = f->alpha, .beta = f->beta}};
    struct hc_exact want = {0};
    struct hc_element e = {&call, HC_GEMM_OUT, 0};
    float alpha = (float)f->alpha;
    float beta = (float)f->beta;
    float c = (float)(f->size * hc_random_normal(7, trial, 0));
    float term[TERMS + 1];
    float out;
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP32, 1, TERMS, x);
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP32, TERMS, 1, y);
    call.in[HC_GEMM_C] = hc_tensor1(HC_FP32, 1, &c);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, 1, 1, &out);
    term[0] = beta * c;
    for (int i = 0; i < TERMS; i++) {
        double product = (double)x[i] * (double)y[i];
        want.hi += (double)alpha * product;
        want.magnitude += fabs((double)alpha * product);
        term[i + 1] = tf32 ? as_tf32(x[i]) * as_tf32(y[i]) : x[i] * y[i];
        term[i + 1] *= f->first ? alpha : 1;
    }
    want.hi += (double)beta * (double)c;
    want.magnitude += fabs((double)beta * (double)c);
    out = f->first ? sequential(term, TERMS + 1) : alpha * sequential(term + 1, TERMS) + term[0];
    double error = fabs((double)out - want.hi);
    hc_probable_add(probable, error, hc_judge_deviation(&e, &nearest, &want));
    return error / hc_bound(&e, &nearest, &want);
}

static const struct affine affine[] = {
    {1, 1, 1, false},  {1, 1, 1, true},      {0.7, -1.3, 1, false}, {0.7, -1.3, 1, true},
    {-3, 1, 8, false}, {1, 0.3, 4096, true}, {0.3, 1, 4096, false}, {0.7, 0, 1, false}};
enum { AFFINE = sizeof affine / sizeof *affine };

Test(probable, no_right_order_with_a_bias_and_factors_crosses_the_line)
{
    for (int f = 0; f < AFFINE; f++) {
        double worst = 0;
        struct hc_probable group = {0};
        for (int trial = 0; trial < trials() / 4; trial++) {
            struct hc_probable one = {0};
            draw((uint64_t)trial, trial / DOTS % 3);
            (void)add_affine(&one, &affine[f], (uint64_t)trial, false);
            (void)add_affine(&group, &affine[f], (uint64_t)trial, false);
            cr_assert_eq(one.elements, 1, "row %d says nothing", f);
            worst = fmax(worst, hc_probable_excess(&one, 1));
            if (trial % DOTS == DOTS - 1) {
                worst = fmax(worst, hc_probable_excess(&group, DOTS));
                group = (struct hc_probable){0};
            }
        }
        if (getenv("HALFCHECK_TRIALS"))
            (void)fprintf(stderr, "row %d: %.3f\n", f, worst);
        cr_expect_lt(worst, 0.75, "row %d: %g", f, worst);
    }
}

/* A linear layer has a bias. One that is as large as the sum hides nothing of its terms. */
Test(probable, factors_in_tf32_cross_it_beside_a_bias_too)
{
    for (int f = 0; f < AFFINE; f++)
        for (int kind = 0; kind < 2 && affine[f].size <= 8; kind++) {
            struct hc_probable group = {0};
            double ratio = 0;
            for (uint64_t trial = 0; trial < DOTS; trial++) {
                draw(trial, kind);
                ratio = fmax(ratio, add_affine(&group, &affine[f], trial, true));
            }
            cr_expect_lt(ratio, 1);
            cr_expect_gt(hc_probable_excess(&group, DOTS), 1, "row %d, kind %d: %g", f, kind,
                         hc_probable_excess(&group, DOTS));
        }
}

/* What is nothing but beta C is no sum. */
Test(probable, alpha_0_leaves_no_sum)
{
    const struct affine f = {0, 0.3, 1, false};
    struct hc_probable one = {0};
    draw(0, 0);
    (void)add_affine(&one, &f, 0, false);
    cr_expect_eq(one.elements, 0);
}

/* A mean over elements that were chosen because they differ most would be too large. */
Test(probable, there_is_none_without_a_sum_and_none_for_few_judged_of_many)
{
    struct hc_probable nothing = {0};
    struct hc_probable some = {0};
    cr_assert_eq(hc_probable_excess(&nothing, 10), 0);
    for (int i = 0; i < 64; i++)
        hc_probable_add(&some, 3, 1);
    cr_assert_gt(hc_probable_excess(&some, 64), 1); /* by their mean */
    cr_assert_lt(hc_probable_excess(&some, 65), 1); /* by the largest alone */
}
