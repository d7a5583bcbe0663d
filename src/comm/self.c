/* One rank alone. Bytes that it sends, it gets. */
#include "comm/comm.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void close_it(struct hc_comm *comm)
{
    (void)comm;
}

static enum hc_status send_receive(struct hc_comm *comm, int to, const void *out, size_t out_bytes,
                                   int from, void *in, size_t in_bytes)
{
    (void)comm;
    assert(to == from);
    assert(to == -1 || out_bytes == in_bytes);
    if (to == 0 && in_bytes)
        memmove(in, out, in_bytes);
    return HC_OK;
}

static enum hc_status all_gather(struct hc_comm *comm, const void *mine, size_t bytes, void *all)
{
    (void)comm;
    if (bytes && mine != all)
        memmove(all, mine, bytes);
    return HC_OK;
}

static enum hc_status broadcast(struct hc_comm *comm, int root, void *data, size_t bytes)
{
    (void)comm;
    (void)root;
    (void)data;
    (void)bytes;
    return HC_OK;
}

static enum hc_status barrier(struct hc_comm *comm)
{
    (void)comm;
    return HC_OK;
}

static enum hc_status sum_anyhow(struct hc_comm *comm, enum hc_format format, void *data,
                                 int64_t count)
{
    (void)comm;
    (void)format;
    (void)data;
    (void)count;
    return HC_OK;
}

static void end_process(struct hc_comm *comm, int exit_status)
{
    (void)comm;
    (void)fflush(stdout);
    _exit(exit_status);
}

static const struct hc_comm_kind kind = {
    .abi = HC_COMM_ABI,
    .name = "self",
    .title = "one rank alone",
    .close = close_it,
    .send_receive = send_receive,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .barrier = barrier,
    .sum_anyhow = sum_anyhow,
    .abort = end_process,
};

struct hc_comm *hc_comm_self(void)
{
    static struct hc_comm self = {.kind = &kind, .rank = 0, .size = 1, .self = NULL};
    return &self;
}
