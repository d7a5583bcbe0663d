/* Batch norm, forward. One journey through memory for the moments: a thread reads eight rows, takes
   their mean a (any value near it would do: what follows is exact in a), then r = sum (x - a) and
   q = sum (x - a)^2 in fp32, and brings them to the channel's pivot p in fp64:
     sum (x - p) = n (a - p) + r,     sum (x - p)^2 = q + 2 (a - p) r + n (a - p)^2.
   Of the second, q is off by at most (n + 2) u of itself and r by n u sum |x - a|, which by Cauchy and
   Schwarz is n u of the variance's sum over all groups, with n no more than 8 and at most an eighth
   of all rows but one: the contract's bound, one u for each row, has room for both. p is one of the
   channel's numbers, so that what fp64 cancels in the end is at most the count of rows times 2^-53. */
#include <math.h>

#include "kernels/cuda/kernel/norm_tiling.h"
#include "kernels/element/leaky.h"

/* The pivot. */
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

HC_ON_DEVICE void hc_dk_moments_in(const struct hc_dk_bn_moments *a, enum hc_format format,
                                   int wide)
{
    const struct hc_dk_tiling *r = &a->rows;
    int64_t c = hc_dk_channel(r);
    int64_t end = hc_dk_row_end(r);
    int64_t step = hc_dk_row_step(r);
    float pivot[HC_DK_WIDE];
    double sums[2 * HC_DK_WIDE] = {0};
    if (c < r->channels) {
        hc_dk_read(format, wide, a->x.data, c, pivot);
        for (int k = 0; k < wide; k++)
            pivot[k] = hc_dk_pivot(pivot[k]);
        for (int64_t i = hc_dk_row_first(r); i < end; i += HC_DK_GROUP * step) {
            float x[HC_DK_GROUP][HC_DK_WIDE];
            int n = 0;
            for (int j = 0; j < HC_DK_GROUP; j++)
                if (i + j * step < end) {
                    hc_dk_read(format, wide, a->x.data, (i + j * step) * r->channels + c, x[j]);
                    n = j + 1;
                }
            for (int k = 0; k < wide; k++)
                hc_dk_moments_add(x, n, k, pivot[k], sums + 2 * k);
        }
    }
    hc_dk_slice_sums(r, wide, sums, a->sums);
}

HC_ON_DEVICE void hc_dk_bn_moments_body(const struct hc_dk_bn_moments *a)
{
    if (a->rows.wide == 1)
        hc_dk_moments_in(a, a->x.format, 1);
    else if (a->x.format == HC_FP16)
        hc_dk_moments_in(a, HC_FP16, HC_DK_WIDE);
    else if (a->x.format == HC_BF16)
        hc_dk_moments_in(a, HC_BF16, HC_DK_WIDE);
    else
        hc_dk_moments_in(a, HC_FP32, HC_DK_WIDE);
}
HC_LAUNCHABLE(bn_moments)

/* to = from + momentum * (batch - from); they may be the same. */
HC_ON_DEVICE void hc_dk_run_on(const struct hc_dk_view *from, const struct hc_dk_view *to,
                               int64_t c, float momentum, float batch)
{
    float running = hc_dk_load(from, c);
    hc_dk_store(to, c, running + momentum * (batch - running));
}

/* What is left of no variance may be below zero by fp64's last bits. */
HC_ON_DEVICE void hc_dk_bn_statistics_body(const struct hc_dk_bn_statistics *a)
{
    int64_t c = (int64_t)hc_block() * HC_WARP + hc_thread() % HC_WARP;
    double total[2];
    if (!hc_dk_all_slices(&a->rows, a->sums, total))
        return;
    double n = (double)a->rows.rows;
    double mean = total[0] / n;
    double squares = total[1] - total[0] * mean;
    squares = squares < 0 ? 0 : squares;
    float batch = (float)((double)hc_dk_pivot(hc_dk_load(&a->x, c)) + mean);
    a->saved_mean[c] = batch;
    a->saved_invstd[c] = (float)(1 / sqrt(squares / n + (double)a->eps));
    hc_dk_run_on(&a->mean_in, &a->mean_out, c, a->momentum, batch);
    hc_dk_run_on(&a->variance_in, &a->variance_out, c, a->momentum,
                 (float)(squares / (n > 1 ? n - 1 : n)));
}
HC_LAUNCHABLE(bn_statistics)

/* What a thread knows of its channels. */
struct hc_dk_channels {
    float mean[HC_DK_WIDE];
    float invstd[HC_DK_WIDE];
    float gamma[HC_DK_WIDE];
    float beta[HC_DK_WIDE];
};

HC_ON_DEVICE void hc_dk_channels_of(const struct hc_dk_bn_normalize *a, int64_t c, int wide,
                                    struct hc_dk_channels *to)
{
    for (int k = 0; k < wide; k++) {
        float invstd = hc_dk_load(&a->invstd, c + k);
        to->invstd[k] = a->variance ? 1 / sqrtf(invstd + a->eps) : invstd;
        to->mean[k] = hc_dk_load(&a->mean, c + k);
        to->gamma[k] = hc_dk_load(&a->gamma, c + k);
        to->beta[k] = hc_dk_load(&a->beta, c + k);
    }
}

HC_ON_DEVICE void hc_dk_normalize_in(const struct hc_dk_bn_normalize *a, enum hc_format from,
                                     enum hc_format to, int wide)
{
    const struct hc_dk_tiling *r = &a->rows;
    int64_t c = hc_dk_channel(r);
    int64_t end = hc_dk_row_end(r);
    int64_t step = hc_dk_row_step(r);
    struct hc_dk_channels by;
    if (c >= r->channels)
        return;
    hc_dk_channels_of(a, c, wide, &by);
    for (int64_t i = hc_dk_row_first(r); i < end; i += HC_DK_HALF_GROUP * step) {
        float x[HC_DK_HALF_GROUP][HC_DK_WIDE];
        for (int j = 0; j < HC_DK_HALF_GROUP; j++)
            if (i + j * step < end)
                hc_dk_read(from, wide, a->x.data, (i + j * step) * r->channels + c, x[j]);
        for (int j = 0; j < HC_DK_HALF_GROUP; j++) {
            if (i + j * step >= end)
                continue;
            for (int k = 0; k < wide; k++) {
                float y = (x[j][k] - by.mean[k]) * by.invstd[k] * by.gamma[k] + by.beta[k];
                x[j][k] = a->leaky ? hc_element_leaky_relu(a->slope, hc_dk_through(to, y)) : y;
            }
            hc_dk_write(to, wide, x[j], a->y.data, (i + j * step) * r->channels + c);
        }
    }
}

/* Vectors are of one format. */
HC_ON_DEVICE void hc_dk_bn_normalize_body(const struct hc_dk_bn_normalize *a)
{
    if (a->rows.wide == 1)
        hc_dk_normalize_in(a, a->x.format, a->y.format, 1);
    else if (a->x.format == HC_FP16)
        hc_dk_normalize_in(a, HC_FP16, HC_FP16, HC_DK_WIDE);
    else if (a->x.format == HC_BF16)
        hc_dk_normalize_in(a, HC_BF16, HC_BF16, HC_DK_WIDE);
    else
        hc_dk_normalize_in(a, HC_FP32, HC_FP32, HC_DK_WIDE);
}
HC_LAUNCHABLE(bn_normalize)
