/* The stand-in for NCCL finds the mistakes for which it is there: each is made by two ranks. */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HC_NCCL_PLUGIN

#include "comm/nccl/testing.h"

/* A rank that calls NCCL by itself. */
struct caller {
    int rank;
    ncclComm_t nccl;
    cudaStream_t stream;
    char *data; /* 800 bytes of its device */
};

static ncclResult_t add(const struct caller *c, size_t count, ncclDataType_t type)
{
    return ncclAllReduce(c->data, c->data, count, type, ncclSum, c->nccl, c->stream);
}

static ncclResult_t spread(const struct caller *c, int root)
{
    return ncclBroadcast(c->data, c->data, 8, ncclUint8, root, c->nccl, c->stream);
}

static void nothing(struct caller *c)
{
    (void)add(c, 8, ncclFloat32);
    (void)spread(c, 1);
}

static void other_count(struct caller *c)
{
    (void)add(c, c->rank == 0 ? 8 : 9, ncclFloat32);
}

static void other_type(struct caller *c)
{
    (void)add(c, 8, c->rank == 0 ? ncclFloat32 : ncclFloat16);
}

static void other_operation(struct caller *c)
{
    (void)ncclAllReduce(c->data, c->data, 8, ncclFloat32, c->rank == 0 ? ncclSum : ncclMax, c->nccl,
                        c->stream);
}

static void other_root(struct caller *c)
{
    (void)spread(c, c->rank);
}

static void other_order(struct caller *c)
{
    for (int i = 0; i < 2; i++)
        (void)(i == c->rank ? add(c, 8, ncclFloat32) : spread(c, 0));
}

static void other_group(struct caller *c)
{
    if (c->rank == 0)
        (void)ncclGroupStart();
    (void)add(c, 8, ncclFloat32);
    (void)add(c, 4, ncclFloat32);
    if (c->rank == 0)
        (void)ncclGroupEnd();
}

static void group_not_ended(struct caller *c)
{
    if (c->rank == 1)
        (void)ncclGroupStart();
    (void)add(c, 8, ncclFloat32);
}

static void group_not_begun(struct caller *c)
{
    (void)add(c, 8, ncclFloat32);
    (void)ncclGroupEnd();
}

static void one_rank_alone(struct caller *c)
{
    if (c->rank == 0)
        (void)add(c, 8, ncclFloat32);
}

static void default_stream(struct caller *c)
{
    (void)ncclAllReduce(c->data, c->data, 8, ncclFloat32, ncclSum, c->nccl, NULL);
}

static void stream_of_another_device(struct caller *c)
{
    cudaStream_t other;
    (void)cudaSetDevice(5);
    (void)cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    (void)cudaSetDevice(c->rank);
    (void)ncclAllReduce(c->data, c->data, 8, ncclFloat32, ncclSum, c->nccl, other);
    (void)cudaStreamSynchronize(other);
}

static void two_streams(struct caller *c)
{
    cudaStream_t other;
    (void)cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    (void)add(c, 8, ncclFloat32);
    (void)ncclAllReduce(c->data, c->data, 8, ncclFloat32, ncclSum, c->nccl, other);
    (void)cudaStreamSynchronize(c->stream);
    (void)cudaStreamSynchronize(other);
}

static void captured_stream(struct caller *c)
{
    (void)cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal);
    (void)add(c, 8, ncclFloat32);
}

static void host_memory(struct caller *c)
{
    static char host[2][800];
    (void)ncclAllReduce(host[c->rank], host[c->rank], 8, ncclFloat32, ncclSum, c->nccl, c->stream);
}

static void beyond_the_block(struct caller *c)
{
    (void)add(c, 201, ncclFloat32);
}

static void freed_in_flight(struct caller *c)
{
    (void)ncclAllReduce(c->data + 400, c->data + 400, 8, ncclFloat32, ncclSum, c->nccl, c->stream);
    (void)cudaFree(c->data);
}

static void destroyed_in_flight(struct caller *c)
{
    (void)add(c, 8, ncclFloat32);
    (void)ncclCommDestroy(c->nccl);
    c->nccl = NULL;
}

static void destroyed_after_an_error(struct caller *c)
{
    one_rank_alone(c);
    (void)cudaStreamQuery(c->stream);
    if (c->rank == 0)
        (void)ncclCommDestroy(c->nccl);
}

/* The second all-reduce fails while it is done. */
static void waits_behind_an_error(struct caller *c)
{
    (void)setenv("HALFCHECK_STANDIN", "devices=8,patience=200,async=2", 1);
    (void)add(c, 8, ncclFloat32);
    (void)add(c, 8, ncclFloat32);
    (void)cudaStreamSynchronize(c->stream);
}

static void message_outside_a_group(struct caller *c)
{
    (void)ncclSend(c->data, 8, ncclUint8, 1 - c->rank, c->nccl, c->stream);
    (void)ncclRecv(c->data + 8, 8, ncclUint8, 1 - c->rank, c->nccl, c->stream);
}

static void message_of_another_length(struct caller *c)
{
    if (c->rank == 0)
        (void)ncclSend(c->data, 8, ncclUint8, 1, c->nccl, c->stream);
    else
        (void)ncclRecv(c->data, 9, ncclUint8, 0, c->nccl, c->stream);
}

static const struct mistake {
    void (*make)(struct caller *c);
    const char *finding;
} mistakes[] = {
    {nothing, ""},
    {other_count, "ranks 0 and 1 differ in call 0: its count"},
    {other_type, "ranks 0 and 1 differ in call 0: its type"},
    {other_operation, "ranks 0 and 1 differ in call 0: its operation"},
    {other_root, "ranks 0 and 1 differ in call 0: its root"},
    {other_order, "ranks 0 and 1 differ in call 0: its function"},
    {other_group, "ranks 0 and 1 differ in call 0: its group"},
    {group_not_ended, "rank 0 waits for ever in a all-reduce"},
    {group_not_begun, "a group is ended that was not begun"},
    {one_rank_alone, "rank 0 waits for ever in a all-reduce"},
    {default_stream, "queues on the default stream"},
    {stream_of_another_device, "queues on a stream of another device"},
    {two_streams, "queues on two streams at once"},
    {captured_stream, "queues on a stream that is captured"},
    {host_memory, "gives bytes that are not all in a block of its device"},
    {beyond_the_block, "gives bytes that are not all in a block of its device"},
    {freed_in_flight, "frees memory that queued work uses"},
    {destroyed_in_flight, "destroys a communicator that has work"},
    {destroyed_after_an_error, "rank 0 waits for ever in a all-reduce"},
    {waits_behind_an_error, "waits for ever for its stream"},
    {message_outside_a_group, "waits for ever in a send"},
    {message_of_another_length, "rank 0 sends 8 bytes, rank 1 expects 9"},
};

static ncclUniqueId id;

static enum hc_status make(struct hc_comm *comm, void *context)
{
    const struct mistake *m = context;
    struct caller c = {.rank = comm->rank};
    (void)cudaSetDevice(comm->rank);
    (void)cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking);
    (void)cudaMalloc((void **)&c.data, 800);
    memset(c.data, 0, 800);
    if (ncclCommInitRank(&c.nccl, 2, id, comm->rank) != ncclSuccess)
        return hc_fail(HC_DEVICE, "no communicator");
    m->make(&c);
    (void)cudaStreamQuery(c.stream);
    return HC_OK;
}

static void expect_finding(const struct mistake *m)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)setenv("HALFCHECK_PATIENCE", "200", 1);
        use_standin(NULL);
        (void)ncclGetUniqueId(&id);
        enum hc_status made = hc_comm_threads(2, make, (void *)m);
        const char *got = hc_standin_nccl_finding();
        bool right = made == HC_OK && (*m->finding ? strstr(got, m->finding) != NULL : !*got);
        if (!right)
            (void)fprintf(stderr, "want '%s', got '%s'\n", m->finding, got);
        _exit(!right);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0, "%s", m->finding);
}

Test(standin_nccl, each_mistake_is_found)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        expect_finding(&mistakes[i]);
}

static enum hc_status join_twice(struct hc_comm *comm, void *context)
{
    ncclComm_t nccl;
    (void)context;
    (void)cudaSetDevice(comm->rank);
    return ncclCommInitRank(&nccl, 2, id, 0) == ncclSuccess ? HC_OK
                                                            : hc_fail(HC_DEVICE, "no communicator");
}

Test(standin_nccl, a_rank_that_joins_twice_is_found)
{
    use_standin(NULL);
    (void)ncclGetUniqueId(&id);
    cr_expect_eq(hc_comm_threads(2, join_twice, NULL), HC_DEVICE);
    cr_expect_str_eq(hc_standin_nccl_finding(), "rank 0 of 2 does not fit into a clique of 2");
}

#endif
