/* stochastic_cast: block by block to fp32, and into formats of one byte in a loop that is
   vectorised. */
#include "kernels/element/quant.h"
#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "num/clones.h"

struct stochastic {
    const struct hc_call *call;
    struct hc_narrow8 narrow8;
};

HC_CLONES static void into_bytes(const struct hc_narrow8 *f, int bits, const float *x,
                                 const uint32_t *words, int64_t n, uint8_t *to)
{
    const struct hc_narrow8 by = *f;
    uint32_t mask = (UINT32_C(1) << bits) - 1;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        to[i] = hc_narrow8_random(&by, hc_fp32_bits(x[i]), bits, words[i] & mask);
}

static void block(const struct hc_queue *queue, const void *context, int64_t at, int64_t n)
{
    const struct stochastic *s = context;
    const uint32_t *words = s->call->in[HC_STOCHASTIC_WORDS].data;
    float buffer[HC_HOST_BLOCK];
    const float *x = hc_host_view(queue, &s->call->in[HC_STOCHASTIC_X], at, n, buffer);
    into_bytes(&s->narrow8, s->call->params.stochastic_cast.bits, x, words + at, n,
               hc_host_element(&s->call->out[HC_STOCHASTIC_OUT], at));
}

/* hc_narrow8_random takes 16 random bits at most. */
enum hc_status hc_host_stochastic_cast(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_format to = call->out[HC_STOCHASTIC_OUT].format;
    if (!hc_is_narrow8(&hc_formats[to]) || call->params.stochastic_cast.bits > 16)
        return hc_exact_run(queue, call);
    struct stochastic s = {call,
                           hc_narrow8_of(&hc_formats[to], call->params.stochastic_cast.saturate)};
    hc_host_each_block(queue, hc_tensor_count(&call->out[HC_STOCHASTIC_OUT]), block, &s);
    return HC_OK;
}
