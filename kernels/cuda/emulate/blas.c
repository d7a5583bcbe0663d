/* The stand-in for cuBLAS, by the documentation of cublasGemmEx and cublasSetWorkspace: matrices
   are column-major. */
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/cuda/emulate/library.h"
#include "kernels/cuda/emulate/stream.h"
#include "kernels/cuda/emulate/sum.h"
#include "kernels/element/load.h"

struct blas {
    struct hc_emulated_stream *stream;
    void *workspace; /* which the caller has set since the last stream; NULL: none */
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
    b->stream = stream;
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

/* The rows of the documentation's table for these compute types, without those of integers and
   complex numbers. The scale type is fp32, and fp16 for COMPUTE_16F. */
static bool supported(int compute, enum hc_format a, enum hc_format b, enum hc_format c)
{
    switch (compute) {
    case HC_BLAS_COMPUTE_16F:
        return a == HC_FP16 && b == a && c == a;
    case HC_BLAS_COMPUTE_32F_FAST_TF32:
        return a == HC_FP32 && b == a && c == a;
    case HC_BLAS_COMPUTE_32F:
    case HC_BLAS_COMPUTE_32F_PEDANTIC:
        return a == b && a != HC_FORMAT_COUNT && (c == a || c == HC_FP32);
    default:
        return false;
    }
}

static float scale(int compute, const void *value)
{
    return hc_load(compute == HC_BLAS_COMPUTE_16F ? HC_FP16 : HC_FP32, value, 0);
}

static bool leading_is_enough(const struct matrix *m)
{
    return m->leading >= (m->rows > 1 ? m->rows : 1);
}

/* fp32 factors keep their bits only under PEDANTIC, 16-bit sums theirs only under the math mode. */
static struct hc_sum_rule rule_of(const struct blas *b, enum hc_format inputs, int compute)
{
    if (compute == HC_BLAS_COMPUTE_16F ||
        (inputs != HC_FP32 && !(b->math & HC_BLAS_NO_REDUCED_PRECISION_REDUCTION)))
        return (struct hc_sum_rule){NULL, inputs};
    if (compute == HC_BLAS_COMPUTE_32F_PEDANTIC)
        return (struct hc_sum_rule){NULL, HC_FP32};
    return hc_sum_on_unit(inputs);
}

struct gemm {
    struct matrix a, b, c;
    int m, n, k;
    float by, plus;
    struct hc_sum_rule rule;
    void *to;
};

static void touch(struct hc_emulated_stream *stream, const struct matrix *m, int columns,
                  bool writes)
{
    size_t bytes = (size_t)hc_formats[m->format].bytes;
    for (int64_t j = 0; j < columns; j++)
        hc_emulated_stream_touches(stream, (const char *)m->data + (size_t)(j * m->leading) * bytes,
                                   (size_t)m->rows * bytes, writes);
}

static void run_product(struct hc_emulated_stream *stream, const void *args)
{
    const struct gemm *g = args;
    touch(stream, &g->a, g->a.transposed ? g->m : g->k, false);
    touch(stream, &g->b, g->b.transposed ? g->k : g->n, false);
    if (g->plus != 0)
        touch(stream, &g->c, g->n, false);
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < g->m; i++) {
            struct hc_sum sum;
            hc_sum_begin(&sum, &g->rule);
            for (int64_t t = 0; t < g->k; t++)
                hc_sum_add(&sum, element(&g->a, i, t), element(&g->b, t, j));
            float value = hc_sum_rounded(g->rule.partial, hc_sum_end(&sum) * g->by);
            if (g->plus != 0)
                value += hc_sum_rounded(g->rule.partial, g->plus * element(&g->c, i, j));
            hc_store(g->c.format, g->to, i + j * g->c.leading, value);
        }
    touch(stream, &g->c, g->n, true);
}

int hc_blas_gemm_ex(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
                    const void *alpha, const void *a, int a_type, int lda, const void *b,
                    int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                    int compute, int algorithm)
{
    const struct blas *h = handle;
    struct gemm g = {.a = {format_of(a_type), a, transpose_a == HC_BLAS_T,
                           transpose_a == HC_BLAS_T ? k : m, lda},
                     .b = {format_of(b_type), b, transpose_b == HC_BLAS_T,
                           transpose_b == HC_BLAS_T ? n : k, ldb},
                     .c = {format_of(c_type), c, false, m, ldc},
                     .m = m,
                     .n = n,
                     .k = k,
                     .by = scale(compute, alpha),
                     .plus = scale(compute, beta),
                     .to = c};
    if (!h->workspace || h->bytes < (size_t)4 << 20)
        return HC_BLAS_NOT_INITIALIZED; /* cuBLAS would not: results vary */
    if (m < 0 || n < 0 || k < 0 || !leading_is_enough(&g.a) || !leading_is_enough(&g.b) ||
        !leading_is_enough(&g.c) || !a || !b || !c)
        return HC_BLAS_INVALID_VALUE;
    if (!supported(compute, g.a.format, g.b.format, g.c.format) ||
        algorithm != HC_BLAS_ALGORITHM_DEFAULT)
        return HC_BLAS_NOT_SUPPORTED;
    g.rule = rule_of(h, g.a.format, compute);
    return hc_emulated_stream_submit(h->stream, run_product, &g, sizeof g) ? 0
                                                                           : HC_BLAS_ALLOC_FAILED;
}

const char *hc_blas_text(int status)
{
    return status == HC_BLAS_INVALID_VALUE     ? "an unsupported value or parameter"
           : status == HC_BLAS_NOT_SUPPORTED   ? "not supported"
           : status == HC_BLAS_NOT_INITIALIZED ? "no workspace of the caller's"
                                               : "failed";
}

int hc_blas_property(int which, int *value)
{
    (void)which;
    *value = 0;
    return 0;
}
