/* The reduction of a run's gradients: shards' contributions added on this rank, then over ranks.

   A step's gradient is the average over S shards, of which each of R ranks works through S / R, one
   after the other. Each shard's gradients are one contribution of the op all_reduce
   (op/collective.h): rounded into the format of the sum and divided there, if the wrapper divides
   before. A rank adds its own first. With the tree over a power of two of shards a rank both
   together are the one tree over S leaves, so the bits are those of the op over S rows for every
   number of ranks. The other orders add a rank's own one after the other, and their bits depend
   on R. */
#ifndef HC_TRAIN_PARALLEL_REDUCTION_H
#define HC_TRAIN_PARALLEL_REDUCTION_H

#include "train/parallel/buckets.h"

struct hc_comm; /* comm/comm.h */
struct hc_sent; /* comm/all_reduce.h */
struct hc_reduction;

/* `gradients` are those of the network's parameters, in their order; their data is not read yet.
   shards is a multiple of comm->size. Nothing of them is kept but the comm, which outlives the
   reduction. HC_NO_MEMORY. */
enum hc_status hc_reduction_open(struct hc_reduction **reduction, const struct hc_recipe *recipe,
                                 struct hc_comm *comm, int shards,
                                 const struct hc_gradient *gradients, int n);
void hc_reduction_close(struct hc_reduction *reduction); /* NULL is fine */

/* Takes the gradients of this rank's next shard, in host memory: `data` of each is read. A step
   takes shards / comm->size of them. Not collective. */
void hc_reduction_add(struct hc_reduction *reduction, const struct hc_gradient *gradients);

/* Averages over all ranks, bucket by bucket, into `data` of each gradient: the same on all ranks.
   Collective. Ready for the next step's first shard afterwards. What this rank sent is added to
   *sent, if not NULL. */
enum hc_status hc_reduction_finish(struct hc_reduction *reduction,
                                   const struct hc_gradient *gradients, struct hc_sent *sent);

#endif
