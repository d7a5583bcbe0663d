/* Convolutions by cuDNN. It writes the output's own format where that is the inputs' or fp32.
   Otherwise it writes fp32 into scratch, and that is rounded into the output at the end, so that
   there is always one rounding. Scratch holds that result, then cuDNN's workspace. Where cuDNN has
   no plan whose sums are in fp32, or a tensor is not aligned as it asks, a kernel of our own takes
   its place. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/kernel/conv_direct.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/library/conv_plan.h"
#include "kernels/cuda/work.h"

struct hc_conv_key hc_conv_key_of(const struct hc_call *call)
{
    enum hc_format in = call->in[HC_CONV_FIRST].format;
    return (struct hc_conv_key){
        .shape = hc_conv_shape_of(call),
        .in = in,
        .out = call->out[HC_CONV_RESULT].format == in ? in : HC_FP32,
        .tf32 = hc_call_tf32(call),
    };
}

/* Bytes of the fp32 result in scratch, or 0. The workspace behind it stays aligned. */
static size_t result_bytes(const struct hc_call *call, const struct hc_conv_key *key)
{
    size_t bytes = (size_t)hc_tensor_count(&call->out[HC_CONV_RESULT]) * sizeof(float);
    return key->out == call->out[HC_CONV_RESULT].format ? 0 : (bytes + 255) / 256 * 256;
}

size_t hc_cuda_conv_scratch(struct hc_libraries *libraries, const struct hc_call *call)
{
    struct hc_conv_key key = hc_conv_key_of(call);
    /* cuDNN has no empty tensors. */
    struct hc_conv_plan *plan = hc_conv_empty(&key.shape) ? NULL : hc_conv_plan(libraries, &key);
    if (!plan || !plan->plan)
        return 0;
    return result_bytes(call, &key) + (size_t)plan->workspace;
}

/* Whether the tensors are aligned as the plan relies on. */
static bool aligned(const struct hc_call *call)
{
    return (uintptr_t)call->in[HC_CONV_FIRST].data % HC_DNN_ALIGNMENT == 0 &&
           (uintptr_t)call->in[HC_CONV_SECOND].data % HC_DNN_ALIGNMENT == 0 &&
           (uintptr_t)call->out[HC_CONV_RESULT].data % HC_DNN_ALIGNMENT == 0;
}

static enum hc_status run(struct hc_queue *queue, const struct hc_call *call,
                          struct hc_conv_plan *plan)
{
    const struct hc_libraries *l = queue->libraries;
    size_t result = result_bytes(call, &plan->key);
    void *out = result ? call->scratch : call->out[HC_CONV_RESULT].data;
    void *first = call->in[HC_CONV_FIRST].data;
    void *second = call->in[HC_CONV_SECOND].data;
    void *workspace = plan->workspace ? (char *)call->scratch + result : NULL;
    /* x, w, y and workspace of each op. */
    void *pointers[3][4] = {{first, second, out, workspace},
                            {out, second, first, workspace},
                            {first, out, second, workspace}};
    void *pack = NULL;
    int status = hc_conv_pack(l->library, plan, pointers[call->op - HC_OP_conv2d], &pack);
    if (status == 0)
        status = l->library->cudnn_execute(l->dnn, plan->plan, pack);
    hc_cuda_count_call(queue, call);
    if (status != 0)
        return hc_fail(HC_DEVICE, "cuda: cuDNN: %s: %s", hc_ops[call->op].name,
                       l->library->cudnn_text(status));
    struct hc_tensor sums = call->out[HC_CONV_RESULT];
    sums.format = HC_FP32;
    sums.data = out;
    return result ? hc_cuda_broadcast(queue, &sums, 1, false, &call->out[HC_CONV_RESULT]) : HC_OK;
}

/* Without cuDNN, by a kernel of our own. */
static enum hc_status direct(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *first = &call->in[HC_CONV_FIRST];
    const struct hc_tensor *second = &call->in[HC_CONV_SECOND];
    const struct hc_tensor *out = &call->out[HC_CONV_RESULT];
    bool data = call->op == HC_OP_conv2d_bwd_data;
    bool filter = call->op == HC_OP_conv2d_bwd_filter;
    struct hc_dk_conv_direct a = {.op = call->op,
                                  .x = data ? *out : *first,
                                  .w = filter ? *out : *second,
                                  .y = filter ? *second
                                       : data ? *first
                                              : *out,
                                  .stride = call->params.conv.stride,
                                  .pad = call->params.conv.pad};
    return hc_launch_elements(queue, HC_DK_conv_direct, hc_tensor_count(out), &a, sizeof a);
}

/* cuDNN has no empty tensors: a sum over nothing is +0. */
enum hc_status hc_cuda_conv(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_conv_key key = hc_conv_key_of(call);
    if (hc_conv_empty(&key.shape)) {
        struct hc_tensor nothing = call->out[HC_CONV_RESULT];
        nothing.data = NULL;
        return hc_cuda_broadcast(queue, &nothing, 1, false, &call->out[HC_CONV_RESULT]);
    }
    struct hc_conv_plan *plan = hc_conv_plan(queue->libraries, &key);
    if (!plan)
        return HC_DEVICE;
    return plan->plan && aligned(call) ? run(queue, call, plan) : direct(queue, call);
}
