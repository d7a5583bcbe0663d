#include "train/data/loader.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "backend.h"

enum { SLOTS = 2 }; /* one in the trainer's hands, one ahead */

struct hc_loader {
    struct hc_batch_stream stream;
    int64_t batches; /* in an epoch */
    const struct hc_backend *exact;
    struct hc_queue *queue;
    struct hc_call call;
    int32_t *order; /* of `order_epoch`; NULL for the test images */
    int64_t order_epoch;
    struct hc_batch slot[SLOTS];
    void *memory;

    int64_t start; /* batches taken before the first one */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    int64_t made;
    int64_t given;
    bool stop;
};

static void fill_batch(struct hc_loader *loader, int64_t steps, struct hc_batch *out)
{
    struct hc_call call = loader->call;
    int32_t count = (int32_t)steps;
    int64_t epoch = steps / loader->batches;
    if (loader->order && loader->order_epoch != epoch) {
        hc_batch_stream_order(&loader->stream, epoch, loader->order);
        loader->order_epoch = epoch;
    }
    call.in[HC_AUGMENT_STEPS].data = &count;
    call.out[HC_AUGMENT_IMAGES].data = out->images;
    call.out[HC_AUGMENT_IMAGE_LABELS].data = out->labels;
    enum hc_status status = hc_call_check(&call);
    if (status == HC_OK)
        status = loader->exact->kernel[call.op](loader->queue, &call);
    assert(status == HC_OK);
    out->steps = steps;
    out->count = hc_batch_stream_count(&loader->stream, steps % loader->batches);
}

static void *work(void *argument)
{
    struct hc_loader *loader = argument;
    for (int64_t n = 0;; n++) {
        pthread_mutex_lock(&loader->lock);
        while (!loader->stop && n >= loader->given - 1 + SLOTS)
            pthread_cond_wait(&loader->changed, &loader->lock);
        bool stop = loader->stop;
        pthread_mutex_unlock(&loader->lock);
        if (stop)
            return NULL;
        fill_batch(loader, hc_batch_take_number(&loader->stream.take, loader->start + n),
                   &loader->slot[n % SLOTS]);
        pthread_mutex_lock(&loader->lock);
        loader->made = n + 1;
        pthread_cond_broadcast(&loader->changed);
        pthread_mutex_unlock(&loader->lock);
    }
}

static enum hc_status allocate_loader(struct hc_loader *loader)
{
    const struct hc_images *set = hc_batch_stream_images(&loader->stream);
    size_t images = hc_tensor_bytes(&loader->call.out[HC_AUGMENT_IMAGES]);
    size_t labels = (hc_tensor_bytes(&loader->call.out[HC_AUGMENT_IMAGE_LABELS]) + 63) / 64 * 64;
    if (loader->stream.train)
        loader->order = malloc((size_t)set->count * sizeof *loader->order);
    loader->memory = aligned_alloc(64, SLOTS * (images + labels));
    if (loader->memory == NULL || (loader->stream.train && loader->order == NULL))
        return hc_fail(HC_NO_MEMORY, "no memory for batches of %d images", loader->stream.batch);
    for (int i = 0; i < SLOTS; i++) {
        char *at = (char *)loader->memory + (size_t)i * (images + labels);
        loader->slot[i].images = (float *)at;
        loader->slot[i].labels = (int32_t *)(at + images);
    }
    loader->call.in[HC_AUGMENT_PIXELS].data = set->pixels;
    loader->call.in[HC_AUGMENT_LABELS].data = set->labels;
    loader->call.in[HC_AUGMENT_ORDER].data = loader->order;
    return HC_OK;
}

static enum hc_status start_loader(struct hc_loader *loader)
{
    enum hc_status status = hc_batch_stream_check(&loader->stream, loader->start);
    if (status != HC_OK)
        return status;
    loader->batches = hc_batch_stream_batches(&loader->stream);
    loader->call = hc_batch_stream_call(&loader->stream, HC_FP32);
    status = hc_backend_open(loader->exact, &loader->queue, 1);
    if (status == HC_OK)
        status = allocate_loader(loader);
    if (status != HC_OK)
        return status;
    if (pthread_create(&loader->thread, NULL, work, loader) != 0)
        return hc_fail(HC_NO_MEMORY, "cannot start the loader's thread");
    loader->started = true;
    return HC_OK;
}

enum hc_status hc_loader_open(const struct hc_batch_stream *stream, int64_t start_at,
                              struct hc_loader **loader)
{
    struct hc_loader *made = calloc(1, sizeof *made);
    *loader = made;
    if (made == NULL)
        return hc_fail(HC_NO_MEMORY, "no memory for a loader");
    made->stream = *stream;
    made->start = start_at;
    made->exact = hc_backend_by_name("exact");
    made->order_epoch = -1;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    enum hc_status status = start_loader(made);
    if (status != HC_OK) {
        hc_loader_close(made);
        *loader = NULL;
    }
    return status;
}

void hc_loader_close(struct hc_loader *loader)
{
    if (loader == NULL)
        return;
    if (loader->started) {
        pthread_mutex_lock(&loader->lock);
        loader->stop = true;
        pthread_cond_broadcast(&loader->changed);
        pthread_mutex_unlock(&loader->lock);
        pthread_join(loader->thread, NULL);
    }
    pthread_cond_destroy(&loader->changed);
    pthread_mutex_destroy(&loader->lock);
    if (loader->queue)
        loader->exact->close(loader->queue);
    free(loader->order);
    free(loader->memory);
    free(loader);
}

const struct hc_batch *hc_loader_next(struct hc_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    int64_t n = loader->given++;
    pthread_cond_broadcast(&loader->changed);
    while (loader->made <= n)
        pthread_cond_wait(&loader->changed, &loader->lock);
    pthread_mutex_unlock(&loader->lock);
    return &loader->slot[n % SLOTS];
}
