/* A product of matrices on a matrix unit: each element is one chain of the unit's instructions over
   all terms, in their order; and where its factors come from. A product has lines on both sides,
   the rows of a and the columns of b, of `terms` codes each. A line's codes are gathered from a
   matrix, or from images, as a convolution reads them. */
#ifndef HC_KERNELS_SIM_PRODUCT_H
#define HC_KERNELS_SIM_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/conv_shape.h"
#include "kernels/sim/engine.h"

struct hc_sim_source {
    enum hc_format format;
    const void *data;
    int64_t
        line_step; /* of a matrix: elements from a line to the next, and from a term to the next */
    int64_t term_step;
    struct hc_conv_shape shape; /* of images and filters */
    bool images;                /* Some of its terms may be absent. */

    /* Codes from .. from + n - 1 of a line. An fp32 number is cut to tf32, and what lies in an
       image's padding has the mark of an absent term (engine.h). */
    void (*gather)(const struct hc_sim_source *source, int64_t line, int64_t from, int64_t n,
                   uint32_t *codes);
};

/* x or dy as the rows of conv2d (a line is a pixel of y, its terms r, s, c) and of conv2d_bwd_data
   (a pixel of dx; r, s, k); x as the columns of conv2d_bwd_filter (a line is r, s, c; its terms are
   the pixels of dy, n, p, q). */
struct hc_sim_source hc_sim_images(const struct hc_tensor *images, const struct hc_conv_shape *g);

/* w as the columns of conv2d_bwd_data: a line is a channel c, its terms r, s, k. */
struct hc_sim_source hc_sim_filters(const struct hc_tensor *filters, const struct hc_conv_shape *g);

struct hc_sim_source hc_sim_matrix(const struct hc_tensor *matrix, int64_t line_step,
                                   int64_t term_step);

struct hc_sim_product {
    const struct hc_unit *unit;
    const struct hc_sim_engine *engine;
    struct hc_sim_source a, b;
    int64_t rows, columns, terms;
    int threads;

    /* What the chain of an element starts with, and who gets its end: codes in the unit's c and d.
       Called by several threads at once. */
    uint32_t (*start)(const struct hc_call *call, int64_t row, int64_t column);
    void (*finish)(const struct hc_call *call, int64_t row, int64_t column, uint32_t code);
    const struct hc_call *call;
};

size_t hc_sim_product_scratch(const struct hc_sim_product *p);
void hc_sim_product_run(const struct hc_sim_product *p, void *scratch);

#endif
