/* Blocks of elements: who works on them, and their conversion to fp32 and back. */
#include "kernels/host/host.h"

/* For a small call not even a team of one thread is made, which costs more than a block of
   conversions. */
void hc_host_each_block(const struct hc_queue *queue, int64_t n, hc_host_work *work,
                        const void *context)
{
    if (queue->threads == 1 || n <= HC_HOST_SMALL) {
        for (int64_t at = 0; at < n; at += HC_HOST_BLOCK)
            work(queue, context, at, n - at < HC_HOST_BLOCK ? n - at : HC_HOST_BLOCK);
        return;
    }
#pragma omp parallel for num_threads(queue->threads) schedule(static)
    for (int64_t at = 0; at < n; at += HC_HOST_BLOCK)
        work(queue, context, at, n - at < HC_HOST_BLOCK ? n - at : HC_HOST_BLOCK);
}

const float *hc_host_view(const struct hc_queue *queue, const struct hc_tensor *t, int64_t at,
                          int64_t n, float *buffer)
{
    if (t->format == HC_FP32)
        return (const float *)t->data + at;
    queue->loops->load(t->format, hc_host_element(t, at), n, buffer);
    return buffer;
}

float *hc_host_target(const struct hc_tensor *t, int64_t at, float *buffer)
{
    return t->format == HC_FP32 ? (float *)t->data + at : buffer;
}

void hc_host_flush(const struct hc_queue *queue, const struct hc_tensor *t, int64_t at, int64_t n,
                   const float *from)
{
    void *to = hc_host_element(t, at);
    if ((const void *)from != to)
        queue->loops->store(t->format, from, n, to);
}
