/* Means over disjoint windows, and their gradient; elements are NHWC. */
#include "kernels/cuda/kernel/pool.h"

#include "kernels/cuda/kernel/elements.h"

HC_ON_DEVICE void hc_dk_avg_pool_body(const struct hc_dk_avg_pool *a)
{
    int64_t across = a->wide / a->window;
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride()) {
        int64_t c = i % a->channels;
        int64_t q = i / a->channels % across;
        int64_t row = i / a->channels / across; /* over images and their output rows */
        float sum = 0;
        for (int64_t r = 0; r < a->window; r++)
            for (int64_t s = 0; s < a->window; s++) {
                int64_t pixel = (row * a->window + r) * a->wide + q * a->window + s;
                sum += hc_dk_load(&a->x, pixel * a->channels + c);
            }
        hc_dk_store(&a->y, i, sum / (float)(a->window * a->window));
    }
}
HC_LAUNCHABLE(avg_pool)

HC_ON_DEVICE void hc_dk_avg_pool_bwd_body(const struct hc_dk_avg_pool_bwd *b)
{
    const struct hc_dk_avg_pool *a = &b->pool;
    int64_t across = a->wide / a->window;
    for (int64_t i = hc_dk_first(); i < a->n; i += hc_dk_stride()) {
        int64_t c = i % a->channels;
        int64_t w = i / a->channels % a->wide;
        int64_t row = i / a->channels / a->wide; /* over images and their rows */
        int64_t pixel = row / a->window * across + w / a->window;
        float dy = hc_dk_load(&a->y, pixel * a->channels + c);
        hc_dk_store(&a->x, i, dy / (float)(a->window * a->window));
    }
}
HC_LAUNCHABLE(avg_pool_bwd)
