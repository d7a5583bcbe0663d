/* What is trained on: images, CIFAR-10 in its official binary layout or a synthetic set of the same
   shape; or a text, a file's or a made one. */
#ifndef HC_TRAIN_DATA_DATA_H
#define HC_TRAIN_DATA_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "op/status.h"

/* Images and their labels in host memory. */

#define HC_IMAGE_SIDE     32
#define HC_IMAGE_CHANNELS 3
#define HC_IMAGE_BYTES    3072 /* 32 * 32 * 3 */
#define HC_CLASSES        10

/* pixels: [count, 32, 32, 3], 0..255, channels last; labels: [count], 0..classes-1. */
struct hc_images {
    int64_t count;
    uint8_t *pixels;
    int32_t *labels;
};

/* Memory for so many images; count is set. HC_NO_MEMORY. */
enum hc_status hc_images_open(struct hc_images *images, int64_t count);
void hc_images_close(struct hc_images *images); /* zeros are fine */

/* A text, byte by byte. The first `trained` bytes are trained on, the others tested on. */
struct hc_text {
    int64_t bytes;
    int64_t trained;
    uint8_t *byte;
    /* Nats that a byte of the trained part costs if the one before it is known, by the frequencies
       of pairs: what a model must get below to have learned more than those. */
    double pairs;
};

/* mean and deviation are those of pixel / 255 over the training images of CIFAR-10, by channel; the
   synthetic set is made to be normalised by the same. `origin` is one line that says where the
   images come from; every output that rests on a synthetic set prints it. A text has no classes and
   no pixels: its train and test count the pieces of an epoch and of an evaluation. */
struct hc_dataset {
    bool synthetic;
    int classes;
    char names[HC_CLASSES][32]; /* of the labels 0..classes-1 */
    char origin[512];
    double mean[HC_IMAGE_CHANNELS];
    double deviation[HC_IMAGE_CHANNELS];
    struct hc_images train;
    struct hc_images test;
    struct hc_text text; /* no bytes: images */
};

struct hc_data_options {
    bool text; /* wanted, and not images: `directory` is a file, or NULL for the made text; only the
                  seed matters beside it */
    const char *directory; /* of the official files; NULL: the synthetic set */
    const char
        *classes;  /* a list of names (op/typed.h), labelled 0, 1, ... in this order; NULL: all */
    uint64_t seed; /* of the synthetic set */
    int train_per_class; /* of the synthetic set; 0: 500 */
    int test_per_class;  /* of the synthetic set; 0: 100 */
    /* If positive, the last so many training images of each class are not trained on, and are the
       test images: what is chosen by looking at them has not seen the test set. */
    int hold_out_per_class;
};

/* HC_IO if a file cannot be read, HC_INVALID if its content, or a class, is not what it should be;
   hc_message names the file and the fact. The set must be closed after a failure, too. */
enum hc_status hc_dataset_open(const struct hc_data_options *options, struct hc_dataset *set);
void hc_dataset_close(struct hc_dataset *set);

/* The same of a text, which hc_dataset_open calls (text.c). HC_IO for a file that cannot be read,
   HC_INVALID for one that is too short or longer than 2^30 bytes. */
enum hc_status hc_text_open(const struct hc_data_options *options, struct hc_dataset *set);

/* The made text: so many bytes of 64 words, each followed by one of four that the word before it
   allows, as the seed draws; 0.260372 nats a byte are what nobody can do without. */
void hc_text_make(uint64_t seed, int64_t bytes, uint8_t *to);

/* The pieces that a training reads, in turn, and those that it is tested on: piece i of `length` +
   1 bytes begins at a place that the seed draws. */
const uint8_t *hc_text_piece(const struct hc_text *text, bool train, uint64_t seed, int64_t i,
                             int64_t length);

#endif
