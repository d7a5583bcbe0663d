/* What quantising does to operands, on numbers made by hand, and in a recipe's run. */
#include <criterion/criterion.h>
#include <math.h>

#include "train/drift/drift_operands.h"

/* In e2m1 under scales 2 and 1/4, and a second factor of 1/2: 6 is the largest number. The second
   row has a block of zeros, whose scale counts for nothing. */
Test(drift_operands, shares_scales_and_errors_are_those_of_the_numbers)
{
    static struct hc_drift_operands operands;
    float x[] = {6, -7, 0.125F, 0, 0.25F, 0, 0, 0};
    uint8_t codes[] = {7, 8 + 7, 1, 0, 4, 0, 0, 0};
    float scales[] = {2, 0.25F, 0.25F, 99};
    float tensor = 0.5F;
    double decoded[] = {6, -6, 0.0625, 0, 0.25, 0, 0, 0};
    struct hc_call call = {.op = HC_OP_quantize,
                           .in = {[HC_QUANTIZE_X] = hc_tensor2(HC_FP32, 2, 4, x)},
                           .out = {[HC_QUANTIZE_CODES] = hc_tensor2(HC_E2M1, 2, 4, codes),
                                   [HC_QUANTIZE_SCALES] = hc_tensor2(HC_FP32, 2, 2, scales),
                                   [HC_QUANTIZE_TENSOR] = hc_tensor1(HC_FP32, 1, &tensor)},
                           .params.quantize = {.rows = 1, .columns = 2}};
    hc_drift_operands_clear(&operands);
    cr_assert_eq(hc_drift_operands_see(&operands, 3, HC_QUANT_OF_W, &call), HC_OK);
    codes[4] = 0;
    decoded[4] = 0;
    cr_assert_eq(hc_drift_operands_see(&operands, 3, HC_QUANT_OF_W, &call), HC_OK);
    call.params.quantize.transpose = true; /* is not looked at */
    cr_assert_eq(hc_drift_operands_see(&operands, 3, HC_QUANT_OF_W, &call), HC_OK);
    struct hc_drift_operand got = hc_drift_operand_of(&operands, 3, HC_QUANT_OF_W);
    double off = 0;
    double all = 0;
    for (int i = 0; i < 8; i++) {
        double was = (double)x[i];
        off += 2 * (decoded[i] - was) * (decoded[i] - was);
        all += 2 * was * was;
    }
    off -= (decoded[4] - 0.25) * (decoded[4] - 0.25);
    cr_expect_float_eq(got.error, sqrt(off / all), 1e-15);
    cr_expect_eq(got.at_max, 4.0 / 16);
    cr_expect_eq(got.flushed, 1.0 / 16);
    cr_expect_eq(got.least_scale, 0.125);
    cr_expect_eq(got.most_scale, 1);
    cr_expect(isnan(hc_drift_operand_of(&operands, 3, HC_QUANT_OF_X).at_max));
    cr_expect(isnan(hc_drift_operand_of(&operands, -1, HC_QUANT_OF_W).error));
}

/* Each layer but the first and the last is quantised. A number above the subnormal ones is off by
   a 16th of itself at most in e4m3, and by an 8th in e5m2. The largest number of a tensor has the
   largest code; delayed scales are 1 at the first step. */
Test(drift_operands, a_recipe_has_them_in_each_quantised_layer)
{
    struct hc_drift_study *study;
    struct hc_drift d;
    struct hc_dataset set;
    struct hc_data_options data = {.seed = 1, .train_per_class = 2, .test_per_class = 1};
    cr_assert_eq(hc_dataset_open(&data, &set), HC_OK);
    struct hc_drift_options options = {.network = &hc_darknet_tiny,
                                       .data = &set,
                                       .backend = hc_backend_by_name("host"),
                                       .threads = 1,
                                       .batch = 4,
                                       .steps = 1,
                                       .lr = 3e-4,
                                       .seed = 1};
    cr_assert_eq(hc_drift_open(&study, &options), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_drift_measure(study, hc_recipe_by_name("fp8-te-current"), &d), HC_OK);
    cr_expect(isnan(d.operand[0][HC_QUANT_OF_X].error));
    for (int role = 0; role <= HC_QUANT_OF_DY; role++) {
        const struct hc_drift_operand *o = &d.operand[1][role];
        cr_expect(o->error > 0 && o->error < (role == HC_QUANT_OF_DY ? 0.125 : 0.0625), "%g",
                  o->error);
        cr_expect(o->at_max > 0 && o->at_max < 0.1, "%g", o->at_max);
        cr_expect_eq(o->least_scale, o->most_scale);
    }
    cr_assert_eq(hc_drift_measure(study, hc_recipe_by_name("fp8-te-delayed"), &d), HC_OK);
    cr_expect_eq(d.operand[1][HC_QUANT_OF_X].most_scale, 1);
    cr_expect(d.operand[1][HC_QUANT_OF_DY].flushed > 0);
    cr_assert_eq(hc_drift_measure(study, hc_recipe_by_name("amp-bf16"), &d), HC_OK);
    cr_expect(isnan(d.operand[1][HC_QUANT_OF_X].error));
    hc_drift_close(study);
    hc_dataset_close(&set);
}
