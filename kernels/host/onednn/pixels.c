/* Convolutions as one small product of matrices for each pixel and each row of the filter.

   The rows of such a product are images: one pixel of all of them, or the run of pixels beside each
   other that a row of the filter covers there. It reads the tensors where they lie, and what lies
   in the padding is left out: there are no zeros to multiply. That makes it the fastest way where
   images are so small that much of a filter lies in the padding, and the right one where a weight
   or a gradient is infinite or NaN, which a zero would turn into a NaN that the definition has
   not.

   A product is the work of one thread; how the images and columns are divided depends on the shape
   alone. fp16 and bf16 are converted to fp32 first, each element once. */
#include <omp.h>
#include <string.h>

#include "kernels/host/host.h"
#include "kernels/host/onednn/onednn.h"

struct pixels {
    struct hc_conv_shape shape;
    struct hc_onednn *onednn;
    const float *first;
    const float *second;
};

/* A block of images and columns of one pixel of the result. */
struct pixel_block {
    int64_t first; /* image */
    int64_t images;
    int64_t pixel;
    int64_t column;
    int64_t columns;
};

/* The sums of a block, forward and to the input; rows of `to` are images, ldc floats apart. */
typedef void pixel_products(const struct pixels *p, const struct pixel_block *block, float *to,
                            int64_t ldc);
static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The taps first .. end - 1 of a filter's row that lie inside an image when the filter stands at
   output column q; and the same of its rows. */
struct taps {
    int64_t first;
    int64_t end;
};

static struct taps taps_inside(int64_t q, int64_t taps, int64_t side, const struct hc_conv_shape *g)
{
    int64_t left = q * g->stride - g->pad;
    return (struct taps){left < 0 ? least(-left, taps) : 0,
                         left + taps > side ? (left < side ? side - left : 0) : taps};
}

static void pixel_forward(const struct pixels *w, const struct pixel_block *b, float *to,
                          int64_t ldc)
{
    const struct hc_conv_shape *g = &w->shape;
    int64_t row = b->pixel / g->q;
    int64_t left = b->pixel % g->q * g->stride - g->pad;
    struct taps rows = taps_inside(row, g->r, g->h, g);
    struct taps inside = taps_inside(b->pixel % g->q, g->s, g->w, g);
    int64_t width = inside.end > inside.first ? inside.end - inside.first : 0;
    struct hc_sgemm product = {.transpose_b = true,
                               .m = b->images,
                               .n = b->columns,
                               .lda = g->h * g->w * g->c,
                               .ldb = g->r * g->s * g->c,
                               .ldc = ldc};
    product.c = to;
    if (width == 0 || rows.first >= rows.end)
        hc_onednn_sgemm(w->onednn, &product);
    for (int64_t r = rows.first; r < rows.end && width > 0; r++) {
        int64_t h = row * g->stride - g->pad + r;
        product.k = width * g->c;
        product.a = w->first + ((b->first * g->h + h) * g->w + left + inside.first) * g->c;
        product.b = w->second + ((b->column * g->r + r) * g->s + inside.first) * g->c;
        product.beta = r > rows.first ? 1 : 0;
        hc_onednn_sgemm(w->onednn, &product);
    }
}

/* The output row or column on which tap t of the filter covers input row or column i; -1: none. */
static int64_t output_at(int64_t i, int64_t t, int64_t outputs, const struct hc_conv_shape *g)
{
    int64_t from = i + g->pad - t;
    bool inside = from >= 0 && from % g->stride == 0 && from / g->stride < outputs;
    return inside ? from / g->stride : -1;
}

static void pixel_to_data(const struct pixels *w, const struct pixel_block *b, float *to,
                          int64_t ldc)
{
    const struct hc_conv_shape *g = &w->shape;
    int64_t taps = g->r * g->s;
    struct hc_sgemm product = {
        .m = b->images, .n = b->columns, .lda = g->p * g->q * g->k, .ldb = taps * g->c, .ldc = ldc};
    product.c = to;
    for (int64_t t = 0; t < taps; t++) {
        int64_t p = output_at(b->pixel / g->w, t / g->s, g->p, g);
        int64_t q = output_at(b->pixel % g->w, t % g->s, g->q, g);
        if (p < 0 || q < 0)
            continue;
        product.k = g->k;
        product.a = w->first + ((b->first * g->p + p) * g->q + q) * g->k;
        product.b = w->second + t * g->c + b->column;
        hc_onednn_sgemm(w->onednn, &product);
        product.beta = 1;
    }
    if (product.k == 0)
        hc_onednn_sgemm(w->onednn, &product);
}

/* Whether the filter reaches into the padding at that pixel of the output. */
static bool pixel_reaches_padding(const struct hc_conv_shape *g, int64_t pixel)
{
    struct taps rows = taps_inside(pixel / g->q, g->r, g->h, g);
    struct taps inside = taps_inside(pixel % g->q, g->s, g->w, g);
    return rows.end - rows.first < g->r || inside.end - inside.first < g->s;
}

/* Computes row r of `filters` filters from `filter` on, over all images, in the gradient of the
   filter, `sums`. */
static void pixel_to_filter(const struct pixels *w, int64_t r, int64_t filter, int64_t filters,
                            float *sums)
{
    const struct hc_conv_shape *g = &w->shape;
    int64_t columns = g->s * g->c;
    float *to = sums + (filter * g->r + r) * columns;
    struct hc_sgemm product = {.transpose_a = true,
                               .m = filters,
                               .k = g->n,
                               .lda = g->p * g->q * g->k,
                               .ldb = g->h * g->w * g->c,
                               .beta = 1,
                               .ldc = g->r * columns};
    for (int64_t i = 0; i < product.m; i++)
        memset(to + i * product.ldc, 0, (size_t)columns * sizeof *to);
    for (int64_t p = 0; p < g->p; p++) {
        int64_t h = p * g->stride - g->pad + r;
        for (int64_t q = 0; q < g->q && h >= 0 && h < g->h; q++) {
            struct taps inside = taps_inside(q, g->s, g->w, g);
            int64_t left = q * g->stride - g->pad + inside.first;
            if (inside.first >= inside.end)
                continue;
            product.n = (inside.end - inside.first) * g->c;
            product.a = w->second + (p * g->q + q) * g->k + filter;
            product.b = w->first + (h * g->w + left) * g->c;
            product.c = to + inside.first * g->c;
            hc_onednn_sgemm(w->onednn, &product);
        }
    }
}

/* Images and columns of a product, at most. */
enum { IMAGES = HC_ONEDNN_PIXEL_IMAGES, COLUMNS = HC_ONEDNN_PIXEL_COLUMNS };

struct work {
    struct pixels of;
    const struct hc_queue *queue;
    const struct hc_tensor *result;
    float *sums; /* of the result: its own memory, or a thread's buffers */
    bool border; /* only pixels where the filter reaches into the padding */
    int64_t image_shares;
    int64_t column_shares;
};

bool hc_onednn_pixels_fastest(const struct hc_conv_shape *g)
{
    bool filter = g->op == HC_OP_conv2d_bwd_filter;
    int64_t most = filter ? HC_ONEDNN_SMALL_FILTER_IMAGE : HC_ONEDNN_SMALL_IMAGE;
    return !hc_conv_empty(g) && g->pad > 0 && g->p * g->q <= most && g->n >= HC_ONEDNN_LARGE_BATCH;
}

static int64_t divided(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static int64_t rounded(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* Floats of a tensor's fp32 copy. */
static int64_t copy_floats(const struct hc_tensor *t)
{
    return t->format == HC_FP32 ? 0 : rounded(hc_tensor_count(t));
}

/* Floats of the sums: all of a filter's, or what each thread computes at a time. */
static int64_t sums_floats(const struct hc_queue *queue, const struct hc_call *call)
{
    if (call->out[HC_CONV_RESULT].format == HC_FP32)
        return 0;
    return call->op == HC_OP_conv2d_bwd_filter
               ? rounded(hc_tensor_count(&call->out[HC_CONV_RESULT]))
               : (int64_t)queue->threads * IMAGES * COLUMNS;
}

size_t hc_onednn_pixels_scratch(const struct hc_queue *queue, const struct hc_call *call)
{
    return (size_t)(copy_floats(&call->in[HC_CONV_FIRST]) + copy_floats(&call->in[HC_CONV_SECOND]) +
                    sums_floats(queue, call)) *
           sizeof(float);
}

struct copy {
    const struct hc_tensor *from;
    float *to;
};

static void copy_block(const struct hc_queue *queue, const void *context, int64_t at, int64_t n)
{
    const struct copy *c = context;
    queue->loops->load(c->from->format, hc_host_element(c->from, at), n, c->to + at);
}

const float *hc_onednn_copy(const struct hc_queue *queue, const struct hc_tensor *t, float *buffer)
{
    struct copy c = {.from = t};
    if (t->format == HC_FP32)
        return t->data;
    c.to = buffer;
    hc_host_each_block(queue, hc_tensor_count(t), copy_block, &c);
    return buffer;
}

/* Block number `index` of the result of a convolution, forward or to the input. */
static void compute_block(const struct work *w, int64_t index)
{
    bool forward = w->of.shape.op == HC_OP_conv2d;
    int64_t pixels = w->result->shape[1] * w->result->shape[2];
    int64_t channels = w->result->shape[3];
    struct pixel_block b = {.first = index / w->column_shares / pixels * IMAGES,
                            .pixel = index / w->column_shares % pixels,
                            .column = index % w->column_shares * COLUMNS};
    b.images = least(w->of.shape.n - b.first, IMAGES);
    b.columns = least(channels - b.column, COLUMNS);
    if (w->border && !pixel_reaches_padding(&w->of.shape, b.pixel))
        return;
    int64_t at = (b.first * pixels + b.pixel) * channels + b.column;
    bool in_place = w->result->format == HC_FP32;
    float *to =
        in_place ? w->sums + at : w->sums + (int64_t)omp_get_thread_num() * IMAGES * COLUMNS;
    int64_t ldc = in_place ? pixels * channels : b.columns;
    (forward ? pixel_forward : pixel_to_data)(&w->of, &b, to, ldc);
    for (int64_t i = 0; i < b.images && !in_place; i++)
        hc_host_flush(w->queue, w->result, at + i * pixels * channels, b.columns,
                      to + i * b.columns);
}

/* Block number `index` of the gradient of the filter. */
static void compute_filters(const struct work *w, int64_t index)
{
    int64_t filter = index % w->column_shares * COLUMNS;
    int64_t filters = least(w->of.shape.k - filter, COLUMNS);
    pixel_to_filter(&w->of, index / w->column_shares, filter, filters, w->sums);
}

struct stored {
    const struct hc_tensor *to;
    const float *from;
};

static void store_block(const struct hc_queue *queue, const void *context, int64_t at, int64_t n)
{
    const struct stored *s = context;
    hc_host_flush(queue, s->to, at, n, s->from + at);
}

static enum hc_status compute(struct hc_queue *queue, const struct hc_call *call, bool border)
{
    const struct hc_tensor *result = &call->out[HC_CONV_RESULT];
    bool filter = call->op == HC_OP_conv2d_bwd_filter;
    float *buffer = call->scratch;
    struct work w = {.of = {.shape = hc_conv_shape_of(call), .onednn = queue->onednn},
                     .queue = queue,
                     .result = result,
                     .border = border};
    enum hc_status status = hc_onednn_check_memory();
    if (status != HC_OK)
        return status;
    w.of.first = hc_onednn_copy(queue, &call->in[HC_CONV_FIRST], buffer);
    buffer += copy_floats(&call->in[HC_CONV_FIRST]);
    w.of.second = hc_onednn_copy(queue, &call->in[HC_CONV_SECOND], buffer);
    buffer += copy_floats(&call->in[HC_CONV_SECOND]);
    w.sums = result->format == HC_FP32 ? result->data : buffer;
    w.image_shares = divided(w.of.shape.n, IMAGES);
    w.column_shares = divided(filter ? w.of.shape.k : result->shape[3], COLUMNS);
    int64_t blocks = filter
                         ? w.of.shape.r * w.column_shares
                         : w.image_shares * result->shape[1] * result->shape[2] * w.column_shares;
    int threads = hc_onednn_single_thread();
#pragma omp parallel for num_threads(hc_host_team(queue, hc_conv_products(&w.of.shape)))           \
    schedule(dynamic)
    for (int64_t i = 0; i < blocks; i++)
        if (filter)
            compute_filters(&w, i);
        else
            compute_block(&w, i);
    hc_onednn_restore_threads(threads);
    struct stored stored = {result, w.sums};
    if (filter && result->format != HC_FP32)
        hc_host_each_block(queue, hc_tensor_count(result), store_block, &stored);
    return hc_onednn_error(queue->onednn);
}

enum hc_status hc_onednn_pixels(struct hc_queue *queue, const struct hc_call *call)
{
    return compute(queue, call, false);
}

enum hc_status hc_onednn_border_pixels(struct hc_queue *queue, const struct hc_call *call)
{
    return compute(queue, call, true);
}
