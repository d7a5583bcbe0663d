/* Arguments of the kernels of ops that definitions say (op/defined.h): the call, which comes first,
   and what op/defined.c reads out of its slots and options. A tensor that an op lacks has no data.
   Arithmetic is fp32 in an order that depends on the shapes alone. */
#ifndef HC_KERNELS_CUDA_KERNEL_DEFINED_H
#define HC_KERNELS_CUDA_KERNEL_DEFINED_H

#include "op/attention.h"

/* defined_alone.c */
struct hc_dk_dropout_bits {
    struct hc_call call;
    int64_t threshold;
    float kept; /* the share of elements: 1 - p */
};

struct hc_dk_embedding_bwd {
    struct hc_call call;
    int64_t padding; /* a row of the table that gets nothing */
};

/* row_norm.c: rms_norm and layer_norm, also those of a sum x + r. */
struct hc_dk_row_norm {
    struct hc_call call;
    struct hc_tensor x, r, w, b;
    struct hc_tensor y, s, mu, rstd;
    float eps, offset;
    bool centred; /* layer_norm */
    bool cast;    /* rounded before it is multiplied by the weight */
    bool stored;  /* the norm sees the sum as it is stored */
};

struct hc_dk_row_norm_bwd {
    struct hc_call call;
    struct hc_tensor dy, ds, x, w, mu, rstd; /* with mu it is layer_norm's */
    struct hc_tensor dx, dw, db;
    float offset;
    bool cast;
};

/* row_softmax.c: softmax and its logarithm. */
struct hc_dk_row_softmax {
    struct hc_call call;
    struct hc_tensor x, mask, y;
    int64_t rows, turn, n; /* row r has row r % turn of the mask */
    float scale, without;  /* what a row is that sees nothing */
    bool causal, log;
};

struct hc_dk_row_softmax_bwd {
    struct hc_call call;
    struct hc_tensor dy, y, dx;
    int64_t rows, n;
    float scale;
    bool log;
};

/* row_loss.c: cross-entropy with options, and that of a product. */
enum { HC_DK_DIVISOR, HC_DK_SHARED_WEIGHT, HC_DK_KEPT, HC_DK_LOSS_SUMS };

struct hc_dk_row_loss {
    struct hc_call call;
    struct hc_tensor target, w; /* w: the classes' weights */
    int64_t rows, classes, ignore, reduction, chunk;
    float smoothing, zeta, cap, total;
    bool empty_is_zero;
    bool stored;   /* logits, and their gradients, are rounded */
    float *sums;   /* HC_DK_LOSS_SUMS of them */
    float *losses; /* of the rows */
    float *logits; /* of a product, and then their gradients */
};

/* row_attention.c */
struct hc_dk_attention {
    struct hc_call call;
    struct hc_attention is; /* its pointers are the host's */
    struct hc_tensor sink, o, lse, dy;
    struct hc_format_info e4m3;
    float *weights; /* of all rows; in the backward pass dS and D lie behind them */
};

#endif
