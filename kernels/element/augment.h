/* augment, by its contract (op/control.h): which image, which of its pixels, and their values. */
#ifndef HC_KERNELS_ELEMENT_AUGMENT_H
#define HC_KERNELS_ELEMENT_AUGMENT_H

#include "num/rng.h"
#include "op/call.h"

struct hc_crop {
    int down;
    int right;
    int flip;
};

HC_INLINE struct hc_crop hc_crop_draw(const struct hc_augment *p, int64_t epoch, int64_t image)
{
    struct hc_crop crop = {0, 0, 0};
    if (p->crops) {
        uint64_t bits = hc_random(p->seed, HC_CROP_STREAM + (uint64_t)epoch, (uint64_t)image);
        uint64_t places = (uint64_t)(2 * p->pad + 1);
        crop.down = (int)((bits & 0xffffff) * places >> 24) - p->pad;
        crop.right = (int)((bits >> 24 & 0xffffff) * places >> 24) - p->pad;
        crop.flip = (int)(bits >> 63);
    }
    return crop;
}

HC_INLINE int64_t hc_crop_reflect(int64_t i, int64_t extent)
{
    if (i < 0)
        return -i;
    return i < extent ? i : 2 * (extent - 1) - i;
}

/* The pixel of the image that (y, x) of the batch shows, as its number in the image. */
HC_INLINE int64_t hc_crop_pixel(const struct hc_crop *crop, int64_t high, int64_t wide, int64_t y,
                                int64_t x)
{
    int64_t row = hc_crop_reflect(y + crop->down, high);
    return row * wide + hc_crop_reflect((crop->flip ? wide - 1 - x : x) + crop->right, wide);
}

HC_INLINE float hc_pixel_value(uint8_t pixel, double mean, double deviation)
{
    return (float)((pixel / 255.0 - mean) / deviation);
}

/* The image that stands at `place` of the epoch, or -1 for none. order [length], or NULL: then length
   is the number of images. */
HC_INLINE int64_t hc_batch_image(const int32_t *order, int64_t length, int64_t place)
{
    if (place >= length)
        return -1;
    return order ? order[place] : place;
}

#endif
