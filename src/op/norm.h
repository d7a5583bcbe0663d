/* Slots of the batch norms. */
#ifndef HC_OP_NORM_H
#define HC_OP_NORM_H

#include "op/op.h"

/* bn_train, bn_leaky_train, bn_infer, bn_leaky_infer. MEAN and VARIANCE are the running
   statistics; inference has Y alone as its output. */
enum { HC_BN_X, HC_BN_GAMMA, HC_BN_BETA, HC_BN_MEAN, HC_BN_VARIANCE };
enum { HC_BN_Y, HC_BN_SAVED_MEAN, HC_BN_SAVED_INVSTD, HC_BN_NEW_MEAN, HC_BN_NEW_VARIANCE };

/* MEAN and INVSTD are what training has saved. */
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

/* The inputs' slots in code that is generic over bn_bwd and bn_leaky_bwd; y is -1 in bn_bwd. */
struct hc_bn_bwd_slots {
    int x, y, dy, gamma, mean, invstd;
};

const struct hc_bn_bwd_slots *hc_bn_bwd_slots(enum hc_op op);

#endif
