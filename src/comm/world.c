#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "comm/plugin.h"
#include "comm/started.h"
#include "comm/watch/watch.h"

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

static struct hc_comm *open_world(const struct hc_started *started)
{
    static char path[4096];
    static struct hc_comm_services services;
    if (hc_watch_begin(started) != HC_OK || !is_chosen_well())
        return NULL;
    const struct hc_comm_plugin *plugin = hc_comm_plugin_mpi(path, sizeof path);
    services = (struct hc_comm_services){hc_fail, path, hc_watch_has_ended, end_job};
    if (!plugin || plugin->open(&world, &services) != HC_OK)
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
