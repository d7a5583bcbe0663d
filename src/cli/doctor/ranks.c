/* What several ranks need: the plug-in, the MPI that it was built with, and a program that starts
   them. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "comm/plugin.h"

static const char costs[] =
    "run, train and compare work in one process; ranks of train --ranks are "
    "threads of it";

static bool is_on_path(const char *program)
{
    const char *folder = getenv("PATH");
    char path[4096];
    while (folder && *folder) {
        size_t length = strcspn(folder, ":");
        (void)snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, program);
        if (length > 0 && access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

void hc_doctor_ranks(struct hc_doctor *doctor)
{
    static const char *const starters[] = {"mpirun", "srun", "mpiexec"};
    char path[4096];
    char found[512];
    const char *starter = NULL;
    const struct hc_comm_plugin *plugin = hc_comm_plugin_mpi(path, sizeof path);
    for (int i = 2; i >= 0; i--)
        if (is_on_path(starters[i]))
            starter = starters[i];
    if (!plugin)
        hc_doctor_tell(doctor, HC_HEALTH_MISSING, "mpi", hc_message(), costs,
                       "apt-get install openmpi-bin libopenmpi-dev, and build again");
    else if (!starter)
        hc_doctor_tell(doctor, HC_HEALTH_MISSING, "mpi",
                       "neither mpirun nor srun is on the PATH, by which ranks are started", costs,
                       "apt-get install openmpi-bin");
    else {
        (void)snprintf(found, sizeof found, "%s; %s is here to start ranks", plugin->kind->title,
                       starter);
        hc_doctor_tell(doctor, HC_HEALTH_OK, "mpi", found, NULL, NULL);
    }
}
