/* The products of a convolution by pixels (pixels.c), on operands in fp32. */
#ifndef HC_KERNELS_HOST_ONEDNN_PIXELS_H
#define HC_KERNELS_HOST_ONEDNN_PIXELS_H

#include "kernels/host/onednn/onednn.h"

struct hc_pixels {
    struct hc_conv_shape shape;
    struct hc_onednn *onednn;
    const float *first;
    const float *second;
};

/* A block of images and columns of one pixel of the result. */
struct hc_pixel_block {
    int64_t first; /* image */
    int64_t images;
    int64_t pixel;
    int64_t column;
    int64_t columns;
};

/* Whether the filter reaches into the padding at that pixel of the output. */
bool hc_pixel_reaches_padding(const struct hc_conv_shape *shape, int64_t pixel);

/* The sums of a block, forward and to the input; rows of `to` are images, ldc floats apart. */
typedef void hc_pixel_products(const struct hc_pixels *p, const struct hc_pixel_block *block,
                               float *to, int64_t ldc);
hc_pixel_products hc_pixel_forward, hc_pixel_to_data;

/* Computes row r of `filters` filters from `filter` on, over all images, in the gradient of the
   filter, `sums`. */
void hc_pixel_to_filter(const struct hc_pixels *p, int64_t r, int64_t filter, int64_t filters,
                        float *sums);

#endif
