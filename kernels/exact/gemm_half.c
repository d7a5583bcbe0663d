/* gemm with sums in fp16. Terms are added in the order of k, each product and each sum rounded to
   nearest. An fp32 result that is rounded once more is the correctly rounded one
   (kernels/element/arithmetic.h). */
#include "kernels/element/load.h"
#include "kernels/element/round.h"
#include "kernels/exact/exact.h"

static float element(const struct hc_tensor *t, bool transposed, int64_t row, int64_t column)
{
    int64_t at = transposed ? column * t->shape[1] + row : row * t->shape[1] + column;
    return hc_fp16_value(((const uint16_t *)t->data)[at]);
}

enum hc_status hc_exact_gemm_half(const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    int64_t n = out->shape[1];
    int64_t length = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1];
    float alpha = hc_coefficient(HC_FP16, p->alpha);
    float beta = hc_coefficient(HC_FP16, p->beta);
    for (int64_t i = 0; i < hc_tensor_count(out); i++) {
        float sum = 0;
        for (int64_t k = 0; k < length; k++) {
            float a = element(&call->in[HC_GEMM_A], p->transpose_a, i / n, k);
            float b = element(&call->in[HC_GEMM_B], p->transpose_b, k, i % n);
            sum = hc_fp16_round(sum + hc_fp16_round(a * b));
        }
        if (length > 0)
            sum = hc_fp16_round(alpha * sum);
        if (p->beta != 0) {
            float addend = hc_load(c->format, c->data, c->rank == 1 ? i % n : i);
            sum = hc_fp16_round(sum + hc_fp16_round(beta * hc_fp16_round(addend)));
        }
        hc_store(out->format, out->data, i, sum);
    }
    return HC_OK;
}
