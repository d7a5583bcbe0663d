/* The largest error that an op's contract allows one output element.

   A tolerance that is chosen ("1e-3 for half") passes wrong kernels on some inputs and fails right
   ones on others. These bounds are derived: from the formats, the length of the sum, the
   accumulator's model (struct hc_accumulator) and the conditioning of this very element, for which
   the reference gives the sum of its terms' magnitudes. Each file in this folder has the proof
   beside the formula:
     sum.c    sums of products, in any order, in fp32 or in a matrix unit; gemm.c  of gemm,
              and of codes with their scales
     any_order.c  formulas in any order, for backends that are not held to the contract's, and
                  convolutions whose padding is a zero that is multiplied
     order.c  sums whose order the contract states: only one result is right
     all_reduce.c  averages over ranks, in the stated order and in any
     ball.c   running error analysis, for everything that is a formula of several roundings:
              norm.c, loss.c, optimizer.c
   bound.c adds the last rounding. An op without a rule is one rounding of the real value (or two,
   through fp32), and has no bound but bits.

   A bound is the worst case over all orders and all roundings that the contract allows. Random
   roundings come to far less in long sums; line.h has a second, probable line inside the bound. */
#ifndef HC_CHECK_BOUND_BOUND_H
#define HC_CHECK_BOUND_BOUND_H

#include <stdbool.h>

#include "backend.h"
#include "reference.h"

/* The largest |got - real| that the contract allows: an absolute error that includes the last
   rounding into the output's format. It is infinite where the contract allows anything, because an
   intermediate result may leave the working format's range. A result that is NaN or infinite by
   definition has bound 0, unless finite terms alone may overflow. */
double hc_bound(const struct hc_element *e, const struct hc_accumulator *accumulator,
                const struct hc_exact *want);

/* Whether the call sums products that a matrix unit may sum: fp32 goes through the ordinary
   arithmetic, unless it may be taken as tf32. */
bool hc_bound_in_unit(const struct hc_call *call);

/* |computed sum - real sum| <= growth * S for n additions in that accumulator, in any order, where
   S is the sum of the terms' magnitudes (sum.c). */
double hc_bound_growth(const struct hc_accumulator *accumulator, double n);

/* How far the statistics that bn_bwd or bn_leaky_bwd was given may lie from those that were used:
   of each channel, as an absolute error. */
struct hc_strayed {
    const double *mean;
    const double *invstd;
};

/* The bound if the call has the real mean and invstd of x, but the kernel under test used its own,
   as bn_train may compute them, and did not give them. */
double hc_bound_strayed(const struct hc_element *e, const struct hc_strayed *strayed,
                        const struct hc_exact *want);

/* The bound on bn_train or bn_leaky_train of a batch that ranks share: rank r has rows[r] of x's
   rows, in order, and the ops bn_moments, bn_combine and bn_infer do the work (op/norm.h). It is a
   little more than the bound of the whole batch on one rank; `any`: in any order. The gradients'
   bound is that of bn_bwd whoever takes the sums, which are sums in some order. */
double hc_bound_shared(const struct hc_element *e, const int64_t *rows, int ranks, bool any,
                       const struct hc_exact *want);

/* Whether the contract states the result as one or two roundings of the real value; then *bits are
   the only right ones, and the bound is what these roundings amount to. */
bool hc_bound_bits(const struct hc_element *e, const struct hc_exact *want, uint64_t *bits);

/* The same two for a backend of free order (struct hc_backend). The contract states an order of
   roundings for many formulas: optimizers, 16-bit accumulators, batch norm. A right kernel may
   evaluate the same formula in another order, fuse its operations, or use finer arithmetic.
   hc_bound_any_order holds for all of these; *bits are the only right ones where even so all right
   results round to the same number. Coefficients that depend on parameters alone are still computed
   in fp64, sums are still sums of the formula's own terms (a softmax subtracts the largest logit
   first, a variance is taken in two passes, by Welford's or Chan's formulas, or shifted by the
   channel's first element), and stored state is still rounded last. */
double hc_bound_any_order(const struct hc_element *e, const struct hc_accumulator *accumulator,
                          const struct hc_exact *want);
bool hc_bound_any_order_bits(const struct hc_element *e, const struct hc_exact *want,
                             uint64_t *bits);

/* Whether results of the op may differ in their bits by the order alone. */
bool hc_bound_any_order_differs(enum hc_op op);

/* Whether `exact` defines that output's bits for it, too: it is the real value, rounded once. */
bool hc_bound_any_order_ordered(const struct hc_call *call, int out);

/* The same for inputs whose sums are not rounded before their end (HC_INPUTS_WHOLE), where the
   result needs nothing but a sum and perhaps a division of it. False where the accumulator has
   fewer bits than the contract's, which such sums fill. */
bool hc_bound_whole(const struct hc_call *call, const struct hc_accumulator *accumulator, int out,
                    const struct hc_exact *want, uint64_t *bits);

/* Whether `exact` defines the bits: the contract states every rounding and its order. */
bool hc_bound_ordered(const struct hc_call *call);

/* |got - want| as the bounds mean it. An infinity counts as the next number that the format would
   have if its exponents went on, or as want if that is larger. NaN equals only NaN. A result that
   is infinite by definition must be that infinity. +0 equals -0. */
double hc_bound_error(enum hc_format format, const struct hc_exact *want, double got);

/* The same for a backend of free order. It is also 0 if the definition gives an infinity or NaN,
   and another order of the same operation gives `got` (norm_ranks.c). */
double hc_bound_error_any_order(const struct hc_element *e, const struct hc_exact *want,
                                double got);

#endif
