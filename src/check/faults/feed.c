/* Defects of the images that a training is fed with. The loop makes its batches by the op augment
   where it works on a device, so the subject plays one: its memory is the host's, but nobody
   knows. */
#include <stdlib.h>

#include "check/selftest/change.h"

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

static void in_order(struct hc_call *call, double number)
{
    (void)number;
    call->in[HC_AUGMENT_ORDER].data = NULL;
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

static const struct hc_fault faults[] = {
    {"train-pads-by-3", "images are padded by 3 before they are cropped", HC_FAULT_TRAINER,
     "augment", "training/restated-*", .change = pad_by, .number = 3, .rebuild = hc_play_device},
    {"train-never-crops", "training images are neither cropped nor flipped", HC_FAULT_TRAINER,
     "augment", "training/restated-*", .change = never_crop, .rebuild = hc_play_device},
    {"train-crops-the-test", "test images are cropped and flipped", HC_FAULT_TRAINER, "augment",
     "training/restated-*", .change = always_crop, .number = 4, .rebuild = hc_play_device},
    {"train-in-order", "training images come in the order of the file", HC_FAULT_TRAINER, "augment",
     "training/restated-*", .change = in_order, .rebuild = hc_play_device},
    {"train-one-order", "every epoch has the first one's order", HC_FAULT_TRAINER, "augment",
     "training/restated-*", .change = one_order, .rebuild = hc_play_device},
    {"train-means-swapped", "the means of red and blue change places", HC_FAULT_TRAINER, "augment",
     "training/restated-*", .change = swapped_channels, .rebuild = hc_play_device},
    {"train-deviations-swapped", "the deviations of red and blue change places", HC_FAULT_TRAINER,
     "augment", "training/restated-*", .change = swapped_channels, .number = 1,
     .rebuild = hc_play_device},
};

HC_FAULTS(feed, faults);
