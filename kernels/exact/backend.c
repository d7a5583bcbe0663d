/* The format-exact backend: portable C, one thread, stated order. */
#include "backend.h"

#include <assert.h>

#include "kernels/exact/exact.h"
#include "kernels/exact/tile.h"
#include "kernels/factors.h"
#include "kernels/memory.h"
#include "op/later.h"

/* Kernels that are the same for every format of their call. */
static hc_kernel *const any_format[HC_OP_ROOM] = {
    [HC_OP_cast] = hc_exact_cast,
    [HC_OP_unscale] = hc_exact_unscale,
    [HC_OP_sum] = hc_exact_sum,
    [HC_OP_dot] = hc_exact_dot,
    [HC_OP_sum_squares] = hc_exact_sum_squares,
    [HC_OP_bn_leaky_train] = hc_exact_bn_leaky_train,
    [HC_OP_bn_leaky_infer] = hc_exact_bn_leaky_infer,
    [HC_OP_bn_leaky_bwd] = hc_exact_bn_leaky_bwd,
    [HC_OP_master_to_model] = hc_exact_master_to_model,
    [HC_OP_im2col] = hc_exact_im2col,
    [HC_OP_col2im] = hc_exact_col2im,
    [HC_OP_scaler_update] = hc_exact_scaler_update,
    [HC_OP_overflow_verdict] = hc_exact_overflow_verdict,
    [HC_OP_rates] = hc_exact_rates,
    [HC_OP_step_log] = hc_exact_step_log,
    [HC_OP_clip] = hc_exact_clip,
    [HC_OP_augment] = hc_exact_augment,
    [HC_OP_quantize] = hc_exact_quantize,
    [HC_OP_dequantize] = hc_exact_dequantize,
    [HC_OP_delayed_scale] = hc_exact_delayed_scale,
    [HC_OP_gemm_q] = hc_exact_gemm_q,
    [HC_OP_stochastic_cast] = hc_exact_stochastic_cast,
};

enum hc_status hc_exact_run(struct hc_queue *queue, const struct hc_call *call)
{
    bool fp64 = call->in[HC_FIRST].format == HC_FP64;
    hc_kernel *kernel = (fp64 ? hc_exact_fp64 : hc_exact_fp32)[call->op];
    if (hc_factors_convert(call))
        return hc_factors_run(queue, call, hc_exact_run);
    if (!kernel)
        kernel = any_format[call->op];
    assert(kernel); /* every op has a line here or in kernels.inc */
    return kernel(queue, call);
}

/* Columns of the second factor's matrix; -1 for ops that pack nothing. */
static int64_t columns_of(const struct hc_call *call)
{
    switch (call->op) {
    case HC_OP_gemm:
        return call->params.gemm.half_accumulator ? -1 : call->out[HC_GEMM_OUT].shape[1];
    case HC_OP_conv2d:
        return call->in[HC_CONV_W].shape[0];
    case HC_OP_conv2d_bwd_data:
        return call->in[HC_CONV_BWD_DATA_W].shape[3];
    case HC_OP_conv2d_bwd_filter:
        return call->in[HC_CONV_BWD_FILTER_DY].shape[3];
    default:
        return -1;
    }
}

/* Of ops that definitions say: weights of a row of keys; in the gradient also those of its scores,
   and the sums for a head. */
static int64_t numbers_of_defined(const struct hc_call *call)
{
    const struct hc_tensor *k = &call->in[HC_ATTENTION_K];
    int64_t sums = k->shape[2] + call->in[HC_ATTENTION_V].shape[2];
    if (call->op == HC_OP_attention || call->op == HC_OP_attention_general)
        return k->shape[1];
    if (call->op == HC_OP_linear_cross_entropy) /* logits of a row; the gradient has all of them */
        return call->in[HC_LCE_W].shape[0];
    if (call->op == HC_OP_linear_cross_entropy_backward)
        return call->in[HC_LCE_X].shape[0] * call->in[HC_LCE_W].shape[0];
    bool back =
        call->op == HC_OP_attention_backward || call->op == HC_OP_attention_general_backward;
    return back ? k->shape[1] * (2 + sums) : 0;
}

/* What gemm and the convolutions pack: their second factor, filled up to whole tiles of columns,
   and their first one where it is converted. Backward-filter also keeps a tile of sums.
   bn_leaky_bwd keeps dz, and quantize a number for each block. */
size_t hc_exact_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    if (call->op == HC_OP_bn_leaky_bwd)
        return hc_tensor_bytes(&call->in[HC_BN_LEAKY_BWD_DY]);
    if (call->op == HC_OP_quantize)
        return hc_exact_quantize_scratch(call);
    if (call->op == HC_OP_gemm_q)
        return hc_exact_gemm_q_scratch(call);
    if (hc_factors_convert(call))
        return hc_factors_scratch(queue, call, hc_exact_scratch);
    int64_t columns = columns_of(call);
    const struct hc_tensor *first = &call->in[HC_FIRST];
    const struct hc_tensor *second = &call->in[HC_FIRST + 1];
    bool fp64 = first->format == HC_FP64;
    if (columns < 0)
        return (size_t)numbers_of_defined(call) * (fp64 ? sizeof(double) : sizeof(float));
    int64_t numbers = fp64 || first->format == HC_FP32 ? 0 : hc_tensor_count(first);
    if (columns > 0)
        numbers += hc_tensor_count(second) / columns * hc_tile_padded(columns);
    const int64_t *dw = call->out[HC_CONV_BWD_FILTER_DW].shape;
    if (call->op == HC_OP_conv2d_bwd_filter)
        numbers += dw[1] * dw[2] * dw[3] * HC_TILE;
    return (size_t)numbers * (fp64 ? sizeof(double) : sizeof(float));
}

/* Elements that stand side by side: in sums of products, in elementwise ops and in batch norm. */
static const struct hc_border borders[] = {
    {HC_EXTENT_VECTOR, HC_ELEMENT_BLOCK},        {HC_EXTENT_GEMM_N, HC_TILE},
    {HC_EXTENT_CONV_CHANNELS, HC_TILE},          {HC_EXTENT_CONV_FILTERS, HC_TILE},
    {HC_EXTENT_NORM_CHANNELS, HC_CHANNEL_BLOCK}, {HC_EXTENT_COUNT, 0},
};

const struct hc_backend hc_backend_exact = {
    .abi = HC_BACKEND_ABI,
    .name = "exact",
    .title = "portable C, format-exact, one thread, stated order",
    .accumulator = {.precision = 24, .block = 1, .extra_bits = 0, .truncates = false},
    .borders = borders,
    .fp64 = true,
    HC_IN_MEMORY,
    .scratch = hc_exact_scratch,
    .kernel =
        {
#define HC_NO_DEFINED_OPS
#define HC_OP(name, class, inputs, outputs, title) [HC_OP_##name] = hc_exact_run,
#include "op/ops.def"
#undef HC_OP
#define DEFINED(name) [HC_OP_##name] = hc_exact_run,
#include "kernels/element/defined.def"
#undef DEFINED
        },
};
