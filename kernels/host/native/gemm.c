/* gemm in bf16: b is packed once, by all threads; then each thread packs blocks of rows of a and
   multiplies them; then alpha, beta C and the rounding. */
#include <omp.h>

#include "kernels/host/native/native.h"

struct work {
    int64_t m, n, k;
    struct hc_matrix16 a;
    struct hc_matrix16 b;
    uint16_t *columns; /* b, packed */
    uint16_t *rows;    /* of each thread: a block of a, packed */
    float *sums;       /* of each thread: a block of the result */
    int64_t rows_size;
    int64_t sums_size;
};

static struct work lay_out(const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_B];
    struct work w = {.m = call->out[HC_GEMM_OUT].shape[0],
                     .n = call->out[HC_GEMM_OUT].shape[1],
                     .k = a->shape[p->transpose_a ? 0 : 1],
                     .columns = call->scratch};
    w.a = (struct hc_matrix16){a->data, a->shape[1], w.m, w.k, !p->transpose_a};
    w.b = (struct hc_matrix16){b->data, b->shape[1], w.n, w.k, p->transpose_b};
    w.rows_size = hc_packed16(HC_NATIVE_ROWS, w.k);
    w.sums_size = HC_NATIVE_ROWS * hc_native_rounded(w.n);
    w.rows = w.columns + hc_packed16(w.n, w.k);
    return w;
}

size_t hc_native_gemm_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w = lay_out(call);
    return (size_t)hc_packed16(w.n, w.k) * sizeof(uint16_t) +
           (size_t)queue->threads *
               ((size_t)w.rows_size * sizeof(uint16_t) + (size_t)w.sums_size * sizeof(float));
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

static void multiply_block(const struct hc_call *call, const struct work *w, int64_t first)
{
    int thread = omp_get_thread_num();
    int64_t left = w->m - first;
    int64_t rows = left < HC_NATIVE_ROWS ? left : HC_NATIVE_ROWS;
    uint16_t *packed = w->rows + thread * w->rows_size;
    float *sums = w->sums + thread * w->sums_size;
    for (int64_t i = 0; i < rows; i += HC_TILE16_EDGE)
        hc_pack16_rows(&w->a, first + i, packed + hc_packed16(i, w->k));
    hc_native()->product(&(struct hc_product16){
        .m = rows, .n = w->n, .k = w->k, .a = packed, .b = w->columns, .c = sums, .ldc = w->n});
    for (int64_t i = 0; i < rows; i++)
        finish_row(call, first + i, w->k, sums + i * w->n);
}

enum hc_status hc_native_gemm(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w = lay_out(call);
    w.sums = (float *)(void *)(w.rows + queue->threads * w.rows_size);
#pragma omp parallel num_threads(queue->threads) if (w.m > HC_NATIVE_ROWS)
    {
#pragma omp for schedule(static)
        for (int64_t j = 0; j < w.n; j += HC_TILE16_EDGE)
            hc_pack16_columns(&w.b, j, w.columns + hc_packed16(j, w.k));
#pragma omp for schedule(static)
        for (int64_t i = 0; i < w.m; i += HC_NATIVE_ROWS)
            multiply_block(call, &w, i);
    }
    return HC_OK;
}
