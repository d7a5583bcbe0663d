/* Convolutions by cuDNN. It writes the output's own format where that is the inputs' or fp32;
   otherwise fp32 into scratch, rounded into the output at the end, so that there is one rounding
   always. Scratch: that result, then cuDNN's workspace. */
#include "kernels/cuda/conv_plan.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/spread.h"

struct hc_conv_shape hc_conv_shape_of(const struct hc_call *call)
{
    const struct hc_tensor *slot[3] = {&call->in[0], &call->in[1], &call->out[0]};
    /* Which slots are x, w and y. */
    static const int roles[3][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}};
    const int *role = roles[call->op - HC_OP_conv2d];
    const int64_t *x = slot[role[0]]->shape;
    const int64_t *w = slot[role[1]]->shape;
    const int64_t *y = slot[role[2]]->shape;
    enum hc_format in = call->in[0].format;
    return (struct hc_conv_shape){
        .op = call->op,
        .in = in,
        .out = call->out[0].format == in ? in : HC_FP32,
        .n = x[0],
        .h = x[1],
        .w = x[2],
        .c = x[3],
        .p = y[1],
        .q = y[2],
        .k = w[0],
        .r = w[1],
        .s = w[2],
        .stride = call->params.conv.stride,
        .pad = call->params.conv.pad,
        .tf32 = hc_call_tf32(call),
    };
}

/* cuDNN has no empty tensors. */
static bool empty(const struct hc_conv_shape *g)
{
    return g->n == 0 || g->h == 0 || g->w == 0 || g->c == 0 || g->k == 0;
}

/* Bytes of the fp32 result, if there is one; what follows stays aligned. */
static size_t result_bytes(const struct hc_call *call, const struct hc_conv_shape *g)
{
    size_t bytes = (size_t)hc_tensor_count(&call->out[0]) * sizeof(float);
    return g->out == call->out[0].format ? 0 : (bytes + 255) / 256 * 256;
}

size_t hc_cuda_conv_scratch(struct hc_libraries *libraries, const struct hc_call *call)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    struct hc_conv_plan *plan = empty(&g) ? NULL : hc_conv_plan(libraries, &g);
    if (!plan || !plan->plan)
        return 0;
    return result_bytes(call, &g) + (size_t)plan->workspace;
}

static int execute(const struct hc_libraries *l, const struct hc_conv_plan *plan, void *tensors[3],
                   void *workspace)
{
    const struct hc_library *call = l->library;
    static const int64_t ids[3] = {HC_CONV_X, HC_CONV_W, HC_CONV_Y};
    void *pack = NULL;
    int status = call->cudnn_create_descriptor(HC_DNN_PACK, &pack);
    if (status != 0)
        return status;
    status = call->cudnn_set(pack, HC_DNN_PACK_IDS, HC_DNN_TYPE_INT64, 3, ids);
    if (status == 0)
        status = call->cudnn_set(pack, HC_DNN_PACK_POINTERS, HC_DNN_TYPE_POINTER, 3, tensors);
    if (status == 0)
        status = call->cudnn_set(pack, HC_DNN_PACK_WORKSPACE, HC_DNN_TYPE_POINTER, 1, &workspace);
    if (status == 0)
        status = call->cudnn_finalize(pack);
    if (status == 0)
        status = call->cudnn_execute(l->dnn, plan->plan, pack);
    (void)call->cudnn_destroy_descriptor(pack);
    return status;
}

static enum hc_status spread(struct hc_queue *queue, const void *from, const struct hc_tensor *to)
{
    int64_t n = hc_tensor_count(to);
    struct hc_dk_spread a = {.from_format = HC_FP32,
                             .to_format = to->format,
                             .from = from,
                             .to = to->data,
                             .n = n,
                             .period = n,
                             .by = 1};
    return hc_cuda_spread(queue, &a);
}

static enum hc_status run(struct hc_queue *queue, const struct hc_call *call,
                          const struct hc_conv_plan *plan)
{
    const struct hc_conv_shape *g = &plan->shape;
    size_t result = result_bytes(call, g);
    void *out = result ? call->scratch : call->out[0].data;
    void *first = call->in[0].data;
    void *second = call->in[1].data;
    void *tensors[3][3] = {{first, second, out}, {out, second, first}, {first, out, second}};
    void *workspace = plan->workspace ? (char *)call->scratch + result : NULL;
    for (int i = 0; i < 3; i++)
        if ((uintptr_t)tensors[0][i] % HC_DNN_ALIGNMENT != 0)
            return hc_fail(HC_UNSUPPORTED, "cuda: %s: a tensor is not aligned to %d bytes",
                           hc_ops[g->op].name, HC_DNN_ALIGNMENT);
    int status = execute(queue->libraries, plan, tensors[g->op - HC_OP_conv2d], workspace);
    if (status != 0)
        return hc_fail(HC_DEVICE, "cuda: cuDNN: %s: %s", hc_ops[g->op].name,
                       queue->libraries->library->cudnn_text(status));
    return result ? spread(queue, out, &call->out[0]) : HC_OK;
}

static enum hc_status convolve(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    if (empty(&g))
        return spread(queue, NULL, &call->out[0]);
    const struct hc_conv_plan *plan = hc_conv_plan(queue->libraries, &g);
    if (!plan)
        return HC_DEVICE;
    if (!plan->plan)
        return hc_fail(HC_UNSUPPORTED,
                       "cuda: %s: cuDNN has no plan that sums in fp32 in a fixed order, %s to %s",
                       hc_ops[g.op].name, hc_formats[g.in].name, hc_formats[g.out].name);
    return run(queue, call, plan);
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
