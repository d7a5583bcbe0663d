/* What the stand-in's ranks do when their streams reach a call: they wait for each other, compare
   what they were asked for, and do it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cuda/standin/nccl/clique.h"
#include "kernels/cuda/standin/standin.h"

pthread_mutex_t hc_standin_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t hc_standin_changed = PTHREAD_COND_INITIALIZER;

static pthread_mutex_t finding_lock = PTHREAD_MUTEX_INITIALIZER;
static char finding[256];

const char *hc_standin_nccl_finding(void)
{
    return finding;
}

void hc_standin_nccl_reset(void)
{
    finding[0] = '\0';
}

void hc_standin_nccl_find(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)pthread_mutex_lock(&finding_lock);
    if (!finding[0])
        (void)vsnprintf(finding, sizeof finding, format, arguments);
    (void)pthread_mutex_unlock(&finding_lock);
    va_end(arguments);
}

struct timespec hc_standin_nccl_patience(void)
{
    int milliseconds = hc_standin_setting("patience", 5000);
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += milliseconds % 1000 * 1000000L;
    until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

static const char *const kinds[] = {"all-reduce", "broadcast", "send", "receive"};

static bool is_message(const struct hc_standin_call *call)
{
    return call->kind == HC_STANDIN_SEND || call->kind == HC_STANDIN_RECEIVE;
}

/* What two ranks say of the same collective. */
static bool agree(const struct hc_standin_call *a, const struct hc_standin_call *b)
{
    static const char what[] = "ranks %d and %d differ in call %d: %s";
    const char *in = NULL;
    if (a->kind != b->kind)
        in = "its function";
    else if (a->type != b->type)
        in = "its type";
    else if (a->count != b->count)
        in = "its count";
    else if (a->op != b->op)
        in = "its operation";
    else if (a->peer != b->peer)
        in = "its root";
    else if (a->place != b->place || a->group != b->group)
        in = "its group";
    if (in)
        hc_standin_nccl_find(what, a->comm->rank, b->comm->rank, (int)a->number, in);
    return !in;
}

/* A message is as long on both sides. */
static bool same_length(const struct hc_standin_call *a, const struct hc_standin_call *b)
{
    bool same = a->type == b->type && a->count == b->count;
    if (!same)
        hc_standin_nccl_find("rank %d sends %zu bytes, rank %d expects %zu", a->comm->rank,
                             a->count * hc_standin_nccl_bytes(a->type), b->comm->rank,
                             b->count * hc_standin_nccl_bytes(b->type));
    return same;
}

/* Slot 0 of a message's meeting is the sender's, slot 1 the receiver's. */
static int slot_of(const struct hc_standin_call *call)
{
    return is_message(call) ? call->kind == HC_STANDIN_RECEIVE : call->comm->rank;
}

static struct hc_standin_meeting *meeting_of(const struct hc_standin_call *call)
{
    struct hc_standin_clique *clique = call->comm->clique;
    bool sends = call->kind == HC_STANDIN_SEND;
    int from = !is_message(call) ? -1 : sends ? call->comm->rank : call->peer;
    int to = !is_message(call) ? -1 : sends ? call->peer : call->comm->rank;
    struct hc_standin_meeting *m = clique->meetings;
    while (m && (m->number != call->number || m->from != from || m->to != to))
        m = m->next;
    if (m)
        return m;
    m = calloc(1, sizeof *m);
    if (!m)
        abort();
    m->number = call->number;
    m->from = from;
    m->to = to;
    m->next = clique->meetings;
    clique->meetings = m;
    return m;
}

void hc_standin_nccl_fail(struct hc_standin_clique *clique, ncclResult_t error)
{
    if (clique->error == ncclSuccess)
        clique->error = error;
    (void)pthread_cond_broadcast(&hc_standin_changed);
}

/* The last one who comes does the work for all. */
static void hold(struct hc_standin_clique *clique, struct hc_standin_meeting *m)
{
    bool right = true;
    if (++clique->held == hc_standin_setting("async", 0)) {
        hc_standin_nccl_fail(clique, ncclRemoteError);
        return;
    }
    if (m->from >= 0) {
        right = same_length(&m->call[0], &m->call[1]);
        if (right)
            memcpy(m->call[1].receive, m->call[0].send,
                   m->call[0].count * hc_standin_nccl_bytes(m->call[0].type));
    } else {
        for (int r = 1; r < clique->size && right; r++)
            right = agree(&m->call[0], &m->call[r]);
        if (right && m->call->kind == HC_STANDIN_ALL_REDUCE)
            hc_standin_nccl_sum(m, clique->size);
        for (int r = 0; r < clique->size && right && m->call->kind == HC_STANDIN_BROADCAST; r++)
            memmove(m->call[r].receive, m->call[m->call->peer].send,
                    m->call->count * hc_standin_nccl_bytes(m->call->type));
    }
    m->done = right;
    if (!right)
        hc_standin_nccl_fail(clique, ncclInternalError);
    (void)pthread_cond_broadcast(&hc_standin_changed);
}

static void arrive(const struct hc_standin_call *call)
{
    struct hc_standin_clique *clique = call->comm->clique;
    struct hc_standin_meeting *m = meeting_of(call);
    m->call[slot_of(call)] = *call;
    if (++m->arrived == (m->from >= 0 ? 2 : clique->size) && clique->error == ncclSuccess)
        hold(clique, m);
}

static void leave(const struct hc_standin_call *call, struct hc_standin_meeting *m)
{
    struct hc_standin_meeting **link = &call->comm->clique->meetings;
    if (++m->left < (m->from >= 0 ? 2 : call->comm->clique->size))
        return;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    free(m);
}

static void await(const struct hc_standin_call *call, const struct timespec *until)
{
    struct hc_standin_clique *clique = call->comm->clique;
    struct hc_standin_meeting *m = meeting_of(call);
    while (!m->done && clique->error == ncclSuccess)
        if (pthread_cond_timedwait(&hc_standin_changed, &hc_standin_lock, until) == ETIMEDOUT &&
            !m->done && clique->error == ncclSuccess) {
            hc_standin_nccl_find("rank %d waits for ever in a %s", call->comm->rank,
                                 kinds[call->kind]);
            hc_standin_nccl_fail(clique, ncclRemoteError);
        }
    if (m->done)
        leave(call, m);
    else
        call->comm->stuck = true;
}

void hc_standin_nccl_meet(struct hc_standin_call *calls, int n)
{
    struct timespec until = hc_standin_nccl_patience();
    for (int i = 0; i < n; i++)
        arrive(&calls[i]);
    for (int i = 0; i < n; i++)
        await(&calls[i], &until);
}
