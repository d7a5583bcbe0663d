/* Convolutions as sums of products of the taps that lie inside the image; those in the padding are
   left out, not multiplied by zero. Order of the terms: forward r, s, c; backward-data r, s, k;
   backward-filter n, p, q. */
#include "kernels/exact/double.h"
#include "kernels/conv_shape.h"
#include "kernels/exact/exact.h"
#include "kernels/exact/tile.h"
#include "kernels/tf32.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The sums of y[n, p, q, 16 filters] whose packed weights are given. */
static void forward(const struct hc_conv_shape *g, const float *x, const float *weights, int64_t n,
                    int64_t p, int64_t q, float *sum)
{
    int64_t left = q * g->stride - g->pad;
    int64_t s0 = larger(0, -left);
    int64_t s1 = smaller(g->s, g->w - left);
    for (int64_t r = 0; r < g->r && s0 < s1; r++) {
        int64_t h = p * g->stride - g->pad + r;
        if (h >= 0 && h < g->h)
            hc_tile_add(x + ((n * g->h + h) * g->w + left + s0) * g->c, 1, (s1 - s0) * g->c,
                        weights + (r * g->s + s0) * g->c * HC_TILE, sum);
    }
}

enum hc_status hc_exact_conv2d(struct hc_queue *queue, const struct hc_call *call)
{
    if (hc_is_double(call))
        return hc_double_conv(call);
    if (hc_call_tf32(call))
        return hc_tf32_run(queue, call, hc_exact_conv2d);
    const struct hc_tensor *y = &call->out[0];
    struct hc_conv_shape g = hc_conv_shape_of(call);
    int64_t taps = g.r * g.s * g.c;
    float *packed = call->scratch;
    struct hc_tile_matrix w = {&call->in[1], 0, taps, 1, g.k, taps};
    const float *x = hc_tile_floats(&call->in[0], hc_tile_pack(&w, packed));
    for (int64_t k = 0; k < g.k; k += HC_TILE)
        for (int64_t n = 0; n < g.n; n++)
            for (int64_t p = 0; p < g.p; p++)
                for (int64_t q = 0; q < g.q; q++) {
                    float sum[HC_TILE] = {0};
                    forward(&g, x, packed + k * taps, n, p, q, sum);
                    hc_tile_store(y, ((n * g.p + p) * g.q + q) * g.k + k, 1, k, g.k, sum);
                }
    return HC_OK;
}

/* The output row or column that tap `tap` takes place `at` to, or -1. */
static int64_t output_of(const struct hc_conv_shape *g, int64_t at, int64_t tap, int64_t extent)
{
    int64_t scaled = at + g->pad - tap;
    if (scaled < 0 || scaled % g->stride != 0 || scaled / g->stride >= extent)
        return -1;
    return scaled / g->stride;
}

/* The sums of dx[n, h, w, c .. c + 15]. */
static void backward(const struct hc_conv_shape *g, const float *dy, const float *packed, int64_t n,
                     int64_t h, int64_t w, int64_t c, float *sum)
{
    int64_t padded = hc_tile_padded(g->c);
    for (int64_t r = 0; r < g->r; r++) {
        int64_t p = output_of(g, h, r, g->p);
        for (int64_t s = 0; s < g->s && p >= 0; s++) {
            int64_t q = output_of(g, w, s, g->q);
            if (q >= 0)
                hc_tile_add(dy + ((n * g->p + p) * g->q + q) * g->k, 1, g->k,
                            packed + ((r * g->s + s) * padded + c) * g->k, sum);
        }
    }
}

enum hc_status hc_exact_conv2d_bwd_data(struct hc_queue *queue, const struct hc_call *call)
{
    if (hc_is_double(call))
        return hc_double_conv(call);
    if (hc_call_tf32(call))
        return hc_tf32_run(queue, call, hc_exact_conv2d_bwd_data);
    const struct hc_tensor *dx = &call->out[0];
    struct hc_conv_shape g = hc_conv_shape_of(call);
    float *packed = call->scratch;
    float *end = packed;
    for (int64_t tap = 0; tap < g.r * g.s; tap++) {
        struct hc_tile_matrix w = {&call->in[1], tap * g.c, g.k, g.r * g.s * g.c, g.c, 1};
        end = hc_tile_pack(&w, end);
    }
    const float *dy = hc_tile_floats(&call->in[0], end);
    for (int64_t c = 0; c < g.c; c += HC_TILE)
        for (int64_t n = 0; n < g.n; n++)
            for (int64_t h = 0; h < g.h; h++)
                for (int64_t w = 0; w < g.w; w++) {
                    float sum[HC_TILE] = {0};
                    backward(&g, dy, packed, n, h, w, c, sum);
                    hc_tile_store(dx, ((n * g.h + h) * g.w + w) * g.c + c, 1, c, g.c, sum);
                }
    return HC_OK;
}

/* Adds what the output row (n, p) gives to the sums [taps, 16] of dw; dy is packed for these 16. */
static void filter(const struct hc_conv_shape *g, const float *x, const float *dy, int64_t n,
                   int64_t p, float *sums)
{
    for (int64_t r = 0; r < g->r; r++) {
        int64_t h = p * g->stride - g->pad + r;
        for (int64_t s = 0; s < g->s && h >= 0 && h < g->h; s++) {
            int64_t left = s - g->pad;
            int64_t q0 = left < 0 ? (-left + g->stride - 1) / g->stride : 0;
            int64_t q1 = g->w > left ? (g->w - left + g->stride - 1) / g->stride : 0;
            q1 = smaller(q1, g->q);
            const float *from = x + ((n * g->h + h) * g->w + q0 * g->stride + left) * g->c;
            for (int64_t c = 0; c < g->c && q0 < q1; c++)
                hc_tile_add(from + c, g->stride * g->c, q1 - q0,
                            dy + ((n * g->p + p) * g->q + q0) * HC_TILE,
                            sums + ((r * g->s + s) * g->c + c) * HC_TILE);
        }
    }
}

enum hc_status hc_exact_conv2d_bwd_filter(struct hc_queue *queue, const struct hc_call *call)
{
    if (hc_is_double(call))
        return hc_double_conv(call);
    if (hc_call_tf32(call))
        return hc_tf32_run(queue, call, hc_exact_conv2d_bwd_filter);
    const struct hc_tensor *dw = &call->out[0];
    struct hc_conv_shape g = hc_conv_shape_of(call);
    int64_t taps = g.r * g.s * g.c;
    int64_t pixels = g.n * g.p * g.q;
    float *sums = call->scratch;
    float *packed = sums + taps * HC_TILE;
    struct hc_tile_matrix dy = {&call->in[1], 0, pixels, g.k, g.k, 1};
    const float *x = hc_tile_floats(&call->in[0], hc_tile_pack(&dy, packed));
    for (int64_t k = 0; k < g.k; k += HC_TILE) {
        for (int64_t i = 0; i < taps * HC_TILE; i++)
            sums[i] = 0;
        for (int64_t n = 0; n < g.n; n++)
            for (int64_t p = 0; p < g.p; p++)
                filter(&g, x, packed + k * pixels, n, p, sums);
        for (int64_t tap = 0; tap < taps; tap++)
            hc_tile_store(dw, k * taps + tap, taps, k, g.k, sums + tap * HC_TILE);
    }
    return HC_OK;
}
