/* Batch norm, gradients, with or without leaky ReLU: sums of dz and dz * xhat by slice, both of them
   over all slices, then dx. */
#include "kernels/cuda/kernel/norm_bwd.h"

#include "kernels/cuda/kernel/norm_tiling.h"
#include "kernels/element/leaky.h"

struct hc_dk_pair {
    float x[HC_DK_WIDE];
    float dz[HC_DK_WIDE];
};

/* x and dz from element `at` on. */
HC_ON_DEVICE void hc_dk_read_pair(const struct hc_dk_gradient *g, enum hc_format x,
                                  enum hc_format dy, int wide, int64_t at, struct hc_dk_pair *to)
{
    float y[HC_DK_WIDE];
    hc_dk_read(x, wide, g->x.data, at, to->x);
    hc_dk_read(dy, wide, g->dy.data, at, to->dz);
    if (!g->y)
        return;
    hc_dk_read(dy, wide, g->y, at, y);
    for (int k = 0; k < wide; k++)
        to->dz[k] = hc_dk_through(dy, hc_element_leaky_relu_bwd(g->slope, y[k], to->dz[k]));
}

HC_ON_DEVICE void hc_dk_bwd_sums_in(const struct hc_dk_bn_bwd_sums *a, enum hc_format x,
                                    enum hc_format dy, int wide)
{
    const struct hc_dk_gradient *g = &a->g;
    const struct hc_dk_tiling *r = &g->rows;
    int64_t c = hc_dk_channel(r);
    int64_t end = hc_dk_row_end(r);
    int64_t step = hc_dk_row_step(r);
    float mean[HC_DK_WIDE];
    float invstd[HC_DK_WIDE];
    float first[HC_DK_WIDE] = {0};
    float second[HC_DK_WIDE] = {0};
    double sums[2 * HC_DK_WIDE];
    for (int k = 0; k < wide && c < r->channels; k++) {
        mean[k] = hc_dk_load(&g->mean, c + k);
        invstd[k] = hc_dk_load(&g->invstd, c + k);
    }
    for (int64_t i = hc_dk_row_first(r); c < r->channels && i < end; i += HC_DK_HALF_GROUP * step) {
        struct hc_dk_pair pair[HC_DK_HALF_GROUP];
        for (int j = 0; j < HC_DK_HALF_GROUP; j++)
            if (i + j * step < end)
                hc_dk_read_pair(g, x, dy, wide, (i + j * step) * r->channels + c, &pair[j]);
        for (int j = 0; j < HC_DK_HALF_GROUP; j++)
            for (int k = 0; k < wide && i + j * step < end; k++) {
                first[k] += pair[j].dz[k];
                second[k] += pair[j].dz[k] * ((pair[j].x[k] - mean[k]) * invstd[k]);
            }
    }
    for (int k = 0; k < wide; k++) {
        sums[2 * k] = (double)first[k];
        sums[2 * k + 1] = (double)second[k];
    }
    hc_dk_slice_sums(r, wide, sums, a->sums);
}

HC_ON_DEVICE void hc_dk_bn_bwd_sums_body(const struct hc_dk_bn_bwd_sums *a)
{
    if (a->g.rows.wide == 1)
        hc_dk_bwd_sums_in(a, a->g.x.format, a->g.dy.format, 1);
    else if (a->g.x.format == HC_FP16)
        hc_dk_bwd_sums_in(a, HC_FP16, HC_FP16, HC_DK_WIDE);
    else if (a->g.x.format == HC_BF16)
        hc_dk_bwd_sums_in(a, HC_BF16, HC_BF16, HC_DK_WIDE);
    else
        hc_dk_bwd_sums_in(a, HC_FP32, HC_FP32, HC_DK_WIDE);
}
HC_LAUNCHABLE(bn_bwd_sums)

HC_ON_DEVICE void hc_dk_bn_bwd_means_body(const struct hc_dk_bn_bwd_means *a)
{
    int64_t c = (int64_t)hc_block() * HC_WARP + hc_thread() % HC_WARP;
    double total[2];
    if (!hc_dk_all_slices(&a->rows, a->sums, total))
        return;
    hc_dk_store(&a->dbeta, c, (float)total[0]);
    hc_dk_store(&a->dgamma, c, (float)total[1]);
    a->means[c] = (float)(total[0] / (double)a->rows.rows);
    a->means[a->rows.channels + c] = (float)(total[1] / (double)a->rows.rows);
}
HC_LAUNCHABLE(bn_bwd_means)

/* What a thread knows of its channels. */
struct hc_dk_slopes {
    float mean[HC_DK_WIDE];
    float invstd[HC_DK_WIDE];
    float gain[HC_DK_WIDE];
    float dbeta[HC_DK_WIDE];
    float dgamma[HC_DK_WIDE];
};

HC_ON_DEVICE void hc_dk_bwd_in(const struct hc_dk_bn_bwd *a, enum hc_format x, enum hc_format dy,
                               enum hc_format dx, int wide)
{
    const struct hc_dk_gradient *g = &a->g;
    const struct hc_dk_tiling *r = &g->rows;
    int64_t c = hc_dk_channel(r);
    int64_t end = hc_dk_row_end(r);
    int64_t step = hc_dk_row_step(r);
    struct hc_dk_slopes by;
    for (int k = 0; k < wide && c < r->channels; k++) {
        by.mean[k] = hc_dk_load(&g->mean, c + k);
        by.invstd[k] = hc_dk_load(&g->invstd, c + k);
        by.gain[k] = hc_dk_load(&a->gamma, c + k) * by.invstd[k];
        by.dbeta[k] = a->means[c + k];
        by.dgamma[k] = a->means[r->channels + c + k];
    }
    for (int64_t i = hc_dk_row_first(r); c < r->channels && i < end; i += HC_DK_HALF_GROUP * step) {
        struct hc_dk_pair pair[HC_DK_HALF_GROUP];
        for (int j = 0; j < HC_DK_HALF_GROUP; j++)
            if (i + j * step < end)
                hc_dk_read_pair(g, x, dy, wide, (i + j * step) * r->channels + c, &pair[j]);
        for (int j = 0; j < HC_DK_HALF_GROUP; j++) {
            if (i + j * step >= end)
                continue;
            for (int k = 0; k < wide; k++) {
                float xhat = (pair[j].x[k] - by.mean[k]) * by.invstd[k];
                pair[j].dz[k] = by.gain[k] * ((pair[j].dz[k] - by.dbeta[k]) - xhat * by.dgamma[k]);
            }
            hc_dk_write(dx, wide, pair[j].dz, a->dx.data, (i + j * step) * r->channels + c);
        }
    }
}

HC_ON_DEVICE void hc_dk_bn_bwd_body(const struct hc_dk_bn_bwd *a)
{
    if (a->g.rows.wide == 1)
        hc_dk_bwd_in(a, a->g.x.format, a->g.dy.format, a->dx.format, 1);
    else if (a->g.x.format == HC_FP16)
        hc_dk_bwd_in(a, HC_FP16, HC_FP16, HC_FP16, HC_DK_WIDE);
    else if (a->g.x.format == HC_BF16)
        hc_dk_bwd_in(a, HC_BF16, HC_BF16, HC_BF16, HC_DK_WIDE);
    else
        hc_dk_bwd_in(a, HC_FP32, HC_FP32, HC_FP32, HC_DK_WIDE);
}
HC_LAUNCHABLE(bn_bwd)
