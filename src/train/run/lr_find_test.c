#include "train/run/lr_find.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct hc_lr_point points[100];

/* Smoothed losses at the rates 1, 2, 4, ... */
static struct hc_lr_found suggest(const double *losses, int n)
{
    struct hc_lr_found found = {0};
    for (int i = 0; i < n; i++)
        points[i] = (struct hc_lr_point){.lr = ldexp(1, i), .smooth = losses[i]};
    hc_lr_suggest(points, n, &found);
    return found;
}

/* numpy.gradient of what is left, 5 5 4 1 0 1 9, is 0 -0.5 -2 -2 0 4.5 8; argmin takes the first.
   */
Test(lr_find, suggests_what_fastai_does)
{
    static const double losses[] = {99, 98, 97, 96, 95, 1, 0, 0, 0,  0, 5,
                                    5,  4,  1,  0,  1,  9, 1, 0, -1, 0, 0};
    struct hc_lr_found found = suggest(losses, 22);
    cr_assert_eq(found.steepest, 0x1p12);
    cr_assert_eq(found.tenth, 0x1p14 / 10);
    found = suggest(losses, 17); /* 5 5 is left: no fall, and the first is least */
    cr_assert_eq(found.steepest, 0x1p10);
    cr_assert_eq(found.tenth, 0x1p10 / 10);
    found = suggest(losses, 16);
    cr_assert(isnan(found.steepest) && isnan(found.tenth));
    found = suggest(losses, 1);
    cr_assert(isnan(found.steepest) && isnan(found.tenth));
}

/* At an end the difference is one-sided: numpy.gradient of 9 5 5 5 is -4 -2 0 0. */
Test(lr_find, looks_at_the_ends_from_one_side)
{
    static const double losses[19] = {[10] = 9, [11] = 5, [12] = 5, [13] = 5};
    cr_assert_eq(suggest(losses, 19).steepest, 0x1p10);
}

/* It falls from 9 to 2 when it has run away already. */
Test(lr_find, a_fall_after_the_least_loss_suggests_nothing)
{
    static const double losses[] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 5, 4,
                                    2, 1, 3, 9, 9, 2, 3, 9, 9, 9, 9};
    struct hc_lr_found found = suggest(losses, 23);
    cr_assert_eq(found.steepest, 0x1p11);
    cr_assert_eq(found.tenth, 0x1p13 / 10);
}

static struct hc_dataset data;
static int shown;

static void open_data(void)
{
    struct hc_data_options options = {.seed = 5, .train_per_class = 8, .test_per_class = 4};
    cr_assert_eq(hc_dataset_open(&options, &data), HC_OK, "%s", hc_message());
}

static void close_data(void)
{
    hc_dataset_close(&data);
}

static bool show(const struct hc_progress *progress, void *context)
{
    cr_assert_eq(progress->steps, *(const int *)context);
    shown++;
    return true;
}

/* A training of five batches an epoch. */
static struct hc_lr_found find(const char *recipe, const struct hc_lr_range *range)
{
    struct hc_lr_found found;
    struct hc_train_options options = {.recipe = hc_recipe_by_name(recipe),
                                       .network = &hc_darknet_tiny,
                                       .data = &data,
                                       .backend = hc_backend_by_name("host"),
                                       .threads = 1,
                                       .batch = 16,
                                       .seed = 11,
                                       .progress = show};
    int steps = range->steps;
    options.context = &steps;
    shown = 0;
    cr_assert_eq(hc_lr_find(&options, range, points, &found), HC_OK, "%s", hc_message());
    return found;
}

Test(lr_find, raises_the_rate_by_a_factor_each_step, .init = open_data, .fini = close_data)
{
    struct hc_lr_range range = {1e-7, 1e-3, 12};
    struct hc_lr_found found = find("fp32", &range);
    double mean = 0;
    double weight = 0;
    cr_assert_eq(found.points, 12);
    cr_assert_eq(shown, 12);
    cr_assert_not(found.diverged);
    for (int i = 0; i < 12; i++) {
        cr_assert_float_eq(points[i].lr, pow(10, -7 + 4.0 * i / 12), 1e-12 * points[i].lr);
        mean = 0.98 * mean + 0.02 * points[i].loss;
        weight = 0.98 * weight + 0.02;
        cr_assert_float_eq(points[i].smooth, mean / weight, 1e-12);
    }
}

/* Nothing moves at rates of nothing, so that the losses are the batches' own; a rate of 1e10 throws
   every weight away at once. */
Test(lr_find, stops_where_the_loss_runs_away, .init = open_data, .fini = close_data)
{
    struct hc_lr_range range = {1e-10, 1e10, 20};
    struct hc_lr_found found = find("fp32", &range);
    cr_assert(found.diverged);
    cr_assert(found.points > 5 && found.points < 20, "%d", found.points);
    double best = (double)INFINITY;
    for (int i = 0; i < found.points; i++) {
        double smooth = points[i].smooth;
        best = fmin(best, smooth);
        cr_assert_eq(i == found.points - 1, isnan(smooth) || smooth > 4 * best);
    }
}

Test(lr_find, a_loss_that_is_not_a_number_ends_it, .init = open_data, .fini = close_data)
{
    struct hc_lr_found found = find("fp16-pure", &hc_lr_usual); /* Adam's eps is 0 in half */
    cr_assert(found.diverged);
    cr_assert(found.points < 4, "%d", found.points);
    cr_assert(isnan(found.steepest));
}

Test(lr_find, is_written_as_rows_and_says_when_it_cannot)
{
    char path[] = "/tmp/halfcheck-lr-XXXXXX";
    char line[100];
    int descriptor = mkstemp(path);
    cr_assert(descriptor >= 0 && close(descriptor) == 0);
    points[0] = (struct hc_lr_point){1e-7, 2.5, 2.5, 65536, 0};
    points[1] = (struct hc_lr_point){2e-7, 3, -(double)NAN, 32768, 1};
    cr_assert_eq(hc_lr_write(path, points, 2), HC_OK);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    static const char *const want[] = {"step,lr,loss,smooth,scale,skipped\n",
                                       "0,1e-07,2.5,2.5,65536,0\n", "1,2e-07,3,nan,32768,1\n"};
    for (int i = 0; i < 3; i++) {
        cr_assert_not_null(fgets(line, sizeof line, file));
        cr_assert_eq(strcmp(line, want[i]), 0, "%s", line);
    }
    cr_assert_null(fgets(line, sizeof line, file));
    (void)fclose(file);
    (void)unlink(path);
    cr_assert_eq(hc_lr_write("/dev/full", points, 2), HC_IO);
    cr_assert_eq(strcmp(hc_message(), "cannot write /dev/full: No space left on device"), 0, "%s",
                 hc_message());
    cr_assert_eq(hc_lr_write("/nowhere/lr_find.csv", points, 2), HC_IO);
}
