/* Defects of what a training remembers from step to step: its weights, the first moment, the count
   of steps, a sum of gradients, and casts of weights that are kept for the next time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"
#include "num/format.h"

/* The first copy of a master serves for ever: casts are kept by the address of what they are made
   of. */
static enum hc_status first_copy(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    static struct {
        const void *master;
        size_t bytes;
        void *copy;
    } known[256];
    const struct hc_tensor *out = &call->out[HC_MODEL_COPY];
    const void *master = call->in[HC_MODEL_MASTER].data;
    size_t bytes = hc_tensor_bytes(out);
    size_t i = 0;
    while (i < sizeof known / sizeof known[0] - 1 && known[i].master &&
           (known[i].master != master || known[i].bytes != bytes))
        i++;
    if (known[i].master == master && known[i].bytes == bytes) {
        memcpy(out->data, known[i].copy, bytes);
        return HC_OK;
    }
    enum hc_status status = site->right(queue, call);
    if (status != HC_OK)
        return status;
    free(known[i].copy);
    known[i].master = master;
    known[i].bytes = bytes;
    known[i].copy = hc_fault_copy(out);
    return HC_OK;
}

/* A sum in place is the last term alone. */
static enum hc_status last_term(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_OUT];
    bool in_place = out->data == call->in[HC_Y].data;
    double alpha = hc_round(HC_FP32, call->params.axpy.alpha);
    if (!in_place)
        return site->right(queue, call);
    for (int64_t i = 0; i < hc_tensor_count(out); i++)
        hc_tensor_set(out, i, alpha * hc_tensor_get(&call->in[HC_X], i));
    return HC_OK;
}

/* A cast to 16 bits and back gives what went in: the pair is removed. */
static enum hc_status pair_removed(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    static struct hc_tensor wide;
    static struct hc_tensor narrow;
    const struct hc_tensor *x = &call->in[HC_X];
    const struct hc_tensor *out = &call->out[HC_OUT];
    size_t bytes = hc_tensor_bytes(x);
    if (x->format == HC_FP32 && hc_formats[out->format].bytes == 2) {
        enum hc_status status = site->right(queue, call);
        free(wide.data);
        free(narrow.data);
        wide = *x;
        narrow = *out;
        wide.data = hc_fault_copy(x);
        narrow.data = hc_fault_copy(out);
        return status;
    }
    if (out->format == HC_FP32 && narrow.data && x->format == narrow.format &&
        bytes == hc_tensor_bytes(&narrow) && memcmp(x->data, narrow.data, bytes) == 0) {
        memcpy(out->data, wide.data, hc_tensor_bytes(&wide));
        return HC_OK;
    }
    return site->right(queue, call);
}

/* Adam's t is counted in bf16, where 256 + 1 is 256. */
static enum hc_status stands_at_256(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    const struct hc_tensor *hyper = &call->out[HC_RATES_HYPER];
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK)
        hc_tensor_set(hyper, HC_HYPER_STEP, fmin(hc_tensor_get(hyper, HC_HYPER_STEP), 256));
    return status;
}

/* The first moment is kept in codes of 8 bits between its smallest and its largest element. */
static enum hc_status in_8_bits(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    const struct hc_tensor *m = &call->out[HC_ADAM_NEW_M];
    enum hc_status status = site->right(queue, call);
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(m); i++) {
        low = fmin(low, hc_tensor_get(m, i));
        high = fmax(high, hc_tensor_get(m, i));
    }
    double unit = (high - low) / 255;
    for (int64_t i = 0; status == HC_OK && unit > 0 && i < hc_tensor_count(m); i++)
        hc_tensor_set(m, i, low + unit * rint((hc_tensor_get(m, i) - low) / unit));
    return status;
}

static const struct hc_change in_half = {hc_everywhere, hc_through_fp16, 0, HC_FIRST};
static const struct hc_change in_bf16 = {hc_everywhere, hc_through_bf16, 0, HC_FIRST};

static const struct hc_fault faults[] = {
    {"masters-in-half", "optimizers round the weights that they work on into half",
     HC_FAULT_ROUNDING, "sgd adam adamw", "field/lost-masters/* master/*", .outputs = &in_half},
    {"masters-in-bf16", "optimizers round the weights that they work on into bf16",
     HC_FAULT_ROUNDING, "sgd adam adamw", "field/lost-masters/* master/*", .outputs = &in_bf16},
    {"model-copy-kept", "the first cast of a weight serves for ever", HC_FAULT_STATE,
     "master_to_model", "field/cast-cache/* field/parameter-identity/* master/*",
     .wrong = first_copy},
    {"gradients-overwritten", "a sum in place is the last term alone", HC_FAULT_IN_PLACE, "axpy",
     "op/axpy/*in-place-of-y/* field/gradient-flag/*", .wrong = last_term},
    {"cast-pair-removed", "a cast to 16 bits and back to fp32 gives what went in", HC_FAULT_STATE,
     "cast", "rounding/there-and-back/* field/excess-precision/*", .wrong = pair_removed},
    {"t-stands-at-256", "Adam's t stands still at 256", HC_FAULT_STATE, "rates",
     "field/step-counter/* scaler/large-counts", .wrong = stands_at_256},
    {"moment-without-zero", "Adam keeps its first moment in codes of 8 bits without a zero",
     HC_FAULT_STATE, "adam adamw", "field/moment-codes/* op/adam/*", .wrong = in_8_bits},
};

HC_FAULTS(memory, faults);
