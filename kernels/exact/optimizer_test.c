/* Adam, AdamW and SGD against their stated orders (kernels/element/adam.h and sgd.h), each
   operation done in MPFR; in half precision against the numbers that were reported; and with
   stochastic rounding of the weights. */
#include <math.h>
#include <string.h>

#include "kernels/exact/testing.h"
#include "num/rng.h"
#include "num/stochastic.h"

/* x rounded to fp32 and then into the format; in fp64 it is rounded once. */
static double rounded(enum hc_format f, const struct hc_real *x)
{
    if (f == HC_FP64)
        return hc_decode(HC_FP64, hc_real_bits(x, HC_FP64, HC_NEAREST));
    return hc_round(f, hc_decode(HC_FP32, hc_real_bits(x, HC_FP32, HC_NEAREST)));
}

static double in(enum hc_format f, double x, hc_real_binary *op, double y)
{
    struct hc_real *a = hc_real_new(x);
    struct hc_real *b = hc_real_new(y);
    op(a, a, b);
    double result = rounded(f, a);
    hc_real_free(a);
    hc_real_free(b);
    return result;
}

static double root(enum hc_format f, double x)
{
    struct hc_real *a = hc_real_new(x);
    hc_real_sqrt(a, a);
    double result = rounded(f, a);
    hc_real_free(a);
    return result;
}

static hc_real_binary *const add = hc_real_add;
static hc_real_binary *const sub = hc_real_sub;
static hc_real_binary *const mul = hc_real_mul;
static hc_real_binary *const over = hc_real_div;

/* x^n. Rounded into fp32 or less it does not show how it was computed; in fp64 it does, and there
   the contract says: a product of squares, each product and square rounded. */
static double power(enum hc_format f, double x, double n)
{
    double product = 1;
    if (f != HC_FP64) {
        struct hc_real *a = hc_real_new(x);
        hc_real_pow(a, a, (long)n);
        product = hc_real_double(a);
        hc_real_free(a);
        return product;
    }
    for (long bits = (long)n; bits; bits >>= 1) {
        if (bits & 1)
            product = in(HC_FP64, product, mul, x);
        x = in(HC_FP64, x, mul, x);
    }
    return product;
}

struct state {
    double w, g, m, v, c;
    bool compensated;
    enum hc_format stored; /* w */
};

/* Subtracts the update from the weight. Decay leaves the fraction `keep` of the weight, or with a
   compensation adds `decay` times it to the update. */
static void subtract_update(enum hc_format f, struct state *s, double update, bool decoupled,
                            double keep, double decay)
{
    if (!s->compensated) {
        s->w = in(f, decoupled ? in(f, s->w, mul, keep) : s->w, sub, update);
        return;
    }
    if (decoupled)
        update = in(f, update, add, in(f, decay, mul, s->w));
    double y = in(f, s->c, sub, update);
    double sum = hc_round(s->stored, in(f, s->w, add, y));
    s->c = in(f, y, sub, in(f, sum, sub, s->w));
    s->w = sum;
}

static void want_sgd(const struct hc_sgd *p, const double hyper[3], struct state *s)
{
    enum hc_format f = p->arithmetic;
    double lr = hc_round(f, hyper[0]);
    double beta = hc_round(f, hyper[1]);
    if (!p->decoupled && p->weight_decay != 0)
        s->g = in(f, s->g, add, in(f, hc_round(f, p->weight_decay), mul, s->w));
    if (p->rate_inside)
        s->g = in(f, lr, mul, s->g);
    s->m = in(f, in(f, beta, mul, s->m), add, s->g);
    double along = p->nesterov ? in(f, s->g, add, in(f, beta, mul, s->m)) : s->m;
    subtract_update(f, s, p->rate_inside ? along : in(f, lr, mul, along), p->decoupled,
                    hc_round(f, 1 - hyper[0] * p->weight_decay),
                    hc_round(f, hyper[0] * p->weight_decay));
}

static void want_adam(const struct hc_adam *p, bool decoupled, const double hyper[3],
                      struct state *s)
{
    enum hc_format f = p->arithmetic;
    double corrected = 1 - power(f, p->beta2, hyper[2]);
    double step = hc_round(f, hyper[0] / (1 - power(f, hyper[1], hyper[2])));
    double correction = hc_round(f, p->eps_inside ? corrected : sqrt(corrected));
    double eps = hc_round(f, p->eps);
    if (!decoupled && p->weight_decay != 0)
        s->g = in(f, s->g, add, in(f, hc_round(f, p->weight_decay), mul, s->w));
    s->m = in(f, in(f, hc_round(f, hyper[1]), mul, s->m), add,
              in(f, hc_round(f, 1 - hyper[1]), mul, s->g));
    double square = in(f, in(f, hc_round(f, 1 - p->beta2), mul, s->g), mul, s->g);
    s->v = in(f, in(f, hc_round(f, p->beta2), mul, s->v), add, square);
    double d = p->eps_inside ? root(f, in(f, in(f, s->v, over, correction), add, eps))
                             : in(f, in(f, root(f, s->v), over, correction), add, eps);
    subtract_update(f, s, in(f, step, mul, in(f, s->m, over, d)), decoupled,
                    hc_round(f, 1 - hyper[0] * p->weight_decay),
                    hc_round(f, hyper[0] * p->weight_decay));
}

enum { N = 500 };

static double uniform(int64_t i, uint32_t stream)
{
    uint32_t key[2] = {17, stream};
    uint32_t counter[4] = {(uint32_t)i, 0, 0, 0};
    return ldexp((double)hc_philox(key, counter).word[0], -32);
}

/* Random state of every size: weights near 1, gradients from 2^-20 to 2^4, some zero or
   infinite. */
static struct hc_tensor filled(enum hc_format f, uint32_t what)
{
    struct hc_tensor t = made(hc_tensor1(f, N, NULL));
    for (int64_t i = 0; i < N; i++) {
        double size = ldexp(1 + uniform(i, what), (int)(24 * uniform(i, what + 8)) - 20);
        double value = what == 0 ? 2 * uniform(i, 0) - 1 : what == 3 ? size * size : size;
        if (i % 50 == 7 || (what == 2 && i % 3 == 0))
            value = 0;
        if (i == 11 && what < 2)
            value = (double)INFINITY;
        hc_tensor_set(&t, i, what < 3 && uniform(i, 32) < 0.5 ? -value : value);
    }
    return t;
}

static struct hc_tensor hyper_of(const double hyper[3])
{
    return vector_of(HC_FP32, 3, hyper);
}

static void hold(struct hc_call *call, const double hyper[3], bool is_sgd)
{
    struct state *want = calloc(N, sizeof *want);
    double seen[3];
    int outputs = is_sgd ? 2 : 3;
    const struct hc_tensor *c = &call->in[is_sgd ? 5 : 6];
    call->in[is_sgd ? 3 : 4] = hyper_of(hyper);
    for (int i = 0; i < 3; i++)
        seen[i] = hc_tensor_get(&call->in[is_sgd ? 3 : 4], i);
    for (int64_t i = 0; i < N; i++) {
        want[i] = (struct state){hc_tensor_get(&call->in[HC_ADAM_W], i),
                                 hc_tensor_get(&call->in[HC_ADAM_G], i),
                                 hc_tensor_get(&call->in[HC_ADAM_M], i),
                                 is_sgd ? 0 : hc_tensor_get(&call->in[HC_ADAM_V], i),
                                 c->data ? hc_tensor_get(c, i) : 0,
                                 c->data != NULL,
                                 call->in[HC_ADAM_W].format};
        if (is_sgd)
            want_sgd(&call->params.sgd, seen, &want[i]);
        else
            want_adam(&call->params.adam, call->op == HC_OP_adamw, seen, &want[i]);
    }
    call_exact(call);
    for (int64_t i = 0; i < N; i++) {
        double each[] = {want[i].w, want[i].m, is_sgd ? want[i].c : want[i].v, want[i].c};
        for (int o = 0; o < outputs + (c->data != NULL); o++) {
            enum hc_format f = call->out[o].format;
            uint64_t bits = hc_encode(f, each[o], 0, HC_NEAREST);
            cr_assert(same(f, bits, hc_tensor_bits(&call->out[o], i)),
                      "%s [%ld] output %d: want %a, got %a", hc_ops[call->op].name, (long)i, o,
                      hc_decode(f, bits), hc_tensor_get(&call->out[o], i));
        }
    }
    free(want);
}

/* arithmetic; storage of w, g, state */
static const enum hc_format formats[][4] = {
    {HC_FP32, HC_FP32, HC_FP32, HC_FP32}, {HC_FP32, HC_FP32, HC_FP16, HC_FP32},
    {HC_FP32, HC_BF16, HC_BF16, HC_FP32}, {HC_FP32, HC_FP16, HC_FP16, HC_BF16},
    {HC_FP16, HC_FP16, HC_FP16, HC_FP16}, {HC_BF16, HC_BF16, HC_BF16, HC_BF16},
    {HC_FP16, HC_FP32, HC_FP32, HC_FP16}, {HC_FP64, HC_FP64, HC_FP64, HC_FP64},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static const double hypers[][3] = {{1e-3, 0.9, 1}, {0.1, 0.85, 2}, {3e-4, 0.95, 1000}};

Test(optimizer, adam_and_adamw_round_in_the_stated_order)
{
    for (int f = 0; f < FORMATS; f++)
        for (int variant = 0; variant < 8; variant++) {
            struct hc_tensor w = filled(formats[f][1], 0);
            struct hc_tensor m = filled(formats[f][3], 2);
            struct hc_tensor v = filled(formats[f][3], 3);
            struct hc_call call = {.op = variant & 1 ? HC_OP_adamw : HC_OP_adam,
                                   .in = {w, filled(formats[f][2], 1), m, v},
                                   .out = {made(w), made(m), made(v)},
                                   .params.adam = {.beta2 = variant & 2 ? 0.99 : 0.999,
                                                   .eps = variant & 2 ? 1e-4 : 1e-8,
                                                   .weight_decay = variant & 4 ? 0 : 1e-2,
                                                   .eps_inside = (variant & 4) != 0,
                                                   .arithmetic = formats[f][0]}};
            hold(&call, hypers[(f + variant) % 3], false);
        }
}

Test(optimizer, sgd_rounds_in_the_stated_order)
{
    for (int f = 0; f < FORMATS; f++)
        for (int variant = 0; variant < 16; variant++) {
            struct hc_tensor w = filled(formats[f][1], 0);
            struct hc_tensor v = filled(formats[f][3], 2);
            struct hc_call call = {.op = HC_OP_sgd,
                                   .in = {w, filled(formats[f][2], 1), v},
                                   .out = {made(w), made(v)},
                                   .params.sgd = {.weight_decay = variant & 4 ? 0 : 5e-4,
                                                  .decoupled = (variant & 1) != 0,
                                                  .nesterov = (variant & 2) != 0,
                                                  .rate_inside = (variant & 8) != 0,
                                                  .arithmetic = formats[f][0]}};
            hold(&call, hypers[(f + variant) % 3], true);
        }
}

/* Weights of 16 bits, in fp32 and in their own arithmetic. */
Test(optimizer, compensated_updates_round_in_the_stated_order)
{
    static const enum hc_format rows[][2] = {
        {HC_FP32, HC_BF16}, {HC_FP32, HC_FP16}, {HC_BF16, HC_BF16}, {HC_FP16, HC_FP16}};
    for (int f = 0; f < 4; f++)
        for (int variant = 0; variant < 8; variant++) {
            enum hc_format stored = rows[f][1];
            struct hc_tensor w = filled(stored, 0);
            struct hc_tensor c = filled(stored, 5);
            struct hc_call adam = {
                .op = variant & 1 ? HC_OP_adamw : HC_OP_adam,
                .in = {w, filled(stored, 1), filled(stored, 2), filled(stored, 3)},
                .out = {made(w), made(w), made(w), made(w)},
                .params.adam = {
                    .beta2 = 0.99, .eps = 1e-4, .weight_decay = 1e-2, .arithmetic = rows[f][0]}};
            adam.in[HC_ADAM_COMPENSATION] = c;
            hold(&adam, hypers[variant % 3], false);
            struct hc_call sgd = {.op = HC_OP_sgd,
                                  .in = {w, filled(stored, 1), filled(stored, 2)},
                                  .out = {made(w), made(w), made(w)},
                                  .params.sgd = {.weight_decay = 5e-4,
                                                 .decoupled = (variant & 1) != 0,
                                                 .nesterov = (variant & 2) != 0,
                                                 .rate_inside = (variant & 4) != 0,
                                                 .arithmetic = rows[f][0]}};
            sgd.in[HC_SGD_COMPENSATION] = c;
            hold(&sgd, hypers[variant % 3], true);
        }
}

/* Adam in half precision against the numbers that were reported for it, and steps that are
   skipped. */

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
static struct hc_tensor filled_state(enum hc_format f, double first)
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
    call.in[s->w] = filled_state(HC_FP16, 1);
    call.in[s->g] = filled_state(HC_FP16, 0.5);
    call.in[s->m] = filled_state(HC_FP32, -3);
    if (op != HC_OP_sgd)
        call.in[s->v] = filled_state(HC_BF16, 2);
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

/* Numbers from 2^-20 to 2^4, some zero, and of the weights and gradients one infinite. The second
   moments are positive. */
static struct hc_tensor filled_bf16(int slot)
{
    struct hc_tensor t = made(hc_tensor1(HC_BF16, N, NULL));
    for (int64_t i = 0; i < N; i++) {
        uint64_t bits = hc_random(17, (uint64_t)slot, (uint64_t)i);
        double size = ldexp(1 + (double)(bits & 255) / 256, (int)(bits >> 8 & 0xff) % 24 - 20);
        if (i % 50 == 7)
            size = 0;
        if (i == 11 && (slot == HC_ADAM_W || slot == HC_ADAM_G))
            size = (double)INFINITY;
        hc_tensor_set(&t, i, slot != HC_ADAM_V && bits >> 63 ? -size : size);
    }
    return t;
}

/* Rounded by the definition of num/stochastic.h, from the fp32 weight that the same step has. */
Test(optimizer, stochastic_weights_are_the_fp32_ones_rounded_and_parts_are_as_the_whole)
{
    static const double hyper[] = {0.1, 0.85, 2};
    struct hc_tensor w = filled_bf16(HC_ADAM_W);
    struct hc_tensor single = made(hc_tensor1(HC_FP32, N, NULL));
    for (int64_t i = 0; i < N; i++)
        hc_tensor_set(&single, i, hc_tensor_get(&w, i));
    struct hc_call call = {.op = HC_OP_adamw,
                           .in = {w, filled_bf16(HC_ADAM_G), filled_bf16(HC_ADAM_M),
                                  filled_bf16(HC_ADAM_V),
                                  vector_of(HC_FP32, HC_HYPER_COUNT, hyper)},
                           .out = {made(w), made(w), made(w)},
                           .params.adam = {.beta2 = 0.99,
                                           .eps = 1e-4,
                                           .weight_decay = 1e-2,
                                           .arithmetic = HC_FP32,
                                           .stochastic = {true, 99, 1280}}};
    call_exact(&call);
    struct hc_call wide = call;
    wide.in[HC_ADAM_W] = single;
    wide.out[HC_ADAM_NEW_W] = made(single);
    for (int s = HC_ADAM_M; s <= HC_ADAM_V; s++) { /* the contract wants the state in w's format */
        wide.in[s] = made(single);
        wide.out[HC_ADAM_NEW_M + s - HC_ADAM_M] = made(single);
        for (int64_t i = 0; i < N; i++)
            hc_tensor_set(&wide.in[s], i, hc_tensor_get(&call.in[s], i));
    }
    wide.params.adam.stochastic.on = false;
    call_exact(&wide);
    struct hc_call part = call;
    for (int s = HC_ADAM_W; s <= HC_ADAM_V; s++) {
        part.in[s].shape[0] = N - 128;
        part.in[s].data = (uint16_t *)part.in[s].data + 128;
    }
    for (int o = HC_ADAM_NEW_W; o <= HC_ADAM_NEW_V; o++)
        part.out[o] = made(part.in[HC_ADAM_W]);
    part.params.adam.stochastic.first += 128;
    call_exact(&part);
    for (int64_t i = 0; i < N; i++) {
        uint32_t random = hc_round_random(99, 2, (uint64_t)(1280 + i));
        uint64_t want =
            hc_bf16_stochastic((float)hc_tensor_get(&wide.out[HC_ADAM_NEW_W], i), random);
        cr_assert(same(HC_BF16, want, hc_tensor_bits(&call.out[HC_ADAM_NEW_W], i)), "[%ld]",
                  (long)i);
        if (i >= 128)
            cr_assert(same(HC_BF16, want, hc_tensor_bits(&part.out[HC_ADAM_NEW_W], i - 128)),
                      "[%ld]", (long)i);
    }
}
