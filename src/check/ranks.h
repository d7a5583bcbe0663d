/* Ranks in a case: threads of this process that work on one job, as comm/comm.h has them.

   Every fault of a kernel is planted in a backend, and the cases of that backend must catch it.
   Ranks can go wrong without a wrong kernel: what one says to another may be lost, repeated or
   late. Such a fault is planted in the same way, in the wire of the cases that run on the faulty
   backend, so that cases of the sound one run beside it. */
#ifndef HC_CHECK_RANKS_H
#define HC_CHECK_RANKS_H

#include "check/check.h"
#include "comm/comm.h"

/* Runs work(comm, context) on `size` ranks, as hc_comm_threads does. Memory of the check and its
   queue are for one thread at a time, so ranks use their own. */
enum hc_status hc_check_ranks(struct hc_check *check, int size, hc_comm_work *work, void *context);

/* Which rank of such a job this thread is; -1: none. Kernels that are wrong on one rank ask it. */
int hc_check_rank(void);

/* The seed that this rank's training is told; the same on all ranks unless a fault is planted. */
uint64_t hc_check_rank_seed(struct hc_check *check, const struct hc_comm *comm, uint64_t seed);

/* What goes wrong between ranks. Each may be NULL, and is called on the rank that hears. */
struct hc_wire {
    void (*received)(const struct hc_comm *comm, int from, void *data, size_t bytes);
    void (*gathered)(const struct hc_comm *comm, void *all, size_t bytes); /* of each rank */
    void (*announced)(const struct hc_comm *comm, int root, void *data, size_t bytes);
    uint64_t (*seed)(const struct hc_comm *comm, uint64_t seed);
};

/* A fault's `rebuild` calls this: ranks of cases on this backend have that wire from now on. One at
   a time; a fault runs in a process of its own. */
void hc_ranks_wire(const struct hc_backend *backend, const struct hc_wire *wire);

#endif
