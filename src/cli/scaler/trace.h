/* Traces for halfcheck gen and halfcheck verify: both make them, from the same plan. */
#ifndef HC_CLI_SCALER_TRACE_H
#define HC_CLI_SCALER_TRACE_H

#include "cli/scaler/plan.h"

/* What a trace is made of, and which of the rule's limits it leaves out: one, or NULL. */
struct hc_trace_coverage {
    int length;
    int overflows;
    int growths;
    int lowest; /* log2, or HC_LOG2_ZERO, HC_LOG2_INFINITE */
    int highest;
    const char *missing;
};

/* The plan's trace into sent[0..length-1], each an enum hc_gradients; where `sent` is NULL it is only
   counted. Overflows one before, at and one after growth; a climb to 2^26 and a fall to 1, or to the
   cap and the floor and on; runs of clean steps and of overflows at random; a climb to the cap or the
   last finite power; and then, for ever, 0 or infinity or an error, where the rule comes to one. A plan
   without steps is carried out to its end, one with fewer is cut off there, one with more goes on at
   random. Where the rule gives up the trace ends with that step. */
struct hc_trace_coverage hc_scaler_trace(const struct hc_scaler_plan *plan, unsigned char *sent);

#endif
