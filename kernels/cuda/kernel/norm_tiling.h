/* For the bodies of batch norm: a thread's channels and rows, and sums over threads and slices. */
#ifndef HC_KERNELS_CUDA_KERNEL_NORM_TILING_H
#define HC_KERNELS_CUDA_KERNEL_NORM_TILING_H

#include "kernels/cuda/launch.h"
#include "kernels/cuda/kernel/norm.h"
#include "kernels/cuda/kernel/vector.h"
#include "kernels/cuda/kernel/elements.h"

/* Rows that a thread reads before it works on them. */
enum { HC_DK_GROUP = 8, HC_DK_HALF_GROUP = 4 };

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

/* From one of this thread's rows to the next. */
HC_ON_DEVICE int64_t hc_dk_row_step(const struct hc_dk_tiling *r)
{
    return hc_threads() / r->columns;
}

/* Adds up, value by value, what the threads of each column hold; column: thread % columns. Every
   thread calls, the first `columns` get the sums. A fixed tree: the block has columns * 2^k threads. */
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

/* to[slice] = the block's sums; values[2 k] and values[2 k + 1] are those of channel k of this thread.
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

/* The sums of all slices, for channel 32 block + thread of the first 32 threads. Every thread calls;
   whether this one has a channel. */
HC_ON_DEVICE bool hc_dk_all_slices(const struct hc_dk_tiling *r, const double *sums,
                                   double total[2])
{
    int64_t c = (int64_t)hc_block() * HC_WARP + hc_thread() % HC_WARP;
    total[0] = total[1] = 0;
    if (c < r->channels)
        for (int s = hc_thread() / HC_WARP; s < r->slices; s += hc_threads() / HC_WARP) {
            total[0] += sums[2 * s * r->channels + c];
            total[1] += sums[(2 * s + 1) * r->channels + c];
        }
    hc_dk_add_columns(total, 2, HC_WARP);
    return hc_thread() < HC_WARP && c < r->channels;
}

#endif
