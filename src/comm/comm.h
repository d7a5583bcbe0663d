/* Ranks: the processes, or threads, that work on one job together.

   halfcheck has no engine of its own to start processes or to move bytes between them. It stands on
   what a cluster has: MPI (Open MPI, from the plug-in halfcheck-mpi.so) started by mpirun or Slurm,
   and NCCL where gradients lie on GPUs. This header is the small table that they fill in. Two
   more implementations need neither: `self`, one rank alone, and `threads`, ranks that are threads
   of one process, by which cases and tests have as many ranks as they like without MPI.

   Every call here is collective, unless it says otherwise: all ranks make the same calls in the
   same order, from one thread each, and a call returns when its own part is done. Bytes arrive as
   they were sent. No call allocates memory that it returns.

   Numerics are not here. In which order a sum is taken is what all_reduce.h states, on top of
   `send_receive`; only `sum_anyhow` leaves the order to the library, and says so. */
#ifndef HC_COMM_COMM_H
#define HC_COMM_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "op/status.h"
#include "num/format.h"

/* Grows with every change of this header. A plug-in of another version is refused. */
#define HC_COMM_ABI 1u

struct hc_comm;

/* One implementation. All functions get the comm that `open` filled in. Statuses are HC_OK,
   HC_DEVICE (the library failed, or a rank is lost: the line names it) or HC_NO_MEMORY. */
struct hc_comm_kind {
    unsigned abi;
    const char *name;  /* self, threads, mpi, nccl */
    const char *title; /* "Open MPI 4.1.4": for doctor and records */

    void (*close)(struct hc_comm *comm);

    /* Sends out_bytes to rank `to` while in_bytes come from rank `from`; either may be -1 for none,
       and both may be this rank itself. Both sides must agree on the number of bytes. It cannot
       deadlock where every send has its receive, whatever the sizes. Not collective. */
    enum hc_status (*send_receive)(struct hc_comm *comm, int to, const void *out, size_t out_bytes,
                                   int from, void *in, size_t in_bytes);

    /* all[r * bytes ..] is what rank r had in `mine`. `mine` may lie in its place in `all`. */
    enum hc_status (*all_gather)(struct hc_comm *comm, const void *mine, size_t bytes, void *all);

    /* data of rank `root` to everybody. */
    enum hc_status (*broadcast)(struct hc_comm *comm, int root, void *data, size_t bytes);

    enum hc_status (*barrier)(struct hc_comm *comm);

    /* The library's own all-reduce, in an order that nobody states: data[i] becomes the sum over
       ranks, in place, on all ranks the same bits or not, as the library likes. HC_UNSUPPORTED for
       formats that it does not add. NULL: it has none. */
    enum hc_status (*sum_anyhow)(struct hc_comm *comm, enum hc_format format, void *data,
                                 int64_t count);

    /* Ends the job on all ranks, with that exit status, after this rank has said why. Not
       collective; does not return, except in `threads`, whose calls fail from then on. */
    void (*abort)(struct hc_comm *comm, int exit_status);
};

struct hc_comm {
    const struct hc_comm_kind *kind;
    int rank; /* 0.. */
    int size; /* 1.. */
    void *self;
};

/* One rank alone, always there, never closed. */
struct hc_comm *hc_comm_self(void);

/* Ranks in threads of this process: runs work(comm, context) on `size` threads at once, and returns
   when all have returned. The status is that of the lowest rank that failed, with its line; when
   one returns another status than HC_OK, or aborts, the calls of the others fail instead of waiting
   for it. HC_NO_MEMORY. size is 1 to HC_MAX_THREAD_RANKS. */
enum { HC_MAX_THREAD_RANKS = 64 };
typedef enum hc_status hc_comm_work(struct hc_comm *comm, void *context);
enum hc_status hc_comm_threads(int size, hc_comm_work *work, void *context);

/* The comm of this process: what mpirun or Slurm started it in, or `self` if it was started alone.
   Opened by the first call, which main makes (it may change the command line's process, not its
   words), closed by hc_comm_end. NULL with a line if the process was started as one of several and
   halfcheck-mpi.so is missing or refuses. The environment says so: OMPI_COMM_WORLD_SIZE, PMI_SIZE
   or SLURM_NTASKS above 1 with SLURM_PROCID and SLURM_STEP_ID; HALFCHECK_COMM=self overrides,
   and another word is refused. */
struct hc_comm *hc_comm_world(void);
void hc_comm_end(int exit_status);

/* Says that there is a checkpoint: from now on, the line about a lost rank says that the run can be
   resumed. A job of one rank prints nothing about it. */
void hc_comm_can_resume(void);

/* Short forms; those of size 1 do nothing. hc_comm_max gives the largest of all ranks' numbers (NaN
   if one is). */
enum hc_status hc_comm_send_receive(struct hc_comm *comm, int to, const void *out, size_t out_bytes,
                                    int from, void *in, size_t in_bytes);
enum hc_status hc_comm_all_gather(struct hc_comm *comm, const void *mine, size_t bytes, void *all);
enum hc_status hc_comm_broadcast(struct hc_comm *comm, int root, void *data, size_t bytes);
enum hc_status hc_comm_barrier(struct hc_comm *comm);
enum hc_status hc_comm_max(struct hc_comm *comm, double mine, double *most);

#endif
