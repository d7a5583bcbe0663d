#include "kernels/factors.h"

#include <assert.h>

#include "num/bits.h"

enum { FACTORS = 2, FP8_CODES = 256 }; /* inputs of gemm and of the convolutions */

bool hc_factors_convert(const struct hc_call *call)
{
    return hc_call_tf32(call) || (call->op == HC_OP_gemm && hc_is_fp8(call->in[HC_FIRST].format));
}

/* Of the factor as fp32. */
static size_t bytes_of(const struct hc_tensor *t)
{
    return ((size_t)hc_tensor_count(t) * sizeof(float) + 63) / 64 * 64;
}

static void decode(const struct hc_tensor *t, float *to)
{
    const uint8_t *from = t->data;
    float value[FP8_CODES];
    for (unsigned code = 0; code < FP8_CODES; code++)
        value[code] = (float)hc_decode(t->format, code);
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        to[i] = value[from[i]];
}

static void round_to_tf32(const struct hc_tensor *t, float *to)
{
    const float *from = t->data;
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        to[i] = hc_tf32_round(from[i]);
}

static struct hc_call plain_call(const struct hc_call *call)
{
    struct hc_call plain = *call;
    if (call->op == HC_OP_gemm)
        plain.params.gemm.tf32 = false;
    else
        plain.params.conv.tf32 = false;
    for (int slot = 0; slot < FACTORS; slot++)
        plain.in[slot].format = HC_FP32;
    return plain;
}

enum hc_status hc_factors_run(struct hc_queue *queue, const struct hc_call *call, hc_kernel *kernel)
{
    struct hc_call plain = plain_call(call);
    char *buffer = call->scratch;
    for (int slot = 0; slot < FACTORS; slot++) {
        const struct hc_tensor *t = &call->in[slot];
        float *to = (float *)(void *)buffer;
        assert(hc_tensor_count(t) == 0 || (t->data && to));
        (hc_is_fp8(t->format) ? decode : round_to_tf32)(t, to);
        plain.in[slot].data = to;
        buffer += bytes_of(t);
    }
    plain.scratch = buffer;
    return kernel(queue, &plain);
}

size_t hc_factors_scratch(struct hc_queue *queue, const struct hc_call *call,
                          size_t (*scratch)(struct hc_queue *queue, const struct hc_call *call))
{
    struct hc_call plain = plain_call(call);
    size_t bytes = scratch(queue, &plain);
    for (int slot = 0; slot < FACTORS; slot++)
        bytes += bytes_of(&call->in[slot]);
    return bytes;
}
