#include "train/loader.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "train/device.h"

enum { SLOTS = 2 }; /* one in the trainer's hands, one ahead */

struct hc_loader {
    struct hc_stream stream;
    int64_t batches; /* in an epoch */
    struct hc_device exact;
    struct hc_call call;
    int32_t *order; /* of `order_epoch`; NULL for the test images */
    int64_t order_epoch;
    struct hc_batch slot[SLOTS];
    void *memory;

    struct hc_position start; /* of the thread */
    struct hc_position next;  /* of the trainer */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    int64_t made;
    int64_t given;
    bool stop;
};

static void advance(const struct hc_loader *loader, struct hc_position *position)
{
    if (++position->batch == loader->batches)
        *position = (struct hc_position){.epoch = position->epoch + 1};
}

static void fill(struct hc_loader *loader, struct hc_position position, struct hc_batch *out)
{
    struct hc_call call = loader->call;
    int32_t steps = (int32_t)(position.epoch * loader->batches + position.batch);
    if (loader->order && loader->order_epoch != position.epoch) {
        hc_stream_order(&loader->stream, position.epoch, loader->order);
        loader->order_epoch = position.epoch;
    }
    call.in[2].data = &steps;
    call.out[0].data = out->images;
    call.out[1].data = out->labels;
    enum hc_status status = hc_device_run(&loader->exact, &call);
    assert(status == HC_OK);
    out->position = position;
    out->count = hc_stream_count(&loader->stream, position.batch);
}

static void *work(void *argument)
{
    struct hc_loader *loader = argument;
    struct hc_position position = loader->start;
    for (int64_t n = 0;; n++) {
        pthread_mutex_lock(&loader->lock);
        while (!loader->stop && n >= loader->given - 1 + SLOTS)
            pthread_cond_wait(&loader->changed, &loader->lock);
        bool stop = loader->stop;
        pthread_mutex_unlock(&loader->lock);
        if (stop)
            return NULL;
        fill(loader, position, &loader->slot[n % SLOTS]);
        advance(loader, &position);
        pthread_mutex_lock(&loader->lock);
        loader->made = n + 1;
        pthread_cond_broadcast(&loader->changed);
        pthread_mutex_unlock(&loader->lock);
    }
}

static enum hc_status allocate(struct hc_loader *loader)
{
    const struct hc_images *set = hc_stream_images(&loader->stream);
    size_t images = hc_tensor_bytes(&loader->call.out[0]);
    size_t labels = (hc_tensor_bytes(&loader->call.out[1]) + 63) / 64 * 64;
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
    loader->call.in[0].data = set->pixels;
    loader->call.in[1].data = set->labels;
    loader->call.in[3].data = loader->order;
    return HC_OK;
}

static enum hc_status start(struct hc_loader *loader)
{
    struct hc_position at = loader->start;
    enum hc_status status = hc_stream_check(&loader->stream, 0);
    if (status != HC_OK)
        return status;
    loader->batches = hc_stream_batches(&loader->stream);
    loader->call = hc_stream_call(&loader->stream, HC_FP32);
    if (at.epoch < 0 || at.batch < 0 || at.batch >= loader->batches)
        return hc_fail(HC_INVALID, "no batch %lld in an epoch of %lld", (long long)at.batch,
                       (long long)loader->batches);
    status = hc_stream_check(&loader->stream, at.epoch * loader->batches + at.batch);
    if (status == HC_OK)
        status = loader->exact.backend->open(&loader->exact.queue, 1);
    if (status == HC_OK)
        status = allocate(loader);
    if (status != HC_OK)
        return status;
    if (pthread_create(&loader->thread, NULL, work, loader) != 0)
        return hc_fail(HC_NO_MEMORY, "cannot start the loader's thread");
    loader->started = true;
    return HC_OK;
}

enum hc_status hc_loader_open(const struct hc_loader_options *options, struct hc_loader **loader)
{
    struct hc_loader *made = calloc(1, sizeof *made);
    *loader = made;
    if (made == NULL)
        return hc_fail(HC_NO_MEMORY, "no memory for a loader");
    made->stream = (struct hc_stream){options->set, options->train, options->batch, options->seed};
    made->exact.backend = hc_backend_by_name("exact");
    made->order_epoch = -1;
    made->start = options->start;
    made->next = options->start;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    enum hc_status status = start(made);
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
    if (loader->exact.queue) {
        hc_device_end(&loader->exact);
        loader->exact.backend->close(loader->exact.queue);
    }
    free(loader->order);
    free(loader->memory);
    free(loader);
}

int64_t hc_loader_batches(const struct hc_loader *loader)
{
    return loader->batches;
}

const struct hc_batch *hc_loader_next(struct hc_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    int64_t n = loader->given++;
    pthread_cond_broadcast(&loader->changed);
    while (loader->made <= n)
        pthread_cond_wait(&loader->changed, &loader->lock);
    pthread_mutex_unlock(&loader->lock);
    advance(loader, &loader->next);
    return &loader->slot[n % SLOTS];
}

struct hc_position hc_loader_position(const struct hc_loader *loader)
{
    return loader->next;
}
