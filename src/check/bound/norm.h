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

/* The error of element e of bn_train or bn_leaky_train whose channel has these moments and so many
   elements. */
double hc_bound_of_moments(const struct hc_element *e, struct hc_bound_moments m, int64_t elements);

/* variance M / (M - 1), or variance where M is 1 */
struct hc_ball hc_bound_unbiased(enum hc_format f, struct hc_ball variance, int64_t m);

/* The error of r + momentum (batch - r), or of (1 - momentum) r + momentum batch. */
double hc_bound_blended(enum hc_format f, const struct hc_tensor *running, int64_t c,
                        struct hc_ball batch, double momentum);

/* The same two, and 1 / sqrt(variance + eps), in any order (norm_any_order.c). */
struct hc_ball hc_bound_any_unbiased(enum hc_format f, struct hc_ball variance, int64_t m);
double hc_bound_any_blended(enum hc_format f, const struct hc_tensor *running, int64_t c,
                            struct hc_ball batch, double momentum);
struct hc_ball hc_bound_any_inverse_root(enum hc_format f, struct hc_ball variance, double eps);

/* 1 / sqrt(variance + eps) */
struct hc_ball hc_bound_inverse_root(enum hc_format f, struct hc_ball variance, double eps);

/* The error of leaky_relu after z, without the last rounding into the output. */
double hc_bound_leaked(const struct hc_call *call, struct hc_ball z);

#endif
