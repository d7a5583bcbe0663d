/* One update of a loss scale from any state, against the reference of the op. */
#include <float.h>
#include <math.h>

#include "case.h"

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
    {.name = "scaler/one-update",
     .title = "one update of a loss scale, and the overflow verdict before it, follow the contract "
              "from any state for any rule",
     .source = "contract in src/op/control.h",
     .run = any},
};

HC_CASES(scaler_update, cases);
