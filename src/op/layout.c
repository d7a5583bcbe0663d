/* Image layouts: both ways transpose a matrix for each image or filter. */
#include "op/layout.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* A tile of both matrices fits in the first cache. */
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
