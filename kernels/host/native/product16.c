#include "kernels/host/native/product16.h"

#if defined __AMX_BF16__ || defined __AMXBF16__ /* as gcc and as clang call it */
#include <immintrin.h>
#include <string.h>

enum { EDGE = HC_TILE16_EDGE };

static __mmask16 lanes(int64_t n)
{
    return (__mmask16)(n >= EDGE ? 0xffffu : n > 0 ? (1u << n) - 1 : 0);
}

/* A tile of the sums. The tile instructions read and write 16 rows of 16: c itself, or a buffer
   where the tile reaches beyond c. */
struct tile {
    float *c;
    int64_t ldc;
    int64_t rows; /* within c; none if <= 0 */
    int64_t columns;
    float *at;
    int64_t step; /* bytes from one row to the next */
};

static bool is_whole(const struct tile *t)
{
    return t->rows >= EDGE && t->columns >= EDGE;
}

static struct tile begin_tile(const struct hc_product16 *p, int64_t row, int64_t column,
                              float buffer[EDGE][EDGE])
{
    struct tile t = {p->c + row * p->ldc + column, p->ldc, p->m - row, p->n - column, buffer[0],
                     EDGE * (int64_t)sizeof(float)};
    if (is_whole(&t)) {
        t.at = t.c;
        t.step = t.ldc * (int64_t)sizeof(float);
    }
    for (int i = 0; p->adds && t.at != t.c && i < EDGE && i < t.rows; i++)
        _mm512_storeu_ps(buffer[i], _mm512_maskz_loadu_ps(lanes(t.columns), t.c + i * t.ldc));
    return t;
}

static void end_tile(const struct tile *t)
{
    for (int i = 0; t->at != t->c && i < EDGE && i < t->rows; i++)
        _mm512_mask_storeu_ps(t->c + i * t->ldc, lanes(t->columns),
                              _mm512_loadu_ps(t->at + i * EDGE));
}

/* The compiler does not know that tile instructions read and write memory. */
static inline void fence(void)
{
    __asm__ volatile("" ::: "memory");
}

/* What a block of 32 rows and 32 columns multiplies: its edges of 16 in a and in b, of which the
   second lies `tiles` tiles behind the first, if there is one. */
struct factors {
    const uint16_t *a;
    const uint16_t *b;
    int64_t tiles;
    bool two_rows;
    bool two_columns;
};

/* The numbers of the tile registers are part of the instructions: 0 to 3 are sums, 4 and 5 of a, 6
   and 7 of b. */
static inline __attribute__((always_inline)) void multiply_amx(const struct factors *f)
{
    const uint16_t *a = f->a;
    const uint16_t *b = f->b;
    int64_t next = f->tiles * HC_TILE16;
    for (int64_t i = 0; i < f->tiles; i++, a += HC_TILE16, b += HC_TILE16) {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 64);
        _tile_dpbf16ps(0, 4, 6);
        if (f->two_columns) {
            _tile_loadd(7, b + next, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (f->two_rows) {
            _tile_loadd(5, a + next, 64);
            _tile_dpbf16ps(2, 5, 6);
            if (f->two_columns)
                _tile_dpbf16ps(3, 5, 7);
        }
    }
}

/* 32 rows and 32 columns, of which at least one each lies within c. */
static void block_amx(const struct hc_product16 *p, int64_t row, int64_t column)
{
    float buffer[4][EDGE][EDGE];
    int64_t tiles = (p->k + HC_TILE16_TERMS - 1) / HC_TILE16_TERMS;
    int64_t a = row / EDGE * tiles * HC_TILE16;
    int64_t b = column / EDGE * tiles * HC_TILE16;
    bool two_rows = row + EDGE < p->m;
    bool two_columns = column + EDGE < p->n;
    struct factors f = {p->a + a, p->b + b, tiles, two_rows, two_columns};
    struct tile t[4];
    for (int i = 0; i < 4; i++)
        t[i] = begin_tile(p, row + i / 2 * EDGE, column + i % 2 * EDGE, buffer[i]);
    fence();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (p->adds) {
        _tile_loadd(0, t[0].at, t[0].step);
        if (two_columns)
            _tile_loadd(1, t[1].at, t[1].step);
        if (two_rows)
            _tile_loadd(2, t[2].at, t[2].step);
        if (two_rows && two_columns)
            _tile_loadd(3, t[3].at, t[3].step);
    }
    if (p->a_low) {
        struct factors low_low = {p->a_low + a, p->b_low + b, tiles, two_rows, two_columns};
        struct factors low_high = {p->a_low + a, p->b + b, tiles, two_rows, two_columns};
        struct factors high_low = {p->a + a, p->b_low + b, tiles, two_rows, two_columns};
        multiply_amx(&low_low);
        multiply_amx(&low_high);
        multiply_amx(&high_low);
    }
    multiply_amx(&f);
    _tile_stored(0, t[0].at, t[0].step);
    if (two_columns)
        _tile_stored(1, t[1].at, t[1].step);
    if (two_rows)
        _tile_stored(2, t[2].at, t[2].step);
    if (two_rows && two_columns)
        _tile_stored(3, t[3].at, t[3].step);
    fence();
    for (int i = 0; i < 4; i++)
        if ((two_rows || i < 2) && (two_columns || i % 2 == 0))
            end_tile(&t[i]);
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
    fence();
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
