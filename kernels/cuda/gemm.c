/* gemm by cuBLAS. Row-major D [m, n] is what cuBLAS calls a column-major n by m matrix with leading
   dimension n, so it is asked for D' = op(B)' op(A)': the operands change places, a transposed one
   stays transposed, and a leading dimension is the length of a stored row.

   cuBLAS computes D = alpha * sum + beta * D in fp32 with one rounding into D, whose format is that
   of the inputs or fp32. So C is first put into D, in full. Where the output has another format, or C
   one that D would round, D is fp32 in scratch and is rounded into the output at the end. */
#include <limits.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/spread.h"

/* Whether cuBLAS can work in the output itself. */
static bool in_place(const struct hc_call *call)
{
    enum hc_format in = call->in[0].format;
    enum hc_format out = call->out[0].format;
    bool adds = call->params.gemm.beta != 0;
    return out == HC_FP32 || (out == in && (!adds || call->in[2].format == out));
}

size_t hc_cuda_gemm_scratch(const struct hc_call *call)
{
    size_t count = (size_t)hc_tensor_count(&call->out[0]);
    return in_place(call) ? 0 : count * sizeof(float);
}

static int blas_type(enum hc_format format)
{
    return format == HC_FP16 ? HC_BLAS_FP16 : format == HC_BF16 ? HC_BLAS_BF16 : HC_BLAS_FP32;
}

/* by * C, or zeros without one, to all of `to`. */
static enum hc_status put_c(struct hc_queue *queue, const struct hc_call *call, float by,
                            const struct hc_tensor *to)
{
    const struct hc_tensor *c = &call->in[2];
    int64_t n = hc_tensor_count(to);
    struct hc_dk_spread spread = {.from_format = c->format,
                                  .to_format = to->format,
                                  .from = call->params.gemm.beta != 0 ? c->data : NULL,
                                  .to = to->data,
                                  .n = n,
                                  .period = c->rank == 1 ? c->shape[0] : n,
                                  .by = by};
    return hc_cuda_spread(queue, &spread);
}

static enum hc_status multiply(struct hc_queue *queue, const struct hc_call *call,
                               const struct hc_tensor *d)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *a = &call->in[0];
    const struct hc_tensor *b = &call->in[1];
    const struct hc_libraries *l = queue->libraries;
    float alpha = (float)p->alpha;
    float beta = (float)p->beta;
    int type = blas_type(a->format);
    int compute = a->format == HC_FP32 ? HC_BLAS_COMPUTE_32F_PEDANTIC : HC_BLAS_COMPUTE_32F;
    int status = l->library->cublas_gemm_ex(
        l->blas, p->transpose_b ? HC_BLAS_T : HC_BLAS_N, p->transpose_a ? HC_BLAS_T : HC_BLAS_N,
        (int)d->shape[1], (int)d->shape[0], (int)a->shape[p->transpose_a ? 0 : 1], &alpha, b->data,
        type, (int)b->shape[1], a->data, type, (int)a->shape[1], &beta, d->data,
        blas_type(d->format), (int)d->shape[1], compute, HC_BLAS_ALGORITHM_DEFAULT);
    if (status == 0)
        return HC_OK;
    return hc_fail(HC_DEVICE, "cuda: cuBLAS: gemm: %s", l->library->cublas_text(status));
}

enum hc_status hc_cuda_gemm(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    struct hc_tensor d = call->out[0];
    int64_t k = call->in[0].shape[p->transpose_a ? 0 : 1];
    enum hc_status status = HC_OK;
    if (d.shape[0] > INT_MAX || d.shape[1] > INT_MAX || k > INT_MAX)
        return hc_fail(HC_UNSUPPORTED, "cuda: gemm: an extent is above %d", INT_MAX);
    if (hc_tensor_count(&d) == 0)
        return HC_OK;
    if (k == 0)
        return put_c(queue, call, (float)p->beta, &d);
    if (!in_place(call)) {
        d.format = HC_FP32;
        d.data = call->scratch;
    }
    if (p->beta != 0)
        status = put_c(queue, call, 1, &d);
    if (status == HC_OK)
        status = multiply(queue, call, &d);
    if (status != HC_OK || in_place(call))
        return status;
    struct hc_dk_spread round = {.from_format = HC_FP32,
                                 .to_format = call->out[0].format,
                                 .from = d.data,
                                 .to = call->out[0].data,
                                 .n = hc_tensor_count(&d),
                                 .period = hc_tensor_count(&d),
                                 .by = 1};
    return hc_cuda_spread(queue, &round);
}
