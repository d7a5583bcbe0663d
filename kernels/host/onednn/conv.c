/* Convolution, forward and backward to the input.

   The images are divided into groups. Each group is convolved by one thread, with a plan
   (plan.c); a 1x1 filter of stride 1 is a matrix product instead. How many images a group
   has depends on the shape alone: enough to make it worthwhile that the filter is in the cache, few
   enough to stay there themselves.

   Where a filter lies wholly in the padding, oneDNN multiplies its weights by zero. The contract
   has no term there, and with an infinite or NaN weight that zero is a NaN. So forward, with such a
   weight, the pixels beside the padding are computed once more, by products that leave it out
   (pixels.c). These are the fastest way for small images, too. */
#include <omp.h>

#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "kernels/host/onednn/onednn.h"

struct work {
    struct hc_conv_shape shape;
    int64_t group;     /* images of a group */
    int64_t from_size; /* elements of an image */
    int64_t to_size;
    struct hc_onednn_plan *plan; /* NULL: a matrix product */
    struct hc_onednn_plan *last; /* for the last group, if it is smaller; else NULL */
    size_t filter_bytes;         /* of the filter in the plan's layout */
    size_t copy_bytes;           /* of the filter as fp32 */
    size_t pad_bytes;            /* of a thread's scratchpad */
    size_t from_bytes;           /* of a group as fp32; 0 if it is fp32 */
    size_t to_bytes;
};

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t copy_bytes(const struct hc_tensor *t, int64_t n)
{
    return t->format == HC_FP32 ? 0 : rounded((size_t)n * sizeof(float));
}

static int64_t images_of_group(const struct hc_conv_shape *g)
{
    int64_t x = g->h * g->w * g->c;
    int64_t y = g->p * g->q * g->k;
    int64_t n = HC_ONEDNN_GROUP_ELEMENTS / (x > y ? x : y);
    n = n < HC_ONEDNN_MIN_IMAGES ? HC_ONEDNN_MIN_IMAGES : n;
    n = n > HC_ONEDNN_MAX_IMAGES ? HC_ONEDNN_MAX_IMAGES : n;
    return n < g->n ? n : g->n;
}

/* Plans the work. False if oneDNN cannot do it. */
static bool lay_out(struct hc_queue *queue, const struct hc_call *call, struct work *w)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    if (hc_conv_empty(&g))
        return false;
    bool backward = g.op == HC_OP_conv2d_bwd_data;
    int64_t x = g.h * g.w * g.c;
    int64_t y = g.p * g.q * g.k;
    *w = (struct work){.shape = g,
                       .group = images_of_group(&g),
                       .from_size = backward ? y : x,
                       .to_size = backward ? x : y};
    int64_t weights = hc_tensor_count(&call->in[HC_CONV_SECOND]);
    w->copy_bytes = copy_bytes(&call->in[HC_CONV_SECOND], weights);
    w->from_bytes = copy_bytes(&call->in[HC_CONV_FIRST], w->group * w->from_size);
    w->to_bytes = copy_bytes(&call->out[HC_CONV_RESULT], w->group * w->to_size);
    if (hc_conv_is_product(&g))
        return true;
    int64_t left = g.n % w->group;
    g.n = w->group;
    w->plan = hc_onednn_plan(queue->onednn, &g);
    g.n = left;
    w->last = left ? hc_onednn_plan(queue->onednn, &g) : NULL;
    if (!w->plan || (left && !w->last) ||
        (left && hc_onednn_filter_bytes(w->last) != hc_onednn_filter_bytes(w->plan)))
        return false;
    w->filter_bytes = rounded(hc_onednn_filter_bytes(w->plan));
    w->pad_bytes = rounded(hc_onednn_pad_bytes(w->plan));
    if (left && rounded(hc_onednn_pad_bytes(w->last)) > w->pad_bytes)
        w->pad_bytes = rounded(hc_onednn_pad_bytes(w->last));
    return true;
}

static size_t filters_bytes(const struct work *w)
{
    return w->copy_bytes + (w->last ? 2 : 1) * w->filter_bytes;
}

static size_t thread_bytes(const struct work *w)
{
    return w->pad_bytes + w->from_bytes + w->to_bytes;
}

size_t hc_onednn_conv_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    struct work w;
    size_t pixels = hc_onednn_pixels_scratch(queue, call);
    if (hc_onednn_pixels_fastest(&g))
        return pixels;
    if (!lay_out(queue, call, &w))
        return hc_exact_scratch(queue, call);
    size_t groups = filters_bytes(&w) + (size_t)queue->threads * thread_bytes(&w);
    return g.op == HC_OP_conv2d && g.pad > 0 && pixels > groups ? pixels : groups;
}

static void multiply(struct hc_onednn *onednn, const struct work *w, int64_t images,
                     const float *filter, const float *from, float *to)
{
    const struct hc_conv_shape *g = &w->shape;
    bool backward = g->op == HC_OP_conv2d_bwd_data;
    hc_onednn_sgemm(onednn, &(struct hc_sgemm){.transpose_b = !backward,
                                               .m = images * g->h * g->w,
                                               .n = backward ? g->c : g->k,
                                               .k = backward ? g->k : g->c,
                                               .a = from,
                                               .lda = backward ? g->k : g->c,
                                               .b = filter,
                                               .ldb = g->c,
                                               .c = to,
                                               .ldc = backward ? g->c : g->k});
}

/* The group of images that begins with image `first`. */
static enum hc_status convolve_group(struct hc_queue *queue, const struct hc_call *call,
                                     const struct work *w, const float *filter, int64_t first)
{
    int thread = omp_get_thread_num();
    int64_t left = w->shape.n - first;
    int64_t images = left < w->group ? left : w->group;
    unsigned char *pad =
        (unsigned char *)call->scratch + filters_bytes(w) + (size_t)thread * thread_bytes(w);
    float *from_buffer = (float *)(void *)(pad + w->pad_bytes);
    float *to_buffer = (float *)(void *)(pad + w->pad_bytes + w->from_bytes);
    const float *from = hc_host_view(queue, &call->in[HC_CONV_FIRST], first * w->from_size,
                                     images * w->from_size, from_buffer);
    float *to = hc_host_target(&call->out[HC_CONV_RESULT], first * w->to_size, to_buffer);
    enum hc_status status = HC_OK;
    if (w->plan)
        status = hc_onednn_run(queue->onednn, images == w->group ? w->plan : w->last, thread, from,
                               to, pad);
    else
        multiply(queue->onednn, w, images, filter, from, to);
    hc_host_flush(queue, &call->out[HC_CONV_RESULT], first * w->to_size, images * w->to_size, to);
    return status;
}

static enum hc_status convolve(struct hc_queue *queue, const struct hc_call *call,
                               const struct work *w)
{
    unsigned char *filters = call->scratch;
    float *buffer = (float *)(void *)(filters + filters_bytes(w) - w->copy_bytes);
    const float *filter = hc_onednn_copy(queue, &call->in[HC_CONV_SECOND], buffer);
    int64_t weights = hc_tensor_count(&call->in[HC_CONV_SECOND]);
    bool nonfinite = call->op == HC_OP_conv2d && w->shape.pad > 0 &&
                     queue->loops->any_nonfinite(filter, weights);
    if (nonfinite && w->shape.p * w->shape.q <= HC_ONEDNN_SMALL_FILTER_IMAGE)
        return hc_onednn_pixels(queue, call); /* most pixels are beside the padding */
    enum hc_status status = hc_onednn_check_memory();
    if (w->plan && status == HC_OK)
        status = hc_onednn_reorder(queue->onednn, w->plan, filter, filters);
    if (w->last && status == HC_OK)
        status = hc_onednn_reorder(queue->onednn, w->last, filter, filters + w->filter_bytes);
    if (status != HC_OK)
        return status;
    int failed = 0;
    int threads = hc_onednn_single_thread();
#pragma omp parallel for schedule(dynamic) reduction(|                                             \
                                                     : failed)                                     \
    num_threads(hc_host_team(queue, hc_conv_products(&w->shape)))
    for (int64_t i = 0; i < w->shape.n; i += w->group)
        failed |= convolve_group(queue, call, w, filter, i) != HC_OK;
    hc_onednn_restore_threads(threads);
    if (failed)
        return hc_fail(HC_DEVICE, "host: oneDNN failed in %s", hc_ops[call->op].name);
    if (nonfinite)
        return hc_onednn_border_pixels(queue, call);
    return hc_onednn_error(queue->onednn);
}

enum hc_status hc_onednn_conv(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    struct work w;
    if (hc_onednn_pixels_fastest(&g))
        return hc_onednn_pixels(queue, call);
    return lay_out(queue, call, &w) ? convolve(queue, call, &w) : hc_exact_run(queue, call);
}
