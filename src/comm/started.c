#include "comm/started.h"

#include <stdlib.h>
#include <string.h>

/* The variables of a starter. `hosts` counts hosts where `local` is NULL; else the ranks on this
   host are counted by `local`. `also` must be set, if it is not NULL. */
struct starter {
    const char *name;
    const char *size;
    const char *rank;
    const char *local;
    const char *hosts;
    const char *also;
};

/* A script of sbatch has SLURM_NTASKS, but is no step: there SLURM_STEP_ID is not set. In the shell
   of salloc, which may be a step, SLURM_STEP_NUM_TASKS is 1. */
static const struct starter starters[] = {
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL,
     NULL},
    {"the starter of PMI", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", NULL, NULL},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", NULL, "SLURM_STEP_NUM_NODES", "SLURM_STEP_ID"},
    {"srun", "SLURM_NTASKS", "SLURM_PROCID", NULL, "SLURM_NNODES", "SLURM_STEP_ID"},
};

/* The number in the variable, or -1. */
static int number_in(const char *variable)
{
    const char *text = variable ? getenv(variable) : NULL;
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : -1;
    return text && end != text && !*end && value >= 0 && value < 1 << 24 ? (int)value : -1;
}

struct hc_started hc_started(void)
{
    struct hc_started alone = {.size = 1, .rank = 0, .on_one_host = true, .starter = ""};
    const char *chosen = getenv("HALFCHECK_COMM");
    if (chosen && strcmp(chosen, "self") == 0)
        return alone;
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
        const struct starter *s = &starters[i];
        int size = number_in(s->size);
        int rank = number_in(s->rank);
        if (size < 1 || rank < 0 || rank >= size || (s->also && !getenv(s->also)))
            continue;
        bool one_host = s->local ? number_in(s->local) == size : number_in(s->hosts) == 1;
        return size == 1 ? alone : (struct hc_started){size, rank, one_host, s->name};
    }
    return alone;
}
