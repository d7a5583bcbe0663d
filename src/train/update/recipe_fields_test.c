#include "train/update/recipe_fields.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct hc_recipe recipe;
static char name[HC_RECIPE_NAME];

static enum hc_status read_text(const char *text)
{
    return hc_recipe_read(&recipe, name, text, strlen(text));
}

Test(recipe_fields, every_value_of_every_recipe_reads_back)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    for (int r = 0; r < n; r++) {
        struct hc_recipe other = *hc_recipe_by_name(r ? "fp32" : "fp16-pure");
        for (int f = 0; f < hc_recipe_fields(); f++) {
            char want[HC_FIELD_TEXT];
            char got[HC_FIELD_TEXT];
            char assignment[2 * HC_FIELD_TEXT];
            hc_recipe_field_text(&recipes[r], f, want);
            (void)snprintf(assignment, sizeof assignment, "%s=%s", hc_recipe_field_key(f), want);
            if (strcmp(want, "0") == 0)
                continue; /* a static scale's interval */
            cr_assert_eq(hc_recipe_set(&other, assignment, strlen(assignment)), HC_OK, "%s: %s",
                         assignment, hc_message());
            hc_recipe_field_text(&other, f, got);
            cr_assert_str_eq(got, want, "%s of %s", hc_recipe_field_key(f), recipes[r].name);
        }
    }
}

Test(recipe_fields, every_recipe_of_the_table_is_free_of_contradictions)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    for (int r = 0; r < n; r++) {
        cr_assert_eq(hc_recipe_check(&recipes[r]), HC_OK, "%s", hc_message());
        cr_assert(recipes[r].title && recipes[r].source);
        for (int other = 0; other < r; other++)
            cr_assert_str_neq(recipes[r].name, recipes[other].name);
    }
}

Test(recipe_fields, every_key_refuses_what_is_none_of_its_values_and_is_named)
{
    static const char *const wrong[] = {"@", "-1", "nan"};
    for (int f = 0; f < hc_recipe_fields(); f++)
        for (int w = 0; w < 3; w++) {
            char want[HC_FIELD_TEXT];
            char got[HC_FIELD_TEXT];
            char assignment[HC_FIELD_TEXT];
            struct hc_recipe changed = *hc_recipe_by_name("amp");
            const char *key = hc_recipe_field_key(f);
            (void)snprintf(assignment, sizeof assignment, "%s=%s", key, wrong[w]);
            cr_expect_eq(hc_recipe_set(&changed, assignment, strlen(assignment)), HC_INVALID, "%s",
                         assignment);
            cr_expect(strncmp(hc_message(), key, strlen(key)) == 0 &&
                          hc_message()[strlen(key)] == ' ',
                      "%s: %s", assignment, hc_message());
            hc_recipe_field_text(hc_recipe_by_name("amp"), f, want);
            hc_recipe_field_text(&changed, f, got);
            cr_expect_str_eq(got, want, "%s", assignment);
        }
}

Test(recipe_fields, overrides_stand_behind_the_name)
{
    cr_assert_eq(read_text("fastai-004b+loss_scale=65536+eps=1e-4"), HC_OK, "%s", hc_message());
    cr_assert_eq(recipe.scaler.initial, 65536);
    cr_assert_eq(recipe.eps, 1e-4);
    cr_assert_str_eq(recipe.name, "fastai-004b+loss_scale=65536+eps=1e-4");
    cr_assert_eq(read_text("amp+loss_scale=1e+4+interval=7"), HC_OK, "%s", hc_message());
    cr_assert_eq(recipe.scaler.initial, 10000);
    cr_assert_eq(recipe.scaler.interval, 7);
}

/* Commas come from --set; a list of recipes is parted at them, and so are rows of csv files. */
Test(recipe_fields, numbers_of_layer_groups_stand_between_slashes_or_commas)
{
    static const char *const texts[] = {"amp+group_rates=0.1,0.3,1+split_bn_bias=true",
                                        "amp+group_rates=0.1/0.3/1+split_bn_bias=true"};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(read_text(texts[i]), HC_OK, "%s", hc_message());
        cr_assert_str_eq(recipe.name, texts[1]);
        cr_assert_eq(recipe.group_rates.n, 3);
        cr_assert_eq(recipe.group_rates.value[1], 0.3);
        cr_assert(recipe.split_bn_bias);
    }
    cr_assert_eq(read_text("amp+group_rates=0.1/1+group_rates="), HC_OK, "%s", hc_message());
    cr_assert_eq(recipe.group_rates.n, 0);
}

static bool is_key(const char *assignment, const char *key)
{
    return strcspn(assignment, "=") == strlen(key) && strncmp(assignment, key, strlen(key)) == 0;
}

/* So that a checkpoint of a recipe that lacks what came later still is that recipe's. */
Test(recipe_fields, what_came_later_is_quiet_where_a_recipe_lacks_it)
{
    static const char *const later[] = {
        "group_rates=1/1",  "group_decays=0",   "split_bn_bias=true", "clip=1",
        "clip_groups=true", "clip_scaled=true", "rate_inside=true",   "wrapper=fsdp",
        "algorithm=tree",   "reduce=fp32",      "predivide=1",        "bucket=1",
        "norm_sync=true",   "quant=im2col",     "amax_history=4",     "plain_ends=1"};
    cr_assert_eq(read_text("amp"), HC_OK);
    for (int f = 0; f < hc_recipe_fields(); f++) {
        const char *key = hc_recipe_field_key(f);
        bool came_later = false;
        for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
            came_later |= is_key(later[i], key);
        if (came_later)
            cr_assert(hc_recipe_field_is_quiet(&recipe, f), "%s", key);
        if (strcmp(key, "tf32") == 0 || strcmp(key, "nesterov") == 0)
            cr_assert_not(hc_recipe_field_is_quiet(&recipe, f), "%s", key);
    }
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        cr_assert_eq(hc_recipe_set(&recipe, later[i], strlen(later[i])), HC_OK);
    for (int f = 0; f < hc_recipe_fields(); f++)
        for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
            if (is_key(later[i], hc_recipe_field_key(f)))
                cr_assert_not(hc_recipe_field_is_quiet(&recipe, f), "%s", hc_recipe_field_key(f));
}

struct refused {
    const char *text;
    const char *line;
};

/* The last row has no text. */
static void are_refused(const struct refused *rows)
{
    for (; rows->text; rows++) {
        cr_assert_eq(read_text(rows->text), HC_INVALID, "%s is accepted", rows->text);
        cr_assert_not_null(strstr(hc_message(), rows->line), "%s: %s", rows->text, hc_message());
    }
}

Test(recipe_fields, what_cannot_be_read_is_said_in_one_line)
{
    static const struct refused rows[] = {
        {"amp16", "no recipe 'amp16'; there are: fp32, "},
        {"amp+", "no recipe 'amp+'"},
        {"amp+eps", "an override is KEY=VALUE, not 'eps'"},
        {"amp+epsilon=1", "no field 'epsilon'; there are: model, "},
        {"amp+eps=-1", "eps is a number from 0 to fp32's 3.4e38, not '-1'"},
        {"amp+eps=nan", "eps is a number from 0 to fp32's 3.4e38, not 'nan'"},
        {"amp+eps=1x", "eps is a number from 0 to fp32's 3.4e38, not '1x'"},
        {"amp+eps=", "eps is a number from 0 to fp32's 3.4e38, not ''"},
        {"amp+loss_scale=0",
         "loss_scale is a number from 1.4e-45 to 3.4e38, fp32's range, not '0'"},
        {"amp+loss_scale=1e39",
         "loss_scale is a number from 1.4e-45 to 3.4e38, fp32's range, not '1e39'"},
        {"amp+interval=1.5", "interval is a whole number from 1 to 2^30, not '1.5'"},
        {"amp+masters=maybe", "masters is one of none, from-model, from-fp32, not 'maybe'"},
        {"amp+apart=1", "apart is one of false, true, not '1'"},
        {"amp+model=int4", "model is one of fp64, fp32, bf16, fp16, not 'int4'"},
        {"amp+model=u8", "model is one of fp64, fp32, bf16, fp16, not 'u8'"},
        {"amp+rate=0", "rate is a number above 0, up to fp32's 3.4e38, not '0'"},
        {"amp+weight_decay=1e300", "weight_decay is a number from 0 to fp32's 3.4e38, not '1e300'"},
        {"amp+scaler=mine", "scaler is one of none, static, "},
        {"amp+group_rates=1/-1",
         "group_rates is up to 8 numbers from 0 to fp32's 3.4e38, such as 0.1/0.3/1, not"},
        {"amp+group_rates=1/nan", "group_rates is up to 8 numbers"},
        {"amp+group_rates=1//1", "group_rates is up to 8 numbers"},
        {"amp+group_rates=1/", "group_rates is up to 8 numbers"},
        {"amp+group_rates=1;2", "group_rates is up to 8 numbers"},
        {"amp+group_decays=1/2/3/4/5/6/7/8/9", "group_decays is up to 8 numbers"},
        {"amp+clip=-1", "clip is a number from 0 to fp32's 3.4e38, not '-1'"},
        {"amp+clip=1e39", "clip is a number from 0 to fp32's 3.4e38, not '1e39'"},
        {"amp+order=mine", "order is one of ours, torch-fused, torch-loop, apex, not 'mine'"},
        {"sum-loss-fp16+order=torch-loop", "whose order of roundings is a question of Adam's"},
        {"fp16-pure+order=torch-fused", "an order of roundings that is one of fp32 arithmetic"},
        {NULL, NULL},
    };
    are_refused(rows);
}

Test(recipe_fields, what_contradicts_itself_is_said_in_one_line)
{
    static const struct refused rows[] = {
        {"fp32+loss_scale=8", ": a loss scale without a scaler"},
        {"fastai-004b+interval=8", ": a scale that never changes has no growth"},
        {"fastai-004b-flat+masters=none", "flat masters, but no masters"},
        {"fastai-004b-flat+apart=true", "flat masters cannot be kept apart"},
        {"fp32+scaler=fastai", "steps on what the masters hold, but there are no masters"},
        {"amp+gradient=fp16", "GradScaler refuses to unscale 16-bit gradients"},
        {"amp+group_rates=0.1/1+group_decays=0/0/0",
         "group_rates and group_decays are of different numbers of layer groups"},
        {"amp+clip_groups=true", "a way to clip gradients, but no norm to clip them to"},
        {"fp32+clip=1+clip_scaled=true", "clipping before unscaling needs a loss scale"},
        {"fp64+clip=1+clip_groups=true", "fp64 is clipped by the norm of all gradients alone"},
        {"bf16-sr+kahan=true", "rounded stochastically or compensated, not both"},
        {"amp-bf16+stochastic=true", "masters lose no update"},
        {"fp16-bn32+stochastic=true", "from fp32 arithmetic into a bf16 model"},
        {"bf16-pure+stochastic=true", "from fp32 arithmetic into a bf16 model"},
        {"bf16-kahan+masters=from-model+arithmetic=fp32", "masters lose no update"},
        {"bf16-kahan+arithmetic=fp16", "compensated in fp32 or in the model's format"},
        {"bf16-kahan+norm=fp16", "have their format"},
        {"bf16-kahan+decay=model", "a decay outside the optimizer"},
        {"fp32+kahan=true", "compensated weights are bf16 or fp16"},
        {"amp+nesterov=true", "Nesterov's momentum is SGD's"},
        {"amp+rate_inside=true", "a velocity that holds the learning rate is SGD's"},
        {"amp+order=apex+eps_inside=true", "that knows no eps inside the root"},
        {"bf16-kahan+order=torch-loop", "that knows no eps inside the root and no compensation"},
        {"mxfp8-floor+amax_history=4", ": a history of amaxes, but no delayed scaling"},
        {"fp8-te-delayed+amax_history=65537", ": a history of more than 65536 amaxes"},
        {"amp-bf16+plain_ends=1", ": blocks that are not quantised, and nothing that is"},
        {NULL, NULL},
    };
    are_refused(rows);
}

/* What text cannot set, a row could. */
Test(recipe_fields, a_row_of_impossible_numbers_or_formats_is_refused)
{
    struct hc_recipe rows[5];
    static const char *const lines[5] = {"a format is none of fp32, bf16, fp16",
                                         "the norm to clip to is not a number",
                                         "the factor of the learning rate is no number",
                                         "eps is no number", "weight decay is no number"};
    for (int i = 0; i < 5; i++)
        rows[i] = *hc_recipe_by_name("amp");
    rows[0].model = HC_U8;
    rows[1].clip = 1e39;
    rows[2].rate = -1;
    rows[3].eps = 1e300;
    rows[4].weight_decay = 1e300;
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(hc_recipe_check(&rows[i]), HC_INVALID, "%s", lines[i]);
        cr_assert_not_null(strstr(hc_message(), lines[i]), "%s", hc_message());
    }
}
