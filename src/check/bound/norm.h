/* What the bounds of batch norm share: of its forward pass in the stated order (norm.c) and in any
   (norm_any_order.c), and of its backward pass. */
#ifndef HC_CHECK_BOUND_NORM_H
#define HC_CHECK_BOUND_NORM_H

#include "check/bound/kept.h"
#include "check/bound/rules.h"

struct hc_bound_moments {
    struct hc_ball mean;
    struct hc_ball variance;
};

/* The moments of channel c, in two passes. */
struct hc_bound_moments hc_bound_channel(enum hc_format f, const struct hc_tensor *x, int64_t c);

/* Those of a channel that has elements, in any order of the field's algorithms. */
struct hc_bound_moments hc_bound_any_channel(enum hc_format f, const struct hc_tensor *x,
                                             int64_t c);

/* What batch norm makes of a channel's moments: in two passes and the stated order (norm.c), or in
   any order (norm_any_order.c). */
struct hc_bound_norm {
    /* 1 / sqrt(variance + eps) */
    struct hc_ball (*inverse_root)(enum hc_format f, struct hc_ball variance, double eps);

    /* (x - mean) invstd gamma + beta, of element e and channel c */
    struct hc_ball (*normalized)(const struct hc_element *e, int64_t c, struct hc_ball mean,
                                 struct hc_ball invstd);

    /* The error of r + momentum (batch - r), or of (1 - momentum) r + momentum batch. */
    double (*blended)(enum hc_format f, const struct hc_tensor *running, int64_t c,
                      struct hc_ball batch, double momentum);

    /* variance M / (M - 1), or variance where M is 1 */
    struct hc_ball (*unbiased)(enum hc_format f, struct hc_ball variance, int64_t m);
};
extern const struct hc_bound_norm hc_bound_norm_stated;
extern const struct hc_bound_norm hc_bound_norm_any;

/* The error of element e of bn_train or bn_leaky_train whose channel has these moments and so many
   elements. */
double hc_bound_of_moments(const struct hc_element *e, const struct hc_bound_norm *by,
                           struct hc_bound_moments m, int64_t elements);

/* The error of element e of bn_infer or bn_leaky_infer. */
double hc_bound_of_infer(const struct hc_element *e, const struct hc_bound_norm *by);

#endif
