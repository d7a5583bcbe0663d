/* Convolution backward to the filter: dw [K, RSC] = dy [NPQ, K]^T col [NPQ, RSC], where row (n, p, q)
   of col holds the elements of x under the filter, zeros in the padding. A small dw is summed over
   parts of the images, each by one thread, and the parts are added in order; a large one is cut into
   parts of its columns. Parts depend on the shape alone.

   A zero of the padding times an infinite dy would be NaN where the definition has no term. So where
   an infinity or NaN comes out, everything is done again tap by tap, over the rows of that tap. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "kernels/host/onednn.h"

struct work {
    struct hc_conv_shape shape;
    int64_t columns;     /* R S C */
    int64_t image_parts; /* of image_share images */
    int64_t image_share;
    int64_t column_parts; /* of column_share columns */
    int64_t column_share;
    int64_t group; /* images of one product */
    int64_t dy_floats;
    int64_t col_floats; /* of a thread */
    bool direct;        /* dw itself takes the sums */
};

static int64_t shares(int64_t n, int64_t parts)
{
    return (n + parts - 1) / parts;
}

static int64_t rounded(int64_t n)
{
    return (n + 15) / 16 * 16;
}

static bool lay_out(const struct hc_call *call, struct work *w)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    if (hc_conv_empty(&g))
        return false;
    int64_t pixels = g.p * g.q;
    *w = (struct work){.shape = g, .columns = g.r * g.s * g.c};
    bool large = g.k * w->columns >= HC_ONEDNN_LARGE_FILTER;
    w->image_share = large ? g.n : shares(g.n, HC_ONEDNN_FILTER_SPLITS);
    w->column_share = large ? rounded(shares(w->columns, HC_ONEDNN_FILTER_SPLITS)) : w->columns;
    w->image_parts = shares(g.n, w->image_share);
    w->column_parts = shares(w->columns, w->column_share);
    w->group = pixels < HC_ONEDNN_FILTER_ROWS ? HC_ONEDNN_FILTER_ROWS / pixels : 1;
    w->group = w->group < w->image_share ? w->group : w->image_share;
    w->dy_floats = rounded(w->group * pixels * g.k);
    w->col_floats = rounded(w->group * pixels * (w->column_share > g.c ? w->column_share : g.c));
    w->direct = call->out[HC_CONV_BWD_FILTER_DW].format == HC_FP32 && w->image_parts == 1;
    return true;
}

static int64_t sums_floats(const struct work *w)
{
    return w->direct ? 0 : rounded(w->image_parts * w->shape.k * w->columns);
}

size_t hc_onednn_filter_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w;
    if (!lay_out(call, &w))
        return hc_exact_scratch(queue, call);
    int64_t floats = sums_floats(&w) + queue->threads * (w.dy_floats + w.col_floats);
    return (size_t)floats * sizeof(float);
}

static void load(const struct hc_queue *queue, const struct hc_tensor *t, int64_t at, int64_t n,
                 float *to)
{
    queue->loops->load(t->format, hc_host_element(t, at), n, to);
}

/* Columns from..to-1 of col, which lie in filter row r, of the output pixels q, q + 1, ... of a row
   whose filter row stands on image row `row` (counted over all images). */
struct segment {
    int64_t row;
    int64_t r;
    int64_t from;
    int64_t to;
};

/* One pixel, whose filter may reach over the sides of the image. */
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
        load(queue, x, (t->row * g->w + left) * g->c + low - start, high - low,
             col + (low - t->from));
}

/* A row of output pixels, `step` floats apart in col. */
static void gather_row(const struct hc_queue *queue, const struct hc_tensor *x,
                       const struct hc_conv_shape *g, const struct segment *t, float *col,
                       int64_t step)
{
    int64_t start = t->r * g->s * g->c;
    int64_t first = (g->pad + g->stride - 1) / g->stride; /* pixels inside: first..end-1 */
    int64_t end = g->w + g->pad >= g->s ? (g->w + g->pad - g->s) / g->stride + 1 : 0;
    end = end < g->q ? end : g->q;
    first = first < end ? first : end;
    for (int64_t q = 0; q < first; q++)
        gather_side(queue, x, g, t, q, col + q * step);
    int64_t at = (t->row * g->w + first * g->stride - g->pad) * g->c + t->from - start;
    if (first < end)
        queue->loops->lift(x->format, hc_host_element(x, at), g->stride * g->c, end - first,
                           t->to - t->from, col + first * step, step);
    for (int64_t q = end; q < g->q; q++)
        gather_side(queue, x, g, t, q, col + q * step);
}

/* Columns from..to-1 of the rows of `images` images. */
static void gather(const struct hc_queue *queue, const struct hc_tensor *x,
                   const struct hc_conv_shape *g, int64_t first, int64_t images, int64_t from,
                   int64_t to, float *col)
{
    int64_t wide = g->s * g->c;
    int64_t step = to - from;
    for (int64_t i = 0; i < images * g->p; i++, col += g->q * step)
        for (int64_t end, j = from; j < to; j = end) {
            int64_t r = j / wide;
            int64_t row = i % g->p * g->stride - g->pad + r;
            end = (r + 1) * wide < to ? (r + 1) * wide : to;
            struct segment t = {(first + i / g->p) * g->h + row, r, j, end};
            if (row >= 0 && row < g->h)
                gather_row(queue, x, g, &t, col + (j - from), step);
            else
                for (int64_t q = 0; q < g->q; q++)
                    memset(col + (j - from) + q * step, 0, (size_t)(end - j) * sizeof *col);
        }
}

/* Buffers of the calling thread. */
static float *thread_buffer(const struct hc_call *call, const struct work *w)
{
    return (float *)call->scratch + sums_floats(w) +
           omp_get_thread_num() * (w->dy_floats + w->col_floats);
}

static float *sums_of(const struct hc_call *call, const struct work *w, int64_t part)
{
    return w->direct ? call->out[HC_CONV_BWD_FILTER_DW].data
                     : (float *)call->scratch + part * w->shape.k * w->columns;
}

/* Part (images, columns); whether any sum is infinite or NaN. */
static bool part(const struct hc_queue *queue, const struct hc_call *call, const struct work *w,
                 int64_t index)
{
    const struct hc_conv_shape *g = &w->shape;
    int64_t pixels = g->p * g->q;
    int64_t image_part = index / w->column_parts;
    int64_t from = index % w->column_parts * w->column_share;
    int64_t columns = w->columns - from < w->column_share ? w->columns - from : w->column_share;
    int64_t first = image_part * w->image_share;
    int64_t end = first + w->image_share < g->n ? first + w->image_share : g->n;
    float *buffer = thread_buffer(call, w);
    float *col = buffer + w->dy_floats;
    float *sums = sums_of(call, w, image_part) + from;
    for (int64_t count, n = first; n < end; n += count) {
        count = end - n < w->group ? end - n : w->group;
        const float *dy = hc_host_view(queue, &call->in[HC_CONV_BWD_FILTER_DY], n * pixels * g->k,
                                       count * pixels * g->k, buffer);
        const float *b = col;
        bool in_place = hc_conv_is_product(g) && call->in[HC_CONV_BWD_FILTER_X].format == HC_FP32;
        if (in_place)
            b = (const float *)call->in[HC_CONV_BWD_FILTER_X].data + n * pixels * g->c + from;
        else
            gather(queue, &call->in[HC_CONV_BWD_FILTER_X], g, n, count, from, from + columns, col);
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
    bool found = false;
    for (int64_t i = 0; i < g->k && !found; i++)
        found = queue->loops->any_nonfinite(sums + i * w->columns, columns);
    return found;
}

/* Tap t of the first part, over all images and those output pixels alone where it lies in the image. */
static void tap(const struct hc_queue *queue, const struct hc_call *call, const struct work *w,
                int64_t t)
{
    const struct hc_conv_shape *g = &w->shape;
    float *dy = thread_buffer(call, w);
    float *x = dy + w->dy_floats;
    float *sums = sums_of(call, w, 0) + t * g->c;
    for (int64_t n = 0; n < g->n; n++) {
        int64_t rows = 0;
        for (int64_t i = 0; i < g->p * g->q; i++) {
            int64_t h = i / g->q * g->stride - g->pad + t / g->s;
            int64_t v = i % g->q * g->stride - g->pad + t % g->s;
            if (h < 0 || h >= g->h || v < 0 || v >= g->w)
                continue;
            load(queue, &call->in[HC_CONV_BWD_FILTER_X], ((n * g->h + h) * g->w + v) * g->c, g->c,
                 x + rows * g->c);
            load(queue, &call->in[HC_CONV_BWD_FILTER_DY], (n * g->p * g->q + i) * g->k, g->k,
                 dy + rows * g->k);
            rows++;
        }
        hc_onednn_sgemm(queue->onednn, &(struct hc_sgemm){.transpose_a = true,
                                                          .m = g->k,
                                                          .n = g->c,
                                                          .k = rows,
                                                          .a = dy,
                                                          .lda = g->k,
                                                          .b = x,
                                                          .ldb = g->c,
                                                          .beta = n ? 1 : 0,
                                                          .c = sums,
                                                          .ldc = w->columns});
    }
}

/* Adds the parts up, in order, into dw. */
static void finish(const struct hc_queue *queue, const struct hc_call *call, const struct work *w,
                   int64_t parts)
{
    int64_t n = w->shape.k * w->columns;
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (n > HC_HOST_SMALL)
    for (int64_t at = 0; at < n; at += HC_HOST_BLOCK) {
        int64_t count = n - at < HC_HOST_BLOCK ? n - at : HC_HOST_BLOCK;
        float *sum = sums_of(call, w, 0) + at;
        for (int64_t i = 1; i < parts; i++) {
            const float *in[3] = {sum, sums_of(call, w, i) + at};
            queue->loops->map[HC_OP_add](in, sum, count, NULL);
        }
        hc_host_flush(queue, &call->out[HC_CONV_BWD_FILTER_DW], at, count, sum);
    }
}

enum hc_status hc_onednn_filter(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w;
    if (!lay_out(call, &w))
        return hc_exact_run(queue, call);
    if (hc_onednn_check_memory() != HC_OK)
        return HC_NO_MEMORY;
    int found = 0;
    int64_t parts = w.image_parts;
    int64_t taps = w.shape.r * w.shape.s;
    int threads = hc_onednn_single_thread();
#pragma omp parallel for num_threads(queue->threads) schedule(dynamic) reduction(| : found)
    for (int64_t i = 0; i < w.image_parts * w.column_parts; i++)
        found |= part(queue, call, &w, i);
    if (found && w.shape.pad > 0) {
        parts = 1;
#pragma omp parallel for num_threads(queue->threads) schedule(dynamic)
        for (int64_t t = 0; t < taps; t++)
            tap(queue, call, &w, t);
    }
    hc_onednn_restore_threads(threads);
    if (!w.direct)
        finish(queue, call, &w, parts);
    return hc_onednn_error(queue->onednn);
}
