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
static enum hc_status long_epoch(const struct hc_fault_site *planted, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.augment.batches++;
    return planted->right(queue, &bad);
}

static enum hc_status bytes_over_256(const struct hc_fault_site *planted, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    struct hc_call bad = *call;
    for (int c = 0; c < 3; c++) {
        bad.params.augment.mean[c] *= 256.0 / 255;
        bad.params.augment.deviation[c] *= 256.0 / 255;
    }
    return planted->right(queue, &bad);
}

static const struct hc_fault faults[] = {
    {.name = "epochs-repeat",
     .title = "augment: every epoch has the first one's crops and flips",
     .class_ = HC_FAULT_DATA,
     .ops = "augment",
     .patterns = "data/augment",
     .wrong = same_epoch},
    {.name = "epoch-too-long",
     .title = "augment: an epoch has a batch too many",
     .class_ = HC_FAULT_DATA,
     .ops = "augment",
     .patterns = "data/epochs-begin-again",
     .wrong = long_epoch},
    {.name = "pixels-over-256",
     .title = "augment: pixels are divided by 256",
     .class_ = HC_FAULT_DATA,
     .ops = "augment",
     .patterns = "data/pixels-*",
     .wrong = bytes_over_256},
};

HC_FAULTS(data, faults);
