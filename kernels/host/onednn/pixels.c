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

#include "kernels/host/host.h"
#include "kernels/host/onednn/pixels.h"

/* Images and columns of a product, at most. */
enum { IMAGES = HC_ONEDNN_PIXEL_IMAGES, COLUMNS = HC_ONEDNN_PIXEL_COLUMNS };

struct work {
    struct hc_pixels of;
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

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
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
    struct hc_pixel_block b = {.first = index / w->column_shares / pixels * IMAGES,
                               .pixel = index / w->column_shares % pixels,
                               .column = index % w->column_shares * COLUMNS};
    b.images = least(w->of.shape.n - b.first, IMAGES);
    b.columns = least(channels - b.column, COLUMNS);
    if (w->border && !hc_pixel_reaches_padding(&w->of.shape, b.pixel))
        return;
    int64_t at = (b.first * pixels + b.pixel) * channels + b.column;
    bool in_place = w->result->format == HC_FP32;
    float *to =
        in_place ? w->sums + at : w->sums + (int64_t)omp_get_thread_num() * IMAGES * COLUMNS;
    int64_t ldc = in_place ? pixels * channels : b.columns;
    (forward ? hc_pixel_forward : hc_pixel_to_data)(&w->of, &b, to, ldc);
    for (int64_t i = 0; i < b.images && !in_place; i++)
        hc_host_flush(w->queue, w->result, at + i * pixels * channels, b.columns,
                      to + i * b.columns);
}

/* Block number `index` of the gradient of the filter. */
static void compute_filters(const struct work *w, int64_t index)
{
    int64_t filter = index % w->column_shares * COLUMNS;
    int64_t filters = least(w->of.shape.k - filter, COLUMNS);
    hc_pixel_to_filter(&w->of, index / w->column_shares, filter, filters, w->sums);
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
