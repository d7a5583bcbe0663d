/* Convolution in bf16, forward and backward to the input, as a product of matrices:

     result [pixels, features] = patches [pixels, taps channels] filter [taps channels, features]

   The filter is packed once, by all threads. Each thread packs the patches of a block of pixels and
   multiplies them, so that a whole matrix of patches never exists. Backward with a stride, pixels
   of one grid (patches16.h) meet the same taps, and each grid is a product of its own.

   In patches the padding is zeros. With an infinite or NaN weight such a zero would give a NaN
   where the definition has no term. So such weights are replaced by ones of their sign, and what
   they contribute inside the image is added to the sums.

   fp16 is packed as bf16 is, and then split (product16.h); NaN in the filter are nan_taps.h's. It
   ends with HC_UNSUPPORTED if a weight or a pixel is infinite. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/exact/exact.h"
#include "kernels/host/native/nan_taps.h"
#include "kernels/host/native/native.h"
#include "kernels/host/native/patches16.h"
#include "num/bits.h"

struct work {
    struct hc_conv_shape shape;
    int64_t features;       /* of a pixel of the result */
    int64_t height, width;  /* of the result */
    int64_t terms;          /* of the grid that has most */
    int64_t buffer_size;    /* in bf16 numbers: of a thread's buffer for patches */
    int64_t rows_size;      /* of a thread's packed patches */
    int64_t sums_size;      /* in floats: of a thread's sums */
    int64_t packed_size;    /* in bf16 numbers: of all grids' filters, packed */
    int64_t weights;        /* of the filter */
    const uint16_t *filter; /* as given */
    const uint16_t *finite; /* without infinities and NaN; the same if it has none */
    bool splits;            /* fp16 */
    uint64_t *nan_taps;     /* of its filter, by feature; NULL: no weight is NaN */
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Plans the work. False if there is nothing to multiply. */
static bool lay_out(const struct hc_call *call, struct work *w)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    bool backward = g.op == HC_OP_conv2d_bwd_data;
    if (hc_conv_empty(&g))
        return false;
    *w = (struct work){.shape = g,
                       .features = backward ? g.c : g.k,
                       .height = backward ? g.h : g.p,
                       .width = backward ? g.w : g.q,
                       .weights = g.k * g.r * g.s * g.c,
                       .splits = call->in[HC_FIRST].format == HC_FP16};
    for (int64_t i = 0; i < hc_grids(&g); i++) {
        struct hc_grid grid = hc_grid_of(&g, i, NULL);
        w->terms = larger(w->terms, hc_grid_terms(&grid));
        w->buffer_size = larger(w->buffer_size, hc_native_rounded(hc_grid_buffer(&grid)));
        w->packed_size += hc_packed16(w->features, hc_grid_terms(&grid));
    }
    w->rows_size = hc_packed16(HC_NATIVE_ROWS, w->terms);
    w->sums_size = HC_NATIVE_ROWS * hc_native_rounded(w->features);
    return true;
}

/* Parts of a number that are packed apart. */
static int64_t parts(const struct work *w)
{
    return w->splits ? 2 : 1;
}

/* A finite copy of the filter; of fp16 the masks of nan_taps.h instead. */
static int64_t finite_size(const struct work *w)
{
    enum { MASK = sizeof *w->nan_taps / sizeof *w->filter };
    return hc_native_rounded(w->splits ? w->features * MASK : w->weights);
}

/* Backward, a copy with the terms in the grids' order. */
static int64_t copies_size(const struct work *w)
{
    bool ordered = w->shape.op == HC_OP_conv2d_bwd_data;
    return finite_size(w) + (ordered ? hc_native_rounded(w->weights) : 0);
}

static int64_t thread_bytes(const struct work *w)
{
    return (w->buffer_size + parts(w) * w->rows_size) * (int64_t)sizeof(uint16_t) +
           w->sums_size * (int64_t)sizeof(float);
}

size_t hc_native_conv_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w;
    if (!lay_out(call, &w))
        return hc_exact_scratch(queue, call);
    return (size_t)((copies_size(&w) + parts(&w) * w.packed_size) * (int64_t)sizeof(uint16_t) +
                    queue->threads * thread_bytes(&w));
}

static bool is_finite(uint16_t x)
{
    return (x & 0x7f80) != 0x7f80;
}

/* A small filter is looked at by one thread, in less time than it takes to wake another. */
static bool any_nonfinite(const struct hc_queue *queue, const struct work *w)
{
    enum { AT_ONCE = 4096 };
    int threads = w->weights > 16 * AT_ONCE ? queue->threads : 1;
    uint16_t exponent = w->splits ? 0x7c00 : 0x7f80;
    int nonfinite = 0;
#pragma omp parallel for num_threads(threads) reduction(| : nonfinite) if (threads > 1)
    for (int64_t at = 0; at < w->weights; at += AT_ONCE) {
        int64_t n = w->weights - at < AT_ONCE ? w->weights - at : AT_ONCE;
        nonfinite |= hc_any16(w->filter + at, n, exponent, exponent);
    }
    return nonfinite;
}

/* A copy of the filter in which weights that are not finite are 1 or -1. */
static const uint16_t *finite_filter(const struct work *w, uint16_t *copy)
{
    for (int64_t i = 0; i < w->weights; i++) {
        uint16_t x = w->filter[i];
        copy[i] = is_finite(x) ? x : (uint16_t)((x & 0x8000) | 0x3f80);
    }
    return copy;
}

/* The weights that feature f of a grid's terms meets lie contiguously forward. Backward they are
   copied row by row: term (tap, k), all features. */
static struct hc_matrix16 matrix_of(const struct work *w, const struct hc_grid *grid,
                                    const uint16_t *ordered)
{
    int64_t terms = hc_grid_terms(grid);
    if (w->shape.op == HC_OP_conv2d)
        return (struct hc_matrix16){w->finite, terms, w->features, terms, true};
    return (struct hc_matrix16){ordered, w->features, w->features, terms, false};
}

static int64_t tap_of(const struct work *w, const struct hc_grid *grid, int64_t row, int64_t column)
{
    return (grid->rows.tap + row * grid->rows.tap_step) * w->shape.s + grid->columns.tap +
           column * grid->columns.tap_step;
}

/* Backward: the weights of tap number `tap` of the grid, in the order of its terms. */
static void order_tap(const struct work *w, const struct hc_grid *grid, int64_t tap, uint16_t *to)
{
    const struct hc_conv_shape *g = &w->shape;
    int64_t from = tap_of(w, grid, tap / grid->columns.taps, tap % grid->columns.taps);
    for (int64_t k = 0; k < g->k; k++)
        memcpy(to + (tap * g->k + k) * g->c, w->finite + (k * g->r * g->s + from) * g->c,
               (size_t)g->c * sizeof *to);
}

/* Packs the filter of every grid behind that of the one before. */
static void pack_filter(const struct hc_queue *queue, const struct work *w, uint16_t *ordered,
                        uint16_t *to)
{
    for (int64_t i = 0; i < hc_grids(&w->shape); i++) {
        struct hc_grid grid = hc_grid_of(&w->shape, i, NULL);
        struct hc_matrix16 matrix = matrix_of(w, &grid, ordered);
        int64_t taps = grid.rows.taps * grid.columns.taps;
#pragma omp parallel num_threads(queue->threads) if (taps > 0 && w->weights > HC_HOST_SMALL)
        {
#pragma omp for schedule(static)
            for (int64_t t = 0; t < (matrix.contiguous ? 0 : taps); t++)
                order_tap(w, &grid, t, ordered);
#pragma omp for schedule(static)
            for (int64_t f = 0; f < w->features; f += HC_TILE16_EDGE) {
                uint16_t *packed = to + hc_packed16(f, matrix.terms);
                hc_pack16_columns(&matrix, f, packed);
                if (w->splits)
                    (void)hc_split16(packed, packed + w->packed_size,
                                     hc_packed16(HC_TILE16_EDGE, matrix.terms), true);
            }
        }
        to += hc_packed16(w->features, matrix.terms);
        ordered += matrix.contiguous ? 0 : matrix.terms * w->features;
    }
}

/* The unit reads a subnormal number as 0. */
static float as_read(uint16_t x)
{
    return x & 0x7f80 ? hc_bf16_value(x) : 0;
}

/* What the weights that are not finite contribute to feature f of pixel i. */
static float nonfinite_sum(const struct work *w, const struct hc_grid *grid, int64_t i, int64_t f)
{
    const struct hc_conv_shape *g = &w->shape;
    bool backward = g->op == HC_OP_conv2d_bwd_data;
    float sum = 0;
    for (int64_t row = 0; row < grid->rows.taps; row++)
        for (int64_t column = 0; column < grid->columns.taps; column++) {
            const uint16_t *from = hc_grid_source(grid, i, row, column);
            int64_t tap = tap_of(w, grid, row, column);
            for (int64_t c = 0; from && c < grid->channels; c++) {
                int64_t k = backward ? c : f;
                uint16_t weight = w->filter[(k * g->r * g->s + tap) * g->c + (backward ? f : c)];
                if (!is_finite(weight))
                    sum += hc_bf16_value(weight) * as_read(from[c]);
            }
        }
    return sum;
}

/* A block of pixels of a grid, from pixel `first` on. Returns whether a pixel in fp16 is infinite;
   then nothing was done. */
static bool convolve_block(const struct hc_queue *queue, const struct hc_call *call,
                           const struct work *w, const struct hc_grid *grid, const uint16_t *filter,
                           unsigned char *memory, int64_t first)
{
    const struct hc_tensor *out = &call->out[HC_CONV_RESULT];
    int64_t terms = hc_grid_terms(grid);
    int64_t left = w->shape.n * hc_grid_pixels(grid) - first;
    int64_t rows = left < HC_NATIVE_ROWS ? left : HC_NATIVE_ROWS;
    unsigned char *own = memory + omp_get_thread_num() * thread_bytes(w);
    float *sums = (float *)(void *)own;
    uint16_t *packed = (uint16_t *)(void *)(sums + w->sums_size);
    uint16_t *buffer = packed + parts(w) * w->rows_size;
    bool infinite = false;
    for (int64_t i = 0; i < rows; i += HC_TILE16_EDGE) {
        int64_t end = i + HC_TILE16_EDGE < rows ? i + HC_TILE16_EDGE : rows;
        hc_pack16_pixels(grid, first + i, first + end, buffer, packed + hc_packed16(i, terms));
    }
    if (w->splits)
        infinite = hc_split16(packed, packed + w->rows_size, hc_packed16(rows, terms), false);
    if (infinite)
        return true;
    hc_native()->product(&(struct hc_product16){.m = rows,
                                                .n = w->features,
                                                .k = terms,
                                                .a = packed,
                                                .b = filter,
                                                .a_low = w->splits ? packed + w->rows_size : NULL,
                                                .b_low = filter + w->packed_size,
                                                .c = sums,
                                                .ldc = w->features});
    for (int64_t i = 0; i < rows && w->finite != w->filter; i++)
        for (int64_t f = 0; f < w->features; f++)
            sums[i * w->features + f] += nonfinite_sum(w, grid, first + i, f);
    if (w->nan_taps)
        hc_nan_taps_spread(&w->shape, grid, w->nan_taps, w->features, first, rows, sums);
    if (hc_grids(&w->shape) == 1) {
        hc_host_flush(queue, out, first * w->features, rows * w->features, sums);
        return false;
    }
    for (int64_t i = 0; i < rows; i++)
        hc_host_flush(queue, out,
                      hc_grid_result(grid, first + i, w->height, w->width) * w->features,
                      w->features, sums + i * w->features);
    return false;
}

enum hc_status hc_native_conv(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w;
    if (!lay_out(call, &w))
        return hc_exact_run(queue, call);
    uint16_t *copy = call->scratch;
    uint16_t *ordered = copy + finite_size(&w);
    uint16_t *packed = copy + copies_size(&w);
    unsigned char *memory = (unsigned char *)(packed + parts(&w) * w.packed_size);
    atomic_bool infinite = false;
    w.filter = call->in[HC_CONV_SECOND].data;
    w.finite = w.filter;
    bool nonfinite = any_nonfinite(queue, &w);
    if (nonfinite && w.splits)
        w.nan_taps = (uint64_t *)(void *)copy;
    else if (nonfinite)
        w.finite = finite_filter(&w, copy);
    if (w.nan_taps && !hc_nan_taps_of_filter(&w.shape, w.filter, w.nan_taps))
        return HC_UNSUPPORTED;
    pack_filter(queue, &w, ordered, packed);
    for (int64_t i = 0; i < hc_grids(&w.shape); i++) {
        struct hc_grid grid = hc_grid_of(&w.shape, i, call->in[HC_CONV_FIRST].data);
        int64_t pixels = w.shape.n * hc_grid_pixels(&grid);
#pragma omp parallel for num_threads(queue->threads) schedule(dynamic) if (pixels > HC_NATIVE_ROWS)
        for (int64_t first = 0; first < pixels; first += HC_NATIVE_ROWS)
            if (!atomic_load(&infinite) &&
                convolve_block(queue, call, &w, &grid, packed, memory, first))
                atomic_store(&infinite, true);
        packed += hc_packed16(w.features, hc_grid_terms(&grid));
    }
    return infinite ? HC_UNSUPPORTED : HC_OK;
}
