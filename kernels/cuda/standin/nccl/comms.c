/* The stand-in's communicators: how ranks meet by an id, and how they part. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/standin/blocks.h"
#include "kernels/cuda/standin/nccl/clique.h"
#include "kernels/cuda/standin/standin.h"

static struct hc_standin_clique *cliques;

ncclResult_t hc_standin_nccl_planted(const char *function, int *calls)
{
    return (ncclResult_t)hc_standin_error(function, calls);
}

/* The rank whose stream waits for ever; NULL: it does not. */
static struct ncclComm *stuck_on(const void *stream)
{
    for (struct hc_standin_clique *c = cliques; c; c = c->next)
        for (int r = 0; r < c->size; r++)
            if (c->rank[r] && c->rank[r]->stuck && c->rank[r]->stream == stream)
                return c->rank[r];
    return NULL;
}

static bool stuck(const void *stream)
{
    (void)pthread_mutex_lock(&hc_standin_lock);
    bool is = stuck_on(stream) != NULL;
    (void)pthread_mutex_unlock(&hc_standin_lock);
    return is;
}

static void waits(const void *stream)
{
    (void)pthread_mutex_lock(&hc_standin_lock);
    const struct ncclComm *comm = stuck_on(stream);
    if (comm)
        hc_standin_nccl_find("rank %d waits for ever for its stream", comm->rank);
    (void)pthread_mutex_unlock(&hc_standin_lock);
}

static void freed(const void *memory)
{
    (void)pthread_mutex_lock(&hc_standin_lock);
    hc_standin_nccl_freed(memory);
    (void)pthread_mutex_unlock(&hc_standin_lock);
}

ncclResult_t ncclGetVersion(int *version)
{
    static int calls;
    char name[32];
    (void)snprintf(name, sizeof name, "nccl%d", hc_standin_device());
    *version = hc_standin_setting(name, NCCL_VERSION_CODE);
    return hc_standin_nccl_planted("ncclGetVersion", &calls);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static int calls;
    static int made;
    ncclResult_t result = hc_standin_nccl_planted("ncclGetUniqueId", &calls);
    (void)pthread_mutex_lock(&hc_standin_lock);
    memset(id, 0, sizeof *id);
    (void)snprintf(id->internal, sizeof id->internal, "id %d", ++made);
    hc_standin_library.stuck = stuck;
    hc_standin_library.waits = waits;
    hc_standin_library.freed = freed;
    (void)pthread_mutex_unlock(&hc_standin_lock);
    return result;
}

static struct hc_standin_clique *clique_of(const ncclUniqueId *id, int size)
{
    struct hc_standin_clique *c = cliques;
    while (c && memcmp(&c->id, id, sizeof *id) != 0)
        c = c->next;
    if (c || !(c = calloc(1, sizeof *c)))
        return c;
    *c = (struct hc_standin_clique){.next = cliques, .id = *id, .size = size};
    cliques = c;
    return c;
}

/* Where a rank does not fit into the clique, nobody of it starts. */
static ncclResult_t join(struct hc_standin_clique *c, struct ncclComm *comm, int size)
{
    if (size != c->size || comm->rank < 0 || comm->rank >= size || size > HC_STANDIN_RANKS ||
        c->rank[comm->rank]) {
        hc_standin_nccl_find("rank %d of %d does not fit into a clique of %d", comm->rank, size,
                             c->size);
        hc_standin_nccl_fail(c, ncclInvalidArgument);
        return ncclInvalidArgument;
    }
    for (int r = 0; r < size; r++)
        if (c->rank[r] && c->rank[r]->device == comm->device) {
            hc_standin_nccl_find("ranks %d and %d share device %d", r, comm->rank, comm->device);
            hc_standin_nccl_fail(c, ncclInvalidUsage);
            return ncclInvalidUsage;
        }
    comm->clique = c;
    c->rank[comm->rank] = comm;
    if (++c->joined == size)
        (void)pthread_cond_broadcast(&hc_standin_changed);
    struct timespec until = hc_standin_nccl_patience();
    while (c->joined < size && c->error == ncclSuccess)
        if (pthread_cond_timedwait(&hc_standin_changed, &hc_standin_lock, &until) == ETIMEDOUT)
            hc_standin_nccl_fail(c, ncclSystemError);
    return c->joined == size ? ncclSuccess : c->error;
}

/* The clique is kept, which is little, so that an id is not used twice unseen. */
static void part(struct ncclComm *comm)
{
    hc_standin_nccl_cancel(comm);
    comm->clique->rank[comm->rank] = NULL;
    free(comm);
}

ncclResult_t ncclCommInitRank(ncclComm_t *made, int size, ncclUniqueId id, int rank)
{
    static int calls;
    ncclResult_t result = hc_standin_nccl_planted("ncclCommInitRank", &calls);
    struct ncclComm *comm = calloc(1, sizeof *comm);
    *made = NULL;
    (void)pthread_mutex_lock(&hc_standin_lock);
    struct hc_standin_clique *c = clique_of(&id, size);
    if (!comm || !c)
        abort();
    *comm = (struct ncclComm){.rank = rank, .device = hc_standin_device()};
    if (result == ncclSuccess)
        result = join(c, comm, size);
    else
        hc_standin_nccl_fail(c, ncclRemoteError);
    if (result == ncclSuccess)
        *made = comm;
    else if (comm->clique)
        part(comm);
    else
        free(comm);
    (void)pthread_mutex_unlock(&hc_standin_lock);
    return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    (void)pthread_mutex_lock(&hc_standin_lock);
    if (comm->queued > 0)
        hc_standin_nccl_find("rank %d destroys a communicator that has work", comm->rank);
    if (comm->clique->error != ncclSuccess)
        hc_standin_nccl_find("rank %d destroys a communicator that failed, in place of an abort",
                             comm->rank);
    part(comm);
    (void)pthread_mutex_unlock(&hc_standin_lock);
    return ncclSuccess;
}

/* The other ranks fail, too, unless all is done. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    (void)pthread_mutex_lock(&hc_standin_lock);
    hc_standin_nccl_fail(comm->clique, ncclRemoteError);
    part(comm);
    (void)pthread_mutex_unlock(&hc_standin_lock);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    static int calls;
    ncclResult_t result = hc_standin_nccl_planted("ncclCommGetAsyncError", &calls);
    (void)pthread_mutex_lock(&hc_standin_lock);
    *error = comm->clique->error;
    (void)pthread_mutex_unlock(&hc_standin_lock);
    return result;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclRemoteError ? "remote process exited or there was a network error"
                                     : "some error";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return "";
}
