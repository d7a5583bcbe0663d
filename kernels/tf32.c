#include "kernels/tf32.h"

#include <assert.h>

#include "num/bits.h"

static size_t bytes_of(const struct hc_tensor *t)
{
    return (hc_tensor_bytes(t) + 63) / 64 * 64;
}

size_t hc_tf32_bytes(const struct hc_call *call)
{
    return hc_call_tf32(call) ? bytes_of(&call->in[HC_FIRST]) + bytes_of(&call->in[HC_FIRST + 1])
                              : 0;
}

struct hc_call hc_tf32_plain(const struct hc_call *call)
{
    struct hc_call plain = *call;
    if (hc_ops[call->op].class_ == HC_CLASS_GEMM)
        plain.params.gemm.tf32 = false;
    else
        plain.params.conv.tf32 = false;
    if (call->scratch)
        plain.scratch = (char *)call->scratch + hc_tf32_bytes(call);
    return plain;
}

enum hc_status hc_tf32_run(struct hc_queue *queue, const struct hc_call *call, hc_kernel *kernel)
{
    struct hc_call plain = hc_tf32_plain(call);
    char *buffer = call->scratch;
    for (int slot = 0; slot < 2; slot++) {
        const float *from = call->in[slot].data;
        float *to = (float *)(void *)buffer;
        int64_t n = hc_tensor_count(&call->in[slot]);
        assert(n == 0 || (from && to));
        for (int64_t i = 0; i < n; i++)
            to[i] = hc_tf32_round(from[i]);
        plain.in[slot].data = to;
        buffer += bytes_of(&call->in[slot]);
    }
    return kernel(queue, &plain);
}
