#include "kernels/cuda/op/norm_tiling.h"

#include "kernels/cuda/op/families.h"
#include "kernels/cuda/kernel/vector.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int columns_for(int64_t groups)
{
    int columns = 1;
    while (columns < HC_WARP && columns < groups)
        columns *= 2;
    return columns;
}

static bool vectors(int64_t channels, const struct hc_tensor *const *tensors)
{
    if (channels % HC_DK_WIDE != 0 || !tensors)
        return false;
    enum hc_format format = tensors[0]->format;
    size_t vector = HC_DK_WIDE * (size_t)hc_formats[format].bytes;
    for (; *tensors; tensors++)
        if ((*tensors)->format != format || (uintptr_t)(*tensors)->data % vector != 0)
            return false;
    return true;
}

struct hc_dk_tiling hc_cuda_norm_tiling(const struct hc_tensor *x, int most,
                                        const struct hc_tensor *const *tensors)
{
    struct hc_dk_tiling r = {.channels = x->shape[x->rank - 1]};
    if (r.channels == 0)
        return r;
    r.rows = hc_tensor_count(x) / r.channels;
    int best = r.channels % HC_DK_WIDE == 0 ? HC_DK_WIDE : 1;
    int down = HC_CUDA_THREADS / columns_for(r.channels / best);
    int slices = hc_blocks_for(r.rows, HC_CUDA_NORM_ROWS * down, most);
    r.wide = vectors(r.channels, tensors) ? HC_DK_WIDE : 1;
    r.columns = columns_for(r.channels / r.wide);
    r.tiles = (int)((r.channels + r.columns * r.wide - 1) / (r.columns * r.wide));
    if (slices == 0)
        return r;
    r.chunk = (r.rows + slices - 1) / slices;
    r.slices = (int)((r.rows + r.chunk - 1) / r.chunk);
    return r;
}

/* Two sums of each channel and slice, and behind them two means of each channel. */
size_t hc_cuda_norm_scratch(const struct hc_call *call)
{
    struct hc_dk_tiling r = hc_cuda_norm_tiling(&call->in[0], HC_CUDA_NORM_SLICES, NULL);
    return (size_t)(r.slices * r.channels) * 2 * sizeof(double) +
           (size_t)r.channels * 2 * sizeof(float);
}

enum hc_status hc_cuda_norm_launch(struct hc_queue *queue, enum hc_device_kernel which,
                                   const struct hc_dk_tiling *rows, bool sums, const void *args,
                                   size_t args_size)
{
    size_t shared = sums ? HC_CUDA_THREADS * 2 * (size_t)rows->wide * sizeof(double) : 0;
    return hc_launch(queue, which, rows->tiles * rows->slices, HC_CUDA_THREADS, shared, args,
                     args_size);
}

enum hc_status hc_cuda_norm_add_slices(struct hc_queue *queue, enum hc_device_kernel which,
                                       const struct hc_dk_tiling *rows, const void *args,
                                       size_t args_size)
{
    int warps = 1;
    while (warps < least(rows->slices, HC_CUDA_NORM_WARPS))
        warps *= 2;
    size_t threads = HC_WARP * (size_t)warps;
    return hc_launch(queue, which, (int)((rows->channels + HC_WARP - 1) / HC_WARP), (int)threads,
                     threads * 2 * sizeof(double), args, args_size);
}
