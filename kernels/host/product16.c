#include "kernels/host/product16.h"

#ifdef __AMX_BF16__
#include <immintrin.h>
#include <string.h>

enum { EDGE = HC_TILE16_EDGE };

/* Tiles of the sums, which are written by way of a buffer where they reach beyond c. */
struct block {
    float *c;
    int64_t ldc;
    int64_t rows; /* within c */
    int64_t columns;
    bool adds;
};

static bool is_whole(const struct block *t)
{
    return t->rows >= EDGE && t->columns >= EDGE;
}

static struct block part(const struct hc_product16 *p, int64_t row, int64_t column)
{
    return (struct block){p->c + row * p->ldc + column, p->ldc, p->m - row, p->n - column, p->adds};
}

static __mmask16 lanes(int64_t n)
{
    return n >= EDGE ? 0xffff : (__mmask16)((1u << n) - 1);
}

/* The sums of a block to where the tile instructions read them, and back. */
static void fetch(const struct block *t, float buffer[EDGE][EDGE])
{
    for (int i = 0; i < EDGE; i++)
        _mm512_storeu_ps(buffer[i], _mm512_maskz_loadu_ps(i < t->rows ? lanes(t->columns) : 0,
                                                          t->c + i * t->ldc));
}

static void put(const struct block *t, float buffer[EDGE][EDGE])
{
    for (int i = 0; i < EDGE && i < t->rows; i++)
        _mm512_mask_storeu_ps(t->c + i * t->ldc, lanes(t->columns), _mm512_loadu_ps(buffer[i]));
}

/* The compiler does not know that tile instructions read and write memory. */
#define FENCE __asm__ volatile("" ::: "memory")

/* Tile registers are numbers in the instructions: hence a macro. */
#define BEGIN_TILE(tile, t)                                                                        \
    do {                                                                                           \
        if (!(t).adds) {                                                                           \
            _tile_zero(tile);                                                                      \
        } else if (is_whole(&(t))) {                                                               \
            _tile_loadd(tile, (t).c, (t).ldc * 4);                                                 \
        } else {                                                                                   \
            fetch(&(t), buffer);                                                                   \
            FENCE;                                                                                 \
            _tile_loadd(tile, buffer, 64);                                                         \
        }                                                                                          \
    } while (0)

#define END_TILE(tile, t)                                                                          \
    do {                                                                                           \
        if (is_whole(&(t))) {                                                                      \
            _tile_stored(tile, (t).c, (t).ldc * 4);                                                \
        } else {                                                                                   \
            _tile_stored(tile, buffer, 64);                                                        \
            FENCE;                                                                                 \
            put(&(t), buffer);                                                                     \
        }                                                                                          \
    } while (0)

/* 32 rows and 32 columns, of which at least one each lies within c. */
static void block_amx(const struct hc_product16 *p, int64_t row, int64_t column)
{
    float buffer[EDGE][EDGE];
    int64_t tiles = (p->k + HC_TILE16_TERMS - 1) / HC_TILE16_TERMS;
    const uint16_t *a = p->a + row / EDGE * tiles * HC_TILE16;
    const uint16_t *b = p->b + column / EDGE * tiles * HC_TILE16;
    bool two_rows = row + EDGE < p->m;
    bool two_columns = column + EDGE < p->n;
    struct block c00 = part(p, row, column);
    struct block c01 = part(p, row, column + EDGE);
    struct block c10 = part(p, row + EDGE, column);
    struct block c11 = part(p, row + EDGE, column + EDGE);
    const uint16_t *a1 = two_rows ? a + tiles * HC_TILE16 : a;
    const uint16_t *b1 = two_columns ? b + tiles * HC_TILE16 : b;
    FENCE;
    BEGIN_TILE(0, c00);
    if (two_columns)
        BEGIN_TILE(1, c01);
    if (two_rows)
        BEGIN_TILE(2, c10);
    if (two_rows && two_columns)
        BEGIN_TILE(3, c11);
    for (int64_t i = 0; i < tiles; i++) {
        _tile_loadd(4, a + i * HC_TILE16, 64);
        _tile_loadd(6, b + i * HC_TILE16, 64);
        _tile_dpbf16ps(0, 4, 6);
        if (two_columns) {
            _tile_loadd(7, b1 + i * HC_TILE16, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (two_rows) {
            _tile_loadd(5, a1 + i * HC_TILE16, 64);
            _tile_dpbf16ps(2, 5, 6);
            if (two_columns)
                _tile_dpbf16ps(3, 5, 7);
        }
    }
    END_TILE(0, c00);
    if (two_columns)
        END_TILE(1, c01);
    if (two_rows)
        END_TILE(2, c10);
    if (two_rows && two_columns)
        END_TILE(3, c11);
    FENCE;
}

/* Eight tiles of 16 rows of 64 bytes. */
static void begin_amx(void)
{
    struct {
        uint8_t palette;
        uint8_t start;
        uint8_t zeros[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.bytes[i] = 64;
        config.rows[i] = EDGE;
    }
    FENCE;
    _tile_loadconfig(&config);
}

void hc_product16_amx(const struct hc_product16 *p)
{
    begin_amx();
    for (int64_t column = 0; column < p->n; column += 2 * EDGE)
        for (int64_t row = 0; row < p->m; row += 2 * EDGE)
            block_amx(p, row, column);
    _tile_release();
}

enum { ROWS = 8, COLUMNS = 3 }; /* of a block in registers: 8 rows of three vectors */

static __m512bh word(__m512i x)
{
    return (__m512bh)x;
}

/* `columns` vectors, a constant where this is inlined. */
static inline __attribute__((always_inline)) void
block_avx512(const struct hc_product16 *p, int64_t row, int64_t column, int columns)
{
    int64_t tiles = (p->k + HC_TILE16_TERMS - 1) / HC_TILE16_TERMS;
    const uint16_t *a = p->a + row / EDGE * tiles * HC_TILE16 + row % EDGE * HC_TILE16_TERMS;
    const uint16_t *b = p->b + column / EDGE * tiles * HC_TILE16;
    float *c = p->c + row * p->ldc + column;
    __m512 sum[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < columns; j++) {
            bool within = p->adds && row + i < p->m;
            __mmask16 mask = within ? lanes(p->n - column - j * EDGE) : 0;
            sum[i][j] = _mm512_maskz_loadu_ps(mask, c + i * p->ldc + j * EDGE);
        }
    for (int64_t t = 0; t < tiles; t++)
        for (int pair = 0; pair < EDGE; pair++) {
            __m512bh y[COLUMNS];
            for (int j = 0; j < columns; j++)
                y[j] = word(
                    _mm512_load_si512(b + (j * tiles + t) * HC_TILE16 + pair * HC_TILE16_TERMS));
            for (int i = 0; i < ROWS; i++) {
                int32_t x;
                memcpy(&x, a + t * HC_TILE16 + i * HC_TILE16_TERMS + 2 * pair, sizeof x);
                for (int j = 0; j < columns; j++)
                    sum[i][j] = _mm512_dpbf16_ps(sum[i][j], word(_mm512_set1_epi32(x)), y[j]);
            }
        }
    for (int i = 0; i < ROWS && row + i < p->m; i++)
        for (int j = 0; j < columns; j++)
            _mm512_mask_storeu_ps(c + i * p->ldc + j * EDGE, lanes(p->n - column - j * EDGE),
                                  sum[i][j]);
}

void hc_product16_avx512(const struct hc_product16 *p)
{
    for (int64_t column = 0; column < p->n; column += COLUMNS * EDGE)
        for (int64_t row = 0; row < p->m; row += ROWS) {
            int64_t left = p->n - column;
            if (left > 2 * EDGE)
                block_avx512(p, row, column, 3);
            else if (left > EDGE)
                block_avx512(p, row, column, 2);
            else
                block_avx512(p, row, column, 1);
        }
}

#endif
