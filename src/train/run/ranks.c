/* A run whose ranks are threads of this process. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "train/run/trainer.h"

struct job {
    struct hc_train_options options; /* of every rank, but for its comm */
    struct hc_train_result *result;
    enum hc_status status; /* rank 0's */
};

/* What all ranks know of is rank 0's to say. */
static enum hc_status train_rank(struct hc_comm *comm, void *context)
{
    struct job *job = context;
    struct hc_train_options options = job->options;
    struct hc_train_result result;
    options.comm = comm;
    enum hc_status status = hc_train(&options, &result);
    if (comm->rank == 0) {
        *job->result = result;
        job->status = status;
    }
    return status != HC_OK && (result.says && comm->rank > 0) ? status : HC_OK;
}

enum hc_status hc_train_ranks(const struct hc_train_options *options, int ranks,
                              struct hc_train_result *result)
{
    const struct hc_backend *backend = options->backend;
    struct job job = {.options = *options, .result = result};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = options->threads > 0 ? options->threads : (int)cores;
    memset(result, 0, sizeof *result);
    if (ranks < 1 || ranks > HC_MAX_THREAD_RANKS)
        return hc_fail(HC_INVALID, "ranks in one process are 1 to %d, not %d", HC_MAX_THREAD_RANKS,
                       ranks);
    job.options.comm = NULL;
    if (ranks == 1)
        return hc_train(&job.options, result);
    if (!backend->host_memory || !backend->concurrent)
        return hc_fail(HC_INVALID,
                       "%s: its queues do not work beside each other, as ranks in one process must",
                       backend->name);
    job.options.threads = threads > ranks ? threads / ranks : 1;
    enum hc_status status = hc_comm_threads(ranks, train_rank, &job);
    return status != HC_OK ? status : job.status;
}
