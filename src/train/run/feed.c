#include "train/run/feed.h"

#include <stdlib.h>

#include "train/data/loader.h"

struct hc_feed {
    struct hc_device *device;
    struct hc_batch_stream stream;
    int64_t batches;
    int64_t taken;       /* batches that have been prepared, and those before the start */
    int64_t epoch;       /* whose order has been uploaded; -1: none */
    int64_t next;        /* number of the batch that the count on the device names */
    struct hc_call call; /* augment; in host memory only its outputs have data */
    void *owned[6];      /* in the backend's memory */
    size_t owned_bytes[6];
    int owned_count;
    int32_t *order;           /* on the host, to be uploaded */
    struct hc_loader *loader; /* in host memory */
    int64_t length;           /* of a text's pieces; 0: images */
    int32_t *piece;           /* a batch of them on the host: the bytes, then those after them */
};

/* Memory of the tensor's size, filled from the host. */
static enum hc_status place_tensor(struct hc_feed *feed, struct hc_tensor *t, const void *from)
{
    struct hc_device *device = feed->device;
    size_t bytes = hc_tensor_bytes(t);
    t->data = from ? hc_device_memory_unset(device, bytes) : hc_device_memory(device, bytes);
    if (!t->data)
        return HC_NO_MEMORY;
    feed->owned_bytes[feed->owned_count] = bytes;
    feed->owned[feed->owned_count++] = t->data;
    return from ? device->backend->upload(device->queue, t->data, from, bytes) : HC_OK;
}

/* Uploads the set, and makes room for an epoch's order. If the caller counts no steps, the feed has
   a count of its own, which the op increments. */
static enum hc_status place_set(struct hc_feed *feed, const struct hc_tensor *steps)
{
    const struct hc_images *images = hc_batch_stream_images(&feed->stream);
    struct hc_call *call = &feed->call;
    int32_t start = (int32_t)feed->next;
    enum hc_status status = place_tensor(feed, &call->in[HC_AUGMENT_PIXELS], images->pixels);
    if (status == HC_OK)
        status = place_tensor(feed, &call->in[HC_AUGMENT_LABELS], images->labels);
    if (status == HC_OK && feed->stream.train) {
        feed->order = malloc(hc_tensor_bytes(&call->in[HC_AUGMENT_ORDER]));
        status = feed->order ? place_tensor(feed, &call->in[HC_AUGMENT_ORDER], NULL)
                             : hc_fail(HC_NO_MEMORY, "no memory for an epoch's order");
    }
    if (steps->data) {
        call->in[HC_AUGMENT_STEPS] = *steps;
    } else if (status == HC_OK) {
        status = place_tensor(feed, &call->in[HC_AUGMENT_STEPS], &start);
        call->out[HC_AUGMENT_NEW_STEPS] = call->in[HC_AUGMENT_STEPS];
    }
    return status;
}

/* Batches are bytes and labels, and no op makes them. */
static void become_text(struct hc_feed *feed)
{
    int64_t n = feed->stream.batch * feed->length;
    feed->call.out[HC_AUGMENT_IMAGES] = hc_tensor1(HC_I32, n, NULL);
    feed->call.out[HC_AUGMENT_IMAGE_LABELS] = hc_tensor1(HC_I32, n, NULL);
    feed->piece = malloc((size_t)n * 2 * sizeof *feed->piece);
}

enum hc_status hc_feed_open(struct hc_feed **feed, struct hc_device *device,
                            const struct hc_feed_options *options)
{
    struct hc_feed *made = calloc(1, sizeof *made);
    *feed = made;
    if (!made)
        return hc_fail(HC_NO_MEMORY, "no memory for a feed");
    made->device = device;
    made->stream = (struct hc_batch_stream){options->set,  options->train,  options->batch,
                                            options->seed, options->shards, options->take};
    made->taken = options->start;
    made->epoch = -1;
    made->next = hc_batch_take_number(&options->take, options->start);
    made->length = options->length;
    enum hc_status status = hc_batch_stream_check(&made->stream, made->next);
    if (status == HC_OK) {
        made->batches = hc_batch_stream_batches(&made->stream);
        made->call = hc_batch_stream_call(&made->stream, options->format);
        if (options->length > 0)
            become_text(made);
        status = place_tensor(made, &made->call.out[HC_AUGMENT_IMAGES], NULL);
    }
    if (status == HC_OK)
        status = place_tensor(made, &made->call.out[HC_AUGMENT_IMAGE_LABELS], NULL);
    if (status == HC_OK && options->length > 0)
        status = made->piece ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for a batch of text");
    else if (status == HC_OK)
        status = device->backend->host_memory
                     ? hc_loader_open(&made->stream, made->taken, &made->loader)
                     : place_set(made, &options->steps);
    if (status != HC_OK) {
        hc_feed_close(made);
        *feed = NULL;
    }
    return status;
}

void hc_feed_close(struct hc_feed *feed)
{
    if (!feed)
        return;
    hc_loader_close(feed->loader);
    for (int i = 0; i < feed->owned_count; i++)
        hc_device_release(feed->device, feed->owned[i], feed->owned_bytes[i]);
    free(feed->order);
    free(feed->piece);
    free(feed);
}

int64_t hc_feed_batches(const struct hc_feed *feed)
{
    return feed->batches;
}

int hc_feed_count(const struct hc_feed *feed, int64_t index)
{
    return hc_batch_stream_count(&feed->stream, index);
}

struct hc_tensor hc_feed_images(const struct hc_feed *feed)
{
    return feed->call.out[HC_AUGMENT_IMAGES];
}

struct hc_tensor hc_feed_labels(const struct hc_feed *feed)
{
    return feed->call.out[HC_AUGMENT_IMAGE_LABELS];
}

/* The loader's batch, cast into the images' format. */
static enum hc_status copy_batch(struct hc_feed *feed)
{
    const struct hc_batch *batch = hc_loader_next(feed->loader);
    const struct hc_tensor *images = &feed->call.out[HC_AUGMENT_IMAGES];
    const struct hc_tensor *labels = &feed->call.out[HC_AUGMENT_IMAGE_LABELS];
    struct hc_tensor single = *images;
    single.format = HC_FP32;
    single.data = batch->images;
    enum hc_status status = hc_device_cast(feed->device, single, *images);
    if (status != HC_OK)
        return status;
    return feed->device->backend->upload(feed->device->queue, labels->data, batch->labels,
                                         hc_tensor_bytes(labels));
}

/* The feed's own count skips the batches that others take. */
static enum hc_status jump(struct hc_feed *feed, int64_t number)
{
    int32_t count = (int32_t)number;
    const struct hc_tensor *steps = &feed->call.in[HC_AUGMENT_STEPS];
    return feed->device->backend->upload(feed->device->queue, steps->data, &count, sizeof count);
}

static enum hc_status upload_pieces(struct hc_feed *feed, int64_t number)
{
    const struct hc_device *device = feed->device;
    const struct hc_batch_stream *stream = &feed->stream;
    struct hc_tensor *to = feed->call.out;
    int64_t n = stream->batch * feed->length;
    int64_t first = (stream->train ? number : number % feed->batches) * stream->batch;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *piece = hc_text_piece(&stream->set->text, stream->train, stream->seed,
                                             first + i / feed->length, feed->length);
        feed->piece[i] = piece[i % feed->length];
        feed->piece[n + i] = piece[i % feed->length + 1];
    }
    enum hc_status status =
        device->backend->upload(device->queue, to[HC_AUGMENT_IMAGES].data, feed->piece,
                                hc_tensor_bytes(&to[HC_AUGMENT_IMAGES]));
    return status == HC_OK
               ? device->backend->upload(device->queue, to[HC_AUGMENT_IMAGE_LABELS].data,
                                         feed->piece + n,
                                         hc_tensor_bytes(&to[HC_AUGMENT_IMAGE_LABELS]))
               : status;
}

enum hc_status hc_feed_prepare(struct hc_feed *feed)
{
    int64_t number = hc_batch_take_number(&feed->stream.take, feed->taken++);
    if (feed->piece)
        return upload_pieces(feed, number);
    if (feed->loader)
        return copy_batch(feed);
    enum hc_status status = number == feed->next ? HC_OK : jump(feed, number);
    feed->next = number + 1;
    if (!feed->order || number / feed->batches == feed->epoch || status != HC_OK)
        return status;
    const struct hc_tensor *order = &feed->call.in[HC_AUGMENT_ORDER];
    feed->epoch = number / feed->batches;
    hc_batch_stream_order(&feed->stream, feed->epoch, feed->order);
    return feed->device->backend->upload(feed->device->queue, order->data, feed->order,
                                         hc_tensor_bytes(order));
}

enum hc_status hc_feed_make(struct hc_feed *feed)
{
    return feed->loader || feed->piece ? HC_OK : hc_device_run(feed->device, &feed->call);
}
