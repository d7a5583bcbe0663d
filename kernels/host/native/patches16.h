/* The pixels that a convolution in bf16 reads, packed as rows of a product (product16.h).

   Forward, pixel i of a result sees, by tap t of the filter, pixel i stride - pad + t of the image.
   Backward to the input with a stride, the pixels of the result fall into stride x stride grids, or
   fewer where the image is smaller: those of one grid meet the same taps, and pixel i of a grid
   sees gradient i + first - t by its tap t. So both are one thing, along rows as along columns. */
#ifndef HC_KERNELS_HOST_NATIVE_PATCHES16_H
#define HC_KERNELS_HOST_NATIVE_PATCHES16_H

#include "kernels/conv_shape.h"
#include "kernels/host/native/product16.h"

/* Rows or columns of pixels. */
struct hc_axis {
    int64_t results;     /* pixels of the result in this grid */
    int64_t result;      /* where the first of them lies in the result */
    int64_t result_step; /* and how far apart they lie */
    int64_t sources;     /* pixels of the image that is read */
    int64_t stride;      /* pixel i sees, by tap t, i stride + first + t step */
    int64_t first;
    int64_t step;
    int64_t taps;
    int64_t tap; /* the filter's row (column) of tap 0, and how far apart they are in the filter */
    int64_t tap_step;
};

struct hc_grid {
    struct hc_axis rows;
    struct hc_axis columns;
    int64_t channels; /* of a pixel that is read */
    const uint16_t *from;
};

/* How many grids a convolution has, forward or backward to the input, and the i-th of them, whose
   pixels are read at `from`. */
int64_t hc_grids(const struct hc_conv_shape *shape);
struct hc_grid hc_grid_of(const struct hc_conv_shape *shape, int64_t i, const uint16_t *from);

/* Pixels of the grid in one image, and terms that each sums: taps times channels. */
int64_t hc_grid_pixels(const struct hc_grid *grid);
int64_t hc_grid_terms(const struct hc_grid *grid);

/* The place of pixel i of the grid, counted over all images, in a result of h rows, w columns. */
int64_t hc_grid_result(const struct hc_grid *grid, int64_t i, int64_t h, int64_t w);

/* The channels that pixel i sees by a tap (of rows, of columns), or NULL in the padding. */
const uint16_t *hc_grid_source(const struct hc_grid *grid, int64_t i, int64_t row, int64_t column);

/* bf16 numbers that hc_pack16_pixels wants as a buffer. */
int64_t hc_grid_buffer(const struct hc_grid *grid);

/* Packs the patches of pixels first .. end - 1, 16 at most. */
void hc_pack16_pixels(const struct hc_grid *grid, int64_t first, int64_t end, uint16_t *buffer,
                      uint16_t *to);

/* bf16 numbers that hc_pack16_patches wants as a buffer. */
int64_t hc_patches_buffer(const struct hc_grid *grid);

/* The same patches as columns of b, of which the pixels first .. end - 1 are the terms: columns
   from .. to - 1 of a patch, `from` being a multiple of 16. */
struct hc_patches16 {
    int64_t first, end;
    int64_t from, to;
};
void hc_pack16_patches(const struct hc_grid *grid, const struct hc_patches16 *patches,
                       uint16_t *buffer, uint16_t *to);

#endif
