/* The matrices of quantised convolutions in fp64, beside the ops of a backend on numbers that both
   hold. */
#include <criterion/criterion.h>
#include <math.h>

#include "train/drift/drift.h"
#include "train/drift/drift_run.h"
#include "train/drift/drift_rounding.h"
#include "train/net/device.h"

static struct hc_device device;

static void setup(void)
{
    device.backend = hc_backend_by_name("exact");
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
}

static void teardown(void)
{
    hc_device_end(&device);
    device.backend->close(device.queue);
}

/* Column i of Hadamard's matrix is 16 times itself / 4: 4 in row i gives 1 or -1 everywhere, which
   e4m3 holds. Rows and columns of x are as many as those of its transpose. */
Test(drift_matrix, neighbours_are_turned_and_transposed_as_by_quantize, .init = setup,
     .fini = teardown)
{
    float x[HC_HADAMARD * HC_HADAMARD] = {0};
    double wide[HC_HADAMARD * HC_HADAMARD];
    double got[HC_HADAMARD * HC_HADAMARD];
    uint8_t codes[HC_HADAMARD * HC_HADAMARD];
    float one = 1;
    float scale;
    float numbers[2];
    for (int i = 0; i < HC_HADAMARD; i++)
        x[i * HC_HADAMARD + (i * 3 + 5) % HC_HADAMARD] = 4;
    for (int i = 0; i < HC_HADAMARD * HC_HADAMARD; i++)
        wide[i] = (double)x[i];
    for (int how = 0; how < 4; how++) {
        struct hc_tensor narrow = hc_tensor2(HC_FP32, HC_HADAMARD, HC_HADAMARD, x);
        struct hc_call call = {
            .op = HC_OP_quantize,
            .in = {[HC_QUANTIZE_X] = narrow, [HC_QUANTIZE_SCALE] = hc_tensor1(HC_FP32, 1, &one)},
            .out = {[HC_QUANTIZE_CODES] = hc_tensor2(HC_E4M3, HC_HADAMARD, HC_HADAMARD, codes),
                    [HC_QUANTIZE_SCALES] = hc_tensor2(HC_FP32, 1, 1, &scale),
                    [HC_QUANTIZE_TENSOR] = hc_tensor1(HC_FP32, 1, &numbers[0]),
                    [HC_QUANTIZE_AMAX] = hc_tensor1(HC_FP32, 1, &numbers[1])},
            .params.quantize = {.rule = HC_SCALE_GIVEN, .transpose = how & 1, .hadamard = how & 2}};
        cr_assert_eq(hc_device_run(&device, &call), HC_OK, "%s", hc_message());
        call.in[HC_QUANTIZE_X].format = HC_FP64;
        call.in[HC_QUANTIZE_X].data = wide;
        hc_matrix_take(&call, got);
        for (int i = 0; i < HC_HADAMARD * HC_HADAMARD; i++)
            cr_assert_eq(got[i], hc_tensor_get(&call.out[HC_QUANTIZE_CODES], i), "%d: %d", how, i);
    }
}

/* 5 rows and 70 columns in blocks of 2 and 32 leave smaller blocks at both ends. */
Test(drift_matrix, codes_are_decoded_as_by_dequantize, .init = setup, .fini = teardown)
{
    enum { ROWS = 5, COLUMNS = 70, COUNT = ROWS * COLUMNS };
    uint8_t codes[COUNT];
    uint8_t scales[9];
    float tensor = 0.25F;
    float want[COUNT];
    double got[COUNT];
    for (int i = 0; i < COUNT; i++)
        codes[i] = (uint8_t)(i % 16);
    for (int i = 0; i < 9; i++)
        scales[i] = (uint8_t)(0x30 + 5 * i);
    struct hc_call call = {.op = HC_OP_dequantize,
                           .in = {[HC_DEQUANTIZE_CODES] = hc_tensor2(HC_E2M1, ROWS, COLUMNS, codes),
                                  [HC_DEQUANTIZE_SCALES] = hc_tensor2(HC_UE4M3, 3, 3, scales),
                                  [HC_DEQUANTIZE_TENSOR] = hc_tensor1(HC_FP32, 1, &tensor)},
                           .out = {[HC_DEQUANTIZE_Y] = hc_tensor2(HC_FP32, ROWS, COLUMNS, want)},
                           .params.dequantize = {2, 32}};
    struct hc_call quantize = {
        .op = HC_OP_quantize,
        .out = {[HC_QUANTIZE_CODES] = call.in[HC_DEQUANTIZE_CODES],
                [HC_QUANTIZE_SCALES] = call.in[HC_DEQUANTIZE_SCALES],
                [HC_QUANTIZE_TENSOR] = call.in[HC_DEQUANTIZE_TENSOR]},
        .params.quantize = {.rule = HC_SCALE_NVFP4_TE, .rows = 2, .columns = 32}};
    cr_assert_eq(hc_device_run(&device, &call), HC_OK, "%s", hc_message());
    hc_matrix_decode(&quantize, got);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(got[i], (double)want[i], "%d", i);
}

/* Small integers, of which fp32 holds every sum. */
Test(drift_matrix, columns_are_gathered_and_scattered_as_by_im2col_and_col2im, .init = setup,
     .fini = teardown)
{
    enum { N = 2, H = 5, W = 7, C = 3, MOST = N * H * W * 25 * C };
    static const struct hc_columns filters[] = {
        {1, 1, 0}, {3, 1, 1}, {3, 2, 1}, {2, 3, 0}, {5, 2, 2}};
    static float x[MOST];
    static float columns[MOST];
    static double wide[MOST];
    static double got[MOST];
    for (size_t f = 0; f < sizeof filters / sizeof filters[0]; f++) {
        const struct hc_columns *p = &filters[f];
        int64_t pixels = (int64_t)N * ((H + 2 * p->pad - p->kernel) / p->stride + 1) *
                         ((W + 2 * p->pad - p->kernel) / p->stride + 1);
        int64_t taps = (int64_t)p->kernel * p->kernel * C;
        for (int i = 0; i < MOST; i++)
            x[i] = (float)(wide[i] = i % 101 - 50);
        struct hc_call call = {
            .op = HC_OP_im2col,
            .in = {[HC_IM2COL_X] = hc_tensor4(HC_FP32, N, H, W, C, x)},
            .out = {[HC_IM2COL_COLUMNS] = hc_tensor2(HC_FP32, pixels, taps, columns)},
            .params.columns = *p};
        cr_assert_eq(hc_device_run(&device, &call), HC_OK, "%s", hc_message());
        call.in[HC_IM2COL_X].data = wide;
        call.out[HC_IM2COL_COLUMNS].data = got;
        hc_matrix_gather(&call);
        for (int64_t i = 0; i < pixels * taps; i++)
            cr_assert_eq(got[i], (double)columns[i], "filter %zu: %lld", f, (long long)i);
        call = (struct hc_call){
            .op = HC_OP_col2im,
            .in = {[HC_COL2IM_COLUMNS] = hc_tensor2(HC_FP32, pixels, taps, columns)},
            .out = {[HC_COL2IM_DX] = hc_tensor4(HC_FP32, N, H, W, C, x)},
            .params.columns = *p};
        cr_assert_eq(hc_device_run(&device, &call), HC_OK, "%s", hc_message());
        call.in[HC_COL2IM_COLUMNS].data = got;
        call.out[HC_COL2IM_DX].data = wide;
        call.out[HC_COL2IM_DX].format = HC_FP64;
        hc_matrix_scatter(&call);
        for (int i = 0; i < N * H * W * C; i++)
            cr_assert_eq(wide[i], (double)x[i], "filter %zu: %d", f, i);
    }
}

/* What quantising does to operands, on numbers made by hand, and in a recipe's run. */

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

/* Drift of recipes below half: all sources together are the recipe, and each operand's quantisation
   is a source. */

static struct hc_dataset set;

static struct hc_drift_study *study_on(const char *backend, int steps)
{
    struct hc_drift_study *study;
    struct hc_data_options data = {.seed = 1, .train_per_class = 2, .test_per_class = 1};
    cr_assert_eq(hc_dataset_open(&data, &set), HC_OK);
    struct hc_drift_options options = {.network = &hc_darknet_tiny,
                                       .data = &set,
                                       .backend = hc_backend_by_name(backend),
                                       .threads = 1,
                                       .batch = 4,
                                       .steps = steps,
                                       .lr = 3e-4,
                                       .seed = 1};
    cr_assert_eq(hc_drift_open(&study, &options), HC_OK, "%s", hc_message());
    return study;
}

static void end(struct hc_drift_study *study)
{
    hc_drift_close(study);
    hc_dataset_close(&set);
}

static struct hc_drift measured(struct hc_drift_study *study, const struct hc_recipe *recipe)
{
    struct hc_drift drift;
    cr_assert_eq(hc_drift_measure(study, recipe, &drift), HC_OK, "%s", hc_message());
    return drift;
}

static void expect_nothing_left(const struct hc_drift *d)
{
    const char *name = d->recipe->name;
    cr_expect(d->all.error > 0 && d->free > 0, "%s", name);
    cr_expect_eq(d->residual_gradient, 0, "%s: %g of %g", name, d->residual_gradient, d->all.error);
    cr_expect_eq(d->residual_free, 0, "%s: %g of %g", name, d->residual_free, d->free);
}

/* Each operand makes a part of the drift by itself. An operand that is transposed or turned in one
   place and not in another gives a gradient that has nothing to do with that of fp64: their
   distance is about 1.4 times its length. What decoded numbers give in fp64 is what their codes
   give in fp32, up to a leaky ReLU or two that fall on the other side of 0. */
static void expect_sources(const struct hc_drift *d)
{
    double all = d->alone_gradient[HC_SOURCE_COUNT];
    for (int role = 0; role <= HC_QUANT_OF_DY; role++) {
        double alone = d->alone_gradient[HC_SOURCE_CODES + role];
        cr_expect(alone > 0.01 && alone < 0.95, "%s: %s %g", d->recipe->name,
                  hc_source_names[HC_SOURCE_CODES + role], alone);
        cr_expect_neq(d->without_gradient[HC_SOURCE_CODES + role], all, "%s", d->recipe->name);
        cr_expect(d->alone_free[HC_SOURCE_CODES + role] > 0, "%s", d->recipe->name);
    }
    cr_expect_lt(d->alone_gradient[HC_SOURCE_ACCUMULATION], 1e-5, "%s", d->recipe->name);
    cr_expect_lt(fabs(d->without_gradient[HC_SOURCE_ACCUMULATION] - all), 0.05 * all,
                 "%s: %g of %g", d->recipe->name, d->without_gradient[HC_SOURCE_ACCUMULATION], all);
}

/* The fp64 run makes the recipe's calls, with the same scales, random bits and transposes. The
   second pass has scales that the first one left behind. */
Test(drift_quant, all_sources_together_are_the_recipe_below_half)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    struct hc_drift_study *study = study_on("host", 2);
    for (int i = 0; i < n; i++)
        if (recipes[i].quant != HC_BY_NONE) {
            struct hc_drift d = measured(study, &recipes[i]);
            expect_nothing_left(&d);
            expect_sources(&d);
        }
    end(study);
}

/* Sums over columns are taken in another order than those of a convolution, also where nothing is
   quantised; and masters may be in half, as filters are then. */
Test(drift_quant, all_sources_together_are_other_recipes_by_im2col)
{
    static const struct {
        const char *recipe;
        int quant;
    } others[] = {{"fp32", HC_BY_IM2COL},         {"amp-bf16", HC_BY_IM2COL},
                  {"adamw16", HC_BY_MXFP8_FLOOR}, {"fp32", HC_BY_NVFP4_NO_RHT},
                  {"bf16-pure", HC_BY_IM2COL},    {"amp", HC_BY_NVFP4_1D}};
    struct hc_drift_study *study = study_on("host", 1);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct hc_recipe recipe = *hc_recipe_by_name(others[i].recipe);
        recipe.quant = others[i].quant;
        struct hc_drift d = measured(study, &recipe);
        expect_nothing_left(&d);
        bool codes = d.alone_gradient[HC_SOURCE_CODES] != 0;
        cr_expect_eq(codes, others[i].quant != HC_BY_IM2COL, "%s", recipe.name);
    }
    end(study);
}

/* The shards of a step have random bits of their own, as its passes have. */
Test(drift_quant, all_sources_together_are_the_recipe_over_ranks)
{
    struct hc_drift_study *study;
    struct hc_data_options data = {.seed = 1, .train_per_class = 4, .test_per_class = 1};
    cr_assert_eq(hc_dataset_open(&data, &set), HC_OK);
    struct hc_drift_options options = {.network = &hc_darknet_tiny,
                                       .data = &set,
                                       .backend = hc_backend_by_name("host"),
                                       .threads = 1,
                                       .batch = 8,
                                       .ranks = 2,
                                       .steps = 2,
                                       .lr = 3e-4,
                                       .seed = 1};
    cr_assert_eq(hc_drift_open(&study, &options), HC_OK, "%s", hc_message());
    struct hc_drift d = measured(study, hc_recipe_by_name("nvfp4"));
    expect_nothing_left(&d);
    end(study);
}

/* H100's unit takes codes of 8 bits, and its sums are a source: against sums in fp32 of the decoded
   numbers. It keeps fewer bits of them; where that moves a number into another code, what follows
   moves by a sixteenth of it. */
Test(drift_quant, the_unit_that_takes_codes_is_a_source)
{
    struct hc_drift_study *study = study_on("sim-h100", 1);
    static const char *const recipes[] = {"fp8-te-current", "fp8-te-block", "mxfp8-floor"};
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
        struct hc_drift d = measured(study, hc_recipe_by_name(recipes[i]));
        expect_nothing_left(&d);
        cr_expect(d.unit && d.alone_gradient[HC_SOURCE_UNIT] > 0 &&
                      d.alone_gradient[HC_SOURCE_UNIT] < 0.95,
                  "%s: %g", recipes[i], d.alone_gradient[HC_SOURCE_UNIT]);
    }
    struct hc_recipe wide = *hc_recipe_by_name("fp32");
    wide.quant = HC_BY_TE_CURRENT;
    cr_expect(measured(study, &wide).unit);
    end(study);
}
