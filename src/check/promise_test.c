/* The rules' texts, on traces whose scales are known by counting on paper. */
#include "check/promise.h"

#include <criterion/criterion.h>
#include <math.h>

static struct hc_oracle usual(enum hc_scaler_rule rule, enum hc_held held)
{
    return hc_oracle_start(rule, held, HC_LOG2_ZERO, 0);
}

static int after(struct hc_oracle *p, int64_t steps, bool found)
{
    for (int64_t i = 0; i < steps; i++)
        (void)hc_oracle_step(p, found);
    return hc_oracle_log2(p);
}

Test(oracle, growth_comes_with_the_last_clean_step_of_an_interval)
{
    static const struct {
        enum hc_scaler_rule rule;
        int64_t clean;
    } first[] = {{HC_SCALER_FASTAI, 1000},
                 {HC_SCALER_FASTAI2, 500},
                 {HC_SCALER_TORCH, 2000},
                 {HC_SCALER_APEX_FP16UTILS, 1000},
                 {HC_SCALER_APEX_AMP, 2000},
                 {HC_SCALER_DEEPSPEED_0170, 1000},
                 {HC_SCALER_DEEPSPEED_0171, 1001},
                 {HC_SCALER_DEEPSPEED_CONSECUTIVE, 1001},
                 {HC_SCALER_DEEPSPEED_UNFUSED, 1001},
                 {HC_SCALER_DEEPSPEED_FUSED, 1001}};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        struct hc_oracle p = usual(first[i].rule, HC_HELD_SINGLE);
        int start = hc_oracle_log2(&p);
        cr_assert_eq(after(&p, first[i].clean - 1, false), start, "%d", first[i].rule);
        cr_assert_eq(after(&p, 1, false), start + 1, "%d", first[i].rule);
    }
}

Test(oracle, an_overflow_restarts_the_count_except_in_fastai2)
{
    struct hc_oracle torch = usual(HC_SCALER_TORCH, HC_HELD_SINGLE);
    (void)after(&torch, 1999, false);
    cr_assert_eq(after(&torch, 1, true), 15);
    cr_assert_eq(after(&torch, 1999, false), 15);
    cr_assert_eq(after(&torch, 1, false), 16);
    struct hc_oracle fastai2 = usual(HC_SCALER_FASTAI2, HC_HELD_SINGLE);
    (void)after(&fastai2, 499, false);
    cr_assert_eq(after(&fastai2, 1, true), 23);
    cr_assert_eq(after(&fastai2, 1, false), 24);
}

Test(oracle, torch_is_0_after_166_halvings_and_python_much_later)
{
    struct hc_oracle single = usual(HC_SCALER_TORCH, HC_HELD_SINGLE);
    cr_assert_eq(after(&single, 165, true), -149);
    cr_assert_eq(after(&single, 1, true), HC_LOG2_ZERO);
    cr_assert_eq(hc_oracle_scale(&single), 0);
    cr_assert_eq(after(&single, 4000, false), HC_LOG2_ZERO);
    struct hc_oracle twice = usual(HC_SCALER_APEX_AMP, HC_HELD_DOUBLE);
    cr_assert_eq(after(&twice, 1090, true), -1074);
    cr_assert_eq(after(&twice, 1, true), HC_LOG2_ZERO);
}

Test(oracle, apex_amp_raises_at_any_step_behind_the_1091st_overflow)
{
    for (int found = 0; found < 2; found++) {
        struct hc_oracle p = usual(HC_SCALER_APEX_AMP, HC_HELD_DOUBLE);
        cr_assert_eq(after(&p, 1091, true), HC_LOG2_ZERO);
        cr_assert_not(p.gave_up);
        cr_assert_eq(after(&p, 1, found), HC_LOG2_ZERO);
        cr_assert(p.gave_up);
    }
    struct hc_oracle torch = usual(HC_SCALER_TORCH, HC_HELD_SINGLE);
    (void)after(&torch, 400, true);
    cr_assert_not(torch.gave_up);
}

Test(oracle, doublings_end_at_a_cap_at_the_last_finite_power_or_in_infinity)
{
    struct hc_oracle torch = hc_oracle_start(HC_SCALER_TORCH, HC_HELD_SINGLE, HC_LOG2_ZERO, 1);
    cr_assert_eq(after(&torch, 111, false), 127);
    cr_assert_eq(after(&torch, 10, false), 127);
    struct hc_oracle amp = hc_oracle_start(HC_SCALER_APEX_AMP, HC_HELD_SINGLE, HC_LOG2_ZERO, 1);
    cr_assert_eq(after(&amp, 100, false), 24);
    struct hc_oracle deepspeed =
        hc_oracle_start(HC_SCALER_DEEPSPEED_0170, HC_HELD_SINGLE, HC_LOG2_ZERO, 1);
    cr_assert_eq(after(&deepspeed, 111, false), 127);
    cr_assert_eq(after(&deepspeed, 1, false), HC_LOG2_INFINITE);
    cr_assert(isinf(hc_oracle_scale(&deepspeed)));
    cr_assert_eq(after(&deepspeed, 9, true), HC_LOG2_INFINITE);
}

Test(oracle, floors_are_kept_overlooked_or_raise)
{
    struct hc_oracle apex = usual(HC_SCALER_APEX_FP16UTILS, HC_HELD_SINGLE);
    cr_assert_eq(after(&apex, 60, true), 0);
    struct hc_oracle fastai = usual(HC_SCALER_FASTAI, HC_HELD_SINGLE);
    cr_assert_eq(after(&fastai, 16, true), 0);
    cr_assert_eq(after(&fastai, 999, true), 0);
    cr_assert_eq(after(&fastai, 1, true), 1);
    struct hc_oracle deepspeed = usual(HC_SCALER_DEEPSPEED_0170, HC_HELD_SINGLE);
    cr_assert_eq(after(&deepspeed, 1, true), 16);
    cr_assert_eq(after(&deepspeed, 16, true), 0);
    cr_assert_not(deepspeed.gave_up);
    cr_assert_eq(after(&deepspeed, 1, true), 0);
    cr_assert(deepspeed.gave_up);
}

Test(oracle, deepspeed_forgives_one_overflow_between_two_growths)
{
    struct hc_oracle p = usual(HC_SCALER_DEEPSPEED_0170, HC_HELD_SINGLE);
    cr_assert_eq(after(&p, 1, true), 16);
    (void)after(&p, 999, false);
    cr_assert_eq(after(&p, 1, true), 15);
    cr_assert_eq(after(&p, 1000, false), 16);
    cr_assert_eq(after(&p, 1, true), 16);
    cr_assert_eq(after(&p, 1, true), 15);
}

Test(oracle, consecutive_hysteresis_forgives_one_overflow_after_each_clean_step)
{
    struct hc_oracle p = usual(HC_SCALER_DEEPSPEED_CONSECUTIVE, HC_HELD_SINGLE);
    for (int i = 0; i < 50; i++) {
        cr_assert_eq(after(&p, 1, true), 16);
        cr_assert_eq(after(&p, 1, false), 16);
    }
    cr_assert_eq(after(&p, 2, true), 15);
    cr_assert_eq(after(&p, 1, true), 14);
    struct hc_oracle other = usual(HC_SCALER_DEEPSPEED_0171, HC_HELD_SINGLE);
    cr_assert_eq(after(&other, 1, true), 16);
    (void)after(&other, 1, false);
    cr_assert_eq(after(&other, 1, true), 15);
}

Test(oracle, the_unfused_optimizers_floor_is_a_quarter)
{
    struct hc_oracle p = usual(HC_SCALER_DEEPSPEED_UNFUSED, HC_HELD_SINGLE);
    cr_assert_eq(after(&p, 17, true), -1);
    cr_assert_eq(after(&p, 1, true), -2);
    cr_assert_eq(after(&p, 9, true), -2);
    cr_assert_eq(hc_oracle_scale(&p), 0.25);
    cr_assert_not(p.gave_up);
}
