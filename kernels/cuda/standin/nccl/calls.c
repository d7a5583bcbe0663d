/* The functions of NCCL that src/comm/nccl calls, as nccl.h declares them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/emulate/stream.h"
#include "kernels/cuda/standin/blocks.h"
#include "kernels/cuda/standin/nccl/clique.h"
#include "kernels/cuda/standin/standin.h"

/* The calls of the group that this thread has open, and what a stream is given of it. */
struct group {
    int n;
    struct hc_standin_call call[HC_STANDIN_GROUP];
};
static _Thread_local struct group open_group;
static _Thread_local int depth;

/* Groups that are queued, so that memory in use is known. */
struct queued {
    struct queued *next;
    struct group group;
};
static struct queued *all_queued;

static void done(struct queued *q)
{
    struct queued **link = &all_queued;
    while (*link != q)
        link = &(*link)->next;
    *link = q->next;
    for (int i = 0; i < q->group.n; i++)
        q->group.call[i].comm->queued--;
    free(q);
}

void hc_standin_nccl_cancel(const struct ncclComm *comm)
{
    for (struct queued *q = all_queued; q; q = q->next)
        if (q->group.n > 0 && q->group.call->comm == comm)
            q->group.n = 0;
}

void hc_standin_nccl_freed(const void *memory)
{
    for (const struct queued *q = all_queued; q; q = q->next)
        for (int i = 0; i < q->group.n; i++) {
            const struct hc_standin_call *call = &q->group.call[i];
            const void *at = call->send ? call->send : call->receive;
            if (hc_standin_block_of(at, 1, call->comm->device) == memory)
                hc_standin_nccl_find("rank %d frees memory that queued work uses",
                                     call->comm->rank);
        }
}

static void run(struct hc_emulated_stream *stream, const void *args)
{
    struct queued *q;
    (void)stream;
    memcpy(&q, args, sizeof q);
    (void)pthread_mutex_lock(&hc_standin_lock);
    hc_standin_nccl_meet(q->group.call, q->group.n);
    done(q);
    (void)pthread_mutex_unlock(&hc_standin_lock);
}

/* A group whose calls stand on one stream. */
static ncclResult_t queue(const struct group *group)
{
    struct queued *q = malloc(sizeof *q);
    if (!q)
        return ncclSystemError;
    (void)pthread_mutex_lock(&hc_standin_lock);
    q->group = *group;
    q->next = all_queued;
    all_queued = q;
    for (int i = 0; i < group->n; i++) {
        struct hc_standin_call *call = &q->group.call[i];
        assert(call->comm); /* each call was looked at before it came into a group */
        bool message = call->kind == HC_STANDIN_SEND || call->kind == HC_STANDIN_RECEIVE;
        call->place = i;
        call->group = group->n;
        call->number = !message                        ? call->comm->collectives++
                       : call->kind == HC_STANDIN_SEND ? call->comm->sent[call->peer]++
                                                       : call->comm->received[call->peer]++;
        if (call->stream != group->call[0].stream ||
            (call->comm->queued > 0 && call->comm->stream != call->stream))
            hc_standin_nccl_find("rank %d queues on two streams at once", call->comm->rank);
        call->comm->stream = call->stream;
        call->comm->queued++;
    }
    (void)pthread_mutex_unlock(&hc_standin_lock);
    return hc_emulated_stream_delay((struct hc_emulated_stream *)group->call[0].stream, run, &q,
                                    sizeof q)
               ? ncclSuccess
               : ncclSystemError;
}

static bool in_memory(const struct hc_standin_call *call, const void *at)
{
    return hc_standin_block_of(at, call->count * hc_standin_nccl_bytes(call->type),
                               call->comm->device);
}

/* What NCCL does not see, or only with its checks of pointers. */
static void examine(const struct hc_standin_call *call)
{
    int rank = call->comm->rank;
    int device = hc_standin_stream_device(call->stream);
    if (!call->stream)
        hc_standin_nccl_find("rank %d queues on the default stream", rank);
    else if (device != call->comm->device)
        hc_standin_nccl_find("rank %d queues on a stream of another device", rank);
    else if (hc_emulated_stream_is_capturing((const struct hc_emulated_stream *)call->stream))
        hc_standin_nccl_find("rank %d queues on a stream that is captured", rank);
    if ((call->kind != HC_STANDIN_RECEIVE && !in_memory(call, call->send)) ||
        (call->kind != HC_STANDIN_SEND && !in_memory(call, call->receive)))
        hc_standin_nccl_find("rank %d gives bytes that are not all in a block of its device", rank);
}

ncclResult_t hc_standin_nccl_call(struct hc_standin_call *call)
{
    if (!call->comm || call->count == 0 || hc_standin_nccl_bytes(call->type) == 0 ||
        call->op < ncclSum || call->op > ncclAvg || call->peer < 0 ||
        call->peer >= call->comm->clique->size)
        return ncclInvalidArgument;
    if (call->comm->clique->error != ncclSuccess)
        return call->comm->clique->error;
    examine(call);
    if (!call->stream)
        return ncclInvalidUsage;
    if (depth == 0)
        return queue(&(struct group){1, {*call}});
    if (open_group.n == HC_STANDIN_GROUP)
        abort();
    open_group.call[open_group.n++] = *call;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
    static int calls;
    ncclResult_t result = hc_standin_nccl_planted("ncclGroupStart", &calls);
    depth += result == ncclSuccess;
    return result;
}

ncclResult_t ncclGroupEnd(void)
{
    static int calls;
    ncclResult_t result = hc_standin_nccl_planted("ncclGroupEnd", &calls);
    if (depth == 0)
        hc_standin_nccl_find("a group is ended that was not begun");
    if (depth == 0 || --depth > 0)
        return depth == 0 ? ncclInvalidUsage : result;
    if (result == ncclSuccess && open_group.n > 0)
        result = queue(&open_group);
    open_group.n = 0;
    return result;
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    static int calls;
    ncclResult_t result = hc_standin_nccl_planted("ncclAllReduce", &calls);
    struct hc_standin_call call = {
        HC_STANDIN_ALL_REDUCE, send, receive, count, type, op, 0, comm, stream, 0, 0, 0};
    return result == ncclSuccess ? hc_standin_nccl_call(&call) : result;
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream)
{
    static int calls;
    ncclResult_t result = hc_standin_nccl_planted("ncclBroadcast", &calls);
    struct hc_standin_call call = {
        HC_STANDIN_BROADCAST, send, receive, count, type, ncclSum, root, comm, stream, 0, 0, 0};
    return result == ncclSuccess ? hc_standin_nccl_call(&call) : result;
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    static int calls;
    ncclResult_t result = hc_standin_nccl_planted("ncclSend", &calls);
    struct hc_standin_call call = {HC_STANDIN_SEND, send, NULL, count, type, ncclSum, peer, comm,
                                   stream,          0,    0,    0};
    return result == ncclSuccess ? hc_standin_nccl_call(&call) : result;
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    static int calls;
    ncclResult_t result = hc_standin_nccl_planted("ncclRecv", &calls);
    struct hc_standin_call call = {
        HC_STANDIN_RECEIVE, NULL, receive, count, type, ncclSum, peer, comm, stream, 0, 0, 0};
    return result == ncclSuccess ? hc_standin_nccl_call(&call) : result;
}
