/* Batch norm, forward and backward, with and without leaky ReLU.

   Sums over the rows are made in two kernels. The first cuts the rows into slices and leaves two
   sums of each slice and channel in scratch, in fp64; the second adds up the slices. How many
   slices there are depends on x's shape alone, and each kernel adds in a fixed order, so that the
   same call gives the same bits. A last kernel goes over the elements. */
#include "kernels/cuda/kernel/norm.h"

#include "kernels/cuda/kernel/vector.h"
#include "kernels/cuda/op/families.h"

static int columns_for(int64_t groups)
{
    int columns = 1;
    while (columns < HC_WARP && columns < groups)
        columns *= 2;
    return columns;
}

/* Whether the channels come in fours, and the tensors (up to a NULL) have one format and data
   aligned to a vector. */
static bool vectors(int64_t channels, const struct hc_tensor *const *tensors)
{
    enum hc_format format = tensors[0]->format;
    size_t vector = HC_DK_WIDE * (size_t)hc_formats[format].bytes;
    if (channels % HC_DK_WIDE != 0)
        return false;
    for (; *tensors; tensors++)
        if ((*tensors)->format != format || (uintptr_t)(*tensors)->data % vector != 0)
            return false;
    return true;
}

/* Slices of at least HC_CUDA_NORM_ROWS rows a thread, and at most max_slices. With or without
   vectors the slices are the same. */
static struct hc_dk_tiling tiling_of(const struct hc_tensor *x, int max_slices, bool wide)
{
    struct hc_dk_tiling t = {.channels = x->shape[x->rank - 1]};
    if (t.channels == 0)
        return t;
    t.rows = hc_tensor_count(x) / t.channels;
    int widest = t.channels % HC_DK_WIDE == 0 ? HC_DK_WIDE : 1;
    int down = HC_CUDA_THREADS / columns_for(t.channels / widest);
    int slices = hc_blocks_for(t.rows, HC_CUDA_NORM_ROWS * down, max_slices);
    t.wide = wide ? HC_DK_WIDE : 1;
    t.columns = columns_for(t.channels / t.wide);
    t.tiles = (int)((t.channels + t.columns * t.wide - 1) / (t.columns * t.wide));
    if (slices == 0)
        return t;
    t.chunk = (t.rows + slices - 1) / slices;
    t.slices = (int)((t.rows + t.chunk - 1) / t.chunk);
    return t;
}

/* Two sums of each channel and slice, and behind them two means of each channel. */
size_t hc_cuda_norm_scratch(const struct hc_call *call)
{
    struct hc_dk_tiling t = tiling_of(&call->in[HC_BN_X], HC_CUDA_NORM_SLICES, false);
    return (size_t)(t.slices * t.channels) * 2 * sizeof(double) +
           (size_t)t.channels * 2 * sizeof(float);
}

/* Blocks of tiles and slices, which write the slices' sums. `tensors` are those that are read, x
   first. */
static enum hc_status sum_slices(struct hc_queue *queue, enum hc_device_kernel which,
                                 struct hc_dk_norm *a, const struct hc_tensor *const *tensors)
{
    const struct hc_tensor *x = tensors[0];
    a->tiling = tiling_of(x, HC_CUDA_NORM_SLICES, vectors(x->shape[x->rank - 1], tensors));
    a->sums = a->call.scratch;
    if (a->sums)
        a->means = (float *)(a->sums + 2 * a->tiling.slices * a->tiling.channels);
    size_t shared = HC_CUDA_THREADS * 2 * (size_t)a->tiling.wide * sizeof(double);
    return hc_launch(queue, which, a->tiling.tiles * a->tiling.slices, HC_CUDA_THREADS, shared, a,
                     sizeof *a);
}

/* Blocks of 32 channels, which add up the slices. */
static enum hc_status add_slices(struct hc_queue *queue, enum hc_device_kernel which,
                                 const struct hc_dk_norm *a)
{
    int warps = 1;
    while (warps < a->tiling.slices && warps < HC_CUDA_NORM_WARPS)
        warps *= 2;
    size_t threads = HC_WARP * (size_t)warps;
    return hc_launch(queue, which, (int)((a->tiling.channels + HC_WARP - 1) / HC_WARP),
                     (int)threads, threads * 2 * sizeof(double), a, sizeof *a);
}

/* As many blocks as any kernel over elements gets. `tensors` are those that are read or written, x
   first. */
static enum hc_status write_elements(struct hc_queue *queue, enum hc_device_kernel which,
                                     struct hc_dk_norm *a, const struct hc_tensor *const *tensors)
{
    const struct hc_tensor *x = tensors[0];
    a->tiling = tiling_of(x, HC_CUDA_BLOCKS, vectors(x->shape[x->rank - 1], tensors));
    return hc_launch(queue, which, a->tiling.tiles * a->tiling.slices, HC_CUDA_THREADS, 0, a,
                     sizeof *a);
}

enum hc_status hc_cuda_bn_train(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *const read[] = {&call->in[HC_BN_X], NULL};
    const struct hc_tensor *const all[] = {&call->in[HC_BN_X], &call->out[HC_BN_Y], NULL};
    struct hc_dk_norm a = {.call = *call,
                           .leaky = call->op == HC_OP_bn_leaky_train,
                           .mean = call->out[HC_BN_SAVED_MEAN],
                           .invstd = call->out[HC_BN_SAVED_INVSTD],
                           .gamma = call->in[HC_BN_GAMMA]};
    enum hc_status status = sum_slices(queue, HC_DK_bn_moments, &a, read);
    if (status == HC_OK)
        status = add_slices(queue, HC_DK_bn_statistics, &a);
    return status == HC_OK ? write_elements(queue, HC_DK_bn_normalize, &a, all) : status;
}

enum hc_status hc_cuda_bn_infer(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *const all[] = {&call->in[HC_BN_X], &call->out[HC_BN_Y], NULL};
    struct hc_dk_norm a = {.call = *call,
                           .leaky = call->op == HC_OP_bn_leaky_infer,
                           .variance = true,
                           .mean = call->in[HC_BN_MEAN],
                           .invstd = call->in[HC_BN_VARIANCE],
                           .gamma = call->in[HC_BN_GAMMA]};
    return write_elements(queue, HC_DK_bn_normalize, &a, all);
}

enum hc_status hc_cuda_bn_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(call->op);
    bool leaky = call->op == HC_OP_bn_leaky_bwd;
    const struct hc_tensor *x = &call->in[s->x];
    const struct hc_tensor *dy = &call->in[s->dy];
    const struct hc_tensor *y = leaky ? &call->in[s->y] : dy;
    const struct hc_tensor *const read[] = {x, dy, y, NULL};
    const struct hc_tensor *const all[] = {x, dy, y, &call->out[HC_BN_BWD_DX], NULL};
    struct hc_dk_norm a = {.call = *call,
                           .leaky = leaky,
                           .mean = call->in[s->mean],
                           .invstd = call->in[s->invstd],
                           .gamma = call->in[s->gamma],
                           .dy = *dy,
                           .y = y->data};
    enum hc_status status = sum_slices(queue, HC_DK_bn_bwd_sums, &a, read);
    if (status == HC_OK)
        status = add_slices(queue, HC_DK_bn_bwd_means, &a);
    return status == HC_OK ? write_elements(queue, HC_DK_bn_bwd, &a, all) : status;
}
