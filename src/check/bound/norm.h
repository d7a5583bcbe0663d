/* What the two bounds of batch norm's forward pass share (norm.c, norm_any_order.c). */
#ifndef HC_CHECK_BOUND_NORM_H
#define HC_CHECK_BOUND_NORM_H

#include "check/bound/rules.h"

struct hc_bound_moments {
    struct hc_ball mean;
    struct hc_ball variance;
};

/* Of channel c, in two passes. */
struct hc_bound_moments hc_bound_channel(enum hc_format f, const struct hc_tensor *x, int64_t c);

/* 1 / sqrt(variance + eps) */
struct hc_ball hc_bound_inverse_root(enum hc_format f, struct hc_ball variance, double eps);

/* The error of leaky_relu after z, without the last rounding into the output. */
double hc_bound_leaked(const struct hc_call *call, struct hc_ball z);

#endif
