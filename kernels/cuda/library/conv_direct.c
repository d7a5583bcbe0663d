#include "kernels/cuda/kernel/conv_direct.h"

#include "kernels/conv_shape.h"
#include "kernels/cuda/launch.h"

enum hc_status hc_cuda_conv_direct(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    struct hc_dk_view first = hc_dk_view_of(&call->in[0]);
    struct hc_dk_view second = hc_dk_view_of(&call->in[1]);
    struct hc_dk_view out = hc_dk_view_of(&call->out[0]);
    bool data = g.op == HC_OP_conv2d_bwd_data;
    bool filter = g.op == HC_OP_conv2d_bwd_filter;
    struct hc_dk_conv_direct a = {.op = g.op,
                                  .x = data ? out : first,
                                  .weights = filter ? out : second,
                                  .y = filter ? second
                                       : data ? first
                                              : out,
                                  .elements = hc_tensor_count(&call->out[0]),
                                  .n = g.n,
                                  .h = g.h,
                                  .w = g.w,
                                  .c = g.c,
                                  .p = g.p,
                                  .q = g.q,
                                  .k = g.k,
                                  .r = g.r,
                                  .s = g.s,
                                  .stride = g.stride,
                                  .pad = g.pad};
    return hc_launch(queue, HC_DK_conv_direct, hc_blocks_for(a.elements, 256, 1024), 256, 0, &a,
                     sizeof a);
}
