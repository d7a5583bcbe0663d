/* A backend that hands what it lacks to another one (--fallback): a program behind a pipe that has
   some of the ops can then train a network. */
#ifndef HC_KERNELS_FALLBACK_H
#define HC_KERNELS_FALLBACK_H

#include "backend.h"

/* *both runs a call on `subject`, if that has a kernel for it (in fp64 where the call is) that
   takes it, otherwise on `other`. It is named after both, "mine+host", and lives as long as this
   program; it is the same one for the same two. HC_INVALID, with a line, if one of them does not
   work in the host's memory; HC_NO_MEMORY. */
enum hc_status hc_fallback(const struct hc_backend *subject, const struct hc_backend *other,
                           const struct hc_backend **both);

/* How many calls of each op have run, in all queues, on a backend that hc_fallback made. */
struct hc_fallback_counts {
    const char *other;
    int64_t on_subject[HC_OP_ROOM];
    int64_t on_other[HC_OP_ROOM];
};

/* False if hc_fallback did not make the backend. */
bool hc_fallback_count(const struct hc_backend *both, struct hc_fallback_counts *counts);

#endif
