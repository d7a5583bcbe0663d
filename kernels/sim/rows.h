/* The loop over a block's rows and the pieces of their sums. Included by the files that are
   compiled for AVX-512. */
#ifndef HC_KERNELS_SIM_ROWS_H
#define HC_KERNELS_SIM_ROWS_H

#include "kernels/sim/engine.h"

#ifdef __AVX512F__
#include <immintrin.h>

enum { HC_SIM_ROWS = 8 };

/* One piece of a row and 16 columns: C's codes into D's. */
typedef __m512i hc_sim_piece(const struct hc_unit *u, const uint32_t *a, const uint32_t *b,
                             __m512i c, __mmask16 *left);

/* HC_SIM_ROWS rows at a time, so that the chains of several rows are under way at once. */
static inline __attribute__((always_inline)) void
hc_sim_rows(const struct hc_unit *u, const uint32_t *a, int64_t rows, const uint32_t *b,
            int64_t terms, uint32_t *sums, uint16_t *left, int piece, hc_sim_piece *add)
{
    const struct hc_unit unit = *u;
    for (int64_t first = 0; first < rows; first += HC_SIM_ROWS) {
        int64_t count = rows - first < HC_SIM_ROWS ? rows - first : HC_SIM_ROWS;
        __m512i c[HC_SIM_ROWS];
        __mmask16 out[HC_SIM_ROWS] = {0};
        for (int64_t row = 0; row < count; row++)
            c[row] = _mm512_loadu_si512(sums + (first + row) * HC_SIM_COLUMNS);
        for (int64_t i = 0; i < terms; i += piece)
            for (int64_t row = 0; row < count; row++)
                c[row] = add(&unit, a + HC_SIM_A_WORDS * ((first + row) * terms + i),
                             b + HC_SIM_COLUMNS * i, c[row], &out[row]);
        for (int64_t row = 0; row < count; row++) {
            left[first + row] = out[row];
            _mm512_mask_storeu_epi32(sums + (first + row) * HC_SIM_COLUMNS, (__mmask16)~out[row],
                                     c[row]);
        }
    }
}
#endif

#endif
