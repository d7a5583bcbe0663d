/* gemm_q: codes are decoded to fp32, b's once for a slab of terms and by all threads, a's for each
   block of the result. A block's sums of a piece and its accumulators lie in one core's cache.
   Terms are added one after the other, so that the result is exact's, however blocks and slabs
   lie; only where integers hold every sum are they taken in bytes (codes_bytes.c). */
#include <assert.h>
#include <omp.h>
#include <string.h>

#include "kernels/exact/exact.h"
#include "num/clones.h"
#include "kernels/host/quant/codes_tile.h"
#include "kernels/host/host.h"

/* Rows of a block of the result; and rows whose scales are spread at once. */
enum { ROWS = 48, SPREAD = 256 };

/* A block's state between two slabs; where there is only one, each thread has such a block. */
struct block {
    float piece[ROWS * HC_CODES_WIDTH];
    float acc[ROWS * HC_CODES_WIDTH];
};

struct work {
    const struct hc_call *call;
    int64_t m, n;
    int64_t codes;        /* in a row of a, and of b */
    int64_t k;            /* terms: places of codes */
    int64_t columns;      /* of a block of the result */
    int64_t down, across; /* blocks */
    int64_t panels;       /* of b */
    int64_t pieces;
    int64_t slab; /* terms */
    bool slabs;   /* there is more than one */
    float *b;     /* of a slab: panels of [terms, HC_CODES_COLUMNS] */
    float *da;    /* [pieces, down * ROWS] */
    float *db;    /* [pieces, panels * HC_CODES_COLUMNS] */
    struct block *blocks;
    struct hc_codes_way way;
};

enum { COLUMNS = 256, SLAB_FLOATS = 1 << 21 };

static int64_t rounded_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Where the piece that begins at term `from` ends, in terms. */
static int64_t piece_end(const struct work *w, int64_t from)
{
    const struct hc_gemm_q *p = &w->call->params.gemm_q;
    int64_t end = hc_gemm_q_piece_end(p, from * w->way.per, w->codes);
    return rounded_up(end, w->way.per) / w->way.per;
}

/* The numbers of n terms of a row of codes, from a term on. */
static void load_terms(const struct work *w, hc_codes_decode *decode,
                       const struct hc_codes_table *table, const uint8_t *row, int64_t from,
                       int64_t n, float *to)
{
    int64_t first = from * w->way.per;
    int64_t count = n * w->way.per;
    decode(table, row + first, w->codes - first < count ? w->codes - first : count, to);
}

/* Where there are few blocks, they are narrow, so that each thread finds some. */
static struct work work_of(const struct hc_queue *queue, const struct hc_call *call)
{
    struct work w = {.call = call,
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
    for (int64_t from = 0; from < w.k; from = piece_end(&w, from))
        w.pieces++;
    int64_t wide = w.panels * HC_CODES_COLUMNS;
    w.slab = wide > 0 ? SLAB_FLOATS / wide / HC_CODES_TERMS * HC_CODES_TERMS : 0;
    w.slab = w.slab < HC_CODES_TERMS ? HC_CODES_TERMS : w.slab;
    w.slab = w.slab > w.k ? w.k : w.slab;
    w.slabs = w.slab < w.k;
    w.da = w.b ? w.b + w.slab * wide : NULL;
    w.db = w.b ? w.da + w.pieces * w.down * ROWS : NULL;
    w.blocks = w.b ? (struct block *)(void *)(w.db + w.pieces * wide) : NULL;
    return w;
}

size_t hc_host_gemm_q_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w = work_of(queue, call);
    int64_t wide = w.panels * HC_CODES_COLUMNS;
    int64_t blocks = w.slabs ? w.down * w.across : queue->threads;
    int64_t floats = w.slab * wide + w.pieces * (w.down * ROWS + wide);
    return (size_t)floats * sizeof(float) + (size_t)blocks * sizeof(struct block);
}

/* The scales of SPREAD rows of one factor from `row` on, for each piece; 0 beyond its last
   row. */
static void spread_scales(const struct work *w, const struct hc_block_scales *s, int64_t rows,
                          int64_t row, int64_t wide, float *to)
{
    int64_t block[SPREAD];
    int64_t end = wide - row < SPREAD ? wide - row : SPREAD;
    int64_t n = rows - row < end ? rows - row : end;
    for (int64_t i = 0; i < n; i++)
        block[i] = (row + i) / s->rows * s->across;
    to += row;
    for (int64_t from = 0; from < w->k; from = piece_end(w, from), to += wide) {
        int64_t column = from * w->way.per / s->columns;
        for (int64_t i = 0; i < n; i++)
            to[i] = hc_scale_at(s->format, s->data, block[i] + column);
        for (int64_t i = n > 0 ? n : 0; i < end; i++)
            to[i] = 0;
    }
}

/* Decodes one panel of b's slab, so many terms at a time that what is turned stays in the
   first-level cache. */
static void pack_panel(const struct work *w, const struct hc_queue *queue,
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
            load_terms(w, w->way.decode_b, table, codes + (first + j) * w->codes, from + k0, n,
                       row[j]);
        for (; k + HC_STRIP <= n; k += HC_STRIP)
            queue->loops->turn(&row[0][k], TURNED, HC_CODES_COLUMNS, to + k * HC_CODES_COLUMNS,
                               HC_CODES_COLUMNS);
        for (; k < n; k++)
            for (int64_t j = 0; j < HC_CODES_COLUMNS; j++)
                to[k * HC_CODES_COLUMNS + j] = row[j][k];
    }
}

/* Part of a piece, or all of it, in one block: `a` begins with its first term. */
struct segment {
    const float *a;
    int64_t from, end; /* terms */
    int64_t slab, slab_terms;
    int64_t piece;
    bool begins, ends;
};

static struct block *block_of(const struct work *w, int64_t at)
{
    return &w->blocks[w->slabs ? at : omp_get_thread_num()];
}

static void add_segment(const struct work *w, const struct segment *s, int64_t i0, int64_t j0,
                        struct block *block)
{
    int64_t rows = w->m - i0 < ROWS ? w->m - i0 : ROWS;
    int64_t columns = w->n - j0 < w->columns ? w->n - j0 : w->columns;
    struct hc_codes_part part = {.terms = s->end - s->from,
                                 .begins = s->begins,
                                 .ends = s->ends,
                                 .first = s->piece == 0,
                                 .only = w->pieces == 1};
    for (int64_t j = 0; j < columns; j += HC_CODES_COLUMNS) {
        part.columns = (int)(columns - j < HC_CODES_COLUMNS ? columns - j : HC_CODES_COLUMNS);
        part.b = w->b + (j0 + j) * s->slab_terms + (s->from - s->slab) * HC_CODES_COLUMNS;
        part.db = w->db + s->piece * w->panels * HC_CODES_COLUMNS + j0 + j;
        for (int64_t i = 0; i < rows; i += HC_CODES_ROWS) {
            part.a = s->a + i * HC_CODES_STEP;
            part.da = w->da + s->piece * w->down * ROWS + i0 + i;
            part.sum = block->piece + i * HC_CODES_WIDTH + j;
            part.acc = block->acc + i * HC_CODES_WIDTH + j;
            w->way.tile(&part);
        }
    }
}

static bool piece_begins(const struct work *w, int64_t term)
{
    return term == 0 || piece_end(w, term - 1) == term;
}

/* The block's terms of a slab, HC_CODES_TERMS of a's rows at a time. `piece` counts the pieces that
   ended before the slab. */
static void add_slab(const struct work *w, const struct hc_codes_table *table, int64_t at,
                     int64_t from, int64_t terms, int64_t piece)
{
    const uint8_t *codes = w->call->in[HC_GEMM_Q_A].data;
    int64_t i0 = at / w->across * ROWS;
    int64_t j0 = at % w->across * w->columns;
    int64_t rows = w->m - i0 < ROWS ? w->m - i0 : ROWS;
    float a[ROWS * HC_CODES_STEP];
    struct segment s = {.slab = from, .slab_terms = terms, .piece = piece};
    s.begins = piece_begins(w, from);
    memset(a + (rows - 1) * HC_CODES_STEP, 0,
           (size_t)(((rows + HC_CODES_ROWS - 1) / HC_CODES_ROWS * HC_CODES_ROWS - rows + 1) *
                    HC_CODES_STEP) *
               sizeof *a);
    for (int64_t k0 = from; k0 < from + terms; k0 += HC_CODES_TERMS) {
        int64_t last = from + terms - k0 < HC_CODES_TERMS ? from + terms : k0 + HC_CODES_TERMS;
        for (int64_t i = 0; i < rows; i++)
            load_terms(w, w->way.decode_a, table, codes + (i0 + i) * w->codes, k0, last - k0,
                       a + i * HC_CODES_STEP);
        for (s.from = k0; s.from < last; s.from = s.end) {
            int64_t end = piece_end(w, s.from);
            s.end = end < last ? end : last;
            s.ends = end == s.end;
            s.a = a + (s.from - k0);
            add_segment(w, &s, i0, j0, block_of(w, at));
            s.piece += s.ends;
            s.begins = s.ends;
        }
    }
}

HC_CLONES static void multiply(float factor, int64_t n, float *x)
{
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        x[j] = factor * x[j];
}

static void finish(const struct work *w, const struct hc_queue *queue, int64_t at)
{
    const struct hc_tensor *in = w->call->in;
    const struct hc_tensor *c = &in[HC_GEMM_Q_C];
    const struct hc_tensor *out = &w->call->out[HC_GEMM_Q_OUT];
    struct hc_gemm_q_end ends =
        hc_gemm_q_end_of(in[HC_GEMM_Q_A_TENSOR].data, in[HC_GEMM_Q_B_TENSOR].data);
    int64_t j0 = at % w->across * w->columns;
    int64_t columns = w->n - j0 < w->columns ? w->n - j0 : w->columns;
    for (int64_t r = 0, i = at / w->across * ROWS; r < ROWS && i < w->m; r++, i++) {
        float *acc = block_of(w, at)->acc + r * HC_CODES_WIDTH;
        if (ends.has_factor)
            multiply(ends.factor, columns, acc);
        for (int64_t j = 0; c->data && j < columns; j++)
            acc[j] += hc_load(c->format, c->data, i * w->n + j0 + j);
        hc_host_flush(queue, out, i * w->n + j0, columns, acc);
    }
}

static int64_t pieces_before(const struct work *w, int64_t term)
{
    int64_t pieces = 0;
    for (int64_t from = 0, end; from < term; from = end) {
        end = piece_end(w, from);
        pieces += end <= term;
    }
    return pieces;
}

enum hc_status hc_host_gemm_q(struct hc_queue *queue, const struct hc_call *call)
{
    struct work w = work_of(queue, call);
    struct hc_block_scales of_a = hc_gemm_q_a_scales(call);
    struct hc_block_scales of_b = hc_gemm_q_b_scales(call);
    struct hc_codes_table a = hc_codes_table_of(&hc_formats[call->in[HC_GEMM_Q_A].format]);
    struct hc_codes_table b = hc_codes_table_of(&hc_formats[call->in[HC_GEMM_Q_B].format]);
    if (w.m == 0 || w.n == 0 || w.k == 0)
        return hc_exact_gemm_q(queue, call);
    assert(w.b);
#pragma omp parallel num_threads(hc_host_team(queue, w.m *w.n *w.codes))
    for (int64_t from = 0; from < w.k; from += w.slab) {
        int64_t terms = w.k - from < w.slab ? w.k - from : w.slab;
        int64_t piece = pieces_before(&w, from);
        int64_t wide_a = w.down * ROWS;
        int64_t wide_b = w.panels * HC_CODES_COLUMNS;
#pragma omp for schedule(static) nowait
        for (int64_t row = 0; row < (from == 0 ? wide_a : 0); row += SPREAD)
            spread_scales(&w, &of_a, w.m, row, wide_a, w.da);
#pragma omp for schedule(static) nowait
        for (int64_t row = 0; row < (from == 0 ? wide_b : 0); row += SPREAD)
            spread_scales(&w, &of_b, w.n, row, wide_b, w.db);
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < w.panels; panel++)
            pack_panel(&w, queue, &b, panel, from, terms);
#pragma omp for schedule(dynamic)
        for (int64_t at = 0; at < w.down * w.across; at++) {
            add_slab(&w, &a, at, from, terms, piece);
            if (from + terms == w.k)
                finish(&w, queue, at);
        }
    }
    return HC_OK;
}
