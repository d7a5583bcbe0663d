#include "kernels/host/native/patches16.h"

#include <stddef.h>
#include <string.h>

#ifdef __AVX512BW__
#include <immintrin.h>
#endif

enum { TERMS = HC_TILE16_TERMS, EDGE = HC_TILE16_EDGE };

static struct hc_axis forward(int64_t results, int64_t sources, int64_t taps, int64_t stride,
                              int64_t pad)
{
    return (struct hc_axis){.results = results,
                            .result_step = 1,
                            .sources = sources,
                            .stride = stride,
                            .first = -pad,
                            .step = 1,
                            .taps = taps,
                            .tap_step = 1};
}

/* Pixels phase, phase + stride, ... of the result, which meet every stride-th tap. */
static struct hc_axis backward(int64_t results, int64_t sources, int64_t taps, int64_t stride,
                               int64_t pad, int64_t phase)
{
    int64_t tap = (phase + pad) % stride;
    return (struct hc_axis){.results = results > phase ? (results - phase - 1) / stride + 1 : 0,
                            .result = phase,
                            .result_step = stride,
                            .sources = sources,
                            .stride = 1,
                            .first = (phase + pad - tap) / stride,
                            .step = -1,
                            .taps = taps > tap ? (taps - tap - 1) / stride + 1 : 0,
                            .tap = tap,
                            .tap_step = stride};
}

/* Phases of an axis that have pixels: a stride may be far longer than the image. */
static int64_t phases(int64_t results, int64_t stride)
{
    return results < stride ? results : stride;
}

int64_t hc_grids(const struct hc_conv_shape *g)
{
    bool backward = g->op == HC_OP_conv2d_bwd_data;
    return backward ? phases(g->h, g->stride) * phases(g->w, g->stride) : 1;
}

struct hc_grid hc_grid_of(const struct hc_conv_shape *g, int64_t i, const uint16_t *from)
{
    if (g->op != HC_OP_conv2d_bwd_data)
        return (struct hc_grid){forward(g->p, g->h, g->r, g->stride, g->pad),
                                forward(g->q, g->w, g->s, g->stride, g->pad), g->c, from};
    int64_t columns = phases(g->w, g->stride);
    return (struct hc_grid){backward(g->h, g->p, g->r, g->stride, g->pad, i / columns),
                            backward(g->w, g->q, g->s, g->stride, g->pad, i % columns), g->k, from};
}

int64_t hc_grid_pixels(const struct hc_grid *g)
{
    return g->rows.results * g->columns.results;
}

int64_t hc_grid_terms(const struct hc_grid *g)
{
    return g->rows.taps * g->columns.taps * g->channels;
}

int64_t hc_grid_result(const struct hc_grid *g, int64_t i, int64_t h, int64_t w)
{
    int64_t image = i / hc_grid_pixels(g);
    int64_t row = i % hc_grid_pixels(g) / g->columns.results;
    int64_t column = i % g->columns.results;
    return (image * h + g->rows.result + row * g->rows.result_step) * w + g->columns.result +
           column * g->columns.result_step;
}

const uint16_t *hc_grid_source(const struct hc_grid *g, int64_t i, int64_t row, int64_t column)
{
    int64_t image = i / hc_grid_pixels(g);
    int64_t y = i % hc_grid_pixels(g) / g->columns.results * g->rows.stride + g->rows.first +
                row * g->rows.step;
    int64_t x =
        i % g->columns.results * g->columns.stride + g->columns.first + column * g->columns.step;
    if (y < 0 || y >= g->rows.sources || x < 0 || x >= g->columns.sources)
        return NULL;
    return g->from + ((image * g->rows.sources + y) * g->columns.sources + x) * g->channels;
}

int64_t hc_grid_buffer(const struct hc_grid *g)
{
    return g->channels % TERMS ? EDGE * hc_grid_terms(g) + TERMS : 0;
}

/* The channels of one tap for 16 pixels, whole tiles of them. */
static void pack_tap(const struct hc_grid *g, const uint16_t *const source[TERMS], uint16_t *to)
{
    static const uint16_t zeros[TERMS];
    for (int64_t c = 0; c < g->channels; c += TERMS)
        for (int p = 0; p < EDGE; p++, to += TERMS)
            memcpy(to, source[p] ? source[p] + c : zeros, sizeof zeros);
}

/* n numbers, and up to 31 zeros behind them: whole vectors are written. */
static void copy(uint16_t *to, const uint16_t *from, int64_t n)
{
#ifdef __AVX512BW__
    for (int64_t i = 0; i < n; i += TERMS) {
        __mmask32 mask = n - i >= TERMS ? 0xffffffff : ((__mmask32)1 << (n - i)) - 1;
        _mm512_storeu_si512(to + i, _mm512_maskz_loadu_epi16(mask, from + i));
    }
#else
    memcpy(to, from, (size_t)n * sizeof *to);
#endif
}

static void clear(uint16_t *to, int64_t n)
{
    static const uint16_t zeros[TERMS];
    for (int64_t i = 0; i < n; i += TERMS)
        memcpy(to + i, zeros, sizeof zeros);
}

/* Where tap (0, 0) of up to 32 pixels looks: row, column, and place in the tensor, which lies
   outside it where the row or the column does. */
struct corners {
    int32_t y[TERMS];
    int32_t x[TERMS];
    int64_t at[TERMS];
};

/* Of n pixels from `first` on. Divisions take longer than the products, so there are few. */
static void find_corners(const struct hc_grid *g, int64_t first, int64_t n, struct corners *to)
{
    int64_t in_image = first % hc_grid_pixels(g);
    int64_t row = in_image / g->columns.results;
    int64_t column = in_image % g->columns.results;
    int64_t image = first / hc_grid_pixels(g) * g->rows.sources;
    for (int64_t p = 0; p < n; p++) {
        int64_t y = row * g->rows.stride + g->rows.first;
        int64_t x = column * g->columns.stride + g->columns.first;
        to->y[p] = (int32_t)y;
        to->x[p] = (int32_t)x;
        to->at[p] = ((image + y) * g->columns.sources + x) * g->channels;
        if (++column < g->columns.results)
            continue;
        column = 0;
        if (++row < g->rows.results)
            continue;
        row = 0;
        image += g->rows.sources;
    }
    for (int64_t p = n; p < TERMS; p++)
        to->y[p] = INT32_MIN / 2; /* sees nothing */
}

/* What 32 pixels see by a tap. */
static void find_sources(const struct hc_grid *g, const struct corners *corners, int64_t row,
                         int64_t column, const uint16_t *source[TERMS])
{
    int32_t down = (int32_t)(row * g->rows.step);
    int32_t right = (int32_t)(column * g->columns.step);
    uint32_t height = (uint32_t)g->rows.sources;
    uint32_t width = (uint32_t)g->columns.sources;
    int64_t away = (down * g->columns.sources + right) * g->channels;
    for (int p = 0; p < TERMS; p++) {
        bool inside =
            (uint32_t)(corners->y[p] + down) < height && (uint32_t)(corners->x[p] + right) < width;
        source[p] = inside ? g->from + corners->at[p] + away : NULL;
    }
}

/* What one row of taps of a pixel sees: `from` is where tap 0 looks, in column x of the image. Taps
   that look at neighbours in the order of memory are copied at once. */
static void write_row(const struct hc_grid *g, int64_t x, const uint16_t *from, uint16_t *to)
{
    int64_t c = g->channels;
    int64_t taps = g->columns.taps;
    int64_t width = g->columns.sources;
    if (g->columns.step == 1) {
        int64_t low = x < 0 ? -x : 0;
        int64_t high = taps < width - x ? taps : width - x;
        low = low < taps ? low : taps;
        high = high > low ? high : low;
        clear(to, low * c);
        copy(to + low * c, from + low * c, (high - low) * c);
        clear(to + high * c, (taps - high) * c);
        return;
    }
    for (int64_t t = 0; t < taps; t++) {
        int64_t at = x + t * g->columns.step;
        if (at >= 0 && at < width)
            copy(to + t * c, from + t * g->columns.step * c, c);
        else
            clear(to + t * c, c);
    }
}

/* The patches of n pixels, one behind the other. Each is written before the one behind it, of which
   it may spoil the beginning. */
static void write_patches(const struct hc_grid *g, const struct corners *corners, int64_t n,
                          uint16_t *to)
{
    int64_t width = g->columns.taps * g->channels;
    for (int64_t p = 0; p < n; p++)
        for (int64_t row = 0; row < g->rows.taps; row++, to += width) {
            int64_t down = row * g->rows.step;
            int64_t y = corners->y[p] + down;
            int64_t at = corners->at[p] + down * g->columns.sources * g->channels;
            if (y >= 0 && y < g->rows.sources)
                write_row(g, corners->x[p], g->from + at, to);
            else
                clear(to, width);
        }
}

void hc_pack16_pixels(const struct hc_grid *g, int64_t first, int64_t end, uint16_t *buffer,
                      uint16_t *to)
{
    int64_t terms = hc_grid_terms(g);
    int64_t n = end - first;
    struct corners corners;
    find_corners(g, first, n, &corners);
    if (g->channels % TERMS) {
        write_patches(g, &corners, n, buffer);
        hc_pack16_rows(&(struct hc_matrix16){buffer, terms, n, terms, true}, 0, to);
        return;
    }
    for (int64_t row = 0; row < g->rows.taps; row++)
        for (int64_t column = 0; column < g->columns.taps; column++) {
            const uint16_t *source[TERMS];
            find_sources(g, &corners, row, column, source);
            pack_tap(g, source, to);
            to += g->channels * EDGE;
        }
}

static bool in_place(const struct hc_grid *g)
{
    return g->channels % EDGE == 0;
}

int64_t hc_patches_buffer(const struct hc_grid *g)
{
    return in_place(g) ? 0 : TERMS * hc_grid_terms(g) + TERMS;
}

/* One tile: column `column` of the patches and the 15 behind it, which belong to one tap. */
static void pair_tile(const struct hc_grid *g, const uint16_t *const source[TERMS], int64_t column,
                      uint16_t *to)
{
    int64_t c = column % g->channels;
    for (int p = 0; p < TERMS; p += 2)
        hc_pair16(source[p] ? source[p] + c : NULL, source[p + 1] ? source[p + 1] + c : NULL,
                  to + p * EDGE);
}

/* Columns from .. to - 1 of the patches of up to 32 pixels, tile t of each edge. */
static void pair_patches(const struct hc_grid *g, const struct hc_patches16 *p,
                         const struct corners *corners, int64_t tiles, uint16_t *to)
{
    for (int64_t tap = p->from / g->channels; tap * g->channels < p->to; tap++) {
        const uint16_t *source[TERMS];
        int64_t start = tap * g->channels;
        find_sources(g, corners, tap / g->columns.taps, tap % g->columns.taps, source);
        for (int64_t c = start; c < start + g->channels; c += EDGE)
            if (c >= p->from && c < p->to)
                pair_tile(g, source, c, to + (c - p->from) / EDGE * tiles * HC_TILE16);
    }
}

void hc_pack16_patches(const struct hc_grid *g, const struct hc_patches16 *p, uint16_t *buffer,
                       uint16_t *to)
{
    int64_t width = p->to - p->from;
    int64_t tiles = (p->end - p->first + TERMS - 1) / TERMS;
    for (int64_t t = 0; t < tiles; t++, to += HC_TILE16) {
        struct corners corners;
        int64_t first = p->first + t * TERMS;
        int64_t n = p->end - first < TERMS ? p->end - first : TERMS;
        find_corners(g, first, n, &corners);
        if (in_place(g)) {
            pair_patches(g, p, &corners, tiles, to);
            continue;
        }
        struct hc_matrix16 matrix = {buffer + p->from, hc_grid_terms(g), width, n, false};
        write_patches(g, &corners, n, buffer);
        for (int64_t j = 0; j < width; j += EDGE)
            hc_pack16_columns(&matrix, j, to + j / EDGE * tiles * HC_TILE16);
    }
}
