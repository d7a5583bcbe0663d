/* What stands at the end of a piece in the tiles of AVX-512 (codes_tile.c, codes_bytes.c). */
#ifndef HC_KERNELS_HOST_CODES_AVX512_H
#define HC_KERNELS_HOST_CODES_AVX512_H

#ifdef __x86_64__
#include <immintrin.h>

#include "kernels/host/quant/codes_tile.h"

/* hc_add_piece of row r, whose sums take this many vectors. */
__attribute__((target("avx512f"), always_inline)) static inline void
hc_codes_end_row(const struct hc_codes_part *p, int r, const int vectors, const __m512 *s)
{
    const __m512 da = _mm512_set1_ps(p->da[r]);
    float *acc = p->acc + r * HC_CODES_WIDTH;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++, acc += 16) {
        __m512 scaled = _mm512_mul_ps(s[v], da);
        __m512 db = _mm512_loadu_ps(p->db + v * 16);
        __m512 sum = p->only    ? _mm512_mul_ps(scaled, db)
                     : p->first ? _mm512_fmadd_ps(scaled, db, _mm512_setzero_ps())
                                : _mm512_fmadd_ps(scaled, db, _mm512_loadu_ps(acc));
        _mm512_storeu_ps(acc, sum);
    }
}

#endif
#endif
