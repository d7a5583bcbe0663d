/* How `halfcheck explain` runs one case, and what it tells of it. */
#ifndef HC_CLI_EXPLAIN_CASE_H
#define HC_CLI_EXPLAIN_CASE_H

#include "check/runner.h"

/* Where the text behind a label begins. */
enum { HC_EXPLAIN_INDENT = 10 };

/* Prints the claim and the source of the case, then its numbers on the first of the run's backends
   (all claims one by one if `all`), then its verdict on each other one. The backends are put in the
   order of telling; unless they were `named` by the user, those that run other cases are left out.
   Returns one of enum hc_exit. */
int hc_explain_case(const struct hc_case *what, const struct hc_run_options *run,
                    const struct hc_backend **backends, bool named, bool all);

#endif
