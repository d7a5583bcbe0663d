/* Traces for halfcheck gen and halfcheck verify. */
#ifndef HC_CLI_SCALER_TRACE_H
#define HC_CLI_SCALER_TRACE_H

#include "check/promise.h"
#include "cli/command.h"

/* A rule as the command line gives it. */
struct hc_scaler_choice {
    enum hc_scaler_rule rule;
    int log2_initial; /* HC_LOG2_ZERO: the rule's usual one */
    int interval;     /* 0: the rule's usual one */
};

/* From "scaler/RULE" and the values of --initial (0: not given) and --interval. HC_AS_CLAIMED, or HC_WRONG with
   everything said. */
int hc_scaler_choose(const char *command, const char *name, double initial, int interval,
                     struct hc_scaler_choice *choice);

struct hc_promise hc_scaler_promise(const struct hc_scaler_choice *choice);

/* Fills found[0..steps-1] with the trace of that seed: overflows one before, at and one after growth; a
   climb to 2^24 and on; a fall to 1 and on; runs of clean steps and of overflows at random; and for
   torch a fall to 0. Returns its length, which is less than `steps` where the rule gives up: with that
   step it ends. */
int hc_scaler_trace(const struct hc_scaler_choice *choice, uint64_t seed, unsigned char *found,
                    int steps);

#endif
