/* Batches out of a set of images that lies on the device. */
#include "kernels/cuda/kernel/augment.h"

#include "kernels/element/augment.h"
#include "kernels/cuda/kernel/elements.h"

/* Every thread draws its image's crop again: ten rounds of integers against three reads and writes. */
HC_ON_DEVICE void hc_dk_augment_body(const struct hc_dk_augment *a)
{
    const struct hc_augment *p = &a->params;
    int64_t size = a->high * a->wide;
    int64_t epoch = *a->steps / p->batches;
    int64_t first = *a->steps % p->batches * a->batch;
    for (int64_t i = hc_dk_first(); i < a->batch * size; i += hc_dk_stride()) {
        int64_t place = i / size;
        int64_t pixel = i % size;
        int64_t image = hc_batch_image(a->order, a->length, first + place);
        struct hc_crop crop = hc_crop_draw(p, epoch, image);
        int64_t from =
            image * size + hc_crop_pixel(&crop, a->high, a->wide, pixel / a->wide, pixel % a->wide);
        for (int c = 0; c < 3; c++)
            hc_dk_store(&a->images, 3 * i + c,
                        image < 0
                            ? 0.0f
                            : hc_pixel_value(a->pixels[3 * from + c], p->mean[c], p->deviation[c]));
        if (pixel == 0)
            a->labels_out[place] = image < 0 ? 0 : a->labels[image];
    }
}
HC_LAUNCHABLE(augment)

HC_ON_DEVICE void hc_dk_advance_body(const struct hc_dk_advance *a)
{
    *a->to = *a->from + 1;
}
HC_LAUNCHABLE(advance)
