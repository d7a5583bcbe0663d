/* Where padding may be a zero that is multiplied, nothing is promised; elsewhere the bound is. */
#include <criterion/criterion.h>
#include <math.h>

#include "check/bound/bound.h"
#include "op/call.h"

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
