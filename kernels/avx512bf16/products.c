/* vdpbf16ps: two products a lane are added to a sum in fp32, the odd one first. It flushes
   subnormals on the way in and out, and neither reads nor writes the control register. */
#ifdef __AVX512BF16__

#include <immintrin.h>

#include "kernels/avx512bf16/avx512bf16.h"
#include "kernels/pairs.h"

static void chain(const struct hc_pairs *pairs, int64_t i0, int64_t j0)
{
    for (int64_t i = 0; i < HC_PAIRS_TILE; i++) {
        const uint32_t *a = pairs->a + (i0 + i) * pairs->pairs;
        __m512 sum = _mm512_loadu_ps(pairs->sums + i * HC_PAIRS_TILE);
        for (int64_t k = 0; k < pairs->pairs; k++) {
            __m512i b = _mm512_loadu_si512(pairs->b + k * pairs->columns + j0);
            sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32((int)a[k]), (__m512bh)b);
        }
        _mm512_storeu_ps(pairs->sums + i * HC_PAIRS_TILE, sum);
    }
}

enum hc_status hc_avx512bf16_products(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return hc_pairs_run("avx512bf16", call, 1, chain);
}

void hc_avx512bf16_lanes(const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d)
{
    __m512 sum = _mm512_castsi512_ps(_mm512_loadu_si512(c));
    sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_loadu_si512(a), (__m512bh)_mm512_loadu_si512(b));
    _mm512_storeu_si512(d, _mm512_castps_si512(sum));
}

#else

#include <assert.h>

#include "kernels/avx512bf16/avx512bf16.h"

void hc_avx512bf16_lanes(const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d)
{
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    assert(!"built without AVX512_BF16");
}

#endif
