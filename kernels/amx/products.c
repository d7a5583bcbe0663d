/* tdpbf16ps: each element of a tile of sums takes up to 16 pairs of products. The low products form
   one chain from +0 and the high ones another, and the sum of both is added to the element last. It
   flushes subnormals on the way in and out, and does not consult the control register. */
#ifdef HC_AMX

#include <immintrin.h>

#include "kernels/amx/amx.h"
#include "kernels/pairs.h"

/* Register 0 holds the sums, 1 a and 2 b; gcc's macros take no names for them. */

/* What ldtilecfg reads (palette 1). */
struct configuration {
    uint8_t palette;
    uint8_t first_row;
    uint8_t reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* gcc's instructions on tiles do not say that they read memory, so what was stored there has to be
   written before them, and what they store read after them. */
static void memory_barrier(void)
{
    __asm__ volatile("" ::: "memory");
}

static void configure(int pairs)
{
    struct configuration c = {.palette = 1};
    c.rows[0] = c.rows[1] = HC_PAIRS_TILE;
    c.rows[2] = (uint8_t)pairs;
    c.row_bytes[0] = c.row_bytes[2] = HC_PAIRS_TILE * sizeof(uint32_t);
    c.row_bytes[1] = (uint16_t)((size_t)pairs * sizeof(uint32_t));
    memory_barrier();
    _tile_loadconfig(&c);
}

static void chain(const struct hc_pairs *pairs, int64_t i, int64_t j)
{
    const size_t word = sizeof(uint32_t);
    configure(HC_AMX_PAIRS);
    _tile_loadd(0, pairs->sums, HC_PAIRS_TILE * sizeof(float));
    for (int64_t k = 0; k < pairs->pairs; k += HC_AMX_PAIRS) {
        _tile_loadd(1, pairs->a + i * pairs->pairs + k, (size_t)pairs->pairs * word);
        _tile_loadd(2, pairs->b + k * pairs->columns + j, (size_t)pairs->columns * word);
        _tile_dpbf16ps(0, 1, 2);
    }
    _tile_stored(0, pairs->sums, HC_PAIRS_TILE * sizeof(float));
    _tile_release();
    memory_barrier();
}

enum hc_status hc_amx_products(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return hc_pairs_run("amx", call, HC_AMX_PAIRS, chain);
}

void hc_amx_tile(const uint32_t *a, const uint32_t *b, int pairs, uint32_t *c)
{
    const size_t word = sizeof(uint32_t);
    configure(pairs);
    _tile_loadd(0, c, HC_PAIRS_TILE * word);
    _tile_loadd(1, a, (size_t)pairs * word);
    _tile_loadd(2, b, HC_PAIRS_TILE * word);
    _tile_dpbf16ps(0, 1, 2);
    _tile_stored(0, c, HC_PAIRS_TILE * word);
    _tile_release();
    memory_barrier();
}

#else

#include <assert.h>

#include "kernels/amx/amx.h"

void hc_amx_tile(const uint32_t *a, const uint32_t *b, int pairs, uint32_t *c)
{
    (void)a;
    (void)b;
    (void)pairs;
    (void)c;
    assert(!"built without AMX");
}

#endif
