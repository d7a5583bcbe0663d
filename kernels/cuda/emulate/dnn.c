/* The stand-in for cuDNN's backend interface: descriptors are created, set and read.
   The states that they go through are the real library's to check (plans/refusals_test.c). */
#include "kernels/cuda/emulate/dnn.h"

#include <stdlib.h>
#include <string.h>

/* The first three are quick and coarse, the third only for fp32 inputs. The fourth is slow to
   make. */
const struct hc_dnn_engine hc_dnn_engines[HC_DNN_ENGINES] = {
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
        *(int64_t *)values = hc_dnn_engines[d->engine].index;
        return 0;
    }
    if (name == HC_DNN_ENGINE_NOTES && type == HC_DNN_TYPE_NOTE)
        return get_notes(&hc_dnn_engines[d->engine], capacity, count, values);
    if (name == HC_DNN_ENGINE_BEHAVIOURS && type == HC_DNN_TYPE_BEHAVIOUR) {
        *count = hc_dnn_engines[d->engine].compiles;
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
