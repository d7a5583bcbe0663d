/* The inner loops of the host's gemm_q: codes into fp32, and sums of products of these,
   HC_CODES_ROWS rows by HC_CODES_COLUMNS columns. A product of two codes is exact in fp32, so that
   it is all the same whether it is rounded before it is added: every set of instructions gives the
   same bits. */
#ifndef HC_KERNELS_HOST_CODES_TILE_H
#define HC_KERNELS_HOST_CODES_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/element/quant_gemm.h"
#include "kernels/host/loops.h"

enum {
    HC_CODES_ROWS = 6,
    HC_CODES_COLUMNS = 64,
    HC_CODES_TERMS = 256, /* that a row of `a` has room for, */
    HC_CODES_STEP = 272,  /* and floats from one row to the next */
    HC_CODES_WIDTH = 272  /* floats from one row of sums to the next */
};

/* Terms of one piece: sum[i][j] += a[i][k] b[k][j] for k = 0 .. terms - 1, in that order. Where the
   piece begins, the sums do, with 0; where it ends, they go into the accumulators as hc_add_piece
   has it, and sum is not written. */
struct hc_codes_part {
    const float *a;
    const float *b; /* [terms, HC_CODES_COLUMNS] */
    int64_t terms;
    int columns; /* that are wanted of those of b; what is written to the others is of no use */
    bool begins, ends;
    bool first, only;     /* of the pieces: it finds accumulators of 0, or it is all there is */
    const float *da, *db; /* the scales of the rows and of the columns */
    float *sum, *acc;
};

typedef void hc_codes_tile(const struct hc_codes_part *p);

/* The numbers of a format's codes as bf16, which holds them all. */
struct hc_codes_table {
    uint16_t value[256];
};

struct hc_codes_table hc_codes_table_of(const struct hc_format_info *f);

typedef void hc_codes_decode(const struct hc_codes_table *t, const uint8_t *codes, int64_t n,
                             float *to);

/* How a call's codes are multiplied. A float's place holds one number, or `per` of them in bytes;
   then terms are counted in places. */
struct hc_codes_way {
    int per;
    hc_codes_decode *decode_a, *decode_b;
    hc_codes_tile *tile;
};

/* The fastest way for the call with the instructions that these loops have. */
struct hc_codes_way hc_codes_way_of(const struct hc_host_loops *loops, const struct hc_call *call);

/* codes_bytes.c: whether the call's sums are so small that integers hold them, on this CPU. */
bool hc_codes_fit_bytes(const struct hc_host_loops *loops, const struct hc_call *call);
extern const struct hc_codes_way hc_codes_in_bytes;

#endif
