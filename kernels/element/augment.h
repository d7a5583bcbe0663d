/* Elements of augment, by its contract (op/control.h): which image, which of its pixels, which
   value. */
#ifndef HC_KERNELS_ELEMENT_AUGMENT_H
#define HC_KERNELS_ELEMENT_AUGMENT_H

#include "num/rng.h"
#include "op/call.h"

/* How an image is cropped: rows down and columns right, either may be negative, and whether it is
   flipped from left to right. */
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

/* i, reflected at the borders of 0 .. extent - 1 without repeating the edge. */
HC_INLINE int64_t hc_crop_reflect(int64_t i, int64_t extent)
{
    if (i < 0)
        return -i;
    return i < extent ? i : 2 * (extent - 1) - i;
}

/* The number of the image's pixel that the batch shows at (y, x). */
HC_INLINE int64_t hc_crop_pixel(const struct hc_crop *crop, int64_t height, int64_t width,
                                int64_t y, int64_t x)
{
    int64_t row = hc_crop_reflect(y + crop->down, height);
    return row * width + hc_crop_reflect((crop->flip ? width - 1 - x : x) + crop->right, width);
}

HC_INLINE float hc_pixel_value(uint8_t pixel, double mean, double deviation)
{
    return (float)((pixel / 255.0 - mean) / deviation);
}

/* The image at `place` of the epoch, or -1 if there is none. `order` has `length` elements; if it
   is NULL, images come in their own order and `length` is their number. */
HC_INLINE int64_t hc_batch_image(const int32_t *order, int64_t length, int64_t place)
{
    if (place >= length)
        return -1;
    return order ? order[place] : place;
}

#endif
