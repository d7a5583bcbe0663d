/* For the bodies of batch norm: a block's channels and rows, and sums over them. */
#ifndef HC_KERNELS_CUDA_NORM_WALK_H
#define HC_KERNELS_CUDA_NORM_WALK_H

#include "kernels/cuda/launch.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/walk.h"

/* This thread's channel; `channels` or more where the last tile is not full. */
HC_ON_DEVICE int64_t hc_dk_channel(const struct hc_dk_rows *r)
{
    return (int64_t)(hc_block() % r->tiles) * HC_WARP + hc_thread() % HC_WARP;
}

HC_ON_DEVICE int64_t hc_dk_row_first(const struct hc_dk_rows *r)
{
    return (int64_t)(hc_block() / r->tiles) * r->chunk + hc_thread() / HC_WARP;
}

HC_ON_DEVICE int64_t hc_dk_row_end(const struct hc_dk_rows *r)
{
    int64_t end = (int64_t)(hc_block() / r->tiles + 1) * r->chunk;
    return end < r->rows ? end : r->rows;
}

/* Whether this thread is the one that writes what there is once for each channel. */
HC_ON_DEVICE int hc_dk_writes_channel(const struct hc_dk_rows *r)
{
    return hc_block() < r->tiles && hc_thread() < HC_WARP && hc_dk_channel(r) < r->channels;
}

/* to[slice][channel] = the sum of x over the block's warps. Every thread calls. */
HC_ON_DEVICE void hc_dk_slice_sum(const struct hc_dk_rows *r, float x, float *to)
{
    float *room = (float *)hc_shared();
    int64_t c = hc_dk_channel(r);
    room[hc_thread()] = x;
    hc_sync();
    if (hc_thread() < HC_WARP && c < r->channels) {
        float sum = room[hc_thread()];
        for (int i = hc_thread() + HC_WARP; i < hc_threads(); i += HC_WARP)
            sum += room[i];
        to[hc_block() / r->tiles * r->channels + c] = sum;
    }
    hc_sync();
}

HC_ON_DEVICE float hc_dk_all_slices(const struct hc_dk_rows *r, const float *sums, int64_t c)
{
    float sum = 0;
    for (int s = 0; s < r->slices; s++)
        sum += sums[s * r->channels + c];
    return sum;
}

#endif
