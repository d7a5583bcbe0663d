/* gemm: terms in the order of k; then round(round(alpha * sum) + round(beta * C)) in fp32. */
#include "kernels/exact/double.h"
#include "kernels/exact/exact.h"
#include "kernels/exact/gemm_half.h"
#include "kernels/exact/tile.h"
#include "kernels/element/load.h"
#include "kernels/tf32.h"

enum hc_status hc_exact_gemm(struct hc_queue *queue, const struct hc_call *call)
{
    if (hc_is_double(call))
        return hc_double_gemm(call);
    if (hc_call_tf32(call))
        return hc_tf32_run(queue, call, hc_exact_gemm);
    if (call->params.gemm.half_accumulator)
        return hc_exact_gemm_half(call);
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *c = &call->in[2];
    const struct hc_tensor *out = &call->out[0];
    int64_t m = out->shape[0];
    int64_t n = out->shape[1];
    int64_t k = call->in[0].shape[p->transpose_a ? 0 : 1];
    float alpha = (float)p->alpha;
    float beta = (float)p->beta;
    bool adds = p->beta != 0;
    float *packed = call->scratch;
    struct hc_tile_matrix b = {&call->in[1],           0, k,
                               p->transpose_b ? 1 : n, n, p->transpose_b ? k : 1};
    const float *a = hc_tile_floats(&call->in[0], hc_tile_pack(&b, packed));
    for (int64_t j0 = 0; j0 < n; j0 += HC_TILE)
        for (int64_t i = 0; i < m; i++) {
            float sum[HC_TILE] = {0};
            hc_tile_add(p->transpose_a ? a + i : a + i * k, p->transpose_a ? m : 1, k,
                        packed + j0 * k, sum);
            for (int64_t j = 0; j < HC_TILE && j0 + j < n; j++) {
                int64_t at = c->rank == 1 ? j0 + j : i * n + j0 + j;
                sum[j] = k > 0 ? alpha * sum[j] : 0;
                if (adds)
                    sum[j] += beta * hc_load(c->format, c->data, at);
            }
            hc_tile_store(out, i * n + j0, 1, j0, n, sum);
        }
    return HC_OK;
}
