/* Defects of the images and labels that a training is fed with: of the op augment, which makes the
   batches, and of the cast that hands one to the network. The rows `train-*` run on a backend that
   plays a device, because the training loop lets the op augment make its batches only where the set
   lies in another memory. */
#include <stdlib.h>

#include "check/selftest/change.h"
#include "num/rng.h"

/* The epoch's number is left out of what is drawn. */
static enum hc_status same_epoch(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    struct hc_call bad = *call;
    int32_t steps = *(const int32_t *)call->in[HC_AUGMENT_STEPS].data;
    int32_t within = (int32_t)(steps % call->params.augment.batches);
    bad.in[HC_AUGMENT_STEPS] = hc_tensor1(HC_I32, 1, &within);
    bad.out[HC_AUGMENT_NEW_STEPS].data = NULL;
    enum hc_status status = site->right(queue, &bad);
    if (call->out[HC_AUGMENT_NEW_STEPS].data)
        *(int32_t *)call->out[HC_AUGMENT_NEW_STEPS].data = steps + 1;
    return status;
}

/* The number of batches that are drawn from an epoch is one too large. */
static void long_epoch(struct hc_call *call, double number)
{
    (void)number;
    call->params.augment.batches++;
}

static void bytes_over_256(struct hc_call *call, double number)
{
    (void)number;
    for (int c = 0; c < 3; c++) {
        call->params.augment.mean[c] *= 256.0 / 255;
        call->params.augment.deviation[c] *= 256.0 / 255;
    }
}

static void pad_by(struct hc_call *call, double number)
{
    call->params.augment.pad = (int)number;
}

static void never_crop(struct hc_call *call, double number)
{
    (void)number;
    call->params.augment.crops = false;
}

/* The test set, too, is cropped and flipped. */
static void always_crop(struct hc_call *call, double number)
{
    call->params.augment.crops = true;
    call->params.augment.pad = (int)number;
}

/* Means or deviations of red and blue change places. */
static void swapped_channels(struct hc_call *call, double number)
{
    struct hc_augment *p = &call->params.augment;
    double *of = number != 0 ? p->deviation : p->mean;
    double red = of[0];
    of[0] = of[2];
    of[2] = red;
}

/* One order serves all epochs. */
static void one_order(struct hc_call *call, double number)
{
    (void)number;
    static struct hc_tensor first;
    if (call->in[HC_AUGMENT_ORDER].data &&
        hc_tensor_count(&first) != hc_tensor_count(&call->in[HC_AUGMENT_ORDER])) {
        free(first.data);
        first = call->in[HC_AUGMENT_ORDER];
        first.data = hc_fault_copy(&call->in[HC_AUGMENT_ORDER]);
    }
    if (call->in[HC_AUGMENT_ORDER].data)
        call->in[HC_AUGMENT_ORDER] = first;
}

static void deviations_are(struct hc_call *call, double number)
{
    for (int c = 0; c < 3; c++)
        call->params.augment.deviation[c] = number;
}

/* The first image of each epoch comes again as the second. */
static enum hc_status image_twice(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    struct hc_call bad = *call;
    if (!call->in[HC_AUGMENT_ORDER].data)
        return site->right(queue, call);
    int32_t *order = hc_fault_copy(&call->in[HC_AUGMENT_ORDER]);
    order[1] = order[0];
    bad.in[HC_AUGMENT_ORDER].data = order;
    enum hc_status status = site->right(queue, &bad);
    free(order);
    return status;
}

static enum hc_status label_of_the_next(const struct hc_fault_site *site, struct hc_queue *queue,
                                        const struct hc_call *call)
{
    struct hc_call bad = *call;
    int64_t n = hc_tensor_count(&call->in[HC_AUGMENT_LABELS]);
    int32_t *labels = hc_fault_copy(&call->in[HC_AUGMENT_LABELS]);
    for (int64_t i = 0; i < n; i++)
        labels[i] = ((const int32_t *)call->in[HC_AUGMENT_LABELS].data)[(i + 1) % n];
    bad.in[HC_AUGMENT_LABELS].data = labels;
    enum hc_status status = site->right(queue, &bad);
    free(labels);
    return status;
}

static void mirror(const struct hc_tensor *images, int64_t image)
{
    int64_t high = images->shape[1];
    int64_t wide = images->shape[2];
    for (int64_t row = image * high; row < (image + 1) * high; row++)
        for (int64_t x = 0; x < wide / 2; x++)
            for (int64_t c = 0; c < images->shape[3]; c++) {
                int64_t i = (row * wide + x) * images->shape[3] + c;
                int64_t j = (row * wide + wide - 1 - x) * images->shape[3] + c;
                uint64_t bits = hc_tensor_bits(images, i);
                hc_tensor_set_bits(images, i, hc_tensor_bits(images, j));
                hc_tensor_set_bits(images, j, bits);
            }
}

/* Training images are all mirrored, or none is. */
static enum hc_status mirrored_alike(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    bool all = site->fault->number != 0;
    const struct hc_augment *p = &call->params.augment;
    int32_t steps = *(const int32_t *)call->in[HC_AUGMENT_STEPS].data;
    int64_t batch = call->out[HC_AUGMENT_IMAGES].shape[0];
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; i < batch && p->crops && status == HC_OK; i++) {
        int64_t k = steps % p->batches * batch + i;
        int32_t image = call->in[HC_AUGMENT_ORDER].data
                            ? ((const int32_t *)call->in[HC_AUGMENT_ORDER].data)[k]
                            : (int32_t)k;
        uint64_t bits =
            hc_random(p->seed, HC_CROP_STREAM + (uint64_t)(steps / p->batches), (uint64_t)image);
        if ((bits >> 63 != 0) != all)
            mirror(&call->out[HC_AUGMENT_IMAGES], i);
    }
    return status;
}

static enum hc_status batch_is_mirrored(const struct hc_fault_site *site, struct hc_queue *queue,
                                        const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; call->out[HC_OUT].rank == 4 && i < call->out[HC_OUT].shape[0]; i++)
        mirror(&call->out[HC_OUT], i);
    return status;
}

static const struct hc_fault faults[] = {
    {"epochs-repeat", "every epoch has the crops and flips of the first", HC_FAULT_DATA, "augment",
     "data/augment", .wrong = same_epoch},
    {"epoch-too-long", "an epoch has one batch too many", HC_FAULT_DATA, "augment",
     "data/epochs-begin-again", .change = long_epoch},
    {"pixels-over-256", "pixels are divided by 256", HC_FAULT_DATA, "augment", "data/pixels-*",
     .change = bytes_over_256},
    {"restated-means-swapped", "red has the mean of blue, and blue that of red", HC_FAULT_DATA,
     "augment", "training/restated-images", .change = swapped_channels},
    {"restated-no-deviation", "pixels are not divided by their deviations", HC_FAULT_DATA,
     "augment", "training/restated-images", .change = deviations_are, .number = 1},
    {"restated-padding-3", "images are padded by 3 before they are cropped", HC_FAULT_DATA,
     "augment", "training/restated-images", .change = pad_by, .number = 3},
    {"restated-never-moved", "every crop is cut from the middle of its image", HC_FAULT_DATA,
     "augment", "training/restated-images", .change = pad_by},
    {"restated-test-crops", "test images are cropped and mirrored like training images",
     HC_FAULT_DATA, "augment", "training/restated-images", .like = "train-crops-the-test"},
    {"restated-no-order", "every epoch has the images in the order of the set", HC_FAULT_DATA,
     "augment", "training/restated-images", .change = hc_take_for_absent,
     .number = HC_AUGMENT_ORDER},
    {"restated-image-twice", "an epoch has one image twice and lacks another", HC_FAULT_DATA,
     "augment", "training/restated-images", .wrong = image_twice},
    {"restated-next-label", "an image has the label of the next", HC_FAULT_DATA, "augment",
     "training/restated-images", .wrong = label_of_the_next},
    {"restated-all-mirrored", "every training image is mirrored", HC_FAULT_DATA, "augment",
     "training/restated-images", .wrong = mirrored_alike, .number = 1},
    {"restated-none-mirrored", "no training image is mirrored", HC_FAULT_DATA, "augment",
     "training/restated-images", .wrong = mirrored_alike},
    {"restated-batch-mirrored", "whole batches are mirrored on their way to the network",
     HC_FAULT_DATA, "cast", "training/restated-images", .wrong = batch_is_mirrored},
    {"train-pads-by-3", "images are padded by 3 before they are cropped", HC_FAULT_TRAINER,
     "augment", "training/restated-*", .change = pad_by, .number = 3, .rebuild = hc_play_device},
    {"train-never-crops", "training images are neither cropped nor flipped", HC_FAULT_TRAINER,
     "augment", "training/restated-*", .change = never_crop, .rebuild = hc_play_device},
    {"train-crops-the-test", "test images are cropped and flipped", HC_FAULT_TRAINER, "augment",
     "training/restated-*", .change = always_crop, .number = 4, .rebuild = hc_play_device},
    {"train-in-order", "training images come in the order of the file", HC_FAULT_TRAINER, "augment",
     "training/restated-*", .change = hc_take_for_absent, .number = HC_AUGMENT_ORDER,
     .rebuild = hc_play_device},
    {"train-one-order", "every epoch has the first one's order", HC_FAULT_TRAINER, "augment",
     "training/restated-*", .change = one_order, .rebuild = hc_play_device},
    {"train-means-swapped", "the means of red and blue change places", HC_FAULT_TRAINER, "augment",
     "training/restated-*", .change = swapped_channels, .rebuild = hc_play_device},
    {"train-deviations-swapped", "the deviations of red and blue change places", HC_FAULT_TRAINER,
     "augment", "training/restated-*", .change = swapped_channels, .number = 1,
     .rebuild = hc_play_device},
};

HC_FAULTS(images, faults);
