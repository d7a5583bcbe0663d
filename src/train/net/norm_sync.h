/* Batch norm over the batches of all ranks.

   A call of bn_train or bn_bwd, with leaky ReLU or without, is run in parts (op/norm.h): each rank
   takes its own moments or sums, these go round once, and each rank finishes its own batch with
   what all have. That is PyTorch's SyncBatchNorm (v1.13.1, torch/nn/modules/_functions.py), but for
   two things: ranks exchange variances, where PyTorch exchanges 1 / sqrt(variance + eps) and takes
   the variance back out of it; and the sums of the gradient are added in the fixed tree of
   op/collective.h, so that all ranks have the same bits and every run has them, too.

   dgamma and dbeta stay sums over the rank's own batch, as PyTorch's do: whoever averages the
   gradients of a run averages these with them. */
#ifndef HC_TRAIN_NET_NORM_SYNC_H
#define HC_TRAIN_NET_NORM_SYNC_H

#include "comm/comm.h"
#include "train/net/device.h"

struct hc_norm_sync;

/* What the calls may have at most. */
struct hc_norm_sync_size {
    int64_t channels;
    int64_t elements;      /* of x */
    enum hc_format format; /* of x and dy */
};

/* Allocates all that the calls below need. HC_NO_MEMORY. */
enum hc_status hc_norm_sync_open(struct hc_norm_sync **sync, struct hc_device *device,
                                 struct hc_comm *comm, const struct hc_norm_sync_size *size);
void hc_norm_sync_close(struct hc_norm_sync *sync); /* NULL is fine */

/* Collective. The call `norm` of bn_train or bn_leaky_train, whose saved statistics become those of
   all ranks' elements; *elements is how many these are. */
enum hc_status hc_norm_sync_train(struct hc_norm_sync *sync, const struct hc_call *norm,
                                  int64_t *elements);

/* Collective. The call of bn_bwd or bn_leaky_bwd that belongs to it. */
enum hc_status hc_norm_sync_bwd(struct hc_norm_sync *sync, const struct hc_call *norm,
                                int64_t elements);

#endif
