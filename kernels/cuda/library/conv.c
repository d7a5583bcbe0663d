/* Convolutions by cuDNN. It writes the output's own format where that is the inputs' or fp32;
   otherwise fp32 into scratch, rounded into the output at the end, so that there is one rounding
   always. Scratch: that result, then cuDNN's workspace. Where cuDNN has no plan whose sums are fp32's, or
   a tensor does not lie as it wants it, a kernel of our own takes its place. */
#include "kernels/cuda/library/conv_plan.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/kernel/conv_direct.h"
#include "kernels/cuda/kernel/broadcast.h"

struct hc_conv_key hc_conv_key_of(const struct hc_call *call)
{
    enum hc_format in = call->in[0].format;
    return (struct hc_conv_key){
        .shape = hc_conv_shape_of(call),
        .in = in,
        .out = call->out[0].format == in ? in : HC_FP32,
        .tf32 = hc_call_tf32(call),
    };
}

/* Bytes of the fp32 result, if there is one; what follows stays aligned. */
static size_t result_bytes(const struct hc_call *call, const struct hc_conv_key *key)
{
    size_t bytes = (size_t)hc_tensor_count(&call->out[0]) * sizeof(float);
    return key->out == call->out[0].format ? 0 : (bytes + 255) / 256 * 256;
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

static enum hc_status spread(struct hc_queue *queue, const void *from, const struct hc_tensor *to)
{
    int64_t n = hc_tensor_count(to);
    struct hc_dk_broadcast a = {.from_format = HC_FP32,
                                .to_format = to->format,
                                .from = from,
                                .to = to->data,
                                .n = n,
                                .period = n,
                                .by = 1};
    return hc_cuda_broadcast(queue, &a);
}

/* Whether the tensors lie as the plan was promised. */
static bool aligned(const struct hc_call *call)
{
    return (uintptr_t)call->in[0].data % HC_DNN_ALIGNMENT == 0 &&
           (uintptr_t)call->in[1].data % HC_DNN_ALIGNMENT == 0 &&
           (uintptr_t)call->out[0].data % HC_DNN_ALIGNMENT == 0;
}

static enum hc_status run(struct hc_queue *queue, const struct hc_call *call,
                          struct hc_conv_plan *plan)
{
    const struct hc_libraries *l = queue->libraries;
    size_t result = result_bytes(call, &plan->key);
    void *out = result ? call->scratch : call->out[0].data;
    void *first = call->in[0].data;
    void *second = call->in[1].data;
    void *workspace = plan->workspace ? (char *)call->scratch + result : NULL;
    /* x, w, y, workspace. */
    void *pointers[3][4] = {{first, second, out, workspace},
                            {out, second, first, workspace},
                            {first, out, second, workspace}};
    void *pack = NULL;
    int status = hc_conv_pack(l->library, plan, pointers[call->op - HC_OP_conv2d], &pack);
    if (status == 0)
        status = l->library->cudnn_execute(l->dnn, plan->plan, pack);
    if (status != 0)
        return hc_fail(HC_DEVICE, "cuda: cuDNN: %s: %s", hc_ops[call->op].name,
                       l->library->cudnn_text(status));
    return result ? spread(queue, out, &call->out[0]) : HC_OK;
}

static enum hc_status convolve(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_conv_key key = hc_conv_key_of(call);
    if (hc_conv_empty(&key.shape))
        return spread(queue, NULL, &call->out[0]);
    struct hc_conv_plan *plan = hc_conv_plan(queue->libraries, &key);
    if (!plan)
        return HC_DEVICE;
    return plan->plan && aligned(call) ? run(queue, call, plan) : hc_cuda_conv_direct(queue, call);
}

enum hc_status hc_cuda_conv2d(struct hc_queue *queue, const struct hc_call *call)
{
    return convolve(queue, call);
}

enum hc_status hc_cuda_conv2d_bwd_data(struct hc_queue *queue, const struct hc_call *call)
{
    return convolve(queue, call);
}

enum hc_status hc_cuda_conv2d_bwd_filter(struct hc_queue *queue, const struct hc_call *call)
{
    return convolve(queue, call);
}
