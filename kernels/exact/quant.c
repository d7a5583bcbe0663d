/* quantize, dequantize and delayed_scale, in three passes over a matrix: the amaxes of its blocks,
   their scales, the codes. */
#include "kernels/element/quant.h"

#include "kernels/element/load.h"
#include "kernels/element/scale_delayed.h"
#include "kernels/element/scale_rule.h"
#include "kernels/exact/exact.h"

/* A matrix of codes, and how it is cut into blocks. */
struct matrix {
    int64_t rows, columns;
    int64_t block_rows, block_columns; /* at least 1 */
    int64_t across;                    /* blocks side by side */
};

static struct matrix matrix_of(const struct hc_tensor *codes, int64_t rows, int64_t columns)
{
    struct matrix m = {codes->shape[0], codes->shape[1], rows, columns, 0};
    m.block_rows = hc_quant_block(m.rows, rows);
    m.block_columns = hc_quant_block(m.columns, columns);
    m.across = hc_quant_blocks(m.columns, columns);
    return m;
}

static int64_t block_of(const struct matrix *m, int64_t row, int64_t column)
{
    return row / m->block_rows * m->across + column / m->block_columns;
}

/* Up to 16 neighbours of a row of what is quantised, from a column on that is a multiple of 16; the
   result is how many. */
static int neighbours(const struct hc_call *call, int64_t row, int64_t column, float v[HC_HADAMARD])
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *x = &call->in[HC_QUANTIZE_X];
    int64_t columns = x->shape[p->transpose ? 0 : 1];
    int count = (int)(columns - column < HC_HADAMARD ? columns - column : HC_HADAMARD);
    for (int i = 0; i < count; i++) {
        int64_t at =
            p->transpose ? (column + i) * x->shape[1] + row : row * x->shape[1] + column + i;
        v[i] = hc_load(x->format, x->data, at);
    }
    if (p->hadamard)
        hc_hadamard(v);
    return count;
}

/* The amax of each block; the result is that of all. */
static float find_amaxes(const struct hc_call *call, const struct matrix *m, float *amax)
{
    float v[HC_HADAMARD] = {0};
    float largest = 0;
    int64_t blocks = hc_tensor_count(&call->out[HC_QUANTIZE_SCALES]);
    for (int64_t b = 0; b < blocks; b++)
        amax[b] = 0;
    for (int64_t row = 0; row < m->rows; row++)
        for (int64_t column = 0; column < m->columns; column += HC_HADAMARD) {
            int count = neighbours(call, row, column, v);
            for (int i = 0; i < count; i++) {
                float *of = &amax[block_of(m, row, column + i)];
                *of = hc_quant_amax(*of, v[i]);
            }
        }
    for (int64_t b = 0; b < blocks; b++)
        largest = hc_quant_amax(largest, amax[b]);
    return largest;
}

/* Puts each block's encoding factor into the place of its amax. */
static void find_scales(const struct hc_call *call, float largest, float *amax)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *scales = &call->out[HC_QUANTIZE_SCALES];
    const struct hc_tensor *given = &call->in[HC_QUANTIZE_SCALE];
    struct hc_scale_formats f =
        hc_scale_formats_of(&hc_formats[call->out[HC_QUANTIZE_CODES].format],
                            &hc_formats[call->in[HC_QUANTIZE_X].format]);
    struct hc_tensor_scale tensor = hc_tensor_scale_of(p->rule, &f, largest);
    for (int64_t b = 0; b < hc_tensor_count(scales); b++) {
        struct hc_scale s = given->data ? hc_scale_of_multiplier(*(const float *)given->data)
                                        : hc_scale_of(p->rule, &f, &tensor, amax[b]);
        hc_tensor_set_bits(scales, b, s.stored);
        amax[b] = s.encode;
    }
    *(float *)call->out[HC_QUANTIZE_TENSOR].data = tensor.decode;
    *(float *)call->out[HC_QUANTIZE_AMAX].data = largest;
}

size_t hc_exact_quantize_scratch(const struct hc_call *call)
{
    return (size_t)hc_tensor_count(&call->out[HC_QUANTIZE_SCALES]) * sizeof(float);
}

enum hc_status hc_exact_quantize(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    struct hc_quant_rounding how = hc_quant_rounding_of(p, &hc_formats[codes->format]);
    struct matrix m = matrix_of(codes, p->rows, p->columns);
    float *encode = call->scratch;
    float v[HC_HADAMARD] = {0};
    (void)queue;
    find_scales(call, find_amaxes(call, &m, encode), encode);
    for (int64_t row = 0; row < m.rows; row++)
        for (int64_t column = 0; column < m.columns; column += HC_HADAMARD) {
            int count = neighbours(call, row, column, v);
            for (int i = 0; i < count; i++) {
                int64_t at = row * m.columns + column + i;
                float e = encode[block_of(&m, row, column + i)];
                ((uint8_t *)codes->data)[at] = (uint8_t)hc_element_quantize(&how, v[i], e, at);
            }
        }
    return HC_OK;
}

enum hc_status hc_exact_dequantize(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_dequantize *p = &call->params.dequantize;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    const struct hc_tensor *scales = &call->in[HC_DEQUANTIZE_SCALES];
    const struct hc_tensor *tensor = &call->in[HC_DEQUANTIZE_TENSOR];
    const struct hc_tensor *y = &call->out[HC_DEQUANTIZE_Y];
    struct matrix m = matrix_of(codes, p->rows, p->columns);
    float t = tensor->data ? *(const float *)tensor->data : 1;
    (void)queue;
    for (int64_t i = 0; i < m.rows * m.columns; i++) {
        int64_t block = block_of(&m, i / m.columns, i % m.columns);
        float scale = (float)hc_tensor_get(scales, block);
        uint32_t code = ((const uint8_t *)codes->data)[i];
        hc_store(y->format, y->data, i,
                 hc_element_dequantize(&hc_formats[codes->format], code, scale, t));
    }
    return HC_OK;
}

enum hc_status hc_exact_delayed_scale(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_delayed_scale *p = &call->params.delayed_scale;
    const struct hc_tensor *history = &call->in[HC_DELAYED_HISTORY];
    const float *amax = call->in[HC_DELAYED_AMAX].data;
    const float *scale = call->in[HC_DELAYED_SCALE].data;
    float *new_history = call->out[HC_DELAYED_NEW_HISTORY].data;
    float *new_scale = call->out[HC_DELAYED_NEW_SCALE].data;
    int64_t tensors = history->shape[1];
    float max = (float)hc_format_max(p->codes);
    (void)queue;
    for (int64_t t = 0; t < tensors; t++) {
        struct hc_delayed_history h = {(const float *)history->data + t, new_history + t,
                                       history->shape[0], tensors};
        new_scale[t] = hc_delayed_step(p, max, amax[t], scale[t], &h);
    }
    return HC_OK;
}
