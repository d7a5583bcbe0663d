#include <stdlib.h>

#include "comm/plugin.h"
#include "comm/started.h"

static struct hc_comm world;
static bool is_open;

static bool has_ended(int rank)
{
    (void)rank;
    return false;
}

static void end_job(int exit_status)
{
    (void)exit_status;
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

static struct hc_comm *open_world(const struct hc_started *started)
{
    static char path[4096];
    static struct hc_comm_services services;
    const struct hc_comm_plugin *plugin = hc_comm_plugin_mpi(path, sizeof path);
    services = (struct hc_comm_services){hc_fail, path, has_ended, end_job};
    if (!plugin || plugin->open(&world, &services) != HC_OK)
        return NULL;
    is_open = true;
    /* What this process starts is no rank. */
    return setenv("HALFCHECK_COMM", "self", 1) == 0 ? checked(started) : NULL;
}

struct hc_comm *hc_comm_world(void)
{
    static bool asked;
    static struct hc_comm *found;
    if (!asked) {
        struct hc_started started = hc_started();
        found = started.size == 1 ? hc_comm_self() : open_world(&started);
        asked = true;
    }
    return found;
}

void hc_comm_end(int exit_status)
{
    (void)exit_status;
    if (is_open)
        world.kind->close(&world);
    is_open = false;
}
