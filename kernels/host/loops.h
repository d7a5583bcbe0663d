/* The inner loops of the host backend, in fp32 over contiguous memory.

   loops.inc is their one text. It is compiled for each instruction set (loops_portable.c,
   loops_avx2.c, loops_avx512.c), and the fastest set that the CPU has is chosen when a queue is
   opened. All sets give the same bits: elements stand side by side, and a sum is kept as HC_LANES
   partial sums, whatever the length of a vector is. */
#ifndef HC_KERNELS_HOST_LOOPS_H
#define HC_KERNELS_HOST_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/element/adam.h"
#include "kernels/element/maps.h"
#include "kernels/element/scale_rule.h"
#include "kernels/element/sgd.h"
#include "num/format.h"
#include "num/narrow8.h"
#include "op/op.h"
#include "op/quant.h"

enum { HC_LANES = 64, HC_TILE_ROWS = 6, HC_TILE_COLUMNS = 16, HC_PANEL = 16 };

/* What is quantised is cut into strips of rows, and these into segments of columns, which lie in
   the first-level cache while they are transposed and multiplied. */
enum { HC_STRIP = 16, HC_SEGMENT = 256 };

/* c [rows, columns] (+)= a [rows, terms] b [terms, columns] in fp32. Columns are whole panels of
   HC_PANEL; steps are elements from one row to the next, and of a from one term to the next. */
struct hc_host_product {
    int64_t rows;
    int64_t columns;
    int64_t terms;
    const float *a;
    int64_t a_row;
    int64_t a_term;
    const float *b;
    int64_t b_step;
    float *c;
    int64_t c_step;
    bool adds;
};

/* What a batch norm knows of each column. */
struct hc_host_norm {
    float *mean;
    float *invstd;
    float *gain;  /* forward: gamma; backward: gamma * invstd */
    float *shift; /* forward: beta; backward: dbeta / M */
    float *slope; /* backward: dgamma / M */
};

/* Rows of `width` <= HC_LANES columns of a tensor in fp32, bf16 or fp16: the first begins with
   element `at`, and they begin `stride` elements apart. */
struct hc_host_rows {
    int64_t rows;
    int64_t stride;
    int64_t at;
    int width;
};

/* What flows back through a batch norm: dz is dy, or leaky_relu_bwd(y, dy) in dy's format. */
struct hc_host_flow {
    const struct hc_tensor *x;
    const struct hc_tensor *y; /* or NULL */
    const struct hc_tensor *dy;
    float slope;
    void *dz; /* takes dz as it is computed; or NULL */
};

struct hc_host_loops {
    const char *name;

    /* n elements of fp32, bf16 or fp16 memory to fp32 and back (rounded to nearest). */
    void (*load)(enum hc_format format, const void *from, int64_t n, float *to);
    void (*store)(enum hc_format format, const float *from, int64_t n, void *to);

    /* The way back in any direction. */
    void (*store_directed)(enum hc_format format, enum hc_direction direction, const float *from,
                           int64_t n, void *to);

    /* Rounds to nearest, into a format of one byte. */
    void (*narrow8)(const struct hc_narrow8 *f, const float *from, int64_t n, uint8_t *to);

    /* fp64 to fp32, to nearest or to odd, and back. */
    void (*narrow)(bool odd, const double *from, int64_t n, float *to);
    void (*widen)(const float *from, int64_t n, double *to);

    /* `rows` rows of n elements, which begin `from_step` elements apart, to fp32 rows that begin
       `to_step` apart. */
    void (*load_rows)(enum hc_format format, const void *from, int64_t from_step, int64_t rows,
                      int64_t n, float *to, int64_t to_step);

    hc_map *const *map; /* by op; NULL: the op is none of element/maps.inc */
    bool (*any_nonfinite)(const float *x, int64_t n);

    /* In fp64: sum [ROWS, COLUMNS] = a [terms, ROWS] transposed times b [terms, COLUMNS], the terms
       one after the other, product and sum rounded each. */
    void (*tile)(int64_t terms, const double *a, const double *b, double *sum);

    /* The terms of each sum one after the other, product and sum rounded each. */
    void (*product)(const struct hc_host_product *p);

    /* Scores s to weights, exp(s scale - max), with the largest s scale and their sum. With a log
       of the sum: s to weights exp(s scale - lse), and their gradients dp to those of s scale,
       weight (dp - a). */
    void (*weights)(float *s, int64_t n, float scale, float *max, float *sum);
    void (*weights_back)(float *s, float *dp, int64_t n, float scale, float lse, float a);

    /* gate / (1 + exp(-gate)) up, and its gradients. */
    void (*swiglu)(const float *gate, const float *up, int64_t n, float *y);
    void (*swiglu_back)(const float *gate, const float *up, const float *dy, int64_t n,
                        float *dgate, float *dup);

    void (*sgd)(enum hc_format arithmetic, const struct hc_sgd_step *step, float *w, const float *g,
                float *v, int64_t n);
    void (*adam)(enum hc_format arithmetic, const struct hc_adam_step *step, float *w,
                 const float *g, float *m, float *v, int64_t n);

    /* The same for weights with compensations c, stored in the format `stored`. */
    void (*sgd_kahan)(enum hc_format arithmetic, enum hc_format stored,
                      const struct hc_sgd_step *step, float *w, const float *g, float *v, float *c,
                      int64_t n);
    void (*adam_kahan)(enum hc_format arithmetic, enum hc_format stored,
                       const struct hc_adam_step *step, float *w, const float *g, float *m,
                       float *v, float *c, int64_t n);

    /* Rounds stochastically into bf16: the elements are numbers first, first + 1, ... of step t
       (num/stochastic.h); first is a multiple of HC_ROUND_BLOCK. */
    void (*store_stochastic)(uint64_t seed, uint32_t t, int64_t first, const float *from, int64_t n,
                             uint16_t *to);

    /* lane[i % HC_LANES] += x[i], or += x[i] * y[i], product and sum rounded each. */
    void (*sum)(const float *x, int64_t n, float lane[HC_LANES]);
    void (*dot)(const float *x, const float *y, int64_t n, float lane[HC_LANES]);

    /* Batch norm, per column, with xhat = (x - mean) * invstd:
       columns: first += x;     squares: first += x - mean, second += (x - mean)^2;
       products: first += dz, second += dz * xhat;
       normalize: y = xhat * gain + shift, and then leaky ReLU unless `slope` is NULL;
       gradient: dx = gain * (dz - shift - xhat * slope). */
    void (*columns)(struct hc_host_rows rows, const struct hc_tensor *x, float *first);
    void (*squares)(struct hc_host_rows rows, const struct hc_tensor *x, const float *mean,
                    float *first, float *second);
    void (*products)(struct hc_host_rows rows, const struct hc_host_flow *flow,
                     const struct hc_host_norm *norm, float *first, float *second);
    void (*normalize)(struct hc_host_rows rows, const struct hc_tensor *x,
                      const struct hc_host_norm *norm, const float *slope,
                      const struct hc_tensor *y);
    void (*gradient)(struct hc_host_rows rows, const struct hc_host_flow *flow,
                     const struct hc_host_norm *norm, const struct hc_tensor *dx);

    /* Codes below half. x is a part of a row, which begins with its element `first` and has at most
       HC_SEGMENT; each `block` neighbours in the row have one amax, one encoding factor and one
       scale. amaxes: the larger of amax so far and the block's; quantize: to nearest, or with
       random bits, where x[0] is element `index` of all; hadamard: each 16 in place. */
    void (*amaxes)(const float *x, int64_t first, int64_t n, int64_t block, float *amax);
    void (*quantize)(const struct hc_narrow8 *f, const float *encode, int64_t first, int64_t n,
                     int64_t block, const float *x, uint8_t *to);
    void (*quantize_random)(const struct hc_narrow8 *f, const struct hc_quantize *p, int64_t index,
                            const float *encode, int64_t first, int64_t n, int64_t block,
                            const float *x, uint8_t *to);
    void (*hadamard)(float *x, int64_t n);

    /* Puts the encoding factors in the place of n amaxes, and what is stored of the scales. */
    void (*scales)(enum hc_scale_rule rule, const struct hc_scale_formats *f,
                   const struct hc_tensor_scale *t, int64_t n, float *amax, void *stored);

    /* The same of parts of HC_STRIP rows at once, of which x has one element after the other:
       x[i * HC_STRIP + row]. The amaxes of `rows` of them are `step` apart. turn: HC_STRIP
       neighbours in each of n rows that are x_step apart, into n in each of HC_STRIP rows. */
    void (*amaxes_down)(const float *x, int64_t rows, int64_t first, int64_t n, int64_t block,
                        float *amax, int64_t step);
    void (*hadamard_down)(float *x, int64_t n);
    void (*turn)(const float *x, int64_t x_step, int64_t n, float *to, int64_t step);

    void (*dequantize)(const float value[256], const float *scale, float tensor, int64_t first,
                       int64_t n, int64_t block, const uint8_t *codes, float *to);
};

extern const struct hc_host_loops hc_host_loops_portable;
extern const struct hc_host_loops hc_host_loops_avx2;   /* with F16C and FMA; x86-64 only */
extern const struct hc_host_loops hc_host_loops_avx512; /* F, BW, DQ, VL; x86-64 only */

/* The fastest that this CPU runs. */
const struct hc_host_loops *hc_host_loops_best(void);

/* The loops of that name; NULL if this CPU does not run them. */
const struct hc_host_loops *hc_host_loops_by_name(const char *name);

#endif
