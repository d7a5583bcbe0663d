/* dequantize: rows on all threads, a segment of each at a time. */
#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "op/quant.h"

/* The numbers of all codes, and the extents of a block. */
struct plan {
    const struct hc_queue *queue;
    const struct hc_call *call;
    int64_t columns;
    int64_t block_rows, block_columns;
    int64_t across; /* blocks */
    float value[256];
};

static void decode_row(const struct plan *p, int64_t row)
{
    const struct hc_call *call = p->call;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    const struct hc_tensor *scales = &call->in[HC_DEQUANTIZE_SCALES];
    const struct hc_tensor *y = &call->out[HC_DEQUANTIZE_Y];
    const float *tensor = call->in[HC_DEQUANTIZE_TENSOR].data;
    float scale[HC_SEGMENT + 1];
    float buffer[HC_SEGMENT];
    for (int64_t column = 0; column < p->columns; column += HC_SEGMENT) {
        int64_t n = p->columns - column < HC_SEGMENT ? p->columns - column : HC_SEGMENT;
        int64_t block = column / p->block_columns;
        int64_t last = (column + n - 1) / p->block_columns;
        int64_t at = row * p->columns + column;
        for (int64_t b = block; b <= last; b++)
            scale[b - block] = (float)hc_tensor_get(scales, row / p->block_rows * p->across + b);
        float *to = hc_host_target(y, at, buffer);
        p->queue->loops->dequantize(p->value, scale, tensor ? *tensor : 1,
                                    column - block * p->block_columns, n, p->block_columns,
                                    (const uint8_t *)codes->data + at, to);
        hc_host_flush(p->queue, y, at, n, to);
    }
}

enum hc_status hc_host_dequantize(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_dequantize *how = &call->params.dequantize;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    int64_t rows = codes->shape[0];
    bool large = rows * codes->shape[1] > HC_HOST_SMALL;
    struct plan p = {queue, call, .columns = codes->shape[1]};
    p.block_rows = hc_quant_block(rows, how->rows);
    p.block_columns = hc_quant_block(p.columns, how->columns);
    p.across = hc_quant_blocks(p.columns, how->columns);
    for (int c = 0; c < 256; c++)
        p.value[c] = (float)hc_decode(codes->format, (uint64_t)c);
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (large)
    for (int64_t row = 0; row < rows; row++)
        decode_row(&p, row);
    return HC_OK;
}
