/* augment: batches of cropped, flipped and normalized images. */
#include "kernels/element/augment.h"
#include "kernels/exact/exact.h"
#include "kernels/element/load.h"

/* The value of every possible pixel in each channel: a few hundred divisions instead of one for
   each element. */
struct values {
    float of[3][256];
};

static void copy_image(const struct hc_call *call, const struct values *values,
                       const struct hc_crop *crop, int64_t image, int64_t to)
{
    const struct hc_tensor *x = &call->in[HC_AUGMENT_PIXELS];
    const struct hc_tensor *y = &call->out[HC_AUGMENT_IMAGES];
    int64_t size = x->shape[1] * x->shape[2] * 3;
    const uint8_t *pixels = (const uint8_t *)x->data + image * size;
    to *= size;
    for (int64_t h = 0; h < x->shape[1]; h++)
        for (int64_t w = 0; w < x->shape[2]; w++) {
            int64_t from = 3 * hc_crop_pixel(crop, x->shape[1], x->shape[2], h, w);
            for (int64_t c = 0; c < 3; c++)
                hc_store(y->format, y->data, to++, values->of[c][pixels[from + c]]);
        }
}

static void clear_image(const struct hc_tensor *y, int64_t i)
{
    int64_t size = y->shape[1] * y->shape[2] * 3;
    for (int64_t k = i * size; k < (i + 1) * size; k++)
        hc_store(y->format, y->data, k, 0);
}

enum hc_status hc_exact_augment(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_augment *p = &call->params.augment;
    const struct hc_tensor *order = &call->in[HC_AUGMENT_ORDER];
    const int32_t *from = call->in[HC_AUGMENT_LABELS].data;
    int32_t *labels = call->out[HC_AUGMENT_IMAGE_LABELS].data;
    int32_t steps = *(const int32_t *)call->in[HC_AUGMENT_STEPS].data;
    int64_t batch = call->out[HC_AUGMENT_IMAGES].shape[0];
    int64_t length = order->data ? hc_tensor_count(order) : call->in[HC_AUGMENT_PIXELS].shape[0];
    struct values values;
    for (int c = 0; c < 3; c++)
        for (int pixel = 0; pixel < 256; pixel++)
            values.of[c][pixel] = hc_pixel_value((uint8_t)pixel, p->mean[c], p->deviation[c]);
    for (int64_t i = 0; i < batch; i++) {
        int64_t epoch = steps / p->batches;
        int64_t image = hc_batch_image(order->data, length, steps % p->batches * batch + i);
        struct hc_crop crop = hc_crop_draw(p, epoch, image);
        if (image < 0)
            clear_image(&call->out[HC_AUGMENT_IMAGES], i);
        else
            copy_image(call, &values, &crop, image, i);
        labels[i] = image < 0 ? 0 : from[image];
    }
    if (call->out[HC_AUGMENT_NEW_STEPS].data)
        *(int32_t *)call->out[HC_AUGMENT_NEW_STEPS].data = steps + 1;
    return HC_OK;
}
