/* gemm_q: codes are decoded to fp32, b's once for a slab of terms and by all threads, a's for each
   block of the result. A block's sums of a piece and its accumulators lie in one core's cache.
   Terms are added one after the other, so that the result is exact's, however blocks and slabs
   lie. */
#include "kernels/element/quant_gemm.h"

#include <assert.h>
#include <omp.h>
#include <string.h>

#include "kernels/exact/exact.h"
#include "kernels/host/codes_tile.h"
#include "kernels/host/host.h"
#include "num/clones.h"

enum { ROWS = 48, COLUMNS = HC_CODES_WIDTH, SLAB_FLOATS = 1 << 21 };

HC_CLONES static void decode(const struct hc_code_decoder *d, const uint8_t *codes, int64_t n,
                             float *to)
{
    const struct hc_code_decoder f = *d;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        to[i] = hc_code_value(&f, codes[i]);
}

/* acc and a piece's sums, row by row: hc_add_piece. */
HC_CLONES static void add_pieces(const float *piece, const float *da, const float *db, int columns,
                                 bool only, float *acc)
{
    for (int i = 0; i < HC_CODES_ROWS; i++, piece += COLUMNS, acc += COLUMNS) {
        float scale = da[i];
        if (only)
#pragma omp simd
            for (int j = 0; j < columns; j++)
                acc[j] = piece[j] * scale * db[j];
        else
#pragma omp simd
            for (int j = 0; j < columns; j++)
                acc[j] = fmaf(piece[j] * scale, db[j], acc[j]);
    }
}

/* A block's state between two slabs; where there is only one, each thread has such a block. */
struct block {
    float piece[ROWS * COLUMNS];
    float acc[ROWS * COLUMNS];
};

struct work {
    const struct hc_call *call;
    int64_t m, n, k;
    int64_t down, across; /* blocks of the result */
    int64_t panels;       /* of b */
    int64_t pieces;
    int64_t slab; /* terms */
    bool slabs;   /* there is more than one */
    float *b;     /* of a slab: panels of [terms, HC_CODES_COLUMNS] */
    float *da;    /* [pieces, down * ROWS] */
    float *db;    /* [pieces, across * COLUMNS] */
    struct block *blocks;
    hc_codes_tile *tile;
};

static int64_t rounded_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static struct work lay_out(const struct hc_call *call)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    struct work w = {.call = call,
                     .m = call->in[HC_GEMM_Q_A].shape[0],
                     .n = call->in[HC_GEMM_Q_B].shape[0],
                     .k = call->in[HC_GEMM_Q_A].shape[1],
                     .b = call->scratch};
    w.down = rounded_up(w.m, ROWS) / ROWS;
    w.across = rounded_up(w.n, COLUMNS) / COLUMNS;
    w.panels = rounded_up(w.n, HC_CODES_COLUMNS) / HC_CODES_COLUMNS;
    for (int64_t from = 0; from < w.k; from = hc_gemm_q_piece_end(p, from, w.k))
        w.pieces++;
    int64_t wide = w.panels * HC_CODES_COLUMNS;
    w.slab = wide > 0 ? SLAB_FLOATS / wide / HC_CODES_TERMS * HC_CODES_TERMS : 0;
    w.slab = w.slab < HC_CODES_TERMS ? HC_CODES_TERMS : w.slab;
    w.slab = w.slab > w.k ? w.k : w.slab;
    w.slabs = w.slab < w.k;
    w.da = w.b ? w.b + w.slab * wide : NULL;
    w.db = w.b ? w.da + w.pieces * w.down * ROWS : NULL;
    w.blocks = w.b ? (struct block *)(void *)(w.db + w.pieces * w.across * COLUMNS) : NULL;
    return w;
}

size_t hc_host_gemm_q_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w = lay_out(call);
    int64_t blocks = w.slabs ? w.down * w.across : queue->threads;
    int64_t floats =
        w.slab * w.panels * HC_CODES_COLUMNS + w.pieces * (w.down * ROWS + w.across * COLUMNS);
    return (size_t)floats * sizeof(float) + (size_t)blocks * sizeof(struct block);
}

/* The scales of one factor's rows for each piece; 0 beyond its last row. */
static void spread_scales(const struct work *w, const struct hc_block_scales *s, int64_t rows,
                          int64_t wide, float *to)
{
    const struct hc_gemm_q *p = &w->call->params.gemm_q;
    assert(to);
    for (int64_t from = 0; from < w->k; from = hc_gemm_q_piece_end(p, from, w->k), to += wide)
        for (int64_t i = 0; i < wide; i++)
            to[i] = i < rows ? hc_block_scale(s, i, from) : 0;
}

/* One panel of b's slab, decoded: so many terms at a time that what is turned stays in the
   first-level cache. */
static void pack_panel(const struct work *w, const struct hc_code_decoder *d, int64_t panel,
                       int64_t from, int64_t terms)
{
    enum { TURNED = 64 };
    const uint8_t *codes = w->call->in[HC_GEMM_Q_B].data;
    float row[TURNED];
    float *to = w->b + panel * HC_CODES_COLUMNS * terms;
    for (int64_t k0 = 0; k0 < terms; k0 += TURNED, to += TURNED * HC_CODES_COLUMNS) {
        int64_t n = terms - k0 < TURNED ? terms - k0 : TURNED;
        for (int64_t j = 0; j < HC_CODES_COLUMNS; j++) {
            int64_t at = panel * HC_CODES_COLUMNS + j;
            if (at < w->n)
                decode(d, codes + at * w->k + from + k0, n, row);
            else
                memset(row, 0, sizeof row);
            for (int64_t k = 0; k < n; k++)
                to[k * HC_CODES_COLUMNS + j] = row[k];
        }
    }
}

/* Part of a piece, or all of it, in one block: `a` begins with its first term. */
struct segment {
    const float *a;
    int64_t from, end; /* terms */
    int64_t slab, slab_terms;
    int64_t piece;
    bool ends;
    bool only;
};

static struct block *block_of(const struct work *w, int64_t at)
{
    return &w->blocks[w->slabs ? at : omp_get_thread_num()];
}

static void add_segment(const struct work *w, const struct segment *s, int64_t i0, int64_t j0,
                        struct block *block)
{
    int64_t rows = rounded_up(w->m - i0 < ROWS ? w->m - i0 : ROWS, HC_CODES_ROWS);
    int64_t columns = w->panels * HC_CODES_COLUMNS - j0;
    columns = columns < COLUMNS ? columns : COLUMNS;
    const float *da = w->da + s->piece * w->down * ROWS + i0;
    const float *db = w->db + s->piece * w->across * COLUMNS + j0;
    for (int64_t j = 0; j < columns; j += HC_CODES_COLUMNS) {
        const float *b = w->b + (j0 + j) * s->slab_terms + (s->from - s->slab) * HC_CODES_COLUMNS;
        for (int64_t i = 0; i < rows; i += HC_CODES_ROWS)
            w->tile(s->a + i * HC_CODES_STEP, b, s->end - s->from, block->piece + i * COLUMNS + j);
    }
    for (int64_t i = 0; s->ends && i < rows; i += HC_CODES_ROWS) {
        float *piece = block->piece + i * COLUMNS;
        add_pieces(piece, da + i, db, (int)columns, s->only, block->acc + i * COLUMNS);
        memset(piece, 0, (size_t)(HC_CODES_ROWS * COLUMNS) * sizeof *piece);
    }
}

/* The block's terms of a slab, HC_CODES_TERMS of a's rows at a time. `piece` counts the pieces that
   ended before the slab. */
static void add_slab(const struct work *w, const struct hc_code_decoder *d, int64_t at,
                     int64_t from, int64_t terms, int64_t piece)
{
    const struct hc_gemm_q *p = &w->call->params.gemm_q;
    const uint8_t *codes = w->call->in[HC_GEMM_Q_A].data;
    int64_t i0 = at / w->across * ROWS;
    int64_t j0 = at % w->across * COLUMNS;
    float a[ROWS * HC_CODES_STEP];
    struct segment s = {.slab = from, .slab_terms = terms, .piece = piece};
    s.only = w->pieces == 1;
    if (from == 0)
        memset(block_of(w, at), 0, sizeof *w->blocks);
    memset(a, 0, sizeof a);
    for (int64_t k0 = from; k0 < from + terms; k0 += HC_CODES_TERMS) {
        int64_t last = from + terms - k0 < HC_CODES_TERMS ? from + terms : k0 + HC_CODES_TERMS;
        for (int64_t i = 0; i < ROWS && i0 + i < w->m; i++)
            decode(d, codes + (i0 + i) * w->k + k0, last - k0, a + i * HC_CODES_STEP);
        for (s.from = k0; s.from < last; s.from = s.end) {
            int64_t end = hc_gemm_q_piece_end(p, s.from, w->k);
            s.end = end < last ? end : last;
            s.ends = end == s.end;
            s.a = a + (s.from - k0);
            add_segment(w, &s, i0, j0, block_of(w, at));
            s.piece += s.ends;
        }
    }
}

static void finish(const struct work *w, const struct hc_queue *queue, int64_t at)
{
    const struct hc_tensor *in = w->call->in;
    const struct hc_tensor *c = &in[HC_GEMM_Q_C];
    const struct hc_tensor *out = &w->call->out[HC_GEMM_Q_OUT];
    struct hc_gemm_q_end ends =
        hc_gemm_q_end_of(in[HC_GEMM_Q_A_TENSOR].data, in[HC_GEMM_Q_B_TENSOR].data);
    int64_t j0 = at % w->across * COLUMNS;
    int64_t columns = w->n - j0 < COLUMNS ? w->n - j0 : COLUMNS;
    for (int64_t r = 0, i = at / w->across * ROWS; r < ROWS && i < w->m; r++, i++) {
        float *acc = block_of(w, at)->acc + r * COLUMNS;
        for (int64_t j = 0; j < columns; j++) {
            acc[j] = hc_gemm_q_scaled(&ends, acc[j], w->k);
            if (c->data)
                acc[j] += hc_load(c->format, c->data, i * w->n + j0 + j);
        }
        hc_host_flush(queue, out, i * w->n + j0, columns, acc);
    }
}

static int64_t pieces_before(const struct work *w, int64_t term)
{
    int64_t pieces = 0;
    const struct hc_gemm_q *p = &w->call->params.gemm_q;
    for (int64_t from = 0, end; from < term; from = end) {
        end = hc_gemm_q_piece_end(p, from, w->k);
        pieces += end <= term;
    }
    return pieces;
}

enum hc_status hc_host_gemm_q(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w = lay_out(call);
    struct hc_block_scales of_a = hc_gemm_q_a_scales(call);
    struct hc_block_scales of_b = hc_gemm_q_b_scales(call);
    struct hc_code_decoder a = hc_code_decoder_of(&hc_formats[call->in[HC_GEMM_Q_A].format]);
    struct hc_code_decoder b = hc_code_decoder_of(&hc_formats[call->in[HC_GEMM_Q_B].format]);
    w.tile = hc_codes_tile_with(queue->loops);
    if (w.m == 0 || w.n == 0 || w.k == 0)
        return hc_exact_gemm_q(queue, call);
    assert(w.b);
    spread_scales(&w, &of_a, w.m, w.down * ROWS, w.da);
    spread_scales(&w, &of_b, w.n, w.across * COLUMNS, w.db);
#pragma omp parallel num_threads(hc_host_team(queue, w.m *w.n *w.k))
    for (int64_t from = 0; from < w.k; from += w.slab) {
        int64_t terms = w.k - from < w.slab ? w.k - from : w.slab;
        int64_t piece = pieces_before(&w, from);
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < w.panels; panel++)
            pack_panel(&w, &b, panel, from, terms);
#pragma omp for schedule(dynamic)
        for (int64_t at = 0; at < w.down * w.across; at++) {
            add_slab(&w, &a, at, from, terms, piece);
            if (from + terms == w.k)
                finish(&w, queue, at);
        }
    }
    return HC_OK;
}
