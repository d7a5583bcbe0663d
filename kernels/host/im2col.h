/* A convolution's patches as a matrix: row (n, p, q) of col [NPQ, RSC] holds the elements of x
   under the filter at output pixel (n, p, q), zeros where the filter is in the padding. */
#ifndef HC_KERNELS_HOST_IM2COL_H
#define HC_KERNELS_HOST_IM2COL_H

#include "kernels/conv_shape.h"
#include "kernels/host/host.h"

/* Columns from .. to - 1 of col, as fp32, for the output pixels of `images` images from image
   `first` on: [images PQ, to - from] in `col`. x is fp32, bf16 or fp16. */
void hc_im2col(const struct hc_queue *queue, const struct hc_tensor *x,
               const struct hc_conv_shape *shape, int64_t first, int64_t images, int64_t from,
               int64_t to, float *col);

#endif
