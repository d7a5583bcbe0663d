/* Traces: which steps of a training overflow. halfcheck gen prints one and halfcheck verify makes
   the same one again.

   A trace must bring a rule to every place where an implementation can be wrong, in this order:
   - overflows one step before, at and one step after growth;
   - a climb to 2^26 or the cap, and a fall to 1 (or the floor) and on;
   - clean runs and overflows at random, until there are 25 intervals and 500 steps;
   - a climb to the cap or the last finite power of two, and clean steps for one growth more;
   - the end: overflows, or clean steps, until the scale is 0 or infinite or the rule raises its
     error, and a few steps more.
   hc_trace_coverage says whether it did: a plan with few steps cuts off the end. */
#ifndef HC_CLI_SCALER_TRACE_H
#define HC_CLI_SCALER_TRACE_H

#include "cli/scaler/plan.h"

/* What a trace consists of. */
struct hc_trace_coverage {
    int length;
    int overflows;
    int growths;
    int lowest; /* log2, or HC_LOG2_ZERO, HC_LOG2_INFINITE */
    int highest;
    const char *missing; /* one of the rule's limits that it did not reach, in words; or NULL */
};

/* Makes the trace in sent[0..length-1], each an enum hc_gradients; if `sent` is NULL the steps
   are only counted. A plan without steps is carried out to its end; one with fewer steps is cut
   off there, and one with more goes on at random. A trace ends with the step at which the rule
   raises its error. */
struct hc_trace_coverage hc_scaler_trace(const struct hc_scaler_plan *plan, unsigned char *sent);

#endif
