/* Convolutions by cuDNN where the output has the inputs' format: for other outputs it proposes no
   engine (plans/refusals_test.c). Those, shapes that have no plan whose sums are in fp32, and
   tensors that are not aligned as plans rely on are left to a kernel of our own. Scratch is cuDNN's
   workspace. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/kernel/arguments.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/library/conv_plan.h"
#include "kernels/cuda/work.h"

struct hc_conv_key hc_conv_key_of(const struct hc_call *call)
{
    return (struct hc_conv_key){
        .shape = hc_conv_shape_of(call),
        .format = call->in[HC_CONV_FIRST].format,
        .tf32 = hc_call_tf32(call),
    };
}

/* Whether cuDNN is asked for a plan. It has no empty tensors. */
static bool is_planned(const struct hc_call *call, const struct hc_conv_key *key)
{
    return call->out[HC_CONV_RESULT].format == key->format && !hc_conv_empty(&key->shape);
}

size_t hc_cuda_conv_scratch(struct hc_libraries *libraries, const struct hc_call *call)
{
    struct hc_conv_key key = hc_conv_key_of(call);
    struct hc_conv_plan *plan = is_planned(call, &key) ? hc_conv_plan(libraries, &key) : NULL;
    return plan ? (size_t)plan->workspace : 0;
}

/* Whether the tensors are aligned as the plan relies on. */
static bool aligned(const struct hc_call *call)
{
    return (uintptr_t)call->in[HC_CONV_FIRST].data % HC_DNN_ALIGNMENT == 0 &&
           (uintptr_t)call->in[HC_CONV_SECOND].data % HC_DNN_ALIGNMENT == 0 &&
           (uintptr_t)call->out[HC_CONV_RESULT].data % HC_DNN_ALIGNMENT == 0;
}

static enum hc_status run_plan(struct hc_queue *queue, const struct hc_call *call,
                               struct hc_conv_plan *plan)
{
    const struct hc_libraries *l = queue->libraries;
    void *out = call->out[HC_CONV_RESULT].data;
    void *first = call->in[HC_CONV_FIRST].data;
    void *second = call->in[HC_CONV_SECOND].data;
    void *workspace = plan->workspace ? call->scratch : NULL;
    /* x, w, y and workspace of each op. */
    void *pointers[3][4] = {{first, second, out, workspace},
                            {out, second, first, workspace},
                            {first, out, second, workspace}};
    void *pack = NULL;
    enum hc_status settled = hc_cuda_settle(queue);
    if (settled != HC_OK)
        return settled;
    hc_cuda_count_call(queue, call);
    int status = hc_conv_pack(l->library, plan, pointers[call->op - HC_OP_conv2d], &pack);
    if (status == 0)
        status = l->library->cudnn_execute(l->dnn, plan->plan, pack);
    if (status == 0)
        return HC_OK;
    return hc_fail(HC_DEVICE, "cuda: cuDNN: %s: %s", hc_ops[call->op].name,
                   l->library->cudnn_text(status));
}

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

/* A sum over nothing is +0. */
enum hc_status hc_cuda_conv(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_conv_key key = hc_conv_key_of(call);
    if (hc_conv_empty(&key.shape)) {
        struct hc_tensor nothing = call->out[HC_CONV_RESULT];
        nothing.data = NULL;
        return hc_cuda_broadcast(queue, &nothing, 1, false, &call->out[HC_CONV_RESULT]);
    }
    if (!is_planned(call, &key))
        return direct(queue, call);
    struct hc_conv_plan *plan = hc_conv_plan(queue->libraries, &key);
    if (!plan)
        return HC_DEVICE;
    return plan->plan && aligned(call) ? run_plan(queue, call, plan) : direct(queue, call);
}
