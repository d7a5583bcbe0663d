#include "train/update/update.h"

#include <criterion/criterion.h>

static struct hc_slot_plan plan_of(const char *recipe, enum hc_role role)
{
    return hc_slot_plan(hc_recipe_by_name(recipe), role, 0);
}

/* torch's optimizers compute in each parameter's own format. */
Test(slot_plan, an_fp32_parameter_without_a_master_is_stepped_in_fp32)
{
    struct hc_slot_plan norm = plan_of("bf16-pure", HC_ROLE_NORM);
    struct hc_slot_plan weight = plan_of("bf16-pure", HC_ROLE_WEIGHT);
    cr_assert_eq(norm.format[HC_STATE_MODEL], HC_FP32);
    cr_assert_eq(norm.format[HC_STATE_M], HC_FP32);
    cr_assert_eq(norm.arithmetic, HC_FP32);
    cr_assert_eq(weight.format[HC_STATE_MODEL], HC_BF16);
    cr_assert_eq(weight.format[HC_STATE_M], HC_BF16);
    cr_assert_eq(weight.arithmetic, HC_BF16);
}

Test(slot_plan, a_gradient_has_storage_of_its_own_only_if_something_happens_to_it)
{
    cr_assert(plan_of("amp", HC_ROLE_WEIGHT).own[HC_STATE_MASTER_GRADIENT]);
    cr_assert_not(plan_of("amp-bf16", HC_ROLE_WEIGHT).own[HC_STATE_MASTER_GRADIENT]);
    cr_assert_not(plan_of("fp16-pure", HC_ROLE_WEIGHT).own[HC_STATE_MASTER_GRADIENT]);
    struct hc_recipe narrowed = *hc_recipe_by_name("amp-bf16");
    narrowed.gradient = HC_FP16;
    cr_assert(hc_slot_plan(&narrowed, HC_ROLE_WEIGHT, 0).own[HC_STATE_MASTER_GRADIENT]);
}

Test(slot_plan, norms_and_biases_have_a_parameter_group_of_their_own_if_they_are_stepped_otherwise)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.group_rates = (struct hc_per_layer_group){2, {0.5, 1}};
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_BIAS, 1).group, 2);
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_WEIGHT, 1).group, 2);
    recipe.decay_norm = false;
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_NORM, 1).group, 3);
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_NORM, 1).decay, 0);
    recipe.decay_norm = true;
    recipe.split_bn_bias = true;
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_BIAS, 0).group, 1);
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_BIAS, 0).decay, recipe.weight_decay);
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_BIAS, 0).rate, 0.5);
}

Test(slot_plan, a_recipe_without_a_state_tensor_owns_none)
{
    struct hc_slot_plan sgd = plan_of("sum-loss-fp16", HC_ROLE_WEIGHT);
    cr_assert_not(sgd.own[HC_STATE_V]);
    cr_assert_not(sgd.own[HC_STATE_MASTER]);
    cr_assert(sgd.own[HC_STATE_M]);
    cr_assert(plan_of("bf16-kahan", HC_ROLE_WEIGHT).own[HC_STATE_COMPENSATION]);
    cr_assert_not(plan_of("bf16-kahan", HC_ROLE_NORM).own[HC_STATE_COMPENSATION]);
}
