/* Batches of normalised images in host memory (stream.h), prepared by a thread of its own beside the
   training: the op augment as the backend `exact` has it. A loader neither allocates nor reads files
   after hc_loader_open. */
#ifndef HC_TRAIN_LOADER_H
#define HC_TRAIN_LOADER_H

#include "train/stream.h"

/* The place of a batch in the stream. */
struct hc_position {
    int64_t epoch;
    int64_t batch;
};

struct hc_loader_options {
    const struct hc_dataset *set;
    bool train;
    int batch;
    uint64_t seed;
    struct hc_position start; /* of the first batch that hc_loader_next gives */
};

/* images: fp32 [batch, 32, 32, 3], (pixel / 255 - mean) / deviation rounded once; labels: i32
   [batch]; both aligned to 64. Beyond `count` images and labels are zero. */
struct hc_batch {
    struct hc_position position;
    int count;
    float *images;
    int32_t *labels;
};

struct hc_loader;

/* The set must outlive the loader. HC_INVALID when there are fewer training images than a batch
   has, or no images, or no such start. */
enum hc_status hc_loader_open(const struct hc_loader_options *options, struct hc_loader **loader);
void hc_loader_close(struct hc_loader *loader); /* takes NULL */

/* Batches in an epoch. */
int64_t hc_loader_batches(const struct hc_loader *loader);

/* The next batch, which is the loader's and lives until the next call; waits where it must. Never
   ends: after an epoch comes the next. */
const struct hc_batch *hc_loader_next(struct hc_loader *loader);

/* Where the next hc_loader_next will be: what a checkpoint keeps, and `start` takes. */
struct hc_position hc_loader_position(const struct hc_loader *loader);

#endif
