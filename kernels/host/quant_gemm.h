/* What host's gemm_q lays out before it multiplies (quant_gemm_pack.c). */
#ifndef HC_KERNELS_HOST_QUANT_GEMM_H
#define HC_KERNELS_HOST_QUANT_GEMM_H

#include "kernels/host/codes_tile.h"
#include "kernels/host/host.h"

/* Rows of a block of the result; and rows whose scales are spread at once. */
enum { HC_CODES_BLOCK_ROWS = 48, HC_CODES_SPREAD = 256 };

/* A block's state between two slabs; where there is only one, each thread has such a block. */
struct hc_codes_block {
    float piece[HC_CODES_BLOCK_ROWS * HC_CODES_WIDTH];
    float acc[HC_CODES_BLOCK_ROWS * HC_CODES_WIDTH];
};

struct hc_codes_work {
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
    float *da;    /* [pieces, down * HC_CODES_BLOCK_ROWS] */
    float *db;    /* [pieces, panels * HC_CODES_COLUMNS] */
    struct hc_codes_block *blocks;
    struct hc_codes_way way;
};

struct hc_codes_work hc_codes_work_of(const struct hc_queue *queue, const struct hc_call *call);

/* Where the piece that begins at term `from` ends, in terms. */
int64_t hc_codes_piece_end(const struct hc_codes_work *w, int64_t from);

/* The numbers of n terms of a row of codes, from a term on. */
void hc_codes_terms(const struct hc_codes_work *w, hc_codes_decode *decode,
                    const struct hc_codes_table *table, const uint8_t *row, int64_t from, int64_t n,
                    float *to);

/* The scales of HC_CODES_SPREAD rows of one factor from `row` on, for each piece; 0 beyond its last
   row. */
void hc_codes_spread_scales(const struct hc_codes_work *w, const struct hc_block_scales *s,
                            int64_t rows, int64_t row, int64_t wide, float *to);

/* One panel of b's slab, decoded. */
void hc_codes_pack_panel(const struct hc_codes_work *w, const struct hc_queue *queue,
                         const struct hc_codes_table *table, int64_t panel, int64_t from,
                         int64_t terms);

#endif
