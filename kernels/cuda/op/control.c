/* What a training step counts and decides, and the batch that it reads. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/kernel/arguments.h"
#include "kernels/cuda/launch.h"

/* Ops of one block, with a thread for each element that they write (scaler_update: one for all). */
enum hc_status hc_cuda_control(struct hc_queue *queue, const struct hc_call *call)
{
    static const struct {
        enum hc_device_kernel kernel;
        int threads;
    } kernels[HC_OP_ROOM] = {
        [HC_OP_scaler_update] = {HC_DK_scaler_update, 1},
        [HC_OP_overflow_verdict] = {HC_DK_overflow_verdict, HC_VERDICT_ELEMENTS},
        [HC_OP_rates] = {HC_DK_rates, HC_HYPER_COUNT},
        [HC_OP_clip] = {HC_DK_clip, 1},
    };
    return hc_launch(queue, kernels[call->op].kernel, 1, kernels[call->op].threads, 0, call,
                     sizeof *call);
}

/* One block at least, for the count of steps. */
enum hc_status hc_cuda_augment(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_counted_call a = {*call, queue->counters};
    const int64_t *batch = call->out[HC_AUGMENT_IMAGES].shape;
    int64_t n = batch[0] * batch[1] * batch[2];
    return hc_launch(queue, HC_DK_augment,
                     hc_blocks_for(n ? n : 1, HC_CUDA_THREADS, HC_CUDA_BLOCKS), HC_CUDA_THREADS,
                     sizeof(unsigned), &a, sizeof a);
}
