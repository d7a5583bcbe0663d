#include "kernels/host/native/nan_taps.h"

#include <math.h>
#include <string.h>

enum { MAGNITUDE = 0x7fff, INFINITE = 0x7c00 }; /* of fp16 */

static bool is_nan(uint16_t x)
{
    return (x & MAGNITUDE) > INFINITE;
}

static bool fits(const struct hc_conv_shape *g)
{
    return g->r * g->s <= HC_NAN_TAPS;
}

bool hc_nan_taps_of_filter(const struct hc_conv_shape *g, const uint16_t *filter, uint64_t *taps)
{
    bool backward = g->op == HC_OP_conv2d_bwd_data;
    int64_t marked[HC_NAN_TAPS] = {0}; /* features whose bit is set */
    if (!fits(g))
        return false;
    memset(taps, 0, (size_t)(backward ? g->c : g->k) * sizeof *taps);
    for (int64_t k = 0; k < g->k; k++)
        for (int64_t t = 0; t < g->r * g->s; t++, filter += g->c) {
            uint64_t bit = (uint64_t)1 << t;
            if (!hc_any16(filter, g->c, INFINITE, INFINITE))
                continue;
            if (hc_any16(filter, g->c, MAGNITUDE, INFINITE))
                return false;
            if (!backward)
                taps[k] |= bit;
            for (int64_t c = 0; c < g->c && backward && marked[t] < g->c; c++)
                if (is_nan(filter[c]) && !(taps[c] & bit)) {
                    taps[c] |= bit;
                    marked[t]++;
                }
        }
    return true;
}

/* The taps that find a pixel, of those of an axis: bit t is row (column) t of the filter. */
static uint64_t found(const struct hc_axis *axis, int64_t result)
{
    uint64_t taps = 0;
    for (int64_t t = 0; t < axis->taps; t++) {
        int64_t at = result * axis->stride + axis->first + t * axis->step;
        if (at >= 0 && at < axis->sources)
            taps |= (uint64_t)1 << (axis->tap + t * axis->tap_step);
    }
    return taps;
}

/* The taps of the filter that lie inside the image at pixel i of the grid. */
static uint64_t inside(const struct hc_conv_shape *g, const struct hc_grid *grid, int64_t i)
{
    int64_t pixel = i % hc_grid_pixels(grid);
    uint64_t rows = found(&grid->rows, pixel / grid->columns.results);
    uint64_t columns = found(&grid->columns, pixel % grid->columns.results);
    uint64_t taps = 0;
    for (int64_t r = 0; r < g->r; r++)
        taps |= rows >> r & 1 ? columns << r * g->s : 0;
    return taps;
}

void hc_nan_taps_spread(const struct hc_conv_shape *g, const struct hc_grid *grid,
                        const uint64_t *taps, int64_t features, int64_t first, int64_t rows,
                        float *sums)
{
    for (int64_t i = 0; i < rows; i++, sums += features) {
        uint64_t seen = inside(g, grid, first + i);
        for (int64_t f = 0; f < features; f++)
            sums[f] = taps[f] & seen ? NAN : sums[f];
    }
}

bool hc_nan_taps_of_gradient(const struct hc_conv_shape *g, const struct hc_grid *grid,
                             const uint16_t *dy, uint64_t *taps)
{
    int64_t pixels = g->n * g->p * g->q;
    uint64_t all = 0;
    if (!fits(g))
        return false;
    memset(taps, 0, (size_t)g->k * sizeof *taps);
    for (int64_t t = 0; t < g->r * g->s; t++)
        all |= (uint64_t)1 << t;
    for (int64_t i = 0, full = 0; i < pixels && full < g->k; i++, dy += g->k) {
        if (!hc_any16(dy, g->k, INFINITE, INFINITE))
            continue;
        uint64_t seen = inside(g, grid, i);
        for (int64_t k = 0; k < g->k; k++)
            if (is_nan(dy[k]) && taps[k] != all) {
                taps[k] |= seen;
                full += taps[k] == all;
            }
    }
    return true;
}
