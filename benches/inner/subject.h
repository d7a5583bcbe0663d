/* A call on a backend, with memory, as work for hc_bench_time. */
#ifndef HC_BENCHES_INNER_SUBJECT_H
#define HC_BENCHES_INNER_SUBJECT_H

#include "bench.h"

struct hc_subject {
    struct hc_device device;
    struct hc_call call;
    int times; /* calls that are queued before one waits for them */
};

/* Opens a queue, and gives each tensor of the call that has a shape memory of the backend.
   Inputs are filled with normal numbers, or with their squares if the op takes roots; learning
   rates and the like are those of a first step. HC_UNSUPPORTED if the backend lacks the op.
   Close it also after a failure. */
enum hc_status hc_subject_open(struct hc_subject *subject, const struct hc_backend *backend,
                               const struct hc_call *shapes, int times);
void hc_subject_close(struct hc_subject *subject);

/* Queues the call `times` times, and waits until all are done: a download comes after what was
   queued before it. */
enum hc_status hc_subject_run(struct hc_subject *subject);

#endif
