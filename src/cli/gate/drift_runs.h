/* Two sets of drifts of one recipe: did a number of them grow?

   A drift is how far gradients and weights of a recipe lie from fp64, as a whole, by layer, and
   with one source of rounding alone (train/drift/drift.h). It has no derived bound; what it is
   compared with is the baseline's, and what tells a change from chance is the spread over seeds.
   The numbers are positive and differ by factors, so their logarithms are compared: the mean
   difference d, in pairs if three or more seeds are in both sets, otherwise by Welch's test.

   A number is grown if d > 0 is shown and d is larger than the deviation of one seed in the
   baseline. A change smaller than another seed makes is a change, but does not make the recipe
   worse. Gradient and weights as a whole are tested at half of 2.5 % each. The other numbers, which
   say where a drift comes from, are tested at 2.5 % divided by how many they are. So a recipe
   without any change is called worse with a probability of 5 % at most.

   Zeros have no logarithm. A number that was 0 in all seeds and is not any more is grown: such a
   source touched nothing. One that is not finite and was is grown, too. Otherwise a number with a 0
   or one that is not finite is left out. */
#ifndef HC_CLI_GATE_DRIFT_RUNS_H
#define HC_CLI_GATE_DRIFT_RUNS_H

#include "check/record/outcomes.h"

/* Drifts of one recipe on one backend, by seed. */
struct hc_drift_set {
    const struct hc_drift_outcome *runs;
    int count;
};

enum hc_drift_change {
    HC_DRIFT_SAME,    /* not shown to have changed, or equal in all seeds that both have */
    HC_DRIFT_GROWN,   /* by more than seeds differ */
    HC_DRIFT_MOVED,   /* shown, but by less than that */
    HC_DRIFT_SHRUNK,  /* by more than seeds differ */
    HC_DRIFT_UNKNOWN, /* it cannot be compared: not finite for some seed before, or few seeds */
};

/* One number in both sets. */
struct hc_drift_verdict {
    const char *name;
    enum hc_drift_change change;
    bool equal; /* to the last digit in every seed that both have, of which there are some */
    double was; /* geometric means; plain ones if there are zeros */
    double is;
    double factor; /* is / was */
    double low;    /* its interval */
    double high;
    double spread; /* the factor by which one seed of the baseline differs */
};

enum { HC_LEAST_DRIFT_SEEDS = 3 };

/* Compares number k of the first run of `was`. Sets of fewer than HC_LEAST_DRIFT_SEEDS are only
   told equal or unknown. HC_NO_MEMORY. */
enum hc_status hc_drift_judge(const struct hc_drift_set *was, const struct hc_drift_set *is, int k,
                              struct hc_drift_verdict *verdict);

#endif
