/* The hunt for one planted fault, in a process of its own: a fault may crash, hang or leave state
   behind. */
#ifndef HC_CHECK_SELFTEST_HUNT_H
#define HC_CHECK_SELFTEST_HUNT_H

#include <sys/types.h>

#include "check/selftest/fault.h"

enum { HC_HUNT_PATTERNS = 4, HC_HUNT_SECONDS = 120 };

/* What the cases made of the fault. */
struct hc_outcome {
    enum hc_status status;           /* not HC_OK: the hunt itself failed; see `message` */
    bool crashed;                    /* so that its row's patterns were not all tried */
    int ran;                         /* cases */
    int patterns;                    /* of the fault */
    int caught_by[HC_HUNT_PATTERNS]; /* by pattern: the number of a case in the list, or -1 */
    char message[200];
};

/* Whether each pattern has a case that caught the fault, or a crash that its row expects did. */
bool hc_outcome_caught(const struct hc_fault *fault, const struct hc_outcome *outcome);

struct hc_hunt {
    const struct hc_fault *fault;
    pid_t process;
    int pipe;
};

/* Begins the hunt in a new process, on one thread, at level standard: for each pattern its cases
   run, the quick ones first, until one shows the verdict that the fault's row asks for and passes
   on the sound backend. HC_IO when there is no process or pipe to be had. */
enum hc_status hc_hunt_begin(struct hc_hunt *hunt, const struct hc_fault *fault,
                             const struct hc_case *const *cases, int count, uint64_t seed);

/* Waits for the end of the process and takes its outcome. */
struct hc_outcome hc_hunt_end(struct hc_hunt *hunt);

#endif
