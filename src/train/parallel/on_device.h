/* Averages of gradients that lie on GPUs, by NCCL, without a way through host memory.

   That is for recipes with algorithm=library, where each rank has one shard: NCCL adds in an order
   that it states to nobody, and in the format of the sum. The contributions are rounded and divided
   as hc_reduction does it, by ops of the backend (a quotient is rounded into fp32 on its way into
   16 bits). All other orders, which give the bits of the op all_reduce, pass through host
   memory. */
#ifndef HC_TRAIN_PARALLEL_ON_DEVICE_H
#define HC_TRAIN_PARALLEL_ON_DEVICE_H

#include "comm/device.h"
#include "train/net/device.h"
#include "train/parallel/buckets.h"

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
