/* The references of arithmetic, sums and optimizers, by closed forms. */
#include "reference/testing.h"

Test(reference, sums_of_integers_and_squares_have_their_closed_forms)
{
    struct hc_call call = {.op = HC_OP_sum, .in = {vector(0, 100), vector(1, 100)}};
    for (int i = 0; i < 100; i++)
        memory[0][i] = memory[1][i] = (float)(i % 2 ? -(i + 1) : i + 1);
    struct hc_exact sum = reference(&call, 0, 0);
    cr_assert_eq(sum.hi, -50);
    cr_assert_eq(sum.magnitude, 5050);
    call.op = HC_OP_dot;
    cr_assert_eq(value(&call, 0, 0), 338350);
}

Test(reference, rounds_what_ieee_operations_leave_over)
{
    struct hc_call call = {.op = HC_OP_div, .in = {vector(0, 1), vector(1, 1), vector(2, 1)}};
    memory[0][0] = 1;
    memory[1][0] = 3;
    memory[2][0] = -1;
    struct hc_exact third = reference(&call, 0, 0);
    cr_assert_eq(third.hi, 1.0 / 3);
    assert_near(0x1p-54 / 3, third.lo); /* 1/3 = 0x1.5555555555555p-2 + 2^-54 / 3 */
    call.op = HC_OP_fma;
    cr_assert_eq(value(&call, 0, 0), 2);
    memory[0][0] = 2;
    call.op = HC_OP_sqrt;
    struct hc_exact root = reference(&call, 0, 0);
    cr_assert_eq(root.hi, 0x1.6a09e667f3bcdp+0);
    cr_assert_lt(root.lo, 0);
    memory[0][0] = -2;
    cr_assert(isnan(value(&call, 0, 0)));
}

/* (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 lies half way between two fp32 numbers. */
Test(reference, a_tie_is_broken_by_the_smallest_addend)
{
    struct hc_call call = {.op = HC_OP_fma, .in = {vector(0, 1), vector(1, 1), vector(2, 1)}};
    memory[0][0] = memory[1][0] = 0x1.001p+60f;
    for (int k = -1; k <= 1; k++) {
        memory[2][0] = (float)k * 0x1p-149f;
        struct hc_exact want = reference(&call, 0, 0);
        double up = k > 0 ? 0x1p-23 : 0;
        cr_assert_eq(hc_decode(HC_FP32, hc_encode(HC_FP32, want.hi, want.lo, HC_NEAREST)),
                     0x1p120 * (1 + 0x1p-11 + up));
    }
}

Test(reference, sgd_follows_the_geometric_series_of_its_momentum)
{
    struct hc_call call = {.op = HC_OP_sgd, .params.sgd = {.arithmetic = HC_FP32}};
    for (int i = 0; i < 5; i++)
        call.in[i] = vector(i, i == 3 ? 3 : 1);
    memory[1][0] = 1;
    memory[3][0] = 0.25f;
    memory[3][1] = 0.5f;
    for (int step = 0; step < 6; step++) {
        float w = (float)value(&call, 0, 0);
        memory[2][0] = (float)value(&call, 1, 0);
        memory[0][0] = w;
    }
    cr_assert_eq(memory[2][0], 2 - 0x1p-5f);
    memory[4][0] = 1;
    cr_assert_eq(value(&call, 0, 0), (double)memory[0][0]);
    memory[4][0] = 0;
    call.params.sgd.weight_decay = 4;
    call.params.sgd.decoupled = true;
    memory[0][0] = 16; /* all of w decays: 1 - 0.25 * 4 = 0 */
    cr_assert_eq(value(&call, 0, 0), -0.25 * (1 + 0.5 * (2 - 0x1p-5)));
}

/* At step 1 from zero state m = (1 - beta1) g and v = (1 - beta2) g^2, which the corrections undo:
   w - lr g / (|g| + eps). */
Test(reference, adams_first_step_is_the_learning_rate_times_the_sign)
{
    struct hc_call call = {.op = HC_OP_adamw};
    call.params.adam = (struct hc_adam){.beta2 = 0.999, .eps = 0.25, .arithmetic = HC_FP32};
    for (int i = 0; i < 5; i++)
        call.in[i] = vector(i, i == 4 ? 3 : 1);
    memory[0][0] = 1;
    memory[1][0] = -0.75f;
    memory[4][0] = 0.5f;
    memory[4][1] = 0.875f;
    memory[4][2] = 1;
    assert_near(1 + 0.5 * 0.75, value(&call, 0, 0));
    assert_near(0.125 * -0.75, value(&call, 1, 0));
    assert_near((1 - 0.999) * 0.5625, value(&call, 2, 0));
    call.params.adam.eps_inside = true; /* sqrt(0.5625 + 0.25) */
    assert_near(1 + 0.5 * 0.75 / sqrt(0.8125), value(&call, 0, 0));
    call.params.adam.weight_decay = 0.5;
    assert_near(0.75 + 0.5 * 0.75 / sqrt(0.8125), value(&call, 0, 0));
    call.op = HC_OP_adam; /* g' = -0.75 + 0.5 */
    assert_near(1 + 0.5 * 0.25 / sqrt(0.0625 + 0.25), value(&call, 0, 0));
}

Test(reference, the_detector_of_unscale_looks_at_what_comes_in)
{
    struct hc_call call = {.op = HC_OP_unscale, .in = {vector(0, 3), vector(1, 1), vector(2, 1)}};
    call.out[0] = call.in[0];
    memory[0][0] = 12;
    memory[0][1] = 1e30f;
    memory[1][0] = 1e-30f; /* the quotient overflows fp32: that is not found */
    cr_assert_eq(value(&call, 1, 0), 0);
    memory[0][2] = -INFINITY;
    cr_assert_eq(value(&call, 1, 0), 1);
    memory[0][2] = 0;
    memory[2][0] = 1;
    cr_assert_eq(value(&call, 1, 0), 1);
    memory[1][0] = 3;
    cr_assert_eq(value(&call, 0, 0), 4);
    call.params.unscale.reciprocal = true;
    cr_assert_eq(value(&call, 0, 0), 12 * (double)(1.0f / 3));
}
