/* The inside of a check, for the runner and the comparisons. */
#ifndef HC_CHECK_CHECK_INNER_H
#define HC_CHECK_CHECK_INNER_H

#include <setjmp.h>

#include "check/check.h"
#include "check/story/story.h"

struct hc_check_block;
struct hc_known;
struct hc_omissions;

struct hc_check {
    const struct hc_case *what;
    const struct hc_backend *backend;
    struct hc_queue *queue;
    const struct hc_backend *exact; /* the backend `exact` (compare.c) */
    struct hc_queue *exact_queue;
    const struct hc_backend *const *backends; /* all those of the run */
    int backend_count;
    uint64_t seed;
    enum hc_level level;
    bool bits_only;                 /* kernels run, and nothing is claimed (check/digest.h) */
    struct hc_story *story;         /* of halfcheck explain, or NULL */
    struct hc_omissions *omissions; /* or NULL */
    struct hc_known *known;         /* what was right in earlier claims (check/known.h), or NULL */
    bool refused;                   /* a kernel returned HC_UNSUPPORTED */
    const char *order;              /* that backends of free order are held to, or NULL */
    const char *order_met;          /* the order of a call that ran in a free one, or NULL */
    bool order_narrow;              /* that call stated a 16-bit arithmetic */
    bool order_missed;              /* a claim of equal bits failed after that */
    bool order_stated;              /* the case states an order that the backend is not held to */
    bool unasked;                   /* it passed, but no call reached the program behind backend */
    bool lacks;                     /* a call was one for which the backend owes no kernel */
    double worst;                   /* largest error / bound so far */
    uint64_t digest;                /* check/digest.h: the sum so far */
    bool undigested;                /* a kernel ran whose bits are not in it, or not promised */
    struct hc_result result;
    struct hc_check_block *memory;
    jmp_buf *no_memory; /* where a case jumps that gets no memory */
};

/* Counts one comparison, with error and bound in `unit`; it fails if !(error <= bound). Counts
   nothing once a call could not be run. */
bool hc_check_compared(struct hc_check *check, double error, double bound, const char *unit);

/* Tells a claim that has been counted to `halfcheck explain`; does nothing elsewhere. */
void hc_check_tell(struct hc_check *check, const struct hc_claimed *claimed);

/* Notes a call for which the backend has no kernel and owes none: in fp64, which it does not have,
   or of an op that a definition says. Its case is left out. */
void hc_check_lacks(struct hc_check *check, const struct hc_call *call);

/* Keeps how large the call was, which is judged, if none was larger. */
void hc_check_judged(struct hc_check *check, const struct hc_call *call);

/* Makes the case FAIL with that line: a kernel of that backend did what no kernel may. */
void hc_check_breach(struct hc_check *check, const char *backend, const char *line);

/* Keeps the words as the note unless there is one: the note is about the first failure. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_check_note(struct hc_check *check, const char *format, ...);

/* Sets the verdict unless a worse one is set: FAIL > ERROR > UNIMPLEMENTED > SKIPPED >
   MISTRUSTED. */
void hc_check_verdict(struct hc_check *check, enum hc_verdict verdict);

/* Runs the case to its end, or to where there was no memory for it. */
void hc_check_run(struct hc_check *check);

/* A seed from the run's seed and the case's name (FNV-1a: Fowler, Noll, Vo; RFC 9923), so that no
   two cases draw the same numbers or look at the same elements. */
uint64_t hc_case_seed(const struct hc_check *check);

/* Frees the case's memory. */
void hc_check_end(struct hc_check *check);

#endif
