/* Codes below half and their scales, and casts with random bits. */
#include "kernels/cuda/kernel/quant.h"

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/op/families.h"

static struct hc_dk_matrix matrix_of(const struct hc_tensor *codes, int64_t rows, int64_t columns)
{
    struct hc_dk_matrix m = {.rows = codes->shape[0], .columns = codes->shape[1]};
    m.block_rows = hc_quant_block(m.rows, rows);
    m.block_columns = hc_quant_block(m.columns, columns);
    m.across = hc_quant_blocks(m.columns, columns);
    m.blocks = hc_quant_blocks(m.rows, rows) * m.across;
    return m;
}

size_t hc_cuda_quantize_scratch(const struct hc_call *call)
{
    return (size_t)hc_tensor_count(&call->out[HC_QUANTIZE_SCALES]) * sizeof(float);
}

/* The launches over blocks have one thread at least, for the outputs of one element. */
enum hc_status hc_cuda_quantize(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_format_info *codes = &hc_formats[call->out[HC_QUANTIZE_CODES].format];
    struct hc_dk_quantize a = {
        .call = *call,
        .matrix = matrix_of(&call->out[HC_QUANTIZE_CODES], p->rows, p->columns),
        .formats = hc_scale_formats_of(codes, &hc_formats[call->in[HC_QUANTIZE_X].format]),
        .narrow = hc_narrow8_of(codes, 1),
        .scale_bytes = hc_formats[hc_scale_format(p->rule)].bytes,
    };
    static const enum hc_device_kernel kernels[] = {HC_DK_quant_begin, HC_DK_quant_amax,
                                                    HC_DK_quant_scales, HC_DK_quant_codes};
    int64_t elements = a.matrix.rows * a.matrix.columns;
    int64_t blocks = a.matrix.blocks ? a.matrix.blocks : 1;
    enum hc_status status = HC_OK;
    for (int k = 0; k < 4 && status == HC_OK; k++)
        status = hc_launch_elements(queue, kernels[k], k % 2 ? elements : blocks, &a, sizeof a);
    return status;
}

enum hc_status hc_cuda_dequantize(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_dequantize *p = &call->params.dequantize;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    struct hc_dk_dequantize a = {
        .call = *call,
        .matrix = matrix_of(codes, p->rows, p->columns),
        .codes = hc_formats[codes->format],
        .scales = hc_formats[call->in[HC_DEQUANTIZE_SCALES].format],
    };
    return hc_launch_elements(queue, HC_DK_dequantize, a.matrix.rows * a.matrix.columns, &a,
                              sizeof a);
}

enum hc_status hc_cuda_stochastic_cast(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_stochastic_cast *p = &call->params.stochastic_cast;
    const struct hc_tensor *out = &call->out[HC_STOCHASTIC_OUT];
    struct hc_dk_stochastic_cast a = {.call = *call, .to = hc_formats[out->format]};
    a.is_narrow = hc_is_narrow8(&a.to) && p->bits <= 16;
    if (a.is_narrow)
        a.narrow = hc_narrow8_of(&a.to, p->saturate);
    return hc_launch_elements(queue, HC_DK_stochastic_cast, hc_tensor_count(out), &a, sizeof a);
}

enum hc_status hc_cuda_delayed_scale(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_delayed a = {*call, (float)hc_format_max(call->params.delayed_scale.codes)};
    return hc_launch_elements(queue, HC_DK_delayed_scale, call->in[HC_DELAYED_AMAX].shape[0], &a,
                              sizeof a);
}
