/* Batch norm over N, H, W for each channel of x [N, H, W, C]; M = N H W elements.

   Arithmetic is fp32. x, y, dy and dx are float; gamma, beta and the statistics are float, each of
   a format of its own (fp32 as a rule). What training saves is fp32 whatever the format of the
   statistics is, as in PyTorch and cuDNN. If x is fp64 everything is. Training and the backward
   pass refuse an empty batch, since no elements have no mean.

   Where a batch is shared among ranks, four more ops do the same in parts, as PyTorch's
   SyncBatchNorm does (v1.13.1, torch/nn/modules/_functions.py): each rank takes bn_moments of its
   own x; what all ranks have goes through bn_combine, and its mean and variance to bn_infer, which
   normalises. Backward, bn_bwd_sums gives each rank's two sums; their sums over ranks, divided by
   the number of elements on all ranks, go to bn_bwd_apply. */
#ifndef HC_OP_NORM_H
#define HC_OP_NORM_H

#include <stdbool.h>

#include "num/format.h"
#include "op/op.h"

/* bn_train, bn_infer
     x               float or fp64
     gamma, beta     [C]
     mean, variance  [C]: the running statistics
     y               float
   and of bn_train alone
     saved_mean      [C], fp32: of the batch
     saved_invstd    [C], fp32: of the batch
     new_mean        [C]: the running mean; may be mean itself
     new_variance    [C]: the running variance; may be variance itself

       mean, var = sum x / M, sum (x - mean)^2 / M          (two passes, biased)
       invstd = 1 / sqrt(var + eps)
       y = (x - mean) * invstd * gamma + beta               (a backend may fold invstd * gamma)
       running = (1 - momentum) * running + momentum * batch

   In the last line the batch's variance is the unbiased one, var * M / (M - 1) (var if M = 1). In
   fp32 it is computed in this order, or as r + momentum * (batch - r), as halfcheck's own backends
   do; where r is infinite it is infinite or NaN.
   bn_infer: the same y from the running statistics.
   bn_leaky_train, bn_leaky_infer: the same result z, then y = leaky_relu(z). z is rounded into y's
   format first; that rounding is part of the contract. */
enum { HC_BN_X, HC_BN_GAMMA, HC_BN_BETA, HC_BN_MEAN, HC_BN_VARIANCE };
enum { HC_BN_Y, HC_BN_SAVED_MEAN, HC_BN_SAVED_INVSTD, HC_BN_NEW_MEAN, HC_BN_NEW_VARIANCE };

/* bn_bwd
     x             float or fp64
     dy            float
     gamma         [C]
     mean, invstd  [C]: what training saved
     dx            float
     dgamma        [C]
     dbeta         [C]

       xhat = (x - mean) * invstd
       dbeta = sum dy
       dgamma = sum dy * xhat
       dx = gamma * invstd * (dy - dbeta / M - xhat * dgamma / M)

   bn_leaky_bwd has one more input, y, the output of the forward pass; dy has y's format. It gives
   bn_bwd's results on dz = leaky_relu_bwd(y, dy), which is rounded into dy's format. */
enum { HC_BN_BWD_X, HC_BN_BWD_DY, HC_BN_BWD_GAMMA, HC_BN_BWD_MEAN, HC_BN_BWD_INVSTD };
enum {
    HC_BN_LEAKY_BWD_X,
    HC_BN_LEAKY_BWD_Y,
    HC_BN_LEAKY_BWD_DY,
    HC_BN_LEAKY_BWD_GAMMA,
    HC_BN_LEAKY_BWD_MEAN,
    HC_BN_LEAKY_BWD_INVSTD
};
enum { HC_BN_BWD_DX, HC_BN_BWD_DGAMMA, HC_BN_BWD_DBETA }; /* of both */

/* bn_moments: what one rank knows of the mean and the variance.
     x          float or fp64
     mean       [C], fp32
     variance   [C], fp32
   as bn_train's mean and var, before anything is made of them. */
enum { HC_BN_MOMENTS_X };
enum { HC_BN_MOMENTS_MEAN, HC_BN_MOMENTS_VARIANCE };

/* bn_combine: the statistics of all ranks' elements from those of each rank.
     means, variances  [R, C], float or fp64: row r is rank r's, of bn_moments; 1 <= R
     counts            [R], i32: how many elements rank r has, not negative
     mean, variance    [C]: the running statistics
     saved_mean        [C], fp32: of all elements
     saved_variance    [C], fp32: of all elements, biased
     saved_invstd      [C], fp32
     new_mean          [C]: the running mean; may be mean itself
     new_variance      [C]: the running variance; may be variance itself

       M = sum n_r                                          (n_r the counts)
       mean = sum n_r / M * mean_r
       var = sum n_r / M * (var_r + (mean_r - mean)^2)
       invstd = 1 / sqrt(var + eps)
       running = as bn_train has it, with var * M / (M - 1)

   A rank without elements is passed over, whatever its moments are. The sums may be taken in any
   order, and the division by M may come last; variances are not negative. If M is 0 the mean and
   the variance are sums over nothing, which are 0. An infinite mean_r makes an infinite mean and a
   variance that is NaN; ranks that come one by one (Welford, Chan) may make NaN of the mean and
   infinity of the variance, which is as right in any order. */
enum {
    HC_BN_COMBINE_MEANS,
    HC_BN_COMBINE_VARIANCES,
    HC_BN_COMBINE_COUNTS,
    HC_BN_COMBINE_MEAN,
    HC_BN_COMBINE_VARIANCE
};
enum {
    HC_BN_COMBINE_SAVED_MEAN,
    HC_BN_COMBINE_SAVED_VARIANCE,
    HC_BN_COMBINE_SAVED_INVSTD,
    HC_BN_COMBINE_NEW_MEAN,
    HC_BN_COMBINE_NEW_VARIANCE
};

/* bn_bwd_sums: bn_bwd's dgamma and dbeta alone, of one rank's elements.
     x             float or fp64
     dy            float
     mean, invstd  [C]: of all elements
     dgamma        [C], fp32
     dbeta         [C], fp32 */
enum { HC_BN_BWD_SUMS_X, HC_BN_BWD_SUMS_DY, HC_BN_BWD_SUMS_MEAN, HC_BN_BWD_SUMS_INVSTD };
enum { HC_BN_BWD_SUMS_DGAMMA, HC_BN_BWD_SUMS_DBETA };

/* bn_bwd_apply: bn_bwd's dx from the means over all ranks.
     x             float or fp64
     dy            float
     gamma         [C]
     mean, invstd  [C]: of all elements
     mean_dgamma   [C]: dgamma, summed over all ranks and divided by M
     mean_dbeta    [C]
     dx            float

       dx = gamma * invstd * (dy - mean_dbeta - xhat * mean_dgamma) */
enum {
    HC_BN_BWD_APPLY_X,
    HC_BN_BWD_APPLY_DY,
    HC_BN_BWD_APPLY_GAMMA,
    HC_BN_BWD_APPLY_MEAN,
    HC_BN_BWD_APPLY_INVSTD,
    HC_BN_BWD_APPLY_MEAN_DGAMMA,
    HC_BN_BWD_APPLY_MEAN_DBETA
};
enum { HC_BN_BWD_APPLY_DX };

struct hc_bn {
    double eps;
    double momentum;
    double slope;  /* of the bn_leaky ops alone */
    bool as_given; /* op/call.h */
};

/* eps, momentum or slope as the call takes them. */
static inline double hc_bn_number(const struct hc_bn *bn, double number)
{
    return hc_single(number, bn->as_given);
}

/* The slots in code that is generic over the gradients: bn_bwd, bn_leaky_bwd, bn_bwd_sums and
   bn_bwd_apply. -1 is a slot that the op does not have. */
struct hc_bn_bwd_slots {
    int x, y, dy, gamma, mean, invstd;
    int dx, dgamma, dbeta; /* outputs */
};

const struct hc_bn_bwd_slots *hc_bn_bwd_slots(enum hc_op op);

#endif
