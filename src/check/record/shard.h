/* Shards: a run that is parted among several machines or processes, each of which runs the units of
   one shard. Which shard a unit belongs to depends on nothing but the list of units and their
   expected seconds, so that shards which know nothing of each other are disjoint and complete. */
#ifndef HC_CHECK_RECORD_SHARD_H
#define HC_CHECK_RECORD_SHARD_H

#include <stdint.h>

#include "op/status.h"

enum { HC_MAX_SHARDS = 10000 };

struct hc_shard {
    int index;     /* 1 to `of` */
    int of;        /* 0 or 1: everything is run */
    uint64_t plan; /* set by the runner: a digest of the whole plan, by which merge sees whether
                      shards belong together */
};

/* Writes to shard[i] the shard, 1 to `of`, of each of `count` units: the longest unit first, each
   goes to the shard that has least to do so far. Of equals, the first. So the longest shard takes
   at most 4/3 of what the best plan takes (Graham, "Bounds on multiprocessing timing anomalies",
   1969). Seconds that are negative, or no numbers, count as 0. HC_NO_MEMORY. */
enum hc_status hc_shard_plan(const double *seconds, int count, int of, int *shard);

#endif
