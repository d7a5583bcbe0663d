/* A training loop that hands its ops something else, or remembers wrongly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"
#include "num/format.h"
#include "num/rng.h"
#include "op/counts.h"

/* Defects of the training loop, planted in what it hands to its ops. The ops are right, so that
   only a training can show them. */

static void without_bias(struct hc_call *call)
{
    if (call->in[HC_GEMM_C].data && call->params.gemm.beta == 1 && call->in[HC_GEMM_C].rank == 1)
        call->params.gemm.beta = 0;
}

/* The shortcut past a block is forgotten. */
static enum hc_status no_shortcut(const struct hc_fault_site *site, const struct hc_call *call)
{
    if (call->out[HC_OUT].rank != 4)
        return hc_right(site, call);
    memcpy(call->out[HC_OUT].data, call->in[HC_X].data, hc_tensor_bytes(&call->out[HC_OUT]));
    return HC_OK;
}

/* The rates of a step by another schedule. */
struct schedule {
    int rows_late; /* how many steps the row lies before the right one */
    double rate;   /* factor of the rate */
    double least_beta;
    double late_from; /* from this fraction of the table on the rate is also multiplied by `late` */
    double late;
};

static void other_rates(const struct hc_call *call, const struct hc_fault *fault)
{
    const struct schedule *s = fault->data;
    int64_t rows = call->in[HC_RATES_TABLE].shape[0];
    int64_t step = (int64_t)hc_in(call, HC_RATES_COUNTS, HC_COUNT_STEPS);
    int64_t row = step < rows ? step : rows - 1;
    if (rows < 2)
        return;
    int64_t from = row >= s->rows_late ? row - s->rows_late : 0;
    double rate = hc_in(call, HC_RATES_TABLE, 2 * from) * s->rate;
    bool late = (double)row >= s->late_from * (double)rows;
    hc_give(call, HC_RATES_HYPER, 0, late ? rate * s->late : rate);
    hc_give(call, HC_RATES_HYPER, 1,
            fmax(hc_in(call, HC_RATES_TABLE, 2 * from + 1), s->least_beta));
}

/* The step log gets another loss. */
static void other_loss(struct hc_call *call)
{
    if (call->in[HC_STEP_LOG_SCALARS].data)
        hc_tensor_set(&call->in[HC_STEP_LOG_SCALARS], 0,
                      hc_in(call, HC_STEP_LOG_SCALARS, 0) * 1.01);
}

/* A batch that is not full counts one more correct image, as if padding were counted. */
static void padding_is_right(const struct hc_call *call)
{
    static int64_t full;
    full = call->in[HC_XENT_LOGITS].shape[0] > full ? call->in[HC_XENT_LOGITS].shape[0] : full;
    if (call->in[HC_XENT_LOGITS].shape[0] < full && call->out[HC_XENT_CORRECT].data)
        hc_give(call, HC_XENT_CORRECT, 0, hc_out(call, HC_XENT_CORRECT, 0) + 1);
}

/* Before the first op of a training runs, its weights, which are uniform numbers, are uploaded.
   Tensors whose elements are not all equal become a hundredth larger. Each training opens a queue
   of its own. */
static bool ran;

static enum hc_status (*right_open)(const struct hc_backend *backend, struct hc_queue **queue,
                                    int threads);
static enum hc_status (*right_upload)(struct hc_queue *queue, void *to, const void *from,
                                      size_t bytes);

static enum hc_status open_anew(const struct hc_backend *backend, struct hc_queue **queue,
                                int threads)
{
    ran = false;
    return right_open(backend, queue, threads);
}

static enum hc_status upload_more(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    const float *values = from;
    size_t n = bytes / sizeof(float);
    if (ran || bytes % sizeof(float) != 0 || n < 8 ||
        memcmp(values, values + 1, bytes - sizeof(float)) == 0)
        return right_upload(queue, to, from, bytes);
    float *more = malloc(bytes);
    if (!more)
        return hc_fail(HC_NO_MEMORY, "no memory for a fault's weights");
    for (size_t i = 0; i < n; i++)
        more[i] = values[i] * 1.01F;
    enum hc_status status = right_upload(queue, to, more, bytes);
    free(more);
    return status;
}

static void larger_weights(struct hc_backend *faulty)
{
    right_open = faulty->open;
    right_upload = faulty->upload;
    faulty->open = open_anew;
    faulty->upload = upload_more;
}

static enum hc_status notes_a_call(const struct hc_fault_site *site, const struct hc_call *call)
{
    ran = true;
    return hc_right(site, call);
}

/* Defects of the training loop, planted where they arrive: in the rates, counts and weights that
   its ops get or give. The cases training/restated-* hold a whole training to its specification. */

/* Parameters have one extent on their way to the optimizer's vectors; batches have four. */
static void weights_times(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_tensor *w = &call->out[HC_OUT];
    for (int64_t i = 0; w->rank == 1 && w->format == HC_FP32 && i < hc_tensor_count(w); i++)
        if (fabs(hc_tensor_get(w, i)) < 1)
            hc_tensor_set(w, i, row->number * hc_tensor_get(w, i));
}

/* The row of the step before; or the last row is never reached. */
static void rates_of(struct hc_call *call, const struct hc_fault *row)
{
    int32_t *counts = call->in[HC_RATES_COUNTS].data;
    if (counts[HC_COUNT_STEPS] > 0 &&
        (row->number == 0 || counts[HC_COUNT_STEPS] >= call->in[HC_RATES_TABLE].shape[0] - 1))
        counts[HC_COUNT_STEPS]--;
}

/* An element of hyper times one number, plus another. */
struct rate {
    int which;
    float times;
    float plus;
};

static void rate_is(const struct hc_call *call, const struct hc_fault *row)
{
    const struct rate *rate = row->data;
    float *hyper = call->out[HC_RATES_HYPER].data;
    hyper[rate->which] = rate->times * hyper[rate->which] + rate->plus;
}

static void counts_one_step(const struct hc_call *call)
{
    int32_t *counts = call->out[HC_SCALER_NEW_COUNTS].data;
    if (counts[HC_COUNT_TAKEN] > 1)
        counts[HC_COUNT_TAKEN] = 1;
}

/* Each parameter has the first moment of another, 64 elements on. */
static void moment_of_another(struct hc_call *call)
{
    struct hc_tensor m = call->in[HC_ADAM_M];
    m.data = hc_fault_copy(&m);
    for (int64_t i = 0, n = hc_tensor_count(&m); i < n; i++)
        hc_tensor_set_bits(&call->in[HC_ADAM_M], i, hc_tensor_bits(&m, (i + 64) % n));
    free(m.data);
}

static void not_unscaled(struct hc_call *call)
{
    hc_tensor_set(&call->in[HC_UNSCALE_SCALE], 0, 1);
}

/* The sum over a short batch is divided by four all the same. */
static void mean_of_four(const struct hc_call *call)
{
    *(float *)call->out[HC_XENT_LOSS].data *= (float)call->in[HC_XENT_LOGITS].shape[0] / 4;
}

/* On the way back a sum's result takes the place of one of its terms. */
static enum hc_status shortcut_lost(const struct hc_fault_site *site, const struct hc_call *call)
{
    if (call->out[HC_OUT].data != call->in[HC_X].data)
        return hc_right(site, call);
    memcpy(call->out[HC_OUT].data, call->in[HC_Y].data, hc_tensor_bytes(&call->out[HC_OUT]));
    return HC_OK;
}

static void twice_for_one_row(struct hc_call *call)
{
    if (call->out[HC_GEMM_OUT].shape[0] == 1)
        call->params.gemm.alpha *= 2;
}

/* Defects of the images and labels that a training is fed with: of the op augment, which makes the
   batches, and of the cast that hands one to the network. The rows `train-*` run on a backend that
   plays a device, because the training loop lets the op augment make its batches only where the set
   lies in another memory. */

/* The epoch's number is left out of what is drawn. */
static enum hc_status same_epoch(const struct hc_fault_site *site, const struct hc_call *call)
{
    struct hc_call bad = *call;
    int32_t steps = *(const int32_t *)call->in[HC_AUGMENT_STEPS].data;
    int32_t within = (int32_t)(steps % call->params.augment.batches);
    bad.in[HC_AUGMENT_STEPS] = hc_tensor1(HC_I32, 1, &within);
    bad.out[HC_AUGMENT_NEW_STEPS].data = NULL;
    enum hc_status status = hc_right(site, &bad);
    if (call->out[HC_AUGMENT_NEW_STEPS].data)
        *(int32_t *)call->out[HC_AUGMENT_NEW_STEPS].data = steps + 1;
    return status;
}

/* The number of batches that are drawn from an epoch is one too large. */
static void long_epoch(struct hc_call *call)
{
    call->params.augment.batches++;
}

static void bytes_over_256(struct hc_call *call)
{
    for (int c = 0; c < 3; c++) {
        call->params.augment.mean[c] *= 256.0 / 255;
        call->params.augment.deviation[c] *= 256.0 / 255;
    }
}

/* The test set, too, is cropped and flipped. */
static void always_crop(struct hc_call *call, const struct hc_fault *row)
{
    call->params.augment.crops = true;
    call->params.augment.pad = (int)row->number;
}

/* Means or deviations of red and blue change places. */
static void swapped_channels(struct hc_call *call, const struct hc_fault *row)
{
    struct hc_augment *p = &call->params.augment;
    double *of = row->number != 0 ? p->deviation : p->mean;
    double red = of[0];
    of[0] = of[2];
    of[2] = red;
}

/* One order serves all epochs. */
static void one_order(struct hc_call *call)
{
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

static void deviations_are(struct hc_call *call, const struct hc_fault *row)
{
    for (int c = 0; c < 3; c++)
        call->params.augment.deviation[c] = row->number;
}

/* The first image of each epoch comes again as the second. */
static void image_twice(struct hc_call *call)
{
    int32_t *order = call->in[HC_AUGMENT_ORDER].data;
    if (order)
        order[1] = order[0];
}

static void label_of_the_next(struct hc_call *call)
{
    int32_t *labels = call->in[HC_AUGMENT_LABELS].data;
    int32_t first = labels[0];
    int64_t last = hc_tensor_count(&call->in[HC_AUGMENT_LABELS]) - 1;
    memmove(labels, labels + 1, (size_t)last * sizeof *labels);
    labels[last] = first;
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
static void mirrored_alike(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_augment *p = &call->params.augment;
    int32_t steps = *(const int32_t *)call->in[HC_AUGMENT_STEPS].data;
    int64_t batch = call->out[HC_AUGMENT_IMAGES].shape[0];
    const int32_t *order = call->in[HC_AUGMENT_ORDER].data;
    for (int64_t i = 0; i < batch && p->crops; i++) {
        int64_t k = steps % p->batches * batch + i;
        int32_t image = order ? order[k] : (int32_t)k;
        uint64_t bits =
            hc_random(p->seed, HC_CROP_STREAM + (uint64_t)(steps / p->batches), (uint64_t)image);
        if ((bits >> 63 != 0) != (row->number != 0))
            mirror(&call->out[HC_AUGMENT_IMAGES], i);
    }
}

static void batch_is_mirrored(const struct hc_call *call)
{
    for (int64_t i = 0; call->out[HC_OUT].rank == 4 && i < call->out[HC_OUT].shape[0]; i++)
        mirror(&call->out[HC_OUT], i);
}

/* Defects of what a training remembers from step to step: its weights, the first moment, the count
   of steps, a sum of gradients, and casts of weights that are kept for the next time. */

/* The first copy of a master serves for ever: casts are kept by the address of what they are made
   of. */
static enum hc_status first_copy(const struct hc_fault_site *site, const struct hc_call *call)
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
    enum hc_status status = hc_right(site, call);
    if (status != HC_OK)
        return status;
    free(known[i].copy);
    known[i].master = master;
    known[i].bytes = bytes;
    known[i].copy = hc_fault_copy(out);
    return HC_OK;
}

/* A sum in place is the last term alone. */
static enum hc_status last_term(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_OUT];
    bool in_place = out->data == call->in[HC_Y].data;
    double alpha = hc_round(HC_FP32, call->params.axpy.alpha);
    if (!in_place)
        return hc_right(site, call);
    for (int64_t i = 0; i < hc_tensor_count(out); i++)
        hc_tensor_set(out, i, alpha * hc_in(call, HC_X, i));
    return HC_OK;
}

/* A cast to 16 bits and back gives what went in: the pair is removed. */
static enum hc_status pair_removed(const struct hc_fault_site *site, const struct hc_call *call)
{
    static struct hc_tensor wide;
    static struct hc_tensor narrow;
    const struct hc_tensor *x = &call->in[HC_X];
    const struct hc_tensor *out = &call->out[HC_OUT];
    size_t bytes = hc_tensor_bytes(x);
    if (x->format == HC_FP32 && hc_formats[out->format].bytes == 2) {
        enum hc_status status = hc_right(site, call);
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
    return hc_right(site, call);
}

/* Adam's t is counted in bf16, where 256 + 1 is 256. */
static void stands_at_256(const struct hc_call *call)
{
    const struct hc_tensor *hyper = &call->out[HC_RATES_HYPER];
    hc_tensor_set(hyper, HC_HYPER_STEP, fmin(hc_tensor_get(hyper, HC_HYPER_STEP), 256));
}

/* The first moment is kept in codes of 8 bits between its smallest and its largest element. */
static void in_8_bits(const struct hc_call *call)
{
    const struct hc_tensor *m = &call->out[HC_ADAM_NEW_M];
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    for (int64_t i = 0; i < hc_tensor_count(m); i++) {
        low = fmin(low, hc_tensor_get(m, i));
        high = fmax(high, hc_tensor_get(m, i));
    }
    double unit = (high - low) / 255;
    for (int64_t i = 0; unit > 0 && i < hc_tensor_count(m); i++)
        hc_tensor_set(m, i, low + unit * rint((hc_tensor_get(m, i) - low) / unit));
}

static const struct hc_fault faults[] = {
#include "check/faults/training.def"
};

HC_FAULTS(training, faults);
