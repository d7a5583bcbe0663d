/* What quantised convolutions need beside their operands. */
#include <stdlib.h>
#include <string.h>

#include "train/quant/quant_inner.h"

const char *const hc_quant_state_names[HC_QUANT_STATES] = {
    "quant.forward.amax_history", "quant.forward.scale", "quant.backward.amax_history",
    "quant.backward.scale"};

struct hc_quant_extent hc_quant_extent(const struct hc_quant_shape *s)
{
    int64_t side = (s->side + 2 * (int64_t)s->pad - s->kernel) / s->stride + 1;
    return (struct hc_quant_extent){s->images * side * side,
                                    (int64_t)s->kernel * s->kernel * s->channels};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* After a failure, which it remembers in *status, it does nothing any more. */
static void make(struct hc_quant *q, enum hc_status *status, struct hc_storage **storage,
                 enum hc_format format, int64_t n)
{
    if (*status != HC_OK)
        return;
    *storage = hc_storage_new(q->device, format, n);
    if (!*storage)
        *status = HC_NO_MEMORY;
}

/* Rows and columns of an operand of a product. */
static void extent_of(const struct hc_quant_shape *shape, enum hc_quant_product product, int which,
                      int64_t extent[2])
{
    struct hc_quant_extent e = hc_quant_extent(shape);
    const int64_t all[HC_QUANT_PRODUCTS][2][2] = {
        [HC_QUANT_Y] = {{e.pixels, e.taps}, {shape->filters, e.taps}},
        [HC_QUANT_DX] = {{e.pixels, shape->filters}, {e.taps, shape->filters}},
        [HC_QUANT_DW] = {{shape->filters, e.pixels}, {e.taps, e.pixels}}};
    memcpy(extent, all[product][which], 2 * sizeof *extent);
}

/* Codes and scales of the largest operand A or B of all products. */
static enum hc_status make_operand(struct hc_quant *q, int which)
{
    struct hc_quant_buffers *operand = &q->operand[which];
    int64_t codes = 0;
    int64_t scales = 0;
    for (int l = 0; l < q->count; l++)
        for (int p = 0; p < HC_QUANT_PRODUCTS; p++) {
            const struct hc_quant_products *of = &q->recipe->product[p];
            const struct hc_quant_operand *as = which == 0 ? &of->a : &of->b;
            int64_t extent[2];
            extent_of(&q->shape[l], (enum hc_quant_product)p, which, extent);
            codes = larger(codes, extent[0] * extent[1]);
            scales = larger(scales, hc_quant_blocks(extent[0], as->rows) *
                                        hc_quant_blocks(extent[1], as->columns));
        }
    enum hc_status status = HC_OK;
    make(q, &status, &operand->codes, HC_U8, codes);
    make(q, &status, &operand->scales, HC_FP32, scales);
    make(q, &status, &operand->numbers, HC_FP32, 2);
    return status;
}

static enum hc_status make_buffers(struct hc_quant *q)
{
    int64_t columns = 0;
    int64_t weight = 0;
    enum hc_status status = HC_OK;
    for (int l = 0; l < q->count; l++) {
        struct hc_quant_extent e = hc_quant_extent(&q->shape[l]);
        columns = larger(columns, e.pixels * e.taps);
        weight = larger(weight, q->shape[l].filters * e.taps);
    }
    make(q, &status, &q->columns, q->format, columns);
    make(q, &status, &q->back, q->format == HC_FP64 ? HC_FP64 : HC_FP32, columns);
    make(q, &status, &q->weight, q->format, weight);
    for (int i = 0; i < 2 && status == HC_OK; i++)
        status = make_operand(q, i);
    return status;
}

static enum hc_status make_groups(struct hc_quant *q)
{
    enum hc_status status = HC_OK;
    for (int g = 0; g < HC_QUANT_GROUPS; g++) {
        struct hc_quant_group *group = &q->group[g];
        group->tensors = g == 0 ? 2 * q->count : q->count;
        make(q, &status, &group->amax, HC_FP32, group->tensors);
        make(q, &status, &group->zero, HC_FP32, group->tensors);
        make(q, &status, &group->history, HC_FP32, q->history * group->tensors);
        make(q, &status, &group->scale, HC_FP32, group->tensors);
        float *ones = status == HC_OK ? malloc((size_t)group->tensors * sizeof *ones) : NULL;
        if (status == HC_OK && !ones)
            return hc_fail(HC_NO_MEMORY, "no memory for scales");
        for (int64_t i = 0; ones && i < group->tensors; i++)
            ones[i] = 1;
        if (ones)
            status = hc_storage_write(group->scale, ones);
        free(ones);
    }
    return status;
}

/* Hadamard's matrix takes 16 neighbours along the inner dimension, which of dw are pixels. */
static enum hc_status check_groups(const struct hc_quant *q)
{
    for (int l = 0; l < q->count && q->recipe->product[HC_QUANT_DW].a.hadamard; l++)
        if (hc_quant_extent(&q->shape[l]).pixels % HC_HADAMARD != 0)
            return hc_fail(
                HC_INVALID, "%s multiplies groups of %d pixels, and a layer of this batch has %lld",
                q->recipe->name, HC_HADAMARD, (long long)hc_quant_extent(&q->shape[l]).pixels);
    return HC_OK;
}

enum hc_status hc_quant_open(struct hc_quant **out, struct hc_device *device,
                             const struct hc_quant_recipe *recipe, int64_t history,
                             const struct hc_quant_shape *shapes, int count, enum hc_format format)
{
    *out = NULL;
    struct hc_quant *q = calloc(1, sizeof *q);
    struct hc_quant_shape *own = malloc((size_t)count * sizeof *own + 1);
    if (!q || !own) {
        free(q);
        free(own);
        return hc_fail(HC_NO_MEMORY, "no memory for quantised convolutions");
    }
    memcpy(own, shapes, (size_t)count * sizeof *own);
    *q = (struct hc_quant){.device = device,
                           .recipe = recipe,
                           .format = format,
                           .count = count,
                           .shape = own,
                           .history = history > 0 ? history : recipe->history};
    enum hc_status status = check_groups(q);
    if (status == HC_OK)
        status = make_buffers(q);
    if (status == HC_OK && recipe->delayed)
        status = make_groups(q);
    if (status == HC_OK)
        *out = q;
    else
        hc_quant_close(q);
    return status;
}

void hc_quant_close(struct hc_quant *q)
{
    if (!q)
        return;
    hc_storage_drop(q->columns);
    hc_storage_drop(q->back);
    hc_storage_drop(q->weight);
    for (int i = 0; i < 2; i++) {
        hc_storage_drop(q->operand[i].codes);
        hc_storage_drop(q->operand[i].scales);
        hc_storage_drop(q->operand[i].numbers);
    }
    for (int g = 0; g < HC_QUANT_GROUPS; g++) {
        hc_storage_drop(q->group[g].amax);
        hc_storage_drop(q->group[g].zero);
        hc_storage_drop(q->group[g].history);
        hc_storage_drop(q->group[g].scale);
    }
    free(q->shape);
    free(q);
}

void hc_quant_step(struct hc_quant *q, uint64_t seed, int64_t step)
{
    q->seed = seed;
    q->step = step;
}

void hc_quant_hold(struct hc_quant *q, bool holds)
{
    q->holds = holds;
}

void hc_quant_watch_with(struct hc_quant *q, hc_quant_watch *watch, void *context)
{
    q->watch = watch;
    q->watch_context = context;
}

void hc_quant_run_with(struct hc_quant *q, hc_quant_run *run, void *context)
{
    q->run = run;
    q->run_context = context;
}

struct hc_tensor hc_quant_state(const struct hc_quant *q, int which)
{
    const struct hc_quant_group *group = &q->group[which / 2];
    const struct hc_storage *storage = which % 2 == 0 ? group->history : group->scale;
    if (!storage)
        return (struct hc_tensor){.data = NULL};
    return which % 2 == 0 ? hc_tensor2(HC_FP32, q->history, group->tensors, storage->data)
                          : hc_tensor1(HC_FP32, group->tensors, storage->data);
}

/* A layer that no pass of the next step runs through is idle: its amax is 0, as the op's rule
   expects. */
enum hc_status hc_quant_update(struct hc_quant *q)
{
    static const enum hc_quant_product of_group[HC_QUANT_GROUPS] = {HC_QUANT_Y, HC_QUANT_DX};
    enum hc_status status = HC_OK;
    for (int g = 0; g < HC_QUANT_GROUPS && status == HC_OK && q->recipe->delayed; g++) {
        struct hc_tensor history = hc_quant_state(q, 2 * g);
        struct hc_tensor scale = hc_quant_state(q, 2 * g + 1);
        struct hc_call call = {
            .op = HC_OP_delayed_scale,
            .in = {[HC_DELAYED_AMAX] = hc_storage_tensor(q->group[g].amax),
                   [HC_DELAYED_HISTORY] = history,
                   [HC_DELAYED_SCALE] = scale},
            .out = {[HC_DELAYED_NEW_HISTORY] = history, [HC_DELAYED_NEW_SCALE] = scale},
            .params.delayed_scale = {.rule = q->recipe->delayed_rule,
                                     .codes = q->recipe->product[of_group[g]].a.codes,
                                     .most_recent = q->recipe->most_recent}};
        status = hc_device_run(q->device, &call);
        if (status == HC_OK)
            status = hc_device_cast(q->device, hc_storage_tensor(q->group[g].zero),
                                    hc_storage_tensor(q->group[g].amax));
    }
    return status;
}
