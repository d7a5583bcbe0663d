#include "train/data/data.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(data, classes_are_labelled_in_the_order_named)
{
    struct hc_dataset set;
    struct hc_data_options options = {.classes = "dog,airplane", .train_per_class = 3};
    cr_assert_eq(hc_dataset_open(&options, &set), HC_OK);
    cr_assert_eq(set.classes, 2);
    cr_assert_str_eq(set.names[0], "dog");
    cr_assert_str_eq(set.names[1], "airplane");
    cr_assert_eq(set.train.count, 6);
    cr_assert_eq(set.test.count, 200);
    hc_dataset_close(&set);
}

Test(data, unknown_doubled_single_and_empty_classes_are_refused)
{
    static const char *const bad[][2] = {{"airplane,dgo", "unknown class \"dgo\""},
                                         {"airplane,", "an element is empty"},
                                         {"", "an element is empty"},
                                         {"air", "unknown class \"air\""},
                                         {"airplanes,dog", "unknown class \"airplanes\""},
                                         {"dog,dog", "named twice"},
                                         {"dog", "two or more"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hc_dataset set;
        struct hc_data_options options = {.classes = bad[i][0]};
        cr_assert_eq(hc_dataset_open(&options, &set), HC_INVALID);
        cr_assert_not_null(strstr(hc_message(), bad[i][1]), "%s", hc_message());
        hc_dataset_close(&set);
    }
}

Test(data, held_out_images_are_the_last_of_each_class_and_are_not_trained_on)
{
    struct hc_dataset whole;
    struct hc_dataset parted;
    struct hc_data_options options = {.seed = 5, .train_per_class = 7, .test_per_class = 2};
    cr_assert_eq(hc_dataset_open(&options, &whole), HC_OK);
    options.hold_out_per_class = 3;
    cr_assert_eq(hc_dataset_open(&options, &parted), HC_OK);
    cr_assert_eq(parted.train.count, 40);
    cr_assert_eq(parted.test.count, 30);
    cr_assert_not_null(strstr(parted.origin, "held-out"));
    int seen[HC_CLASSES] = {0};
    int64_t at[2] = {0};
    for (int64_t i = 0; i < whole.train.count; i++) {
        int32_t label = whole.train.labels[i];
        int held = seen[label]++ >= 4;
        const struct hc_images *part = held ? &parted.test : &parted.train;
        cr_assert_eq(part->labels[at[held]], label);
        cr_assert_eq(memcmp(part->pixels + at[held]++ * HC_IMAGE_BYTES,
                            whole.train.pixels + i * HC_IMAGE_BYTES, HC_IMAGE_BYTES),
                     0);
    }
    hc_dataset_close(&parted);
    options.hold_out_per_class = 7;
    cr_assert_eq(hc_dataset_open(&options, &parted), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "leaves none of 7"), "%s", hc_message());
    hc_dataset_close(&parted);
    hc_dataset_close(&whole);
}

Test(data, a_synthetic_set_says_so_and_is_its_seeds)
{
    struct hc_dataset one;
    struct hc_dataset same;
    struct hc_dataset other;
    struct hc_data_options options = {.seed = 5, .train_per_class = 4, .test_per_class = 2};
    cr_assert_eq(hc_dataset_open(&options, &one), HC_OK);
    cr_assert_eq(hc_dataset_open(&options, &same), HC_OK);
    options.seed = 6;
    cr_assert_eq(hc_dataset_open(&options, &other), HC_OK);
    cr_assert(one.synthetic);
    cr_assert_not_null(strstr(one.origin, "SYNTHETIC"));
    cr_assert_not_null(strstr(one.origin, "seed 5"));
    cr_assert_eq(one.train.count, 40);
    cr_assert_eq(memcmp(one.train.pixels, same.train.pixels, 40 * HC_IMAGE_BYTES), 0);
    cr_assert_eq(memcmp(one.test.pixels, same.test.pixels, 20 * HC_IMAGE_BYTES), 0);
    cr_assert_neq(memcmp(one.train.pixels, other.train.pixels, 40 * HC_IMAGE_BYTES), 0);
    cr_assert_neq(memcmp(one.train.pixels, one.test.pixels, HC_IMAGE_BYTES), 0);
    hc_dataset_close(&one);
    hc_dataset_close(&same);
    hc_dataset_close(&other);
}

/* Stripes that vary along y survive in the sums over rows, the others in the sums over columns. */
static int varies_down(const uint8_t *pixels)
{
    double along[2] = {0, 0};
    for (int line = 0; line < 32; line++) {
        double rows = 0;
        double columns = 0;
        for (int i = 0; i < 32; i++)
            for (int c = 0; c < 3; c++) {
                rows += pixels[3 * (32 * line + i) + c];
                columns += pixels[3 * (32 * i + line) + c];
            }
        along[0] += columns * columns;
        along[1] += rows * rows;
    }
    return along[1] > along[0];
}

Test(data, the_direction_of_the_stripes_tells_odd_classes_from_even_ones)
{
    struct hc_dataset set;
    struct hc_data_options options = {.seed = 1, .train_per_class = 50};
    int right = 0;
    cr_assert_eq(hc_dataset_open(&options, &set), HC_OK);
    for (int64_t i = 0; i < set.train.count; i++)
        right += varies_down(set.train.pixels + i * HC_IMAGE_BYTES) == set.train.labels[i] % 2;
    cr_assert_gt(right, 490);
    hc_dataset_close(&set);
}

Test(data, a_synthetic_set_is_normalised_by_the_mean_and_deviation_of_cifar_10)
{
    struct hc_dataset set;
    struct hc_data_options options = {.seed = 2, .train_per_class = 100};
    cr_assert_eq(hc_dataset_open(&options, &set), HC_OK);
    for (int c = 0; c < HC_IMAGE_CHANNELS; c++) {
        double sum = 0;
        double squares = 0;
        double n = (double)set.train.count * 1024;
        for (int64_t i = c; i < set.train.count * HC_IMAGE_BYTES; i += HC_IMAGE_CHANNELS) {
            double x = (set.train.pixels[i] / 255.0 - set.mean[c]) / set.deviation[c];
            sum += x;
            squares += x * x;
        }
        cr_assert_float_eq(sum / n, 0, 0.1);
        cr_assert_float_eq(sqrt(squares / n), 1.1, 0.2);
    }
    hc_dataset_close(&set);
}
