#include "kernels/exact/double.h"
#include "kernels/exact/exact.h"
#include "kernels/host/host.h"

/* n elements of a state tensor as fp32: in place where that is fp32 and stays where it is, else in
   `buffer`, since the output may be any other input's memory. */
static float *state(const struct hc_queue *queue, const struct hc_tensor *from,
                    const struct hc_tensor *to, int64_t at, int64_t n, float *buffer)
{
    if (from->data == to->data && to->format == HC_FP32)
        return (float *)to->data + at;
    queue->loops->load(from->format,
                       (const unsigned char *)from->data + at * hc_formats[from->format].bytes, n,
                       buffer);
    return buffer;
}

/* The new weights of step t from element `at` on. */
static void flush_weights(const struct hc_queue *queue, const struct hc_call *call,
                          const struct hc_stochastic *s, uint32_t t, int64_t at, int64_t n,
                          const float *w)
{
    if (s->on)
        queue->loops->store_stochastic(s->seed, t, s->first + at, w, n,
                                       (uint16_t *)call->out[0].data + at);
    else
        hc_host_flush(queue, &call->out[0], at, n, w);
}

static int64_t block_of(int64_t at, int64_t n)
{
    return n - at < HC_HOST_BLOCK ? n - at : HC_HOST_BLOCK;
}

static bool left_out(const struct hc_tensor *found)
{
    return found->data && *(const float *)found->data != 0;
}

enum hc_status hc_host_sgd(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *in = call->in;
    const struct hc_tensor *out = call->out;
    if (hc_is_double(call) || left_out(&in[4]))
        return hc_exact_sgd(queue, call);
    const struct hc_sgd *p = &call->params.sgd;
    uint32_t t = (uint32_t)((const float *)in[3].data)[2];
    struct hc_sgd_step step = hc_sgd_coefficients(p, in[3].data);
    int64_t n = hc_tensor_count(&out[0]);
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (n > HC_HOST_SMALL)
    for (int64_t at = 0; at < n; at += HC_HOST_BLOCK) {
        float buffer[4][HC_HOST_BLOCK];
        int64_t count = block_of(at, n);
        float *w = state(queue, &in[0], &out[0], at, count, buffer[0]);
        float *v = state(queue, &in[2], &out[1], at, count, buffer[1]);
        const float *g = hc_host_view(queue, &in[1], at, count, buffer[2]);
        if (in[5].data) {
            float *c = state(queue, &in[5], &out[2], at, count, buffer[3]);
            queue->loops->sgd_kahan(p->arithmetic, in[0].format, &step, w, g, v, c, count);
            hc_host_flush(queue, &out[2], at, count, c);
        } else {
            queue->loops->sgd(p->arithmetic, &step, w, g, v, count);
        }
        flush_weights(queue, call, &p->stochastic, t, at, count, w);
        hc_host_flush(queue, &out[1], at, count, v);
    }
    return HC_OK;
}

static void adam(struct hc_queue *queue, const struct hc_call *call, bool decoupled)
{
    const struct hc_tensor *in = call->in;
    const struct hc_tensor *out = call->out;
    const struct hc_adam *p = &call->params.adam;
    uint32_t t = (uint32_t)((const float *)in[4].data)[2];
    struct hc_adam_step step = hc_adam_coefficients(p, decoupled, in[4].data);
    int64_t n = hc_tensor_count(&out[0]);
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (n > HC_HOST_SMALL)
    for (int64_t at = 0; at < n; at += HC_HOST_BLOCK) {
        float buffer[5][HC_HOST_BLOCK];
        int64_t count = block_of(at, n);
        float *w = state(queue, &in[0], &out[0], at, count, buffer[0]);
        float *m = state(queue, &in[2], &out[1], at, count, buffer[1]);
        float *v = state(queue, &in[3], &out[2], at, count, buffer[2]);
        const float *g = hc_host_view(queue, &in[1], at, count, buffer[3]);
        if (in[6].data) {
            float *c = state(queue, &in[6], &out[3], at, count, buffer[4]);
            queue->loops->adam_kahan(p->arithmetic, in[0].format, &step, w, g, m, v, c, count);
            hc_host_flush(queue, &out[3], at, count, c);
        } else {
            queue->loops->adam(p->arithmetic, &step, w, g, m, v, count);
        }
        flush_weights(queue, call, &p->stochastic, t, at, count, w);
        hc_host_flush(queue, &out[1], at, count, m);
        hc_host_flush(queue, &out[2], at, count, v);
    }
}

enum hc_status hc_host_adam(struct hc_queue *queue, const struct hc_call *call)
{
    if (hc_is_double(call) || left_out(&call->in[5]))
        return hc_exact_adam(queue, call);
    adam(queue, call, false);
    return HC_OK;
}

enum hc_status hc_host_adamw(struct hc_queue *queue, const struct hc_call *call)
{
    if (hc_is_double(call) || left_out(&call->in[5]))
        return hc_exact_adamw(queue, call);
    adam(queue, call, true);
    return HC_OK;
}
