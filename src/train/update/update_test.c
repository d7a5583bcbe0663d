/* What a step does to masters, weights, counts and the scale. */
#include "train/update/testing.h"

TestSuite(update, .init = open_exact, .fini = close_exact);

/* w = 1, updates of 1e-4: five of them pass the middle between 1 and the next half, 1 + 2^-10. */
Test(update, a_half_weight_with_a_master_moves_at_the_fifth_step)
{
    struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    begin(&recipe);
    for (int s = 1; s <= 6; s++) {
        set(HC_STATE_GRADIENT, 0, 0, -512);
        set(HC_STATE_GRADIENT, 1, 0, -512);
        cr_assert_eq(hc_update_step(update, 1e-4, 0), HC_OK);
        cr_assert_eq(get(HC_STATE_MASTER_GRADIENT, 0, 0), -1.0);
        cr_assert_float_eq(get(HC_STATE_MASTER, 0, 0), 1 + s * 1e-4, s * 0x1p-24 + 1e-11);
        cr_assert_eq(get(HC_STATE_MODEL, 0, 0), s < 5 ? 1.0 : 1.0009765625);
        cr_assert_eq(get(HC_STATE_MODEL, 1, 0), get(HC_STATE_MASTER, 1, 0));
    }
    end();
}

Test(update, a_skipped_step_changes_no_byte_and_halves_the_scale)
{
    static unsigned char before[16384];
    static unsigned char after[16384];
    begin(hc_recipe_by_name("amp"));
    for (int s = 0; s < 3; s++) {
        gradients(s);
        step(1e-3);
    }
    for (int bad = 0; bad < SIZES; bad++) {
        static const double poison[] = {INFINITY, -INFINITY, NAN};
        struct hc_counters c = counters();
        gradients(3);
        set(HC_STATE_GRADIENT, bad, sizes[bad] - 1, poison[bad]);
        size_t bytes = all_bytes(before);
        step(1e-3);
        cr_assert_eq(all_bytes(after), bytes);
        cr_assert_arr_eq(before, after, bytes);
        struct hc_counters d = counters();
        cr_assert_eq(d.taken, c.taken);
        cr_assert_eq(d.skipped, c.skipped + 1);
        cr_assert_eq(d.scale, c.scale / 2);
    }
    gradients(4);
    step(1e-3);
    cr_assert_eq(counters().taken, 4);
    end();
}

/* Apex amp divides by the scale before all else: at 0 the run ends there, where torch's goes on
   with NaN. Nothing is found at scale 0, whose gradients are 0. */
Test(update, at_scale_0_apex_amp_ends_the_run_and_moves_no_byte_and_torch_writes_nan)
{
    static const char *const recipes[] = {"apex-O2", "amp"};
    for (int torch = 0; torch < 2; torch++) {
        static unsigned char before[32 * MOST * SIZES];
        static unsigned char after[32 * MOST * SIZES];
        begin(hc_recipe_by_name(recipes[torch]));
        gradients(0);
        step(1e-3);
        struct hc_counters c = counters();
        c.scale = 0;
        cr_assert_eq(hc_update_set_counters(update, &c), HC_OK);
        for (int p = 0; p < SIZES; p++)
            for (int64_t i = 0; i < sizes[p]; i++)
                set(HC_STATE_GRADIENT, p, i, 0);
        size_t bytes = all_bytes(before);
        step(1e-3);
        cr_assert_eq(all_bytes(after), bytes);
        struct hc_counters d = counters();
        cr_expect_eq(d.gave_up, !torch);
        cr_expect_eq(d.taken, c.taken + torch);
        cr_expect_eq(d.skipped, c.skipped + !torch);
        cr_expect_eq(d.found, c.found);
        cr_expect_eq(memcmp(before, after, bytes) == 0, !torch);
        cr_expect_eq(isnan(get(HC_STATE_MASTER, 0, 0)) != 0, torch);
        end();
    }
}

Test(update, static_scaling_lets_one_infinity_poison_a_master_for_ever)
{
    begin(hc_recipe_by_name("fastai-004b-flat"));
    gradients(0);
    set(HC_STATE_GRADIENT, 0, 5, INFINITY);
    step(1e-3);
    for (int s = 1; s < 5; s++) {
        gradients(s);
        step(1e-3);
    }
    cr_assert(isnan(get(HC_STATE_MASTER, 0, 5)));
    cr_assert(isfinite(get(HC_STATE_MASTER, 0, 4)));
    cr_assert_eq(counters().found, 1);
    cr_assert_eq(counters().skipped, 0);
    end();
}

Test(update, every_recipe_gives_its_pieces_the_formats_it_names)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    for (int r = 0; r < n; r++) {
        begin(&recipes[r]);
        gradients(0);
        step(1e-3);
        for (int p = 0; p < SIZES; p++) {
            enum hc_format own = p == 1 ? recipes[r].norm : recipes[r].model;
            bool masters = recipes[r].masters != HC_MASTERS_NONE;
            enum hc_format state = !masters && own == HC_FP32 ? HC_FP32 : recipes[r].state;
            cr_assert_eq(hc_update_tensor(update, HC_STATE_MODEL, p).format, own);
            cr_assert_eq(hc_update_tensor(update, HC_STATE_GRADIENT, p).format, own);
            cr_assert_eq(hc_update_tensor(update, HC_STATE_M, p).format, state);
            if (recipes[r].optimizer == HC_OPTIMIZER_ADAM)
                cr_assert_eq(hc_update_tensor(update, HC_STATE_V, p).format, state);
            cr_assert_eq(hc_update_tensor(update, HC_STATE_MASTER, p).format,
                         masters ? HC_FP32 : own);
        }
        end();
    }
}

Test(update, masters_from_the_model_lose_what_rounding_took_and_from_fp32_do_not)
{
    begin(hc_recipe_by_name("fastai-004b-flat"));
    cr_assert_eq(get(HC_STATE_MASTER, 0, 1), hc_round(HC_FP16, (double)1.001f));
    end();
    begin(hc_recipe_by_name("amp"));
    cr_assert_eq(get(HC_STATE_MASTER, 0, 1), (double)1.001f);
    cr_assert_eq(get(HC_STATE_MODEL, 0, 1), hc_round(HC_FP16, (double)1.001f));
    end();
}

Test(update, a_contradictory_recipe_is_refused_in_one_line_that_names_it)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.gradient = HC_FP16;
    cr_assert_eq(hc_update_open(&update, &device, &recipe, list, 0), HC_INVALID);
    cr_assert_str_eq(hc_message(), "recipe amp: GradScaler refuses to unscale 16-bit gradients");
    cr_assert_null(update);
}
