/* Convolution in bf16 backward to the filter, as a product of matrices:

     dw [K, RSC] = dy [NPQ, K]^T patches [NPQ, RSC]

   A small dw is summed over shares of the images, each by one thread, and the shares' sums are
   added in order. A large dw is divided into shares of its columns instead. Both kinds depend on
   the shape alone (onednn/filter.c divides in the same way).

   In patches the padding is zeros. With an infinite dy such a zero would give a NaN where the
   definition has no term. So if any sum comes out infinite or NaN, all are computed again, tap by
   tap, from those output pixels alone for which the tap lies inside the image.

   fp16 is packed as bf16 is, and then split (product16.h). If dy has a NaN that the padding might
   meet, all begins again with zeros in its place, and with the results that it reaches
   (nan_taps.h). It ends with HC_UNSUPPORTED as soon as it meets an infinity. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/exact/exact.h"
#include "kernels/host/native/nan_taps.h"
#include "kernels/host/native/native.h"
#include "kernels/host/onednn/onednn.h"
#include "kernels/host/native/patches16.h"

struct work {
    struct hc_conv_shape shape;
    int64_t columns;      /* R S C */
    int64_t image_shares; /* how many; of share_images images each */
    int64_t share_images;
    int64_t column_shares; /* how many; of share_columns columns each */
    int64_t share_columns;
    int64_t group;        /* images of one product */
    int64_t dy_size;      /* in bf16 numbers: of a thread's packed dy */
    int64_t patches_size; /* of its packed patches */
    int64_t buffer_size;  /* of its buffer */
    uint64_t *nan_taps;   /* NULL: dy's NaN are packed as they are */
    bool splits; /* fp16: what is packed has two parts, the low ones behind the high ones */
};

/* n / by, rounded up. */
static int64_t divided(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The patches are those of the convolution forward. */
static struct hc_grid grid_of(const struct work *w, const struct hc_call *call)
{
    struct hc_conv_shape g = w->shape;
    g.op = HC_OP_conv2d;
    return hc_grid_of(&g, 0, call->in[HC_CONV_BWD_FILTER_X].data);
}

/* Plans the work. False if there is nothing to multiply. */
static bool lay_out(const struct hc_call *call, struct work *w)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    if (hc_conv_empty(&g))
        return false;
    int64_t pixels = g.p * g.q;
    *w = (struct work){
        .shape = g, .columns = g.r * g.s * g.c, .splits = call->in[HC_FIRST].format == HC_FP16};
    bool large = g.k * w->columns >= HC_ONEDNN_LARGE_FILTER;
    w->share_images = large ? g.n : divided(g.n, HC_ONEDNN_FILTER_SHARES);
    w->share_columns =
        large ? divided(divided(w->columns, HC_ONEDNN_FILTER_SHARES), 32) * 32 : w->columns;
    w->image_shares = divided(g.n, w->share_images);
    w->column_shares = divided(w->columns, w->share_columns);
    w->group = pixels < HC_ONEDNN_FILTER_ROWS ? HC_ONEDNN_FILTER_ROWS / pixels : 1;
    w->group = w->group < w->share_images ? w->group : w->share_images;
    struct hc_grid grid = grid_of(w, call);
    w->dy_size = hc_packed16(g.k, w->group * pixels);
    w->patches_size = larger(hc_packed16(w->share_columns, w->group * pixels),
                             hc_packed16(g.c, w->group * pixels));
    w->buffer_size = hc_native_rounded(larger(hc_patches_buffer(&grid), pixels * (g.k + g.c)));
    return true;
}

static int64_t sums_size(const struct work *w)
{
    return hc_native_rounded(w->image_shares * w->shape.k * w->columns);
}

static int64_t thread_size(const struct work *w)
{
    return (w->splits ? 2 : 1) * (w->dy_size + w->patches_size) + w->buffer_size;
}

size_t hc_native_filter_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w;
    if (!lay_out(call, &w))
        return hc_exact_scratch(queue, call);
    return (size_t)sums_size(&w) * sizeof(float) +
           (size_t)(queue->threads * thread_size(&w)) * sizeof(uint16_t) +
           (w.splits ? (size_t)w.shape.k * sizeof *w.nan_taps : 0);
}

/* Packed dy of the calling thread; its packed patches and its buffer lie behind. */
static uint16_t *thread_memory(const struct hc_call *call, const struct work *w)
{
    return (uint16_t *)(void *)((float *)call->scratch + sums_size(w)) +
           omp_get_thread_num() * thread_size(w);
}

static float *sums_of(const struct hc_call *call, const struct work *w, int64_t share)
{
    return (float *)call->scratch + share * w->shape.k * w->columns;
}

/* Packs the filters' gradients of `terms` output pixels as rows of a. */
static void pack_dy(const struct work *w, const uint16_t *dy, int64_t terms, uint16_t *to)
{
    struct hc_matrix16 matrix = {dy, w->shape.k, w->shape.k, terms, false};
    for (int64_t k = 0; k < w->shape.k; k += HC_TILE16_EDGE)
        hc_pack16_rows(&matrix, k, to + hc_packed16(k, terms));
}

/* Why the sums of fp16 cannot go on. */
enum obstacle { NONE, A_NAN, AN_INFINITY };

/* Splits what was packed of `terms` output pixels from dy on. */
static enum obstacle split(const struct work *w, const uint16_t *dy, int64_t terms, int64_t columns,
                           uint16_t *a, uint16_t *b)
{
    int64_t n = hc_packed16(w->shape.k, terms);
    if (w->shape.pad > 0 && !w->nan_taps && hc_any16(dy, terms * w->shape.k, 0x7c00, 0x7c00))
        return A_NAN;
    bool infinite = hc_split16(a, a + w->dy_size, n, w->nan_taps);
    infinite |= hc_split16(b, b + w->patches_size, hc_packed16(columns, terms), false);
    return infinite ? AN_INFINITY : NONE;
}

/* Sums a share of the images and columns, unless there is an obstacle. Returns whether any sum is
   infinite or NaN, of which in fp16 nothing is made. */
static bool sum_share(const struct hc_queue *queue, const struct hc_call *call,
                      const struct work *w, int64_t index, atomic_int *obstacle)
{
    const struct hc_conv_shape *g = &w->shape;
    struct hc_grid grid = grid_of(w, call);
    int64_t pixels = g->p * g->q;
    int64_t image_share = index / w->column_shares;
    int64_t from = index % w->column_shares * w->share_columns;
    int64_t to = from + w->share_columns < w->columns ? from + w->share_columns : w->columns;
    int64_t first = image_share * w->share_images;
    int64_t end = first + w->share_images < g->n ? first + w->share_images : g->n;
    const uint16_t *dy = call->in[HC_CONV_BWD_FILTER_DY].data;
    uint16_t *a = thread_memory(call, w);
    uint16_t *b = a + (w->splits ? 2 : 1) * w->dy_size;
    uint16_t *buffer = b + (w->splits ? 2 : 1) * w->patches_size;
    float *sums = sums_of(call, w, image_share) + from;
    for (int64_t count, n = first; n < end && !atomic_load(obstacle); n += count) {
        count = end - n < w->group ? end - n : w->group;
        pack_dy(w, dy + n * pixels * g->k, count * pixels, a);
        struct hc_patches16 patches = {n * pixels, (n + count) * pixels, from, to};
        hc_pack16_patches(&grid, &patches, buffer, b);
        if (w->splits) {
            enum obstacle found = split(w, dy + n * pixels * g->k, count * pixels, to - from, a, b);
            if (found != NONE) {
                atomic_store(obstacle, found);
                return false;
            }
        }
        hc_native()->product(&(struct hc_product16){.m = g->k,
                                                    .n = to - from,
                                                    .k = count * pixels,
                                                    .a = a,
                                                    .b = b,
                                                    .a_low = w->splits ? a + w->dy_size : NULL,
                                                    .b_low = b + w->patches_size,
                                                    .c = sums,
                                                    .ldc = w->columns,
                                                    .adds = n > first});
    }
    bool nonfinite = false;
    for (int64_t i = 0; i < g->k && !nonfinite && !w->splits; i++)
        nonfinite = queue->loops->any_nonfinite(sums + i * w->columns, to - from);
    return nonfinite;
}

/* Sums tap t over all images, from those output pixels alone for which it lies inside the image. */
static void sum_tap(const struct hc_call *call, const struct work *w, int64_t t)
{
    const struct hc_conv_shape *g = &w->shape;
    struct hc_grid grid = grid_of(w, call);
    int64_t pixels = g->p * g->q;
    const uint16_t *dy_in = call->in[HC_CONV_BWD_FILTER_DY].data;
    uint16_t *a = thread_memory(call, w);
    uint16_t *b = a + w->dy_size;
    uint16_t *dy = b + w->patches_size;
    uint16_t *x = dy + pixels * g->k;
    for (int64_t n = 0; n < g->n; n++) {
        int64_t rows = 0;
        for (int64_t i = n * pixels; i < (n + 1) * pixels; i++) {
            const uint16_t *source = hc_grid_source(&grid, i, t / g->s, t % g->s);
            if (!source)
                continue;
            memcpy(x + rows * g->c, source, (size_t)g->c * sizeof *x);
            memcpy(dy + rows * g->k, dy_in + i * g->k, (size_t)g->k * sizeof *dy);
            rows++;
        }
        struct hc_matrix16 matrix = {x, g->c, g->c, rows, false};
        pack_dy(w, dy, rows, a);
        for (int64_t c = 0; c < g->c; c += HC_TILE16_EDGE)
            hc_pack16_columns(&matrix, c, b + hc_packed16(c, rows));
        hc_native()->product(&(struct hc_product16){.m = g->k,
                                                    .n = g->c,
                                                    .k = rows,
                                                    .a = a,
                                                    .b = b,
                                                    .c = sums_of(call, w, 0) + t * g->c,
                                                    .ldc = w->columns,
                                                    .adds = n > 0});
    }
}

/* Adds up the sums of the shares of images, in order, into dw. */
static void finish(const struct hc_queue *queue, const struct hc_call *call, const struct work *w,
                   int64_t shares)
{
    int64_t n = w->shape.k * w->columns;
    struct hc_map_scalars scalars = {0};
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (n > HC_HOST_SMALL)
    for (int64_t at = 0; at < n; at += HC_HOST_BLOCK) {
        int64_t count = n - at < HC_HOST_BLOCK ? n - at : HC_HOST_BLOCK;
        float *sum = sums_of(call, w, 0) + at;
        for (int64_t i = 1; i < shares; i++) {
            const float *in[3] = {sum, sums_of(call, w, i) + at};
            queue->loops->map[HC_OP_add](in, sum, count, &scalars);
        }
        hc_host_flush(queue, &call->out[HC_CONV_BWD_FILTER_DW], at, count, sum);
    }
}

/* NaN where a NaN of dy reaches, in the sums of the first share. */
static void spread(const struct hc_call *call, const struct work *w)
{
    const struct hc_conv_shape *g = &w->shape;
    float *sum = sums_of(call, w, 0);
    for (int64_t k = 0; k < g->k; k++)
        for (int64_t t = 0; t < g->r * g->s; t++, sum += g->c)
            for (int64_t c = 0; c < g->c && (w->nan_taps[k] >> t & 1); c++)
                sum[c] = NAN;
}

/* All shares' sums. *nonfinite: whether any is infinite or NaN. */
static enum obstacle sum_shares(const struct hc_queue *queue, const struct hc_call *call,
                                const struct work *w, bool *nonfinite)
{
    int any = 0;
    atomic_int obstacle = NONE;
#pragma omp parallel for num_threads(queue->threads) schedule(dynamic) reduction(| : any)
    for (int64_t i = 0; i < w->image_shares * w->column_shares; i++)
        any |= sum_share(queue, call, w, i, &obstacle);
    *nonfinite = any;
    return (enum obstacle)obstacle;
}

enum hc_status hc_native_filter(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w;
    if (!lay_out(call, &w))
        return hc_exact_run(queue, call);
    bool nonfinite;
    int64_t shares = w.image_shares;
    int64_t taps = w.shape.r * w.shape.s;
    struct hc_grid grid = grid_of(&w, call);
    enum obstacle obstacle = sum_shares(queue, call, &w, &nonfinite);
    if (obstacle == A_NAN) {
        uint16_t *end = (uint16_t *)(void *)((float *)call->scratch + sums_size(&w));
        w.nan_taps = (uint64_t *)(void *)(end + queue->threads * thread_size(&w));
        obstacle = hc_nan_taps_of_gradient(&w.shape, &grid, call->in[HC_CONV_BWD_FILTER_DY].data,
                                           w.nan_taps)
                       ? sum_shares(queue, call, &w, &nonfinite)
                       : AN_INFINITY;
    }
    if (obstacle != NONE)
        return HC_UNSUPPORTED;
    if (w.nan_taps)
        spread(call, &w);
    if (nonfinite && w.shape.pad > 0) {
        shares = 1;
#pragma omp parallel for num_threads(queue->threads) schedule(dynamic)
        for (int64_t t = 0; t < taps; t++)
            sum_tap(call, &w, t);
    }
    finish(queue, call, &w, shares);
    return HC_OK;
}
