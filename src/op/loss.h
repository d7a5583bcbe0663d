/* Slots of softmax cross-entropy. */
#ifndef HC_OP_LOSS_H
#define HC_OP_LOSS_H

/* xent and xent_bwd, which alone has UPSTREAM, the gradient of the loss. */
enum { HC_XENT_LOGITS, HC_XENT_LABELS, HC_XENT_UPSTREAM };
enum { HC_XENT_LOSS, HC_XENT_CORRECT };
enum { HC_XENT_DLOGITS }; /* of xent_bwd */

#endif
