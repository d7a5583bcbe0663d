/* Defects of the way from images to batches. */
#include "check/selftest/fault.h"

/* The epoch's number is left out of what is drawn. */
static enum hc_status same_epoch(const struct hc_fault_site *planted, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    struct hc_call bad = *call;
    int32_t steps = *(const int32_t *)call->in[HC_AUGMENT_STEPS].data;
    int32_t within = (int32_t)(steps % call->params.augment.batches);
    bad.in[HC_AUGMENT_STEPS] = hc_tensor1(HC_I32, 1, &within);
    bad.out[HC_AUGMENT_NEW_STEPS].data = NULL;
    enum hc_status status = planted->right(queue, &bad);
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

static const struct hc_fault faults[] = {
    {"epochs-repeat", "augment: every epoch has the first one's crops and flips", HC_FAULT_DATA,
     "augment", "data/augment", .wrong = same_epoch},
    {"epoch-too-long", "augment: an epoch has a batch too many", HC_FAULT_DATA, "augment",
     "data/epochs-begin-again", .change = long_epoch},
    {"pixels-over-256", "augment: pixels are divided by 256", HC_FAULT_DATA, "augment",
     "data/pixels-*", .change = bytes_over_256},
};

HC_FAULTS(data, faults);
