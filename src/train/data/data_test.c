#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/data/cifar.h"
#include "train/data/data.h"

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

enum { RECORDS = 20, RECORD = 3073, BYTES = RECORDS * RECORD };

static const char *const files[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                    "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
static const int all[HC_CLASSES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

static char folder[] = "/tmp/halfcheck-cifar-XXXXXX";

static void path_of(const char *name, char path[128])
{
    (void)snprintf(path, 128, "%s/%s", folder, name);
}

static void write_file(const char *name, const void *data, size_t bytes)
{
    char path[128];
    path_of(name, path);
    FILE *f = fopen(path, "wb");
    cr_assert_eq(fwrite(data, 1, bytes, f), bytes);
    cr_assert_eq(fclose(f), 0);
}

/* Byte `at` of plane c of record r of file f. */
static uint8_t content(int f, int r, int c, int at)
{
    return (uint8_t)(7 * f + 31 * r + 101 * c + 3 * at + at / 32);
}

static void make(void)
{
    static uint8_t data[BYTES];
    cr_assert_not_null(mkdtemp(folder));
    write_file("batches.meta.txt",
               "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n", 61);
    for (int f = 0; f < 6; f++) {
        for (int r = 0; r < RECORDS; r++) {
            data[RECORD * r] = (uint8_t)(r % 10);
            for (int i = 0; i < 3072; i++)
                data[RECORD * r + 1 + i] = content(f, r, i / 1024, i % 1024);
        }
        write_file(files[f], data, BYTES);
    }
}

static void remove_all(void)
{
    char path[128];
    for (int f = 0; f < 6; f++) {
        path_of(files[f], path);
        (void)unlink(path);
        (void)rmdir(path);
    }
    path_of("batches.meta.txt", path);
    (void)unlink(path);
    (void)rmdir(folder);
}

TestSuite(cifar, .init = make, .fini = remove_all);

static enum hc_status read_with(const int *label, struct hc_images *train, struct hc_images *test)
{
    *train = (struct hc_images){0};
    *test = (struct hc_images){0};
    return hc_cifar_read(folder, RECORDS, label, train, test);
}

static void release(struct hc_images *train, struct hc_images *test)
{
    free(train->pixels);
    free(train->labels);
    free(test->pixels);
    free(test->labels);
}

static void refuse(enum hc_status want, const char *file, const char *fact)
{
    struct hc_images train;
    struct hc_images test;
    cr_assert_eq(read_with(all, &train, &test), want, "%s", hc_message());
    cr_assert_not_null(strstr(hc_message(), file), "%s", hc_message());
    cr_assert_not_null(strstr(hc_message(), fact), "%s", hc_message());
    release(&train, &test);
}

static void poke(const char *name, long at, int byte)
{
    char path[128];
    path_of(name, path);
    FILE *f = fopen(path, "r+b");
    (void)fseek(f, at, SEEK_SET);
    (void)fputc(byte, f);
    cr_assert_eq(fclose(f), 0);
}

Test(cifar, planes_become_channels_in_the_order_of_the_files)
{
    struct hc_images train;
    struct hc_images test;
    cr_assert_eq(read_with(all, &train, &test), HC_OK, "%s", hc_message());
    cr_assert_eq(train.count, 100);
    cr_assert_eq(test.count, 20);
    for (int i = 0; i < 120; i++) {
        const struct hc_images *images = i < 100 ? &train : &test;
        int at = i < 100 ? i : i - 100;
        cr_assert_eq(images->labels[at], i % 10);
        for (int p = 0; p < 1024; p++)
            for (int c = 0; c < 3; c++)
                cr_assert_eq(images->pixels[3072 * at + 3 * p + c], content(i / 20, i % 20, c, p));
    }
    release(&train, &test);
}

Test(cifar, chosen_classes_get_their_place_as_label)
{
    static const int dog_and_airplane[HC_CLASSES] = {1, -1, -1, -1, -1, 0, -1, -1, -1, -1};
    struct hc_images train;
    struct hc_images test;
    cr_assert_eq(read_with(dog_and_airplane, &train, &test), HC_OK, "%s", hc_message());
    cr_assert_eq(train.count, 20);
    cr_assert_eq(test.count, 4);
    cr_assert_eq(train.labels[0], 1);
    cr_assert_eq(train.labels[1], 0);
    cr_assert_eq(train.pixels[3072], content(0, 5, 0, 0));
    release(&train, &test);
}

Test(cifar, every_wrong_length_is_refused_by_name)
{
    static uint8_t data[BYTES + RECORD];
    for (int f = 0; f < 6; f++) {
        write_file(files[f], data, BYTES - 1);
        refuse(HC_INVALID, files[f], "truncated");
        write_file(files[f], data, 0);
        refuse(HC_INVALID, files[f], "truncated");
        write_file(files[f], data, BYTES + 1);
        refuse(HC_INVALID, files[f], "too large");
        write_file(files[f], data, sizeof data);
        refuse(HC_INVALID, files[f], "too large");
        remove_all();
        (void)strcpy(strrchr(folder, '-'), "-XXXXXX");
        make();
    }
}

Test(cifar, labels_above_9_and_wrong_labels_are_refused)
{
    poke("data_batch_3.bin", 4 * RECORD, 10);
    refuse(HC_INVALID, "data_batch_3.bin", "record 4 has label 10");
    poke("data_batch_3.bin", 4 * RECORD, 255);
    refuse(HC_INVALID, "data_batch_3.bin", "record 4 has label 255");
    poke("data_batch_3.bin", 4 * RECORD, 5);
    refuse(HC_INVALID, "data_batch_5.bin", "one \"dog\" too many");
    poke("data_batch_3.bin", 4 * RECORD, 4);
    poke("test_batch.bin", 0, 9);
    refuse(HC_INVALID, "test_batch.bin", "one \"truck\" too many");
}

Test(cifar, other_class_names_are_refused)
{
    poke("batches.meta.txt", 0, 'A');
    refuse(HC_INVALID, "batches.meta.txt", "line 1 is \"Airplane\"");
    write_file("batches.meta.txt", "airplane\n", 9);
    refuse(HC_INVALID, "batches.meta.txt", "line 2 is \"\"");
}

Test(cifar, what_is_missing_or_no_file_is_named)
{
    char path[128];
    path_of("data_batch_2.bin", path);
    (void)unlink(path);
    refuse(HC_IO, "data_batch_2.bin", "No such file");
    (void)mkdir(path, 0777);
    refuse(HC_INVALID, "data_batch_2.bin", "not a file");
    remove_all();
    refuse(HC_IO, "batches.meta.txt", "No such file");
}
