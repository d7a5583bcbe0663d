/* How an overflow is found, and one update of a scale. */
#include <float.h>
#include <math.h>

#include "case.h"
#include "cases/fixture/replay.h"
#include "cases/fixture/scaling.h"

/* Overflow detectors, and traces whose infinities and NaNs lie in gradients. */

static enum hc_status sum(struct hc_check *check, const struct hc_tensor *half, enum hc_format into,
                          double *got)
{
    struct hc_call call = {
        .op = HC_OP_sum, .in = {[HC_REDUCE_X] = *half}, .params.reduce = {HC_FP32}};
    call.out[HC_REDUCE_OUT] = hc_check_vector(check, into, 1);
    enum hc_status status = hc_do(check, &call);
    *got = hc_tensor_get(&call.out[HC_REDUCE_OUT], 0);
    return status;
}

/* The detector of fastai and Apex: float(gradient.float().sum()). n halves of at most 65504 cannot
   overflow fp32 below n = 2^112, and nothing removes an infinity or a NaN from a sum. A sum in
   half, as gradient.sum() is, can overflow: two gradients of 40,000 raise a false alarm. */
static void by_sum(struct hc_check *check)
{
    static const struct {
        const char *name;
        double a;
        double b;
        bool found; /* some element is infinite or NaN */
        bool alarm; /* the sum in half is infinite or NaN */
    } rows[] = {
        {"finite", 1, -3, false, false},
        {"two large ones", 40000, 40000, false, true},
        {"two that cancel", 65504, -65504, false, false},
        {"an infinity", (double)INFINITY, -65504, true, true},
        {"two infinities that cancel", (double)INFINITY, -(double)INFINITY, true, true},
        {"a NaN", (double)NAN, 1, true, true},
        {"a NaN and an infinity", (double)NAN, (double)INFINITY, true, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_tensor half = hc_check_vector(check, HC_FP16, 1000);
        double single;
        double narrow;
        hc_tensor_set(&half, 3, rows[i].a);
        hc_tensor_set(&half, 997, rows[i].b);
        if (sum(check, &half, HC_FP32, &single) != HC_OK ||
            sum(check, &half, HC_FP16, &narrow) != HC_OK)
            return;
        hc_say(check, "%-28s sum in fp32 %-8g in half %g", rows[i].name, single, narrow);
        hc_claim_true(check, rows[i].name, isfinite(single) != rows[i].found);
        hc_claim_true(check, "summed into half", isfinite(narrow) != rows[i].alarm);
    }
}

/* Five gradients a step; the last one is what step s says. */
static double planted(int64_t s)
{
    switch (s % 11) {
    case 3:
        return (double)NAN;
    case 4:
        return (double)INFINITY;
    case 9:
        return -(double)INFINITY;
    default:
        return 65504;
    }
}

/* Sends half gradients with a NaN, an infinity or the largest number through unscale, whose flag
   goes into the rule. */
static void from_gradients(struct hc_check *check)
{
    enum { STEPS = 220 };
    unsigned char *found = hc_check_memory(check, STEPS);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, 5);
    struct hc_tensor out = hc_check_vector(check, HC_FP32, 5);
    int64_t wrong = 0;
    for (int64_t s = 1; s <= STEPS; s++) {
        bool flag;
        hc_tensor_set(&half, 4, planted(s));
        if (hc_unscale_into(check, &half, 512, s % 2 == 0, &out, &flag) != HC_OK)
            return;
        found[s - 1] = flag;
        wrong += flag != !isfinite(planted(s));
    }
    hc_claim_sweep(check, "steps", STEPS, wrong,
                   wrong ? "found where there is nothing, or not" : NULL);
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++)
        hc_replay_claim(check, hc_scalers[rule].name, (enum hc_scaler_rule)rule, 5, found, STEPS);
}

/* An overflow detector looks at the gradients before they are divided by the loss scale. One that
   looks at what it has written, in place, sees what the division made of them. */

enum { ELEMENTS = 65 };

/* The largest number of either sign in turn: a sum of them that overflowed would be an alarm. */
static struct hc_tensor largest(struct hc_check *check, enum hc_format format)
{
    struct hc_tensor t = hc_check_vector(check, format, ELEMENTS);
    for (int64_t i = 0; i < ELEMENTS; i++)
        hc_tensor_set(&t, i, i % 2 ? -hc_format_max(format) : hc_format_max(format));
    return t;
}

/* The largest number over 2^-10 is infinite, and no overflow of the backward pass: gradients are
   looked at before the division, in place, too. An infinity stays one. */
static void before_the_division(struct hc_check *check)
{
    static const enum hc_format places[] = {HC_FP16, HC_BF16, HC_FP32};
    struct hc_comparisons all = {.what = "flags"};
    for (size_t f = 0; f < sizeof places / sizeof *places; f++)
        for (int place = 0; place < 2; place++)
            for (int kind = 0; kind < 3; kind++) {
                bool found;
                struct hc_tensor x = largest(check, places[f]);
                struct hc_tensor out = place ? x : hc_check_vector(check, places[f], ELEMENTS);
                if (kind)
                    hc_tensor_set(&x, kind == 1 ? 0 : ELEMENTS - 1, -(double)INFINITY);
                if (hc_unscale_into(check, &x, 0x1p-10, kind == 2, &out, &found) != HC_OK)
                    return;
                all.checked += 2;
                if (found != (kind > 0))
                    hc_comparisons_wrong(&all, "%s%s: %s is found in gradients that are %s",
                                         hc_formats[places[f]].name, place ? " in place" : "",
                                         found ? "an overflow" : "none",
                                         kind ? "infinite" : "finite");
                if (isfinite(hc_tensor_get(&out, 1)))
                    hc_comparisons_wrong(&all, "%s%s: %g is finite", hc_formats[places[f]].name,
                                         place ? " in place" : "", hc_tensor_get(&out, 1));
            }
    hc_claim_comparisons(check, &all);
}

/* One update of a loss scale from any state, against the reference of the op. */

struct state {
    float scale;
    int32_t counts[HC_COUNTS];
    float found;
};

static void from(struct hc_check *check, const struct hc_scaler_update *rule,
                 const struct state *state, bool in_place)
{
    struct hc_call call = {.op = HC_OP_scaler_update, .params.scaler = *rule};
    call.in[HC_SCALER_SCALE] = hc_check_vector(check, HC_FP32, 1);
    call.in[HC_SCALER_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
    call.in[HC_SCALER_FOUND_INF] = hc_check_vector(check, HC_FP32, 1);
    call.out[HC_SCALER_NEW_SCALE] =
        in_place ? call.in[HC_SCALER_SCALE] : hc_check_vector(check, HC_FP32, 1);
    call.out[HC_SCALER_NEW_COUNTS] =
        in_place ? call.in[HC_SCALER_COUNTS] : hc_check_vector(check, HC_I32, HC_COUNTS);
    hc_tensor_set(&call.in[HC_SCALER_SCALE], 0, (double)state->scale);
    for (int i = 0; i < HC_COUNTS; i++)
        hc_tensor_set(&call.in[HC_SCALER_COUNTS], i, state->counts[i]);
    hc_tensor_set(&call.in[HC_SCALER_FOUND_INF], 0, (double)state->found);
    if (state->found < 0)
        call.in[HC_SCALER_FOUND_INF].data = NULL;
    hc_claim_call_met(check, &call);
    struct hc_call decide = {.op = HC_OP_overflow_verdict, .params.scaler = *rule};
    for (int i = 0; i < 3; i++)
        decide.in[i] = call.in[i];
    decide.out[HC_VERDICT_OUT] = hc_check_vector(check, HC_FP32, 2);
    hc_claim_call_met(check, &decide);
}

static uint64_t draw(const struct hc_check *check, uint64_t *at, uint64_t below)
{
    return hc_random(hc_check_seed(check), 77, (*at)++) % below;
}

/* Rules of every kind, with small numbers, so that their boundaries are met often. */
static struct hc_scaler_update any_rule(const struct hc_check *check, uint64_t *at)
{
    static const float floors[] = {0, 1, 8};
    static const float caps[] = {16, 1024, 0x1p24F};
    struct hc_scaler_update rule = {.growth = draw(check, at, 4) ? 2 : 1.1F,
                                    .backoff = draw(check, at, 4) ? 0.5F : 0.3F,
                                    .floor = floors[draw(check, at, 3)],
                                    .max_scale = caps[draw(check, at, 3)],
                                    .cap = (enum hc_cap)draw(check, at, 4),
                                    .when = (enum hc_growth_when)draw(check, at, 3),
                                    .interval = (int32_t)draw(check, at, 4),
                                    .delay = (int32_t)draw(check, at, 2),
                                    .hysteresis = (int32_t)draw(check, at, 4),
                                    .keep_clean = draw(check, at, 2) == 0,
                                    .error_at_floor = draw(check, at, 2) == 0,
                                    .refill_hysteresis = draw(check, at, 2) == 0};
    rule.min_checked_scale = draw(check, at, 3) ? -1 : draw(check, at, 4) ? 1 : (float)INFINITY;
    rule.skip_on_overflow = rule.min_checked_scale < 0 && draw(check, at, 2);
    rule.wait_for_first_step = !rule.skip_on_overflow && draw(check, at, 2);
    return rule;
}

static struct state any_state(const struct hc_check *check, uint64_t *at)
{
    static const float scales[] = {0,         0x1p-149F, 0x1p-126F, 0.5F,    1,
                                   8,         16,        512,       0x1p23F, 0x1p24F,
                                   0x1.8p24F, 0x1p126F,  0x1p127F,  FLT_MAX, (float)INFINITY,
                                   (float)NAN};
    static const float founds[] = {-1, 0, 0, 1, 1, 2, (float)INFINITY, (float)NAN};
    struct state state = {.scale = scales[draw(check, at, 16)],
                          .found = founds[draw(check, at, 8)]};
    for (int i = 0; i < HC_COUNTS; i++)
        state.counts[i] = (int32_t)draw(check, at, 6);
    state.counts[HC_COUNT_GAVE_UP] = (int32_t)draw(check, at, 2);
    return state;
}

static void any(struct hc_check *check)
{
    uint64_t at = 0;
    int updates = hc_check_level(check) == HC_EXHAUSTIVE ? 100000 : 2000;
    for (int i = 0; i < updates; i++) {
        struct hc_scaler_update rule = any_rule(check, &at);
        struct state state = any_state(check, &at);
        from(check, &rule, &state, i % 2 != 0);
    }
}

static const struct hc_case cases[] = {
    {"scaler/detector-by-sum",
     "the fp32 sum of half gradients overlooks no infinity or NaN and raises no false alarm; "
     "summed into half, two gradients of 40,000 do",
     "fastai 1.0.61 fastai/callbacks/fp16.py, grad_overflow; NVIDIA/apex @2fa4dbaf "
     "apex/fp16_utils/loss_scaler.py: 'Stopgap until upstream fixes sum() on HalfTensors'",
     .run = by_sum},
    {"scaler/from-gradients",
     "NaNs and infinities of both signs in half gradients reach every rule through unscale, and "
     "nothing else does",
     "contract in src/op/elementwise.h", .run = from_gradients},
    {"scaler/detector-before-division",
     "gradients that only the division by the scale makes infinite are no overflow, in place, too",
     "contract in src/op/elementwise.h: x is looked at before the division",
     .run = before_the_division},
    {"scaler/one-update",
     "one update of a loss scale, and the overflow verdict before it, follow the contract from any "
     "state for any rule",
     "contract in src/op/control.h", .run = any},
};

HC_CASES(scaler_found_inf, cases);
