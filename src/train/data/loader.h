/* Batches of normalised images in host memory (batch_stream.h). A thread of its own prepares them
   beside the training, with the op augment of the backend `exact`. After hc_loader_open a loader
   neither allocates nor reads files. */
#ifndef HC_TRAIN_DATA_LOADER_H
#define HC_TRAIN_DATA_LOADER_H

#include "train/data/batch_stream.h"

/* The batch after `steps` steps. images: fp32 [batch, 32, 32, 3], (pixel / 255 - mean) / deviation
   rounded once; labels: i32 [batch]; both aligned to 64. Beyond `count` images and labels are zero.
   */
struct hc_batch {
    int64_t steps;
    int count;
    float *images;
    int32_t *labels;
};

struct hc_loader;

/* `start`: batches taken before the first one that hc_loader_next gives. The stream's set must
   outlive the loader. HC_INVALID as hc_batch_stream_check, HC_NO_MEMORY. */
enum hc_status hc_loader_open(const struct hc_batch_stream *stream, int64_t start,
                              struct hc_loader **loader);
void hc_loader_close(struct hc_loader *loader); /* takes NULL */

/* Waits for the next batch, which stays the loader's and lives until the next call. The batches
   never end: after an epoch comes the next. */
const struct hc_batch *hc_loader_next(struct hc_loader *loader);

#endif
