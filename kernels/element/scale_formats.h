/* What the scale rules know of formats, as data that a device kernel can be given. */
#ifndef HC_KERNELS_ELEMENT_SCALE_FORMATS_H
#define HC_KERNELS_ELEMENT_SCALE_FORMATS_H

#include <math.h>

#include "num/format.h"
#include "num/inline.h"

/* fp32's largest number, which is no macro of device code's headers. */
#define HC_FP32_MAX 0x1.fffffep127F

struct hc_scale_formats {
    float max;       /* M, the largest number of the codes' format */
    int emax;        /* its exponent */
    int precision;   /* significand bits of the codes' format with the hidden one */
    float input_max; /* the largest number of x's format */
};

/* The largest number of a format that ends below fp32. e4m3 and ue4m3 lack the one above 448. */
HC_INLINE float hc_scale_largest(const struct hc_format_info *f)
{
    float last = ldexpf(f->special == HC_SPECIAL_FN ? 2.0F : 1.0F, 1 - f->precision);
    return ldexpf(2 - last, f->emax);
}

HC_INLINE struct hc_scale_formats hc_scale_formats_of(const struct hc_format_info *codes,
                                                      const struct hc_format_info *x)
{
    struct hc_scale_formats f;
    f.max = hc_scale_largest(codes);
    f.emax = codes->emax;
    f.precision = codes->precision;
    f.input_max = hc_scale_largest(x);
    return f;
}

#endif
