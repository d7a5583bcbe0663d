/* What a worker does with a case: it runs it on one backend, on queues that are open for all of a
   run, and hands on the result. */
#ifndef HC_CHECK_CASE_RUN_H
#define HC_CHECK_CASE_RUN_H

#include "check/runner.h"

struct hc_known;

/* A unit of work: a case on the backend of that number, or a case that runs once (-1). */
struct hc_case_run {
    const struct hc_case *what;
    int backend;
};

struct hc_run_queues {
    struct hc_queue *exact;
    struct hc_queue *by_backend[HC_MAX_BACKENDS]; /* NULL: unavailable */
    struct hc_known *known;                       /* NULL without memory */
};

/* The backend that others are compared with. */
const struct hc_backend *hc_run_exact(const struct hc_run_options *options);

/* Opens a queue of each backend that can run here. Close them also after a failure. */
enum hc_status hc_run_queues_open(const struct hc_run_options *options,
                                  struct hc_run_queues *queues);
void hc_run_queues_close(const struct hc_run_options *options, struct hc_run_queues *queues);

/* Tells the run's owner what the backends say of themselves, once all cases are done. */
void hc_run_queues_tell(const struct hc_run_options *options, const struct hc_run_queues *queues);

/* What runs now, for code that must say where the program broke down, signal handlers included. It
   is this thread's case; in a thread that a kernel has started it is the case that began last, and
   *sure is false. NULL: nothing. */
const struct hc_case_run *hc_case_run_now(bool *sure);

/* Says which unit is next; runs it into *check; and reports it, whereupon *check is ended. Returns
   whether to go on. */
void hc_case_run_begin(const struct hc_run_options *options, const struct hc_case_run *unit);
void hc_case_run_do(const struct hc_run_options *options, const struct hc_case_run *unit,
                    const struct hc_run_queues *queues, struct hc_check *check);
bool hc_case_run_report(const struct hc_run_options *options, struct hc_check *check);

#endif
