/* quantize and dequantize: strips of rows on all threads, in three passes as `exact` makes them.
   The amaxes of the first pass are kept by row, so that no two strips write the same one. */
#include "kernels/element/quant.h"

#include "kernels/element/scale_rule.h"
#include "kernels/exact/exact.h"
#include "kernels/host/host.h"

/* A strip is cut into segments, which lie in the cache while they are transposed and multiplied. */
enum { STRIP = 16, SEGMENT = 256 };

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

/* A small call is the calling thread's. */
static void each_strip(const struct plan *p, int64_t rows, int64_t columns, strip_work *work)
{
    if (p->queue->threads == 1 || rows * columns <= HC_HOST_SMALL) {
        for (int64_t row = 0; row < rows; row += STRIP)
            work(p, row, rows - row < STRIP ? rows - row : STRIP);
        return;
    }
#pragma omp parallel for num_threads(p->queue->threads) schedule(static)
    for (int64_t row = 0; row < rows; row += STRIP)
        work(p, row, rows - row < STRIP ? rows - row : STRIP);
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
    float segment[STRIP][SEGMENT];
    float turned[SEGMENT][STRIP];
};

/* Columns `column` and on of x as rows: they are loaded as they lie and turned. */
static void load_turned(const struct plan *p, int64_t row, int64_t rows, int64_t column, int64_t n,
                        struct buffers *b)
{
    const struct hc_tensor *x = &p->call->in[HC_QUANTIZE_X];
    p->queue->loops->load_rows(x->format, hc_host_element(x, column * x->shape[1] + row),
                               x->shape[1], n, rows, b->turned[0], STRIP);
    for (int64_t i = 0; i < rows; i++)
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            b->segment[i][j] = b->turned[j][i];
}

/* n elements of each row of a strip, from a column on, as they are quantised; the result is the
   first row's, and the others follow *step apart. */
static const float *load_segment(const struct plan *p, int64_t row, int64_t rows, int64_t column,
                                 int64_t n, struct buffers *b, int64_t *step)
{
    const struct hc_quantize *how = &p->call->params.quantize;
    const struct hc_tensor *x = &p->call->in[HC_QUANTIZE_X];
    int64_t at = row * p->columns + column;
    *step = p->columns;
    if (x->format == HC_FP32 && !how->transpose && !how->hadamard)
        return (const float *)x->data + at;
    *step = SEGMENT;
    if (how->transpose)
        load_turned(p, row, rows, column, n, b);
    else
        p->queue->loops->load_rows(x->format, hc_host_element(x, at), p->columns, rows, n,
                                   b->segment[0], SEGMENT);
    for (int64_t i = 0; i < rows && how->hadamard; i++)
        p->queue->loops->hadamard(b->segment[i], n);
    return b->segment[0];
}

static void find_amaxes(const struct plan *p, int64_t row, int64_t rows)
{
    struct buffers b;
    float *amax = p->amax + row * p->across;
    int64_t step;
    for (int64_t i = 0; i < rows * p->across; i++)
        amax[i] = 0;
    for (int64_t column = 0; column < p->columns; column += SEGMENT) {
        int64_t n = p->columns - column < SEGMENT ? p->columns - column : SEGMENT;
        const float *x = load_segment(p, row, rows, column, n, &b, &step);
        for (int64_t i = 0; i < rows; i++)
            p->queue->loops->amaxes(x + i * step, column, n, p->block_columns,
                                    amax + i * p->across);
    }
}

/* Rows of blocks. The place of a block of one row has its amax until it has its factor. */
static void find_scales(const struct plan *p, int64_t row, int64_t rows)
{
    const struct hc_quantize *how = &p->call->params.quantize;
    const struct hc_tensor *scales = &p->call->out[HC_QUANTIZE_SCALES];
    const float *given = p->call->in[HC_QUANTIZE_SCALE].data;
    for (int64_t b = row * p->across; b < (row + rows) * p->across; b++) {
        int64_t from = b / p->across * p->block_rows;
        int64_t to = from + p->block_rows < p->rows ? from + p->block_rows : p->rows;
        float amax = 0;
        for (int64_t r = from; r < to; r++)
            amax = hc_quant_amax(amax, p->amax[r * p->across + b % p->across]);
        struct hc_scale s = given ? hc_scale_of_multiplier(*given)
                                  : hc_scale_of(how->rule, &p->formats, &p->tensor, amax);
        hc_tensor_set_bits(scales, b, s.stored);
        p->encode[b] = s.encode;
    }
}

static void find_codes(const struct plan *p, int64_t row, int64_t rows)
{
    const struct hc_quantize *how = &p->call->params.quantize;
    const struct hc_tensor *codes = &p->call->out[HC_QUANTIZE_CODES];
    const struct hc_host_loops *loops = p->queue->loops;
    const struct hc_narrow8 by = hc_narrow8_of(&hc_formats[codes->format], 1);
    struct buffers b;
    int64_t step;
    for (int64_t column = 0; column < p->columns; column += SEGMENT) {
        int64_t n = p->columns - column < SEGMENT ? p->columns - column : SEGMENT;
        const float *x = load_segment(p, row, rows, column, n, &b, &step);
        for (int64_t i = 0; i < rows; i++) {
            int64_t at = (row + i) * p->columns + column;
            const float *encode = p->encode + (row + i) / p->block_rows * p->across;
            uint8_t *to = (uint8_t *)codes->data + at;
            if (how->random_bits)
                loops->quantize_random(&by, how, at, encode, column, n, p->block_columns,
                                       x + i * step, to);
            else
                loops->quantize(&by, encode, column, n, p->block_columns, x + i * step, to);
        }
    }
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
    each_strip(&p, p.rows, p.columns, find_amaxes);
    for (int64_t i = 0; i < p.rows * p.across; i++)
        largest = hc_quant_amax(largest, p.amax[i]);
    p.formats = hc_scale_formats_of(&hc_formats[codes->format],
                                    &hc_formats[call->in[HC_QUANTIZE_X].format]);
    p.tensor = hc_tensor_scale_of(how->rule, &p.formats, largest);
    *(float *)call->out[HC_QUANTIZE_TENSOR].data = p.tensor.decode;
    *(float *)call->out[HC_QUANTIZE_AMAX].data = largest;
    each_strip(&p, p.down, p.across * STRIP, find_scales);
    each_strip(&p, p.rows, p.columns, find_codes);
    return HC_OK;
}

static void decode_rows(const struct plan *p, int64_t row, int64_t rows)
{
    const struct hc_call *call = p->call;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    const struct hc_tensor *scales = &call->in[HC_DEQUANTIZE_SCALES];
    const struct hc_tensor *y = &call->out[HC_DEQUANTIZE_Y];
    const float *tensor = call->in[HC_DEQUANTIZE_TENSOR].data;
    float value[256];
    float scale[SEGMENT + 1];
    float buffer[SEGMENT];
    for (int c = 0; c < 256; c++)
        value[c] = (float)hc_decode(codes->format, (uint64_t)c);
    for (int64_t r = row; r < row + rows; r++)
        for (int64_t column = 0; column < p->columns; column += SEGMENT) {
            int64_t n = p->columns - column < SEGMENT ? p->columns - column : SEGMENT;
            int64_t block = column / p->block_columns;
            int64_t last = (column + n - 1) / p->block_columns;
            int64_t at = r * p->columns + column;
            for (int64_t b = block; b <= last; b++)
                scale[b - block] = (float)hc_tensor_get(scales, r / p->block_rows * p->across + b);
            float *to = hc_host_target(y, at, buffer);
            p->queue->loops->dequantize(value, scale, tensor ? *tensor : 1,
                                        column - block * p->block_columns, n, p->block_columns,
                                        (const uint8_t *)codes->data + at, to);
            hc_host_flush(p->queue, y, at, n, to);
        }
}

enum hc_status hc_host_dequantize(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_dequantize *how = &call->params.dequantize;
    struct plan p = plan_of(queue, call, &call->in[HC_DEQUANTIZE_CODES], how->rows, how->columns);
    each_strip(&p, p.rows, p.columns, decode_rows);
    return HC_OK;
}
