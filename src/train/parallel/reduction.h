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

#include "comm/device.h"
#include "train/net/device.h"
#include "train/parallel/wrapper.h"

/* Which gradients travel together.

   A bucket is flattened into one vector, in the order of its list, and averaged by one all-reduce.
   What shares a bucket decides where in the vector an element lies, and so in which order a ring
   adds it. */

/* The gradient of one parameter. */
struct hc_gradient {
    enum hc_format format; /* of `data` */
    enum hc_format held;   /* hc_wrapper_held */
    int64_t count;
    int layer; /* of its network's */
    void *data;
};

struct hc_bucket {
    enum hc_format held; /* of all its gradients */
    int first;           /* place in `order` of its first gradient */
    int n;
    int64_t count; /* elements */
};

struct hc_buckets {
    int n;
    struct hc_bucket *bucket; /* in the order in which they are reduced */
    int *order;               /* numbers of gradients, bucket by bucket */
};

/* HC_NO_MEMORY. Gradients without elements are in a bucket too. n may be 0. */
enum hc_status hc_buckets_open(struct hc_buckets *buckets, const struct hc_wrapper *wrapper,
                               const struct hc_gradient *gradients, int n);
void hc_buckets_close(struct hc_buckets *buckets);

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

/* Averages of gradients that lie on GPUs, by NCCL, without a way through host memory.

   That is for recipes with algorithm=library, where each rank has one shard: NCCL adds in an order
   that it states to nobody, and in the format of the sum. The contributions are rounded and divided
   as hc_reduction does it, by ops of the backend (a quotient is rounded into fp32 on its way into
   16 bits). All other orders, which give the bits of the op all_reduce, pass through host
   memory. */

struct hc_on_device;

/* Collective. `gradients` as hc_reduction_open takes them, but `data` is the backend's memory,
   which stays where it is. *made is NULL where gradients must pass through host memory: another
   algorithm, a backend without streams, one rank, several shards a rank, or a rank without NCCL.
   The device and the comm outlive it. */
enum hc_status hc_on_device_open(struct hc_on_device **made, const struct hc_recipe *recipe,
                                 struct hc_comm *comm, int shards, struct hc_device *device,
                                 const struct hc_gradient *gradients, int n);
void hc_on_device_close(struct hc_on_device *r); /* NULL is fine */

/* Collective. The gradients become the averages; the call waits for them. */
enum hc_status hc_on_device_average(struct hc_on_device *r);

#endif
