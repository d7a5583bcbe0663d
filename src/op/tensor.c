/* Tensors: their elements (tensor.h), and the layouts of images (layout.h). */
#include "op/tensor.h"

#include <assert.h>
#include <string.h>

#include "num/bits.h"
#include "op/layout.h"

struct hc_tensor hc_tensor1(enum hc_format format, int64_t n, void *data)
{
    return (struct hc_tensor){format, 1, {n, 1, 1, 1}, data};
}

struct hc_tensor hc_tensor2(enum hc_format format, int64_t rows, int64_t columns, void *data)
{
    return (struct hc_tensor){format, 2, {rows, columns, 1, 1}, data};
}

struct hc_tensor hc_tensor3(enum hc_format format, int64_t a, int64_t b, int64_t c, void *data)
{
    return (struct hc_tensor){format, 3, {a, b, c, 1}, data};
}

struct hc_tensor hc_tensor4(enum hc_format format, int64_t n, int64_t h, int64_t w, int64_t c,
                            void *data)
{
    return (struct hc_tensor){format, 4, {n, h, w, c}, data};
}

uint64_t hc_tensor_bits(const struct hc_tensor *t, int64_t i)
{
    switch (hc_formats[t->format].bytes) {
    case 1:
        return ((const uint8_t *)t->data)[i];
    case 2:
        return ((const uint16_t *)t->data)[i];
    case 4:
        return ((const uint32_t *)t->data)[i];
    default:
        return ((const uint64_t *)t->data)[i];
    }
}

void hc_tensor_set_bits(const struct hc_tensor *t, int64_t i, uint64_t bits)
{
    switch (hc_formats[t->format].bytes) {
    case 1:
        ((uint8_t *)t->data)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)t->data)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)t->data)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)t->data)[i] = bits;
    }
}

double hc_tensor_get(const struct hc_tensor *t, int64_t i)
{
    switch (t->format) {
    case HC_FP64:
        return hc_fp64_value(((const uint64_t *)t->data)[i]);
    case HC_FP32:
    case HC_TF32:
        return (double)hc_fp32_value(((const uint32_t *)t->data)[i]);
    case HC_FP16:
        return (double)hc_fp16_value(((const uint16_t *)t->data)[i]);
    case HC_BF16:
        return (double)hc_bf16_value(((const uint16_t *)t->data)[i]);
    default:
        return hc_decode(t->format, hc_tensor_bits(t, i));
    }
}

void hc_tensor_set(const struct hc_tensor *t, int64_t i, double value)
{
    hc_tensor_set_bits(t, i, hc_encode(t->format, value, 0, HC_NEAREST));
}

/* Image layouts: both ways transpose a matrix for each image or filter. A tile of both matrices
   fits in the first cache. */
enum { TILE = 32 };

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* from [rows, columns] to [columns, rows], of elements of `bytes` bytes. It is inlined for each
   size, so that an element is copied by one instruction. */
static inline void transpose(const unsigned char *from, unsigned char *to, int64_t rows,
                             int64_t columns, size_t bytes)
{
    for (int64_t r = 0; r < rows; r += TILE)
        for (int64_t c = 0; c < columns; c += TILE)
            for (int64_t j = c; j < smaller(c + TILE, columns); j++)
                for (int64_t i = r; i < smaller(r + TILE, rows); i++)
                    memcpy(to + (size_t)(j * rows + i) * bytes,
                           from + (size_t)(i * columns + j) * bytes, bytes);
}

static void transpose_all(const struct hc_tensor *from, struct hc_tensor *to, int64_t rows,
                          int64_t columns)
{
    size_t bytes = (size_t)hc_formats[from->format].bytes;
    for (int64_t n = 0; n < from->shape[0]; n++) {
        size_t at = (size_t)(n * rows * columns) * bytes;
        const unsigned char *matrix = (const unsigned char *)from->data + at;
        unsigned char *transposed = (unsigned char *)to->data + at;
        switch (bytes) {
        case 1:
            transpose(matrix, transposed, rows, columns, 1);
            break;
        case 2:
            transpose(matrix, transposed, rows, columns, 2);
            break;
        case 4:
            transpose(matrix, transposed, rows, columns, 4);
            break;
        default:
            transpose(matrix, transposed, rows, columns, 8);
        }
    }
}

void hc_tensor_to_nchw(const struct hc_tensor *nhwc, struct hc_tensor *to)
{
    const int64_t *s = nhwc->shape;
    assert(nhwc->rank == 4 && to->rank == 4 && to->format == nhwc->format);
    assert(to->shape[0] == s[0] && to->shape[1] == s[3] && to->shape[2] == s[1] &&
           to->shape[3] == s[2]);
    transpose_all(nhwc, to, s[1] * s[2], s[3]);
}

void hc_tensor_to_nhwc(const struct hc_tensor *nchw, struct hc_tensor *to)
{
    const int64_t *s = nchw->shape;
    assert(nchw->rank == 4 && to->rank == 4 && to->format == nchw->format);
    assert(to->shape[0] == s[0] && to->shape[1] == s[2] && to->shape[2] == s[3] &&
           to->shape[3] == s[1]);
    transpose_all(nchw, to, s[1], s[2] * s[3]);
}
