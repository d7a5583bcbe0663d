/* gemm: blocks of HC_ONEDNN_GEMM_ROWS rows of the output, each by one thread; then alpha, beta C
   and the rounding. */
#include <omp.h>

#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "kernels/host/onednn/onednn.h"

static int64_t rounded(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* Floats of a tensor's fp32 copy. */
static int64_t copy_floats(const struct hc_tensor *t)
{
    return t->format == HC_FP32 ? 0 : rounded(hc_tensor_count(t));
}

size_t hc_onednn_gemm_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    int64_t floats = copy_floats(&call->in[HC_GEMM_A]) + copy_floats(&call->in[HC_GEMM_B]) +
                     rounded(hc_tensor_count(&call->out[HC_GEMM_OUT]));
    return (size_t)floats * sizeof(float);
}

/* Row i of the output from its sums of k terms. */
static void finish_row(const struct hc_call *call, int64_t i, int64_t k, const float *sum)
{
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    float alpha = hc_parameter(call->params.gemm.alpha);
    float beta = hc_parameter(call->params.gemm.beta);
    int64_t n = out->shape[1];
    for (int64_t j = 0; j < n; j++) {
        float value = k > 0 ? alpha * sum[j] : 0;
        if (beta != 0)
            value += beta * hc_load(c->format, c->data, c->rank == 1 ? j : i * n + j);
        hc_store(out->format, out->data, i * n + j, value);
    }
}

enum hc_status hc_onednn_gemm(struct hc_queue *queue, const struct hc_call *call)
{
    if (call->params.gemm.half_accumulator)
        return hc_exact_gemm_half(call);
    const struct hc_gemm *p = &call->params.gemm;
    int64_t m = call->out[HC_GEMM_OUT].shape[0];
    int64_t n = call->out[HC_GEMM_OUT].shape[1];
    int64_t k = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1];
    float *buffer = call->scratch;
    const float *a = hc_host_view(queue, &call->in[HC_GEMM_A], 0, m * k, buffer);
    buffer += copy_floats(&call->in[HC_GEMM_A]);
    const float *b = hc_host_view(queue, &call->in[HC_GEMM_B], 0, k * n, buffer);
    float *sums = buffer + copy_floats(&call->in[HC_GEMM_B]);
    enum hc_status status = hc_onednn_check_memory();
    if (status != HC_OK || m == 0 || n == 0)
        return status;
    int threads = hc_onednn_single_thread();
#pragma omp parallel for num_threads(m > HC_ONEDNN_GEMM_ROWS ? hc_host_team(queue, m * n * k) : 1) \
    schedule(static)
    for (int64_t i = 0; i < m; i += HC_ONEDNN_GEMM_ROWS) {
        int64_t rows = m - i < HC_ONEDNN_GEMM_ROWS ? m - i : HC_ONEDNN_GEMM_ROWS;
        struct hc_sgemm g = {.transpose_a = p->transpose_a,
                             .transpose_b = p->transpose_b,
                             .m = rows,
                             .n = n,
                             .k = k,
                             .a = p->transpose_a ? a + i : a + i * k,
                             .lda = p->transpose_a ? m : k,
                             .b = b,
                             .ldb = p->transpose_b ? k : n,
                             .c = sums + i * n,
                             .ldc = n};
        hc_onednn_sgemm(queue->onednn, &g);
        for (int64_t r = i; r < i + rows; r++)
            finish_row(call, r, k, sums + r * n);
    }
    hc_onednn_restore_threads(threads);
    return hc_onednn_error(queue->onednn);
}
