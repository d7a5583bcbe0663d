/* The plug-in's code on a stand-in for NCCL, which finds wrong calls and fails on demand
   (kernels/cuda/standin/nccl). `mutants` runs this program on plug-ins with planted faults. */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HC_NCCL_PLUGIN

#include "comm/nccl/testing.h"

#define EXPECT(held, what)                                                                         \
    do {                                                                                           \
        if (!(held))                                                                               \
            return hc_fail(HC_INVALID, "line %d: %s", __LINE__, what);                             \
    } while (0)

/* Small integers, whose sums are exact in every order and format. */
static double integer(int rank, int i)
{
    return (rank + 1) * (i % 5 - 2);
}

static double total(int size, int i)
{
    return size * (size + 1) / 2.0 * (i % 5 - 2);
}

static void put(char *data, enum hc_format format, int i, double value)
{
    uint64_t bits = hc_encode(format, value, 0, HC_NEAREST);
    size_t bytes = (size_t)hc_formats[format].bytes;
    memcpy(data + (size_t)i * bytes, &bits, bytes);
}

static double get(const char *data, enum hc_format format, int i)
{
    uint64_t bits = 0;
    size_t bytes = (size_t)hc_formats[format].bytes;
    memcpy(&bits, data + (size_t)i * bytes, bytes);
    return hc_decode(format, bits);
}

/* Two buckets with a gap, of which nothing is touched. */
static enum hc_status sum_two(struct bench_rank *r, enum hc_format format)
{
    size_t bytes = (size_t)hc_formats[format].bytes;
    struct hc_device_span spans[] = {{r->data, 33}, {r->data, 0}, {r->data + 40 * bytes, 60}};
    for (int i = 0; i < NUMBERS; i++)
        put(r->data, format, i, integer(r->comm->rank, i));
    enum hc_status status = r->kind->sum(r->device, r->stream, format, spans, 3);
    if (status == HC_OK)
        status = r->kind->wait(r->device, r->stream);
    for (int i = 0; i < NUMBERS && status == HC_OK; i++) {
        bool summed = i < 33 || i >= 40;
        double want = summed ? total(r->comm->size, i) : integer(r->comm->rank, i);
        EXPECT(get(r->data, format, i) == want, "a sum is wrong");
    }
    return status;
}

static enum hc_status sums_are_right(struct hc_comm *comm, void *context)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16, HC_FP64};
    struct bench_rank r;
    enum hc_status status = take_and_open(&r, comm, comm->rank);
    (void)context;
    for (int f = 0; f < 4 && status == HC_OK; f++)
        status = sum_two(&r, formats[f]);
    if (status == HC_OK) {
        struct hc_device_span span = {r.data, 3};
        EXPECT(r.kind->sum(r.device, r.stream, HC_E4M3, &span, 1) == HC_UNSUPPORTED,
               "it adds e4m3");
    }
    give_back(&r);
    return status;
}

static enum hc_status bytes_arrive(struct hc_comm *comm, void *context)
{
    struct bench_rank r;
    int size = comm->size;
    enum hc_status status = take_and_open(&r, comm, comm->rank);
    (void)context;
    for (int root = 0; root < size && status == HC_OK; root++) {
        memset(r.data, comm->rank == root ? 'a' + root : 0, NUMBERS);
        status = r.kind->broadcast(r.device, r.stream, root, r.data, NUMBERS);
        if (status == HC_OK)
            status = r.kind->wait(r.device, r.stream);
        EXPECT(status != HC_OK || r.data[NUMBERS - 1] == 'a' + root, "a broadcast is wrong");
    }
    if (status == HC_OK)
        status = r.kind->send_receive(r.device, r.stream, size - 1 - comm->rank, r.data, 0,
                                      size - 1 - comm->rank, r.more, 0);
    for (int d = 0; d < size && status == HC_OK; d++) {
        int to = (comm->rank + d) % size;
        int from = (comm->rank + size - d) % size;
        memset(r.data, '0' + comm->rank, NUMBERS);
        status =
            r.kind->send_receive(r.device, r.stream, to, r.data, NUMBERS, from, r.more, NUMBERS);
        if (status == HC_OK)
            status = r.kind->wait(r.device, r.stream);
        EXPECT(status != HC_OK || r.more[NUMBERS - 1] == '0' + from, "a message is wrong");
    }
    give_back(&r);
    return status;
}

/* A line of ranks: the first only sends, the last only receives. */
static enum hc_status a_line_passes(struct hc_comm *comm, void *context)
{
    struct bench_rank r;
    int next = comm->rank + 1 < comm->size ? comm->rank + 1 : -1;
    enum hc_status status = take_and_open(&r, comm, comm->rank);
    (void)context;
    if (status != HC_OK)
        return status;
    memset(r.data, comm->rank == 0 ? 'x' : 0, NUMBERS);
    status = r.kind->send_receive(r.device, r.stream, -1, NULL, 0, comm->rank - 1, r.data,
                                  comm->rank > 0 ? NUMBERS : 0);
    if (status == HC_OK)
        status = r.kind->send_receive(r.device, r.stream, next, r.data, next >= 0 ? NUMBERS : 0, -1,
                                      NULL, 0);
    if (status == HC_OK)
        status = r.kind->wait(r.device, r.stream);
    EXPECT(status != HC_OK || r.data[0] == 'x', "the line broke");
    give_back(&r);
    return status;
}

static void expect_works(hc_comm_work *work)
{
    for (int size = 1; size <= 8; size *= 2) {
        use_standin(NULL);
        enum hc_status status = hc_comm_threads(size, work, NULL);
        cr_expect_eq(status, HC_OK, "%d ranks: %s", size, status == HC_OK ? "" : hc_message());
        cr_expect_str_empty(hc_standin_nccl_finding());
    }
}

Test(nccl, sums_vectors_of_all_ranks_in_place)
{
    expect_works(sums_are_right);
}

Test(nccl, broadcasts_and_exchanges_bytes)
{
    expect_works(bytes_arrive);
    expect_works(a_line_passes);
}

static enum hc_status is_late(struct hc_comm *comm, void *context)
{
    struct bench_rank r;
    enum hc_status status = take_and_open(&r, comm, comm->rank);
    (void)context;
    if (status != HC_OK)
        return status;
    struct hc_device_span span = {r.data, 1};
    put(r.data, HC_FP32, 0, 1);
    status = r.kind->sum(r.device, r.stream, HC_FP32, &span, 1);
    EXPECT(get(r.data, HC_FP32, 0) == 1, "a sum was there before the stream was waited for");
    if (status == HC_OK)
        status = r.kind->wait(r.device, r.stream);
    EXPECT(status != HC_OK || get(r.data, HC_FP32, 0) == 2, "a sum is not there");
    give_back(&r);
    return status;
}

Test(nccl, queues_its_work_and_returns)
{
    use_standin(NULL);
    cr_expect_eq(hc_comm_threads(2, is_late, NULL), HC_OK, "%s", hc_message());
    cr_expect_str_empty(hc_standin_nccl_finding());
}

/* A job, whose failures are wanted: each rank says its line, no rank hangs, and what the stand-in
   finds is nothing. */
struct failure {
    const char *standin;
    const char *line;
};

/* After a failure nothing more reaches NCCL. */
static enum hc_status stays_failed(struct bench_rank *r, enum hc_status status)
{
    char line[512];
    struct hc_device_span span = {r->data, 1};
    (void)snprintf(line, sizeof line, "%s", hc_message());
    EXPECT(r->kind->sum(r->device, r->stream, HC_FP32, &span, 1) == HC_DEVICE, "it goes on");
    return hc_fail(status, "%s", line);
}

static enum hc_status job(struct hc_comm *comm, void *context)
{
    struct bench_rank r;
    enum hc_status status = take_and_open(&r, comm, comm->rank);
    (void)context;
    for (int i = 0; i < 2 && status == HC_OK; i++)
        status = sum_two(&r, HC_FP32);
    if (status == HC_OK)
        status = r.kind->broadcast(r.device, r.stream, 0, r.data, NUMBERS);
    if (status == HC_OK)
        status = r.kind->send_receive(r.device, r.stream, 1 - comm->rank, r.data, NUMBERS,
                                      1 - comm->rank, r.more, NUMBERS);
    if (status == HC_OK)
        status = r.kind->wait(r.device, r.stream);
    else if (r.device)
        status = stays_failed(&r, status);
    if (r.kind)
        give_back(&r);
    return status;
}

/* In a process of its own, since the stand-in counts calls. */
static void expect_failure(const struct failure *want)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        use_standin(want->standin);
        enum hc_status got = hc_comm_threads(2, job, NULL);
        const char *line = got == HC_OK ? "" : hc_message();
        bool right = got == HC_DEVICE && strstr(line, want->line) && !*hc_standin_nccl_finding();
        if (!right)
            (void)fprintf(stderr, "%s: %d '%s' '%s'\n", want->standin, (int)got, line,
                          hc_standin_nccl_finding());
        _exit(!right);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0, "%s", want->standin);
}

Test(nccl, ends_each_failure_in_one_line_and_no_rank_hangs)
{
    static const struct failure failures[] = {
        {"cudaGetDevice:1=100", "no GPU: no CUDA-capable device is detected"},
        {"cudaDeviceGetPCIBusId:2=1", "no GPU: some error"},
        {"ncclGetVersion:1=3", "no version: some error"},
        {"nccl1=21208", "rank 1 on "},
        {"nccl1=21208", "NCCL is 2.12.8, needed 2.13"},
        {"nccl0=22304,nccl1=22403", "has NCCL 2.24.3, rank 0 has 2.23.4"},
        {"ncclGetUniqueId:1=2", "nccl: rank 0 makes an id: some error"},
        {"ncclCommInitRank:1=1", "nccl: meeting: "},
        {"ncclCommInitRank:2=1", "nccl: meeting: "},
        {"ncclGroupStart:2=3", "nccl: "},
        {"ncclGroupEnd:1=3", "nccl: "},
        {"ncclAllReduce:1=3", "nccl: "},
        {"ncclAllReduce:6=3", "nccl: "},
        {"ncclBroadcast:2=3", "nccl: "},
        {"ncclSend:2=3", "nccl: "},
        {"ncclRecv:1=3", "nccl: "},
        {"ncclCommGetAsyncError:1=3", "nccl: "},
        {"async=1", "nccl: while ranks exchanged numbers: remote process exited"},
        {"async=4", "nccl: while ranks exchanged numbers: remote process exited"},
        {"async=6", "nccl: while ranks exchanged numbers: remote process exited"},
        {"cudaStreamQuery:1=1", "nccl: "},
    };
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        expect_failure(&failures[i]);
}

static enum hc_status on_one_device(struct hc_comm *comm, void *context)
{
    struct bench_rank r;
    enum hc_status status = take_and_open(&r, comm, comm->rank == 2 ? 1 : comm->rank);
    (void)context;
    give_back(&r);
    return status;
}

Test(nccl, names_the_ranks_that_share_a_gpu)
{
    use_standin(NULL);
    cr_expect_eq(hc_comm_threads(4, on_one_device, NULL), HC_DEVICE);
    cr_expect_not_null(strstr(hc_message(), "nccl: ranks 1 and 2 on "), "%s", hc_message());
    cr_expect_not_null(strstr(hc_message(), " share the GPU 0000:01:00.0;"), "%s", hc_message());
    cr_expect_str_empty(hc_standin_nccl_finding());
}

#endif
