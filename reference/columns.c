/* im2col copies, and its gradient adds up what was copied. The row (n P + p) Q + q of columns holds
   at (r R + s) C + c the element x[n, p stride + r - pad, q stride + s - pad, c].

   Sums are taken in fp64 and each rounded to fp32: that is one rounding, since fp64's 53 bits are
   more than twice fp32's and two. */
#include <math.h>

#include "reference/split.h"

/* How many places a filter has along an extent. */
static int64_t places(const struct hc_columns *p, int64_t extent)
{
    return (extent + 2 * (int64_t)p->pad - p->kernel) / p->stride + 1;
}

hc_reference hc_reference_im2col;
void hc_reference_im2col(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_columns *p = &e->call->params.columns;
    const struct hc_tensor *x = &e->call->in[HC_IM2COL_X];
    int64_t width = x->shape[2];
    int64_t channels = x->shape[3];
    int64_t c = e->index % channels;
    int64_t s = e->index / channels % p->kernel;
    int64_t r = e->index / channels / p->kernel % p->kernel;
    int64_t pixel = e->index / channels / p->kernel / p->kernel;
    int64_t across = places(p, width);
    int64_t down = places(p, x->shape[1]);
    int64_t j = pixel % across * p->stride + s - p->pad;
    int64_t i = pixel / across % down * p->stride + r - p->pad;
    int64_t n = pixel / across / down;
    mpfr_t value;
    mpfr_init2(value, precision);
    mpfr_set_zero(value, 1);
    if (i >= 0 && i < x->shape[1] && j >= 0 && j < width)
        hc_load_real(value, x, ((n * x->shape[1] + i) * width + j) * channels + c);
    hc_split(value, want);
    mpfr_clear(value);
}

hc_reference hc_reference_col2im;
void hc_reference_col2im(const struct hc_element *e, long precision, struct hc_exact *want)
{
    (void)precision;
    const struct hc_columns *p = &e->call->params.columns;
    const struct hc_tensor *columns = &e->call->in[HC_COL2IM_COLUMNS];
    const struct hc_tensor *dx = &e->call->out[HC_COL2IM_DX];
    int64_t channels = dx->shape[3];
    int64_t c = e->index % channels;
    int64_t j = e->index / channels % dx->shape[2];
    int64_t i = e->index / channels / dx->shape[2] % dx->shape[1];
    int64_t n = e->index / channels / dx->shape[2] / dx->shape[1];
    int64_t down = places(p, dx->shape[1]);
    int64_t across = places(p, dx->shape[2]);
    double sum = 0;
    for (int64_t r = 0; r < p->kernel; r++)
        for (int64_t s = 0; s < p->kernel; s++) {
            int64_t y = i + p->pad - r;
            int64_t z = j + p->pad - s;
            if (y < 0 || y % p->stride != 0 || y / p->stride >= down || z < 0 ||
                z % p->stride != 0 || z / p->stride >= across)
                continue;
            int64_t row = (n * down + y / p->stride) * across + z / p->stride;
            int64_t at = ((row * p->kernel + r) * p->kernel + s) * channels + c;
            sum = hc_round(HC_FP32, sum + hc_tensor_get(columns, at));
        }
    *want = (struct hc_exact){.hi = sum, .magnitude = fabs(sum)};
}
