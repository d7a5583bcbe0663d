/* Batch norm by cuDNN's older functions, which cuDNN 9 marks as deprecated. Nothing else of that
   interface is used. The graph interface is no choice: which layouts, formats and outputs its
   engines for batch norm take can only be asked of a device. The table of types that these
   functions support says NHWC with fp32 parameters and statistics for fp32, fp16 and bf16 data. The
   mode is the spatial one, not the persistent one, whose range of values is limited. */
#include "kernels/cuda/library/dnn_norm.h"

#include <limits.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/library/handles.h"

struct norm {
    const struct hc_library *library;
    void *handle;
    void *data;       /* descriptor of x, y, dy and dx */
    void *parameters; /* descriptor of all other tensors */
};

static const float alpha = 1;
static const float beta = 0;

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
                       l->cudnn_set_tensor(n->data, hc_dnn_type(x->format), images, c, h, w,
                                           h * w * c, 1, w * c, c),
                       "the data's descriptor");
    if (status == HC_OK)
        status = check(n, l->cudnn_derive_norm(n->parameters, n->data, HC_DNN_NORM_SPATIAL),
                       "the parameters' descriptor");
    return status;
}

/* Whether cuDNN takes the formats and x's extents: x and two other tensors, which may be one, are
   of one format, all others are fp32. */
static bool takes(const struct hc_call *call, const struct hc_tensor *one,
                  const struct hc_tensor *other)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    const struct hc_tensor *x = &call->in[HC_BN_X];
    for (int i = 0; i < op->inputs + op->outputs; i++) {
        const struct hc_tensor *t = i < op->inputs ? &call->in[i] : &call->out[i - op->inputs];
        bool data = t == x || t == one || t == other;
        if (t->format != (data ? x->format : HC_FP32))
            return false;
    }
    return x->rank == 4 && hc_tensor_count(x) <= INT_MAX;
}

static enum hc_status refuse(const struct hc_call *call)
{
    return hc_fail(HC_UNSUPPORTED, "cuda-cudnn: no %s of these formats and shapes",
                   hc_ops[call->op].name);
}

/* cuDNN updates the running statistics in place. */
static enum hc_status copy(struct hc_queue *queue, const struct hc_tensor *from,
                           const struct hc_tensor *to)
{
    return from->data == to->data ? HC_OK : hc_cuda_broadcast(queue, from, 1, false, to);
}

/* One row has no unbiased variance, and cuDNN does not say what it makes of that. */
enum hc_status hc_cudnn_bn_train(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    const struct hc_tensor *mean = &call->out[HC_BN_NEW_MEAN];
    const struct hc_tensor *variance = &call->out[HC_BN_NEW_VARIANCE];
    const struct hc_bn *p = &call->params.bn;
    struct norm n;
    if (!takes(call, y, y) || hc_tensor_count(x) == x->shape[3])
        return refuse(call);
    if (hc_tensor_count(x) == 0)
        return HC_OK;
    enum hc_status status = begin(&n, queue, x);
    if (status == HC_OK)
        status = copy(queue, &call->in[HC_BN_MEAN], mean);
    if (status == HC_OK)
        status = copy(queue, &call->in[HC_BN_VARIANCE], variance);
    if (status == HC_OK)
        status =
            check(&n,
                  n.library->cudnn_norm_train(
                      n.handle, HC_DNN_NORM_SPATIAL, &alpha, &beta, n.data, x->data, n.data,
                      y->data, n.parameters, call->in[HC_BN_GAMMA].data, call->in[HC_BN_BETA].data,
                      (double)(float)p->momentum, mean->data, variance->data, (double)(float)p->eps,
                      call->out[HC_BN_SAVED_MEAN].data, call->out[HC_BN_SAVED_INVSTD].data),
                  "batch norm forward");
    finish(&n);
    return status;
}

enum hc_status hc_cudnn_bn_infer(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    struct norm n;
    if (!takes(call, y, y))
        return refuse(call);
    if (hc_tensor_count(x) == 0)
        return HC_OK;
    enum hc_status status = begin(&n, queue, x);
    if (status == HC_OK)
        status = check(&n,
                       n.library->cudnn_norm_infer(
                           n.handle, HC_DNN_NORM_SPATIAL, &alpha, &beta, n.data, x->data, n.data,
                           y->data, n.parameters, call->in[HC_BN_GAMMA].data,
                           call->in[HC_BN_BETA].data, call->in[HC_BN_MEAN].data,
                           call->in[HC_BN_VARIANCE].data, (double)(float)call->params.bn.eps),
                       "batch norm inference");
    finish(&n);
    return status;
}

enum hc_status hc_cudnn_bn_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_BWD_X];
    const struct hc_tensor *dy = &call->in[HC_BN_BWD_DY];
    const struct hc_tensor *dx = &call->out[HC_BN_BWD_DX];
    struct norm n;
    if (!takes(call, dy, dx))
        return refuse(call);
    if (hc_tensor_count(x) == 0)
        return HC_OK;
    enum hc_status status = begin(&n, queue, x);
    if (status == HC_OK)
        status = check(&n,
                       n.library->cudnn_norm_bwd(
                           n.handle, HC_DNN_NORM_SPATIAL, &alpha, &beta, &alpha, &beta, n.data,
                           x->data, n.data, dy->data, n.data, dx->data, n.parameters,
                           call->in[HC_BN_BWD_GAMMA].data, call->out[HC_BN_BWD_DGAMMA].data,
                           call->out[HC_BN_BWD_DBETA].data, (double)(float)call->params.bn.eps,
                           call->in[HC_BN_BWD_MEAN].data, call->in[HC_BN_BWD_INVSTD].data),
                       "batch norm backward");
    finish(&n);
    return status;
}
