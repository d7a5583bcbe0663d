/* all_reduce in each order, on numbers whose sum tells the orders apart: among fp16's numbers from
   2048 to 4096 there is every second integer, and a half goes to the multiple of 4. */
#include <math.h>

#include "kernels/exact/testing.h"

static const enum hc_collective TREE = HC_COLLECTIVE_TREE;
static const enum hc_collective RING = HC_COLLECTIVE_RING;
static const enum hc_collective HALVING = HC_COLLECTIVE_HALVING;

/* Element i of the average of so many ranks' vectors of `length` numbers; x[rank] stands in all
   elements of a rank. */
static double element(const struct hc_all_reduce *how, enum hc_format format, int64_t ranks,
                      const double *x, int64_t length, int64_t i)
{
    struct hc_call call = {
        .op = HC_OP_all_reduce,
        .in = {made(hc_tensor2(format, ranks, length, NULL))},
        .out = {made(hc_tensor1(format, length, NULL))},
        .params.all_reduce = *how,
    };
    for (int64_t at = 0; at < ranks * length; at++)
        hc_tensor_set(&call.in[HC_ALL_REDUCE_X], at, x[at / length]);
    call_exact(&call);
    return hc_tensor_get(&call.out[HC_ALL_REDUCE_OUT], i);
}

static double sum_in_half(enum hc_collective algorithm, int64_t ranks, const double *x,
                          int64_t length, int64_t i)
{
    struct hc_all_reduce how = {algorithm, HC_FP16, 1, 1, false};
    return element(&how, HC_FP16, ranks, x, length, i);
}

Test(all_reduce, a_tree_adds_neighbours_and_what_has_no_partner_moves_up)
{
    cr_expect_eq(sum_in_half(TREE, 4, (double[]){2048, 1, 0, 1}, 1, 0), 2048);
    cr_expect_eq(sum_in_half(TREE, 4, (double[]){2048, 0, 1, 1}, 1, 0), 2050);
    cr_expect_eq(sum_in_half(TREE, 3, (double[]){2048, 1, 1}, 1, 0), 2048);
    cr_expect_eq(sum_in_half(TREE, 3, (double[]){1, 1, 2048}, 1, 0), 2050);
    cr_expect_eq(sum_in_half(TREE, 7, (double[]){2048, 0, 0, 0, 0, 1, 1}, 1, 0), 2050);
    cr_expect_eq(sum_in_half(TREE, 7, (double[]){2048, 0, 0, 1, 1, 0, 0}, 1, 0), 2048);
    cr_expect_eq(sum_in_half(TREE, 6, (double[]){0, 0, 2048, 1, 1, 0}, 1, 0), 2048);
}

/* Elements 0 and 1 are in chunk 0, 2 and 3 in chunk 1, 4 in chunk 2 and 5 in chunk 3. Where 2048
   comes last or last but one, the ones have become 2 before and are not lost. */
Test(all_reduce, a_chunk_of_a_ring_begins_behind_its_own_rank)
{
    static const double first[] = {2048, 1, 1, 1};
    static const double want_first[] = {2052, 2052, 2052, 2052, 2048, 2048};
    static const double second[] = {1, 2048, 1, 1};
    static const double want_second[] = {2048, 2048, 2052, 2052, 2052, 2048};
    for (int64_t i = 0; i < 6; i++) {
        cr_expect_eq(sum_in_half(RING, 4, first, 6, i), want_first[i], "%d", (int)i);
        cr_expect_eq(sum_in_half(RING, 4, second, 6, i), want_second[i], "%d", (int)i);
    }
    cr_expect_eq(sum_in_half(RING, 1, first, 6, 5), 2048);
    /* Two elements on four ranks: the chunks of ranks 2 and 3 are empty. */
    cr_expect_eq(sum_in_half(RING, 4, second, 2, 0), 2048);
    cr_expect_eq(sum_in_half(RING, 4, second, 2, 1), 2052);
}

Test(all_reduce, halving_adds_the_far_ones_first)
{
    cr_expect_eq(sum_in_half(HALVING, 4, (double[]){2048, 1, 0, 1}, 1, 0), 2050);
    cr_expect_eq(sum_in_half(HALVING, 4, (double[]){2048, 0, 1, 1}, 1, 0), 2048);
    cr_expect_eq(sum_in_half(HALVING, 6, (double[]){2048, 0, 0, 0, 1, 1}, 1, 0), 2048);
    cr_expect_eq(sum_in_half(HALVING, 6, (double[]){2048, 1, 0, 0, 0, 1}, 1, 0), 2050);
    cr_expect_eq(sum_in_half(HALVING, 6, (double[]){2048, 0, 0, 1, 0, 1}, 1, 0), 2050);
    cr_expect_eq(sum_in_half(HALVING, 6, (double[]){2048, 0, 1, 1, 0, 0}, 1, 0), 2048);
}

/* A third of 65504 is 21840 in fp16, and three of these are 65520, half way to 2^16: infinite. */
Test(all_reduce, a_division_before_the_sum_keeps_it_in_range_and_is_rounded)
{
    static const double x[] = {60000, 60000, 60000};
    static const double largest[] = {65504, 65504, 65504};
    struct hc_all_reduce how = {TREE, HC_FP16, 1, 3, false};
    cr_expect_eq(element(&how, HC_FP16, 3, x, 1, 0), (double)INFINITY);
    how.before = 3;
    how.after = 1;
    cr_expect_eq(element(&how, HC_FP16, 3, x, 1, 0), 60000);
    cr_expect_eq(element(&how, HC_FP16, 3, largest, 1, 0), (double)INFINITY);
    how.sum = HC_FP32;
    how.before = 1;
    how.after = 3;
    cr_expect_eq(element(&how, HC_FP16, 3, largest, 1, 0), 65504);
}

/* 41 is the first integer n of which n * fp32(1 / n) is not 1 in fp32. */
Test(all_reduce, to_multiply_by_a_reciprocal_is_not_to_divide)
{
    struct hc_all_reduce how = {TREE, HC_FP32, 1, 41, false};
    cr_expect_eq(element(&how, HC_FP32, 1, (double[]){41}, 1, 0), 1);
    how.multiplies = true;
    cr_expect_eq(element(&how, HC_FP32, 1, (double[]){41}, 1, 0),
                 (double)(41.0F * (float)(1.0 / 41)));
    cr_expect_neq(element(&how, HC_FP32, 1, (double[]){41}, 1, 0), 1);
}

Test(all_reduce, sums_in_fp64_are_not_rounded_to_fp32)
{
    struct hc_all_reduce how = {HALVING, HC_FP64, 1, 1, false};
    cr_expect_eq(element(&how, HC_FP64, 3, (double[]){1, 0x1p-40, 0x1p-41}, 1, 0), 1 + 0x1.8p-40);
}

/* The sums of all powers of two wait where the last rank is added. */
Test(all_reduce, the_most_ranks_are_all_counted)
{
    static double ones[HC_MAX_RANKS];
    for (int r = 0; r < HC_MAX_RANKS; r++)
        ones[r] = 1;
    for (int a = 0; a < HC_COLLECTIVE_LIBRARY; a++)
        for (int less = 0; less < 3; less++) {
            struct hc_all_reduce how = {(enum hc_collective)a, HC_FP32, 1, 1, false};
            int64_t ranks = HC_MAX_RANKS - less;
            cr_expect_eq(element(&how, HC_FP32, ranks, ones, 1, 0), (double)ranks, "%s of %d",
                         hc_collective_names[a], (int)ranks);
        }
}
