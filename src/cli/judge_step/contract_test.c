/* The numbers of a contract, against the references and bounds that claims are judged by. */
#include "cli/testing.h"

#include <math.h>

#include "check/bound/bound.h"
#include "cli/judge_step/contract.h"
#include "num/rng.h"
#include "num/ulp.h"

enum { ELEMENTS = 64 };

/* One parameter's step in memory. */
struct fixture {
    float row[4][ELEMENTS]; /* w, g, m, v */
    float after[3][ELEMENTS];
    double hyper[HC_HYPER_COUNT];
};

static double uniform(uint64_t stream, uint64_t i)
{
    return (double)(hc_random(9, stream, i) >> 11) * 0x1p-53;
}

static void fill(struct fixture *f)
{
    for (uint64_t i = 0; i < ELEMENTS; i++) {
        double size = ldexp(1, -(int)(i % 24));
        f->row[0][i] = (float)(uniform(0, i) - 0.5);
        f->row[1][i] = (float)((uniform(1, i) - 0.5) * size);
        f->row[2][i] = (float)((uniform(2, i) - 0.5) * size);
        f->row[3][i] = (float)(uniform(3, i) * size * size);
    }
}

static struct hc_step_state state_of(struct fixture *f, const struct hc_step_contract *c)
{
    struct hc_step_state s = {.work = HC_FP32, .lr = c->lr, .weight_decay = c->weight_decay};
    struct hc_tensor *in[] = {&s.w, &s.g, &s.m, &s.v};
    for (int k = 0; k < 4; k++)
        *in[k] = hc_tensor1(HC_FP32, ELEMENTS, f->row[k]);
    for (int k = 0; k < HC_STEP_OUTPUTS; k++)
        s.after[k] = hc_tensor1(HC_FP32, ELEMENTS, f->after[k]);
    return s;
}

static struct hc_call call_of(struct fixture *f, const struct hc_step_contract *c,
                              const struct hc_step_state *s)
{
    const struct hc_optimizer_slots *slots = hc_optimizer_slots(c->op);
    struct hc_call call = {.op = c->op};
    f->hyper[HC_HYPER_LR] = c->lr;
    f->hyper[HC_HYPER_BETA1] = c->beta1;
    f->hyper[HC_HYPER_STEP] = c->step;
    call.in[slots->w] = call.out[slots->new_w] = s->w;
    call.in[slots->g] = s->g;
    call.in[slots->m] = call.out[slots->new_m] = s->m;
    if (slots->v >= 0)
        call.in[slots->v] = call.out[slots->new_v] = s->v;
    call.in[slots->hyper] = hc_tensor1(HC_FP64, HC_HYPER_COUNT, f->hyper);
    if (c->op == HC_OP_sgd)
        call.params.sgd = (struct hc_sgd){.weight_decay = c->weight_decay,
                                          .decoupled = c->decay == HC_STEP_DECAY_APART,
                                          .nesterov = c->nesterov,
                                          .rate_inside = c->rate_inside,
                                          .arithmetic = HC_FP32};
    else
        call.params.adam = (struct hc_adam){.beta2 = c->beta2,
                                            .eps = c->eps,
                                            .weight_decay = c->weight_decay,
                                            .eps_inside = c->eps_inside,
                                            .order = c->order,
                                            .arithmetic = HC_FP32};
    return call;
}

static struct hc_step_contract contract(enum hc_op op, bool apart, bool flag, double step)
{
    return (struct hc_step_contract){.op = op,
                                     .lr = 0x1p-8,
                                     .stated_lr = 0x1p-8,
                                     .beta1 = 0.9,
                                     .beta2 = 0.999,
                                     .eps = 1e-6,
                                     .weight_decay = 0.1,
                                     .stated_decay = 0.1,
                                     .step = step,
                                     .decay = apart ? HC_STEP_DECAY_APART : HC_STEP_DECAY_COUPLED,
                                     .decay_norm = true,
                                     .eps_inside = flag && op != HC_OP_sgd,
                                     .nesterov = flag && op == HC_OP_sgd,
                                     .gradient_factor = 1,
                                     .gradient_format = HC_FORMAT_COUNT,
                                     .weight_format = HC_FORMAT_COUNT};
}

Test(contract, what_a_file_can_state_has_the_real_value_and_the_bound_of_the_claims)
{
    static const struct {
        enum hc_op op;
        bool apart;
    } rows[] = {{HC_OP_adam, false}, {HC_OP_adamw, true}, {HC_OP_sgd, false}, {HC_OP_sgd, true}};
    static struct fixture f;
    struct hc_accumulator accumulator = {.precision = 24, .block = 1};
    fill(&f);
    for (size_t k = 0; k < 2 * sizeof rows / sizeof rows[0]; k++)
        for (int t = 1; t < 5000; t = 3 * t + 1) {
            struct hc_step_contract c = contract(rows[k / 2].op, rows[k / 2].apart, k % 2 == 1, t);
            struct hc_step_state s = state_of(&f, &c);
            struct hc_call call = call_of(&f, &c, &s);
            const struct hc_optimizer_slots *slots = hc_optimizer_slots(c.op);
            const int outs[] = {slots->new_m, slots->new_v, slots->new_w};
            for (int64_t i = 0; i < ELEMENTS; i++) {
                struct hc_ball balls[HC_STEP_OUTPUTS];
                hc_step_contract_element(&c, &s, i, balls);
                for (int out = 0; out < HC_STEP_OUTPUTS; out++) {
                    if (outs[out] < 0)
                        continue;
                    struct hc_element e = {&call, outs[out], i};
                    struct hc_exact want = hc_reference_value(&call, outs[out], i);
                    double bound = hc_bound_any_order(&e, &accumulator, &want);
                    cr_assert_lt(fabs(balls[out].mid - want.hi), 1e-6 * bound);
                    cr_assert_geq(balls[out].rad, bound * (1 - 1e-12));
                    cr_assert_leq(balls[out].rad, bound * (1 + 1e-6));
                }
            }
        }
    hc_reference_end();
}

Test(contract, a_change_moves_what_it_is_about_and_nothing_before_it)
{
    static struct fixture f;
    struct hc_step_contract right = contract(HC_OP_adamw, true, false, 10);
    struct hc_step_state s = state_of(&f, &right);
    struct hc_ball was[HC_STEP_OUTPUTS];
    struct hc_ball is[HC_STEP_OUTPUTS];
    fill(&f);
    struct hc_step_contract c = right;
    c.uncorrected_v = true;
    hc_step_contract_element(&right, &s, 5, was);
    hc_step_contract_element(&c, &s, 5, is);
    cr_expect_eq(was[HC_STEP_M].mid, is[HC_STEP_M].mid);
    cr_expect_eq(was[HC_STEP_V].mid, is[HC_STEP_V].mid);
    cr_expect_gt(fabs(was[HC_STEP_W].mid - is[HC_STEP_W].mid), 100 * was[HC_STEP_W].rad);
    c = right;
    c.left_out = true;
    hc_step_contract_element(&c, &s, 5, is);
    cr_expect_eq(is[HC_STEP_W].mid, (double)f.row[0][5]);
    cr_expect_eq(is[HC_STEP_W].rad, 0);
}

/* Stored numbers inside of a ball fit, those beside it are too small or too large, and a ball
   without end explains nothing. */
Test(contract, a_stored_number_lies_on_a_side_of_its_ball)
{
    static struct fixture f;
    struct hc_step_contract c = contract(HC_OP_sgd, false, false, 1);
    struct hc_step_state s = state_of(&f, &c);
    f.after[HC_STEP_W][0] = 1;
    cr_expect_eq(hc_step_side(&s, HC_STEP_W, 0, hc_ball_of(1.25, 0.25)), 0);
    cr_expect_eq(hc_step_side(&s, HC_STEP_W, 0, hc_ball_of(1.25, 0.2)), -1);
    cr_expect_eq(hc_step_side(&s, HC_STEP_W, 0, hc_ball_of(0.75, 0.2)), 1);
    cr_expect_neq(hc_step_side(&s, HC_STEP_W, 0, hc_ball_of(1, (double)INFINITY)), 0);
    f.after[HC_STEP_W][0] = (float)NAN;
    cr_expect_neq(hc_step_side(&s, HC_STEP_W, 0, hc_ball_of(1, 0.2)), 0);
    cr_expect_eq(hc_step_side(&s, HC_STEP_W, 0, hc_ball_of((double)NAN, 0)), 0);
}
