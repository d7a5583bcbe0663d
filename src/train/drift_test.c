/* Drift: fp64 does not drift from itself; a format put into one source is found in that source; all
   sources together give a recipe's own error. */
#include "train/drift.h"

#include <criterion/criterion.h>
#include <math.h>

static struct hc_drift measured(const char *recipe, int steps)
{
    struct hc_drift drift;
    struct hc_dataset set;
    struct hc_data_options data = {.seed = 1, .train_per_class = 2, .test_per_class = 1};
    cr_assert_eq(hc_dataset_open(&data, &set), HC_OK);
    struct hc_drift_options options = {.network = &hc_darknet_tiny,
                                       .data = &set,
                                       .backend = hc_backend_by_name("host"),
                                       .threads = 1,
                                       .batch = 4,
                                       .steps = steps,
                                       .lr = 3e-4,
                                       .seed = 1};
    cr_assert_eq(hc_drift_measure(&options, hc_recipe_by_name(recipe), &drift), HC_OK, "%s",
                 hc_message());
    hc_dataset_close(&set);
    return drift;
}

Test(drift, fp64_does_not_drift_from_itself)
{
    struct hc_drift d = measured("fp64", 2);
    cr_expect_eq(d.all.error, 0);
    cr_expect_eq(d.all.lost, 0);
    cr_expect_eq(d.free, 0);
    for (int k = 0; k <= HC_SOURCE_COUNT; k++)
        cr_expect(d.alone_gradient[k] == 0 && d.alone_free[k] == 0);
}

/* u of fp32 is 2^-24, of half 2^-11. */
Test(drift, each_source_of_half_shows_and_fp32_is_thousands_of_times_closer)
{
    struct hc_drift half = measured("fp16-pure", 1);
    struct hc_drift single = measured("fp32", 1);
    cr_expect(half.all.error > 1e3 * single.all.error);
    for (int k = 0; k < HC_SOURCE_STATE; k++)
        cr_expect(half.alone_gradient[k] > 0 && half.alone_gradient[k] < 1, "source %d", k);
    cr_expect_eq(half.alone_gradient[HC_SOURCE_MASTER], 0);
    cr_expect(half.alone_free[HC_SOURCE_MASTER] > 0);
}

/* The recipe's error comes out of its formats: within a factor of 2, where alone the largest source of
   another format would be a thousand times off. */
Test(drift, all_sources_together_explain_the_error)
{
    static const char *const recipes[] = {"fp32", "amp", "amp-bf16"};
    for (int i = 0; i < 3; i++) {
        struct hc_drift d = measured(recipes[i], 1);
        double ratio = d.alone_gradient[HC_SOURCE_COUNT] / d.all.error;
        cr_expect(ratio > 0.5 && ratio < 2, "%s: %g", recipes[i], ratio);
    }
}
