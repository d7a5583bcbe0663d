/* The inner loops of the host backend, in fp32 over contiguous memory, compiled once per instruction
   set from loops.inc. All sets give the same bits: elements stand side by side, and sums keep
   HC_LANES partial sums whatever the vectors' length is. */
#ifndef HC_KERNELS_HOST_LOOPS_H
#define HC_KERNELS_HOST_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/element/adam.h"
#include "kernels/element/maps.h"
#include "kernels/element/sgd.h"
#include "num/format.h"
#include "op/op.h"

enum { HC_LANES = 64, HC_TILE_ROWS = 6, HC_TILE_COLUMNS = 16 };

/* What a batch norm knows of its columns. */
struct hc_host_norm {
    const float *mean;
    const float *invstd;
    const float *gain;  /* forward: gamma; backward: gamma * invstd */
    const float *shift; /* forward: beta; backward: dbeta / M */
    const float *slope; /* backward: dgamma / M */
};

/* Rows of `wide` <= HC_LANES columns, `stride` floats apart. */
struct hc_host_rows {
    int64_t rows;
    int64_t stride;
    int wide;
};

struct hc_host_loops {
    const char *name;

    /* n elements of fp32, bf16 or fp16 memory to fp32 and back (rounded to nearest). */
    void (*load)(enum hc_format format, const void *from, int64_t n, float *to);
    void (*store)(enum hc_format format, const float *from, int64_t n, void *to);

    /* The same way back in any direction. */
    void (*store_directed)(enum hc_format format, enum hc_direction direction, const float *from,
                           int64_t n, void *to);

    /* fp64 to fp32, to nearest or to odd, and back. */
    void (*narrow)(bool odd, const double *from, int64_t n, float *to);
    void (*widen)(const float *from, int64_t n, double *to);

    /* `runs` times `n` elements, `from_step` elements apart, to fp32 `to_step` apart. */
    void (*lift)(enum hc_format format, const void *from, int64_t from_step, int64_t runs,
                 int64_t n, float *to, int64_t to_step);

    hc_map *const *map;                               /* NULL: not an elementwise op of fp32 */
    bool (*any_nonfinite)(const float *x, int64_t n); /* any infinity or NaN */

    /* In fp64: sum [ROWS, COLUMNS] = a [terms, ROWS] transposed times b [terms, COLUMNS], the terms one
       after the other, product and sum rounded each. */
    void (*tile)(int64_t terms, const double *a, const double *b, double *sum);

    void (*sgd)(enum hc_format arithmetic, const struct hc_sgd_step *step, float *w, const float *g,
                float *v, int64_t n);
    void (*adam)(enum hc_format arithmetic, const struct hc_adam_step *step, float *w,
                 const float *g, float *m, float *v, int64_t n);

    /* The same with compensations c of weights that are stored in the format `stored`. */
    void (*sgd_kahan)(enum hc_format arithmetic, enum hc_format stored,
                      const struct hc_sgd_step *step, float *w, const float *g, float *v, float *c,
                      int64_t n);
    void (*adam_kahan)(enum hc_format arithmetic, enum hc_format stored,
                       const struct hc_adam_step *step, float *w, const float *g, float *m,
                       float *v, float *c, int64_t n);

    /* Rounded into bf16 as elements first, first + 1, ... of step t; first is a multiple of
       HC_ROUND_BLOCK. */
    void (*store_stochastic)(uint64_t seed, uint32_t t, int64_t first, const float *from, int64_t n,
                             uint16_t *to);

    /* lane[i % HC_LANES] += x[i], or += x[i] * y[i], product and sum rounded each. */
    void (*sum)(const float *x, int64_t n, float lane[HC_LANES]);
    void (*dot)(const float *x, const float *y, int64_t n, float lane[HC_LANES]);

    /* Batch norm, per column, with xhat = (x - mean) * invstd:
       columns: first += x;     squares: first += x - mean, second += (x - mean)^2;
       products: first += dy, second += dy * xhat;
       normalize: y = xhat * gain + shift;  gradient: dx = gain * (dy - shift - xhat * slope). */
    void (*columns)(struct hc_host_rows rows, const float *x, float *first);
    void (*squares)(struct hc_host_rows rows, const float *x, const float *mean, float *first,
                    float *second);
    void (*products)(struct hc_host_rows rows, const float *x, const float *dy,
                     const struct hc_host_norm *norm, float *first, float *second);
    void (*normalize)(struct hc_host_rows rows, const float *x, const struct hc_host_norm *norm,
                      float *y);
    void (*gradient)(struct hc_host_rows rows, const float *x, const float *dy,
                     const struct hc_host_norm *norm, float *dx);
};

extern const struct hc_host_loops hc_host_loops_portable;
extern const struct hc_host_loops hc_host_loops_avx2;   /* with F16C and FMA; x86-64 only */
extern const struct hc_host_loops hc_host_loops_avx512; /* F, BW, DQ, VL; x86-64 only */

/* The fastest that this CPU runs. */
const struct hc_host_loops *hc_host_loops_best(void);

/* By name, where this CPU runs it; else NULL. */
const struct hc_host_loops *hc_host_loops_by_name(const char *name);

#endif
