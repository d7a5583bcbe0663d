#include <math.h>

#include "kernels/exact/testing.h"

static double reduce(enum hc_op op, struct hc_tensor x, struct hc_tensor y,
                     enum hc_format accumulator, enum hc_format to)
{
    struct hc_call call = {.op = op,
                           .in = {x, y},
                           .out = {made(hc_tensor1(to, 1, NULL))},
                           .params.reduce.accumulator = accumulator};
    call_exact(&call);
    return hc_tensor_get(&call.out[HC_REDUCE_OUT], 0);
}

static struct hc_tensor ones(enum hc_format format, int64_t n)
{
    struct hc_tensor t = made(hc_tensor1(format, n, NULL));
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set(&t, i, 1);
    return t;
}

Test(reduce, a_16_bit_sum_of_ones_stops_where_one_is_half_an_ulp)
{
    struct hc_tensor half = ones(HC_FP16, 5000);
    struct hc_tensor brain = ones(HC_BF16, 5000);
    cr_assert_eq(reduce(HC_OP_sum, half, (struct hc_tensor){0}, HC_FP16, HC_FP32), 2048);
    cr_assert_eq(reduce(HC_OP_sum, brain, (struct hc_tensor){0}, HC_BF16, HC_FP32), 256);
    cr_assert_eq(reduce(HC_OP_sum, half, (struct hc_tensor){0}, HC_FP32, HC_FP32), 5000);
    cr_assert_eq(reduce(HC_OP_dot, half, half, HC_FP16, HC_FP16), 2048);
    cr_assert_eq(reduce(HC_OP_dot, brain, brain, HC_BF16, HC_FP32), 256);
    cr_assert_eq(reduce(HC_OP_dot, brain, brain, HC_FP32, HC_FP32), 5000);
}

Test(reduce, terms_are_added_in_the_order_in_which_they_stand)
{
    double x[] = {0x1p24, 1, -0x1p24, 1};
    double y[] = {1, 1, 1, 1};
    struct hc_tensor a = vector_of(HC_FP32, 4, x);
    struct hc_tensor b = vector_of(HC_FP32, 4, y);
    cr_assert_eq(reduce(HC_OP_sum, a, (struct hc_tensor){0}, HC_FP32, HC_FP32), 1);
    cr_assert_eq(reduce(HC_OP_dot, a, b, HC_FP32, HC_FP32), 1);
}

Test(reduce, a_product_is_rounded_into_the_accumulator_before_it_is_added)
{
    /* 3 * 683 = 2049 rounds to 2048 in half, and with -2048 leaves nothing. */
    double x[] = {-2048, 3};
    double y[] = {1, 683};
    struct hc_tensor a = vector_of(HC_FP16, 2, x);
    struct hc_tensor b = vector_of(HC_FP16, 2, y);
    cr_assert_eq(reduce(HC_OP_dot, a, b, HC_FP16, HC_FP32), 0);
    cr_assert_eq(reduce(HC_OP_dot, a, b, HC_FP32, HC_FP32), 1);
}

Test(reduce, the_sum_over_nothing_is_plus_zero)
{
    struct hc_tensor none = ones(HC_FP16, 0);
    double sum = reduce(HC_OP_sum, none, (struct hc_tensor){0}, HC_FP16, HC_FP16);
    cr_assert(sum == 0 && !signbit(sum));
    cr_assert_eq(reduce(HC_OP_dot, none, none, HC_FP32, HC_FP32), 0);
}

Test(reduce, squares_are_added_to_a_partial_sum_in_place)
{
    double x[] = {3, -4};
    double before = 0x1p24;
    struct hc_tensor sum = vector_of(HC_FP32, 1, &before);
    struct hc_call call = {.op = HC_OP_sum_squares,
                           .in = {vector_of(HC_FP16, 2, x), sum},
                           .out = {sum},
                           .params.reduce.accumulator = HC_FP32};
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&sum, 0), 0x1p24 + 24); /* 25 is a tie */
    call.in[HC_SUM_SQUARES_PARTIAL] = (struct hc_tensor){0};
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&sum, 0), 25);
}
