/* Each product of a convolution by pixels: which pixels meet at which taps of the filter. Taps that
   lie in the padding are left out. */
#include "kernels/host/onednn/pixels.h"

#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The taps first .. end - 1 of a filter's row that lie inside an image when the filter stands at
   output column q; and the same of its rows. */
struct taps {
    int64_t first;
    int64_t end;
};

static struct taps taps_inside(int64_t q, int64_t taps, int64_t side, const struct hc_conv_shape *g)
{
    int64_t left = q * g->stride - g->pad;
    return (struct taps){left < 0 ? least(-left, taps) : 0,
                         left + taps > side ? (left < side ? side - left : 0) : taps};
}

void hc_pixel_forward(const struct hc_pixels *w, const struct hc_pixel_block *b, float *to,
                      int64_t ldc)
{
    const struct hc_conv_shape *g = &w->shape;
    int64_t row = b->pixel / g->q;
    int64_t left = b->pixel % g->q * g->stride - g->pad;
    struct taps rows = taps_inside(row, g->r, g->h, g);
    struct taps inside = taps_inside(b->pixel % g->q, g->s, g->w, g);
    int64_t width = inside.end > inside.first ? inside.end - inside.first : 0;
    struct hc_sgemm product = {.transpose_b = true,
                               .m = b->images,
                               .n = b->columns,
                               .lda = g->h * g->w * g->c,
                               .ldb = g->r * g->s * g->c,
                               .ldc = ldc};
    product.c = to;
    if (width == 0 || rows.first >= rows.end)
        hc_onednn_sgemm(w->onednn, &product);
    for (int64_t r = rows.first; r < rows.end && width > 0; r++) {
        int64_t h = row * g->stride - g->pad + r;
        product.k = width * g->c;
        product.a = w->first + ((b->first * g->h + h) * g->w + left + inside.first) * g->c;
        product.b = w->second + ((b->column * g->r + r) * g->s + inside.first) * g->c;
        product.beta = r > rows.first ? 1 : 0;
        hc_onednn_sgemm(w->onednn, &product);
    }
}

/* The output row or column on which tap t of the filter covers input row or column i; -1: none. */
static int64_t output_at(int64_t i, int64_t t, int64_t outputs, const struct hc_conv_shape *g)
{
    int64_t from = i + g->pad - t;
    bool inside = from >= 0 && from % g->stride == 0 && from / g->stride < outputs;
    return inside ? from / g->stride : -1;
}

void hc_pixel_to_data(const struct hc_pixels *w, const struct hc_pixel_block *b, float *to,
                      int64_t ldc)
{
    const struct hc_conv_shape *g = &w->shape;
    int64_t taps = g->r * g->s;
    struct hc_sgemm product = {
        .m = b->images, .n = b->columns, .lda = g->p * g->q * g->k, .ldb = taps * g->c, .ldc = ldc};
    product.c = to;
    for (int64_t t = 0; t < taps; t++) {
        int64_t p = output_at(b->pixel / g->w, t / g->s, g->p, g);
        int64_t q = output_at(b->pixel % g->w, t % g->s, g->q, g);
        if (p < 0 || q < 0)
            continue;
        product.k = g->k;
        product.a = w->first + ((b->first * g->p + p) * g->q + q) * g->k;
        product.b = w->second + t * g->c + b->column;
        hc_onednn_sgemm(w->onednn, &product);
        product.beta = 1;
    }
    if (product.k == 0)
        hc_onednn_sgemm(w->onednn, &product);
}

bool hc_pixel_reaches_padding(const struct hc_conv_shape *g, int64_t pixel)
{
    struct taps rows = taps_inside(pixel / g->q, g->r, g->h, g);
    struct taps inside = taps_inside(pixel % g->q, g->s, g->w, g);
    return rows.end - rows.first < g->r || inside.end - inside.first < g->s;
}

void hc_pixel_to_filter(const struct hc_pixels *w, int64_t r, int64_t filter, int64_t filters,
                        float *sums)
{
    const struct hc_conv_shape *g = &w->shape;
    int64_t columns = g->s * g->c;
    float *to = sums + (filter * g->r + r) * columns;
    struct hc_sgemm product = {.transpose_a = true,
                               .m = filters,
                               .k = g->n,
                               .lda = g->p * g->q * g->k,
                               .ldb = g->h * g->w * g->c,
                               .beta = 1,
                               .ldc = g->r * columns};
    for (int64_t i = 0; i < product.m; i++)
        memset(to + i * product.ldc, 0, (size_t)columns * sizeof *to);
    for (int64_t p = 0; p < g->p; p++) {
        int64_t h = p * g->stride - g->pad + r;
        for (int64_t q = 0; q < g->q && h >= 0 && h < g->h; q++) {
            struct taps inside = taps_inside(q, g->s, g->w, g);
            int64_t left = q * g->stride - g->pad + inside.first;
            if (inside.first >= inside.end)
                continue;
            product.n = (inside.end - inside.first) * g->c;
            product.a = w->second + (p * g->q + q) * g->k + filter;
            product.b = w->first + (h * g->w + left) * g->c;
            product.c = to + inside.first * g->c;
            hc_onednn_sgemm(w->onednn, &product);
        }
    }
}
