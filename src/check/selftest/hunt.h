/* The hunt for one planted fault: do the cases that its row names catch it?

   Each hunt runs in a process of its own, because a fault may crash, hang, or leave state behind.
   For each glob of the fault's row its cases run on the faulty backend, the quick ones first, until
   one shows the verdict that the row asks for. That case then runs on the sound backend, and counts
   only if it passes there: a case that always fails catches nothing. The process tells the parent
   by a pipe what came of it, and is killed after HC_HUNT_SECONDS. */
#ifndef HC_CHECK_SELFTEST_HUNT_H
#define HC_CHECK_SELFTEST_HUNT_H

#include <sys/types.h>

#include "check/selftest/fault.h"

enum { HC_HUNT_PATTERNS = 4, HC_HUNT_SECONDS = 120 };

/* What came of a hunt. */
struct hc_hunt_result {
    enum hc_status status;           /* not HC_OK: the hunt itself failed, as `message` says */
    bool crashed;                    /* the process did, so not all patterns were tried */
    int ran;                         /* so many cases */
    int patterns;                    /* of the fault's row */
    int caught_by[HC_HUNT_PATTERNS]; /* by pattern: the number of a case, or -1 */
    char message[200];
};

/* Whether each pattern has a case that caught the fault, or the fault crashed and its row says that
   it may. */
bool hc_hunt_caught(const struct hc_fault *fault, const struct hc_hunt_result *result);

struct hc_hunt {
    const struct hc_fault *fault;
    pid_t process;
    int pipe;
};

/* Begins a hunt in a new process, on one thread, at level standard. HC_IO if there is no process or
   no pipe to be had. */
enum hc_status hc_hunt_begin(struct hc_hunt *hunt, const struct hc_fault *fault,
                             const struct hc_case *const *cases, int count, uint64_t seed);

/* Waits for the end of the process, and returns its result. */
struct hc_hunt_result hc_hunt_end(struct hc_hunt *hunt);

#endif
