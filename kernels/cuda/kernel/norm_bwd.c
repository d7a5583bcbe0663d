/* Batch norm, gradients: sums of dz and dz * xhat by slice, both over all slices, and then

     dx = (gamma * invstd) * ((dz - dbeta / rows) - xhat * (dgamma / rows)).

   dz is dy, or with leaky ReLU the gradient of that, of y and dy, rounded into dy's format. */
#include "kernels/cuda/kernel/norm.h"

#include "kernels/cuda/kernel/norm_tiling.h"
#include "kernels/element/leaky.h"

struct hc_dk_pair {
    float x[HC_DK_WIDE];
    float dz[HC_DK_WIDE];
};

/* Whether each y of a vector is above 0: all that leaky ReLU's gradient needs of it. It is read
   where a->y lies, or from what the first pass has kept in `positive`. */
HC_ON_DEVICE unsigned hc_dk_positive(const struct hc_dk_norm *a, enum hc_format dy, int wide,
                                     int64_t at, bool first)
{
    float y[HC_DK_WIDE];
    unsigned bits = 0;
    if (wide > 1 && !first)
        return a->positive[at / HC_DK_WIDE];
    hc_dk_read(dy, wide, a->y, at, y);
    for (int k = 0; k < wide; k++)
        bits |= (unsigned)(y[k] > 0) << k;
    if (wide > 1)
        a->positive[at / HC_DK_WIDE] = (unsigned char)bits;
    return bits;
}

/* The op add, which makes dy. */
HC_ON_DEVICE void hc_dk_add_gradients(const struct hc_dk_norm *a, enum hc_format dy, int wide,
                                      int64_t at, float *sum)
{
    float other[HC_DK_WIDE];
    hc_dk_read(dy, wide, a->addends[0], at, sum);
    hc_dk_read(dy, wide, a->addends[1], at, other);
    for (int k = 0; k < wide; k++)
        sum[k] = hc_dk_through(dy, sum[k] + other[k]);
    hc_dk_write(dy, wide, sum, a->dy.data, at);
}

/* x and dz from element `at` on, in the first pass or the second. */
HC_ON_DEVICE void hc_dk_read_pair(const struct hc_dk_norm *a, enum hc_format x, enum hc_format dy,
                                  int wide, int64_t at, bool first, struct hc_dk_pair *to)
{
    float slope = (float)a->call.params.bn.slope;
    hc_dk_read(x, wide, a->call.in[HC_BN_BWD_X].data, at, to->x);
    if (first && a->addends[0])
        hc_dk_add_gradients(a, dy, wide, at, to->dz);
    else
        hc_dk_read(dy, wide, a->dy.data, at, to->dz);
    if (!a->leaky)
        return;
    unsigned positive = hc_dk_positive(a, dy, wide, at, first);
    for (int k = 0; k < wide; k++)
        to->dz[k] = hc_dk_through(
            dy, hc_element_leaky_relu_bwd(slope, (float)(positive >> k & 1), to->dz[k]));
}

HC_ON_DEVICE void hc_dk_bwd_sums_in(const struct hc_dk_norm *a, enum hc_format x, enum hc_format dy,
                                    int wide)
{
    const struct hc_dk_tiling *r = &a->tiling;
    int64_t c = hc_dk_channel(r);
    int64_t end = hc_dk_row_end(r);
    int64_t step = hc_dk_row_step(r);
    float mean[HC_DK_WIDE];
    float invstd[HC_DK_WIDE];
    float first[HC_DK_WIDE] = {0};
    float second[HC_DK_WIDE] = {0};
    double sums[2 * HC_DK_WIDE];
    for (int k = 0; k < wide && c < r->channels; k++) {
        mean[k] = hc_dk_load(&a->mean, c + k);
        invstd[k] = hc_dk_load(&a->invstd, c + k);
    }
    for (int64_t i = hc_dk_row_first(r); c < r->channels && i < end; i += HC_DK_PAIRS * step) {
        struct hc_dk_pair pair[HC_DK_PAIRS];
        for (int j = 0; j < HC_DK_PAIRS; j++)
            if (i + j * step < end)
                hc_dk_read_pair(a, x, dy, wide, (i + j * step) * r->channels + c, true, &pair[j]);
        for (int j = 0; j < HC_DK_PAIRS; j++)
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

/* The factors of a thread's channels. */
struct hc_dk_slopes {
    float mean[HC_DK_WIDE];
    float invstd[HC_DK_WIDE];
    float gain[HC_DK_WIDE];
    float dbeta[HC_DK_WIDE];
    float dgamma[HC_DK_WIDE];
};

/* Vectors are of one format, which is dx's too. */
HC_ON_DEVICE void hc_dk_bwd_in(const struct hc_dk_norm *a, enum hc_format x, enum hc_format dy,
                               int wide)
{
    const struct hc_tensor *out = &a->call.out[HC_BN_BWD_DX];
    enum hc_format dx = wide == 1 ? out->format : dy;
    const struct hc_dk_tiling *r = &a->tiling;
    int64_t c = hc_dk_channel(r);
    int64_t end = hc_dk_row_end(r);
    int64_t step = hc_dk_row_step(r);
    struct hc_dk_slopes by;
    if (c >= r->channels)
        return;
    for (int k = 0; k < wide; k++) {
        by.mean[k] = hc_dk_load(&a->mean, c + k);
        by.invstd[k] = hc_dk_load(&a->invstd, c + k);
        by.gain[k] = hc_dk_load(&a->gamma, c + k) * by.invstd[k];
        by.dbeta[k] = a->parts ? hc_dk_load(&a->dbeta, c + k) : a->means[c + k];
        by.dgamma[k] = a->parts ? hc_dk_load(&a->dgamma, c + k) : a->means[r->channels + c + k];
    }
    for (int64_t i = hc_dk_row_first(r); i < end; i += HC_DK_PAIRS * step) {
        struct hc_dk_pair pair[HC_DK_PAIRS];
        for (int j = 0; j < HC_DK_PAIRS; j++)
            if (i + j * step < end)
                hc_dk_read_pair(a, x, dy, wide, (i + j * step) * r->channels + c, false, &pair[j]);
        for (int j = 0; j < HC_DK_PAIRS; j++) {
            if (i + j * step >= end)
                continue;
            for (int k = 0; k < wide; k++) {
                float xhat = (pair[j].x[k] - by.mean[k]) * by.invstd[k];
                pair[j].dz[k] = by.gain[k] * ((pair[j].dz[k] - by.dbeta[k]) - xhat * by.dgamma[k]);
            }
            hc_dk_write(dx, wide, pair[j].dz, out->data, (i + j * step) * r->channels + c);
        }
    }
}

HC_ON_DEVICE void hc_dk_bn_bwd_body(const struct hc_dk_norm *a)
{
    hc_dk_in_formats(a, hc_dk_bwd_in, a->call.in[HC_BN_BWD_X].format, a->dy.format);
}
HC_LAUNCHABLE(bn_bwd, struct hc_dk_norm)

/* The sums by slice; in a tile's last block dgamma and dbeta, and both divided by the rows before
   they are rounded; with one slice dx, too. Shared memory: 2 wide doubles a thread. */
HC_ON_DEVICE void hc_dk_bn_bwd_sums_body(const struct hc_dk_norm *a)
{
    double total[2];
    int64_t c;
    hc_dk_in_formats(a, hc_dk_bwd_sums_in, a->call.in[HC_BN_BWD_X].format, a->dy.format);
    if (hc_dk_tile_sums(a, total, &c)) {
        hc_dk_store(&a->dbeta, c, (float)total[0]);
        hc_dk_store(&a->dgamma, c, (float)total[1]);
        a->means[c] = (float)(total[0] / (double)a->tiling.rows);
        a->means[a->tiling.channels + c] = (float)(total[1] / (double)a->tiling.rows);
    }
    if (a->tiling.slices > 1 || a->parts)
        return;
    hc_sync();
    hc_dk_bn_bwd_body(a);
}
HC_LAUNCHABLE(bn_bwd_sums, struct hc_dk_norm)
