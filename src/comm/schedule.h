/* Who sends what to whom in an all-reduce, as data.

   An all-reduce is a row of moves. In each move every rank sends at most one stretch of its partial
   sums to another rank, and receives at most one, which it adds to its own or puts in their place.
   After the last move every rank has all sums. What is added to what is the order of the algorithm
   in op/collective.h; which numbers travel is decided here, so that few do:

     TREE     on 2^k ranks the pairs (0, 1), then (0, 2), then (0, 4) ... exchange halves: each adds
              the half that it keeps, and goes on with that one (vector halving, distance doubling:
              Rabenseifner, Optimization of collective reduction operations, 2004). On other numbers
              of ranks whole vectors go down a binomial tree to rank 0, and the sums up again.
     RING     chunks go round, once to be added and once more to be known.
     HALVING  as TREE on 2^k ranks, with the most distant ranks first. With other numbers of ranks
              the last ones send their vectors to the first ones before, and get the sums after.

   Both sides of a message know its size. No message is empty: it is left out. */
#ifndef HC_COMM_SCHEDULE_H
#define HC_COMM_SCHEDULE_H

#include <stdbool.h>

#include "comm/all_reduce.h"

struct hc_span {
    int64_t first;
    int64_t count;
};

/* What one rank does. -1 for nobody, with an empty span. */
struct hc_move {
    int to;
    struct hc_span out;
    int from;
    struct hc_span in;
    bool adds; /* what arrives is added; otherwise it is copied */
};

/* How many moves there are: the same for all ranks. The algorithm is one of a stated order. */
int hc_schedule_moves(enum hc_collective algorithm, int ranks);

/* Move i of a rank, for vectors of `count` numbers. */
struct hc_move hc_schedule_move(enum hc_collective algorithm, int ranks, int rank, int64_t count,
                                int i);

/* What the rank sends in all moves, in numbers of this many bytes. */
struct hc_sent hc_schedule_sent(enum hc_collective algorithm, int ranks, int rank, int64_t count,
                                size_t bytes);

#endif
