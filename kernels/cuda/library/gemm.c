/* gemm by cuBLAS. Row-major D [m, n] is what cuBLAS calls a column-major n by m matrix with leading
   dimension n, so it is asked for D' = op(B)' op(A)': the operands change places, a transposed one
   stays transposed, and a leading dimension is the length of a stored row.

   cuBLAS computes D = alpha * sum + beta * D in fp32 with one rounding into D, whose format is that
   of the inputs or fp32. So C is first put into D, in full. Where the output has another format, or C
   one that D would round, D is fp32 in scratch and is rounded into the output at the end. With sums in
   fp16 all of it is fp16, alpha and beta too: then D is in scratch where the output is not fp16. */
#include <limits.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/library/handles.h"
#include "kernels/cuda/kernel/broadcast.h"
#include "kernels/element/round.h"
#include "num/bits.h"

/* What D is held in. */
static enum hc_format format_of_d(const struct hc_call *call)
{
    enum hc_format in = call->in[0].format;
    bool adds = call->params.gemm.beta != 0;
    bool rounds = call->out[0].format != in || (adds && call->in[2].format != in);
    return rounds && !call->params.gemm.half_accumulator ? HC_FP32 : in;
}

size_t hc_cuda_gemm_scratch(const struct hc_call *call)
{
    enum hc_format d = format_of_d(call);
    size_t count = (size_t)hc_tensor_count(&call->out[0]);
    return d == call->out[0].format ? 0 : count * (size_t)hc_formats[d].bytes;
}

static int blas_type(enum hc_format format)
{
    return format == HC_FP16 ? HC_BLAS_FP16 : format == HC_BF16 ? HC_BLAS_BF16 : HC_BLAS_FP32;
}

/* alpha or beta as it is taken. */
static float factor(const struct hc_gemm *p, double value)
{
    return hc_coefficient(p->half_accumulator ? HC_FP16 : HC_FP32, value);
}

/* by * C, or zeros without one, to all of `to`. */
static enum hc_status put_c(struct hc_queue *queue, const struct hc_call *call, float by,
                            const struct hc_tensor *to)
{
    const struct hc_tensor *c = &call->in[2];
    int64_t n = hc_tensor_count(to);
    struct hc_dk_broadcast spread = {.from_format = c->format,
                                     .to_format = to->format,
                                     .from = call->params.gemm.beta != 0 ? c->data : NULL,
                                     .to = to->data,
                                     .n = n,
                                     .period = c->rank == 1 ? c->shape[0] : n,
                                     .by = by,
                                     .no_minus = 1};
    return hc_cuda_broadcast(queue, &spread);
}

static int compute_of(const struct hc_call *call)
{
    if (call->params.gemm.half_accumulator)
        return HC_BLAS_COMPUTE_16F;
    if (hc_call_tf32(call))
        return HC_BLAS_COMPUTE_32F_FAST_TF32;
    return call->in[0].format == HC_FP32 ? HC_BLAS_COMPUTE_32F_PEDANTIC : HC_BLAS_COMPUTE_32F;
}

static enum hc_status multiply(struct hc_queue *queue, const struct hc_call *call,
                               const struct hc_tensor *d)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *a = &call->in[0];
    const struct hc_tensor *b = &call->in[1];
    const struct hc_libraries *l = queue->libraries;
    const float single[2] = {factor(p, p->alpha), factor(p, p->beta)};
    const uint16_t half[2] = {hc_fp16_bits(single[0]), hc_fp16_bits(single[1])};
    const void *alpha = p->half_accumulator ? (const void *)&half[0] : &single[0];
    const void *beta = p->half_accumulator ? (const void *)&half[1] : &single[1];
    int type = blas_type(a->format);
    int status = l->library->cublas_gemm_ex(
        l->blas, p->transpose_b ? HC_BLAS_T : HC_BLAS_N, p->transpose_a ? HC_BLAS_T : HC_BLAS_N,
        (int)d->shape[1], (int)d->shape[0], (int)a->shape[p->transpose_a ? 0 : 1], alpha, b->data,
        type, (int)b->shape[1], a->data, type, (int)a->shape[1], beta, d->data,
        blas_type(d->format), (int)d->shape[1], compute_of(call), HC_BLAS_ALGORITHM_DEFAULT);
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
        return put_c(queue, call, factor(p, p->beta), &d);
    d.format = format_of_d(call);
    if (d.format != call->out[0].format)
        d.data = call->scratch;
    if (p->beta != 0)
        status = put_c(queue, call, 1, &d);
    if (status == HC_OK)
        status = multiply(queue, call, &d);
    if (status != HC_OK || d.data == call->out[0].data)
        return status;
    struct hc_dk_broadcast round = {.from_format = d.format,
                                    .to_format = call->out[0].format,
                                    .from = d.data,
                                    .to = call->out[0].data,
                                    .n = hc_tensor_count(&d),
                                    .period = hc_tensor_count(&d),
                                    .by = 1};
    return hc_cuda_broadcast(queue, &round);
}
