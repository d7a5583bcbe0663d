/* cuBLAS: column-major, as its documentation of cublasGemmEx and cublasSetWorkspace has it. */
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/cuda/emulate/library.h"
#include "kernels/load.h"

struct blas {
    void *workspace; /* set by the caller since the last stream */
    size_t bytes;
    int math;
};

int hc_blas_create(void **handle)
{
    *handle = calloc(1, sizeof(struct blas));
    return *handle ? 0 : HC_BLAS_ALLOC_FAILED;
}

int hc_blas_destroy(void *handle)
{
    free(handle);
    return 0;
}

/* "unconditionally resets the cuBLAS library workspace back to the default workspace pool" */
int hc_blas_set_stream(void *handle, void *stream)
{
    struct blas *b = handle;
    (void)stream;
    b->workspace = NULL;
    b->bytes = 0;
    return 0;
}

int hc_blas_set_workspace(void *handle, void *workspace, size_t bytes)
{
    struct blas *b = handle;
    if (!workspace || (uintptr_t)workspace % 256 != 0)
        return HC_BLAS_INVALID_VALUE;
    b->workspace = workspace;
    b->bytes = bytes;
    return 0;
}

int hc_blas_set_math_mode(void *handle, int mode)
{
    struct blas *b = handle;
    b->math = mode;
    return 0;
}

/* A column-major matrix. */
struct matrix {
    enum hc_format format;
    const void *data;
    bool transposed;
    int rows; /* as stored */
    int leading;
};

static enum hc_format format_of(int type)
{
    return type == HC_BLAS_FP32   ? HC_FP32
           : type == HC_BLAS_FP16 ? HC_FP16
           : type == HC_BLAS_BF16 ? HC_BF16
                                  : HC_FORMAT_COUNT;
}

static float element(const struct matrix *m, int64_t i, int64_t j)
{
    int64_t at = m->transposed ? j + i * m->leading : i + j * m->leading;
    return hc_load(m->format, m->data, at);
}

/* The rows of the documentation's table for CUBLAS_COMPUTE_32F with a scale type of fp32. */
static bool supported(enum hc_format a, enum hc_format b, enum hc_format c)
{
    return a == b && a != HC_FORMAT_COUNT && (c == a || c == HC_FP32);
}

static bool leading_is_enough(const struct matrix *m)
{
    return m->leading >= (m->rows > 1 ? m->rows : 1);
}

/* fp32 keeps its bits under PEDANTIC alone, a 16-bit sum under the math mode. */
static struct hc_sum_rule rule_of(const struct blas *b, enum hc_format inputs, int compute)
{
    struct hc_sum_rule rule = {HC_FP32, HC_FP32};
    if (inputs == HC_FP32 && compute != HC_BLAS_COMPUTE_32F_PEDANTIC)
        rule.operand = HC_TF32;
    if (inputs != HC_FP32 && !(b->math & HC_BLAS_NO_REDUCED_PRECISION_REDUCTION))
        rule.partial = inputs;
    return rule;
}

int hc_blas_gemm_ex(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
                    const void *alpha, const void *a, int a_type, int lda, const void *b,
                    int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                    int compute, int algorithm)
{
    const struct blas *h = handle;
    struct matrix ma = {format_of(a_type), a, transpose_a == HC_BLAS_T,
                        transpose_a == HC_BLAS_T ? k : m, lda};
    struct matrix mb = {format_of(b_type), b, transpose_b == HC_BLAS_T,
                        transpose_b == HC_BLAS_T ? n : k, ldb};
    struct matrix mc = {format_of(c_type), c, false, m, ldc};
    float by = *(const float *)alpha;
    float plus = *(const float *)beta;
    if (!h->workspace || h->bytes < (size_t)4 << 20)
        return HC_BLAS_NOT_INITIALIZED; /* not the library's answer: results would not repeat */
    if (m < 0 || n < 0 || k < 0 || !leading_is_enough(&ma) || !leading_is_enough(&mb) ||
        !leading_is_enough(&mc) || !a || !b || !c)
        return HC_BLAS_INVALID_VALUE;
    if (!supported(ma.format, mb.format, mc.format) || algorithm != HC_BLAS_ALGORITHM_DEFAULT ||
        (compute != HC_BLAS_COMPUTE_32F && compute != HC_BLAS_COMPUTE_32F_PEDANTIC))
        return HC_BLAS_NOT_SUPPORTED;
    struct hc_sum_rule rule = rule_of(h, ma.format, compute);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            float sum = 0;
            for (int64_t t = 0; t < k; t++)
                sum = hc_sum_step(&rule, sum, element(&ma, i, t), element(&mb, t, j));
            sum *= by;
            if (plus != 0)
                sum += plus * element(&mc, i, j);
            hc_store(mc.format, c, i + j * ldc, sum);
        }
    return 0;
}

const char *hc_blas_text(int status)
{
    return status == HC_BLAS_INVALID_VALUE     ? "an unsupported value or parameter"
           : status == HC_BLAS_NOT_SUPPORTED   ? "not supported"
           : status == HC_BLAS_NOT_INITIALIZED ? "no workspace of the caller's"
                                               : "failed";
}
