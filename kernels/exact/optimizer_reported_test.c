/* Adam in half precision against the numbers that were reported for it, and steps that are
   skipped. */
#include <math.h>
#include <string.h>

#include "kernels/exact/testing.h"

/* w after the first step of Adam wholly in `f`, from w = 1 (or another), beta1 = 0.9. */
static double first_step(enum hc_format f, double w, double g, double eps, double beta2)
{
    double zero = 0;
    double hyper[] = {1e-3, 0.9, 1};
    struct hc_tensor state = vector_of(f, 1, &zero);
    struct hc_call call = {.op = HC_OP_adam,
                           .in = {vector_of(f, 1, &w), vector_of(f, 1, &g), state, state,
                                  vector_of(HC_FP32, HC_HYPER_COUNT, hyper)},
                           .out = {made(state), made(state), made(state)},
                           .params.adam = {.beta2 = beta2, .eps = eps, .arithmetic = f}};
    call_exact(&call);
    return hc_tensor_get(&call.out[HC_ADAM_NEW_W], 0);
}

Test(optimizer, adam_in_half_with_the_usual_eps_fails_as_reported)
{
    cr_assert(isnan(first_step(HC_FP16, 1, 0, 1e-8, 0.999)));
    cr_assert_eq(first_step(HC_FP16, 1, 1e-5, 1e-8, 0.999), -(double)INFINITY);
    /* m / d is 5e-4 / 1.19e-7 = 4194 and the step 0.01: 1 - 41.9. */
    double far = first_step(HC_FP16, 1, 5e-3, 1e-7, 0.999);
    cr_assert(far < -40 && far > -42, "%g", far);
}

Test(optimizer, adam_in_half_with_eps_1e_4_steps_by_the_gradient_not_by_lr)
{
    /* (1 - beta2) g^2 is 1e-9 and lost, so d = eps: steps of 0.01 g / eps. */
    cr_assert_float_eq(first_step(HC_FP16, 0, 1e-3, 1e-4, 0.999), -1e-2, 1e-4);
    cr_assert_float_eq(first_step(HC_FP16, 0, 1e-5, 1e-4, 0.999), -1e-4, 1e-5);
}

Test(optimizer, adam_in_fp32_with_the_usual_eps_steps_by_lr)
{
    cr_assert_eq(first_step(HC_FP32, 1, 0, 1e-8, 0.999), 1);
    cr_assert_float_eq(first_step(HC_FP32, 0, 5e-3, 1e-8, 0.999), -1e-3, 1e-8);
    cr_assert_float_eq(first_step(HC_FP32, 0, 1e-5, 1e-8, 0.999), -1e-3, 2e-6);
}

/* Four numbers, of which a step changes some. */
static struct hc_tensor state(enum hc_format f, double first)
{
    double values[] = {first, 0, (double)INFINITY, 0x1p-12};
    return vector_of(f, 4, values);
}

static void expect_skipped_where_found(enum hc_op op, bool in_place, double found_inf)
{
    static const double hyper[] = {1e-3, 0.9, 1};
    const struct hc_optimizer_slots *s = hc_optimizer_slots(op);
    struct hc_call call = {.op = op};
    int states = op == HC_OP_sgd ? 2 : 3;
    int from[] = {s->w, s->m, s->v};
    int to[] = {s->new_w, s->new_m, s->new_v};
    struct hc_tensor before[3];
    call.in[s->w] = state(HC_FP16, 1);
    call.in[s->g] = state(HC_FP16, 0.5);
    call.in[s->m] = state(HC_FP32, -3);
    if (op != HC_OP_sgd)
        call.in[s->v] = state(HC_BF16, 2);
    call.in[s->hyper] = vector_of(HC_FP32, HC_HYPER_COUNT, hyper);
    call.in[s->found_inf] = vector_of(HC_FP32, 1, &found_inf);
    for (int i = 0; i < states; i++) {
        const struct hc_tensor *t = &call.in[from[i]];
        before[i] = made(*t);
        memcpy(before[i].data, t->data, hc_tensor_bytes(t));
        call.out[to[i]] = in_place ? *t : made(*t);
    }
    if (op == HC_OP_sgd)
        call.params.sgd = (struct hc_sgd){.weight_decay = 0.5, .arithmetic = HC_FP32};
    else
        call.params.adam =
            (struct hc_adam){.beta2 = 0.9, .eps = 1, .weight_decay = 0.5, .arithmetic = HC_FP32};
    call_exact(&call);
    for (int i = 0; i < states; i++) {
        const struct hc_tensor *got = &call.out[to[i]];
        bool equal = !memcmp(before[i].data, got->data, hc_tensor_bytes(got));
        cr_assert_eq(equal, found_inf != 0, "%s output %d", hc_ops[op].name, i);
    }
}

Test(optimizer, a_found_infinity_leaves_every_byte_as_it_was)
{
    static const enum hc_op ops[] = {HC_OP_sgd, HC_OP_adam, HC_OP_adamw};
    for (int o = 0; o < 3; o++)
        for (int in_place = 0; in_place < 2; in_place++) {
            expect_skipped_where_found(ops[o], in_place, 1);
            expect_skipped_where_found(ops[o], in_place, (double)NAN);
            expect_skipped_where_found(ops[o], in_place, 0);
        }
}
