/* The distributions of sums do what they say: whole numbers leave nothing to round, and on
   stagnating ones a sum in order is as far off as it may be, one that is cut farther. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "check/bound/bound.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "op/defined.h"

static void give_memory(struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        if (!hc_op_absent(call, i))
            call->in[i].data = calloc(1, hc_tensor_bytes(&call->in[i]) + 1);
}

static void take_memory(const struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        free(call->in[i].data);
}

static const struct hc_accumulator nearest = {.precision = 24, .block = 1};

/* Magnitudes are integers of at most 2^24 (2^11, 2^8, 2^53) units, and so is every partial sum. */
static void is_exact(const struct hc_call *call, const char *what)
{
    bool half = call->op == HC_OP_gemm && call->params.gemm.half_accumulator;
    bool reduction = call->op == HC_OP_sum || call->op == HC_OP_dot;
    enum hc_format f = hc_call_fp64(call) ? HC_FP64
                       : half             ? HC_FP16
                       : reduction        ? call->params.reduce.accumulator
                                          : HC_FP32;
    int p = hc_formats[f].precision;
    double unit = call->op == HC_OP_sum_squares ? 0x1p-8 : ldexp(1, p > 15 ? 15 - p : 0);
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_FIRST]); i++) {
        struct hc_exact want = hc_reference_value(call, 0, i);
        double terms = call->op == HC_OP_avg_pool ? hc_call_length(call) : 1;
        double units = rint(terms * want.magnitude / unit);
        cr_assert_leq(fabs(terms * want.magnitude / unit - units), 1e-6, "%s", what);
        cr_assert_leq(units, ldexp(1, p), "%s: %g units", what, units);
    }
}

Test(opsum, sums_of_whole_numbers_fit_their_accumulator)
{
    static const enum hc_op ops[] = {HC_OP_sum,
                                     HC_OP_dot,
                                     HC_OP_sum_squares,
                                     HC_OP_gemm,
                                     HC_OP_conv2d,
                                     HC_OP_conv2d_bwd_data,
                                     HC_OP_conv2d_bwd_filter,
                                     HC_OP_avg_pool};
    int calls = 0;
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
        struct hc_opspace space = hc_opspace(ops[o]);
        for (const struct hc_format_set *set = space.sets; set->name; set++)
            for (const struct hc_op_shape *shape = space.shapes; shape->name; shape++) {
                const struct hc_variant *variant = space.variants;
                struct hc_call call = hc_op_call(ops[o], set, shape, variant);
                if (!hc_format_set_allowed(ops[o], set, variant) || shape->level == HC_EXHAUSTIVE ||
                    !hc_distribution_applies(&call, HC_DRAW_WHOLE))
                    continue;
                give_memory(&call);
                hc_draw_inputs(&call, HC_DRAW_WHOLE, 5);
                is_exact(&call, hc_ops[ops[o]].name);
                take_memory(&call);
                calls++;
            }
    }
    cr_assert_gt(calls, 150, "%d", calls);
}

/* error / bound of an fp32 sum in order, rounded to nearest or cut. */
static double off(int64_t n, enum hc_distribution distribution, enum hc_direction direction)
{
    struct hc_call call = {.op = HC_OP_sum, .params.reduce = {HC_FP32}};
    call.in[HC_REDUCE_X] = hc_tensor1(HC_FP32, n, NULL);
    call.out[HC_REDUCE_OUT] = hc_tensor1(HC_FP32, 1, NULL);
    give_memory(&call);
    hc_draw_inputs(&call, distribution, 5);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum = hc_decode(HC_FP32, hc_encode(HC_FP32, sum + hc_tensor_get(&call.in[HC_REDUCE_X], i),
                                           0, direction));
    struct hc_exact want = hc_reference_value(&call, 0, 0);
    double bound = hc_bound(&(struct hc_element){&call, 0, 0}, &nearest, &want);
    take_memory(&call);
    return hc_bound_error(HC_FP32, &want, sum) / bound;
}

Test(opsum, a_sum_that_stands_still_is_as_far_off_as_it_may_be)
{
    double far = off(257, HC_DRAW_STAGNATION, HC_NEAREST);
    cr_assert(far > 0.95 && far <= 1, "%g", far);
    far = off(4099, HC_DRAW_STAGNATION, HC_NEAREST);
    cr_assert(far > 0.95 && far <= 1, "%g", far);
    cr_assert_gt(off(257, HC_DRAW_STAGNATION, HC_UPWARD), 1);
}

Test(opsum, a_sum_that_is_cut_is_farther_off_than_it_may_be)
{
    double far = off(257, HC_DRAW_CUT, HC_NEAREST);
    cr_assert(far > 0.4 && far < 0.6, "%g", far);
    cr_assert_gt(off(257, HC_DRAW_CUT, HC_TOWARD_ZERO), 1.4);
}

/* Terms that cancel leave little of each other under every seed, whatever the number of terms. */

enum { SEEDS = 120 };

static void every_seed_leaves_little(enum hc_op op, const struct hc_op_shape *shape,
                                     const struct hc_variant *variant)
{
    const struct hc_format_set *set = hc_opspace(op).sets;
    struct hc_call call = hc_op_call(op, set, shape, variant);
    if (!hc_format_set_allowed(op, set, variant) ||
        !hc_distribution_applies(&call, HC_DRAW_CANCELLATION))
        return;
    give_memory(&call);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        hc_draw_inputs(&call, HC_DRAW_CANCELLATION, seed);
        cr_assert(hc_distribution_reached(&call, HC_DRAW_CANCELLATION), "%s %s%s, seed %d",
                  hc_ops[op].name, shape->name, variant->name, (int)seed);
    }
    take_memory(&call);
}

Test(opcancel, terms_leave_little_of_each_other_under_every_seed)
{
    for (int op = 0; op < HC_OP_COUNT; op++) {
        struct hc_opspace space = hc_opspace((enum hc_op)op);
        for (const struct hc_op_shape *shape = space.shapes; space.sets->name && shape->name;
             shape++)
            for (const struct hc_variant *variant = space.variants; variant->name; variant++)
                if (shape->every_distribution && shape->level < HC_EXHAUSTIVE)
                    every_seed_leaves_little((enum hc_op)op, shape, variant);
    }
}

/* If every row had some, all results would be NaN by definition. */
Test(opspecials, a_row_of_a_softmax_has_none_and_the_others_have_some_under_every_seed)
{
    enum { ROWS = 5, CLASSES = 13 };
    static double x[ROWS * CLASSES];
    struct hc_call call = {.op = HC_OP_softmax};
    call.in[HC_SOFTMAX_X] = hc_tensor2(HC_FP64, ROWS, CLASSES, x);
    for (uint64_t seed = 0; seed < 300; seed++) {
        int special = 0;
        hc_draw_inputs(&call, HC_DRAW_SPECIALS, seed);
        for (int i = 0; i < ROWS * CLASSES; i++) {
            special += !isfinite(x[i]);
            cr_assert(i >= CLASSES || isfinite(x[i]), "seed %d: [%d]", (int)seed, i);
        }
        cr_assert_gt(special, 0, "seed %d", (int)seed);
    }
}
