/* Ranks that go wrong. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/ranks.h"
#include "check/selftest/change.h"
#include "num/format.h"

/* Ranks that go wrong: one of them hears something else than was said, works on something else, or
   computes otherwise. Every rank by itself looks sound. Rank 1 is the wrong one where one is. */

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

/* Numbers of fp32 come twice; those of 16 bits become wrong in another way. */
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
static void other_weight(const struct hc_call *call)
{
    const struct hc_tensor *w = &call->out[HC_FIRST];
    if (hc_check_rank() == WRONG && hc_tensor_count(w) > 0)
        hc_tensor_set_bits(w, 0, hc_tensor_bits(w, 0) ^ 1);
}

/* Each rank takes the mean over one image less than it has. */
static void other_count(const struct hc_call *call)
{
    const struct hc_tensor *dx = &call->out[HC_FIRST];
    double rows = (double)dx->shape[0];
    for (int64_t i = 0; hc_check_rank() >= 0 && rows > 1 && i < hc_tensor_count(dx); i++)
        hc_tensor_set(dx, i, hc_tensor_get(dx, i) * rows / (rows - 1));
}

/* The vector of a single half is not divided, since a kernel takes them in pairs. */
static void one_half_undivided(struct hc_call *call)
{
    if (call->in[HC_ALL_REDUCE_X].format == HC_FP16 &&
        hc_tensor_count(&call->out[HC_ALL_REDUCE_OUT]) == 1)
        call->params.all_reduce.after = 1;
}

/* Defects of batch norm over ranks: how a rank's moments are taken, weighed and put together, what
   the gradient takes of the other ranks, and what a rank hears of them. */

static void unbiased_moments(const struct hc_call *call)
{
    const struct hc_tensor *variance = &call->out[HC_BN_MOMENTS_VARIANCE];
    double n = hc_call_length(call);
    for (int64_t c = 0; n > 1 && c < hc_tensor_count(variance); c++)
        hc_tensor_set(variance, c, hc_tensor_get(variance, c) * (n / (n - 1)));
}

/* The sound kernel gets the call with other counts. */
static void change_counts(struct hc_call *call, double (*changed)(double count))
{
    const struct hc_tensor *counts = &call->in[HC_BN_COMBINE_COUNTS];
    for (int64_t r = 0; r < hc_tensor_count(counts); r++)
        hc_tensor_set(counts, r, changed(hc_tensor_get(counts, r)));
}

static double one_each(double count)
{
    return count > 0 ? 100 : 0;
}

static double never_none(double count)
{
    return count > 0 ? count : 1;
}

static double in_half(double count)
{
    return hc_round(HC_FP16, count);
}

static void equal_shares(struct hc_call *call)
{
    change_counts(call, one_each);
}

static void empty_rank_counts(struct hc_call *call)
{
    change_counts(call, never_none);
}

static void half_counts(struct hc_call *call)
{
    change_counts(call, in_half);
}

/* Only the variances within ranks are averaged. */
static enum hc_status within_alone(const struct hc_fault_site *site, const struct hc_call *call)
{
    struct hc_call bad = *call;
    struct hc_tensor *means = &bad.in[HC_BN_COMBINE_MEANS];
    const struct hc_tensor *mean = &call->out[HC_BN_COMBINE_SAVED_MEAN];
    const struct hc_tensor *running = &call->out[HC_BN_COMBINE_NEW_MEAN];
    enum hc_status status = hc_right(site, call);
    void *right = hc_fault_copy(mean);
    void *moved = hc_fault_copy(running);
    means->data = hc_fault_copy(means);
    memset(means->data, 0, hc_tensor_bytes(means));
    if (status == HC_OK)
        status = hc_right(site, &bad);
    memcpy(mean->data, right, hc_tensor_bytes(mean));
    memcpy(running->data, moved, hc_tensor_bytes(running));
    free(right);
    free(moved);
    free(means->data);
    return status;
}

static void mean_dgamma_forgotten(struct hc_call *call)
{
    const struct hc_tensor *mean = &call->in[HC_BN_BWD_APPLY_MEAN_DGAMMA];
    memset(mean->data, 0, hc_tensor_bytes(mean));
}

/* The sums of the gradient that a rank hears are half as large. */
static void hears_half(const struct hc_comm *comm, int from, void *data, size_t bytes)
{
    (void)comm;
    (void)from;
    for (size_t i = 0; i + sizeof(float) <= bytes; i += sizeof(float)) {
        float x;
        memcpy(&x, (char *)data + i, sizeof x);
        x /= 2;
        memcpy((char *)data + i, &x, sizeof x);
    }
}

/* Cut off behind 20 bits. */
static double in_20_bits(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);
    return ldexp(trunc(ldexp(fraction, 20)), exponent - 20);
}

/* The sum over a channel of term(i), in 16 lanes of 20 bits. */
static double in_lanes(const struct hc_call *call, int64_t channel,
                       double (*term)(const struct hc_call *call, int64_t i))
{
    enum { LANES = 16 };
    double lane[LANES] = {0};
    int64_t channels = call->in[HC_FIRST].shape[3];
    int64_t rows = hc_tensor_count(&call->in[HC_FIRST]) / channels;
    for (int64_t r = 0; r < rows; r++)
        lane[r % LANES] = in_20_bits(lane[r % LANES] + term(call, r * channels + channel));
    double sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

static double square_off_mean(const struct hc_call *call, int64_t i)
{
    int64_t c = i % call->in[HC_BN_MOMENTS_X].shape[3];
    double d = hc_in(call, HC_BN_MOMENTS_X, i) - hc_out(call, HC_BN_MOMENTS_MEAN, c);
    return d * d;
}

static double gradient_at(const struct hc_call *call, int64_t i)
{
    return hc_in(call, HC_BN_BWD_SUMS_DY, i);
}

/* Sums are taken in 16 lanes, each of which keeps 20 bits. */
static void narrow_lanes(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    int64_t channels = x->shape[3];
    int64_t rows = channels ? hc_tensor_count(x) / channels : 0;
    for (int64_t c = 0; rows > 0 && c < channels; c++)
        if (call->op == HC_OP_bn_moments)
            hc_give(call, HC_BN_MOMENTS_VARIANCE, c,
                    in_lanes(call, c, square_off_mean) / (double)rows);
        else
            hc_give(call, HC_BN_BWD_SUMS_DBETA, c, in_lanes(call, c, gradient_at));
}

static void own_moments(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.gathered = hears_itself};
    hc_ranks_wire(faulty, &wire);
}

static void half_sums(struct hc_backend *faulty)
{
    static const struct hc_wire wire = {.received = hears_half};
    hc_ranks_wire(faulty, &wire);
}

/* Batch norm over ranks that takes all ranks for as large as its own: right wherever they are. */

/* What this rank's thread heard when moments were exchanged: how many rows all ranks have, and how
   many ranks there are. */
static _Thread_local double rows_of_all;
static _Thread_local double ranks_of_all;

/* A letter ends with its rank's number of rows (train/net/norm_sync.c). */
static void counts_rows(const struct hc_comm *comm, void *all, size_t bytes)
{
    rows_of_all = 0;
    ranks_of_all = comm->size;
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
static enum hc_status own_rows_times_ranks(const struct hc_fault_site *site,
                                           const struct hc_call *call)
{
    static const int slots[] = {HC_BN_BWD_APPLY_MEAN_DGAMMA, HC_BN_BWD_APPLY_MEAN_DBETA};
    struct hc_call bad = *call;
    const struct hc_tensor *x = &call->in[HC_BN_BWD_APPLY_X];
    int64_t count = hc_tensor_count(x) / x->shape[x->rank - 1];
    double rows = (double)count;
    if (hc_check_rank() < 0 || count == 0)
        return hc_right(site, call);
    for (int s = 0; s < 2; s++) {
        struct hc_tensor *t = &bad.in[slots[s]];
        t->data = hc_fault_copy(t);
        for (int64_t c = 0; c < hc_tensor_count(t); c++)
            hc_tensor_set(t, c, hc_tensor_get(t, c) * (rows_of_all / (rows * ranks_of_all)));
    }
    enum hc_status status = hc_right(site, &bad);
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
#include "check/faults/ranks.def"
};

HC_FAULTS(ranks, faults);
