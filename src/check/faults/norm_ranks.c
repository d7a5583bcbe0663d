/* Defects of batch norm over ranks: how a rank's moments are taken, weighed and put together, what
   the gradient takes of the other ranks, and what a rank hears of them. */
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "check/ranks.h"
#include "check/selftest/change.h"
#include "num/format.h"

static enum hc_status unbiased_moments(const struct hc_fault_site *site, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    const struct hc_tensor *variance = &call->out[HC_BN_MOMENTS_VARIANCE];
    enum hc_status status = site->right(queue, call);
    double n = hc_call_length(call);
    for (int64_t c = 0; status == HC_OK && n > 1 && c < hc_tensor_count(variance); c++)
        hc_tensor_set(variance, c, hc_tensor_get(variance, c) * (n / (n - 1)));
    return status;
}

/* The sound kernel gets the call with other counts. */
static enum hc_status with_counts(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call, double (*changed)(double count))
{
    struct hc_call bad = *call;
    struct hc_tensor *counts = &bad.in[HC_BN_COMBINE_COUNTS];
    counts->data = hc_fault_copy(counts);
    for (int64_t r = 0; r < hc_tensor_count(counts); r++)
        hc_tensor_set(counts, r, changed(hc_tensor_get(counts, r)));
    enum hc_status status = site->right(queue, &bad);
    free(counts->data);
    return status;
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

static enum hc_status equal_shares(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    return with_counts(site, queue, call, one_each);
}

static enum hc_status empty_rank_counts(const struct hc_fault_site *site, struct hc_queue *queue,
                                        const struct hc_call *call)
{
    return with_counts(site, queue, call, never_none);
}

static enum hc_status half_counts(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    return with_counts(site, queue, call, in_half);
}

/* Only the variances within ranks are averaged. */
static enum hc_status within_alone(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    struct hc_call bad = *call;
    struct hc_tensor *means = &bad.in[HC_BN_COMBINE_MEANS];
    const struct hc_tensor *mean = &call->out[HC_BN_COMBINE_SAVED_MEAN];
    const struct hc_tensor *running = &call->out[HC_BN_COMBINE_NEW_MEAN];
    enum hc_status status = site->right(queue, call);
    void *right = hc_fault_copy(mean);
    void *moved = hc_fault_copy(running);
    means->data = hc_fault_copy(means);
    memset(means->data, 0, hc_tensor_bytes(means));
    if (status == HC_OK)
        status = site->right(queue, &bad);
    memcpy(mean->data, right, hc_tensor_bytes(mean));
    memcpy(running->data, moved, hc_tensor_bytes(running));
    free(right);
    free(moved);
    free(means->data);
    return status;
}

static enum hc_status mean_dgamma_forgotten(const struct hc_fault_site *site,
                                            struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call bad = *call;
    struct hc_tensor *mean = &bad.in[HC_BN_BWD_APPLY_MEAN_DGAMMA];
    mean->data = hc_fault_copy(mean);
    memset(mean->data, 0, hc_tensor_bytes(mean));
    enum hc_status status = site->right(queue, &bad);
    free(mean->data);
    return status;
}

/* Rank 1 takes its own moments for everybody's. */
static void hears_itself(const struct hc_comm *comm, void *all, size_t bytes)
{
    for (int r = 0; r < comm->size && comm->rank == 1; r++)
        memmove((char *)all + (size_t)r * bytes, (char *)all + bytes, bytes);
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
    double d = hc_tensor_get(&call->in[HC_BN_MOMENTS_X], i) -
               hc_tensor_get(&call->out[HC_BN_MOMENTS_MEAN], c);
    return d * d;
}

static double gradient_at(const struct hc_call *call, int64_t i)
{
    return hc_tensor_get(&call->in[HC_BN_BWD_SUMS_DY], i);
}

/* Sums are taken in 16 lanes, each of which keeps 20 bits. */
static enum hc_status narrow_lanes(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *x = &call->in[HC_FIRST];
    int64_t channels = x->shape[3];
    int64_t rows = channels ? hc_tensor_count(x) / channels : 0;
    for (int64_t c = 0; status == HC_OK && rows > 0 && c < channels; c++)
        if (call->op == HC_OP_bn_moments)
            hc_tensor_set(&call->out[HC_BN_MOMENTS_VARIANCE], c,
                          in_lanes(call, c, square_off_mean) / (double)rows);
        else
            hc_tensor_set(&call->out[HC_BN_BWD_SUMS_DBETA], c, in_lanes(call, c, gradient_at));
    return status;
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

static const struct hc_change sums_in_bf16 = {hc_everywhere, hc_through_bf16, 0,
                                              HC_BN_BWD_SUMS_DBETA};

static const struct hc_fault faults[] = {
    {"rank-moments-unbiased", "a rank's variance is divided by one less than its elements",
     HC_FAULT_FORMULA, "bn_moments", "op/bn_moments/* batchnorm/ranks-parts",
     .wrong = unbiased_moments},
    {"ranks-of-equal-shares", "ranks are averaged as if all had equally many elements",
     HC_FAULT_FORMULA, "bn_combine", "op/bn_combine/* batchnorm/ranks-parts batchnorm/ranks-own-*",
     .wrong = equal_shares},
    {"rank-without-elements-counts", "the moments of a rank without elements count as of one",
     HC_FAULT_FORMULA, "bn_combine", "op/bn_combine/*", .wrong = empty_rank_counts},
    {"ranks-counted-in-half", "numbers of elements are rounded to half", HC_FAULT_ROUNDING,
     "bn_combine", "op/bn_combine/*", .wrong = half_counts},
    {"ranks-variance-within", "the variance leaves out how far the ranks' means lie apart",
     HC_FAULT_FORMULA, "bn_combine", "op/bn_combine/* batchnorm/ranks-parts",
     .wrong = within_alone},
    {"rank-sums-in-bf16", "a rank's sum of dy is rounded to bf16", HC_FAULT_ACCUMULATOR,
     "bn_bwd_sums", "op/bn_bwd_sums/*/whole", .outputs = &sums_in_bf16},
    {"rank-sums-in-lanes-of-20-bits", "a rank's sums are taken in 16 lanes that keep 20 bits each",
     HC_FAULT_ACCUMULATOR, "bn_moments bn_bwd_sums",
     "batchnorm/whole-moments batchnorm/whole-gradient-sums", .wrong = narrow_lanes,
     .place = HC_PLACE_HOST},
    {"ranks-mean-dgamma-forgotten", "the gradient leaves out the mean of dy * xhat",
     HC_FAULT_FORMULA, "bn_bwd_apply", "op/bn_bwd_apply/* batchnorm/ranks-parts",
     .wrong = mean_dgamma_forgotten},
    {"rank-takes-own-moments", "a rank takes its own moments for those of all", HC_FAULT_RANKS,
     "bn_moments", "batchnorm/ranks-network-*", .rebuild = own_moments, .place = HC_PLACE_HOST},
    {"ranks-gradient-sums-halved", "what a rank hears of the others' sums of gradients is halved",
     HC_FAULT_RANKS, "bn_bwd_sums", "batchnorm/ranks-network-*", .rebuild = half_sums,
     .place = HC_PLACE_HOST},
};

HC_FAULTS(norm_ranks, faults);
