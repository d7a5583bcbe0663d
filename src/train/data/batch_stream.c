#include "train/data/batch_stream.h"

#include <assert.h>
#include <string.h>

#include "num/rng.h"

enum { PAD = 4 };
#define ORDER_STREAM 0x5348554600000000u /* "SHUF" 2^32 */

const struct hc_images *hc_batch_stream_images(const struct hc_batch_stream *stream)
{
    return stream->train ? &stream->set->train : &stream->set->test;
}

int64_t hc_batch_take_number(const struct hc_batch_take *take, int64_t n)
{
    if (take->count == 0)
        return n;
    return n / take->count * take->period + take->first + n % take->count * take->stride;
}

static int shards(const struct hc_batch_stream *stream)
{
    return stream->shards > 0 ? stream->shards : 1;
}

int64_t hc_batch_stream_batches(const struct hc_batch_stream *stream)
{
    int64_t count = hc_batch_stream_images(stream)->count;
    int64_t whole = (int64_t)stream->batch * shards(stream);
    return (stream->train ? count : count + whole - 1) / whole * shards(stream);
}

int hc_batch_stream_count(const struct hc_batch_stream *stream, int64_t index)
{
    int64_t left = hc_batch_stream_images(stream)->count - index * stream->batch;
    return left < stream->batch ? (int)left : stream->batch;
}

enum hc_status hc_batch_stream_check(const struct hc_batch_stream *stream, int64_t start)
{
    assert(stream->batch > 0);
    if (hc_batch_stream_batches(stream) < 1)
        return hc_fail(HC_INVALID, "a batch of %d is more than the %lld images there are",
                       stream->batch * shards(stream),
                       (long long)hc_batch_stream_images(stream)->count);
    if (start < 0 || start > INT32_MAX)
        return hc_fail(HC_INVALID, "no batch comes after %lld steps", (long long)start);
    return HC_OK;
}

/* A multiply-shift of 32 random bits picks among i + 1 with a bias below (i + 1) 2^-32. */
void hc_batch_stream_order(const struct hc_batch_stream *stream, int64_t epoch, int32_t *order)
{
    int64_t n = hc_batch_stream_images(stream)->count;
    for (int64_t i = 0; i < n; i++)
        order[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t bits = hc_random(stream->seed, ORDER_STREAM + (uint64_t)epoch, (uint64_t)i) >> 32;
        int64_t j = (int64_t)(bits * (uint64_t)(i + 1) >> 32);
        int32_t held = order[i];
        order[i] = order[j];
        order[j] = held;
    }
}

struct hc_call hc_batch_stream_call(const struct hc_batch_stream *stream, enum hc_format format)
{
    int64_t n = hc_batch_stream_images(stream)->count;
    struct hc_call call = {.op = HC_OP_augment};
    struct hc_augment *p = &call.params.augment;
    call.in[HC_AUGMENT_PIXELS] =
        hc_tensor4(HC_U8, n, HC_IMAGE_SIDE, HC_IMAGE_SIDE, HC_IMAGE_CHANNELS, NULL);
    call.in[HC_AUGMENT_LABELS] = hc_tensor1(HC_I32, n, NULL);
    call.in[HC_AUGMENT_STEPS] = hc_tensor1(HC_I32, 1, NULL);
    call.in[HC_AUGMENT_ORDER] = hc_tensor1(HC_I32, n, NULL);
    call.out[HC_AUGMENT_IMAGES] =
        hc_tensor4(format, stream->batch, HC_IMAGE_SIDE, HC_IMAGE_SIDE, HC_IMAGE_CHANNELS, NULL);
    call.out[HC_AUGMENT_IMAGE_LABELS] = hc_tensor1(HC_I32, stream->batch, NULL);
    p->seed = stream->seed;
    p->batches = hc_batch_stream_batches(stream);
    p->pad = PAD;
    p->crops = stream->train;
    memcpy(p->mean, stream->set->mean, sizeof p->mean);
    memcpy(p->deviation, stream->set->deviation, sizeof p->deviation);
    return call;
}
