#include "kernels/host/host.h"

static unsigned char *element(const struct hc_tensor *t, int64_t at)
{
    return (unsigned char *)t->data + at * hc_formats[t->format].bytes;
}

const float *hc_host_view(const struct hc_queue *queue, const struct hc_tensor *t, int64_t at,
                          int64_t n, float *buffer)
{
    if (t->format == HC_FP32)
        return (const float *)t->data + at;
    queue->loops->load(t->format, element(t, at), n, buffer);
    return buffer;
}

float *hc_host_target(const struct hc_tensor *t, int64_t at, float *buffer)
{
    return t->format == HC_FP32 ? (float *)t->data + at : buffer;
}

void hc_host_flush(const struct hc_queue *queue, const struct hc_tensor *t, int64_t at, int64_t n,
                   const float *from)
{
    unsigned char *to = element(t, at);
    if ((const void *)from != to)
        queue->loops->store(t->format, from, n, to);
}
