/* Batch norm, gradients: sums of dy and dy * xhat by slice, then dx from them. */
#include "kernels/cuda/norm_bwd.h"

#include "kernels/cuda/norm_walk.h"

HC_ON_DEVICE void hc_dk_bn_bwd_sums_body(const struct hc_dk_bn_bwd_sums *a)
{
    const struct hc_dk_gradient *g = &a->g;
    int64_t c = hc_dk_channel(&g->rows);
    float dbeta = 0;
    float dgamma = 0;
    if (c < g->rows.channels) {
        float mean = hc_dk_load(&g->mean, c);
        float invstd = hc_dk_load(&g->invstd, c);
        for (int64_t i = hc_dk_row_first(&g->rows); i < hc_dk_row_end(&g->rows);
             i += hc_threads() / HC_WARP) {
            int64_t at = i * g->rows.channels + c;
            float dy = hc_dk_load(&g->dy, at);
            dbeta += dy;
            dgamma += dy * ((hc_dk_load(&g->x, at) - mean) * invstd);
        }
    }
    hc_dk_slice_sum(&g->rows, dbeta, g->dbeta);
    hc_dk_slice_sum(&g->rows, dgamma, g->dgamma);
}
HC_LAUNCHABLE(bn_bwd_sums)

HC_ON_DEVICE void hc_dk_bn_bwd_body(const struct hc_dk_bn_bwd *a)
{
    const struct hc_dk_gradient *g = &a->g;
    int64_t c = hc_dk_channel(&g->rows);
    if (c >= g->rows.channels)
        return;
    float m = (float)g->rows.rows;
    float mean = hc_dk_load(&g->mean, c);
    float invstd = hc_dk_load(&g->invstd, c);
    float gain = hc_dk_load(&a->gamma, c) * invstd;
    float dbeta = hc_dk_all_slices(&g->rows, g->dbeta, c);
    float dgamma = hc_dk_all_slices(&g->rows, g->dgamma, c);
    if (hc_dk_writes_channel(&g->rows)) {
        hc_dk_store(&a->dgamma, c, dgamma);
        hc_dk_store(&a->dbeta, c, dbeta);
    }
    dbeta /= m;
    dgamma /= m;
    for (int64_t i = hc_dk_row_first(&g->rows); i < hc_dk_row_end(&g->rows);
         i += hc_threads() / HC_WARP) {
        int64_t at = i * g->rows.channels + c;
        float dy = hc_dk_load(&g->dy, at);
        float xhat = (hc_dk_load(&g->x, at) - mean) * invstd;
        hc_dk_store(&a->dx, at, gain * ((dy - dbeta) - xhat * dgamma));
    }
}
HC_LAUNCHABLE(bn_bwd)
