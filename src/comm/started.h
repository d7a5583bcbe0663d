/* How this process was started: alone, or as one of several. */
#ifndef HC_COMM_STARTED_H
#define HC_COMM_STARTED_H

#include <stdbool.h>

struct hc_started {
    int size; /* 1: alone */
    int rank;
    bool on_one_host;    /* all ranks are known to be on the same */
    const char *starter; /* "mpirun", "srun", ... */
};

/* As the environment says. */
struct hc_started hc_started(void);

#endif
