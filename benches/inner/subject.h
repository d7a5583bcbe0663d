/* A call on a backend, with memory, as a piece of work for hc_bench_time. */
#ifndef HC_BENCHES_INNER_SUBJECT_H
#define HC_BENCHES_INNER_SUBJECT_H

#include "bench.h"

struct hc_subject {
    struct hc_device device;
    struct hc_call call;
    int times; /* calls that one piece of work queues before it waits for them */
};

/* Opens a queue, and gives every tensor of the call that has a shape memory of the backend,
   filled with normal numbers (where the op takes roots: their squares; learning rates and the
   like: those of a first step). HC_UNSUPPORTED where the backend lacks the op. Close it also
   after a failure. */
enum hc_status hc_subject_open(struct hc_subject *subject, const struct hc_backend *backend,
                               const struct hc_call *shapes, int times);
void hc_subject_close(struct hc_subject *subject);

/* The call, `times` times, and then waits until all is done: a download comes after what was queued
   before it. */
enum hc_status hc_subject_run(struct hc_subject *subject);

#endif
