/* Convolutions where cuDNN has no plan: an element a thread, its terms in fp32 one after the other, those
   in the padding left out. */
#include "kernels/cuda/kernel/conv_direct.h"

#include "kernels/cuda/kernel/elements.h"

/* x[n, h, w, 0], or -1 where the filter's tap (r, s) of output (p, q) is beside the image. */
HC_ON_DEVICE int64_t hc_dk_pixel(const struct hc_dk_conv_direct *a, int64_t n, int64_t p, int64_t q,
                                 int64_t r, int64_t s)
{
    int64_t h = p * a->stride + r - a->pad;
    int64_t w = q * a->stride + s - a->pad;
    if (h < 0 || w < 0 || h >= a->h || w >= a->w)
        return -1;
    return ((n * a->h + h) * a->w + w) * a->c;
}

/* Element i of y. */
HC_ON_DEVICE float hc_dk_forward(const struct hc_dk_conv_direct *a, int64_t i)
{
    int64_t k = i % a->k;
    int64_t q = i / a->k % a->q;
    int64_t p = i / a->k / a->q % a->p;
    int64_t n = i / a->k / a->q / a->p;
    float sum = 0;
    for (int64_t tap = 0; tap < a->r * a->s; tap++) {
        int64_t x = hc_dk_pixel(a, n, p, q, tap / a->s, tap % a->s);
        int64_t w = (k * a->r * a->s + tap) * a->c;
        for (int64_t c = 0; c < a->c && x >= 0; c++)
            sum += hc_dk_load(&a->x, x + c) * hc_dk_load(&a->weights, w + c);
    }
    return sum;
}

/* Element i of dx. */
HC_ON_DEVICE float hc_dk_to_data(const struct hc_dk_conv_direct *a, int64_t i)
{
    int64_t c = i % a->c;
    int64_t w = i / a->c % a->w;
    int64_t h = i / a->c / a->w % a->h;
    int64_t n = i / a->c / a->w / a->h;
    float sum = 0;
    for (int64_t tap = 0; tap < a->r * a->s; tap++) {
        int64_t down = h + a->pad - tap / a->s;
        int64_t right = w + a->pad - tap % a->s;
        int64_t p = down / a->stride;
        int64_t q = right / a->stride;
        if (down < 0 || right < 0 || down % a->stride != 0 || right % a->stride != 0 || p >= a->p ||
            q >= a->q)
            continue;
        for (int64_t k = 0; k < a->k; k++)
            sum += hc_dk_load(&a->y, ((n * a->p + p) * a->q + q) * a->k + k) *
                   hc_dk_load(&a->weights, (k * a->r * a->s + tap) * a->c + c);
    }
    return sum;
}

/* Element i of dw. */
HC_ON_DEVICE float hc_dk_to_filter(const struct hc_dk_conv_direct *a, int64_t i)
{
    int64_t c = i % a->c;
    int64_t s = i / a->c % a->s;
    int64_t r = i / a->c / a->s % a->r;
    int64_t k = i / a->c / a->s / a->r;
    float sum = 0;
    for (int64_t at = 0; at < a->n * a->p * a->q; at++) {
        int64_t x = hc_dk_pixel(a, at / a->q / a->p, at / a->q % a->p, at % a->q, r, s);
        if (x >= 0)
            sum += hc_dk_load(&a->x, x + c) * hc_dk_load(&a->y, at * a->k + k);
    }
    return sum;
}

HC_ON_DEVICE void hc_dk_conv_direct_body(const struct hc_dk_conv_direct *a)
{
    for (int64_t i = hc_dk_first(); i < a->elements; i += hc_dk_stride()) {
        if (a->op == HC_OP_conv2d)
            hc_dk_store(&a->y, i, hc_dk_forward(a, i));
        else if (a->op == HC_OP_conv2d_bwd_data)
            hc_dk_store(&a->x, i, hc_dk_to_data(a, i));
        else
            hc_dk_store(&a->weights, i, hc_dk_to_filter(a, i));
    }
}
HC_LAUNCHABLE(conv_direct)
