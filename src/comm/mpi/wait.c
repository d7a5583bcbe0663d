/* MPI_Wait would spin. Ranks wait for each other in every step of a training, and where they share
   cores, or their own threads need them, the one who spins takes the core from the one that it
   waits for. So we look whether a request is done, more and more seldom. */
#include "comm/mpi/wait.h"

#include <assert.h>
#include <sched.h>
#include <string.h>
#include <time.h>

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

/* A library's error is often the end of another rank, which the watch finds out, too, and says by
   name before it ends this process: it is given the time for that. */
enum hc_status hc_mpi_status(const struct hc_mpi *mpi, const char *what, int code)
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

enum hc_status hc_mpi_wait(const struct hc_mpi *mpi, const char *what, int count,
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
            return hc_mpi_status(mpi, what, code);
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
