#include "kernels/host/im2col.h"

#include <string.h>

/* Columns from .. to - 1 of col, which belong to filter row r, for a row of output pixels. The
   filter row lies on image row `row`, counted over all images. */
struct segment {
    int64_t row;
    int64_t r;
    int64_t from;
    int64_t to;
};

/* One output pixel, whose filter may reach beyond the left or right border of the image. */
static void gather_side(const struct hc_queue *queue, const struct hc_tensor *x,
                        const struct hc_conv_shape *g, const struct segment *t, int64_t q,
                        float *col)
{
    int64_t start = t->r * g->s * g->c;
    int64_t left = q * g->stride - g->pad; /* image column of s = 0 */
    int64_t low = start + (left < 0 ? -left : 0) * g->c;
    int64_t high = start + (left + g->s > g->w ? g->w - left : g->s) * g->c;
    low = low > t->from ? low : t->from;
    high = high < t->to ? high : t->to;
    memset(col, 0, (size_t)(t->to - t->from) * sizeof *col);
    if (low < high)
        queue->loops->load(x->format,
                           hc_host_element(x, (t->row * g->w + left) * g->c + low - start),
                           high - low, col + (low - t->from));
}

/* A row of output pixels, which are `step` floats apart in col. */
static void gather_row(const struct hc_queue *queue, const struct hc_tensor *x,
                       const struct hc_conv_shape *g, const struct segment *t, float *col,
                       int64_t step)
{
    int64_t start = t->r * g->s * g->c;
    int64_t first =
        (g->pad + g->stride - 1) / g->stride; /* filters within the image: first .. end - 1 */
    int64_t end = g->w + g->pad >= g->s ? (g->w + g->pad - g->s) / g->stride + 1 : 0;
    end = end < g->q ? end : g->q;
    first = first < end ? first : end;
    for (int64_t q = 0; q < first; q++)
        gather_side(queue, x, g, t, q, col + q * step);
    int64_t at = (t->row * g->w + first * g->stride - g->pad) * g->c + t->from - start;
    if (first < end)
        queue->loops->load_rows(x->format, hc_host_element(x, at), g->stride * g->c, end - first,
                                t->to - t->from, col + first * step, step);
    for (int64_t q = end; q < g->q; q++)
        gather_side(queue, x, g, t, q, col + q * step);
}

void hc_im2col(const struct hc_queue *queue, const struct hc_tensor *x,
               const struct hc_conv_shape *g, int64_t first, int64_t images, int64_t from,
               int64_t to, float *col)
{
    int64_t width = g->s * g->c;
    int64_t step = to - from;
    for (int64_t i = 0; i < images * g->p; i++, col += g->q * step)
        for (int64_t end, j = from; j < to; j = end) {
            int64_t r = j / width;
            int64_t row = i % g->p * g->stride - g->pad + r;
            end = (r + 1) * width < to ? (r + 1) * width : to;
            struct segment t = {(first + i / g->p) * g->h + row, r, j, end};
            if (row >= 0 && row < g->h)
                gather_row(queue, x, g, &t, col + (j - from), step);
            else
                for (int64_t q = 0; q < g->q; q++)
                    memset(col + (j - from) + q * step, 0, (size_t)(end - j) * sizeof *col);
        }
}
