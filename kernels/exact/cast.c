/* Conversions between any two formats in the four directions. The last line of hc_exact_cast is
   their definition; what comes before it is faster. */
#include "kernels/exact/exact.h"
#include "kernels/element/load.h"
#include "kernels/element/quant.h"
#include "num/directed.h"
#include "num/narrow8.h"

/* Among fp32, bf16 and fp16, to nearest. It goes through fp32, which holds every value of the
   others. */
static void cast_h(const struct hc_tensor *from, const struct hc_tensor *to)
{
    int64_t n = hc_tensor_count(to);
    for (int64_t i = 0; i < n; i++)
        hc_store(to->format, to->data, i, hc_load(from->format, from->data, i));
}

/* From fp32 into 16 bits. */
static void cast_directed(const float *from, const struct hc_tensor *to,
                          enum hc_direction direction)
{
    int64_t n = hc_tensor_count(to);
    uint16_t *bits = to->data;
    for (int64_t i = 0; i < n && to->format == HC_FP16; i++)
        bits[i] = hc_fp16_directed(from[i], direction);
    for (int64_t i = 0; i < n && to->format == HC_BF16; i++)
        bits[i] = hc_bf16_directed(from[i], direction);
}

/* From i32 into 16 bits, through fp64, which holds every integer. */
static void cast_integers(const int32_t *from, const struct hc_tensor *to,
                          enum hc_direction direction)
{
    int64_t n = hc_tensor_count(to);
    uint16_t *bits = to->data;
    for (int64_t i = 0; i < n && to->format == HC_FP16; i++)
        bits[i] = hc_fp16_from_fp64((double)from[i], direction);
    for (int64_t i = 0; i < n && to->format == HC_BF16; i++)
        bits[i] = hc_bf16_from_fp64((double)from[i], direction);
}

/* From fp32, bf16 or fp16 into a format of one byte, to nearest. */
static void cast_narrow(const struct hc_tensor *from, const struct hc_tensor *to, bool saturate)
{
    const struct hc_narrow8 by = hc_narrow8_of(&hc_formats[to->format], saturate);
    int64_t n = hc_tensor_count(to);
    uint8_t *codes = to->data;
    for (int64_t i = 0; i < n; i++)
        codes[i] = hc_narrow8(&by, hc_fp32_bits(hc_load(from->format, from->data, i)));
}

enum hc_status hc_exact_cast(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *from = &call->in[HC_X];
    const struct hc_tensor *to = &call->out[HC_OUT];
    enum hc_direction direction = call->params.cast.direction;
    bool saturate = call->params.cast.saturate;
    if (!saturate && direction == HC_NEAREST && hc_is_h(from->format) && hc_is_h(to->format)) {
        cast_h(from, to);
        return HC_OK;
    }
    if (!saturate && from->format == HC_FP32 && (to->format == HC_FP16 || to->format == HC_BF16)) {
        cast_directed(from->data, to, direction);
        return HC_OK;
    }
    if (!saturate && from->format == HC_I32 && (to->format == HC_FP16 || to->format == HC_BF16)) {
        cast_integers(from->data, to, direction);
        return HC_OK;
    }
    if (direction == HC_NEAREST && hc_is_h(from->format) &&
        hc_is_narrow8(&hc_formats[to->format])) {
        cast_narrow(from, to, saturate);
        return HC_OK;
    }
    int64_t n = hc_tensor_count(to);
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set_bits(to, i,
                           (saturate ? hc_encode_saturated : hc_encode)(
                               to->format, hc_tensor_get(from, i), 0, direction));
    return HC_OK;
}

enum hc_status hc_exact_master_to_model(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    cast_h(&call->in[HC_MODEL_MASTER], &call->out[HC_MODEL_COPY]);
    return HC_OK;
}

enum hc_status hc_exact_stochastic_cast(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_stochastic_cast *p = &call->params.stochastic_cast;
    const struct hc_tensor *x = &call->in[HC_STOCHASTIC_X];
    const struct hc_tensor *out = &call->out[HC_STOCHASTIC_OUT];
    const uint32_t *words = call->in[HC_STOCHASTIC_WORDS].data;
    int64_t n = hc_tensor_count(out);
    for (int64_t i = 0; i < n; i++) {
        uint32_t random = words[i] & ((UINT32_C(1) << p->bits) - 1);
        hc_tensor_set_bits(out, i,
                           hc_quant_stochastic(&hc_formats[out->format],
                                               hc_load(x->format, x->data, i), p->bits, random,
                                               p->saturate));
    }
    return HC_OK;
}
