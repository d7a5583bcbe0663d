/* Batches where a training step reads them: always in the same place of the backend's memory.

   A backend that works in host memory gets them from the loader, whose thread prepares them beside
   the training. Any other backend keeps the whole set in its own memory (u8), and the op augment
   makes each batch there: no image crosses over, and the host uploads only the order of the images,
   when an epoch begins. Both give the same bits, those of batch_stream.h.

   Pieces of a text (data.h) are few bytes, and the host uploads each batch: piece i of batch b is
   number b * batch + i of the text's. */
#ifndef HC_TRAIN_RUN_FEED_H
#define HC_TRAIN_RUN_FEED_H

#include "train/net/device.h"
#include "train/data/batch_stream.h"

struct hc_feed_options {
    const struct hc_dataset *set; /* outlives the feed */
    bool train;                   /* as in stream.h */
    int length;                   /* bytes of a text's pieces */
    int batch;                    /* images in a full batch */
    uint64_t seed;
    int shards; /* as in batch_stream.h, and so is `take` */
    struct hc_batch_take take;
    enum hc_format format; /* of the images: H */
    int64_t start;         /* batches taken before the first one of this feed */

    /* i32 in the backend's memory, whose first element is how many steps are done: it is `start`
       when the first batch is made, and one more for each after it. Without data the feed keeps a
       count of its own, as it must if it takes only some of the batches, or shards. (In host memory
       nobody looks at it.) */
    struct hc_tensor steps;
};

struct hc_feed;

/* HC_INVALID as hc_batch_stream_check, HC_NO_MEMORY, HC_UNSUPPORTED or HC_DEVICE. */
enum hc_status hc_feed_open(struct hc_feed **feed, struct hc_device *device,
                            const struct hc_feed_options *options);
void hc_feed_close(struct hc_feed *feed); /* NULL is fine */

/* Batches in an epoch; images in batch `index` of one: fewer in the last of the test images. */
int64_t hc_feed_batches(const struct hc_feed *feed);
int hc_feed_count(const struct hc_feed *feed, int64_t index);

/* The batch: images [batch, 32, 32, 3] in the options' format, labels i32 [batch]; zero beyond the
   batch's count. Of a text: its bytes i32 [batch * length], and the byte after each. Their memory
   stays the same as long as the feed lives. */
struct hc_tensor hc_feed_images(const struct hc_feed *feed);
struct hc_tensor hc_feed_labels(const struct hc_feed *feed);

/* The next batch, in two parts. hc_feed_prepare is the host's: once before each step, in order,
   outside of any capture; it touches the device when an epoch begins and else does nothing there.
   hc_feed_make queues one op whose arguments never change, so that it can be captured once and
   replayed. (In host memory the first does it all.) */
enum hc_status hc_feed_prepare(struct hc_feed *feed);
enum hc_status hc_feed_make(struct hc_feed *feed);

#endif
