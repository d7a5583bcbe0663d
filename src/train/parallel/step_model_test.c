#include "train/parallel/step_model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "train/update/recipe_fields.h"

static struct hc_plan plan;
static struct hc_recipe recipe;
static char name[HC_RECIPE_NAME];

/* Links without latency, and of 1 GB/s. */
static const struct hc_protocol instant[] = {{"instant", 0, 0, 0, 1, HUGE_VAL, HUGE_VAL}};
static const struct hc_cluster plain = {
    .gpus = 64, .inside = 1e9, .across = 1e9, .cards = 1, .protocols = instant, .n = 1};

static struct hc_step_time time_of(const char *text, int ranks, double alone)
{
    struct hc_step_time time;
    hc_plan_make(&hc_darknet16, 10, &plan);
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    struct hc_step_model model = {&recipe, &plan, &plain, ranks, alone};
    cr_assert_eq(hc_step_model(&model, &time), HC_OK);
    return time;
}

Test(step_model, counts_the_gradients_and_products_of_the_plan)
{
    struct hc_gradient gradients[3 * HC_MAX_LAYERS];
    int64_t macs[HC_MAX_LAYERS];
    int64_t elements = 0;
    int64_t products = 0;
    (void)time_of("amp", 1, 1);
    int n = hc_step_model_gradients(&recipe, &plan, gradients, 3 * HC_MAX_LAYERS, macs);
    cr_assert_eq(n, plan.parameters);
    for (int i = 0; i < n; i++)
        elements += gradients[i].count;
    for (int l = 0; l < plan.layers; l++)
        products += macs[l];
    cr_expect_eq(elements, plan.weights + plan.norm_weights);
    cr_expect_eq(products, plan.macs);
}

Test(step_model, one_gpu_needs_its_own_time)
{
    struct hc_step_time time = time_of("amp+wrapper=torch-ddp", 1, 0.25);
    cr_expect_eq(time.step, 0.25);
    cr_expect_eq(time.in_turns, 0.25);
    cr_expect_eq(time.sent.bytes, 0);
}

/* All gradients in fp32 by links of 1 GB/s: 2 (R - 1) / R of their bytes, up to a chunk's. */
Test(step_model, what_is_sent_takes_its_time)
{
    struct hc_step_time time = time_of("amp", 8, 1);
    int64_t bytes = 4 * (plan.weights + plan.norm_weights);
    cr_expect_eq(time.bytes, bytes);
    cr_expect_float_eq(time.reduction, 1.75 * (double)bytes / 1e9, 1e-6);
    cr_expect_float_eq((double)time.sent.bytes, 1.75 * (double)bytes, 64);
}

/* One bucket is ready when the backward pass ends; nothing is hidden. */
Test(step_model, one_bucket_hides_nothing)
{
    struct hc_step_time time = time_of("fp32", 8, 1);
    cr_expect_eq(time.buckets, 1);
    cr_expect_float_eq(time.step, time.in_turns, 1e-12);
}

/* All but the last bucket is hidden where the step is long; where it is short, nothing is but the
   time up to the first bucket. */
Test(step_model, buckets_hide_behind_the_backward_pass)
{
    struct hc_step_time few = time_of("fp32+wrapper=torch-ddp", 8, 100);
    struct hc_step_time whole = time_of("fp32", 8, 100);
    cr_expect_gt(few.buckets, 1);
    cr_expect_lt(few.step, whole.step);
    cr_expect_gt(few.step, 100);
    few = time_of("fp32+wrapper=torch-ddp", 8, 1e-9);
    cr_expect_float_eq(few.step, few.reduction, 1e-9);
    cr_expect_leq(few.step, few.in_turns);
}

/* Half of the bytes. */
Test(step_model, sixteen_bits_are_half_as_many_bytes)
{
    int64_t whole = time_of("amp+wrapper=torch-ddp", 8, 1).bytes;
    int64_t half = time_of("amp+wrapper=torch-ddp+reduce=fp16", 8, 1).bytes;
    cr_expect_eq(2 * half, whole);
}
