#include <string.h>

#include "kernels/host/quant_gemm.h"

enum { ROWS = HC_CODES_BLOCK_ROWS, COLUMNS = 256, SLAB_FLOATS = 1 << 21 };

static int64_t rounded_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

int64_t hc_codes_piece_end(const struct hc_codes_work *w, int64_t from)
{
    const struct hc_gemm_q *p = &w->call->params.gemm_q;
    int64_t end = hc_gemm_q_piece_end(p, from * w->way.per, w->codes);
    return rounded_up(end, w->way.per) / w->way.per;
}

void hc_codes_terms(const struct hc_codes_work *w, hc_codes_decode *decode,
                    const struct hc_codes_table *table, const uint8_t *row, int64_t from, int64_t n,
                    float *to)
{
    int64_t first = from * w->way.per;
    int64_t count = n * w->way.per;
    decode(table, row + first, w->codes - first < count ? w->codes - first : count, to);
}

/* Where there are few blocks, they are narrow, so that each thread finds some. */
struct hc_codes_work hc_codes_work_of(const struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_codes_work w = {.call = call,
                              .m = call->in[HC_GEMM_Q_A].shape[0],
                              .n = call->in[HC_GEMM_Q_B].shape[0],
                              .codes = call->in[HC_GEMM_Q_A].shape[1],
                              .b = call->scratch,
                              .way = hc_codes_way_of(queue->loops, call)};
    w.k = rounded_up(w.codes, w.way.per) / w.way.per;
    w.down = rounded_up(w.m, ROWS) / ROWS;
    int64_t wide_blocks = w.down * (rounded_up(w.n, COLUMNS) / COLUMNS);
    w.columns = wide_blocks < 2 * (int64_t)queue->threads ? HC_CODES_COLUMNS : COLUMNS;
    w.across = rounded_up(w.n, w.columns) / w.columns;
    w.panels = rounded_up(w.n, HC_CODES_COLUMNS) / HC_CODES_COLUMNS;
    for (int64_t from = 0; from < w.k; from = hc_codes_piece_end(&w, from))
        w.pieces++;
    int64_t wide = w.panels * HC_CODES_COLUMNS;
    w.slab = wide > 0 ? SLAB_FLOATS / wide / HC_CODES_TERMS * HC_CODES_TERMS : 0;
    w.slab = w.slab < HC_CODES_TERMS ? HC_CODES_TERMS : w.slab;
    w.slab = w.slab > w.k ? w.k : w.slab;
    w.slabs = w.slab < w.k;
    w.da = w.b ? w.b + w.slab * wide : NULL;
    w.db = w.b ? w.da + w.pieces * w.down * ROWS : NULL;
    w.blocks = w.b ? (struct hc_codes_block *)(void *)(w.db + w.pieces * wide) : NULL;
    return w;
}

size_t hc_host_gemm_q_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_codes_work w = hc_codes_work_of(queue, call);
    int64_t wide = w.panels * HC_CODES_COLUMNS;
    int64_t blocks = w.slabs ? w.down * w.across : queue->threads;
    int64_t floats = w.slab * wide + w.pieces * (w.down * ROWS + wide);
    return (size_t)floats * sizeof(float) + (size_t)blocks * sizeof(struct hc_codes_block);
}

void hc_codes_spread_scales(const struct hc_codes_work *w, const struct hc_block_scales *s,
                            int64_t rows, int64_t row, int64_t wide, float *to)
{
    int64_t block[HC_CODES_SPREAD];
    int64_t end = wide - row < HC_CODES_SPREAD ? wide - row : HC_CODES_SPREAD;
    int64_t n = rows - row < end ? rows - row : end;
    for (int64_t i = 0; i < n; i++)
        block[i] = (row + i) / s->rows * s->across;
    to += row;
    for (int64_t from = 0; from < w->k; from = hc_codes_piece_end(w, from), to += wide) {
        int64_t column = from * w->way.per / s->columns;
        for (int64_t i = 0; i < n; i++)
            to[i] = hc_scale_at(s->format, s->data, block[i] + column);
        for (int64_t i = n > 0 ? n : 0; i < end; i++)
            to[i] = 0;
    }
}

/* So many terms at a time that what is turned stays in the first-level cache. */
void hc_codes_pack_panel(const struct hc_codes_work *w, const struct hc_queue *queue,
                         const struct hc_codes_table *table, int64_t panel, int64_t from,
                         int64_t terms)
{
    enum { TURNED = 64 };
    const uint8_t *codes = w->call->in[HC_GEMM_Q_B].data;
    float row[HC_CODES_COLUMNS][TURNED];
    float *to = w->b + panel * HC_CODES_COLUMNS * terms;
    int64_t first = panel * HC_CODES_COLUMNS;
    int64_t rows = w->n - first < HC_CODES_COLUMNS ? w->n - first : HC_CODES_COLUMNS;
    memset(row[rows - 1], 0, (size_t)(HC_CODES_COLUMNS - rows + 1) * sizeof row[0]);
    for (int64_t k0 = 0; k0 < terms; k0 += TURNED, to += TURNED * HC_CODES_COLUMNS) {
        int64_t n = terms - k0 < TURNED ? terms - k0 : TURNED;
        int64_t k = 0;
        for (int64_t j = 0; j < rows; j++)
            hc_codes_terms(w, w->way.decode_b, table, codes + (first + j) * w->codes, from + k0, n,
                           row[j]);
        for (; k + HC_STRIP <= n; k += HC_STRIP)
            queue->loops->turn(&row[0][k], TURNED, HC_CODES_COLUMNS, to + k * HC_CODES_COLUMNS,
                               HC_CODES_COLUMNS);
        for (; k < n; k++)
            for (int64_t j = 0; j < HC_CODES_COLUMNS; j++)
                to[k * HC_CODES_COLUMNS + j] = row[j][k];
    }
}
