/* Batch norm over ranks that takes all ranks for as large as its own: right wherever they are. */
#include <stdlib.h>
#include <string.h>

#include "check/ranks.h"
#include "check/selftest/change.h"

/* What this rank's thread heard when moments were exchanged: how many rows all ranks have, and how
   many ranks there are. */
static _Thread_local double rows_of_all;
static _Thread_local double ranks;

/* A letter ends with its rank's number of rows (train/net/norm_sync.c). */
static void counts_rows(const struct hc_comm *comm, void *all, size_t bytes)
{
    rows_of_all = 0;
    ranks = comm->size;
    for (int r = 0; r < comm->size && bytes >= sizeof(int32_t); r++) {
        int32_t rows;
        memcpy(&rows, (char *)all + (size_t)(r + 1) * bytes - sizeof rows, sizeof rows);
        rows_of_all += rows;
    }
}

/* The rows that another rank has are taken for as many as its own. */
static void hears_own_count(const struct hc_comm *comm, void *all, size_t bytes)
{
    char *own = (char *)all + (size_t)(comm->rank + 1) * bytes - sizeof(int32_t);
    for (int r = 0; r < comm->size && bytes >= sizeof(int32_t); r++)
        memmove((char *)all + (size_t)(r + 1) * bytes - sizeof(int32_t), own, sizeof(int32_t));
}

/* The sums over ranks are divided by this rank's rows times the number of ranks. */
static enum hc_status own_rows_times_ranks(const struct hc_fault_site *site, struct hc_queue *queue,
                                           const struct hc_call *call)
{
    static const int slots[] = {HC_BN_BWD_APPLY_MEAN_DGAMMA, HC_BN_BWD_APPLY_MEAN_DBETA};
    struct hc_call bad = *call;
    const struct hc_tensor *x = &call->in[HC_BN_BWD_APPLY_X];
    double rows = (double)(hc_tensor_count(x) / x->shape[x->rank - 1]);
    if (hc_check_rank() < 0 || rows == 0)
        return site->right(queue, call);
    for (int s = 0; s < 2; s++) {
        struct hc_tensor *t = &bad.in[slots[s]];
        t->data = hc_fault_copy(t);
        for (int64_t c = 0; c < hc_tensor_count(t); c++)
            hc_tensor_set(t, c, hc_tensor_get(t, c) * (rows_of_all / (rows * ranks)));
    }
    enum hc_status status = site->right(queue, &bad);
    for (int s = 0; s < 2; s++)
        free(bad.in[slots[s]].data);
    return status;
}

static void listens(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.gathered = counts_rows};
    hc_ranks_wire(faulty, &wire);
}

static void mishears(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.gathered = hears_own_count};
    hc_ranks_wire(faulty, &wire);
}

static const struct hc_fault faults[] = {
    {"ranks-gradient-over-own-rows",
     "the sums of the gradient are divided by a rank's own rows times the number of ranks",
     HC_FAULT_RANKS, "bn_bwd_apply", "batchnorm/ranks-unequal", HC_PLACE_HOST,
     .wrong = own_rows_times_ranks, .rebuild = listens},
    {"ranks-own-count-for-all", "a rank takes its own number of rows for everybody's",
     HC_FAULT_RANKS, "bn_combine", "batchnorm/ranks-unequal", HC_PLACE_HOST, .rebuild = mishears},
};

HC_FAULTS(ranks_unequal, faults);
