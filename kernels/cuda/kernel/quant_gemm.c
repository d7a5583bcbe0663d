/* gemm_q: a thread for each element of the result, its terms in their order. It is the plain
   statement in the arithmetic of the device's ordinary units, not its fast product. */
#include "kernels/cuda/kernel/arguments.h"

#include "kernels/cuda/kernel/elements.h"

HC_ON_DEVICE float hc_dk_sum_of_pieces(const struct hc_dk_gemm_q *g, int64_t m, int64_t n)
{
    const struct hc_call *c = &g->call;
    int64_t k = c->in[HC_GEMM_Q_A].shape[1];
    const uint8_t *a = (const uint8_t *)c->in[HC_GEMM_Q_A].data + m * k;
    const uint8_t *b = (const uint8_t *)c->in[HC_GEMM_Q_B].data + n * k;
    float acc = 0;
    int64_t end;
    for (int64_t from = 0; from < k; from = end) {
        float piece = 0;
        end = hc_gemm_q_piece_end(&c->params.gemm_q, from, k);
        for (int64_t i = from; i < end; i++)
            piece += hc_code_value(&g->a, a[i]) * hc_code_value(&g->b, b[i]);
        acc = hc_add_piece(acc, piece, hc_block_scale(&g->a_scales, m, from),
                           hc_block_scale(&g->b_scales, n, from), from == 0 && end == k);
    }
    return acc;
}

HC_ON_DEVICE void hc_dk_gemm_q_body(const struct hc_dk_gemm_q *g)
{
    const struct hc_call *c = &g->call;
    const struct hc_tensor *addend = &c->in[HC_GEMM_Q_C];
    const struct hc_tensor *out = &c->out[HC_GEMM_Q_OUT];
    int64_t n = c->in[HC_GEMM_Q_B].shape[0];
    struct hc_gemm_q_end end = hc_gemm_q_end_of((const float *)c->in[HC_GEMM_Q_A_TENSOR].data,
                                                (const float *)c->in[HC_GEMM_Q_B_TENSOR].data);
    for (int64_t i = hc_dk_first(); i < hc_dk_count(out); i += hc_dk_stride()) {
        float value = hc_gemm_q_scaled(&end, hc_dk_sum_of_pieces(g, i / n, i % n),
                                       c->in[HC_GEMM_Q_A].shape[1]);
        if (addend->data)
            value += hc_dk_load(addend, i);
        hc_dk_store(out, i, value);
    }
}
HC_LAUNCHABLE(gemm_q, struct hc_dk_gemm_q)
