/* What gemm and the convolutions pack: their second input, filled up to whole tiles of columns, and
   their first one when it is not fp32. Backward-filter also keeps a tile of sums. bn_leaky_bwd keeps dz. */
#include "kernels/exact/exact.h"
#include "kernels/exact/tile.h"
#include "kernels/tf32.h"

/* Columns of the second input's matrix; -1 for ops that pack nothing. */
static int64_t columns(const struct hc_call *call)
{
    const int64_t *shape = call->in[1].shape;
    switch (call->op) {
    case HC_OP_gemm:
        return shape[call->params.gemm.transpose_b ? 0 : 1];
    case HC_OP_conv2d:
        return shape[0];
    case HC_OP_conv2d_bwd_data:
    case HC_OP_conv2d_bwd_filter:
        return shape[3];
    default:
        return -1;
    }
}

size_t hc_exact_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    if (call->op == HC_OP_bn_leaky_bwd)
        return hc_tensor_bytes(&call->in[2]);
    int64_t wide = columns(call);
    if (hc_call_tf32(call)) {
        struct hc_call plain = hc_tf32_plain(call);
        return hc_tf32_bytes(call) + hc_exact_scratch(queue, &plain);
    }
    if (wide < 0 || (call->op == HC_OP_gemm && call->params.gemm.half_accumulator))
        return 0;
    int64_t floats = hc_tile_buffer_floats(&call->in[0]);
    if (wide > 0)
        floats += hc_tensor_count(&call->in[1]) / wide * hc_tile_padded(wide);
    const int64_t *dw = call->out[0].shape;
    if (call->op == HC_OP_conv2d_bwd_filter)
        floats += dw[1] * dw[2] * dw[3] * HC_TILE;
    return (size_t)floats * sizeof(float);
}
