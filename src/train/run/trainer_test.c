#include <math.h>
#include <string.h>

#include "train/run/testing.h"

TestSuite(trainer, .init = open_data, .fini = remove_folder);

/* 5 steps an epoch; checkpoints after steps 3, 5, 6, 9, 10. Killed after step 7, with a row of
   steps.csv that the last checkpoint does not know, and gone on with in another call. */
Test(trainer, a_killed_run_resumes_to_the_same_bits)
{
    static const char *const recipes[] = {"amp", "adamw16", "fp32"};
    static unsigned char want[1 << 20];
    static unsigned char got[1 << 20];
    static unsigned char want_steps[1 << 17];
    static unsigned char got_steps[1 << 17];
    for (int r = 0; r < (getenv("HALFCHECK_SHORT_TESTS") ? 1 : 3); r++) {
        struct hc_train_result result;
        struct hc_train_options o = options(recipes[r]);
        o.checkpoint_every = 3;
        cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
        cr_assert_eq(result.steps, 10);
        size_t size = read_file("checkpoint", want, sizeof want);
        size_t steps = read_file("steps.csv", want_steps, sizeof want_steps);
        train_and_be_killed(o);
        o.resume = true;
        cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
        cr_assert(result.finished);
        cr_assert_eq(read_file("checkpoint", got, sizeof got), size);
        cr_assert_eq(read_file("steps.csv", got_steps, sizeof got_steps), steps);
        cr_assert_arr_eq(got_steps, want_steps, steps, "%s", recipes[r]);
        cr_assert_arr_eq(got, want, size, "%s", recipes[r]);
    }
}

Test(trainer, a_checkpoint_of_another_recipe_is_refused)
{
    struct hc_train_result result;
    struct hc_train_options o = options("fp32");
    o.epochs = 1;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    o.recipe = hc_recipe_by_name("amp-bf16");
    o.resume = true;
    cr_assert_eq(hc_train(&o, &result), HC_INVALID);
    cr_assert(strstr(hc_message(), "recipe"), "%s", hc_message());
}

Test(trainer, a_run_that_learns_says_so_and_one_that_does_not_says_why)
{
    struct hc_train_result result;
    struct hc_train_options o = options("fp32");
    o.out = NULL;
    o.epochs = 10;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert(result.learned, "%s", result.reason);
    cr_assert_str_empty(result.reason);

    o.max_lr = 1e-12;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert(result.finished);
    cr_assert_not(result.learned);
    cr_assert(strstr(result.reason, "is not below 0.9 ln(classes) = 2.072"), "%s", result.reason);

    o.recipe = hc_recipe_by_name("fp16-pure");
    o.max_lr = 3e-3;
    o.epochs = 21;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert(result.finished);
    cr_assert_not(result.learned);
    cr_assert(result.reason[0]);
}

/* Rows "first,labels,predicted": which of the digits are equal must be the accuracy. */
Test(trainer, the_class_of_each_test_image_is_written_at_the_end_and_agrees_with_the_accuracy)
{
    static unsigned char rows[1 << 12];
    static const char *const recipes[] = {"fp32", "amp-bf16"};
    for (int r = 0; r < 2; r++) {
        struct hc_train_result result;
        struct hc_train_options o = options(recipes[r]);
        o.epochs = 3;
        cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
        rows[read_file("predictions.csv", rows, sizeof rows - 1)] = '\0';
        char labels[101];
        char predicted[101];
        int right = 0;
        cr_assert_eq(sscanf((const char *)rows, "first,labels,predicted 0,%100[0-9],%100[0-9-]",
                            labels, predicted),
                     2, "%s", rows);
        cr_assert_eq(strlen(labels), 40);
        cr_assert_eq(strlen(predicted), 40);
        for (int i = 0; i < 40; i++) {
            cr_assert_eq(labels[i] - '0', data.test.labels[i]);
            right += labels[i] == predicted[i];
        }
        cr_assert_float_eq((double)right / 40, result.accuracy, 1e-12);
    }
}

/* The loss is not finite from the first step on, and so are all logits. */
Test(trainer, an_image_whose_logits_are_nan_has_no_class)
{
    static unsigned char rows[1 << 12];
    struct hc_train_result result;
    struct hc_train_options o = options("fp16-pure");
    o.epochs = 3;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    rows[read_file("predictions.csv", rows, sizeof rows - 1)] = '\0';
    cr_assert_not_null(strstr((const char *)rows, ",----------------------------------------\n"),
                       "%s", rows);
}

/* 2^40 + 2^20 is an fp32 number whose nine first digits are another one's in fp64. */
Test(trainer, steps_have_their_scales_exactly)
{
    static unsigned char rows[1 << 15];
    struct hc_train_result result;
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    struct hc_train_options o = options("amp");
    recipe.scaler.initial = 0x1.00001p40F;
    o.recipe = &recipe;
    o.epochs = 1;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    rows[read_file("steps.csv", rows, sizeof rows - 1)] = '\0';
    const char *row = strstr((const char *)rows, "\n0,0,");
    cr_assert_not_null(row);
    const char *scale = strchr(row + 5, ',') + 1;
    cr_assert_eq(strtod(scale, NULL), 0x1.00001p40, "%.40s", scale);
}

static bool stop_at_three(const struct hc_progress *progress, void *context)
{
    ++*(int *)context;
    return progress->step < 3;
}

Test(trainer, progress_can_stop_it)
{
    struct hc_train_result result;
    struct hc_train_options o = options("fp32");
    int calls = 0;
    o.progress = stop_at_three;
    o.context = &calls;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert_eq(calls, 3);
    cr_assert_eq(result.steps, 3);
    cr_assert_not(result.finished);
    cr_assert(isnan(result.accuracy));
}

Test(trainer, a_full_disk_ends_it_with_the_files_name)
{
    struct hc_train_result result;
    struct hc_train_options o = options("fp32");
    char path[200];
    char want[300];
    (void)snprintf(path, sizeof path, "%s/steps.csv", folder);
    (void)snprintf(want, sizeof want, "%s: No space left on device", path);
    cr_assert_eq(symlink("/dev/full", path), 0);
    cr_assert_eq(hc_train(&o, &result), HC_IO);
    cr_assert_str_eq(hc_message(), want);
}

/* DeepSpeed's rule under ZeRO: at its floor it raises, at the second overflow in a row. */
Test(trainer, a_scaler_that_gives_up_ends_the_run_and_says_so)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    struct hc_train_options o = options("amp");
    recipe.scaler = (struct hc_scaler){.rule = HC_SCALER_DEEPSPEED_0171, .initial = 1};
    o.recipe = &recipe;
    o.max_lr = 1e6;
    o.out = NULL;
    struct hc_train_result result;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert(result.finished && !result.learned);
    cr_assert_not_null(strstr(result.reason, "the scaler gave up by step"), "%s", result.reason);
    cr_assert_eq(result.final_scale, 1);
}
