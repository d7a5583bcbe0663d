/* The slots `operands` and `judge` of the backends: sweeps whose operands and expected results
   never leave the device. */
#include "kernels/cuda/kernel/arguments.h"

#include "kernels/cuda/op/families.h"

/* Results that a thread of the judge looks at, at least: every block ends with atomics. */
enum { EACH = 16 };

/* HC_OK for the calls that backend.h names, otherwise HC_UNSUPPORTED. */
static enum hc_status can_judge(const struct hc_call *call)
{
    enum hc_format from = call->in[HC_X].format;
    enum hc_format to = call->out[HC_OUT].format;
    bool cast = call->op == HC_OP_cast && (from == HC_FP32 || from == HC_I32);
    bool pair = call->op == HC_OP_add || call->op == HC_OP_sub || call->op == HC_OP_mul ||
                call->op == HC_OP_div;
    if ((cast || pair) && (to == HC_FP16 || to == HC_BF16))
        return HC_OK;
    return hc_fail(HC_UNSUPPORTED, "no sweep of %s from %s into %s on the device",
                   hc_ops[call->op].name, hc_formats[from].name, hc_formats[to].name);
}

enum hc_status hc_cuda_operands(struct hc_queue *queue, const struct hc_call *call, uint32_t first)
{
    struct hc_dk_sweep a = {.call = *call, .first = first, .unwritten = HC_UNWRITTEN};
    enum hc_status status = can_judge(call);
    if (status != HC_OK)
        return status;
    return hc_launch_elements(queue, HC_DK_operands, hc_tensor_count(&call->out[HC_OUT]), &a,
                              sizeof a);
}

enum hc_status hc_cuda_judge(struct hc_queue *queue, const struct hc_call *call, uint32_t first,
                             struct hc_judged *judged)
{
    struct hc_dk_sweep a = {.call = *call, .first = first, .judged = (unsigned *)judged};
    enum hc_status status = can_judge(call);
    if (status != HC_OK)
        return status;
    int blocks =
        hc_blocks_for(hc_tensor_count(&call->out[HC_OUT]), HC_CUDA_THREADS * EACH, HC_CUDA_BLOCKS);
    return hc_launch(queue, HC_DK_judge, blocks, HC_CUDA_THREADS, sizeof *judged, &a, sizeof a);
}
