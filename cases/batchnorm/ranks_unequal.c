/* Ranks with batches of different sizes that share batch norm, by the trainer's own code
   (train/net/norm_sync.c): the last batch of an epoch, or images of different sizes. Where all have
   as many rows, a mean over ranks of the ranks' means is right by chance.

   What is wanted is MPFR's value of bn_leaky_train and bn_leaky_bwd of the whole batch, within the
   bound of shared moments forward and within bn_leaky_bwd's back. Gradients of gamma and beta are
   those of each rank's own rows. */
#include "cases/fixture/norm_parts.h"
#include "check/bound/bound.h"
#include "check/ranks.h"
#include "op/descriptor.h"
#include "reference.h"
#include "train/net/net_inner.h"

static const struct hc_norm_shares ways[] = {
    {2, {2, 6}},
    {3, {30, 1, 2}},
    {4, {1, 40, 3, 20}},
};

/* What all ranks share. A rank's calls have its rows of the whole batch, and statistics and
   gradients of its own. */
struct job {
    struct hc_norm_parts whole;
    const struct hc_backend *backend;
    struct hc_call train[HC_NORM_PARTS_RANKS];
    struct hc_call back[HC_NORM_PARTS_RANKS];
    int64_t elements[HC_NORM_PARTS_RANKS];
};

static void take_rows(struct hc_tensor *t, int64_t first, int64_t rows)
{
    int64_t bytes = hc_formats[t->format].bytes;
    t->shape[0] = rows;
    t->data = (char *)t->data + first * HC_NORM_PARTS_CHANNELS * bytes;
}

static void divide(struct job *job, struct hc_check *check)
{
    int64_t first = 0;
    for (int r = 0; r < job->whole.shares->ranks; first += job->whole.shares->rows[r++]) {
        int64_t rows = job->whole.shares->rows[r];
        struct hc_call *train = &job->train[r];
        struct hc_call *back = &job->back[r];
        *train = job->whole.train;
        *back = job->whole.back;
        take_rows(&train->in[HC_BN_X], first, rows);
        take_rows(&train->out[HC_BN_Y], first, rows);
        for (int o = HC_BN_SAVED_MEAN; r > 0 && o <= HC_BN_NEW_VARIANCE; o++)
            train->out[o] = hc_check_tensor(check, train->out[o]);
        for (int i = HC_BN_LEAKY_BWD_X; i <= HC_BN_LEAKY_BWD_DY; i++)
            take_rows(&back->in[i], first, rows);
        back->in[HC_BN_LEAKY_BWD_MEAN] = train->out[HC_BN_SAVED_MEAN];
        back->in[HC_BN_LEAKY_BWD_INVSTD] = train->out[HC_BN_SAVED_INVSTD];
        take_rows(&back->out[HC_BN_BWD_DX], first, rows);
        for (int o = HC_BN_BWD_DGAMMA; o <= HC_BN_BWD_DBETA; o++)
            back->out[o] = hc_check_tensor(check, back->out[o]);
    }
}

/* Every rank opens a queue of its own. */
static enum hc_status run_rank(struct hc_comm *comm, void *context)
{
    struct job *job = context;
    int r = comm->rank;
    struct hc_device device = {.backend = job->backend};
    const struct hc_norm_sync_size size = {HC_NORM_PARTS_CHANNELS,
                                           hc_tensor_count(&job->train[r].in[HC_BN_X]),
                                           job->train[r].in[HC_BN_X].format};
    struct hc_norm_sync *sync = NULL;
    enum hc_status status = hc_backend_open(device.backend, &device.queue, 1);
    if (status != HC_OK)
        return status;
    status = hc_norm_sync_open(&sync, &device, comm, &size);
    if (status == HC_OK)
        status = hc_norm_sync_train(sync, &job->train[r], &job->elements[r]);
    if (status == HC_OK)
        status = hc_norm_sync_bwd(sync, &job->back[r], job->elements[r]);
    hc_norm_sync_close(sync);
    hc_device_end(&device);
    device.backend->close(device.queue);
    return status;
}

static void claim_outputs(const struct job *job, const struct hc_call *call, int first, int last)
{
    static const struct hc_accumulator sums = {.precision = 24, .block = 1};
    const struct hc_norm_shares *shares = job->whole.shares;
    bool any = job->backend->free_order;
    for (int o = first; o <= last; o++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[o]); i++) {
            struct hc_element e = {call, o, i};
            struct hc_exact want = hc_reference_value(call, o, i);
            double bound = call->op == HC_OP_bn_leaky_train
                               ? hc_bound_shared(&e, shares->rows, shares->ranks, any, &want)
                           : any ? hc_bound_any_order(&e, &sums, &want)
                                 : hc_bound(&e, &sums, &want);
            hc_claim_within(job->whole.check, hc_descriptor(call->op)->out[o].name, want.hi,
                            hc_tensor_get(&call->out[o], i), bound);
        }
}

static void claim_all(const struct job *job)
{
    const struct hc_norm_shares *shares = job->whole.shares;
    claim_outputs(job, &job->whole.train, HC_BN_Y, HC_BN_NEW_VARIANCE);
    claim_outputs(job, &job->whole.back, HC_BN_BWD_DX, HC_BN_BWD_DX);
    for (int r = 0; r < shares->ranks; r++) {
        hc_claim_value(job->whole.check, "elements of a channel on all ranks",
                       (double)job->whole.train.in[HC_BN_X].shape[0], (double)job->elements[r]);
        claim_outputs(job, &job->back[r], HC_BN_BWD_DGAMMA, HC_BN_BWD_DBETA);
        for (int o = HC_BN_SAVED_MEAN; o <= HC_BN_NEW_VARIANCE; o++)
            hc_claim_true(job->whole.check, "all ranks have the same statistics",
                          memcmp(job->train[0].out[o].data, job->train[r].out[o].data,
                                 hc_tensor_bytes(&job->train[0].out[o])) == 0);
    }
}

static void unequal(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_FP32}; /* of each way */
    const struct hc_backend *backend = hc_check_backend(check);
    if (!backend->host_memory || !backend->concurrent) {
        hc_skip(check, "ranks that are threads need kernels that work in host memory, and at once");
        return;
    }
    hc_check_undigested(check);
    for (size_t s = 0; s < sizeof ways / sizeof ways[0]; s++) {
        struct job *job = hc_check_memory(check, sizeof *job);
        job->whole = hc_norm_parts_new(check, &ways[s], formats[s]);
        job->backend = backend;
        divide(job, check);
        if (!hc_check_ok(check, hc_check_ranks(check, ways[s].ranks, run_rank, job)))
            return;
        claim_all(job);
    }
}

static const struct hc_case cases[] = {
    {.name = "batchnorm/ranks-unequal",
     .title = "ranks with 2 and 6 rows, with 30, 1 and 2, and with 1, 40, 3 and 20, have the batch "
              "norm of the whole "
              "batch, forward and back",
     .source = "pytorch/pytorch PR 36382, 'Fixing SyncBN dgrad', "
               "https://github.com/pytorch/pytorch/pull/36382",
     .run = unequal},
};

HC_CASES(batchnorm_ranks_unequal, cases);
