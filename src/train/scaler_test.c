#include <criterion/criterion.h>
#include <math.h>

#include "train/scaler.h"

static const struct hc_scaler torch = {HC_SCALER_TORCH, 65536, 2, 0.5f, 2000};

static void run(struct hc_scaler_state *state, const struct hc_scaler *scaler, int steps,
                bool found)
{
    for (int i = 0; i < steps; i++)
        hc_scalers[scaler->rule].update(scaler, state, found);
}

Test(scaler, torch_reaches_2_to_the_36_after_40000_clean_steps)
{
    struct hc_scaler_state state = hc_scaler_start(&torch);
    run(&state, &torch, 40000, false);
    cr_assert_eq(state.scale, 0x1p36f);
    cr_assert_eq(state.clean, 0);
}

Test(scaler, torch_is_zero_after_166_halvings_and_not_before)
{
    struct hc_scaler_state state = hc_scaler_start(&torch);
    run(&state, &torch, 165, true);
    cr_assert_eq(state.scale, 0x1p-149f);
    run(&state, &torch, 1, true);
    cr_assert_eq(state.scale, 0.0f);
}

Test(scaler, torch_grows_only_while_the_scale_stays_finite)
{
    struct hc_scaler each = torch;
    each.interval = 1;
    struct hc_scaler_state state = hc_scaler_start(&each);
    run(&state, &each, 111, false);
    cr_assert_eq(state.scale, 0x1p127f);
    run(&state, &each, 5, false);
    cr_assert_eq(state.scale, 0x1p127f);
}

Test(scaler, an_overflow_starts_torchs_count_again)
{
    struct hc_scaler_state state = hc_scaler_start(&torch);
    run(&state, &torch, 1999, false);
    run(&state, &torch, 1, true);
    cr_assert_eq(state.scale, 32768.0f);
    run(&state, &torch, 1999, false);
    cr_assert_eq(state.scale, 32768.0f);
    run(&state, &torch, 1, false);
    cr_assert_eq(state.scale, 65536.0f);
}

Test(scaler, static_and_none_never_move)
{
    for (int rule = HC_SCALER_NONE; rule <= HC_SCALER_STATIC; rule++) {
        struct hc_scaler scaler = {.rule = (enum hc_scaler_rule)rule, .initial = 512};
        struct hc_scaler_state state = hc_scaler_start(&scaler);
        run(&state, &scaler, 5000, false);
        run(&state, &scaler, 50, true);
        cr_assert_eq(state.scale, rule == HC_SCALER_NONE ? 1.0f : 512.0f);
        cr_assert_not(hc_scalers[rule].skips);
    }
}

Test(scaler, every_rule_has_its_name_and_source_and_a_first_scale)
{
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++) {
        const struct hc_scaler_info *info = &hc_scalers[rule];
        struct hc_scaler own = {.rule = (enum hc_scaler_rule)rule};
        cr_assert(info->name && info->title && info->source);
        cr_assert_eq(hc_scaler_by_name(info->name), own.rule);
        cr_assert_eq(hc_scaler_initial(&own), info->initial);
        cr_assert_eq(info->rule.skips, info->on_found == HC_FOUND_SKIPS, "%s", info->name);
        cr_assert_eq(info->on_found == HC_FOUND_UNSEEN, info->detector == HC_DETECTOR_NONE);
        cr_assert_eq(info->rule.interval == 0, info->on_found == HC_FOUND_UNSEEN);
    }
    cr_assert_eq(hc_scaler_by_name("abacus"), HC_SCALER_COUNT);
}

Test(scaler, a_recipes_numbers_take_the_place_of_the_rules)
{
    const struct hc_scaler own = {.rule = HC_SCALER_DEEPSPEED, .initial = 4, .interval = 7};
    struct hc_scaler_update rule = hc_scaler_params(&own);
    cr_assert_eq(hc_scaler_initial(&own), 4);
    cr_assert_eq(rule.interval, 7);
    cr_assert_eq(rule.growth, 2);
    cr_assert_eq(rule.backoff, 0.5f);
    cr_assert_eq(rule.hysteresis, 2);
    const struct hc_scaler still = {.rule = HC_SCALER_STATIC, .initial = 8, .interval = 7};
    cr_assert_eq(hc_scaler_params(&still).interval, 0);
}
