/* Convolution backward to the filter, as a product of matrices:

     dw [K, RSC] = dy [NPQ, K]^T col [NPQ, RSC]

   A small dw is summed over shares of the images, each by one thread, and the shares' sums are
   added in order. A large dw is divided into shares of its columns instead. Both kinds depend on
   the shape alone.

   In col the padding is zeros. With an infinite or NaN dy such a zero would give a NaN where the
   definition has no term. So as soon as one is seen, all is computed by products that leave out the
   padding (pixels.c). These are the fastest way for small images, too.

   col are the patches of x: its row (n, p, q) holds the elements of x under the filter at output
   pixel (n, p, q), zeros where the filter is in the padding. */
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "kernels/host/onednn/onednn.h"
#include "kernels/conv_shape.h"

/* Columns from .. to - 1 of col, which belong to filter row r, for a row of output pixels. The
   filter row lies on image row `row`, counted over all images. */
struct segment {
    int64_t row;
    int64_t r;
    int64_t from;
    int64_t to;
};

/* One output pixel, whose filter may reach beyond the left or right border of the image. */
static void gather_side(const struct hc_queue *queue, const struct hc_tensor *x,
                        const struct hc_conv_shape *g, const struct segment *t, int64_t q,
                        float *col)
{
    int64_t start = t->r * g->s * g->c;
    int64_t left = q * g->stride - g->pad; /* image column of s = 0 */
    int64_t low = start + (left < 0 ? -left : 0) * g->c;
    int64_t high = start + (left + g->s > g->w ? g->w - left : g->s) * g->c;
    low = low > t->from ? low : t->from;
    high = high < t->to ? high : t->to;
    memset(col, 0, (size_t)(t->to - t->from) * sizeof *col);
    if (low < high)
        queue->loops->load(x->format,
                           hc_host_element(x, (t->row * g->w + left) * g->c + low - start),
                           high - low, col + (low - t->from));
}

/* A row of output pixels, which are `step` floats apart in col. */
static void gather_row(const struct hc_queue *queue, const struct hc_tensor *x,
                       const struct hc_conv_shape *g, const struct segment *t, float *col,
                       int64_t step)
{
    int64_t start = t->r * g->s * g->c;
    int64_t first =
        (g->pad + g->stride - 1) / g->stride; /* filters within the image: first .. end - 1 */
    int64_t end = g->w + g->pad >= g->s ? (g->w + g->pad - g->s) / g->stride + 1 : 0;
    end = end < g->q ? end : g->q;
    first = first < end ? first : end;
    for (int64_t q = 0; q < first; q++)
        gather_side(queue, x, g, t, q, col + q * step);
    int64_t at = (t->row * g->w + first * g->stride - g->pad) * g->c + t->from - start;
    if (first < end)
        queue->loops->load_rows(x->format, hc_host_element(x, at), g->stride * g->c, end - first,
                                t->to - t->from, col + first * step, step);
    for (int64_t q = end; q < g->q; q++)
        gather_side(queue, x, g, t, q, col + q * step);
}

/* Columns from .. to - 1 of col, as fp32, for the output pixels of `images` images from image
   `first` on: [images PQ, to - from] in `col`. x is fp32, bf16 or fp16. */
static void im2col(const struct hc_queue *queue, const struct hc_tensor *x,
                   const struct hc_conv_shape *g, int64_t first, int64_t images, int64_t from,
                   int64_t to, float *col)
{
    int64_t width = g->s * g->c;
    int64_t step = to - from;
    for (int64_t i = 0; i < images * g->p; i++, col += g->q * step)
        for (int64_t end, j = from; j < to; j = end) {
            int64_t r = j / width;
            int64_t row = i % g->p * g->stride - g->pad + r;
            end = (r + 1) * width < to ? (r + 1) * width : to;
            struct segment t = {(first + i / g->p) * g->h + row, r, j, end};
            if (row >= 0 && row < g->h)
                gather_row(queue, x, g, &t, col + (j - from), step);
            else
                for (int64_t q = 0; q < g->q; q++)
                    memset(col + (j - from) + q * step, 0, (size_t)(end - j) * sizeof *col);
        }
}

struct work {
    struct hc_conv_shape shape;
    int64_t columns;      /* R S C */
    int64_t image_shares; /* how many; of share_images images each */
    int64_t share_images;
    int64_t column_shares; /* how many; of share_columns columns each */
    int64_t share_columns;
    int64_t group;      /* images of one product */
    int64_t dy_floats;  /* of a thread's buffer for dy */
    int64_t col_floats; /* of a thread's buffer for col */
    bool direct;        /* dw itself takes the sums */
};

/* n / by, rounded up. */
static int64_t divided(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static int64_t rounded(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* Plans the work. False if there is nothing to multiply. */
static bool lay_out(const struct hc_call *call, struct work *w)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    if (hc_conv_empty(&g))
        return false;
    int64_t pixels = g.p * g.q;
    *w = (struct work){.shape = g, .columns = g.r * g.s * g.c};
    bool large = g.k * w->columns >= HC_ONEDNN_LARGE_FILTER;
    w->share_images = large ? g.n : divided(g.n, HC_ONEDNN_FILTER_SHARES);
    w->share_columns = large ? rounded(divided(w->columns, HC_ONEDNN_FILTER_SHARES)) : w->columns;
    w->image_shares = divided(g.n, w->share_images);
    w->column_shares = divided(w->columns, w->share_columns);
    w->group = pixels < HC_ONEDNN_FILTER_ROWS ? HC_ONEDNN_FILTER_ROWS / pixels : 1;
    w->group = w->group < w->share_images ? w->group : w->share_images;
    w->dy_floats = rounded(w->group * pixels * g.k);
    w->col_floats = rounded(w->group * pixels * w->share_columns);
    w->direct = call->out[HC_CONV_BWD_FILTER_DW].format == HC_FP32 && w->image_shares == 1;
    return true;
}

static int64_t sums_floats(const struct work *w)
{
    return w->direct ? 0 : rounded(w->image_shares * w->shape.k * w->columns);
}

size_t hc_onednn_filter_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    struct work w;
    size_t pixels = hc_onednn_pixels_scratch(queue, call);
    if (hc_onednn_pixels_fastest(&g))
        return pixels;
    if (!lay_out(call, &w))
        return hc_exact_scratch(queue, call);
    int64_t floats = sums_floats(&w) + queue->threads * (w.dy_floats + w.col_floats);
    size_t shares = (size_t)floats * sizeof(float);
    return g.pad > 0 && pixels > shares ? pixels : shares;
}

/* Buffers of the calling thread. */
static float *thread_buffer(const struct hc_call *call, const struct work *w)
{
    return (float *)call->scratch + sums_floats(w) +
           omp_get_thread_num() * (w->dy_floats + w->col_floats);
}

static float *sums_of(const struct hc_call *call, const struct work *w, int64_t share)
{
    return w->direct ? call->out[HC_CONV_BWD_FILTER_DW].data
                     : (float *)call->scratch + share * w->shape.k * w->columns;
}

/* Sums a share of the images and columns, unless a gradient is found that is infinite or NaN and
   might meet the padding. One share of the columns looks for all. */
static void sum_share(const struct hc_queue *queue, const struct hc_call *call,
                      const struct work *w, int64_t index, atomic_bool *nonfinite)
{
    const struct hc_conv_shape *g = &w->shape;
    int64_t pixels = g->p * g->q;
    int64_t image_share = index / w->column_shares;
    int64_t from = index % w->column_shares * w->share_columns;
    int64_t columns = w->columns - from < w->share_columns ? w->columns - from : w->share_columns;
    int64_t first = image_share * w->share_images;
    int64_t end = first + w->share_images < g->n ? first + w->share_images : g->n;
    float *buffer = thread_buffer(call, w);
    float *col = buffer + w->dy_floats;
    float *sums = sums_of(call, w, image_share) + from;
    for (int64_t count, n = first; n < end && !atomic_load(nonfinite); n += count) {
        count = end - n < w->group ? end - n : w->group;
        const float *dy = hc_host_view(queue, &call->in[HC_CONV_BWD_FILTER_DY], n * pixels * g->k,
                                       count * pixels * g->k, buffer);
        if (from == 0 && g->pad > 0 && queue->loops->any_nonfinite(dy, count * pixels * g->k))
            atomic_store(nonfinite, true);
        const float *b = col;
        bool in_place = hc_conv_is_product(g) && call->in[HC_CONV_BWD_FILTER_X].format == HC_FP32;
        if (in_place)
            b = (const float *)call->in[HC_CONV_BWD_FILTER_X].data + n * pixels * g->c + from;
        else
            im2col(queue, &call->in[HC_CONV_BWD_FILTER_X], g, n, count, from, from + columns, col);
        hc_onednn_sgemm(queue->onednn, &(struct hc_sgemm){.transpose_a = true,
                                                          .m = g->k,
                                                          .n = columns,
                                                          .k = count * pixels,
                                                          .a = dy,
                                                          .lda = g->k,
                                                          .b = b,
                                                          .ldb = in_place ? g->c : columns,
                                                          .beta = n > first ? 1 : 0,
                                                          .c = sums,
                                                          .ldc = w->columns});
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

enum hc_status hc_onednn_filter(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    struct work w;
    if (hc_onednn_pixels_fastest(&g))
        return hc_onednn_pixels(queue, call);
    if (!lay_out(call, &w))
        return hc_exact_run(queue, call);
    if (hc_onednn_check_memory() != HC_OK)
        return HC_NO_MEMORY;
    atomic_bool nonfinite = false;
    int threads = hc_onednn_single_thread();
#pragma omp parallel for num_threads(hc_host_team(queue, hc_conv_products(&w.shape)))              \
    schedule(dynamic)
    for (int64_t i = 0; i < w.image_shares * w.column_shares; i++)
        sum_share(queue, call, &w, i, &nonfinite);
    hc_onednn_restore_threads(threads);
    if (nonfinite)
        return hc_onednn_pixels(queue, call);
    if (!w.direct)
        finish(queue, call, &w, w.image_shares);
    return hc_onednn_error(queue->onednn);
}
