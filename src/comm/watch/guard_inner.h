/* How the job ends (guard_end.c), as guard.c decides that it does. */
#ifndef HC_COMM_WATCH_GUARD_INNER_H
#define HC_COMM_WATCH_GUARD_INNER_H

#include "comm/watch/guard.h"

enum { HC_GUARD_WRONG = 2 }; /* the exit status of a job that could not do its work */

/* Prints what hc_fail has kept. */
void hc_guard_say_message(void);

/* how: what is known of its end. */
void hc_guard_say_gone(const struct hc_guard *guard, int rank, const char *how);

/* Ends the rank and this process, and tells nobody. */
_Noreturn void hc_guard_finish(struct hc_guard *guard, int status);

/* The job is over, and what is to be said has been said: tells all, and finishes. */
_Noreturn void hc_guard_end_job(struct hc_guard *guard, int status);

/* The rank has ended, with what waitpid says. */
_Noreturn void hc_guard_conclude(struct hc_guard *guard, int ended);

#endif
