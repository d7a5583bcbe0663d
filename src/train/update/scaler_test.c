#include "train/update/recipe.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(scaler, every_rule_has_its_name_and_source_and_a_first_scale)
{
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++) {
        const struct hc_scaler_info *info = &hc_scalers[rule];
        struct hc_scaler own = {.rule = (enum hc_scaler_rule)rule};
        cr_assert(info->name && info->title && info->source);
        cr_assert_eq(hc_scaler_by_name(info->name), own.rule);
        cr_assert_eq(hc_scaler_initial(&own), info->initial);
        cr_assert_eq(info->rule.skip_on_overflow, info->on_found == HC_FOUND_SKIPS, "%s",
                     info->name);
        cr_assert_eq(info->on_found == HC_FOUND_UNSEEN, info->detector == HC_DETECTOR_NONE);
        cr_assert_eq(info->rule.interval == 0, info->on_found == HC_FOUND_UNSEEN);
    }
    cr_assert_eq(hc_scaler_by_name("abacus"), HC_SCALER_COUNT);
}

Test(scaler, a_recipes_numbers_take_the_place_of_the_rules)
{
    const struct hc_scaler own = {.rule = HC_SCALER_DEEPSPEED_0171, .initial = 4, .interval = 7};
    struct hc_scaler_update rule = hc_scaler_params(&own);
    cr_assert_eq(hc_scaler_initial(&own), 4);
    cr_assert_eq(rule.interval, 7);
    cr_assert_eq(rule.growth, 2);
    cr_assert_eq(rule.backoff, 0.5f);
    cr_assert_eq(rule.hysteresis, 2);
    const struct hc_scaler still = {.rule = HC_SCALER_STATIC, .initial = 8, .interval = 7};
    cr_assert_eq(hc_scaler_params(&still).interval, 0);
}

static void refused(struct hc_scaler scaler, const char *why)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    char line[160];
    recipe.scaler = scaler;
    (void)snprintf(line, sizeof line, "recipe amp: %s", why);
    cr_assert_eq(hc_recipe_check(&recipe), HC_INVALID, "accepted: %s", why);
    cr_assert_str_eq(hc_message(), line);
}

Test(scaler, a_recipe_with_a_wrong_scaler_is_refused)
{
    refused((struct hc_scaler){.rule = HC_SCALER_NONE, .initial = 8},
            "a loss scale without a scaler");
    refused((struct hc_scaler){.rule = HC_SCALER_STATIC, .initial = -8},
            "the loss scale is not a positive number");
    refused((struct hc_scaler){.rule = HC_SCALER_APEX_AMP, .growth = 0.5f},
            "the scale's growth is not above 1");
    refused((struct hc_scaler){.rule = HC_SCALER_FASTAI2, .backoff = 2},
            "the scale's backoff is not between 0 and 1");
    refused((struct hc_scaler){.rule = HC_SCALER_TORCH, .interval = -1},
            "the scale's growth interval is not positive");
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.scaler = (struct hc_scaler){.rule = HC_SCALER_APEX_AMP};
    cr_assert_eq(hc_recipe_check(&recipe), HC_OK, "%s", hc_message());
}
