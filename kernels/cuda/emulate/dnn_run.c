/* Runs a plan of the stand-in for cuDNN: one sum in the workspace for each element that is written,
   then the elements. */
#include "kernels/cuda/emulate/dnn.h"
#include "kernels/cuda/emulate/stream.h"
#include "kernels/element/load.h"

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
static void add(const struct run *run, struct hc_sum *sum, const int64_t f[4], int64_t n, int64_t p,
                int64_t q)
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
                add(run, sum, f, at[0], at[2], at[3]);
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
                add(run, sum, f, at[0], h / o->stride[0], v / o->stride[1]);
        }
}

/* w[k, c, r, s] is a sum over the images. */
static void to_filter(const struct run *run, struct hc_sum *sum, const int64_t at[4])
{
    const int64_t *y = run->o.y.extent;
    for (int64_t n = 0; n < y[0]; n++)
        for (int64_t p = 0; p < y[2]; p++)
            for (int64_t q = 0; q < y[3]; q++)
                add(run, sum, at, n, p, q);
}

static void sum_all(const struct run *run)
{
    const struct hc_dnn_operation *o = &run->o;
    const int64_t *n = hc_dnn_written(o)->extent;
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
    const struct hc_dnn_tensor *t = hc_dnn_written(&run->o);
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
    const struct hc_dnn_attribute *ids = hc_dnn_find(pack, HC_DNN_PACK_IDS, HC_DNN_TYPE_INT64, 3);
    const struct hc_dnn_attribute *pointers =
        hc_dnn_find(pack, HC_DNN_PACK_POINTERS, HC_DNN_TYPE_POINTER, 3);
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
                               t == hc_dnn_written(&run->o));
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
        hc_dnn_find(v, HC_DNN_PACK_WORKSPACE, HC_DNN_TYPE_POINTER, 1);
    struct run run;
    int status = hc_dnn_read(hc_dnn_operation_of(p), &run.o);
    if (status != 0)
        return status;
    const struct hc_dnn_engine *engine =
        &hc_dnn_engines[hc_dnn_child(p, HC_DNN_PLAN_CONFIG)->engine];
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
