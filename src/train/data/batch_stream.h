/* The stream of batches of an image set, whoever makes them: the loader's thread or a device.

   A batch is a pure function of the images, the size of a batch, the seed and the number of steps
   before it. Timing, threads and the place where a run was stopped do not enter. After `steps`
   steps comes batch steps mod batches of epoch steps / batches.

   The batches of a training may be cut into shards, which then are the batches of the stream: the
   same images in the same order, `shards` times as many steps, whose number counts shards. */
#ifndef HC_TRAIN_DATA_BATCH_STREAM_H
#define HC_TRAIN_DATA_BATCH_STREAM_H

#include "op/call.h"
#include "train/data/data.h"

/* The batches that one reader of a stream takes: of each `period` of them those numbered first,
   first + stride, and so on, `count` of them. A count of 0: all. */
struct hc_batch_take {
    int64_t period;
    int64_t first;
    int64_t stride;
    int64_t count;
};

/* The number of the n-th batch that is taken. */
int64_t hc_batch_take_number(const struct hc_batch_take *take, int64_t n);

struct hc_batch_stream {
    const struct hc_dataset *set;
    bool train; /* true: the training images, shuffled and augmented. Every batch is full; what is
                   left over waits for another epoch's order.
                   false: the test images in their order, untouched. The last batch may be shorter;
                   after it the stream begins again. */
    int batch;  /* images in a full batch */
    uint64_t seed;
    int shards; /* so many make up a step of the training; 0: 1 */
    struct hc_batch_take take;
};

const struct hc_images *hc_batch_stream_images(const struct hc_batch_stream *stream);

/* Batches in an epoch, and images in batch `index` of one. */
int64_t hc_batch_stream_batches(const struct hc_batch_stream *stream);
int hc_batch_stream_count(const struct hc_batch_stream *stream, int64_t index);

/* HC_INVALID if a batch, with all of its shards, has more images than there are, or if `start` does
   not fit into 32 bits. */
enum hc_status hc_batch_stream_check(const struct hc_batch_stream *stream, int64_t start);

/* The order of an epoch of training images: a permutation by Fisher-Yates from the Philox stream
   "SHUF" 2^32 + epoch. */
void hc_batch_stream_order(const struct hc_batch_stream *stream, int64_t epoch, int32_t *order);

/* The op augment for this stream, with its images in that format. The tensors have shapes and no
   memory; the new count of steps is left out. */
struct hc_call hc_batch_stream_call(const struct hc_batch_stream *stream, enum hc_format format);

#endif
