/* Batch norm, forward.

   The moments take one journey through memory. A thread reads four rows, takes their mean a (any
   value near it would do, for what follows is exact in a), sums r = sum (x - a) and q = sum (x -
   a)^2 in fp32, and brings both to the channel's pivot p in fp64:

     sum (x - p) = n (a - p) + r,     sum (x - p)^2 = q + 2 (a - p) r + n (a - p)^2.

   q is off by at most (n + 2) u of itself, and r by n u sum |x - a|. By Cauchy and Schwarz the
   latter is n u of the variance's sum over all groups. n is at most 4, and at most an eighth of all
   rows but one, so the contract's bound of one u for each row has room for both. p is one of the
   channel's numbers; what fp64 cancels in the end is therefore at most the count of rows times
   2^-53. */
#include <math.h>

#include "kernels/cuda/kernel/norm_tiling.h"
#include "kernels/element/leaky.h"

/* A channel's pivot is its first x, or 0 where that is not finite. */
HC_ON_DEVICE float hc_dk_pivot(float x)
{
    return isfinite(x) ? x : 0;
}

/* x[0..n-1] into the sums of a channel. Where a is infinite its r means nothing. */
HC_ON_DEVICE void hc_dk_moments_add(const float (*x)[HC_DK_WIDE], int n, int k, float pivot,
                                    double *sums)
{
    float a = 0;
    float r = 0;
    float q = 0;
    for (int j = 0; j < HC_DK_GROUP; j++)
        a += j < n ? x[j][k] : 0;
    a /= (float)n;
    for (int j = 0; j < HC_DK_GROUP; j++) {
        float d = j < n ? x[j][k] - a : 0;
        r += d;
        q += d * d;
    }
    double off = (double)a - (double)pivot;
    sums[0] += n * off + (isfinite(a) ? (double)r : 0);
    sums[1] += (double)q + 2 * off * (double)r + n * off * off;
}

HC_ON_DEVICE void hc_dk_moments_in(const struct hc_dk_norm *a, enum hc_format format,
                                   enum hc_format unused, int wide)
{
    const struct hc_dk_tiling *r = &a->tiling;
    const void *from = a->call.in[HC_BN_X].data;
    int64_t c = hc_dk_channel(r);
    int64_t end = hc_dk_row_end(r);
    int64_t step = hc_dk_row_step(r);
    float pivot[HC_DK_WIDE];
    double sums[2 * HC_DK_WIDE] = {0};
    (void)unused;
    if (c < r->channels) {
        hc_dk_read(format, wide, from, c, pivot);
        for (int k = 0; k < wide; k++)
            pivot[k] = hc_dk_pivot(pivot[k]);
        for (int64_t i = hc_dk_row_first(r); i < end; i += HC_DK_GROUP * step) {
            float x[HC_DK_GROUP][HC_DK_WIDE];
            int n = 0;
            for (int j = 0; j < HC_DK_GROUP; j++)
                if (i + j * step < end) {
                    hc_dk_read(format, wide, from, (i + j * step) * r->channels + c, x[j]);
                    n = j + 1;
                }
            for (int k = 0; k < wide; k++)
                hc_dk_moments_add(x, n, k, pivot[k], sums + 2 * k);
        }
    }
    hc_dk_slice_sums(r, wide, sums, a->sums);
}

/* to = from + momentum * (batch - from); both may be the same tensor. */
HC_ON_DEVICE void hc_dk_update_running(const struct hc_tensor *from, const struct hc_tensor *to,
                                       int64_t c, float momentum, float batch)
{
    float running = hc_dk_load(from, c);
    hc_dk_store(to, c, running + momentum * (batch - running));
}

/* The saved and the running statistics of a channel from its sums, or one rank's mean and variance.
   Where all x are equal fp64's last bits may leave a sum of squares below zero. */
HC_ON_DEVICE void hc_dk_statistics(const struct hc_dk_norm *a, int64_t c, const double total[2])
{
    const struct hc_call *call = &a->call;
    float momentum = (float)call->params.bn.momentum;
    double n = (double)a->tiling.rows;
    double mean = total[0] / n;
    double squares = total[1] - total[0] * mean;
    squares = squares < 0 ? 0 : squares;
    float batch = (float)((double)hc_dk_pivot(hc_dk_load(&call->in[HC_BN_X], c)) + mean);
    double eps = (double)(float)call->params.bn.eps;
    hc_dk_store(&a->mean, c, batch);
    if (a->variance) {
        hc_dk_store(&a->invstd, c, (float)(squares / n));
        return;
    }
    hc_dk_store(&a->invstd, c, (float)(1 / sqrt(squares / n + eps)));
    hc_dk_update_running(&call->in[HC_BN_MEAN], &call->out[HC_BN_NEW_MEAN], c, momentum, batch);
    hc_dk_update_running(&call->in[HC_BN_VARIANCE], &call->out[HC_BN_NEW_VARIANCE], c, momentum,
                         (float)(squares / (n > 1 ? n - 1 : n)));
}

/* The factors of a thread's channels. */
struct hc_dk_channels {
    float mean[HC_DK_WIDE];
    float invstd[HC_DK_WIDE];
    float gamma[HC_DK_WIDE];
    float beta[HC_DK_WIDE];
};

HC_ON_DEVICE void hc_dk_channels_of(const struct hc_dk_norm *a, int64_t c, int wide,
                                    struct hc_dk_channels *to)
{
    float eps = (float)a->call.params.bn.eps;
    for (int k = 0; k < wide; k++) {
        float invstd = hc_dk_load(&a->invstd, c + k);
        to->invstd[k] = a->variance ? 1 / sqrtf(invstd + eps) : invstd;
        to->mean[k] = hc_dk_load(&a->mean, c + k);
        to->gamma[k] = hc_dk_load(&a->gamma, c + k);
        to->beta[k] = hc_dk_load(&a->call.in[HC_BN_BETA], c + k);
    }
}

/* The op add, of y and skip. */
HC_ON_DEVICE void hc_dk_add_skip(const struct hc_dk_norm *a, enum hc_format format, int wide,
                                 int64_t at, const float *y)
{
    float sum[HC_DK_WIDE];
    hc_dk_read(format, wide, a->skip, at, sum);
    for (int k = 0; k < wide; k++)
        sum[k] += hc_dk_through(format, y[k]);
    hc_dk_write(format, wide, sum, a->sum, at);
}

HC_ON_DEVICE void hc_dk_normalize_in(const struct hc_dk_norm *a, enum hc_format from,
                                     enum hc_format to, int wide)
{
    const struct hc_dk_tiling *r = &a->tiling;
    float slope = (float)a->call.params.bn.slope;
    int64_t c = hc_dk_channel(r);
    int64_t end = hc_dk_row_end(r);
    int64_t step = hc_dk_row_step(r);
    struct hc_dk_channels by;
    if (c >= r->channels)
        return;
    hc_dk_channels_of(a, c, wide, &by);
    for (int64_t i = hc_dk_row_first(r); i < end; i += HC_DK_GROUP * step) {
        float x[HC_DK_GROUP][HC_DK_WIDE];
        for (int j = 0; j < HC_DK_GROUP; j++)
            if (i + j * step < end)
                hc_dk_read(from, wide, a->call.in[HC_BN_X].data, (i + j * step) * r->channels + c,
                           x[j]);
        for (int j = 0; j < HC_DK_GROUP; j++) {
            if (i + j * step >= end)
                continue;
            for (int k = 0; k < wide; k++) {
                float y = (x[j][k] - by.mean[k]) * by.invstd[k] * by.gamma[k] + by.beta[k];
                x[j][k] = a->leaky ? hc_element_leaky_relu(slope, hc_dk_through(to, y)) : y;
            }
            hc_dk_write(to, wide, x[j], a->call.out[HC_BN_Y].data,
                        (i + j * step) * r->channels + c);
            if (a->skip)
                hc_dk_add_skip(a, to, wide, (i + j * step) * r->channels + c, x[j]);
        }
    }
}

/* y = (x - mean) * invstd * gamma + beta, or leaky_relu of that rounded into y's format. */
HC_ON_DEVICE void hc_dk_bn_normalize_body(const struct hc_dk_norm *a)
{
    hc_dk_in_formats(a, hc_dk_normalize_in, a->call.in[HC_BN_X].format,
                     a->call.out[HC_BN_Y].format);
}
HC_LAUNCHABLE(bn_normalize, struct hc_dk_norm)

/* Sums of x - p and (x - p)^2 by slice; in a tile's last block the statistics; with one slice y,
   too, unless the statistics are one rank's. Shared memory: 2 wide doubles a thread. */
HC_ON_DEVICE void hc_dk_bn_moments_body(const struct hc_dk_norm *a)
{
    enum hc_format x = a->call.in[HC_BN_X].format;
    double total[2];
    int64_t c;
    hc_dk_in_formats(a, hc_dk_moments_in, x, x);
    if (hc_dk_tile_sums(a, total, &c))
        hc_dk_statistics(a, c, total);
    if (a->tiling.slices > 1 || a->parts)
        return;
    hc_sync();
    hc_dk_bn_normalize_body(a);
}
HC_LAUNCHABLE(bn_moments, struct hc_dk_norm)
