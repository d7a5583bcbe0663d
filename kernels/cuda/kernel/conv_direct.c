/* Convolutions where cuDNN has no plan: a thread for an element, whose terms are added in fp32 one
   after the other. Terms in the padding are left out. */
#include "kernels/cuda/kernel/arguments.h"

#include "kernels/cuda/kernel/elements.h"

/* The extents: x [n, h, w, c], filters [k, r, s, c], y [n, p, q, k]. */
struct hc_dk_extents {
    int64_t n, h, w, c;
    int64_t p, q, k;
    int64_t r, s;
};

HC_ON_DEVICE struct hc_dk_extents hc_dk_extents_of(const struct hc_dk_conv_direct *a)
{
    const int64_t *x = a->x.shape;
    const int64_t *w = a->w.shape;
    struct hc_dk_extents e = {x[0],          x[1], x[2], x[3], a->y.shape[1],
                              a->y.shape[2], w[0], w[1], w[2]};
    return e;
}

/* The number of x[n, h, w, 0], or -1 where the filter's tap (r, s) of output (p, q) lies beside the
   image. */
HC_ON_DEVICE int64_t hc_dk_pixel(const struct hc_dk_conv_direct *a, const struct hc_dk_extents *e,
                                 int64_t n, int64_t p, int64_t q, int64_t r, int64_t s)
{
    int64_t h = p * a->stride + r - a->pad;
    int64_t w = q * a->stride + s - a->pad;
    if (h < 0 || w < 0 || h >= e->h || w >= e->w)
        return -1;
    return ((n * e->h + h) * e->w + w) * e->c;
}

/* Element i of y. */
HC_ON_DEVICE float hc_dk_forward(const struct hc_dk_conv_direct *a, const struct hc_dk_extents *e,
                                 int64_t i)
{
    int64_t k = i % e->k;
    int64_t q = i / e->k % e->q;
    int64_t p = i / e->k / e->q % e->p;
    int64_t n = i / e->k / e->q / e->p;
    float sum = 0;
    for (int64_t tap = 0; tap < e->r * e->s; tap++) {
        int64_t x = hc_dk_pixel(a, e, n, p, q, tap / e->s, tap % e->s);
        int64_t w = (k * e->r * e->s + tap) * e->c;
        for (int64_t c = 0; c < e->c && x >= 0; c++)
            sum += hc_dk_load(&a->x, x + c) * hc_dk_load(&a->w, w + c);
    }
    return sum;
}

/* Element i of dx. */
HC_ON_DEVICE float hc_dk_to_data(const struct hc_dk_conv_direct *a, const struct hc_dk_extents *e,
                                 int64_t i)
{
    int64_t c = i % e->c;
    int64_t w = i / e->c % e->w;
    int64_t h = i / e->c / e->w % e->h;
    int64_t n = i / e->c / e->w / e->h;
    float sum = 0;
    for (int64_t tap = 0; tap < e->r * e->s; tap++) {
        int64_t down = h + a->pad - tap / e->s;
        int64_t right = w + a->pad - tap % e->s;
        int64_t p = down / a->stride;
        int64_t q = right / a->stride;
        if (down < 0 || right < 0 || down % a->stride != 0 || right % a->stride != 0 || p >= e->p ||
            q >= e->q)
            continue;
        for (int64_t k = 0; k < e->k; k++)
            sum += hc_dk_load(&a->y, ((n * e->p + p) * e->q + q) * e->k + k) *
                   hc_dk_load(&a->w, (k * e->r * e->s + tap) * e->c + c);
    }
    return sum;
}

/* Element i of dw. */
HC_ON_DEVICE float hc_dk_to_filter(const struct hc_dk_conv_direct *a, const struct hc_dk_extents *e,
                                   int64_t i)
{
    int64_t c = i % e->c;
    int64_t s = i / e->c % e->s;
    int64_t r = i / e->c / e->s % e->r;
    int64_t k = i / e->c / e->s / e->r;
    float sum = 0;
    for (int64_t at = 0; at < e->n * e->p * e->q; at++) {
        int64_t x = hc_dk_pixel(a, e, at / e->q / e->p, at / e->q % e->p, at % e->q, r, s);
        if (x >= 0)
            sum += hc_dk_load(&a->x, x + c) * hc_dk_load(&a->y, at * e->k + k);
    }
    return sum;
}

HC_ON_DEVICE void hc_dk_conv_direct_body(const struct hc_dk_conv_direct *a)
{
    struct hc_dk_extents e = hc_dk_extents_of(a);
    const struct hc_tensor *out = a->op == HC_OP_conv2d            ? &a->y
                                  : a->op == HC_OP_conv2d_bwd_data ? &a->x
                                                                   : &a->w;
    int64_t n = hc_dk_count(out);
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride())
        hc_dk_store(out, i,
                    a->op == HC_OP_conv2d            ? hc_dk_forward(a, &e, i)
                    : a->op == HC_OP_conv2d_bwd_data ? hc_dk_to_data(a, &e, i)
                                                     : hc_dk_to_filter(a, &e, i));
}
HC_LAUNCHABLE(conv_direct, struct hc_dk_conv_direct)
