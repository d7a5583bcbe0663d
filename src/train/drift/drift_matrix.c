#include "train/drift/drift_matrix.h"

#include <string.h>

/* +++-+------+-+--, the signs of op/quant.h. */
static const int signs[HC_HADAMARD] = {1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1};

/* 16 neighbours times the signs and Sylvester's matrix / 4, in fp64. */
static void rotate(double v[HC_HADAMARD])
{
    for (int i = 0; i < HC_HADAMARD; i++)
        v[i] *= signs[i] / 4.0;
    for (int apart = 1; apart < HC_HADAMARD; apart *= 2)
        for (int i = 0; i < HC_HADAMARD; i++)
            if (!(i & apart)) {
                double a = v[i];
                v[i] = a + v[i + apart];
                v[i + apart] = a - v[i + apart];
            }
}

void hc_matrix_decode(const struct hc_call *quantize, double *to)
{
    const struct hc_tensor *codes = &quantize->out[HC_QUANTIZE_CODES];
    const struct hc_tensor *scales = &quantize->out[HC_QUANTIZE_SCALES];
    double tensor = hc_tensor_get(&quantize->out[HC_QUANTIZE_TENSOR], 0);
    int64_t rows = hc_quant_block(codes->shape[0], quantize->params.quantize.rows);
    int64_t columns = hc_quant_block(codes->shape[1], quantize->params.quantize.columns);
    double number[256];
    uint8_t code[256];
    struct hc_tensor all = hc_tensor1(codes->format, 256, code);
    const uint8_t *from = codes->data;
    for (int i = 0; i < 256; i++) {
        code[i] = (uint8_t)(i & ((1 << hc_formats[codes->format].bits) - 1));
        number[i] = hc_tensor_get(&all, i);
    }
    for (int64_t i = 0; i < codes->shape[0]; i++)
        for (int64_t j = 0; j < codes->shape[1]; j += columns) {
            int64_t block = i / rows * scales->shape[1] + j / columns;
            double scale = hc_tensor_get(scales, block) * tensor;
            int64_t n = j + columns < codes->shape[1] ? columns : codes->shape[1] - j;
            for (int64_t k = 0; k < n; k++)
                *to++ = number[*from++] * scale;
        }
}

void hc_matrix_take(const struct hc_call *quantize, double *to)
{
    const struct hc_tensor *x = &quantize->in[HC_QUANTIZE_X];
    const struct hc_quantize *p = &quantize->params.quantize;
    const double *from = x->data;
    int64_t n = hc_tensor_count(x);
    int64_t rows = x->shape[0];
    int64_t columns = x->shape[1];
    if (p->transpose)
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++)
                to[j * rows + i] = from[i * columns + j];
    else
        memcpy(to, from, (size_t)n * sizeof *to);
    for (int64_t i = 0; i < n && p->hadamard; i += HC_HADAMARD)
        rotate(to + i);
}

/* An image, and how a filter goes over it. */
struct walk {
    double *x;
    int64_t images, height, width, channels;
    int64_t kernel, stride, pad;
};

static struct walk walk_of(const struct hc_tensor *x, const struct hc_columns *p)
{
    return (struct walk){x->data,     x->shape[0], x->shape[1], x->shape[2],
                         x->shape[3], p->kernel,   p->stride,   p->pad};
}

static int64_t positions(const struct walk *w, int64_t extent)
{
    return (extent + 2 * w->pad - w->kernel) / w->stride + 1;
}

/* The channels of pixel (h, w) of image n; NULL: padding. */
static double *pixel(const struct walk *w, int64_t n, int64_t h, int64_t v)
{
    if (h < 0 || h >= w->height || v < 0 || v >= w->width)
        return NULL;
    return w->x + ((n * w->height + h) * w->width + v) * w->channels;
}

/* Copies the channels of a pixel into a column, or adds the column to them. Padding is 0. */
static void meet(double *pixel, double *column, int64_t channels, bool back)
{
    for (int64_t c = 0; c < channels; c++)
        if (!back)
            column[c] = pixel ? pixel[c] : 0;
        else if (pixel)
            pixel[c] += column[c];
}

/* Takes each pixel that the filter meets together with its place in the columns. */
static void each(const struct walk *w, double *columns, bool back)
{
    for (int64_t n = 0; n < w->images; n++)
        for (int64_t p = 0; p < positions(w, w->height); p++)
            for (int64_t q = 0; q < positions(w, w->width); q++)
                for (int64_t i = 0; i < w->kernel * w->kernel; i++) {
                    int64_t h = p * w->stride - w->pad + i / w->kernel;
                    int64_t v = q * w->stride - w->pad + i % w->kernel;
                    meet(pixel(w, n, h, v), columns, w->channels, back);
                    columns += w->channels;
                }
}

void hc_matrix_gather(const struct hc_call *call)
{
    struct walk w = walk_of(&call->in[HC_IM2COL_X], &call->params.columns);
    each(&w, call->out[HC_IM2COL_COLUMNS].data, false);
}

void hc_matrix_scatter(const struct hc_call *call)
{
    const struct hc_tensor *dx = &call->out[HC_COL2IM_DX];
    struct walk w = walk_of(dx, &call->params.columns);
    memset(dx->data, 0, hc_tensor_bytes(dx));
    each(&w, call->in[HC_COL2IM_COLUMNS].data, true);
}
