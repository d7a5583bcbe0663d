#include "train/loader.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"

enum {
    SLOTS = 2, /* one in the trainer's hands, one ahead */
    PAD = 4,
    ORDER_STREAM = 0x53485546, /* in the upper half of a stream's number; the epoch in the lower */
    CROP_STREAM = 0x43524f50
};

struct hc_loader {
    const struct hc_images *images;
    bool train;
    int batch;
    int64_t batches; /* in an epoch */
    uint64_t seed;
    float value[HC_IMAGE_CHANNELS][256];
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

/* Fisher-Yates. A multiply-shift of 32 random bits picks among n with a bias below n * 2^-32. */
static void shuffle(struct hc_loader *loader, int64_t epoch)
{
    uint64_t stream = (uint64_t)ORDER_STREAM << 32 | (uint64_t)epoch;
    for (int64_t i = 0; i < loader->images->count; i++)
        loader->order[i] = (int32_t)i;
    for (int64_t i = loader->images->count - 1; i > 0; i--) {
        uint64_t bits = hc_random(loader->seed, stream, (uint64_t)i) >> 32;
        int64_t j = (int64_t)(bits * (uint64_t)(i + 1) >> 32);
        int32_t held = loader->order[i];
        loader->order[i] = loader->order[j];
        loader->order[j] = held;
    }
    loader->order_epoch = epoch;
}

/* Reflection without repeating the edge: -1 -> 1, 32 -> 30. */
static int reflect(int i)
{
    if (i < 0)
        return -i;
    return i < HC_IMAGE_SIDE ? i : 2 * (HC_IMAGE_SIDE - 1) - i;
}

/* Pads by 4, crops 32 x 32 at one of 9 x 9 places, flips with probability 1/2. */
static void augmented(const struct hc_loader *loader, int64_t image, int64_t epoch, float *out)
{
    uint64_t draw =
        hc_random(loader->seed, (uint64_t)CROP_STREAM << 32 | (uint64_t)epoch, (uint64_t)image);
    int down = (int)((draw & 0xffffff) * (2 * PAD + 1) >> 24) - PAD;
    int right = (int)((draw >> 24 & 0xffffff) * (2 * PAD + 1) >> 24) - PAD;
    bool flip = draw >> 63;
    int from[HC_IMAGE_SIDE];
    for (int x = 0; x < HC_IMAGE_SIDE; x++)
        from[x] = HC_IMAGE_CHANNELS * reflect((flip ? HC_IMAGE_SIDE - 1 - x : x) + right);
    for (int y = 0; y < HC_IMAGE_SIDE; y++) {
        const uint8_t *row = loader->images->pixels + image * HC_IMAGE_BYTES +
                             (ptrdiff_t)reflect(y + down) * HC_IMAGE_SIDE * HC_IMAGE_CHANNELS;
        for (int x = 0; x < HC_IMAGE_SIDE; x++)
            for (int c = 0; c < HC_IMAGE_CHANNELS; c++)
                *out++ = loader->value[c][row[from[x] + c]];
    }
}

static void plain(const struct hc_loader *loader, int64_t image, float *out)
{
    const uint8_t *pixels = loader->images->pixels + image * HC_IMAGE_BYTES;
    for (int i = 0; i < HC_IMAGE_BYTES; i++)
        out[i] = loader->value[i % HC_IMAGE_CHANNELS][pixels[i]];
}

static void fill(struct hc_loader *loader, struct hc_position position, struct hc_batch *out)
{
    int64_t first = position.batch * loader->batch;
    int64_t left = loader->images->count - first;
    out->position = position;
    out->count = left < loader->batch ? (int)left : loader->batch;
    if (loader->train && loader->order_epoch != position.epoch)
        shuffle(loader, position.epoch);
    for (int i = 0; i < out->count; i++) {
        int64_t image = loader->train ? loader->order[first + i] : first + i;
        float *pixels = out->images + (ptrdiff_t)i * HC_IMAGE_BYTES;
        if (loader->train)
            augmented(loader, image, position.epoch, pixels);
        else
            plain(loader, image, pixels);
        out->labels[i] = loader->images->labels[image];
    }
    size_t rest = (size_t)(loader->batch - out->count);
    memset(out->images + (ptrdiff_t)out->count * HC_IMAGE_BYTES, 0,
           rest * HC_IMAGE_BYTES * sizeof(float));
    memset(out->labels + out->count, 0, rest * sizeof(int32_t));
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
    size_t images = (size_t)loader->batch * HC_IMAGE_BYTES * sizeof(float);
    size_t labels = ((size_t)loader->batch * sizeof(int32_t) + 63) / 64 * 64;
    if (loader->train)
        loader->order = malloc((size_t)loader->images->count * sizeof *loader->order);
    loader->memory = aligned_alloc(64, SLOTS * (images + labels));
    if (loader->memory == NULL || (loader->train && loader->order == NULL))
        return hc_fail(HC_NO_MEMORY, "no memory for batches of %d images", loader->batch);
    for (int i = 0; i < SLOTS; i++) {
        char *at = (char *)loader->memory + (size_t)i * (images + labels);
        loader->slot[i].images = (float *)at;
        loader->slot[i].labels = (int32_t *)(at + images);
    }
    return HC_OK;
}

static enum hc_status start(const struct hc_loader_options *options, struct hc_loader *loader)
{
    if (loader->batches < 1)
        return hc_fail(HC_INVALID, "a batch of %d is more than the %lld images there are",
                       options->batch, (long long)loader->images->count);
    if (options->start.epoch < 0 || options->start.batch < 0 ||
        options->start.batch >= loader->batches)
        return hc_fail(HC_INVALID, "no batch %lld in an epoch of %lld",
                       (long long)options->start.batch, (long long)loader->batches);
    for (int c = 0; c < HC_IMAGE_CHANNELS; c++)
        for (int p = 0; p < 256; p++)
            loader->value[c][p] =
                (float)((p / 255.0 - options->set->mean[c]) / options->set->deviation[c]);
    enum hc_status status = allocate(loader);
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
    assert(options->batch > 0);
    made->images = options->train ? &options->set->train : &options->set->test;
    made->train = options->train;
    made->batch = options->batch;
    made->batches =
        (made->images->count + (options->train ? 0 : options->batch - 1)) / options->batch;
    made->seed = options->seed;
    made->order_epoch = -1;
    made->start = options->start;
    made->next = options->start;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    enum hc_status status = start(options, made);
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
