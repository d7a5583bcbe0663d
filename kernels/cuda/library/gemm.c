/* gemm by cuBLAS.

   A row-major D [m, n] is what cuBLAS calls a column-major n by m matrix with leading dimension n.
   It is therefore asked for D' = op(B)' op(A)': the operands change places, a transposed one stays
   transposed, and a leading dimension is the length of a stored row.

   cuBLAS computes D = alpha * sum + beta * D in fp32 with one rounding into D, whose format is that
   of the inputs or fp32. C is first written to D in full. Where the output has another format, or D
   would round C, D is fp32 in scratch and is rounded into the output at the end. With fp16 sums all
   of it is fp16, alpha and beta too, and D is in scratch where the output is not fp16.

   cublasGemmEx takes no fp8, which cuBLASLt multiplies. */
#include <limits.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/library/handles.h"
#include "kernels/cuda/work.h"
#include "kernels/element/round.h"
#include "num/bits.h"

/* The format of D. */
static enum hc_format format_of_d(const struct hc_call *call)
{
    enum hc_format in = call->in[HC_GEMM_A].format;
    bool adds = call->params.gemm.beta != 0;
    bool rounds = call->out[HC_GEMM_OUT].format != in || (adds && call->in[HC_GEMM_C].format != in);
    return rounds && !call->params.gemm.half_accumulator ? HC_FP32 : in;
}

size_t hc_cuda_gemm_scratch(const struct hc_call *call)
{
    enum hc_format d = format_of_d(call);
    size_t count = (size_t)hc_tensor_count(&call->out[HC_GEMM_OUT]);
    return d == call->out[HC_GEMM_OUT].format ? 0 : count * (size_t)hc_formats[d].bytes;
}

/* alpha or beta, rounded as cuBLAS takes it. */
static float factor(const struct hc_gemm *p, double value)
{
    return hc_coefficient(p->half_accumulator ? HC_FP16 : HC_FP32, value);
}

/* to = by * C, or zeros without one. */
static enum hc_status write_c(struct hc_queue *queue, const struct hc_call *call, float by,
                              const struct hc_tensor *to)
{
    struct hc_tensor c = call->in[HC_GEMM_C];
    if (call->params.gemm.beta == 0)
        c.data = NULL;
    return hc_cuda_broadcast(queue, &c, by, true, to);
}

/* The sums that cuBLAS is asked for. cublasGemmEx does not tell which algorithm makes them. */
enum kind { STRICT, TF32, FP16, BF16, HALF, KINDS };

static const struct {
    const char *name;
    const char *fact;
    int compute;
} kinds[KINDS] = {
    [STRICT] = {"gemm fp32", "cuBLAS, COMPUTE_32F_PEDANTIC", HC_BLAS_COMPUTE_32F_PEDANTIC},
    [TF32] = {"gemm tf32", "cuBLAS, COMPUTE_32F_FAST_TF32", HC_BLAS_COMPUTE_32F_FAST_TF32},
    [FP16] = {"gemm fp16", "cuBLAS, COMPUTE_32F, no reduced precision", HC_BLAS_COMPUTE_32F},
    [BF16] = {"gemm bf16", "cuBLAS, COMPUTE_32F, no reduced precision", HC_BLAS_COMPUTE_32F},
    [HALF] = {"gemm fp16 with fp16 sums", "cuBLAS, COMPUTE_16F", HC_BLAS_COMPUTE_16F},
};

static enum kind kind_of(const struct hc_call *call)
{
    enum hc_format in = call->in[HC_GEMM_A].format;
    if (call->params.gemm.half_accumulator)
        return HALF;
    return in == HC_FP16 ? FP16 : in == HC_BF16 ? BF16 : hc_call_tf32(call) ? TF32 : STRICT;
}

void hc_gemms_describe(const struct hc_libraries *libraries, hc_tell *tell, void *context)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (libraries->gemms & 1u << kind)
            tell(kinds[kind].name, kinds[kind].fact, context);
}

static enum hc_status multiply(struct hc_queue *queue, const struct hc_call *call,
                               const struct hc_tensor *d)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_B];
    struct hc_libraries *l = queue->libraries;
    enum kind kind = kind_of(call);
    const float single[2] = {factor(p, p->alpha), factor(p, p->beta)};
    const uint16_t half[2] = {hc_fp16_bits(single[0]), hc_fp16_bits(single[1])};
    const void *alpha = p->half_accumulator ? (const void *)&half[0] : &single[0];
    const void *beta = p->half_accumulator ? (const void *)&half[1] : &single[1];
    int type = hc_blas_type(a->format);
    enum hc_status settled = hc_cuda_settle(queue);
    if (settled != HC_OK)
        return settled;
    hc_cuda_count_call(queue, call);
    int status = l->library->cublas_gemm_ex(
        l->blas, p->transpose_b ? HC_BLAS_T : HC_BLAS_N, p->transpose_a ? HC_BLAS_T : HC_BLAS_N,
        (int)d->shape[1], (int)d->shape[0], (int)a->shape[p->transpose_a ? 0 : 1], alpha, b->data,
        type, (int)b->shape[1], a->data, type, (int)a->shape[1], beta, d->data,
        hc_blas_type(d->format), (int)d->shape[1], kinds[kind].compute, HC_BLAS_ALGORITHM_DEFAULT);
    l->gemms |= 1u << kind;
    if (status == 0)
        return HC_OK;
    return hc_fail(HC_DEVICE, "cuda: cuBLAS: gemm: %s", l->library->cublas_text(status));
}

enum hc_status hc_cuda_gemm(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    struct hc_tensor d = call->out[HC_GEMM_OUT];
    int64_t k = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1];
    enum hc_status status = HC_OK;
    if (hc_is_fp8(call->in[HC_GEMM_A].format))
        return hc_fail(HC_UNSUPPORTED, "cuda: gemm: cublasGemmEx takes no fp8");
    if (d.shape[0] > INT_MAX || d.shape[1] > INT_MAX || k > INT_MAX)
        return hc_fail(HC_UNSUPPORTED, "cuda: gemm: an extent is above %d", INT_MAX);
    if (hc_tensor_count(&d) == 0)
        return HC_OK;
    if (k == 0)
        return write_c(queue, call, factor(p, p->beta), &d);
    d.format = format_of_d(call);
    if (d.format != call->out[HC_GEMM_OUT].format)
        d.data = call->scratch;
    if (p->beta != 0)
        status = write_c(queue, call, 1, &d);
    if (status == HC_OK)
        status = multiply(queue, call, &d);
    if (status != HC_OK || d.data == call->out[HC_GEMM_OUT].data)
        return status;
    return hc_cuda_broadcast(queue, &d, 1, false, &call->out[HC_GEMM_OUT]);
}
