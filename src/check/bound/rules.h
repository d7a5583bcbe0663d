/* One rule for each op that sums, or whose result is more than two roundings away: its error in the
   working format. */
#ifndef HC_CHECK_BOUND_RULES_H
#define HC_CHECK_BOUND_RULES_H

#include "check/bound/bound.h"
#include "check/bound/ball.h"

/* The error before the result is rounded into the output's format. */
typedef double hc_bound_rule(const struct hc_element *e, const struct hc_accumulator *accumulator,
                             const struct hc_exact *want);

hc_bound_rule hc_bound_sum, hc_bound_dot, hc_bound_sum_squares, hc_bound_gemm, hc_bound_conv,
    hc_bound_pool;
hc_bound_rule hc_bound_bn_train, hc_bound_bn_infer, hc_bound_bn_bwd;
hc_bound_rule hc_bound_bn_moments, hc_bound_bn_combine, hc_bound_bn_bwd_apply;
double hc_bound_bn_bwd_strayed(const struct hc_element *e, const struct hc_strayed *strayed);
hc_bound_rule hc_bound_xent, hc_bound_xent_bwd;
hc_bound_rule hc_bound_sgd, hc_bound_adam;
hc_bound_rule hc_bound_all_reduce, hc_bound_gemm_q;

/* bn_train or bn_leaky_train of a batch that ranks share (bound.h). */
double hc_bound_bn_shared(const struct hc_element *e, const int64_t *rows, int ranks, bool any);

/* Whether bn_combine may give that where the definition gives an infinity or NaN, in any order. */
bool hc_bound_any_combined(const struct hc_element *e, double got);

/* Rules for a backend of free order, where they are wider. */
hc_bound_rule hc_bound_any_sgd, hc_bound_any_adam, hc_bound_any_axpy, hc_bound_any_clip;
hc_bound_rule hc_bound_any_pool, hc_bound_any_pool_bwd, hc_bound_any_conv;
hc_bound_rule hc_bound_any_bn_train, hc_bound_any_bn_infer, hc_bound_any_bn_bwd;
hc_bound_rule hc_bound_any_bn_moments, hc_bound_any_bn_combine, hc_bound_any_bn_bwd_apply;
hc_bound_rule hc_bound_any_xent, hc_bound_any_xent_bwd;

/* Whether the contract states the order of the call's sum and every rounding in it; then *bits are
   the only right ones. */
bool hc_bound_in_order(const struct hc_call *call, uint64_t *bits);

/* The same for an element of all_reduce. */
bool hc_bound_over_ranks(const struct hc_element *e, uint64_t *bits);

/* What the contract's rounding to fp32 may err before the last one, to another format; 0 where
   there is none. */
double hc_bound_rounding_to_fp32(const struct hc_element *e, const struct hc_exact *want);

/* What a matrix unit that flushes may lose beside its roundings, whose relative error is given. */
double hc_bound_flushed(const struct hc_call *call, const struct hc_accumulator *accumulator,
                        double relative);

/* The format of the arithmetic: fp64 where the call is in fp64, else fp32. */
enum hc_format hc_bound_work(const struct hc_call *call);

/* Element i of a tensor, which carries no error. */
struct hc_ball hc_ball_element(const struct hc_tensor *t, int64_t i);

/* Whether an optimizer's step is skipped, because its call says that an overflow was found. */
bool hc_bound_skipped(const struct hc_call *call);

/* The error of w (before it is rounded into its format) or of the compensation c, as
   kernels/element/kahan.h computes them in arithmetic f; u is taken off the weight. w + y is known
   up to y's error, so w rounds to one of the representable numbers in that interval, and so does
   the exact sum. If there is only one, rounding w adds nothing to c's error; otherwise it adds at
   most the distance between the outermost two. */
double hc_bound_compensated(const struct hc_element *e, enum hc_format f, bool want_c,
                            struct hc_ball w, struct hc_ball c, struct hc_ball u);

/* How far a result may be from the real one if parameters that fp32 does not hold are taken as they
   were given (as_given.c). */
double hc_bound_taken_as_given(const struct hc_element *e, const struct hc_exact *want);

#endif
