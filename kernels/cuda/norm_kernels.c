/* Batch norm. x is [rows, channels]. A block has 32 channels, a warp's lanes, and reads its slice of
   the rows with as many warps as it has; sums of the warps, and then of the slices, are added in
   order. A kernel that needs whole sums adds up the slices itself, every block in the same order. */
#include <math.h>

#include "kernels/cuda/norm_walk.h"

HC_ON_DEVICE void hc_dk_bn_sums_body(const struct hc_dk_bn_sums *a)
{
    int64_t c = hc_dk_channel(&a->rows);
    float sum = 0;
    if (c < a->rows.channels)
        for (int64_t i = hc_dk_row_first(&a->rows); i < hc_dk_row_end(&a->rows);
             i += hc_threads() / HC_WARP)
            sum += hc_dk_load(&a->x, i * a->rows.channels + c);
    hc_dk_slice_sum(&a->rows, sum, a->sums);
}
HC_LAUNCHABLE(bn_sums)

HC_ON_DEVICE void hc_dk_bn_squares_body(const struct hc_dk_bn_squares *a)
{
    int64_t c = hc_dk_channel(&a->rows);
    float sum = 0;
    if (c < a->rows.channels) {
        float mean = hc_dk_all_slices(&a->rows, a->sums, c) / (float)a->rows.rows;
        for (int64_t i = hc_dk_row_first(&a->rows); i < hc_dk_row_end(&a->rows);
             i += hc_threads() / HC_WARP) {
            float d = hc_dk_load(&a->x, i * a->rows.channels + c) - mean;
            sum += d * d;
        }
    }
    hc_dk_slice_sum(&a->rows, sum, a->squares);
}
HC_LAUNCHABLE(bn_squares)

/* The block's share of y = (x - mean) * invstd * gamma + beta, from left to right. */
HC_ON_DEVICE void hc_dk_normalize(const struct hc_dk_rows *r, const struct hc_dk_affine *t,
                                  int64_t c, float mean, float invstd)
{
    float gamma = hc_dk_load(&t->gamma, c);
    float beta = hc_dk_load(&t->beta, c);
    for (int64_t i = hc_dk_row_first(r); i < hc_dk_row_end(r); i += hc_threads() / HC_WARP) {
        float x = hc_dk_load(&t->x, i * r->channels + c);
        hc_dk_store(&t->y, i * r->channels + c, (x - mean) * invstd * gamma + beta);
    }
}

/* to = from + momentum * (batch - from); they may be the same. */
HC_ON_DEVICE void hc_dk_run_on(const struct hc_dk_view *from, const struct hc_dk_view *to,
                               int64_t c, float momentum, float batch)
{
    float running = hc_dk_load(from, c);
    hc_dk_store(to, c, running + momentum * (batch - running));
}

HC_ON_DEVICE void hc_dk_bn_train_body(const struct hc_dk_bn_train *a)
{
    int64_t c = hc_dk_channel(&a->rows);
    int64_t m = a->rows.rows;
    if (c >= a->rows.channels)
        return;
    float mean = hc_dk_all_slices(&a->rows, a->sums, c) / (float)m;
    float squares = hc_dk_all_slices(&a->rows, a->squares, c);
    float invstd = 1 / sqrtf(squares / (float)m + a->eps);
    if (hc_dk_writes_channel(&a->rows)) {
        a->saved_mean[c] = mean;
        a->saved_invstd[c] = invstd;
        hc_dk_run_on(&a->mean_in, &a->mean_out, c, a->momentum, mean);
        hc_dk_run_on(&a->variance_in, &a->variance_out, c, a->momentum,
                     squares / (float)(m > 1 ? m - 1 : m));
    }
    hc_dk_normalize(&a->rows, &a->tensors, c, mean, invstd);
}
HC_LAUNCHABLE(bn_train)

HC_ON_DEVICE void hc_dk_bn_infer_body(const struct hc_dk_bn_infer *a)
{
    int64_t c = hc_dk_channel(&a->rows);
    if (c >= a->rows.channels)
        return;
    float invstd = 1 / sqrtf(hc_dk_load(&a->variance, c) + a->eps);
    hc_dk_normalize(&a->rows, &a->tensors, c, hc_dk_load(&a->mean, c), invstd);
}
HC_LAUNCHABLE(bn_infer)
