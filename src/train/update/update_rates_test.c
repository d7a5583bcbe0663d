/* Schedules and layer groups: which rate and which decay each parameter is stepped with. */
#include "train/update/testing.h"

TestSuite(update_rates, .init = open_exact, .fini = close_exact);

static struct hc_recipe with_groups(const char *name)
{
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    recipe.group_rates = (struct hc_per_layer_group){2, {0, 1}};
    recipe.group_decays = (struct hc_per_layer_group){2, {0.5, 0.25}};
    return recipe;
}

Test(update_rates, more_layer_groups_than_layers_are_refused)
{
    struct hc_recipe recipe = with_groups("amp");
    for (int p = 0; p < SIZES; p++) {
        struct hc_tensor as = hc_tensor1(HC_FP32, sizes[p], NULL);
        list[p] = &parameters[p];
        cr_assert_eq(hc_parameter_open(list[p], &device, "p", roles[p], &as), HC_OK);
    }
    cr_assert_eq(hc_update_open(&update, &device, &recipe, list, SIZES), HC_INVALID);
    cr_assert_str_eq(hc_message(), "recipe amp: more layer groups (2) than layers (1)");
    end();
}

/* A schedule's steps, queued one after the other, and the same rates given step by step. */
static void queued_and_given(const struct hc_recipe *recipe)
{
    static unsigned char given[16384];
    static unsigned char queued[16384];
    static const struct hc_rates rates[4] = {{1e-3, 0.9}, {2e-3, 0.8}, {3e-3, 0.85}, {1e-4, 0.95}};
    bool skips = !hc_recipe_steps_on_overflow(recipe);
    struct hc_storage *reported = NULL;
    for (int way = 0; way < 2; way++) {
        struct hc_step_log_row rows[3];
        begin(recipe);
        const float loss_right[2] = {0.5f, 7};
        reported = hc_storage_new(&device, HC_FP32, 2);
        cr_assert_eq(hc_storage_write(reported, loss_right), HC_OK);
        cr_assert_eq(hc_update_schedule(update, rates, 4), HC_OK);
        cr_assert_eq(hc_update_step_log(update, 3, hc_tensor1(HC_FP32, 1, reported->data),
                                        hc_tensor1(HC_FP32, 1, (float *)reported->data + 1)),
                     HC_OK);
        for (int s = 0; s < 4; s++) {
            gradients(s);
            if (s == 2)
                set(HC_STATE_GRADIENT, 1, 0, INFINITY);
            cr_assert_eq(way ? hc_update_queue(update)
                             : hc_update_step(update, rates[s].lr, rates[s].beta1),
                         HC_OK);
        }
        size_t bytes = all_bytes(way == 0 ? given : queued);
        if (way == 1)
            cr_assert_arr_eq(queued, given, bytes, "%s", recipe->name);
        cr_assert_eq(hc_update_read_step_log(update, rows), HC_OK);
        for (int r = 0; r < 3; r++) { /* steps 3, 1, 2 */
            cr_assert_eq(rows[r].loss, 0.5f);
            cr_assert_eq(rows[r].right, 7);
            cr_assert_eq(rows[r].found, r == 2 ? 1 : 0);
            cr_assert_eq(rows[r].scale, r == 0 ? 32768.0f : 65536.0f);
        }
        cr_assert_eq(counters().skipped, skips);
        cr_assert_eq(counters().taken, 4 - skips);
        end();
        hc_storage_drop(reported);
    }
}

Test(update_rates, queued_steps_have_the_bits_of_steps_with_given_rates_and_leave_their_rows)
{
    const struct hc_recipe recipes[] = {*hc_recipe_by_name("amp"), with_groups("amp"),
                                        with_groups("fastai-1.0.61-flat")};
    for (size_t r = 0; r < sizeof recipes / sizeof recipes[0]; r++)
        queued_and_given(&recipes[r]);
}

/* Three layers, of which the first is the first part: a rate of 0 leaves it where it began. */
Test(update_rates, layer_groups_of_a_schedule_have_rates_of_their_own)
{
    static const struct hc_rates rates[2] = {{1e-3, 0.9}, {2e-3, 0.8}};
    struct hc_recipe recipe = with_groups("amp");
    begin(&recipe);
    cr_assert_eq(hc_update_schedule(update, rates, 2), HC_OK);
    for (int s = 0; s < 2; s++) {
        gradients(s);
        cr_assert_eq(hc_update_queue(update), HC_OK);
    }
    for (int p = 0; p < SIZES; p++)
        cr_assert_eq(get(HC_STATE_MASTER, p, 0) == 1, p * 2 / SIZES == 0, "parameter %d", p);
    end();
}
