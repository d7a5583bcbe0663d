/* Batch norm by cuDNN's older functions, which cuDNN 9 marks as deprecated; nothing else of that
   interface is used, and only here. Why not its graphs: what layouts, formats and outputs an engine for
   a graph of batch norm takes can only be asked of a device, whereas these functions' table of
   supported types says NHWC with fp32 parameters and statistics for fp32, fp16 and bf16 data. The
   spatial mode, not the persistent one, whose range of values is limited. */
#include "kernels/cuda/library/dnn_norm.h"

#include <limits.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/library/handles.h"
#include "kernels/cuda/kernel/broadcast.h"

struct norm {
    const struct hc_library *library;
    void *handle;
    void *data;       /* descriptor of x, y, dy and dx */
    void *parameters; /* of all else */
};

static const float one = 1;
static const float zero = 0;

static enum hc_status check(const struct norm *n, int status, const char *what)
{
    if (status == 0)
        return HC_OK;
    enum hc_status kind = status / 1000 == HC_DNN_NOT_SUPPORTED / 1000 ? HC_UNSUPPORTED : HC_DEVICE;
    return hc_fail(kind, "cuda-cudnn: %s: %s", what, n->library->cudnn_text(status));
}

static void finish(struct norm *n)
{
    if (n->parameters)
        (void)n->library->cudnn_destroy_tensor(n->parameters);
    if (n->data)
        (void)n->library->cudnn_destroy_tensor(n->data);
}

static int type_of(enum hc_format format)
{
    return format == HC_FP16 ? HC_DNN_FP16 : format == HC_BF16 ? HC_DNN_BF16 : HC_DNN_FP32;
}

static enum hc_status begin(struct norm *n, const struct hc_queue *queue, const struct hc_tensor *x)
{
    const struct hc_library *l = queue->libraries->library;
    int images = (int)x->shape[0];
    int h = (int)x->shape[1];
    int w = (int)x->shape[2];
    int c = (int)x->shape[3];
    *n = (struct norm){.library = l, .handle = queue->libraries->dnn};
    enum hc_status status = check(n, l->cudnn_create_tensor(&n->data), "a descriptor");
    if (status == HC_OK)
        status = check(n, l->cudnn_create_tensor(&n->parameters), "a descriptor");
    if (status == HC_OK)
        status = check(n,
                       l->cudnn_set_tensor(n->data, type_of(x->format), images, c, h, w, h * w * c,
                                           1, w * c, c),
                       "the data's descriptor");
    if (status == HC_OK)
        status = check(n, l->cudnn_derive_norm(n->parameters, n->data, HC_DNN_NORM_SPATIAL),
                       "the parameters' descriptor");
    return status;
}

/* Whether the slots' formats and x's extents are what cuDNN takes; those of `data` (a bit a slot, the
   inputs first) are x's, the others fp32. */
static bool takes(const struct hc_call *call, unsigned data)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    const struct hc_tensor *x = &call->in[0];
    for (int i = 0; i < op->inputs + op->outputs; i++) {
        const struct hc_tensor *t = i < op->inputs ? &call->in[i] : &call->out[i - op->inputs];
        if (t->format != (data >> i & 1 ? x->format : HC_FP32))
            return false;
    }
    return x->rank == 4 && hc_tensor_count(x) <= INT_MAX;
}

static enum hc_status refuse(const struct hc_call *call)
{
    return hc_fail(HC_UNSUPPORTED, "cuda-cudnn: no %s of these formats and shapes",
                   hc_ops[call->op].name);
}

/* cuDNN updates the running statistics where they are. */
static enum hc_status move(struct hc_queue *queue, const struct hc_tensor *from,
                           const struct hc_tensor *to)
{
    int64_t n = hc_tensor_count(to);
    struct hc_dk_broadcast copy = {.from_format = HC_FP32,
                                   .to_format = HC_FP32,
                                   .from = from->data,
                                   .to = to->data,
                                   .n = n,
                                   .period = n,
                                   .by = 1};
    return from->data == to->data ? HC_OK : hc_cuda_broadcast(queue, &copy);
}

/* One row has no unbiased variance, and cuDNN does not say what it makes of that. */
enum hc_status hc_cudnn_bn_train(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[0];
    const struct hc_bn *p = &call->params.bn;
    struct norm n;
    if (!takes(call, 1u << 0 | 1u << 5) || hc_tensor_count(x) == x->shape[3])
        return refuse(call);
    if (hc_tensor_count(x) == 0)
        return HC_OK;
    enum hc_status status = begin(&n, queue, x);
    if (status == HC_OK)
        status = move(queue, &call->in[3], &call->out[3]);
    if (status == HC_OK)
        status = move(queue, &call->in[4], &call->out[4]);
    if (status == HC_OK)
        status = check(&n,
                       n.library->cudnn_norm_train(
                           n.handle, HC_DNN_NORM_SPATIAL, &one, &zero, n.data, x->data, n.data,
                           call->out[0].data, n.parameters, call->in[1].data, call->in[2].data,
                           (double)(float)p->momentum, call->out[3].data, call->out[4].data,
                           (double)(float)p->eps, call->out[1].data, call->out[2].data),
                       "batch norm forward");
    finish(&n);
    return status;
}

enum hc_status hc_cudnn_bn_infer(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[0];
    struct norm n;
    if (!takes(call, 1u << 0 | 1u << 5))
        return refuse(call);
    if (hc_tensor_count(x) == 0)
        return HC_OK;
    enum hc_status status = begin(&n, queue, x);
    if (status == HC_OK)
        status = check(&n,
                       n.library->cudnn_norm_infer(
                           n.handle, HC_DNN_NORM_SPATIAL, &one, &zero, n.data, x->data, n.data,
                           call->out[0].data, n.parameters, call->in[1].data, call->in[2].data,
                           call->in[3].data, call->in[4].data, (double)(float)call->params.bn.eps),
                       "batch norm inference");
    finish(&n);
    return status;
}

enum hc_status hc_cudnn_bn_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[0];
    struct norm n;
    if (!takes(call, 1u << 0 | 1u << 1 | 1u << 5))
        return refuse(call);
    if (hc_tensor_count(x) == 0)
        return HC_OK;
    enum hc_status status = begin(&n, queue, x);
    if (status == HC_OK)
        status = check(&n,
                       n.library->cudnn_norm_bwd(
                           n.handle, HC_DNN_NORM_SPATIAL, &one, &zero, &one, &zero, n.data, x->data,
                           n.data, call->in[1].data, n.data, call->out[0].data, n.parameters,
                           call->in[2].data, call->out[1].data, call->out[2].data,
                           (double)(float)call->params.bn.eps, call->in[3].data, call->in[4].data),
                       "batch norm backward");
    finish(&n);
    return status;
}
