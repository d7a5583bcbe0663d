/* For the bodies of batch norm's kernels: a thread's channels and rows, the choice of formats, and
   sums over threads and slices. */
#ifndef HC_KERNELS_CUDA_KERNEL_NORM_TILING_H
#define HC_KERNELS_CUDA_KERNEL_NORM_TILING_H

#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/elements.h"
#include "kernels/cuda/kernel/norm.h"
#include "kernels/cuda/kernel/vector.h"
#include "kernels/cuda/launch.h"

/* Rows that a thread reads before it works on them; backward, where it reads two or three tensors.
   With so few, a thread has at most 128 registers, and a multiprocessor two blocks. */
enum { HC_DK_GROUP = 4, HC_DK_PAIRS = 2 };

/* What a kernel does with the formats of its tensors and with vectors or without. */
typedef void hc_dk_norm_pass(const struct hc_dk_norm *a, enum hc_format from, enum hc_format to,
                             int wide);

/* Calls the pass with constants, so that its inlined copies have no branch left on format or width;
   vectors have one format. Without vectors the formats are looked at element by element. */
HC_ON_DEVICE void hc_dk_in_formats(const struct hc_dk_norm *a, hc_dk_norm_pass *pass,
                                   enum hc_format from, enum hc_format to)
{
    if (a->tiling.wide == 1)
        pass(a, from, to, 1);
    else if (from == HC_FP16)
        pass(a, HC_FP16, HC_FP16, HC_DK_WIDE);
    else if (from == HC_BF16)
        pass(a, HC_BF16, HC_BF16, HC_DK_WIDE);
    else
        pass(a, HC_FP32, HC_FP32, HC_DK_WIDE);
}

/* The first of this thread's channels; `channels` or more where the last tile is not full. */
HC_ON_DEVICE int64_t hc_dk_channel(const struct hc_dk_tiling *r)
{
    return ((int64_t)(hc_block() % r->tiles) * r->columns + hc_thread() % r->columns) * r->wide;
}

HC_ON_DEVICE int64_t hc_dk_row_first(const struct hc_dk_tiling *r)
{
    return (int64_t)(hc_block() / r->tiles) * r->chunk + hc_thread() / r->columns;
}

HC_ON_DEVICE int64_t hc_dk_row_end(const struct hc_dk_tiling *r)
{
    int64_t end = (int64_t)(hc_block() / r->tiles + 1) * r->chunk;
    return end < r->rows ? end : r->rows;
}

/* The distance from one of this thread's rows to the next. */
HC_ON_DEVICE int64_t hc_dk_row_step(const struct hc_dk_tiling *r)
{
    return hc_threads() / r->columns;
}

/* Adds up the threads of each column (thread % columns), value by value. Every thread calls, the
   first `columns` get the sums. The tree is fixed: the block has columns * 2^k threads. */
HC_ON_DEVICE void hc_dk_add_columns(double *values, int count, int columns)
{
    double *shared = (double *)hc_shared();
    int me = hc_thread();
    int all = hc_threads();
    for (int k = 0; k < count; k++)
        shared[k * all + me] = values[k];
    for (int half = all / columns / 2; half > 0; half /= 2) {
        hc_sync();
        if (me / columns < half)
            for (int k = 0; k < count; k++)
                shared[k * all + me] += shared[k * all + me + half * columns];
    }
    for (int k = 0; k < count; k++)
        values[k] = shared[k * all + me];
}

/* to[slice] = the block's sums. values[2 k] and values[2 k + 1] belong to channel k of this thread.
   Every thread calls. */
HC_ON_DEVICE void hc_dk_slice_sums(const struct hc_dk_tiling *r, int wide, double *values,
                                   double *to)
{
    int64_t c = hc_dk_channel(r);
    int64_t slice = hc_block() / r->tiles;
    hc_dk_add_columns(values, 2 * wide, r->columns);
    if (hc_thread() >= r->columns || c >= r->channels)
        return;
    for (int k = 0; k < wide; k++) {
        to[2 * slice * r->channels + c + k] = values[2 * k];
        to[(2 * slice + 1) * r->channels + c + k] = values[2 * k + 1];
    }
}

/* In the last block of a tile, adds up its slices: each of the tile's channels gets its totals in
   one thread, for which *channel is set and which returns true. Every thread calls. */
HC_ON_DEVICE bool hc_dk_tile_sums(const struct hc_dk_norm *a, double total[2], int64_t *channel)
{
    const struct hc_dk_tiling *r = &a->tiling;
    int tile = hc_block() % r->tiles;
    int width = r->columns * r->wide;
    int64_t c = (int64_t)tile * width + hc_thread() % width;
    if (!hc_dk_last_block(a->counters + tile, r->slices))
        return false;
    total[0] = total[1] = 0;
    if (c < r->channels)
        for (int s = hc_thread() / width; s < r->slices; s += hc_threads() / width) {
            total[0] += a->sums[2 * s * r->channels + c];
            total[1] += a->sums[(2 * s + 1) * r->channels + c];
        }
    hc_dk_add_columns(total, 2, width);
    *channel = c;
    return hc_thread() < width && c < r->channels;
}

#endif
