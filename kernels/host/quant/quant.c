/* quantize, and below it dequantize: strips of rows on all threads, in three passes as `exact`
   makes them. The amaxes of the first pass are kept by row, so that no two strips write the same
   one. */
#include <string.h>

#include "kernels/element/quant.h"
#include "kernels/element/scale_rule.h"
#include "kernels/host/host.h"
#include "op/quant.h"

struct plan {
    const struct hc_queue *queue;
    const struct hc_call *call;
    int64_t rows, columns; /* of codes */
    int64_t block_rows, block_columns;
    int64_t down, across; /* blocks */
    float *amax;          /* [rows, across] */
    float *encode;        /* [down, across]; amax itself if blocks are of one row */
    struct hc_scale_formats formats;
    struct hc_tensor_scale tensor;
};

typedef void strip_work(const struct plan *p, int64_t row, int64_t rows);

/* `height` rows at a time, which are strips. A small call is the calling thread's. */
static void each_part(const struct plan *p, int64_t rows, int64_t columns, int64_t height,
                      strip_work *work)
{
    if (p->queue->threads == 1 || rows * columns <= HC_HOST_SMALL) {
        for (int64_t row = 0; row < rows; row += height)
            work(p, row, rows - row < height ? rows - row : height);
        return;
    }
#pragma omp parallel for num_threads(p->queue->threads) schedule(static)
    for (int64_t row = 0; row < rows; row += height)
        work(p, row, rows - row < height ? rows - row : height);
}

/* All rows' elements of a segment lie together in an x that is transposed. Each thread takes as
   many strips as it will have, so that it finds that segment in its cache for each of them. */
static int64_t height_of(const struct plan *p)
{
    int64_t strips = (p->rows + HC_STRIP - 1) / HC_STRIP;
    int64_t threads = p->queue->threads;
    return p->call->params.quantize.transpose && strips > 0
               ? (strips + threads - 1) / threads * HC_STRIP
               : HC_STRIP;
}

static struct plan plan_of(const struct hc_queue *queue, const struct hc_call *call,
                           const struct hc_tensor *codes, int64_t rows, int64_t columns)
{
    struct plan p = {queue, call, .rows = codes->shape[0], .columns = codes->shape[1]};
    p.block_rows = hc_quant_block(p.rows, rows);
    p.block_columns = hc_quant_block(p.columns, columns);
    p.down = hc_quant_blocks(p.rows, rows);
    p.across = hc_quant_blocks(p.columns, columns);
    return p;
}

struct buffers {
    float segment[HC_STRIP][HC_SEGMENT];
    float turned[HC_SEGMENT][HC_STRIP];
};

/* n elements of each row of a strip as they lie in a transposed x, one of each row after the
   other. */
static void load_turned(const struct plan *p, int64_t row, int64_t rows, int64_t column, int64_t n,
                        struct buffers *b)
{
    const struct hc_tensor *x = &p->call->in[HC_QUANTIZE_X];
    if (rows < HC_STRIP)
        memset(b->turned, 0, sizeof b->turned);
    p->queue->loops->load_rows(x->format, hc_host_element(x, column * x->shape[1] + row),
                               x->shape[1], n, rows, b->turned[0], HC_STRIP);
    if (p->call->params.quantize.hadamard)
        p->queue->loops->hadamard_down(b->turned[0], n);
}

/* n elements of each row of a strip, from a column on, as they are quantised; the result is the
   first row's, and the others follow *step apart. */
static const float *load_segment(const struct plan *p, int64_t row, int64_t rows, int64_t column,
                                 int64_t n, struct buffers *b, int64_t *step)
{
    const struct hc_quantize *how = &p->call->params.quantize;
    const struct hc_host_loops *loops = p->queue->loops;
    const struct hc_tensor *x = &p->call->in[HC_QUANTIZE_X];
    int64_t at = row * p->columns + column;
    *step = HC_SEGMENT;
    if (how->transpose) {
        load_turned(p, row, rows, column, n, b);
        loops->turn(b->turned[0], HC_STRIP, n, b->segment[0], HC_SEGMENT);
    } else if (x->format == HC_FP32 && !how->hadamard) {
        *step = p->columns;
        return (const float *)x->data + at;
    } else {
        loops->load_rows(x->format, hc_host_element(x, at), p->columns, rows, n, b->segment[0],
                         HC_SEGMENT);
        for (int64_t i = 0; i < rows && how->hadamard; i++)
            loops->hadamard(b->segment[i], n);
    }
    return b->segment[0];
}

static void find_strip_amaxes(const struct plan *p, int64_t row, int64_t rows, int64_t column,
                              int64_t n)
{
    const struct hc_host_loops *loops = p->queue->loops;
    struct buffers b;
    float *amax = p->amax + row * p->across;
    int64_t step;
    if (p->call->params.quantize.transpose) {
        load_turned(p, row, rows, column, n, &b);
        loops->amaxes_down(b.turned[0], rows, column, n, p->block_columns, amax, p->across);
        return;
    }
    const float *x = load_segment(p, row, rows, column, n, &b, &step);
    for (int64_t i = 0; i < rows; i++)
        loops->amaxes(x + i * step, column, n, p->block_columns, amax + i * p->across);
}

typedef void segment_work(const struct plan *p, int64_t row, int64_t rows, int64_t column,
                          int64_t n);

static void each_segment(const struct plan *p, int64_t row, int64_t rows, segment_work *work)
{
    for (int64_t column = 0; column < p->columns; column += HC_SEGMENT) {
        int64_t n = p->columns - column < HC_SEGMENT ? p->columns - column : HC_SEGMENT;
        for (int64_t i = row; i < row + rows; i += HC_STRIP)
            work(p, i, row + rows - i < HC_STRIP ? row + rows - i : HC_STRIP, column, n);
    }
}

static void find_amaxes(const struct plan *p, int64_t row, int64_t rows)
{
    for (int64_t i = row * p->across; i < (row + rows) * p->across; i++)
        p->amax[i] = 0;
    each_segment(p, row, rows, find_strip_amaxes);
}

/* Rows of blocks. The place of a block of one row has its amax until it has its factor. */
static void find_scales(const struct plan *p, int64_t row, int64_t rows)
{
    const struct hc_quantize *how = &p->call->params.quantize;
    const struct hc_tensor *scales = &p->call->out[HC_QUANTIZE_SCALES];
    const float *given = p->call->in[HC_QUANTIZE_SCALE].data;
    for (int64_t i = row; i < row + rows; i++) {
        int64_t from = i * p->block_rows;
        int64_t to = from + p->block_rows < p->rows ? from + p->block_rows : p->rows;
        float *amax = p->encode + i * p->across;
        if (p->block_rows > 1 && p->across > 0)
            memcpy(amax, p->amax + from * p->across, (size_t)p->across * sizeof *amax);
        for (int64_t r = from + 1; r < to; r++)
            for (int64_t b = 0; b < p->across; b++)
                amax[b] = hc_quant_amax(amax[b], p->amax[r * p->across + b]);
        for (int64_t b = 0; given && b < p->across; b++) {
            struct hc_scale s = hc_scale_of_multiplier(*given);
            hc_tensor_set_bits(scales, i * p->across + b, s.stored);
            amax[b] = s.encode;
        }
        if (!given)
            p->queue->loops->scales(how->rule, &p->formats, &p->tensor, p->across, amax,
                                    hc_host_element(scales, i * p->across));
    }
}

static void find_strip_codes(const struct plan *p, int64_t row, int64_t rows, int64_t column,
                             int64_t n)
{
    const struct hc_quantize *how = &p->call->params.quantize;
    const struct hc_tensor *codes = &p->call->out[HC_QUANTIZE_CODES];
    const struct hc_host_loops *loops = p->queue->loops;
    const struct hc_narrow8 by = hc_narrow8_of(&hc_formats[codes->format], 1);
    struct buffers b;
    int64_t step;
    const float *x = load_segment(p, row, rows, column, n, &b, &step);
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = (row + i) * p->columns + column;
        const float *encode = p->encode + (row + i) / p->block_rows * p->across;
        uint8_t *to = (uint8_t *)codes->data + at;
        if (how->random_bits)
            loops->quantize_random(&by, how, at, encode, column, n, p->block_columns, x + i * step,
                                   to);
        else
            loops->quantize(&by, encode, column, n, p->block_columns, x + i * step, to);
    }
}

static void find_codes(const struct plan *p, int64_t row, int64_t rows)
{
    each_segment(p, row, rows, find_strip_codes);
}

size_t hc_host_quantize_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_quantize *how = &call->params.quantize;
    struct plan p = plan_of(queue, call, &call->out[HC_QUANTIZE_CODES], how->rows, how->columns);
    int64_t blocks = p.block_rows == 1 ? 0 : p.down * p.across;
    return (size_t)(p.rows * p.across + blocks) * sizeof(float);
}

enum hc_status hc_host_quantize(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_quantize *how = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    struct plan p = plan_of(queue, call, codes, how->rows, how->columns);
    float largest = 0;
    p.amax = call->scratch;
    p.encode = p.block_rows == 1 ? p.amax : p.amax + p.rows * p.across;
    each_part(&p, p.rows, p.columns, height_of(&p), find_amaxes);
    queue->loops->amaxes(p.amax, 0, p.rows * p.across, p.rows * p.across + 1, &largest);
    p.formats = hc_scale_formats_of(&hc_formats[codes->format],
                                    &hc_formats[call->in[HC_QUANTIZE_X].format]);
    p.tensor = hc_tensor_scale_of(how->rule, &p.formats, largest);
    *(float *)call->out[HC_QUANTIZE_TENSOR].data = p.tensor.decode;
    *(float *)call->out[HC_QUANTIZE_AMAX].data = largest;
    each_part(&p, p.down, p.across * HC_STRIP, HC_STRIP, find_scales);
    each_part(&p, p.rows, p.columns, height_of(&p), find_codes);
    return HC_OK;
}

/* dequantize: rows on all threads, a segment of each at a time. */

/* The numbers of all codes, and the extents of a block. */
struct decoding {
    const struct hc_queue *queue;
    const struct hc_call *call;
    int64_t columns;
    int64_t block_rows, block_columns;
    int64_t across; /* blocks */
    float value[256];
};

static void decode_row(const struct decoding *p, int64_t row)
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
    struct decoding p = {queue, call, .columns = codes->shape[1]};
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
