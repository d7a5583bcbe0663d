/* gemm_q: the terms of a piece in the order of k, 16 columns side by side as in gemm (tile.h).
   Codes become fp32 first, in which every product of two is exact. */
#include <assert.h>

#include "kernels/element/load.h"
#include "kernels/element/quant_gemm.h"
#include "kernels/exact/exact.h"
#include "kernels/exact/tile.h"

enum { CODES = 256 };

static void fill_table(enum hc_format format, float *value)
{
    for (unsigned code = 0; code < CODES; code++)
        value[code] = (float)hc_decode(format, code);
}

/* Tiles of HC_TILE columns of the product, [k, HC_TILE] each; what is missing in the last is 0. */
static void pack(const struct hc_tensor *t, float *to)
{
    const uint8_t *codes = t->data;
    int64_t n = t->shape[0];
    int64_t k = t->shape[1];
    float value[CODES];
    assert(codes && to);
    fill_table(t->format, value);
    for (int64_t j0 = 0; j0 < n; j0 += HC_TILE)
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = j0; j < j0 + HC_TILE; j++)
                *to++ = j < n ? value[codes[j * k + i]] : 0;
}

static void decode(const struct hc_tensor *t, float *to)
{
    const uint8_t *codes = t->data;
    float value[CODES];
    assert(codes && to);
    fill_table(t->format, value);
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        to[i] = value[codes[i]];
}

/* sum[j] += a[i] b[i * HC_TILE + j] for each of the terms, in their order. */
HC_TILE_LOOP static void add_terms(const float *a, const float *b, int64_t terms, float *sum)
{
    float s[HC_TILE] = {0};
    for (int64_t i = 0; i < terms; i++)
#pragma GCC unroll 16
        for (int j = 0; j < HC_TILE; j++)
            s[j] += a[i] * b[i * HC_TILE + j];
    for (int j = 0; j < HC_TILE; j++)
        sum[j] = s[j];
}

/* The accumulators of row i and of the columns from j0 on. */
static void add_pieces(const struct hc_call *call, int64_t i, int64_t j0, const float *a,
                       const float *b, float *acc)
{
    struct hc_block_scales of_a = hc_gemm_q_a_scales(call);
    struct hc_block_scales of_b = hc_gemm_q_b_scales(call);
    const struct hc_gemm_q *p = &call->params.gemm_q;
    int64_t n = call->in[HC_GEMM_Q_B].shape[0];
    int64_t k = call->in[HC_GEMM_Q_A].shape[1];
    float piece[HC_TILE];
    assert(k == 0 || (a && b));
    for (int64_t from = 0, end; from < k; from = end) {
        end = hc_gemm_q_piece_end(p, from, k);
        hc_tile_reads(a + from, (size_t)(end - from) * sizeof *a);
        hc_tile_reads(b + from * HC_TILE, (size_t)((end - from) * HC_TILE) * sizeof *b);
        add_terms(a + from, b + from * HC_TILE, end - from, piece);
        float da = hc_block_scale(&of_a, i, from);
        for (int64_t j = 0; j < HC_TILE && j0 + j < n; j++)
            acc[j] = hc_add_piece(acc[j], piece[j], da, hc_block_scale(&of_b, j0 + j, from),
                                  from == 0 && end == k);
    }
}

enum hc_status hc_exact_gemm_q(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *c = &call->in[HC_GEMM_Q_C];
    const struct hc_tensor *out = &call->out[HC_GEMM_Q_OUT];
    struct hc_gemm_q_end ends =
        hc_gemm_q_end_of(call->in[HC_GEMM_Q_A_TENSOR].data, call->in[HC_GEMM_Q_B_TENSOR].data);
    int64_t m = out->shape[0];
    int64_t n = out->shape[1];
    int64_t k = call->in[HC_GEMM_Q_A].shape[1];
    float *b = call->scratch;
    float *a = b ? b + hc_tile_padded(n) * k : NULL;
    if (m == 0 || n == 0)
        return HC_OK;
    if (k > 0) {
        pack(&call->in[HC_GEMM_Q_B], b);
        decode(&call->in[HC_GEMM_Q_A], a);
    }
    for (int64_t j0 = 0; j0 < n; j0 += HC_TILE)
        for (int64_t i = 0; i < m; i++) {
            float acc[HC_TILE] = {0};
            add_pieces(call, i, j0, a + i * k, b + j0 * k, acc);
            for (int64_t j = 0; j < HC_TILE && j0 + j < n; j++) {
                float value = hc_gemm_q_scaled(&ends, acc[j], k);
                if (c->data)
                    value += hc_load(c->format, c->data, i * n + j0 + j);
                hc_store(out->format, out->data, i * n + j0 + j, value);
            }
        }
    return HC_OK;
}

size_t hc_exact_gemm_q_scratch(const struct hc_call *call)
{
    const struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    int64_t b = hc_tile_padded(call->in[HC_GEMM_Q_B].shape[0]) * a->shape[1];
    return (size_t)(b + hc_tensor_count(a)) * sizeof(float);
}
