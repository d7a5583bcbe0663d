/* The references of arithmetic, sums and optimizers, by closed forms. */
#include "reference/testing.h"

Test(reference, sums_of_integers_and_squares_have_their_closed_forms)
{
    struct hc_call call = {.op = HC_OP_sum, .in = {vector(0, 100), vector(1, 100)}};
    for (int i = 0; i < 100; i++)
        memory[HC_REDUCE_X][i] = memory[HC_DOT_Y][i] = (float)(i % 2 ? -(i + 1) : i + 1);
    struct hc_exact sum = reference(&call, HC_REDUCE_OUT, 0);
    cr_assert_eq(sum.hi, -50);
    cr_assert_eq(sum.magnitude, 5050);
    call.op = HC_OP_dot;
    cr_assert_eq(value(&call, HC_REDUCE_OUT, 0), 338350);
}

Test(reference, rounds_what_ieee_operations_leave_over)
{
    struct hc_call call = {.op = HC_OP_div, .in = {vector(0, 1), vector(1, 1), vector(2, 1)}};
    memory[HC_X][0] = 1;
    memory[HC_Y][0] = 3;
    memory[HC_Z][0] = -1;
    struct hc_exact third = reference(&call, HC_OUT, 0);
    cr_assert_eq(third.hi, 1.0 / 3);
    assert_near(0x1p-54 / 3, third.lo); /* 1/3 = 0x1.5555555555555p-2 + 2^-54 / 3 */
    call.op = HC_OP_fma;
    cr_assert_eq(value(&call, HC_OUT, 0), 2);
    memory[HC_X][0] = 2;
    call.op = HC_OP_sqrt;
    struct hc_exact root = reference(&call, HC_OUT, 0);
    cr_assert_eq(root.hi, 0x1.6a09e667f3bcdp+0);
    cr_assert_lt(root.lo, 0);
    memory[HC_X][0] = -2;
    cr_assert(isnan(value(&call, HC_OUT, 0)));
}

/* (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 lies half way between two fp32 numbers. */
Test(reference, a_tie_is_broken_by_the_smallest_addend)
{
    struct hc_call call = {.op = HC_OP_fma, .in = {vector(0, 1), vector(1, 1), vector(2, 1)}};
    memory[HC_X][0] = memory[HC_Y][0] = 0x1.001p+60f;
    for (int k = -1; k <= 1; k++) {
        memory[HC_Z][0] = (float)k * 0x1p-149f;
        struct hc_exact want = reference(&call, HC_OUT, 0);
        double up = k > 0 ? 0x1p-23 : 0;
        cr_assert_eq(hc_decode(HC_FP32, hc_encode(HC_FP32, want.hi, want.lo, HC_NEAREST)),
                     0x1p120 * (1 + 0x1p-11 + up));
    }
}

Test(reference, sgd_follows_the_geometric_series_of_its_momentum)
{
    struct hc_call call = {.op = HC_OP_sgd, .params.sgd = {.arithmetic = HC_FP32}};
    for (int i = 0; i <= HC_SGD_FOUND_INF; i++)
        call.in[i] = vector(i, i == HC_SGD_HYPER ? HC_HYPER_COUNT : 1);
    memory[HC_SGD_G][0] = 1;
    memory[HC_SGD_HYPER][HC_HYPER_LR] = 0.25f;
    memory[HC_SGD_HYPER][HC_HYPER_BETA1] = 0.5f;
    for (int step = 0; step < 6; step++) {
        float w = (float)value(&call, HC_SGD_NEW_W, 0);
        memory[HC_SGD_MOMENTUM][0] = (float)value(&call, HC_SGD_NEW_MOMENTUM, 0);
        memory[HC_SGD_W][0] = w;
    }
    cr_assert_eq(memory[HC_SGD_MOMENTUM][0], 2 - 0x1p-5f);
    memory[HC_SGD_FOUND_INF][0] = 1;
    cr_assert_eq(value(&call, HC_SGD_NEW_W, 0), (double)memory[HC_SGD_W][0]);
    memory[HC_SGD_FOUND_INF][0] = 0;
    call.params.sgd.weight_decay = 4;
    call.params.sgd.decoupled = true;
    memory[HC_SGD_W][0] = 16; /* all of w decays: 1 - 0.25 * 4 = 0 */
    cr_assert_eq(value(&call, HC_SGD_NEW_W, 0), -0.25 * (1 + 0.5 * (2 - 0x1p-5)));
}

/* At step 1 from zero state m = (1 - beta1) g and v = (1 - beta2) g^2, which the corrections undo:
   w - lr g / (|g| + eps). */
Test(reference, adams_first_step_is_the_learning_rate_times_the_sign)
{
    struct hc_call call = {.op = HC_OP_adamw};
    call.params.adam = (struct hc_adam){.beta2 = 0.999, .eps = 0.25, .arithmetic = HC_FP32};
    for (int i = 0; i <= HC_ADAM_HYPER; i++)
        call.in[i] = vector(i, i == HC_ADAM_HYPER ? HC_HYPER_COUNT : 1);
    memory[HC_ADAM_W][0] = 1;
    memory[HC_ADAM_G][0] = -0.75f;
    memory[HC_ADAM_HYPER][HC_HYPER_LR] = 0.5f;
    memory[HC_ADAM_HYPER][HC_HYPER_BETA1] = 0.875f;
    memory[HC_ADAM_HYPER][HC_HYPER_STEP] = 1;
    assert_near(1 + 0.5 * 0.75, value(&call, HC_ADAM_NEW_W, 0));
    assert_near(0.125 * -0.75, value(&call, HC_ADAM_NEW_M, 0));
    assert_near((1 - 0.999) * 0.5625, value(&call, HC_ADAM_NEW_V, 0));
    call.params.adam.eps_inside = true; /* sqrt(0.5625 + 0.25) */
    assert_near(1 + 0.5 * 0.75 / sqrt(0.8125), value(&call, HC_ADAM_NEW_W, 0));
    call.params.adam.weight_decay = 0.5;
    assert_near(0.75 + 0.5 * 0.75 / sqrt(0.8125), value(&call, HC_ADAM_NEW_W, 0));
    call.op = HC_OP_adam; /* g' = -0.75 + 0.5 */
    assert_near(1 + 0.5 * 0.25 / sqrt(0.0625 + 0.25), value(&call, HC_ADAM_NEW_W, 0));
}

Test(reference, the_detector_of_unscale_looks_at_what_comes_in)
{
    struct hc_call call = {.op = HC_OP_unscale, .in = {vector(0, 3), vector(1, 1), vector(2, 1)}};
    call.out[HC_UNSCALE_OUT] = call.in[HC_UNSCALE_X];
    memory[HC_UNSCALE_X][0] = 12;
    memory[HC_UNSCALE_X][1] = 1e30f;
    memory[HC_UNSCALE_SCALE][0] = 1e-30f; /* the quotient overflows fp32: that is not found */
    cr_assert_eq(value(&call, HC_UNSCALE_NEW_FOUND_INF, 0), 0);
    memory[HC_UNSCALE_X][2] = -INFINITY;
    cr_assert_eq(value(&call, HC_UNSCALE_NEW_FOUND_INF, 0), 1);
    memory[HC_UNSCALE_X][2] = 0;
    memory[HC_UNSCALE_FOUND_INF][0] = 1;
    cr_assert_eq(value(&call, HC_UNSCALE_NEW_FOUND_INF, 0), 1);
    memory[HC_UNSCALE_SCALE][0] = 3;
    cr_assert_eq(value(&call, HC_UNSCALE_OUT, 0), 4);
    call.params.unscale.reciprocal = true;
    cr_assert_eq(value(&call, HC_UNSCALE_OUT, 0), 12 * (double)(1.0f / 3));
}
