/* Ranks that go wrong: one of them hears something else than was said, works on something else, or
   computes otherwise. Every rank by itself looks sound. Rank 1 is the wrong one where one is. */
#include <stdlib.h>
#include <string.h>

#include "check/ranks.h"
#include "check/selftest/change.h"

#define CLASS HC_FAULT_RANKS

enum { WRONG = 1 };

/* Parts of a sum, and results of it, are longer than the number on which ranks agree. */
static bool is_agreement(size_t bytes)
{
    return bytes == sizeof(double);
}

static void is_lost(const struct hc_comm *comm, int from, void *data, size_t bytes)
{
    (void)comm;
    if (from == WRONG && !is_agreement(bytes))
        memset(data, 0, bytes);
}

/* Of fp32; what 16-bit numbers become is wrong in another way. */
static void comes_twice(const struct hc_comm *comm, int from, void *data, size_t bytes)
{
    (void)comm;
    for (size_t i = 0; from == WRONG && !is_agreement(bytes) && i + sizeof(float) <= bytes;
         i += sizeof(float)) {
        float x;
        memcpy(&x, (char *)data + i, sizeof x);
        x *= 2;
        memcpy((char *)data + i, &x, sizeof x);
    }
}

static void hears_no_number(const struct hc_comm *comm, int from, void *data, size_t bytes)
{
    (void)from;
    if (comm->rank == WRONG && is_agreement(bytes))
        memset(data, 0, bytes);
}

static void hears_itself(const struct hc_comm *comm, void *all, size_t bytes)
{
    for (int r = 0; r < comm->size && comm->rank == WRONG; r++)
        memmove((char *)all + (size_t)r * bytes, (char *)all + (size_t)WRONG * bytes, bytes);
}

static void left_out(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.received = is_lost};
    hc_ranks_wire(faulty, &wire);
}

static void counted_twice(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.received = comes_twice};
    hc_ranks_wire(faulty, &wire);
}

static void deaf(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.received = hears_no_number, .gathered = hears_itself};
    hc_ranks_wire(faulty, &wire);
}

/* The vector of a single half is not divided, since a kernel takes them in pairs. */
static enum hc_status one_half_undivided(const struct hc_fault_site *site, struct hc_queue *queue,
                                         const struct hc_call *call)
{
    struct hc_call changed = *call;
    if (call->in[HC_ALL_REDUCE_X].format == HC_FP16 &&
        hc_tensor_count(&call->out[HC_ALL_REDUCE_OUT]) == 1)
        changed.params.all_reduce.after = 1;
    return site->right(queue, &changed);
}

static const struct hc_fault faults[] = {
    {"rank-left-out", "what one rank adds to a sum is lost on its way", CLASS, "all_reduce",
     "order/average-over-ranks ranks/sums-in-bf16", .rebuild = left_out},
    {"rank-counted-twice", "a bucket of one rank is added twice", CLASS, "all_reduce",
     "ranks/sums-in-bf16 ranks/layers-fp32", .rebuild = counted_twice, .place = HC_PLACE_HOST},
    {"rank-deaf", "a rank hears of no infinity but its own", CLASS, "unscale",
     "order/ranks-disagree", .rebuild = deaf},
    /* horovod/horovod PR 2375 */
    {"all-reduce-one-half", "an average of a single half is not divided", CLASS, "all_reduce",
     "order/average-over-ranks", .wrong = one_half_undivided, .place = HC_PLACE_HOST},
};

HC_FAULTS(ranks, faults);
