/* The guard of a rank: the process that mpirun or Slurm started. The rank itself is its child. So
   the rank may be killed or stopped, and there is still somebody who says so, who ends the job with
   the right exit status, and who is not held up by the rank's own troubles. */
#ifndef HC_COMM_WATCH_GUARD_H
#define HC_COMM_WATCH_GUARD_H

#include <signal.h>
#include <sys/types.h>

#include "comm/watch/peers.h"

/* What a rank tells its guard, in two bytes: what, and a value; and what it hears from it. */
enum {
    HC_RANK_LIVES = 'h',
    HC_RANK_HAS_TABLE = 't',  /* the shared table is complete; the answer is HC_GUARD_JOINED */
    HC_RANK_TRUSTS = 'm',     /* value 1: all guards are linked, from now on they count */
    HC_RANK_CAN_RESUME = 'c', /* a checkpoint has been written */
    HC_RANK_HAS_DONE = 'b',   /* value: its exit status; the answer is HC_GUARD_ALL_DONE */
    HC_GUARD_JOINED = 'j',    /* value 1: this guard is linked with whom it should be */
    HC_GUARD_ALL_DONE = 'e'
};

struct hc_guard {
    pid_t process; /* the rank */
    bool is_alive;
    int control; /* the socket between the two */
    struct hc_peers peers;

    int signals;
    int64_t now;
    int64_t heard; /* when the rank told last that it lives */
    bool by_srun;
    int64_t started;
    bool has_met; /* the rank has met the others, and knows whether all guards are linked */
    int neighbours;
    bool is_asked; /* it waits to hear that all guards are linked */
    bool is_trusted;
    bool has_done; /* the rank */
    int status;    /* that it said it would end with */
    int64_t all_done;
    bool can_resume;      /* there is a checkpoint, from which the run can go on */
    sigset_t requests;    /* the signals that have asked the job to end */
    int64_t last_request; /* when the last one came; 0: none has */
};

/* Watches until the rank ends, or the job. Ends the process. */
_Noreturn void hc_guard_run(struct hc_guard *guard);

#endif
