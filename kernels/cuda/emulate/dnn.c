/* The stand-in for cuDNN's backend interface: descriptors are created and set,
   read as operations, and run.
   The states that they go through are the real library's to check (plans/refusals_test.c). */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/emulate/dnn.h"
#include "kernels/cuda/emulate/stream.h"
#include "kernels/element/load.h"

/* The first three are quick and coarse, the third only for fp32 inputs. The fourth is slow to
   make. */
static const struct hc_dnn_engine dnn_engines[HC_DNN_ENGINES] = {
    {38, 2, {HC_DNN_NOTE_WINOGRAD, HC_DNN_NOTE_TENSOR_CORE}, HC_BF16, false, false},
    {7, 1, {HC_DNN_NOTE_NONDETERMINISTIC}, HC_FP16, false, false},
    {21, 1, {HC_DNN_NOTE_TENSOR_CORE}, HC_FP32, true, false},
    {1063, 0, {0}, HC_FP32, false, true},
    {0, 0, {0}, HC_FP32, false, false},
};

int hc_dnn_create(void **handle)
{
    *handle = calloc(1, sizeof(struct hc_dnn_handle));
    return *handle ? 0 : HC_DNN_NO_MEMORY;
}

int hc_dnn_destroy(void *handle)
{
    free(handle);
    return 0;
}

int hc_dnn_set_stream(void *handle, void *stream)
{
    ((struct hc_dnn_handle *)handle)->stream = stream;
    return 0;
}

int hc_dnn_create_descriptor(int kind, void **descriptor)
{
    struct hc_dnn_descriptor *d = calloc(1, sizeof *d);
    *descriptor = d;
    if (!d)
        return HC_DNN_NO_MEMORY;
    d->kind = kind;
    return 0;
}

int hc_dnn_destroy_descriptor(void *descriptor)
{
    free(descriptor);
    return 0;
}

static size_t size_of(int type)
{
    switch (type) {
    case HC_DNN_TYPE_INT64:
        return sizeof(int64_t);
    case HC_DNN_TYPE_FLOAT:
        return sizeof(float);
    case HC_DNN_TYPE_HANDLE:
    case HC_DNN_TYPE_POINTER:
    case HC_DNN_TYPE_DESCRIPTOR:
        return sizeof(void *);
    default:
        return sizeof(int);
    }
}

int hc_dnn_set(void *descriptor, int name, int type, int64_t count, const void *values)
{
    struct hc_dnn_descriptor *d = descriptor;
    if (count < 1 || count > HC_DNN_VALUES || d->count == HC_DNN_ATTRIBUTES)
        return HC_DNN_BAD_PARAM;
    struct hc_dnn_attribute *a = &d->attribute[d->count++];
    *a = (struct hc_dnn_attribute){.name = name, .type = type, .count = count};
    memcpy(&a->value, values, (size_t)count * size_of(type));
    return 0;
}

int hc_dnn_finalize(void *descriptor)
{
    const struct hc_dnn_descriptor *d = descriptor;
    struct hc_dnn_operation operation;
    bool operates =
        d->kind == HC_DNN_FORWARD || d->kind == HC_DNN_BWD_DATA || d->kind == HC_DNN_BWD_FILTER;
    return operates ? hc_dnn_read(d, &operation) : 0;
}

/* Gives each configuration that the caller made an engine, and the graph that it is for. cuDNN has
   no engine for a graph of more than one format. */
static int propose(const struct hc_dnn_descriptor *d, int64_t capacity, int64_t *count,
                   struct hc_dnn_descriptor **configs)
{
    struct hc_dnn_descriptor *graph = hc_dnn_child(d, HC_DNN_HEURISTICS_GRAPH);
    struct hc_dnn_operation o;
    *count = 0;
    if (hc_dnn_read(hc_dnn_operation_of(graph), &o) != 0 || o.w.format != o.x.format ||
        o.y.format != o.x.format)
        return HC_DNN_NOT_SUPPORTED;
    for (int i = 0; i < HC_DNN_ENGINES; i++) {
        if (i == 2 && o.x.format != HC_FP32)
            continue;
        if (*count < capacity) {
            struct hc_dnn_descriptor *c = configs[*count];
            (void)hc_dnn_set(c, HC_DNN_HEURISTICS_GRAPH, HC_DNN_TYPE_DESCRIPTOR, 1, &graph);
            c->engine = i;
        }
        ++*count;
    }
    return 0;
}

static int get_notes(const struct hc_dnn_engine *engine, int64_t capacity, int64_t *count, int *to)
{
    *count = engine->notes;
    for (int64_t i = 0; i < engine->notes && i < capacity; i++)
        to[i] = engine->note[i];
    return 0;
}

int hc_dnn_get(const void *descriptor, int name, int type, int64_t capacity, int64_t *count,
               void *values)
{
    const struct hc_dnn_descriptor *d = descriptor;
    struct hc_dnn_operation operation;
    *count = 1;
    if (name == HC_DNN_HEURISTICS_RESULTS && type == HC_DNN_TYPE_DESCRIPTOR)
        return propose(d, capacity, count, values);
    if (name == HC_DNN_CONFIG_ENGINE && type == HC_DNN_TYPE_DESCRIPTOR) {
        (*(struct hc_dnn_descriptor **)values)->engine = d->engine;
        return 0;
    }
    if (name == HC_DNN_ENGINE_INDEX && type == HC_DNN_TYPE_INT64) {
        *(int64_t *)values = dnn_engines[d->engine].index;
        return 0;
    }
    if (name == HC_DNN_ENGINE_NOTES && type == HC_DNN_TYPE_NOTE)
        return get_notes(&dnn_engines[d->engine], capacity, count, values);
    if (name == HC_DNN_ENGINE_BEHAVIOURS && type == HC_DNN_TYPE_BEHAVIOUR) {
        *count = dnn_engines[d->engine].compiles;
        *(int *)values = HC_DNN_BEHAVIOUR_COMPILES;
        return 0;
    }
    if (name == HC_DNN_CONFIG_KNOBS && type == HC_DNN_TYPE_DESCRIPTOR) {
        *count = 0;
        return 0;
    }
    if (name == HC_DNN_PLAN_WORKSPACE && type == HC_DNN_TYPE_INT64 &&
        hc_dnn_read(hc_dnn_operation_of(d), &operation) == 0) {
        *(int64_t *)values = hc_dnn_workspace(&operation);
        return 0;
    }
    return HC_DNN_BAD_TYPE;
}

const char *hc_dnn_text(int status)
{
    return status == HC_DNN_BAD_SHAPE        ? "shapes do not match"
           : status == HC_DNN_BAD_MISALIGNED ? "misaligned pointer"
           : status == HC_DNN_NOT_SUPPORTED  ? "not supported"
                                             : "bad parameter";
}

size_t hc_dnn_version(void)
{
    return 0;
}

/* Reads an operation of the stand-in for cuDNN from its descriptors. Nothing has a default: an
   attribute that is missing, or has another type or count, makes the operation fail. */
static const struct hc_dnn_attribute *dnn_find(const struct hc_dnn_descriptor *d, int name,
                                               int type, int64_t count)
{
    for (int i = 0; d && i < d->count; i++)
        if (d->attribute[i].name == name && d->attribute[i].type == type &&
            d->attribute[i].count == count)
            return &d->attribute[i];
    return NULL;
}

struct hc_dnn_descriptor *hc_dnn_child(const struct hc_dnn_descriptor *d, int name)
{
    const struct hc_dnn_attribute *a = dnn_find(d, name, HC_DNN_TYPE_DESCRIPTOR, 1);
    return a ? a->value.pointer[0] : NULL;
}

static bool integers(const struct hc_dnn_descriptor *d, int name, int64_t count, int64_t *to)
{
    const struct hc_dnn_attribute *a = dnn_find(d, name, HC_DNN_TYPE_INT64, count);
    for (int64_t i = 0; a && i < count; i++)
        to[i] = a->value.integer[i];
    return a;
}

static bool number_is(const struct hc_dnn_descriptor *d, int name, int type, int want)
{
    const struct hc_dnn_attribute *a = dnn_find(d, name, type, 1);
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
    const struct hc_dnn_attribute *alpha = dnn_find(d, first, HC_DNN_TYPE_FLOAT, 1);
    const struct hc_dnn_attribute *beta = dnn_find(d, first + 1, HC_DNN_TYPE_FLOAT, 1);
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

/* The tensor that the operation writes. */
static const struct hc_dnn_tensor *dnn_written(const struct hc_dnn_operation *o)
{
    return o->kind == HC_DNN_FORWARD ? &o->y : o->kind == HC_DNN_BWD_DATA ? &o->x : &o->w;
}

int64_t hc_dnn_workspace(const struct hc_dnn_operation *o)
{
    const int64_t *n = dnn_written(o)->extent;
    return n[0] * n[1] * n[2] * n[3] * (int64_t)sizeof(float);
}

/* Runs a plan of the stand-in for cuDNN: one sum in the workspace for each element that is written,
   then the elements. */

/* A convolution with the memory of its tensors. */
struct run {
    struct hc_dnn_operation o;
    struct hc_sum_rule rule;
    void *w, *x, *y;
    float *sums;
};

static int64_t place(const struct hc_dnn_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return a * t->stride[0] + b * t->stride[1] + c * t->stride[2] + d * t->stride[3];
}

/* The number of element [a, b, c, d] of its tensor. */
static int64_t number(const struct hc_dnn_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return ((a * t->extent[1] + b) * t->extent[2] + c) * t->extent[3] + d;
}

/* Adds the term of filter element f = [k, c, r, s] and output element [n, k, p, q], if it lies in
   the image. */
static void add_pixel(const struct run *run, struct hc_sum *sum, const int64_t f[4], int64_t n,
                      int64_t p, int64_t q)
{
    const struct hc_dnn_operation *o = &run->o;
    int64_t h = p * o->stride[0] - o->before[0] + f[2] * o->dilation[0];
    int64_t v = q * o->stride[1] - o->before[1] + f[3] * o->dilation[1];
    if (h < 0 || v < 0 || h >= o->x.extent[2] || v >= o->x.extent[3])
        return;
    int64_t wi = place(&o->w, f[0], f[1], f[2], f[3]);
    int64_t xi = place(&o->x, n, f[1], h, v);
    int64_t yi = place(&o->y, n, f[0], p, q);
    float left = o->kind == HC_DNN_BWD_DATA ? hc_load(o->y.format, run->y, yi)
                                            : hc_load(o->x.format, run->x, xi);
    float right = o->kind == HC_DNN_BWD_FILTER ? hc_load(o->y.format, run->y, yi)
                                               : hc_load(o->w.format, run->w, wi);
    hc_sum_add(sum, left, right);
}

/* y[n, k, p, q] is a sum over the filter. */
static void forward(const struct run *run, struct hc_sum *sum, const int64_t at[4])
{
    const int64_t *w = run->o.w.extent;
    int64_t f[4] = {at[1]};
    for (f[2] = 0; f[2] < w[2]; f[2]++)
        for (f[3] = 0; f[3] < w[3]; f[3]++)
            for (f[1] = 0; f[1] < w[1]; f[1]++)
                add_pixel(run, sum, f, at[0], at[2], at[3]);
}

/* x[n, c, h, v] is a sum over the taps of the filter that lead to an output element. */
static void to_data(const struct run *run, struct hc_sum *sum, const int64_t at[4])
{
    const struct hc_dnn_operation *o = &run->o;
    const int64_t *w = o->w.extent;
    int64_t f[4] = {0, at[1]};
    for (f[2] = 0; f[2] < w[2]; f[2]++)
        for (f[3] = 0; f[3] < w[3]; f[3]++) {
            int64_t h = at[2] + o->before[0] - f[2] * o->dilation[0];
            int64_t v = at[3] + o->before[1] - f[3] * o->dilation[1];
            if (h < 0 || v < 0 || h % o->stride[0] != 0 || v % o->stride[1] != 0 ||
                h / o->stride[0] >= o->y.extent[2] || v / o->stride[1] >= o->y.extent[3])
                continue;
            for (f[0] = 0; f[0] < w[0]; f[0]++)
                add_pixel(run, sum, f, at[0], h / o->stride[0], v / o->stride[1]);
        }
}

/* w[k, c, r, s] is a sum over the images. */
static void to_filter(const struct run *run, struct hc_sum *sum, const int64_t at[4])
{
    const int64_t *y = run->o.y.extent;
    for (int64_t n = 0; n < y[0]; n++)
        for (int64_t p = 0; p < y[2]; p++)
            for (int64_t q = 0; q < y[3]; q++)
                add_pixel(run, sum, at, n, p, q);
}

static void sum_all(const struct run *run)
{
    const struct hc_dnn_operation *o = &run->o;
    const int64_t *n = dnn_written(o)->extent;
    for (int64_t i = 0; i < n[0] * n[1] * n[2] * n[3]; i++) {
        const int64_t at[4] = {i / n[3] / n[2] / n[1], i / n[3] / n[2] % n[1], i / n[3] % n[2],
                               i % n[3]};
        struct hc_sum sum;
        hc_sum_begin(&sum, &run->rule);
        (o->kind == HC_DNN_FORWARD    ? forward
         : o->kind == HC_DNN_BWD_DATA ? to_data
                                      : to_filter)(run, &sum, at);
        run->sums[i] = hc_sum_end(&sum);
    }
}

static void write_all(const struct run *run)
{
    const struct hc_dnn_tensor *t = dnn_written(&run->o);
    void *to = t == &run->o.y ? run->y : t == &run->o.x ? run->x : run->w;
    const int64_t *n = t->extent;
    for (int64_t a = 0; a < n[0]; a++)
        for (int64_t b = 0; b < n[1]; b++)
            for (int64_t c = 0; c < n[2]; c++)
                for (int64_t d = 0; d < n[3]; d++)
                    hc_store(t->format, to, place(t, a, b, c, d), run->sums[number(t, a, b, c, d)]);
}

/* The pointer that the pack has for the tensor, or NULL if it has none with the stated
   alignment. */
static void *pointer_of(const struct hc_dnn_descriptor *pack, const struct hc_dnn_tensor *t)
{
    const struct hc_dnn_attribute *ids = dnn_find(pack, HC_DNN_PACK_IDS, HC_DNN_TYPE_INT64, 3);
    const struct hc_dnn_attribute *pointers =
        dnn_find(pack, HC_DNN_PACK_POINTERS, HC_DNN_TYPE_POINTER, 3);
    for (int i = 0; ids && pointers && i < 3; i++)
        if (ids->value.integer[i] == t->id &&
            (uintptr_t)pointers->value.pointer[i] % (uintptr_t)t->alignment == 0)
            return pointers->value.pointer[i];
    return NULL;
}

/* All of a tensor, which lies dense: it is written, or read. */
static void touch(struct hc_emulated_stream *stream, const struct run *run,
                  const struct hc_dnn_tensor *t, const void *data)
{
    int64_t count = t->extent[0] * t->extent[1] * t->extent[2] * t->extent[3];
    hc_emulated_stream_touches(stream, data, (size_t)count * (size_t)hc_formats[t->format].bytes,
                               t == dnn_written(&run->o));
}

static void work(struct hc_emulated_stream *stream, const void *args)
{
    const struct run *run = args;
    const struct hc_dnn_operation *o = &run->o;
    touch(stream, run, &o->w, run->w);
    touch(stream, run, &o->x, run->x);
    touch(stream, run, &o->y, run->y);
    sum_all(run);
    write_all(run);
}

int hc_dnn_execute(void *handle, void *plan, void *pack)
{
    const struct hc_dnn_descriptor *p = plan;
    const struct hc_dnn_descriptor *v = pack;
    const struct hc_dnn_attribute *workspace =
        dnn_find(v, HC_DNN_PACK_WORKSPACE, HC_DNN_TYPE_POINTER, 1);
    struct run run;
    int status = hc_dnn_read(hc_dnn_operation_of(p), &run.o);
    if (status != 0)
        return status;
    const struct hc_dnn_engine *engine = &dnn_engines[hc_dnn_child(p, HC_DNN_PLAN_CONFIG)->engine];
    bool on_unit = engine->partial == HC_FP32 && (engine->tf32 || run.o.x.format != HC_FP32);
    run.rule =
        on_unit ? hc_sum_on_unit(run.o.x.format) : (struct hc_sum_rule){NULL, engine->partial};
    run.w = pointer_of(v, &run.o.w);
    run.x = pointer_of(v, &run.o.x);
    run.y = pointer_of(v, &run.o.y);
    run.sums = workspace ? workspace->value.pointer[0] : NULL;
    if (!run.w || !run.x || !run.y)
        return HC_DNN_BAD_MISALIGNED;
    if (!run.sums)
        return HC_DNN_BAD_NULL;
    struct hc_emulated_stream *stream = ((const struct hc_dnn_handle *)handle)->stream;
    return hc_emulated_stream_submit(stream, work, &run, sizeof run) ? 0 : HC_DNN_NO_MEMORY;
}
