/* Elementwise ops. Every element of the output depends on one element of each input, so that every
   backend gives the same bits, and the output may be an input's tensor.

   "Float" is any of fp32, bf16 and fp16. round(...) rounds to nearest even into the output's
   format; "fp32:" before an expression says that each of its operations is first rounded to
   fp32. */
#ifndef HC_OP_ELEMENTWISE_H
#define HC_OP_ELEMENTWISE_H

#include <stdbool.h>

#include "num/format.h"

/* cast, add, sub, mul, div, sqrt, fma, axpy, and code that is generic over the family.

   add, sub, mul, div, sqrt, fma: the real result on the inputs' values, rounded once to nearest.
     x, y, z   operands: float or fp64, all of one format
     out       the same format */
enum { HC_X, HC_Y, HC_Z };
enum { HC_OUT };

/* cast: out = x rounded in `direction`.
     x, out    any two formats but u8
   NaN becomes NaN. A number too large for e4m3, which has no infinity, becomes NaN, and so do
   infinities: this is OCP's non-saturating mode. In e5m2, fp16 and bf16 it becomes infinite. Toward
   zero, and for a negative number upward or a positive one downward, a finite number that is too
   large becomes the largest number with its sign, in every format, as in IEEE 754; an infinity
   becomes what it becomes by rounding to nearest. With `saturate` what is too large, and
   infinity, become the largest number with their sign, in every direction, and NaN stays NaN: OCP's
   saturating mode, which is CUDA's __NV_SATFINITE. What is too large is decided after rounding.
   Formats without NaN, without a sign or without a zero take them as enum hc_special
   (num/format.h) says. Integers always saturate, and NaN becomes 0. */
struct hc_cast {
    enum hc_direction direction;
    bool saturate; /* of floats */
};

/* axpy: out = round(fp32: fma(alpha, x, y)).
     x, y, out  float
   alpha is taken as fp32. */
struct hc_axpy {
    double alpha;
};

/* scale: out = round(fp32: x * s), with s on the device.
     x, out    float
     s         fp32 [1] */
enum { HC_SCALE_X, HC_SCALE_S };
enum { HC_SCALE_OUT };

/* unscale: divides gradients by the loss scale and says whether any of them overflowed.
     x              gradients: float
     scale          fp32 [1]
     found_inf      fp32 [1], optional (0): not 0 after an overflow that was seen earlier
     override       fp32, as many as x, optional; it may be out itself
     out            float; fp32 if there is an override
     new_found_inf  fp32 [1]: 1 if found_inf is not 0 or any x is infinite or NaN, else 0. x is
                    looked at before the division. It may be found_inf itself, except with an
                    override.
   out = round(fp32: x / scale), or with `reciprocal` round(fp32: x * r), where r = 1 / scale in
   fp64, rounded to fp32 (PyTorch's GradScaler). If found_inf is not 0 and there is an override, out
   is a copy of it instead. This models fastai 1.0.61, which skips copying the gradients after an
   overflow. */
enum { HC_UNSCALE_X, HC_UNSCALE_SCALE, HC_UNSCALE_FOUND_INF, HC_UNSCALE_OVERRIDE };
enum { HC_UNSCALE_OUT, HC_UNSCALE_NEW_FOUND_INF };

struct hc_unscale {
    bool reciprocal;
};

/* leaky_relu: y = x if x > 0, else round(fp32: slope * x). NaN stays NaN.
     x, y      float, or all fp64 */
enum { HC_LEAKY_X };
enum { HC_LEAKY_Y };

/* leaky_relu_bwd: dx = dy if y > 0, else round(fp32: slope * dy). y is the forward pass's output,
   whose sign is x's.
     y, dy, dx  float or fp64, all of one format */
enum { HC_LEAKY_BWD_Y, HC_LEAKY_BWD_DY };
enum { HC_LEAKY_BWD_DX };

struct hc_leaky {
    double slope;
    bool as_given; /* op/call.h */
};

/* master_to_model: copy = master rounded to nearest.
     master    fp32
     copy      float */
enum { HC_MODEL_MASTER };
enum { HC_MODEL_COPY };

#endif
