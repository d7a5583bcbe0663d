/* What a training step counts and decides, and the batch that it reads: small kernels, so that
   nothing of a step has to come to the host. */
#include "kernels/element/control.h"

#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/arguments.h"
#include "kernels/cuda/kernel/elements.h"
#include "kernels/element/augment.h"
#include "kernels/element/scaler.h"

/* One thread. The outputs may be the inputs. */
HC_ON_DEVICE void hc_dk_scaler_update_body(const struct hc_call *c)
{
    const int32_t *counts_in = (const int32_t *)c->in[HC_SCALER_COUNTS].data;
    int32_t *counts_out = (int32_t *)c->out[HC_SCALER_NEW_COUNTS].data;
    float scale = hc_dk_load(&c->in[HC_SCALER_SCALE], 0);
    int32_t counts[HC_COUNTS];
    for (int i = 0; i < HC_COUNTS; i++)
        counts[i] = counts_in[i];
    hc_scaler_step(&c->params.scaler, &scale, counts, hc_dk_is_set(&c->in[HC_SCALER_FOUND_INF]));
    for (int i = 0; i < HC_COUNTS; i++)
        counts_out[i] = counts[i];
    hc_dk_store(&c->out[HC_SCALER_NEW_SCALE], 0, scale);
}
HC_LAUNCHABLE(scaler_update, struct hc_call)

/* HC_VERDICT_ELEMENTS threads of one block. */
HC_ON_DEVICE void hc_dk_overflow_verdict_body(const struct hc_call *c)
{
    const int32_t *counts = (const int32_t *)c->in[HC_SCALER_COUNTS].data;
    float verdict =
        hc_scaler_verdict(&c->params.scaler, hc_dk_load(&c->in[HC_SCALER_SCALE], 0), counts,
                          hc_dk_is_set(&c->in[HC_SCALER_FOUND_INF]), hc_thread());
    hc_dk_store(&c->out[HC_VERDICT_OUT], hc_thread(), verdict);
}
HC_LAUNCHABLE(overflow_verdict, struct hc_call)

/* HC_HYPER_COUNT threads of one block. */
HC_ON_DEVICE void hc_dk_rates_body(const struct hc_call *c)
{
    const struct hc_tensor *table = &c->in[HC_RATES_TABLE];
    float rate = hc_element_rates((const float *)table->data, table->shape[0],
                                  (const int32_t *)c->in[HC_RATES_COUNTS].data, hc_thread());
    hc_dk_store(&c->out[HC_RATES_HYPER], hc_thread(), rate);
}
HC_LAUNCHABLE(rates, struct hc_call)

/* A thread for each element of the log. */
HC_ON_DEVICE void hc_dk_step_log_body(const struct hc_call *c)
{
    const struct hc_tensor *log = &c->in[HC_STEP_LOG_ROWS];
    const int32_t *counts = (const int32_t *)c->in[HC_STEP_LOG_COUNTS].data;
    const float *scalar[HC_STEP_LOG_COLUMNS];
    for (int i = 0; i < HC_STEP_LOG_COLUMNS; i++)
        scalar[i] = (const float *)c->in[HC_STEP_LOG_SCALARS + i].data;
    for (int64_t i = hc_dk_first(); i < hc_dk_count(log); i += hc_dk_stride())
        hc_dk_store(&c->out[HC_STEP_LOG_NEW_ROWS], i,
                    hc_element_step_log(hc_dk_load(log, i), scalar, log->shape[0], counts, i));
}
HC_LAUNCHABLE(step_log, struct hc_call)

/* One thread. */
HC_ON_DEVICE void hc_dk_clip_body(const struct hc_call *c)
{
    hc_dk_store(&c->out[HC_CLIP_FACTOR], 0,
                hc_element_clip(hc_dk_load(&c->in[HC_CLIP_SUM_SQUARES], 0),
                                (float)c->params.clip.max_norm,
                                hc_dk_is_set(&c->in[HC_CLIP_OVERFLOWED])));
}
HC_LAUNCHABLE(clip, struct hc_call)

/* A thread for each pixel of the batch, with its three channels. Every thread draws its image's
   crop again: ten rounds of integers against three reads and writes. The last block counts the
   batch, when all have read the count: both may be the same tensor. */
HC_ON_DEVICE void hc_dk_augment_body(const struct hc_dk_counted_call *a)
{
    const struct hc_call *c = &a->call;
    const struct hc_augment *p = &c->params.augment;
    const struct hc_tensor *set = &c->in[HC_AUGMENT_PIXELS];
    const struct hc_tensor *order = &c->in[HC_AUGMENT_ORDER];
    const struct hc_tensor *batch = &c->out[HC_AUGMENT_IMAGES];
    const int32_t *labels = (const int32_t *)c->in[HC_AUGMENT_LABELS].data;
    int64_t step = *(const int32_t *)c->in[HC_AUGMENT_STEPS].data;
    int64_t length = order->data ? hc_dk_count(order) : set->shape[0];
    int64_t high = set->shape[1];
    int64_t wide = set->shape[2];
    int64_t first = step % p->batches * batch->shape[0];
    for (int64_t i = hc_dk_first(); i < batch->shape[0] * high * wide; i += hc_dk_stride()) {
        int64_t place = i / (high * wide);
        int64_t pixel = i % (high * wide);
        int64_t image = hc_batch_image((const int32_t *)order->data, length, first + place);
        struct hc_crop crop = hc_crop_draw(p, step / p->batches, image);
        int64_t from =
            image * high * wide + hc_crop_pixel(&crop, high, wide, pixel / wide, pixel % wide);
        for (int k = 0; k < 3; k++)
            hc_dk_store(batch, 3 * i + k,
                        image < 0 ? 0.0f
                                  : hc_pixel_value(((const uint8_t *)set->data)[3 * from + k],
                                                   p->mean[k], p->deviation[k]));
        if (pixel == 0)
            ((int32_t *)c->out[HC_AUGMENT_IMAGE_LABELS].data)[place] =
                image < 0 ? 0 : labels[image];
    }
    int32_t *count = (int32_t *)c->out[HC_AUGMENT_NEW_STEPS].data;
    if (count && hc_dk_last_block(a->counters, hc_blocks()) && hc_thread() == 0)
        *count = (int32_t)(step + 1);
}
HC_LAUNCHABLE(augment, struct hc_dk_counted_call)
