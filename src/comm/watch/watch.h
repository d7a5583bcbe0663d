/* The watch over the ranks of a job: that a rank which is killed or stopped, or whose machine is
   gone, ends the job within ten seconds, with one line that names it, whatever the library of the
   comm notices. Each rank has a guard (peers.h); the guards tell each other once a second, over
   TCP, that they live.

   The variable HALFCHECK_WATCH says after how many seconds of silence a rank is lost (6), or 0: no
   watch, for who stops ranks in a debugger. Before the ranks have met, in the library's own start,
   a guard can only tell those on its own host, and leaves the others to whoever started them; after
   ten times the silence they give up. */
#ifndef HC_COMM_WATCH_WATCH_H
#define HC_COMM_WATCH_WATCH_H

#include "comm/comm.h"
#include "comm/started.h"

/* Makes this process the guard, and returns in its child, which is the rank. HC_INVALID or
   HC_DEVICE with a line. */
enum hc_status hc_watch_begin(const struct hc_started *started);

/* The comm is open: the guards learn of each other. All ranks call it. */
enum hc_status hc_watch_join(struct hc_comm *comm);

/* Whether the rank (-1: any but this one) has ended its work. */
bool hc_watch_has_ended(int rank);

/* This rank has done its work, with that status. Waits until all have, so that the comm can be
   closed. False if it cannot: a rank that could not do its work has ended alone. */
bool hc_watch_end(int exit_status);

/* What is said of a lost rank from now on says that the run can be resumed. */
void hc_watch_can_resume(void);

/* Whether there is a guard, which ends the job if this process just ends. */
bool hc_watch_is_on(void);

#endif
