/* Softmax cross-entropy over a batch of N rows and C classes.
     logits    [N, C]: float or fp64
     labels    [N]: i32, 0 to C - 1

   xent
     loss      [1]: fp32 (fp64 if the logits are)
     correct   [1]: fp32 (fp64 if the logits are), optional
   loss = the mean over the rows (their sum, with `sum`) of
   log(sum_j exp(z_j - max z)) - (z_label - max z), in fp32, with exp and log good to 2 ulp. The
   mean is the rows' sum divided by N once; the rows are not divided each. N = 0 is refused.
   correct = how many rows have their largest logit at the label: z_label is no NaN, nothing in the
   row is larger, and nothing before it is equal.

   xent_bwd
     upstream  [1]: fp32 (fp64 if the logits are), the gradient of the loss; in training, its scale
     dlogits   [N, C]: float
   dlogits = round(fp32: (softmax - onehot) * upstream / N), with `sum` without the N. */
#ifndef HC_OP_LOSS_H
#define HC_OP_LOSS_H

#include <stdbool.h>

enum { HC_XENT_LOGITS, HC_XENT_LABELS, HC_XENT_UPSTREAM };
enum { HC_XENT_LOSS, HC_XENT_CORRECT };
enum { HC_XENT_DLOGITS }; /* of xent_bwd */

struct hc_xent {
    bool sum;
};

#endif
