/* Ranks: one alone, the calls that all kinds of comm share, and the comm of the job that this
   process was started in. */
#include "comm/comm.h"

#include <assert.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "comm/plugin.h"
#include "comm/started.h"
#include "comm/watch/watch.h"

/* One rank alone. Bytes that it sends, it gets. */

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

/* One rank has nothing to wait for: whatever its kind, memory moves as in `self`. */
static struct hc_comm *chosen(struct hc_comm *comm)
{
    return comm->size == 1 ? hc_comm_self() : comm;
}

enum hc_status hc_comm_send_receive(struct hc_comm *comm, int to, const void *out, size_t out_bytes,
                                    int from, void *in, size_t in_bytes)
{
    assert(to >= -1 && to < comm->size && from >= -1 && from < comm->size);
    assert((to == comm->rank) == (from == comm->rank));
    comm = chosen(comm);
    return comm->kind->send_receive(comm, to, out, out_bytes, from, in, in_bytes);
}

enum hc_status hc_comm_all_gather(struct hc_comm *comm, const void *mine, size_t bytes, void *all)
{
    comm = chosen(comm);
    return comm->kind->all_gather(comm, mine, bytes, all);
}

enum hc_status hc_comm_broadcast(struct hc_comm *comm, int root, void *data, size_t bytes)
{
    assert(root >= 0 && root < comm->size);
    comm = chosen(comm);
    return comm->kind->broadcast(comm, root, data, bytes);
}

enum hc_status hc_comm_barrier(struct hc_comm *comm)
{
    comm = chosen(comm);
    return comm->kind->barrier(comm);
}

/* The order is total, so that all ranks get the same bits: -0 is below 0, and a NaN, of which only
   one kind comes out, is above everything. */
static double larger_in_order(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (double)NAN;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

/* After the round of distance d a rank knows the largest of the 2 d ranks up to itself. Rounds may
   see a rank twice, which changes no maximum. */
enum hc_status hc_comm_max(struct hc_comm *comm, double mine, double *most)
{
    double known = larger_in_order(mine, mine);
    enum hc_status status = HC_OK;
    for (int d = 1; d < comm->size && status == HC_OK; d *= 2) {
        double other = known;
        int to = (comm->rank + d) % comm->size;
        int from = (comm->rank + comm->size - d) % comm->size;
        status = hc_comm_send_receive(comm, to, &known, sizeof known, from, &other, sizeof other);
        known = larger_in_order(known, other);
    }
    *most = known;
    return status;
}

static struct hc_comm world;
static bool is_open;

/* Where there is a guard, it ends the job when this process ends before it has done its work. */
static void end_job(int exit_status)
{
    if (hc_watch_is_on())
        _exit(exit_status == 0 ? 2 : exit_status);
}

/* A library of another kind than the starter takes each process for a job of its own. All would
   then be rank 0, and write the same files. */
static struct hc_comm *checked(const struct hc_started *started)
{
    if (world.size == started->size && world.rank == started->rank)
        return &world;
    (void)hc_fail(HC_DEVICE,
                  "%s has started %d processes, of which %s knows %d: it must be the same MPI%s",
                  started->starter, started->size, world.kind->title, world.size,
                  started->starter[0] == 's' ? " (srun --mpi=list shows what srun can)" : "");
    return NULL;
}

/* A misspelt variable must not be passed over. One that is empty is not set. */
static bool is_chosen_well(void)
{
    const char *chosen = getenv("HALFCHECK_COMM");
    if (!chosen || !*chosen || strcmp(chosen, "self") == 0)
        return true;
    (void)hc_fail(HC_INVALID, "HALFCHECK_COMM is '%s'; it can only be 'self'", chosen);
    return false;
}

/* Loads MPI and joins the job. What asks a process to end does afterwards what it did before: UCX,
   a library of Open MPI, keeps SIGHUP for itself, and a rank would live on. */
static enum hc_status join_job(void)
{
    static const int requests[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    enum { REQUESTS = sizeof requests / sizeof *requests };
    static char path[4096];
    static struct hc_comm_services services;
    struct sigaction before[REQUESTS];
    for (int i = 0; i < REQUESTS; i++)
        (void)sigaction(requests[i], NULL, &before[i]);
    const struct hc_comm_plugin *plugin = hc_comm_plugin_mpi(path, sizeof path);
    services = (struct hc_comm_services){hc_fail, path, hc_watch_has_ended, end_job};
    enum hc_status status = plugin ? plugin->open(&world, &services) : HC_INVALID;
    for (int i = 0; i < REQUESTS; i++)
        (void)sigaction(requests[i], &before[i], NULL);
    return status;
}

static struct hc_comm *open_world(const struct hc_started *started)
{
    if (hc_watch_begin(started) != HC_OK || !is_chosen_well() || join_job() != HC_OK)
        return NULL;
    is_open = true;
    /* What this process starts is no rank. */
    if (setenv("HALFCHECK_COMM", "self", 1) != 0)
        return NULL;
    return checked(started) && hc_watch_join(&world) == HC_OK ? &world : NULL;
}

struct hc_comm *hc_comm_world(void)
{
    static bool asked;
    static struct hc_comm *found;
    if (!asked) {
        const struct timespec moment = {5, 0};
        struct hc_started started = hc_started();
        if (started.size > 1)
            found = open_world(&started);
        else
            found = is_chosen_well() ? hc_comm_self() : NULL;
        /* What all ranks lack is said by all. If the first is the first to end, the others are
           ended before they say it, too. */
        if (!found && started.rank > 0)
            (void)nanosleep(&moment, NULL);
        asked = true;
    }
    return found;
}

void hc_comm_can_resume(void)
{
    hc_watch_can_resume();
}

void hc_comm_end(int exit_status)
{
    if (!is_open)
        return;
    is_open = false;
    (void)fflush(stdout);
    if (hc_watch_end(exit_status))
        world.kind->close(&world);
    else
        _exit(exit_status);
}
