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
