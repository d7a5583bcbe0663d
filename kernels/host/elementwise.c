/* Elementwise ops: block by block to fp32, the op's loop, and back. */
#include <string.h>

#include "kernels/exact/double.h"
#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "kernels/element/load.h"
#include "kernels/element/scaling.h"

/* Elements of the block that starts at `at`. */
static int64_t block_of(int64_t at, int64_t n)
{
    return n - at < HC_HOST_BLOCK ? n - at : HC_HOST_BLOCK;
}

/* Whether a call is one thread's: then not even a team of one is made, which costs more than a block
   of conversions. */
static bool alone(const struct hc_queue *queue, int64_t n)
{
    return queue->threads == 1 || n <= HC_HOST_SMALL;
}

static void map_block(const struct hc_queue *queue, const struct hc_call *call, int inputs,
                      const struct hc_host_scalars *scalars, int64_t at, int64_t n)
{
    float buffer[4][HC_HOST_BLOCK];
    const float *in[3] = {0};
    for (int i = 0; i < inputs; i++)
        in[i] = hc_host_view(queue, &call->in[i], at, n, buffer[i]);
    float *out = hc_host_target(&call->out[0], at, buffer[3]);
    queue->loops->map[call->op](in, out, n, scalars);
    hc_host_flush(queue, &call->out[0], at, n, out);
}

static enum hc_status map(struct hc_queue *queue, const struct hc_call *call, int inputs,
                          struct hc_host_scalars scalars)
{
    int64_t n = hc_tensor_count(&call->out[0]);
    if (alone(queue, n)) {
        for (int64_t at = 0; at < n; at += HC_HOST_BLOCK)
            map_block(queue, call, inputs, &scalars, at, block_of(at, n));
        return HC_OK;
    }
#pragma omp parallel for num_threads(queue->threads) schedule(static)
    for (int64_t at = 0; at < n; at += HC_HOST_BLOCK)
        map_block(queue, call, inputs, &scalars, at, block_of(at, n));
    return HC_OK;
}

/* The six IEEE operations; fp64 is nobody's bottleneck and stays with exact. */
static enum hc_status ieee(struct hc_queue *queue, const struct hc_call *call, int inputs,
                           hc_kernel *exact)
{
    enum hc_format format = call->out[0].format;
    if (!hc_is_h(format))
        return exact(queue, call);
    return map(queue, call, inputs, (struct hc_host_scalars){.format = format});
}

enum hc_status hc_host_add(struct hc_queue *queue, const struct hc_call *call)
{
    return ieee(queue, call, 2, hc_exact_add);
}

enum hc_status hc_host_sub(struct hc_queue *queue, const struct hc_call *call)
{
    return ieee(queue, call, 2, hc_exact_sub);
}

enum hc_status hc_host_mul(struct hc_queue *queue, const struct hc_call *call)
{
    return ieee(queue, call, 2, hc_exact_mul);
}

enum hc_status hc_host_div(struct hc_queue *queue, const struct hc_call *call)
{
    return ieee(queue, call, 2, hc_exact_div);
}

enum hc_status hc_host_sqrt(struct hc_queue *queue, const struct hc_call *call)
{
    return ieee(queue, call, 1, hc_exact_sqrt);
}

enum hc_status hc_host_fma(struct hc_queue *queue, const struct hc_call *call)
{
    return ieee(queue, call, 3, hc_exact_fma);
}

enum hc_status hc_host_axpy(struct hc_queue *queue, const struct hc_call *call)
{
    return map(queue, call, 2, (struct hc_host_scalars){.by = (float)call->params.axpy.alpha});
}

enum hc_status hc_host_scale(struct hc_queue *queue, const struct hc_call *call)
{
    return map(queue, call, 1, (struct hc_host_scalars){.by = *(const float *)call->in[1].data});
}

enum hc_status hc_host_leaky_relu(struct hc_queue *queue, const struct hc_call *call)
{
    if (hc_is_double(call))
        return hc_exact_leaky_relu(queue, call);
    return map(queue, call, 1, (struct hc_host_scalars){.by = (float)call->params.leaky.slope});
}

enum hc_status hc_host_leaky_relu_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    if (hc_is_double(call))
        return hc_exact_leaky_relu_bwd(queue, call);
    return map(queue, call, 2, (struct hc_host_scalars){.by = (float)call->params.leaky.slope});
}

enum hc_status hc_host_unscale(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[0];
    bool reciprocal = call->params.unscale.reciprocal;
    float s = *(const float *)call->in[1].data;
    struct hc_host_scalars scalars = {.by = reciprocal ? hc_unscale_reciprocal(s) : s,
                                      .reciprocal = reciprocal};
    const float *before = call->in[2].data;
    int found = before && *before != 0;
    if (found && call->in[3].data)
        return hc_exact_unscale(queue, call);
    int64_t n = hc_tensor_count(x);
#pragma omp parallel for num_threads(queue->threads) schedule(static)                              \
    reduction(|                                                                                    \
              : found) if (n > HC_HOST_SMALL)
    for (int64_t at = 0; at < n; at += HC_HOST_BLOCK) {
        float buffer[2][HC_HOST_BLOCK];
        int64_t count = block_of(at, n);
        const float *in[3] = {hc_host_view(queue, x, at, count, buffer[0])};
        float *out = hc_host_target(&call->out[0], at, buffer[1]);
        found |= queue->loops->any_nonfinite(in[0], count);
        queue->loops->map[HC_OP_unscale](in, out, count, &scalars);
        hc_host_flush(queue, &call->out[0], at, count, out);
    }
    *(float *)call->out[1].data = found ? 1 : 0;
    return HC_OK;
}

/* Elements of t from `at` on. */
static void *element(const struct hc_tensor *t, int64_t at)
{
    return (unsigned char *)t->data + at * hc_formats[t->format].bytes;
}

/* From fp64, to nearest: into 16 bits by way of fp32 rounded to odd (num/directed.h). */
static void narrow_block(const struct hc_queue *queue, const struct hc_tensor *from,
                         const struct hc_tensor *to, int64_t at, int64_t n)
{
    float buffer[HC_HOST_BLOCK];
    float *out = hc_host_target(to, at, buffer);
    queue->loops->narrow(to->format != HC_FP32, element(from, at), n, out);
    hc_host_flush(queue, to, at, n, out);
}

static void cast_block(const struct hc_queue *queue, const struct hc_tensor *from,
                       const struct hc_tensor *to, enum hc_direction direction, int64_t at,
                       int64_t n)
{
    float buffer[HC_HOST_BLOCK];
    if (from->format == HC_FP64) {
        narrow_block(queue, from, to, at, n);
        return;
    }
    const float *in = hc_host_view(queue, from, at, n, buffer);
    if (to->format == HC_FP64)
        queue->loops->widen(in, n, element(to, at));
    else if (direction == HC_NEAREST)
        queue->loops->store(to->format, in, n, element(to, at));
    else
        queue->loops->store_directed(to->format, direction, in, n, element(to, at));
}

static enum hc_status cast(const struct hc_queue *queue, const struct hc_call *call,
                           enum hc_direction direction)
{
    const struct hc_tensor *from = &call->in[0];
    const struct hc_tensor *to = &call->out[0];
    int64_t n = from->data == to->data ? 0 : hc_tensor_count(to);
    if (alone(queue, n)) {
        for (int64_t at = 0; at < n; at += HC_HOST_BLOCK)
            cast_block(queue, from, to, direction, at, block_of(at, n));
        return HC_OK;
    }
#pragma omp parallel for num_threads(queue->threads) schedule(static)
    for (int64_t at = 0; at < n; at += HC_HOST_BLOCK)
        cast_block(queue, from, to, direction, at, block_of(at, n));
    return HC_OK;
}

enum hc_status hc_host_master_to_model(struct hc_queue *queue, const struct hc_call *call)
{
    return cast(queue, call, HC_NEAREST);
}

/* Among H, and between them and fp64; the rest is exact's. */
enum hc_status hc_host_cast(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_format from = call->in[0].format;
    enum hc_format to = call->out[0].format;
    enum hc_direction direction = call->params.cast.direction;
    if (from == HC_FP64 && to == HC_FP64) {
        if (call->in[0].data != call->out[0].data)
            memcpy(call->out[0].data, call->in[0].data, hc_tensor_bytes(&call->out[0]));
        return HC_OK;
    }
    bool narrows = from == HC_FP64 && hc_is_h(to) && direction == HC_NEAREST;
    if (!narrows && (!hc_is_h(from) || (!hc_is_h(to) && to != HC_FP64)))
        return hc_exact_cast(queue, call);
    return cast(queue, call, direction);
}
