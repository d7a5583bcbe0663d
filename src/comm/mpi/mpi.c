/* The comm over MPI: waiting beside other programs and for ranks that may be lost, and the calls.
   */
#include <assert.h>
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "comm/plugin.h"

/* Waiting for MPI, with other programs on the same cores, and with ranks that may be lost. */

/* This process's part: what `self` of its comm points to. */
struct hc_mpi {
    MPI_Comm world; /* our own copy, whose messages no other library takes for its own */
    const struct hc_comm_services *services;
};

/* MPI_Wait would spin. Ranks wait for each other in every step of a training, and where they share
   cores, or their own threads need them, the one who spins takes the core from the one that it
   waits for. So we look whether a request is done, more and more seldom. */

enum {
    LOOKS_AT_ONCE = 2000,  /* then the core is given away between two looks */
    LOOKS_BETWEEN = 256,   /* from one look for ended ranks to the next */
    PATIENCE = 3,          /* seconds from a rank's end, for what it sent before */
    NAP = 50000,           /* nanoseconds */
    NAP_AFTER_ERROR = 5000 /* milliseconds */
};

static void nap(long nanoseconds)
{
    const struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    (void)nanosleep(&time, NULL);
}

/* HC_DEVICE, with a line, for a status of MPI other than MPI_SUCCESS. A library's error is often
   the end of another rank, which the watch finds out, too, and says by name before it ends this
   process: it is given the time for that. */
static enum hc_status mpi_status(const struct hc_mpi *mpi, const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return HC_OK;
    (void)MPI_Error_string(code, text, &length);
    nap(NAP_AFTER_ERROR * 1000000L);
    return mpi->services->fail(HC_DEVICE, "%s: %s", what, text);
}

static bool is_in_vain(const struct hc_mpi *mpi, int count, const MPI_Request *requests,
                       const int *peers)
{
    bool ended = false;
    for (int i = 0; i < count; i++)
        ended |= requests[i] != MPI_REQUEST_NULL && mpi->services->has_ended(peers[i]);
    return ended;
}

/* The first error among the requests, where MPI says that it is in their statuses. */
static int error_in(int code, int count, const MPI_Status *statuses)
{
    for (int i = 0; i < count && code == MPI_ERR_IN_STATUS; i++)
        if (statuses[i].MPI_ERROR != MPI_SUCCESS && statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            return statuses[i].MPI_ERROR;
    return code;
}

/* Waits until all requests are done. peers[i] is the rank that request i is for, -1 for all. */
static enum hc_status mpi_wait(const struct hc_mpi *mpi, const char *what, int count,
                               MPI_Request *requests, MPI_Status *statuses, const int *peers)
{
    int done = 0;
    double ended = 0;
    for (long looks = 0; !done; looks++) {
        int code = error_in(MPI_Testall(count, requests, &done, statuses), count, statuses);
        int class = MPI_SUCCESS;
        if (code != MPI_SUCCESS)
            (void)MPI_Error_class(code, &class);
        assert(class != MPI_ERR_TRUNCATE); /* the sides disagree on the size */
        if (code != MPI_SUCCESS)
            return mpi_status(mpi, what, code);
        if (!done && looks % LOOKS_BETWEEN == 0 && is_in_vain(mpi, count, requests, peers)) {
            if (ended == 0)
                ended = MPI_Wtime();
            if (MPI_Wtime() - ended > PATIENCE)
                return mpi->services->fail(HC_DEVICE, "a rank has ended while another waits for "
                                                      "it");
        }
        if (!done && looks < LOOKS_AT_ONCE)
            (void)sched_yield();
        else if (!done)
            nap(NAP);
    }
    return HC_OK;
}

/* Ranks that are processes of an MPI job. Open MPI 4 is what this is tested with; every call is of
   MPI 3. */

/* MPI counts bytes by int. What is longer goes in pieces of this size; a test has smaller ones. */
#ifndef HC_MPI_PIECE
#define HC_MPI_PIECE ((size_t)1 << 30)
#endif

enum { TAG = 1 };

static const struct hc_mpi *mpi_of(const struct hc_comm *comm)
{
    return comm->self;
}

static int piece_of(size_t bytes, size_t done)
{
    size_t left = bytes - done;
    return (int)(left < HC_MPI_PIECE ? left : HC_MPI_PIECE);
}

/* Sends the next piece of one, receives the next piece of the other, and waits for both. An empty
   letter is one piece of no bytes. */
static enum hc_status exchange(const struct hc_mpi *mpi, int to, const void *out, int out_bytes,
                               int from, void *in, int in_bytes)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    const int peers[2] = {from, to};
    int code = MPI_SUCCESS;
    int got = 0;
    if (from >= 0)
        code = MPI_Irecv(in, in_bytes, MPI_BYTE, from, TAG, mpi->world, &requests[0]);
    if (code == MPI_SUCCESS && to >= 0)
        code = MPI_Isend(out, out_bytes, MPI_BYTE, to, TAG, mpi->world, &requests[1]);
    enum hc_status status = mpi_status(mpi, "send and receive", code);
    if (status == HC_OK)
        status = mpi_wait(mpi, "send and receive", 2, requests, statuses, peers);
    if (status == HC_OK && from >= 0) {
        (void)MPI_Get_count(&statuses[0], MPI_BYTE, &got);
        assert(got == in_bytes); /* the sides disagree on the size */
    }
    return status;
}

static enum hc_status send_receive(struct hc_comm *comm, int to, const void *out, size_t out_bytes,
                                   int from, void *in, size_t in_bytes)
{
    size_t sent = 0;
    size_t received = 0;
    enum hc_status status = HC_OK;
    while ((to >= 0 || from >= 0) && status == HC_OK) {
        int out_piece = to >= 0 ? piece_of(out_bytes, sent) : 0;
        int in_piece = from >= 0 ? piece_of(in_bytes, received) : 0;
        status = exchange(mpi_of(comm), to, (const char *)out + sent, out_piece, from,
                          (char *)in + received, in_piece);
        sent += (size_t)out_piece;
        received += (size_t)in_piece;
        if (sent == out_bytes)
            to = -1;
        if (received == in_bytes)
            from = -1;
    }
    return status;
}

static enum hc_status wait_for_all(const struct hc_mpi *mpi, const char *what, int code,
                                   MPI_Request request)
{
    MPI_Status ignored;
    const int all = -1;
    enum hc_status status = mpi_status(mpi, what, code);
    return status == HC_OK ? mpi_wait(mpi, what, 1, &request, &ignored, &all) : status;
}

/* Round a ring: each passes on what it got last. */
static enum hc_status gather_long(struct hc_comm *comm, size_t bytes, char *all)
{
    int size = comm->size;
    enum hc_status status = HC_OK;
    for (int d = 0; d < size - 1 && status == HC_OK; d++) {
        size_t out = (size_t)((comm->rank + size - d) % size);
        size_t in = (size_t)((comm->rank + 2 * size - d - 1) % size);
        status = send_receive(comm, (comm->rank + 1) % size, all + out * bytes, bytes,
                              (comm->rank + size - 1) % size, all + in * bytes, bytes);
    }
    return status;
}

static enum hc_status all_gather(struct hc_comm *comm, const void *mine, size_t bytes, void *all)
{
    const struct hc_mpi *mpi = mpi_of(comm);
    MPI_Request request;
    char *place = (char *)all + (size_t)comm->rank * bytes;
    if (bytes && mine != place)
        memmove(place, mine, bytes);
    if (bytes > HC_MPI_PIECE / (size_t)comm->size)
        return gather_long(comm, bytes, all);
    int code = MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)bytes, MPI_BYTE,
                              mpi->world, &request);
    return wait_for_all(mpi, "all-gather", code, request);
}

static enum hc_status broadcast(struct hc_comm *comm, int root, void *data, size_t bytes)
{
    const struct hc_mpi *mpi = mpi_of(comm);
    enum hc_status status = HC_OK;
    size_t done = 0;
    do {
        MPI_Request request;
        int piece = piece_of(bytes, done);
        int code = MPI_Ibcast((char *)data + done, piece, MPI_BYTE, root, mpi->world, &request);
        status = wait_for_all(mpi, "broadcast", code, request);
        done += (size_t)piece;
    } while (done < bytes && status == HC_OK);
    return status;
}

static enum hc_status barrier(struct hc_comm *comm)
{
    const struct hc_mpi *mpi = mpi_of(comm);
    MPI_Request request;
    int code = MPI_Ibarrier(mpi->world, &request);
    return wait_for_all(mpi, "barrier", code, request);
}

static enum hc_status sum_anyhow(struct hc_comm *comm, enum hc_format format, void *data,
                                 int64_t count)
{
    const struct hc_mpi *mpi = mpi_of(comm);
    enum hc_status status = HC_OK;
    size_t width = format == HC_FP64 ? sizeof(double) : sizeof(float);
    if (format != HC_FP64 && format != HC_FP32)
        return mpi->services->fail(HC_UNSUPPORTED, "MPI adds fp32 and fp64 alone");
    for (size_t done = 0; done < (size_t)count && status == HC_OK;) {
        MPI_Request request;
        int piece = piece_of((size_t)count, done);
        int code = MPI_Iallreduce(MPI_IN_PLACE, (char *)data + done * width, piece,
                                  format == HC_FP64 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, mpi->world,
                                  &request);
        status = wait_for_all(mpi, "all-reduce", code, request);
        done += (size_t)piece;
    }
    return status;
}

static void close_it(struct hc_comm *comm)
{
    struct hc_mpi *mpi = comm->self;
    (void)MPI_Comm_free(&mpi->world);
    (void)MPI_Finalize();
}

static void abort_job(struct hc_comm *comm, int exit_status)
{
    (void)fflush(stdout);
    mpi_of(comm)->services->end_job(exit_status);
    (void)MPI_Abort(MPI_COMM_WORLD, exit_status);
}

static char title[128];

static const struct hc_comm_kind kind = {
    .abi = HC_COMM_ABI,
    .name = "mpi",
    .title = title,
    .close = close_it,
    .send_receive = send_receive,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .barrier = barrier,
    .sum_anyhow = sum_anyhow,
    .abort = abort_job,
};

/* Open MPI loads parts of its own, which are not linked with it and, before it opened itself again
   for them, found its functions only if all could see them. */
static void show_library(const char *file)
{
    (void)dlopen(file, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

static enum hc_status open_world(struct hc_comm *comm, const struct hc_comm_services *services)
{
    static struct hc_mpi mpi;
    int provided = 0;
    mpi.services = services;
    show_library(services->file);
    /* The call comes from one thread at a time, though perhaps not always from the same. */
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_dup(MPI_COMM_WORLD, &mpi.world);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(mpi.world, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(mpi.world, &comm->rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(mpi.world, &comm->size);
    comm->kind = &kind;
    comm->self = &mpi;
    return mpi_status(&mpi, "start", code);
}

static const struct hc_comm_plugin plugin = {HC_COMM_ABI, &kind, open_world};

/* "Open MPI v4.1.4, package: Debian OpenMPI, ident: ..." and, of MPICH, lines of text: what stands
   first says which it is. */
hc_comm_plugin_entry hc_comm_plugin;
const struct hc_comm_plugin *hc_comm_plugin(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    (void)MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    (void)snprintf(title, sizeof title, "%.100s", text);
    return &plugin;
}
