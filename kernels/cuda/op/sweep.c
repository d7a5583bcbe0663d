#include "kernels/cuda/kernel/sweep.h"

#include "kernels/cuda/op/wrapper.h"

/* Results that a thread of the judge looks at, at least: every block ends with atomics. */
enum { EACH = 16 };

static bool is_16(enum hc_format format)
{
    return format == HC_FP16 || format == HC_BF16;
}

/* Whether it is a call of those that backend.h names, HC_OK or HC_UNSUPPORTED. */
static enum hc_status can_judge(const struct hc_call *call)
{
    enum hc_format from = call->in[0].format;
    bool cast = call->op == HC_OP_cast && (from == HC_FP32 || from == HC_I32);
    bool pair = call->op == HC_OP_add || call->op == HC_OP_sub || call->op == HC_OP_mul ||
                call->op == HC_OP_div;
    if ((cast || pair) && is_16(call->out[0].format))
        return HC_OK;
    return hc_fail(HC_UNSUPPORTED, "no sweep of %s from %s into %s on the device",
                   hc_ops[call->op].name, hc_formats[from].name,
                   hc_formats[call->out[0].format].name);
}

enum hc_status hc_cuda_operands(struct hc_queue *queue, const struct hc_call *call, uint32_t first)
{
    bool cast = call->op == HC_OP_cast;
    struct hc_dk_operands a = {.wide = cast ? call->in[0].data : NULL,
                               .x = cast ? NULL : call->in[0].data,
                               .y = cast ? NULL : call->in[1].data,
                               .out = call->out[0].data,
                               .unwritten = HC_UNWRITTEN,
                               .first = first,
                               .n = hc_tensor_count(&call->out[0])};
    enum hc_status status = can_judge(call);
    return status == HC_OK ? hc_cuda_launch_elements(queue, HC_DK_operands, a.n, &a, sizeof a)
                           : status;
}

enum hc_status hc_cuda_judge(struct hc_queue *queue, const struct hc_call *call, uint32_t first,
                             struct hc_judged *judged)
{
    struct hc_dk_judge a = {.op = call->op,
                            .from = call->in[0].format,
                            .to = call->out[0].format,
                            .direction = HC_NEAREST,
                            .out = call->out[0].data,
                            .judged = (unsigned *)judged,
                            .first = first,
                            .n = hc_tensor_count(&call->out[0])};
    enum hc_status status = can_judge(call);
    if (call->op == HC_OP_cast)
        a.direction = call->params.cast.direction;
    if (status != HC_OK)
        return status;
    int blocks = hc_blocks_for(a.n, HC_CUDA_THREADS * EACH, HC_CUDA_BLOCKS);
    return hc_launch(queue, HC_DK_judge, blocks, HC_CUDA_THREADS, sizeof *judged, &a, sizeof a);
}
