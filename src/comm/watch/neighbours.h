/* Guards that the same process has started on one host. They can tell each other that the job is
   over before they are linked, when the ranks have not met yet. */
#ifndef HC_COMM_WATCH_NEIGHBOURS_H
#define HC_COMM_WATCH_NEIGHBOURS_H

#include <stdbool.h>

/* A socket by which this guard is told; -1 if there is none, and then nobody tells it. */
int hc_neighbours_open(int rank);

/* Tells all ranks up to `size` that are neighbours. */
void hc_neighbours_tell(int fd, int size);

/* Whether a neighbour of the same user has told that the job is over. */
bool hc_neighbours_heard(int fd);

#endif
