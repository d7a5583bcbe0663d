#include "kernels/tf32.h"

#include <assert.h>

#include "num/bits.h"

enum { FACTORS = 2 }; /* inputs of gemm and of the convolutions that are rounded */

static size_t bytes_of(const struct hc_tensor *t)
{
    return (hc_tensor_bytes(t) + 63) / 64 * 64;
}

static struct hc_call plain_call(const struct hc_call *call)
{
    struct hc_call plain = *call;
    if (hc_ops[call->op].class_ == HC_CLASS_GEMM)
        plain.params.gemm.tf32 = false;
    else
        plain.params.conv.tf32 = false;
    return plain;
}

enum hc_status hc_tf32_run(struct hc_queue *queue, const struct hc_call *call, hc_kernel *kernel)
{
    struct hc_call plain = plain_call(call);
    char *buffer = call->scratch;
    for (int slot = 0; slot < FACTORS; slot++) {
        const float *from = call->in[slot].data;
        float *to = (float *)(void *)buffer;
        int64_t n = hc_tensor_count(&call->in[slot]);
        assert(n == 0 || (from && to));
        for (int64_t i = 0; i < n; i++)
            to[i] = hc_tf32_round(from[i]);
        plain.in[slot].data = to;
        buffer += bytes_of(&call->in[slot]);
    }
    plain.scratch = buffer;
    return kernel(queue, &plain);
}

size_t hc_tf32_scratch(struct hc_queue *queue, const struct hc_call *call,
                       size_t (*scratch)(struct hc_queue *queue, const struct hc_call *call))
{
    struct hc_call plain = plain_call(call);
    size_t bytes = scratch(queue, &plain);
    for (int slot = 0; slot < FACTORS; slot++)
        bytes += bytes_of(&call->in[slot]);
    return bytes;
}
