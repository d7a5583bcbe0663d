/* One convolution as an operation graph of cuDNN's backend interface. cuDNN orders dimensions as N,
   C, H, W (filters K, C, R, S) whatever the layout is. Ours, channels last, is in the strides. */
#include "kernels/cuda/library/conv_plan.h"

#include <stdlib.h>

/* Whether one more descriptor can be kept. */
static bool has_room(struct hc_conv_plan *plan)
{
    if (plan->count < plan->room)
        return true;
    int room = 2 * plan->room + 16;
    void **made = realloc((void *)plan->made, (size_t)room * sizeof *made);
    if (!made)
        return false;
    plan->made = made;
    plan->room = room;
    return true;
}

void *hc_conv_make(struct hc_conv_builder *b, int kind)
{
    struct hc_conv_plan *plan = b->plan;
    void *descriptor = NULL;
    if (b->status != 0)
        return NULL;
    b->status =
        has_room(plan) ? b->library->cudnn_create_descriptor(kind, &descriptor) : HC_DNN_NO_MEMORY;
    if (b->status != 0) {
        b->what = "create a descriptor";
        return NULL;
    }
    plan->made[plan->count++] = descriptor;
    return descriptor;
}

void hc_conv_set(struct hc_conv_builder *b, void *descriptor, int name, int type, int64_t count,
                 const void *values)
{
    if (b->status != 0)
        return;
    b->status = b->library->cudnn_set(descriptor, name, type, count, values);
    b->what = "set an attribute";
}

void hc_conv_finalize(struct hc_conv_builder *b, void *descriptor)
{
    if (b->status != 0)
        return;
    b->status = b->library->cudnn_finalize(descriptor);
    b->what = "finalize a descriptor";
}

void hc_conv_get(struct hc_conv_builder *b, void *descriptor, int name, int type, int64_t capacity,
                 int64_t *count, void *values)
{
    if (b->status != 0)
        return;
    b->status = b->library->cudnn_get(descriptor, name, type, capacity, count, values);
    b->what = "get an attribute";
}

void hc_conv_target(struct hc_conv_builder *b, void *descriptor, int handle, int device)
{
    if (!b->device)
        hc_conv_set(b, descriptor, handle, HC_DNN_TYPE_HANDLE, 1, &b->handle);
    else
        hc_conv_set(b, descriptor, device, HC_DNN_TYPE_DESCRIPTOR, 1, &b->device);
}

void hc_conv_undo(struct hc_conv_builder *b, int count)
{
    while (b->plan->count > count)
        (void)b->library->cudnn_destroy_descriptor(b->plan->made[--b->plan->count]);
}

/* A tensor [n, h, w, c]. */
static void *tensor(struct hc_conv_builder *b, int64_t id, enum hc_format format, int64_t n,
                    int64_t h, int64_t w, int64_t c)
{
    const int64_t dimensions[4] = {n, c, h, w};
    const int64_t strides[4] = {h * w * c, 1, w * c, c};
    const int64_t alignment = HC_DNN_ALIGNMENT;
    const int type = hc_dnn_type(format);
    void *t = hc_conv_make(b, HC_DNN_TENSOR);
    hc_conv_set(b, t, HC_DNN_TENSOR_TYPE, HC_DNN_TYPE_DATA_TYPE, 1, &type);
    hc_conv_set(b, t, HC_DNN_TENSOR_DIMENSIONS, HC_DNN_TYPE_INT64, 4, dimensions);
    hc_conv_set(b, t, HC_DNN_TENSOR_STRIDES, HC_DNN_TYPE_INT64, 4, strides);
    hc_conv_set(b, t, HC_DNN_TENSOR_ID, HC_DNN_TYPE_INT64, 1, &id);
    hc_conv_set(b, t, HC_DNN_TENSOR_ALIGNMENT, HC_DNN_TYPE_INT64, 1, &alignment);
    hc_conv_finalize(b, t);
    return t;
}

static void *convolution(struct hc_conv_builder *b)
{
    const struct hc_conv_shape *g = &b->plan->key.shape;
    const int64_t spatial = 2;
    const int64_t ones[2] = {1, 1};
    const int64_t strides[2] = {g->stride, g->stride};
    const int64_t pads[2] = {g->pad, g->pad};
    const int compute = HC_DNN_FP32;
    const int mode = HC_DNN_CROSS_CORRELATION;
    void *c = hc_conv_make(b, HC_DNN_CONVOLUTION);
    hc_conv_set(b, c, HC_DNN_CONVOLUTION_SPATIAL_DIMENSIONS, HC_DNN_TYPE_INT64, 1, &spatial);
    hc_conv_set(b, c, HC_DNN_CONVOLUTION_COMPUTE, HC_DNN_TYPE_DATA_TYPE, 1, &compute);
    hc_conv_set(b, c, HC_DNN_CONVOLUTION_MODE, HC_DNN_TYPE_MODE, 1, &mode);
    hc_conv_set(b, c, HC_DNN_CONVOLUTION_PRE_PADDINGS, HC_DNN_TYPE_INT64, 2, pads);
    hc_conv_set(b, c, HC_DNN_CONVOLUTION_POST_PADDINGS, HC_DNN_TYPE_INT64, 2, pads);
    hc_conv_set(b, c, HC_DNN_CONVOLUTION_STRIDES, HC_DNN_TYPE_INT64, 2, strides);
    hc_conv_set(b, c, HC_DNN_CONVOLUTION_DILATIONS, HC_DNN_TYPE_INT64, 2, ones);
    hc_conv_finalize(b, c);
    return c;
}

/* The kind of the operation's descriptor, and the first of its attributes. */
struct operation {
    int kind;
    int first;
};

static const struct operation operations[3] = {
    {HC_DNN_FORWARD, HC_DNN_FORWARD_FIRST},
    {HC_DNN_BWD_DATA, HC_DNN_BWD_DATA_FIRST},
    {HC_DNN_BWD_FILTER, HC_DNN_BWD_FILTER_FIRST},
};

void *hc_conv_graph(struct hc_conv_builder *b)
{
    const struct hc_conv_key *key = &b->plan->key;
    const struct hc_conv_shape *g = &key->shape;
    const struct operation *o = &operations[g->op - HC_OP_conv2d];
    const float alpha = 1;
    const float beta = 0;
    void *w = tensor(b, HC_CONV_ID_W, key->format, g->k, g->r, g->s, g->c);
    void *x = tensor(b, HC_CONV_ID_X, key->format, g->n, g->h, g->w, g->c);
    void *y = tensor(b, HC_CONV_ID_Y, key->format, g->n, g->p, g->q, g->k);
    void *c = convolution(b);
    void *operation = hc_conv_make(b, o->kind);
    hc_conv_set(b, operation, o->first, HC_DNN_TYPE_FLOAT, 1, &alpha);
    hc_conv_set(b, operation, o->first + 1, HC_DNN_TYPE_FLOAT, 1, &beta);
    hc_conv_set(b, operation, o->first + 2, HC_DNN_TYPE_DESCRIPTOR, 1, &c);
    hc_conv_set(b, operation, o->first + 3, HC_DNN_TYPE_DESCRIPTOR, 1, &w);
    hc_conv_set(b, operation, o->first + 4, HC_DNN_TYPE_DESCRIPTOR, 1, &x);
    hc_conv_set(b, operation, o->first + 5, HC_DNN_TYPE_DESCRIPTOR, 1, &y);
    hc_conv_finalize(b, operation);
    void *graph = hc_conv_make(b, HC_DNN_GRAPH);
    if (!b->device)
        hc_conv_set(b, graph, HC_DNN_GRAPH_HANDLE, HC_DNN_TYPE_HANDLE, 1, &b->handle);
    hc_conv_set(b, graph, HC_DNN_GRAPH_OPERATIONS, HC_DNN_TYPE_DESCRIPTOR, 1, &operation);
    hc_conv_finalize(b, graph);
    return graph;
}
