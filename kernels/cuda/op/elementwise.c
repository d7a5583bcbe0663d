/* Ops with a thread for each element of their output: the elementwise ops, pooling, the step log,
   averages over ranks. */
#include "kernels/cuda/kernel/arguments.h"

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/launch.h"
#include "kernels/element/load.h"

/* The ops whose kernel takes the call as it is. A sum may be done by batch norm's kernels: behind
   those that wait to write its operand, or before those that read it (op/norm.c). */
enum hc_status hc_cuda_elementwise(struct hc_queue *queue, const struct hc_call *call)
{
    static const enum hc_device_kernel kernels[HC_OP_ROOM] = {
#define MAP(op, value) [HC_OP_##op] = HC_DK_elementwise,
#include "kernels/element/maps.def"
#undef MAP
        [HC_OP_fma] = HC_DK_elementwise,   [HC_OP_master_to_model] = HC_DK_cast,
        [HC_OP_avg_pool] = HC_DK_avg_pool, [HC_OP_avg_pool_bwd] = HC_DK_avg_pool_bwd,
        [HC_OP_im2col] = HC_DK_im2col,     [HC_OP_col2im] = HC_DK_col2im,
        [HC_OP_step_log] = HC_DK_step_log, [HC_OP_all_reduce] = HC_DK_all_reduce,
    };
    const struct hc_tensor *out = &call->out[HC_FIRST];
    int64_t n = hc_tensor_count(out);
    enum hc_device_kernel kernel =
        out->format == HC_FP64 ? HC_DK_elementwise_fp64 : kernels[call->op];
    if (call->op != HC_OP_add || kernel != HC_DK_elementwise)
        return hc_launch_elements(queue, kernel, n, call, sizeof *call);
    if (hc_cuda_norm_takes_sum(queue, call))
        return hc_cuda_settle(queue);
    return hc_launch_later(queue, kernel, hc_blocks_for(n, HC_CUDA_THREADS, HC_CUDA_BLOCKS),
                           HC_CUDA_THREADS, 0, call, sizeof *call);
}

/* One block at least, for the flag. */
enum hc_status hc_cuda_unscale(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_counted_call a = {*call, queue->counters};
    int64_t n = hc_tensor_count(&call->out[HC_UNSCALE_OUT]);
    return hc_launch(queue, HC_DK_unscale,
                     hc_blocks_for(n ? n : 1, HC_CUDA_THREADS, HC_CUDA_BLOCKS), HC_CUDA_THREADS,
                     sizeof(unsigned), &a, sizeof a);
}

/* Nearest among fp32, bf16 and fp16, and fp32 into 16 bits, have kernels of their own, but none of
   these saturates. */
enum hc_status hc_cuda_cast(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_format from = call->in[HC_X].format;
    enum hc_format to = call->out[HC_OUT].format;
    int64_t n = hc_tensor_count(&call->out[HC_OUT]);
    bool saturate = call->params.cast.saturate;
    if (!saturate && call->params.cast.direction == HC_NEAREST && hc_is_h(from) && hc_is_h(to))
        return hc_launch_elements(queue, HC_DK_cast, n, call, sizeof *call);
    if (!saturate && from == HC_FP32 && (to == HC_FP16 || to == HC_BF16))
        return hc_launch_elements(queue, HC_DK_cast_directed, n, call, sizeof *call);
    struct hc_dk_cast_any a = {*call, hc_formats[from], hc_formats[to]};
    return hc_launch_elements(queue, HC_DK_cast_any, n, &a, sizeof a);
}
