/* Reads an operation of the stand-in for cuDNN from its descriptors. Nothing has a default: an
   attribute that is missing, or has another type or count, makes the operation fail. */
#include "kernels/cuda/emulate/dnn.h"

const struct hc_dnn_attribute *hc_dnn_find(const struct hc_dnn_descriptor *d, int name, int type,
                                           int64_t count)
{
    for (int i = 0; d && i < d->count; i++)
        if (d->attribute[i].name == name && d->attribute[i].type == type &&
            d->attribute[i].count == count)
            return &d->attribute[i];
    return NULL;
}

struct hc_dnn_descriptor *hc_dnn_child(const struct hc_dnn_descriptor *d, int name)
{
    const struct hc_dnn_attribute *a = hc_dnn_find(d, name, HC_DNN_TYPE_DESCRIPTOR, 1);
    return a ? a->value.pointer[0] : NULL;
}

static bool integers(const struct hc_dnn_descriptor *d, int name, int64_t count, int64_t *to)
{
    const struct hc_dnn_attribute *a = hc_dnn_find(d, name, HC_DNN_TYPE_INT64, count);
    for (int64_t i = 0; a && i < count; i++)
        to[i] = a->value.integer[i];
    return a;
}

static bool number_is(const struct hc_dnn_descriptor *d, int name, int type, int want)
{
    const struct hc_dnn_attribute *a = hc_dnn_find(d, name, type, 1);
    return a && a->value.number[0] == want;
}

/* Whether elements have places of their own, as far as two dimensions show it. */
static bool is_disjoint(const struct hc_dnn_tensor *t)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (i != j && t->extent[i] > 1 && t->extent[j] > 1 && t->stride[i] >= t->stride[j] &&
                t->stride[i] < t->stride[j] * t->extent[j])
                return false;
    return true;
}

static bool read_tensor(const struct hc_dnn_descriptor *d, struct hc_dnn_tensor *t)
{
    static const struct {
        int type;
        enum hc_format format;
    } types[] = {{HC_DNN_FP32, HC_FP32}, {HC_DNN_FP16, HC_FP16}, {HC_DNN_BF16, HC_BF16}};
    t->format = HC_FORMAT_COUNT;
    for (int i = 0; i < 3; i++)
        if (number_is(d, HC_DNN_TENSOR_TYPE, HC_DNN_TYPE_DATA_TYPE, types[i].type))
            t->format = types[i].format;
    bool read = t->format != HC_FORMAT_COUNT &&
                integers(d, HC_DNN_TENSOR_DIMENSIONS, 4, t->extent) &&
                integers(d, HC_DNN_TENSOR_STRIDES, 4, t->stride) &&
                integers(d, HC_DNN_TENSOR_ID, 1, &t->id) &&
                integers(d, HC_DNN_TENSOR_ALIGNMENT, 1, &t->alignment);
    for (int i = 0; read && i < 4; i++)
        read = t->extent[i] > 0 && t->stride[i] > 0;
    return read && is_disjoint(t) && t->alignment > 0 &&
           t->alignment % hc_formats[t->format].bytes == 0;
}

static bool read_convolution(const struct hc_dnn_descriptor *d, struct hc_dnn_operation *o)
{
    int64_t spatial = 0;
    return integers(d, HC_DNN_CONVOLUTION_SPATIAL_DIMENSIONS, 1, &spatial) && spatial == 2 &&
           number_is(d, HC_DNN_CONVOLUTION_COMPUTE, HC_DNN_TYPE_DATA_TYPE, HC_DNN_FP32) &&
           number_is(d, HC_DNN_CONVOLUTION_MODE, HC_DNN_TYPE_MODE, HC_DNN_CROSS_CORRELATION) &&
           integers(d, HC_DNN_CONVOLUTION_PRE_PADDINGS, 2, o->before) &&
           integers(d, HC_DNN_CONVOLUTION_POST_PADDINGS, 2, o->after) &&
           integers(d, HC_DNN_CONVOLUTION_STRIDES, 2, o->stride) &&
           integers(d, HC_DNN_CONVOLUTION_DILATIONS, 2, o->dilation) && o->stride[0] > 0 &&
           o->stride[1] > 0 && o->dilation[0] > 0 && o->dilation[1] > 0 && o->before[0] >= 0 &&
           o->before[1] >= 0 && o->after[0] >= 0 && o->after[1] >= 0;
}

static bool shapes_agree(const struct hc_dnn_operation *o)
{
    bool agree = o->x.extent[0] == o->y.extent[0] && o->x.extent[1] == o->w.extent[1] &&
                 o->w.extent[0] == o->y.extent[1];
    for (int i = 0; i < 2; i++) {
        int64_t reach = o->dilation[i] * (o->w.extent[2 + i] - 1) + 1;
        int64_t padded = o->x.extent[2 + i] + o->before[i] + o->after[i];
        agree =
            agree && padded >= reach && o->y.extent[2 + i] == (padded - reach) / o->stride[i] + 1;
    }
    return agree;
}

static bool scales_are(const struct hc_dnn_descriptor *d, int first)
{
    const struct hc_dnn_attribute *alpha = hc_dnn_find(d, first, HC_DNN_TYPE_FLOAT, 1);
    const struct hc_dnn_attribute *beta = hc_dnn_find(d, first + 1, HC_DNN_TYPE_FLOAT, 1);
    return alpha && beta && alpha->value.real[0] == 1 && beta->value.real[0] == 0;
}

int hc_dnn_read(const struct hc_dnn_descriptor *d, struct hc_dnn_operation *o)
{
    int kind = d ? d->kind : 0;
    int first = kind == HC_DNN_FORWARD    ? HC_DNN_FORWARD_FIRST
                : kind == HC_DNN_BWD_DATA ? HC_DNN_BWD_DATA_FIRST
                                          : HC_DNN_BWD_FILTER_FIRST;
    o->kind = kind;
    if (!scales_are(d, first) || !read_convolution(hc_dnn_child(d, first + 2), o) ||
        !read_tensor(hc_dnn_child(d, first + 3), &o->w) ||
        !read_tensor(hc_dnn_child(d, first + 4), &o->x) ||
        !read_tensor(hc_dnn_child(d, first + 5), &o->y))
        return HC_DNN_BAD_PARAM;
    if (o->w.id == o->x.id || o->w.id == o->y.id || o->x.id == o->y.id)
        return HC_DNN_BAD_DUPLICATE;
    return shapes_agree(o) ? 0 : HC_DNN_BAD_SHAPE;
}

const struct hc_dnn_descriptor *hc_dnn_operation_of(const struct hc_dnn_descriptor *d)
{
    if (d && d->kind == HC_DNN_PLAN)
        d = hc_dnn_child(d, HC_DNN_PLAN_CONFIG);
    if (d && d->kind == HC_DNN_CONFIG)
        d = hc_dnn_child(d, HC_DNN_HEURISTICS_GRAPH);
    return hc_dnn_child(d, HC_DNN_GRAPH_OPERATIONS);
}

const struct hc_dnn_tensor *hc_dnn_written(const struct hc_dnn_operation *o)
{
    return o->kind == HC_DNN_FORWARD ? &o->y : o->kind == HC_DNN_BWD_DATA ? &o->x : &o->w;
}

int64_t hc_dnn_workspace(const struct hc_dnn_operation *o)
{
    const int64_t *n = hc_dnn_written(o)->extent;
    return n[0] * n[1] * n[2] * n[3] * (int64_t)sizeof(float);
}
