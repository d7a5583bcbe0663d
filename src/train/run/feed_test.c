/* The feed gives the loader's batches, wherever they are made. */
#include "train/run/feed.h"

#include <criterion/criterion.h>
#include <string.h>

#include "num/bits.h"
#include "train/data/loader.h"

enum { BATCH = 6, FLOATS = BATCH * HC_IMAGE_BYTES };

static struct hc_dataset set;
static struct hc_device device;
static float images[FLOATS];
static int32_t labels[BATCH];

static void make(void)
{
    struct hc_data_options options = {.seed = 9, .train_per_class = 2, .test_per_class = 1};
    cr_assert_eq(hc_dataset_open(&options, &set), HC_OK);
}

static void unmake(void)
{
    hc_dataset_close(&set);
}

TestSuite(feed, .init = make, .fini = unmake);

static void open_device(const char *name)
{
    device = (struct hc_device){.backend = hc_backend_by_name(name)};
    cr_assert_not_null(device.backend);
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK, "%s", hc_message());
}

static void close_device(void)
{
    hc_device_end(&device);
    device.backend->close(device.queue);
}

static struct hc_feed *feed_at(bool train, int64_t start, enum hc_format format)
{
    struct hc_feed *feed;
    struct hc_feed_options options = {
        .set = &set, .train = train, .batch = BATCH, .seed = 4, .format = format, .start = start};
    cr_assert_eq(hc_feed_open(&feed, &device, &options), HC_OK, "%s", hc_message());
    return feed;
}

static struct hc_loader *loader_at(bool train, int64_t start)
{
    struct hc_loader *loader;
    struct hc_batch_stream stream = {.set = &set, .train = train, .batch = BATCH, .seed = 4};
    cr_assert_eq(hc_loader_open(&stream, start, &loader), HC_OK, "%s", hc_message());
    return loader;
}

static void download(const struct hc_feed *feed)
{
    struct hc_tensor t = hc_feed_images(feed);
    struct hc_tensor l = hc_feed_labels(feed);
    cr_assert_leq(hc_tensor_bytes(&t), sizeof images);
    cr_assert_eq(device.backend->download(device.queue, images, t.data, hc_tensor_bytes(&t)),
                 HC_OK);
    cr_assert_eq(device.backend->download(device.queue, labels, l.data, sizeof labels), HC_OK);
}

static void is_batch(const struct hc_feed *feed, const struct hc_batch *want)
{
    download(feed);
    cr_assert_eq(memcmp(labels, want->labels, sizeof labels), 0);
    cr_assert_eq(memcmp(images, want->images, sizeof images), 0);
    cr_assert_eq(hc_feed_count(feed, want->steps % hc_feed_batches(feed)), want->count);
}

/* Two epochs from every start. */
static void follows_the_loader(bool train)
{
    struct hc_feed *feed = feed_at(train, 0, HC_FP32);
    int64_t batches = hc_feed_batches(feed);
    hc_feed_close(feed);
    for (int64_t start = 0; start <= batches; start++) {
        struct hc_loader *loader = loader_at(train, start);
        feed = feed_at(train, start, HC_FP32);
        const void *place = hc_feed_images(feed).data;
        for (int64_t i = 0; i < 2 * batches; i++) {
            cr_assert_eq(hc_feed_prepare(feed), HC_OK, "%s", hc_message());
            cr_assert_eq(hc_feed_make(feed), HC_OK, "%s", hc_message());
            is_batch(feed, hc_loader_next(loader));
            cr_assert_eq(hc_feed_images(feed).data, place);
        }
        hc_feed_close(feed);
        hc_loader_close(loader);
    }
}

Test(feed, gives_the_loaders_batches_from_any_start_on_the_host_and_on_a_device)
{
    static const char *const names[] = {"exact", "host", "cuda-emulated"};
    for (int i = 0; i < 3; i++) {
        open_device(names[i]);
        follows_the_loader(true);
        follows_the_loader(false);
        close_device();
    }
}

Test(feed, gives_images_in_half_as_their_casts)
{
    static const char *const names[] = {"host", "cuda-emulated"};
    for (int i = 0; i < 2; i++) {
        open_device(names[i]);
        struct hc_loader *loader = loader_at(true, 1);
        struct hc_feed *feed = feed_at(true, 1, HC_FP16);
        cr_assert_eq(hc_feed_prepare(feed), HC_OK);
        cr_assert_eq(hc_feed_make(feed), HC_OK);
        const struct hc_batch *want = hc_loader_next(loader);
        download(feed);
        for (int k = 0; k < FLOATS; k++)
            cr_assert_eq(((const uint16_t *)images)[k], hc_fp16_bits(want->images[k]));
        hc_feed_close(feed);
        hc_loader_close(loader);
        close_device();
    }
}

/* One graph for all steps; only where an epoch begins does the host touch the device, and the graph
   stays the same. */
Test(feed, is_captured_once_and_replayed)
{
    struct hc_graph *graph;
    open_device("cuda-emulated");
    const struct hc_backend *b = device.backend;
    struct hc_loader *loader = loader_at(true, 0);
    struct hc_feed *feed = feed_at(true, 0, HC_FP32);
    cr_assert_eq(hc_feed_prepare(feed), HC_OK);
    cr_assert_eq(hc_feed_make(feed), HC_OK);
    is_batch(feed, hc_loader_next(loader));
    cr_assert_eq(b->capture(device.queue), HC_OK);
    cr_assert_eq(hc_feed_make(feed), HC_OK);
    cr_assert_eq(b->captured(device.queue, &graph), HC_OK, "%s", hc_message());
    for (int i = 0; i < 7; i++) {
        cr_assert_eq(hc_feed_prepare(feed), HC_OK);
        cr_assert_eq(b->replay(device.queue, graph), HC_OK);
        is_batch(feed, hc_loader_next(loader));
    }
    b->forget(device.queue, graph);
    hc_feed_close(feed);
    hc_loader_close(loader);
    close_device();
}

/* The count that the optimizer's state keeps, instead of one of its own. */
Test(feed, follows_a_count_that_somebody_else_keeps)
{
    int32_t counts[8] = {1, 77};
    open_device("cuda-emulated");
    struct hc_tensor steps = hc_tensor1(HC_I32, 8, hc_device_memory(&device, sizeof counts));
    struct hc_feed_options options = {.set = &set,
                                      .train = true,
                                      .batch = BATCH,
                                      .seed = 4,
                                      .format = HC_FP32,
                                      .start = 1,
                                      .steps = steps};
    struct hc_loader *loader = loader_at(true, 1);
    struct hc_feed *feed;
    cr_assert_eq(hc_feed_open(&feed, &device, &options), HC_OK);
    for (; counts[0] < 8; counts[0]++) {
        cr_assert_eq(device.backend->upload(device.queue, steps.data, counts, sizeof counts),
                     HC_OK);
        cr_assert_eq(hc_feed_prepare(feed), HC_OK);
        cr_assert_eq(hc_feed_make(feed), HC_OK);
        is_batch(feed, hc_loader_next(loader));
    }
    hc_feed_close(feed);
    hc_loader_close(loader);
    device.backend->release(device.queue, steps.data);
    close_device();
}

Test(feed, refuses_what_the_loader_refuses)
{
    struct hc_feed *feed;
    struct hc_feed_options options = {.set = &set, .train = true, .batch = 21};
    static const char *const names[] = {"host", "cuda-emulated"};
    for (int i = 0; i < 2; i++) {
        open_device(names[i]);
        options.batch = 21;
        options.start = 0;
        cr_assert_eq(hc_feed_open(&feed, &device, &options), HC_INVALID);
        cr_assert_null(feed);
        cr_assert_not_null(strstr(hc_message(), "a batch of 21 is more than the 20 images"), "%s",
                           hc_message());
        options.batch = BATCH;
        options.start = -1;
        cr_assert_eq(hc_feed_open(&feed, &device, &options), HC_INVALID);
        close_device();
    }
}
