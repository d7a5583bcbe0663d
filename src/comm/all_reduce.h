/* All-reduce of a vector over ranks, in a stated order, with stated roundings.

   What is added to what is the same as in the op all_reduce (op/collective.h), whose inputs are the
   vectors of all ranks: the same bits for the same numbers, whatever the implementation of the
   comm. Only HC_COLLECTIVE_LIBRARY, which no op has, leaves the order to the library. */
#ifndef HC_COMM_ALL_REDUCE_H
#define HC_COMM_ALL_REDUCE_H

#include "comm/comm.h"
#include "op/collective.h"

/* `data`: `count` numbers of `format` in host memory, each rank's contribution, which become the
   result on all ranks. `room`: as many numbers in how->sum, twice (hc_all_reduce_room bytes). How
   many bytes and messages this rank sent is added to *sent, if not NULL. */
struct hc_sent {
    int64_t messages;
    int64_t bytes;
};

size_t hc_all_reduce_room(const struct hc_all_reduce *how, int64_t count);
enum hc_status hc_comm_all_reduce(struct hc_comm *comm, const struct hc_all_reduce *how,
                                  enum hc_format format, void *data, int64_t count, void *room,
                                  struct hc_sent *sent);

#endif
