#include "check/ranks.h"

/* The planted wire, and the backend whose cases have it. */
static const struct hc_wire *planted;
static const struct hc_backend *faulty;

static _Thread_local int this_rank = -1;

struct job {
    hc_comm_work *work;
    void *context;
    const struct hc_wire *wire;
};

/* A rank's comm with the wire in it. */
struct wired {
    struct hc_comm comm;
    struct hc_comm *right;
    const struct hc_wire *wire;
};

static enum hc_status send_receive(struct hc_comm *comm, int to, const void *out, size_t out_bytes,
                                   int from, void *in, size_t in_bytes)
{
    struct wired *w = comm->self;
    enum hc_status status =
        w->right->kind->send_receive(w->right, to, out, out_bytes, from, in, in_bytes);
    if (status == HC_OK && from >= 0 && from != comm->rank && w->wire->received)
        w->wire->received(comm, from, in, in_bytes);
    return status;
}

static enum hc_status all_gather(struct hc_comm *comm, const void *mine, size_t bytes, void *all)
{
    struct wired *w = comm->self;
    enum hc_status status = w->right->kind->all_gather(w->right, mine, bytes, all);
    if (status == HC_OK && w->wire->gathered)
        w->wire->gathered(comm, all, bytes);
    return status;
}

static enum hc_status broadcast(struct hc_comm *comm, int root, void *data, size_t bytes)
{
    struct wired *w = comm->self;
    enum hc_status status = w->right->kind->broadcast(w->right, root, data, bytes);
    if (status == HC_OK && root != comm->rank && w->wire->announced)
        w->wire->announced(comm, root, data, bytes);
    return status;
}

static enum hc_status barrier(struct hc_comm *comm)
{
    struct wired *w = comm->self;
    return w->right->kind->barrier(w->right);
}

static void abort_all(struct hc_comm *comm, int exit_status)
{
    struct wired *w = comm->self;
    w->right->kind->abort(w->right, exit_status);
}

static void close_it(struct hc_comm *comm)
{
    (void)comm; /* whoever opened the sound one closes it */
}

static const struct hc_comm_kind kind = {
    .abi = HC_COMM_ABI,
    .name = "threads",
    .title = "threads of one process, with a fault between them",
    .close = close_it,
    .send_receive = send_receive,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .barrier = barrier,
    .abort = abort_all,
};

static const struct hc_wire *wire_of(struct hc_check *check)
{
    return faulty && hc_check_backend(check) == faulty ? planted : NULL;
}

static enum hc_status begin(struct hc_comm *comm, void *context)
{
    const struct job *job = context;
    struct wired wired = {{&kind, comm->rank, comm->size, &wired}, comm, job->wire};
    this_rank = comm->rank;
    enum hc_status status = job->work(job->wire ? &wired.comm : comm, job->context);
    this_rank = -1;
    return status;
}

enum hc_status hc_check_ranks(struct hc_check *check, int size, hc_comm_work *work, void *context)
{
    struct job job = {work, context, wire_of(check)};
    return hc_comm_threads(size, begin, &job);
}

int hc_check_rank(void)
{
    return this_rank;
}

uint64_t hc_check_rank_seed(struct hc_check *check, const struct hc_comm *comm, uint64_t seed)
{
    const struct hc_wire *wire = wire_of(check);
    return wire && wire->seed ? wire->seed(comm, seed) : seed;
}

void hc_ranks_wire(const struct hc_backend *backend, const struct hc_wire *wire)
{
    faulty = backend;
    planted = wire;
}
