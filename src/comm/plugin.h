/* What a plug-in with a comm exports: halfcheck-mpi.so, which is linked with the MPI of the machine
   that it was built on, so that the program itself needs none. */
#ifndef HC_COMM_PLUGIN_H
#define HC_COMM_PLUGIN_H

#include <stdbool.h>

#include "comm/comm.h"

/* What the program does for a plug-in. A plug-in's own copy of hc_fail would keep its lines to
   itself. */
struct hc_comm_services {
    enum hc_status (*fail)(enum hc_status status, const char *format, ...);
    const char *file; /* the plug-in's own path */

    /* Whether the rank (-1: some rank) has ended its work. Who waits for it then waits in vain. */
    bool (*has_ended)(int rank);

    /* Ends this process, and with it the job. Does not return, unless it cannot. */
    void (*end_job)(int exit_status);
};

struct hc_comm_plugin {
    unsigned abi; /* HC_COMM_ABI: of another version nothing else is read */
    const struct hc_comm_kind *kind;

    /* Joins the job and fills in the comm. The services outlive it. */
    enum hc_status (*open)(struct hc_comm *comm, const struct hc_comm_services *services);
};

/* The plug-in exports a function of this type under the name hc_comm_plugin. */
typedef const struct hc_comm_plugin *hc_comm_plugin_entry(void);

/* Loads the shared object, which stays loaded. NULL with a line if it cannot be read, is cut short,
   is refused by the loader, is no such plug-in or of another version, or lacks a function. */
const struct hc_comm_plugin *hc_comm_plugin_load(const char *path);

/* halfcheck-mpi.so: the file that HALFCHECK_MPI_PLUGIN names, or the one that was built or
   installed with the program, whose path is written to `path`. NULL with a line if there is
   none. */
const struct hc_comm_plugin *hc_comm_plugin_mpi(char *path, size_t size);

#endif
