/* The threads of a sweep, each with a queue of its own to the backend under test. */
#ifndef HC_CHECK_SWEEP_THREADS_H
#define HC_CHECK_SWEEP_THREADS_H

#include "check/check.h"

/* The count of a sweep's comparisons, of one thread or of all. It keeps the difference at the
   smallest `where`, so that the report does not depend on the number of threads. */
struct hc_miss {
    int64_t checked;
    int64_t wrong;
    uint64_t digest; /* of the results (hc_miss_digest) */
    uint64_t where;  /* of that one; each sweep says what it counts */
    uint64_t want;
    uint64_t got;
};

/* Notes one difference, or adds all of another count. */
void hc_miss_note(struct hc_miss *miss, uint64_t where, uint64_t want, uint64_t got);
void hc_miss_add(struct hc_miss *total, const struct hc_miss *part);

/* The digest of a sweep's calls (check/digest.h). To hash 2^32 results would take several times as
   long as to compute them. But what is right is known here without a reference, and there is one
   right result alone, NaN being NaN: where all results of a call are right, that says all of their
   bits, and only those of other calls are hashed. So sweeps compare where nothing is claimed, too.

   hc_sweep_digest begins: with the op, the formats and the parameters. hc_miss_digest adds a call
   whose inputs are known by the number `where`, and of whose results `wrong` are not right. */
uint64_t hc_sweep_digest(struct hc_check *check, const struct hc_call *call);
void hc_miss_digest(struct hc_miss *miss, uint64_t sweep, uint64_t where, int64_t wrong,
                    const struct hc_call *call);

/* Claims that nothing differed, and adds the digest to the case's. The words say what the first
   difference is. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void hc_miss_claim(struct hc_check *check, const struct hc_miss *miss, const char *format, ...);

/* Runs unit 0 .. units - 1 of a sweep on the thread's queue and memory. Adds to *miss. */
typedef enum hc_status hc_sweep_work(struct hc_check *check, struct hc_queue *queue, int64_t unit,
                                     void *memory, struct hc_miss *miss, const void *context);

/* Runs all units in parallel where the backend works in host memory (each thread has a queue of its
   own, opened with one thread), otherwise one after the other on the check's queue. Every thread
   gets thread_bytes of zeroed memory, aligned to 64. False if something other than a comparison
   failed; then the verdict is set. */
bool hc_sweep_run(struct hc_check *check, int64_t units, size_t thread_bytes, hc_sweep_work *work,
                  const void *context, struct hc_miss *total);

/* Runs one call of a unit, on tensors in host memory that keep the op's contract. Where the backend
   works there, one call in 64, of all inputs one in 1024 (the first of each thread among them) runs
   between guards, as hc_do runs it, and the others run on the tensors as they are: sweeps look for
   wrong results, and must be fast. */
enum hc_status hc_sweep_call(struct hc_check *check, struct hc_queue *queue,
                             const struct hc_call *call);

#endif
