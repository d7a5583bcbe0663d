/* rms_norm and layer_norm of rows, alone or of a sum: a block takes a row at a time. Shared memory:
   a float for every warp. */
#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/defined.h"
#include "kernels/cuda/kernel/elements.h"
#include "kernels/element/round.h"

HC_ON_DEVICE float hc_dk_summand(const struct hc_dk_row_norm *a, bool stored, int64_t i)
{
    float x = hc_dk_load(&a->x, i);
    if (!a->r.data)
        return x;
    float sum = x + hc_dk_load(&a->r, i);
    return stored ? hc_into(a->x.format, sum) : sum;
}

/* A distance from 0 is the weight itself, a zero's sign included. */
HC_ON_DEVICE float hc_dk_weight(const struct hc_tensor *w, float offset, int64_t d)
{
    float distance = hc_dk_load(w, d);
    return offset == 0 ? distance : offset + distance;
}

HC_ON_DEVICE void hc_dk_row_norm_body(const struct hc_dk_row_norm *a)
{
    float *shared = (float *)hc_shared();
    int64_t n = a->x.shape[1];
    for (int64_t t = hc_block(); t < a->x.shape[0]; t += hc_blocks()) {
        int64_t first = t * n + hc_thread();
        int64_t end = (t + 1) * n;
        float mean = 0;
        float squares = 0;
        if (a->centred) {
            for (int64_t i = first; i < end; i += hc_threads())
                mean += hc_dk_summand(a, a->stored, i);
            mean = hc_dk_block_sum(mean, shared) / (float)n;
        }
        for (int64_t i = first; i < end; i += hc_threads()) {
            float off = hc_dk_summand(a, a->stored, i) - mean;
            squares += off * off;
            if (a->s.data)
                hc_dk_store(&a->s, i, hc_dk_summand(a, true, i));
        }
        float r = 1 / sqrtf(hc_dk_block_sum(squares, shared) / (float)n + a->eps);
        if (hc_thread() == 0 && a->mu.data)
            hc_dk_store(&a->mu, t, mean);
        if (hc_thread() == 0 && a->rstd.data)
            hc_dk_store(&a->rstd, t, r);
        for (int64_t i = first; i < end; i += hc_threads()) {
            float x = hc_dk_summand(a, a->stored, i);
            float y = (a->centred ? x - mean : x) * r;
            y = (a->cast ? hc_into(a->x.format, y) : y) * hc_dk_weight(&a->w, a->offset, i % n);
            hc_dk_store(&a->y, i, a->b.data ? y + hc_dk_load(&a->b, i % n) : y);
        }
    }
}
HC_LAUNCHABLE(row_norm, struct hc_dk_row_norm)

/* What dy is multiplied with, along the row and in dw: the normalised x of layer_norm, and of
   rms_norm x itself. */
HC_ON_DEVICE float hc_dk_along(const struct hc_dk_row_norm_bwd *a, int64_t t, int64_t i)
{
    float x = hc_dk_load(&a->x, i);
    return a->mu.data ? (x - hc_dk_load(&a->mu, t)) * hc_dk_load(&a->rstd, t) : x;
}

HC_ON_DEVICE void hc_dk_row_norm_bwd_body(const struct hc_dk_row_norm_bwd *a)
{
    float *shared = (float *)hc_shared();
    int64_t n = a->x.shape[1];
    for (int64_t t = hc_block(); t < a->x.shape[0]; t += hc_blocks()) {
        float r = hc_dk_load(&a->rstd, t);
        float mean = 0;
        float along = 0;
        for (int64_t i = t * n + hc_thread(); i < (t + 1) * n; i += hc_threads()) {
            float g = hc_dk_load(&a->dy, i) * hc_dk_weight(&a->w, a->offset, i % n);
            mean += g;
            along += g * hc_dk_along(a, t, i);
        }
        mean = a->mu.data ? hc_dk_block_sum(mean, shared) / (float)n : 0;
        along = hc_dk_block_sum(along, shared) / (float)n;
        along = a->mu.data ? along : along * r * r;
        for (int64_t i = t * n + hc_thread(); i < (t + 1) * n; i += hc_threads()) {
            float g = hc_dk_load(&a->dy, i) * hc_dk_weight(&a->w, a->offset, i % n);
            float off = a->mu.data ? g - mean : g;
            float dx = r * (off - hc_dk_along(a, t, i) * along);
            hc_dk_store(&a->dx, i, a->ds.data ? hc_dk_load(&a->ds, i) + dx : dx);
        }
    }
}
HC_LAUNCHABLE(row_norm_bwd, struct hc_dk_row_norm_bwd)

/* A thread has a column of dw and db, and adds up the rows in order. */
HC_ON_DEVICE void hc_dk_row_norm_weights_body(const struct hc_dk_row_norm_bwd *a)
{
    int64_t n = a->x.shape[1];
    for (int64_t d = hc_dk_first(); d < n; d += hc_dk_stride()) {
        float dw = 0;
        float db = 0;
        for (int64_t t = 0; t < a->x.shape[0]; t++) {
            float dy = hc_dk_load(&a->dy, t * n + d);
            float h = hc_dk_along(a, t, t * n + d);
            h = a->mu.data ? h : h * hc_dk_load(&a->rstd, t);
            dw += dy * (a->cast ? hc_into(a->dy.format, h) : h);
            db += dy;
        }
        hc_dk_store(&a->dw, d, dw);
        if (a->db.data)
            hc_dk_store(&a->db, d, db);
    }
}
HC_LAUNCHABLE(row_norm_weights, struct hc_dk_row_norm_bwd)
