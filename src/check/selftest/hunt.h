/* The hunt for one planted fault: do the cases that its row names catch it?

   Each hunt runs in a process of its own, because a fault may crash, hang, or leave state behind.
   For each glob of the fault's row its cases run on the faulty backend, the quick ones first, until
   one shows the verdict that the row asks for. That case then runs on the sound backend, and counts
   only if it passes there: a case that always fails catches nothing. The process tells the parent
   by a pipe how it ended, and is killed after HC_HUNT_SECONDS.

   A fault can also be planted in another backend than its row says, as between that backend and the
   cases: its kernels compute, and the fault changes calls, inputs or outputs. The faults that
   replace more than a kernel, or that two backends share, are not planted there. What a backend of
   free order (struct hc_backend) may do is no fault in it: its cases that state an order are left
   out, and a change within the bounds that hold in any order is seen by none of the others. */
#ifndef HC_CHECK_SELFTEST_HUNT_H
#define HC_CHECK_SELFTEST_HUNT_H

#include <sys/types.h>

#include "check/selftest/fault.h"

enum { HC_HUNT_PATTERNS = 4, HC_HUNT_SECONDS = 120 };

/* So many results must catch a fault: other cases of its patterns, or, where there are none, the
   same case with so many other seeds. What one fill of many shows is luck, and the next change to
   the draws loses it. */
enum { HC_HUNT_RESULTS = 2, HC_HUNT_SEEDS = 4 };

/* The backend in which faults are planted in place of those of their rows. */
struct hc_hunt_subject {
    /* Called in the hunt's process, so that a program behind a pipe is that process's own. NULL,
       with a line, if there is none. */
    const struct hc_backend *(*choose)(const void *context);
    const void *context;
    const char *order; /* it is held to (check/free_order.h), or NULL */
};

/* Pattern p has no case that runs on the subject. */
enum { HC_HUNT_NO_CASE = -2 };

/* The result of a hunt. */
struct hc_hunt_result {
    enum hc_status status;           /* not HC_OK: the hunt itself failed, as `message` says */
    bool crashed;                    /* the process did, so not all patterns were tried */
    int ran;                         /* the number of cases */
    int patterns;                    /* of the fault's row */
    int results;                     /* that catch it, HC_HUNT_RESULTS at most */
    int caught_by[HC_HUNT_PATTERNS]; /* by pattern: the number of a case, or -1, or -2 (above) */
    bool unfit;                      /* the fault does not fit into the subject */
    bool allowed;                    /* it survived, but is none in a backend of free order */
    char message[200];
};

/* Whether each pattern has a case that caught the fault, or the fault crashed and its row says that
   it may. */
bool hc_hunt_caught(const struct hc_fault *fault, const struct hc_hunt_result *result);

/* Whether one result alone caught it. */
bool hc_hunt_by_luck(const struct hc_fault *fault, const struct hc_hunt_result *result);

/* Whether it was planted, and some case ran that might have caught it. */
bool hc_hunt_counts(const struct hc_hunt_result *result);

struct hc_hunt {
    const struct hc_fault *fault;
    pid_t process;
    int pipe;
};

/* Begins a hunt in a new process, on one thread, at level standard. HC_IO if there is no process or
   no pipe to be had. `subject` NULL: the backend of the fault's row. */
enum hc_status hc_hunt_begin(struct hc_hunt *hunt, const struct hc_fault *fault,
                             const struct hc_case *const *cases, int count, uint64_t seed,
                             const struct hc_hunt_subject *subject);

/* Waits for the end of the process, and returns its result. */
struct hc_hunt_result hc_hunt_end(struct hc_hunt *hunt);

#endif
