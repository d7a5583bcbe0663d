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

/* What rank 1 said last, when it said as much. Only rank 0 keeps it. */
static void is_late(const struct hc_comm *comm, int from, void *data, size_t bytes)
{
    static char *kept;
    static size_t kept_bytes;
    if (comm->rank != 0 || from != WRONG || is_agreement(bytes))
        return;
    char *new = malloc(bytes + 1);
    if (!new)
        abort();
    memcpy(new, data, bytes);
    if (kept_bytes == bytes)
        memcpy(data, kept, bytes);
    free(kept);
    kept = new;
    kept_bytes = bytes;
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

/* Weights are longer than counts and totals. */
static void hears_another_bit(const struct hc_comm *comm, int root, void *data, size_t bytes)
{
    (void)root;
    if (comm->rank == WRONG && bytes > 200)
        *(unsigned char *)data ^= 1;
}

static uint64_t draws_otherwise(const struct hc_comm *comm, uint64_t seed)
{
    return comm->rank == WRONG ? seed + 1 : seed;
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

static void stale(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.received = is_late};
    hc_ranks_wire(faulty, &wire);
}

static void deaf(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.received = hears_no_number, .gathered = hears_itself};
    hc_ranks_wire(faulty, &wire);
}

static void other_start(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.announced = hears_another_bit};
    hc_ranks_wire(faulty, &wire);
}

static void other_images(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.seed = draws_otherwise};
    hc_ranks_wire(faulty, &wire);
}

/* The optimizer leaves another weight on rank 1. */
static enum hc_status other_weight(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *w = &call->out[HC_FIRST];
    if (status == HC_OK && hc_check_rank() == WRONG && hc_tensor_count(w) > 0)
        hc_tensor_set_bits(w, 0, hc_tensor_bits(w, 0) ^ 1);
    return status;
}

/* Each rank takes the mean over one image less than it has. */
static enum hc_status other_count(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *dx = &call->out[HC_FIRST];
    double rows = (double)dx->shape[0];
    for (int64_t i = 0;
         status == HC_OK && hc_check_rank() >= 0 && rows > 1 && i < hc_tensor_count(dx); i++)
        hc_tensor_set(dx, i, hc_tensor_get(dx, i) * rows / (rows - 1));
    return status;
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
     "order/average-over-ranks ranks/sums-in-bf16 ranks/same-bits-fp32", .rebuild = left_out},
    {"rank-counted-twice", "a bucket of one rank is added twice", CLASS, "all_reduce",
     "ranks/layers-fp32 ranks/sums-in-bf16 ranks/same-bits-amp", .rebuild = counted_twice,
     .place = HC_PLACE_HOST},
    {"rank-stale", "what a rank adds to a sum is its bucket of the step before", CLASS,
     "all_reduce", "ranks/same-bits-fp32", .rebuild = stale, .place = HC_PLACE_HOST},
    {"rank-deaf", "a rank hears of no infinity but its own", CLASS, "unscale",
     "ranks/one-finds order/ranks-disagree", .rebuild = deaf},
    {"rank-other-start", "a rank begins with another weight than the first one announced", CLASS,
     "*", "ranks/same-bits-fp32", .rebuild = other_start},
    {"rank-other-images", "a rank draws its images in another order, so that some come twice",
     CLASS, "*", "ranks/same-bits-fp32", .rebuild = other_images, .place = HC_PLACE_HOST},
    {"rank-other-weight", "the optimizer of one rank rounds a weight otherwise", CLASS,
     "sgd adam adamw", "ranks/same-bits-amp ranks/stay-together", .wrong = other_weight,
     .place = HC_PLACE_HOST},
    {"rank-other-count", "each rank divides its gradients by one image less", CLASS, "xent_bwd",
     "ranks/same-bits-fp32", .wrong = other_count},
    /* horovod/horovod PR 2375 */
    {"all-reduce-one-half", "an average of a single half is not divided", CLASS, "all_reduce",
     "order/average-over-ranks", .wrong = one_half_undivided, .place = HC_PLACE_HOST},
};

HC_FAULTS(ranks, faults);
