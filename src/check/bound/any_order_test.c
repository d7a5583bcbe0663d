/* The bounds that hold in any order, on the generated inputs of the op cases: no right kernel
   leaves them, in whatever order it computes, and wrong ones do. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound/manners.h"
#include "check/bound/bound.h"
#include "check/generate/cases.h"
#include "check/runner.h"
#include "num/rng.h"
#include "op/call.h"

static struct hc_backend subject;

struct seen {
    int passed;
    int failed;
    char first[512];
};

static enum hc_level level = HC_QUICK;
static bool trusted_only; /* results that are mistrusted are passed over */

static bool look(const struct hc_result *result, void *context)
{
    struct seen *seen = context;
    if (trusted_only && result->verdict == HC_MISTRUSTED)
        return true;
    bool failed = result->verdict != HC_PASS;
    seen->passed += !failed;
    seen->failed += failed;
    if (failed && !seen->first[0])
        (void)snprintf(seen->first, sizeof seen->first, "%s: %s %s", result->what->name,
                       hc_verdict_names[result->verdict], result->note);
    return true;
}

static struct seen run(const char *pattern, const char *order, struct hc_omissions *omissions)
{
    const struct hc_case_table *table = hc_op_cases();
    const struct hc_case **cases = malloc((size_t)table->count * sizeof(struct hc_case *));
    const struct hc_backend *const backends[] = {&subject};
    struct seen seen = {0};
    for (int i = 0; i < table->count; i++)
        cases[i] = &table->cases[i];
    struct hc_run_options options = {.cases = cases,
                                     .case_count = table->count,
                                     .patterns = &pattern,
                                     .pattern_count = 1,
                                     .backends = backends,
                                     .backend_count = 1,
                                     .order = order,
                                     .level = level,
                                     .threads = 1,
                                     .report = look,
                                     .omissions = omissions,
                                     .context = &seen};
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    free(cases);
    return seen;
}

static const char *const patterns[] = {
    "op/adam/*",         "op/adamw/*",          "op/sgd/*",
    "op/axpy/*",         "op/bn_infer/*",       "op/bn_leaky_infer/*",
    "op/avg_pool_bwd/*", "op/xent_bwd/*",       "op/sum/*",
    "op/dot/*",          "op/bn_combine/*",     "op/bn_moments/*",
    "op/bn_train/*",     "op/bn_leaky_train/*",
};

Test(any_order, no_right_kernel_leaves_its_bound)
{
    subject = other_of_all();
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++)
        for (manner = IN_FP64; manner < RIGHT_MANNERS; manner++) {
            struct hc_omissions omissions = {0};
            struct seen seen = run(patterns[p], NULL, &omissions);
            cr_expect_eq(seen.failed, 0, "%s, manner %d: %d failed, first %s", patterns[p],
                         (int)manner, seen.failed, seen.first);
            cr_expect_gt(seen.passed, 0);
            hc_omissions_free(&omissions);
        }
}

Test(any_order, wrong_kernels_leave_it)
{
    subject = other_of_all();
    for (manner = RIGHT_MANNERS; manner < MANNERS; manner++)
        for (int p = 0; p < 3; p++) {
            bool concerned = p < 2 || manner == DECAY_MISPLACED || manner == THROUGH_BF16;
            struct hc_omissions omissions = {0};
            struct seen seen = run(patterns[p], NULL, &omissions);
            cr_expect(!concerned || seen.failed > 0, "%s, manner %d: none of %d failed",
                      patterns[p], (int)manner, seen.passed);
            hc_omissions_free(&omissions);
        }
}

Test(any_order, wrong_combinations_of_ranks_leave_it)
{
    static const enum manner wrong[] = {EPS_MISPLACED, UNCORRECTED, THROUGH_BF16};
    subject = other_of_all();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct hc_omissions omissions = {0};
        manner = wrong[i];
        struct seen seen = run("op/bn_combine/*", NULL, &omissions);
        cr_expect_gt(seen.failed, 0, "manner %d: none of %d failed", (int)manner, seen.passed);
        hc_omissions_free(&omissions);
    }
}

/* All formats and families of numbers, the infinite ones, too: of those the orders make NaN in
   different places. Where bounds are so wide that they tell nothing, the verdict says so. */
Test(any_order, ranks_that_come_one_by_one_stay_within_the_bound)
{
    subject = other_of_all();
    level = HC_STANDARD;
    trusted_only = true;
    for (manner = IN_FP64; manner < RIGHT_MANNERS; manner++) {
        struct hc_omissions omissions = {0};
        struct seen seen = run("op/bn_combine/*", NULL, &omissions);
        cr_expect_eq(seen.failed, 0, "%s: %d failed, first %s", orders_of_ranks[manner],
                     seen.failed, seen.first);
        cr_expect_gt(seen.passed, 80, "%d", seen.passed);
        hc_omissions_free(&omissions);
    }
}

/* The two verdicts are kept apart: the bits of an order are a matter of the cases bits/. */
Test(any_order, the_bound_is_the_same_whether_an_order_is_asked_for_or_not)
{
    subject = other_of_all();
    manner = FUSED;
    struct hc_omissions omissions = {0};
    cr_expect_eq(run("op/adamw/fp32/*", "ours", &omissions).failed, 0);
    cr_expect_eq(run("op/sgd/fp32/*", "ours", &omissions).failed, 0);
    hc_omissions_free(&omissions);
}

/* One element of a random step. */
static struct hc_call random_adam(uint64_t draw, enum hc_format format, void *memory)
{
    float *hyper = memory;
    uint16_t *slot = (uint16_t *)(hyper + 16);
    struct hc_call call = {.op = draw & 1 ? HC_OP_adam : HC_OP_adamw,
                           .params.adam = {.beta2 = draw & 2 ? 0.999 : 0.3,
                                           .eps = draw & 4 ? 1e-8 : 1e-3,
                                           .weight_decay = draw & 8 ? 0.1 : 0,
                                           .arithmetic = HC_FP32}};
    for (int i = HC_ADAM_W; i <= HC_ADAM_V; i++) {
        call.in[i] = hc_tensor1(format, 1, slot + 8 * i);
        double x = ((double)(hc_random(7, 1, draw * 4 + (uint64_t)i) >> 40) - 0x1p23) * 0x1p-23;
        int scale = (int)(hc_random(7, 2, draw * 4 + (uint64_t)i) % 24) - 16;
        hc_tensor_set(&call.in[i], 0, ldexp(i == HC_ADAM_V ? fabs(x) : x, scale));
    }
    for (int o = 0; o < 3; o++)
        call.out[o] = hc_tensor1(format, 1, slot + 40 + 8 * o);
    hyper[HC_HYPER_LR] = draw & 16 ? 1e-3F : 0.3F;
    hyper[HC_HYPER_BETA1] = draw & 32 ? 0.9F : 0.4F;
    hyper[HC_HYPER_STEP] = (float)(1 + draw % 50);
    call.in[HC_ADAM_HYPER] = hc_tensor1(HC_FP32, HC_HYPER_COUNT, hyper);
    return call;
}

Test(any_order, covers_every_order_of_adam_that_has_a_name)
{
    static const enum hc_format formats[] = {HC_FP32, HC_BF16, HC_FP16};
    const struct hc_accumulator *sums = &hc_backend_by_name("exact")->accumulator;
    static _Alignas(64) unsigned char memory[512];
    for (uint64_t draw = 0; draw < 3000; draw++) {
        struct hc_call call = random_adam(draw, formats[draw % 3], memory);
        for (int order = 0; order < HC_ORDER_APEX; order++) {
            call.params.adam.order = (enum hc_adam_order)order;
            cr_assert_eq(hc_backend_by_name("exact")->kernel[call.op](NULL, &call), HC_OK);
            for (int out = 0; out < 3; out++) {
                struct hc_element e = {&call, out, 0};
                struct hc_exact want = hc_reference_value(&call, out, 0);
                double bound = hc_bound_any_order(&e, sums, &want);
                double got = hc_tensor_get(&call.out[out], 0);
                double error = hc_bound_error(call.out[out].format, &want, got);
                cr_assert(error <= bound, "draw %d, order %d, output %d: %g > %g", (int)draw, order,
                          out, error, bound);
            }
        }
    }
}

/* Where padding may be a zero that is multiplied, nothing is promised; elsewhere the bound is. */

enum { SIDE = 4, FILTER = 3 };

static float images[SIDE * SIDE], filters[FILTER * FILTER], results[SIDE * SIDE];

static struct hc_tensor square(float *data, int side)
{
    struct hc_tensor t = {.format = HC_FP32, .rank = 4, .shape = {1, side, side, 1}, .data = data};
    return t;
}

/* For each element of the output, whether its bound is infinite: a picture of '#' and '.'. */
static const char *picture(const struct hc_call *call, bool any_order)
{
    static char text[SIDE * SIDE + 1];
    const struct hc_accumulator sums = {.precision = 24, .block = 1};
    int64_t count = hc_tensor_count(&call->out[HC_CONV_RESULT]);
    for (int64_t i = 0; i < count; i++) {
        struct hc_element e = {call, 0, i};
        struct hc_exact want = hc_reference_value(call, 0, i);
        double bound =
            any_order ? hc_bound_any_order(&e, &sums, &want) : hc_bound(&e, &sums, &want);
        text[i] = isinf(bound) ? '#' : '.';
    }
    text[count] = '\0';
    return text;
}

static void fill(float *data, int count)
{
    for (int i = 0; i < count; i++)
        data[i] = (float)(i % 5) - 1.5F;
}

static struct hc_call conv(enum hc_op op, int stride)
{
    struct hc_call call = {.op = op, .params.conv = {.stride = stride, .pad = 1}};
    int result = (SIDE + 2 - FILTER) / stride + 1;
    bool forward = op == HC_OP_conv2d;
    bool data = op == HC_OP_conv2d_bwd_data;
    fill(images, SIDE * SIDE);
    fill(filters, FILTER * FILTER);
    fill(results, SIDE * SIDE);
    call.in[HC_CONV_FIRST] = data ? square(results, result) : square(images, SIDE);
    call.in[HC_CONV_SECOND] = forward || data ? square(filters, FILTER) : square(results, result);
    call.out[HC_CONV_RESULT] = forward ? square(results, result)
                               : data  ? square(images, SIDE)
                                       : square(filters, FILTER);
    return call;
}

Test(conv_any_order, an_infinite_weight_that_meets_padding_promises_nothing)
{
    struct hc_call call = conv(HC_OP_conv2d, 1);
    cr_expect_str_eq(picture(&call, true), "................");
    filters[0] = INFINITY; /* it meets padding above and on the left */
    cr_expect_str_eq(picture(&call, true), "#####...#...#...");
    cr_expect_str_eq(picture(&call, false), "................", "the contract's has no such term");
    filters[0] = 1;
    filters[5] = NAN; /* on the right alone */
    cr_expect_str_eq(picture(&call, true), "...#...#...#...#");
}

Test(conv_any_order, nor_does_one_that_meets_a_pixel_between_gradients)
{
    struct hc_call call = conv(HC_OP_conv2d_bwd_data, 2);
    cr_expect_str_eq(picture(&call, true), "................");
    filters[4] = INFINITY; /* it meets a gradient where both coordinates are even */
    cr_expect_str_eq(picture(&call, true), ".#.#####.#.#####");
}

Test(conv_any_order, nor_does_an_infinite_gradient_that_meets_padding)
{
    struct hc_call call = conv(HC_OP_conv2d_bwd_filter, 1);
    cr_expect_str_eq(picture(&call, true), ".........");
    results[5] = INFINITY; /* inside */
    cr_expect_str_eq(picture(&call, true), ".........");
    results[0] = INFINITY; /* its window has padding above and on the left */
    cr_expect_str_eq(picture(&call, true), "####..#..");
}
