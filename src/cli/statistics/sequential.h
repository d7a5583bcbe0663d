/* Two one-sided tests that look more than once, and stop when they have decided.

   Who tests at 5 % after 4 pairs, and again after 6, 8 and so on, until a test comes out, is wrong
   in more than 5 % of experiments: each look is one more chance. So the level is spent (Lan and
   DeMets 1983): after n of the N pairs that are planned at most, an error may have been made with a
   probability of level * n / N, the spending function of Kim and DeMets (1987) with exponent 1. The
   nominal level of look k, at which its test is made, follows from what was spent before it: the
   sums of standard normal numbers after n1 < n2 < ... pairs are a walk, and the walk crosses the
   boundary for the first time at look k with a probability of level * (n_k - n_(k-1)) / N
   (Armitage, McPherson and Rowe 1969). The integral over the walks that have not crossed is
   computed look by look.

   The spread is not known but measured, so each look is a t test at its nominal level (Jennison and
   Turnbull 2000, chapter 4.4). That is not exact; hc_sequential_simulate says what it comes to, and
   the test of this file holds it to the level. */
#ifndef HC_CLI_STATISTICS_SEQUENTIAL_H
#define HC_CLI_STATISTICS_SEQUENTIAL_H

#include <stdint.h>

#include "cli/statistics/equivalence.h"

enum { HC_MAX_LOOKS = 16, HC_MAX_LOOK_PAIRS = 1000 };

struct hc_sequential {
    int looks;
    int pairs[HC_MAX_LOOKS];      /* at each look, growing, from 2 to HC_MAX_LOOK_PAIRS */
    double level;                 /* of each of the two tests, over all looks together */
    double nominal[HC_MAX_LOOKS]; /* of each look's tests; hc_sequential_plan sets it */
};

/* Sets the nominal levels, to 1e-7 of themselves. */
void hc_sequential_plan(struct hc_sequential *plan);

/* What the pairs say so far: the answer at the last look that they reach, or, if an earlier look
   has decided, at that one; later pairs change nothing. *look: its number, -1 if none is reached
   yet; then the verdict is HC_UNDECIDED and the interval NaN. The interval is the repeated one:
   all looks' intervals hold the mean together with a probability of 1 - 2 level. */
struct hc_difference hc_sequential_paired(const struct hc_sequential *plan, const double *a,
                                          const double *b, int n, double margin, double grain,
                                          int *look);

/* How many pairs are needed to go on: those of the next look, or 0 if a look has decided or none is
   left. */
int hc_sequential_next(const struct hc_sequential *plan, const double *a, const double *b, int n,
                       double margin, double grain);

/* How often each verdict comes in `experiments` with normal differences of that mean and
   deviation, and how many pairs one takes on average. The seed gives the random numbers. */
struct hc_sequential_odds {
    double equivalent;
    double different;
    double undecided;
    double pairs;
};
struct hc_sequential_odds hc_sequential_simulate(const struct hc_sequential *plan, double mean,
                                                 double deviation, double margin, int experiments,
                                                 uint64_t seed);

#endif
