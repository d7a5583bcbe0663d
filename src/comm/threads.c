/* Ranks that are threads of one process. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/thread_group.h"

/* A rank's own part. */
struct rank {
    struct hc_comm comm;
    struct hc_thread_group *group;
    hc_comm_work *work;
    void *context;
    pthread_t thread;
    enum hc_status status;
    bool by_another; /* a call of it has failed because another rank has */
    bool aborted;
    char line[512];
};

static struct rank *rank_of(struct hc_comm *comm)
{
    return comm->self;
}

/* Once the job has failed, or this rank has aborted it, every call fails. */
static enum hc_status note(struct rank *rank, enum hc_status status)
{
    if (status != HC_OK && !rank->aborted)
        rank->by_another = true;
    return status;
}

static enum hc_status send_receive(struct hc_comm *comm, int to, const void *out, size_t out_bytes,
                                   int from, void *in, size_t in_bytes)
{
    struct rank *rank = rank_of(comm);
    struct hc_letter letter = {HC_LETTER_NONE, out, out_bytes};
    assert((to == comm->rank) == (from == comm->rank));
    if (to == comm->rank) {
        assert(out_bytes == in_bytes);
        if (in_bytes)
            memmove(in, out, in_bytes);
        return HC_OK;
    }
    return note(rank, hc_thread_exchange(rank->group, comm->rank, to, letter, from, in, in_bytes));
}

static enum hc_status all_gather(struct hc_comm *comm, const void *mine, size_t bytes, void *all)
{
    struct rank *rank = rank_of(comm);
    const struct hc_offer offer = {"all_gather", bytes, mine};
    enum hc_status status = note(rank, hc_thread_meet(rank->group, comm->rank, offer));
    if (status != HC_OK)
        return status;
    for (int r = 0; r < comm->size && bytes; r++) {
        char *place = (char *)all + (size_t)r * bytes;
        if (place != rank->group->offers[r].data)
            memmove(place, rank->group->offers[r].data, bytes);
    }
    hc_thread_part(rank->group, comm->rank);
    return HC_OK;
}

static enum hc_status broadcast(struct hc_comm *comm, int root, void *data, size_t bytes)
{
    struct rank *rank = rank_of(comm);
    const struct hc_offer offer = {"broadcast", bytes, data};
    enum hc_status status = note(rank, hc_thread_meet(rank->group, comm->rank, offer));
    if (status != HC_OK)
        return status;
    if (comm->rank != root && bytes)
        memcpy(data, rank->group->offers[root].data, bytes);
    hc_thread_part(rank->group, comm->rank);
    return HC_OK;
}

static enum hc_status barrier(struct hc_comm *comm)
{
    struct rank *rank = rank_of(comm);
    const struct hc_offer offer = {"barrier", 0, NULL};
    enum hc_status status = note(rank, hc_thread_meet(rank->group, comm->rank, offer));
    if (status == HC_OK)
        hc_thread_part(rank->group, comm->rank);
    return status;
}

static void abort_all(struct hc_comm *comm, int exit_status)
{
    struct rank *rank = rank_of(comm);
    (void)exit_status; /* it is the process's, and that goes on */
    rank->aborted = true;
    hc_thread_fail(rank->group, comm->rank, "it has ended the job");
}

static void close_it(struct hc_comm *comm)
{
    (void)comm;
}

static const struct hc_comm_kind kind = {
    .abi = HC_COMM_ABI,
    .name = "threads",
    .title = "threads of one process",
    .close = close_it,
    .send_receive = send_receive,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .barrier = barrier,
    .abort = abort_all,
};

static void *run(void *context)
{
    struct rank *rank = context;
    rank->status = rank->work(&rank->comm, rank->context);
    if (rank->status == HC_OK && rank->aborted)
        rank->status = hc_fail(HC_DEVICE, "has ended the job");
    if (rank->status != HC_OK) {
        (void)snprintf(rank->line, sizeof rank->line, "%s", hc_message());
        hc_thread_fail(rank->group, rank->comm.rank, rank->line);
    }
    hc_thread_end(rank->group, rank->comm.rank);
    return NULL;
}

/* Rank 0 is the caller's own thread. A rank that gets no thread fails, so that none waits for
   it. */
static void run_all(struct rank *ranks, int size)
{
    int started = 1;
    while (started < size &&
           pthread_create(&ranks[started].thread, NULL, run, &ranks[started]) == 0)
        started++;
    for (int r = started; r < size; r++) {
        ranks[r].status = HC_NO_MEMORY;
        (void)snprintf(ranks[r].line, sizeof ranks[r].line, "no memory for its thread");
        hc_thread_fail(ranks[r].group, r, ranks[r].line);
    }
    (void)run(&ranks[0]);
    for (int r = 1; r < started; r++)
        (void)pthread_join(ranks[r].thread, NULL);
}

/* The lowest rank that failed by itself; if there is none, the lowest that failed. */
static const struct rank *culprit(const struct rank *ranks, int size)
{
    const struct rank *any = NULL;
    for (int r = size - 1; r >= 0; r--)
        if (ranks[r].status != HC_OK && (!any || any->by_another || !ranks[r].by_another))
            any = &ranks[r];
    return any;
}

/* Runs ranks whose memory is there, and says what came of it. */
static enum hc_status run_ranks(struct rank *ranks, struct hc_thread_group *group, int size)
{
    enum hc_status status = hc_thread_group_init(group, size);
    if (status != HC_OK)
        return status;
    for (int r = 0; r < size; r++) {
        ranks[r].group = group;
        ranks[r].comm = (struct hc_comm){&kind, r, size, &ranks[r]};
    }
    run_all(ranks, size);
    hc_thread_group_destroy(group);
    const struct rank *failed = culprit(ranks, size);
    if (failed && size > 1)
        return hc_fail(failed->status, "rank %d: %s", failed->comm.rank, failed->line);
    return failed ? failed->status : HC_OK;
}

enum hc_status hc_comm_threads(int size, hc_comm_work *work, void *context)
{
    assert(size >= 1 && size <= HC_MAX_THREAD_RANKS);
    struct hc_thread_group *group = malloc(sizeof *group);
    struct rank *ranks = calloc((size_t)size, sizeof *ranks);
    enum hc_status status = HC_NO_MEMORY;
    for (int r = 0; ranks && r < size; r++) {
        ranks[r].work = work;
        ranks[r].context = context;
    }
    if (group && ranks)
        status = run_ranks(ranks, group, size);
    else
        (void)hc_fail(status, "no memory for %d ranks", size);
    free(ranks);
    free(group);
    return status;
}
