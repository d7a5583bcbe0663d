#include "train/data/loader.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct hc_dataset set;

static void make(void)
{
    struct hc_data_options options = {.seed = 9, .train_per_class = 13, .test_per_class = 3};
    cr_assert_eq(hc_dataset_open(&options, &set), HC_OK);
}

static void unmake(void)
{
    hc_dataset_close(&set);
}

TestSuite(loader, .init = make, .fini = unmake);

static struct hc_loader *open_at(bool train, int batch, int64_t start)
{
    struct hc_loader *loader;
    struct hc_batch_stream stream = {.set = &set, .train = train, .batch = batch, .seed = 4};
    cr_assert_eq(hc_loader_open(&stream, start, &loader), HC_OK, "%s", hc_message());
    return loader;
}

static float normal(const uint8_t *pixels, int at)
{
    int c = at % 3;
    return (float)((pixels[at] / 255.0 - set.mean[c]) / set.deviation[c]);
}

Test(loader, test_images_come_in_order_untouched_with_a_short_last_batch)
{
    struct hc_loader *loader = open_at(false, 8, 0);
    for (int epoch = 0; epoch < 2; epoch++)
        for (int b = 0; b < 4; b++) {
            const struct hc_batch *batch = hc_loader_next(loader);
            cr_assert_eq(batch->count, b < 3 ? 8 : 6);
            cr_assert_eq(batch->steps, 4 * epoch + b);
            for (int i = 0; i < 8 * HC_IMAGE_BYTES; i++) {
                int image = 8 * b + i / HC_IMAGE_BYTES;
                float want = image < 30
                                 ? normal(set.test.pixels + (ptrdiff_t)8 * b * HC_IMAGE_BYTES + i -
                                              i % HC_IMAGE_BYTES,
                                          i % HC_IMAGE_BYTES)
                                 : 0;
                cr_assert_eq(batch->images[i], want);
            }
            for (int i = 0; i < 8; i++)
                cr_assert_eq(batch->labels[i], 8 * b + i < 30 ? set.test.labels[8 * b + i] : 0);
        }
    hc_loader_close(loader);
}

/* numpy.pad(mode="reflect") written out for 4: the padded row is pixels 4 3 2 1 0 1 ... 31 30 29.
   */
static int padded(int i)
{
    static const int low[] = {4, 3, 2, 1};
    static const int high[] = {30, 29, 28, 27};
    return i < 4 ? low[i] : i < 36 ? i - 4 : high[i - 36];
}

static bool is_crop(const uint8_t *pixels, const float *got, int down, int right, bool flip)
{
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 32; x++)
            for (int c = 0; c < 3; c++) {
                int from = padded(y + down) * 32 + padded((flip ? 31 - x : x) + right);
                if (got[3 * (32 * y + x) + c] != normal(pixels, 3 * from + c))
                    return false;
            }
    return true;
}

/* Finds which image this is, and its crop and flip, as image * 162 + place; -1: of no image. */
static int identify(const float *got, int label)
{
    for (int image = 0; image < set.train.count; image++)
        for (int place = 0; place < 162 && set.train.labels[image] == label; place++)
            if (is_crop(set.train.pixels + (ptrdiff_t)image * HC_IMAGE_BYTES, got, place / 2 % 9,
                        place / 18, place % 2))
                return image * 162 + place;
    return -1;
}

Test(loader, an_epoch_is_every_image_once_in_a_new_order_cropped_and_flipped)
{
    enum { IMAGES = 130, EPOCHS = 10 };
    static int order[EPOCHS][IMAGES];
    int down[9] = {0};
    int right[9] = {0};
    int flipped = 0;
    struct hc_loader *loader = open_at(true, 13, 0);
    for (int e = 0; e < EPOCHS; e++) {
        bool seen[IMAGES] = {false};
        for (int i = 0; i < IMAGES; i++) {
            static const struct hc_batch *batch;
            if (i % 13 == 0)
                batch = hc_loader_next(loader);
            cr_assert_eq(batch->count, 13);
            int found = identify(batch->images + (ptrdiff_t)(i % 13) * HC_IMAGE_BYTES,
                                 batch->labels[i % 13]);
            cr_assert_geq(found, 0, "epoch %d, image %d is no crop of any image", e, i);
            cr_assert_not(seen[found / 162]);
            seen[found / 162] = true;
            order[e][i] = found / 162;
            down[found % 162 / 2 % 9]++;
            right[found % 162 / 18]++;
            flipped += found % 2;
        }
    }
    hc_loader_close(loader);
    /* 1300 draws: 144.4 +- 11.3 in each of nine places, 650 +- 18 flips; five deviations. */
    for (int i = 0; i < 9; i++)
        cr_assert(abs(down[i] - 144) < 57 && abs(right[i] - 144) < 57);
    cr_assert_lt(abs(flipped - 650), 90);
    /* An image stays where it was, or lies at its own number, once an epoch on average. */
    int kept = 0;
    int own = 0;
    for (int e = 0; e < EPOCHS; e++)
        for (int i = 0; i < IMAGES; i++) {
            kept += e > 0 && order[e][i] == order[e - 1][i];
            own += order[e][i] == i;
        }
    cr_assert(kept > 0 && kept < 30 && own > 0 && own < 30, "%d kept, %d own", kept, own);
}

Test(loader, what_is_left_over_of_a_batch_waits)
{
    struct hc_loader *loader = open_at(true, 64, 0);
    struct hc_batch_stream stream = {.set = &set, .train = true, .batch = 64};
    cr_assert_eq(hc_batch_stream_batches(&stream), 2);
    for (int i = 0; i < 6; i++)
        cr_assert_eq(hc_loader_next(loader)->count, 64);
    hc_loader_close(loader);
}

static void nap(long nanoseconds)
{
    struct timespec time = {.tv_nsec = nanoseconds};
    (void)nanosleep(&time, NULL);
}

Test(loader, a_resumed_and_a_hurried_stream_are_the_same_stream)
{
    enum { BATCHES = 25, BYTES = 13 * HC_IMAGE_BYTES * 4 };
    struct hc_loader *whole = open_at(true, 13, 0);
    for (int i = 0; i < BATCHES; i++) {
        struct hc_loader *resumed = open_at(true, 13, i);
        const struct hc_batch *want = hc_loader_next(whole);
        if (i % 5 == 0)
            nap(2000000);
        const struct hc_batch *got = hc_loader_next(resumed);
        cr_assert_eq(memcmp(want->images, got->images, BYTES), 0);
        cr_assert_eq(memcmp(want->labels, got->labels, 13 * 4), 0);
        cr_assert_eq(want->steps, i);
        cr_assert_eq(got->steps, i);
        hc_loader_close(resumed);
    }
    hc_loader_close(whole);
}

/* Rank r of 2 takes the shards 2 r and 2 r + 1 of the 4 of each batch. */
Test(loader, readers_of_shards_have_the_rows_of_whole_batches_between_them)
{
    enum { SHARDS = 4, RANKS = 2, OWN = SHARDS / RANKS, ROWS = 3, BATCHES = 25, START = 7 };
    struct hc_loader *whole = open_at(true, SHARDS * ROWS, START);
    struct hc_loader *part[RANKS];
    for (int r = 0; r < RANKS; r++) {
        struct hc_batch_stream stream = {.set = &set,
                                         .train = true,
                                         .batch = ROWS,
                                         .seed = 4,
                                         .shards = SHARDS,
                                         .take = {SHARDS, (int64_t)r * OWN, 1, OWN}};
        cr_assert_eq(hc_batch_stream_batches(&stream), 10 * SHARDS);
        cr_assert_eq(hc_loader_open(&stream, START * OWN, &part[r]), HC_OK, "%s", hc_message());
    }
    for (int b = 0; b < BATCHES; b++) {
        const struct hc_batch *want = hc_loader_next(whole);
        for (int s = 0; s < SHARDS; s++) {
            const struct hc_batch *got = hc_loader_next(part[s / OWN]);
            cr_assert_eq(got->steps, (START + b) * SHARDS + s);
            cr_assert_eq(got->count, ROWS);
            cr_assert_eq(memcmp(got->images, want->images + (ptrdiff_t)s * ROWS * HC_IMAGE_BYTES,
                                sizeof(float[ROWS][HC_IMAGE_BYTES])),
                         0, "batch %d, shard %d", b, s);
            cr_assert_eq(
                memcmp(got->labels, want->labels + (ptrdiff_t)s * ROWS, sizeof(int32_t[ROWS])), 0);
        }
    }
    for (int r = 0; r < RANKS; r++)
        hc_loader_close(part[r]);
    hc_loader_close(whole);
}

/* 4 batches of the test set, taken by 3 readers: 0 and 3, 1, 2. */
Test(loader, readers_take_turns_at_each_pass_over_the_test_images)
{
    enum { BATCHES = 4, READERS = 3 };
    for (int r = 0; r < READERS; r++) {
        int64_t count = r == 0 ? 2 : 1;
        struct hc_loader *loader;
        struct hc_batch_stream stream = {
            .set = &set, .batch = 8, .take = {BATCHES, r, READERS, count}};
        cr_assert_eq(hc_loader_open(&stream, 0, &loader), HC_OK, "%s", hc_message());
        for (int pass = 0; pass < 3; pass++)
            for (int b = r; b < BATCHES; b += READERS) {
                const struct hc_batch *batch = hc_loader_next(loader);
                cr_assert_eq(batch->steps, pass * BATCHES + b);
                cr_assert_eq(batch->count, b < 3 ? 8 : 6);
                cr_assert_eq(batch->images[0],
                             normal(set.test.pixels + (ptrdiff_t)8 * b * HC_IMAGE_BYTES, 0));
            }
        hc_loader_close(loader);
    }
}

Test(loader, a_batch_stays_as_it_is_until_the_next_call)
{
    static float copy[13 * HC_IMAGE_BYTES];
    struct hc_loader *loader = open_at(true, 13, 0);
    for (int i = 0; i < 20; i++) {
        const struct hc_batch *batch = hc_loader_next(loader);
        memcpy(copy, batch->images, sizeof copy);
        nap(1000000);
        cr_assert_eq(memcmp(copy, batch->images, sizeof copy), 0);
    }
    hc_loader_close(loader);
}

Test(loader, a_batch_larger_than_the_set_and_a_start_that_is_none_are_refused)
{
    struct hc_loader *loader;
    struct hc_batch_stream stream = {.set = &set, .train = true, .batch = 131};
    cr_assert_eq(hc_loader_open(&stream, 0, &loader), HC_INVALID);
    cr_assert_null(loader);
    stream.batch = 66;
    stream.shards = 2;
    cr_assert_eq(hc_loader_open(&stream, 0, &loader), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "a batch of 132 is more than the 130"));
    stream.shards = 0;
    stream.batch = 13;
    cr_assert_eq(hc_loader_open(&stream, -1, &loader), HC_INVALID);
    cr_assert_eq(hc_loader_open(&stream, (int64_t)INT32_MAX + 1, &loader), HC_INVALID);
}
