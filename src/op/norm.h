/* Batch norm over N, H, W for each channel of x [N, H, W, C]; M = N H W elements.

   Arithmetic is fp32. x, y, dy and dx are float; gamma, beta and the statistics are float, each of
   a format of its own (fp32 as a rule). What training saves is fp32 whatever the format of the
   statistics is, as in PyTorch and cuDNN. If x is fp64 everything is. Training and the backward
   pass refuse an empty batch, since no elements have no mean. */
#ifndef HC_OP_NORM_H
#define HC_OP_NORM_H

#include <stdbool.h>

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

struct hc_bn {
    double eps;
    double momentum;
    double slope; /* of the bn_leaky ops alone */

    /* References and bounds take the three as they are, not as fp32: for results in fp64 that
       others have computed. Kernels do not look at it. */
    bool as_given;
};

/* eps, momentum or slope as the call takes them. */
static inline double hc_bn_number(const struct hc_bn *bn, double number)
{
    return bn->as_given ? number : (double)(float)number;
}

/* The inputs' slots in code that is generic over bn_bwd and bn_leaky_bwd; y is -1 in bn_bwd. */
struct hc_bn_bwd_slots {
    int x, y, dy, gamma, mean, invstd;
};

const struct hc_bn_bwd_slots *hc_bn_bwd_slots(enum hc_op op);

#endif
