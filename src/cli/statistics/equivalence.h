/* Are two sets of runs as accurate as each other, within a margin?

   A t test asks whether two means differ; with few runs it rarely finds that, and not finding it
   shows nothing. Two one-sided tests (TOST, Schuirmann 1987) turn the question around: the
   hypotheses are that the difference is below -margin, and that it is above margin. If both are
   rejected at 5 %, the difference is shown to lie inside the margin. That is the same as saying
   that the 90 % confidence interval of the mean difference lies inside it. If the interval lies
   outside on one side, the sets are shown to differ; otherwise more runs are needed.

   Runs of the same seed share initial weights and order, and are compared in pairs. Sets of other
   seeds are compared by Welch's test (1947), which does not take their spreads for equal.

   Limits: the numbers are taken for normal, which accuracies of similar runs nearly are, and as
   independent, which runs of different seeds are. An accuracy is a whole number of images, which
   is not normal: few runs may all end on the same number, and a spread of 0 would show anything.
   A number that is rounded to a grain g, and lies a part f of it above the next lower one, has a
   variance of at least f (1 - f) g^2, of which g^2 / 4 is the most. So a deviation below g / 2 is
   taken for g / 2. */
#ifndef HC_CLI_STATISTICS_EQUIVALENCE_H
#define HC_CLI_STATISTICS_EQUIVALENCE_H

#include <stdbool.h>

enum hc_equivalence {
    HC_EQUIVALENT, /* shown: the mean difference lies within the margin */
    HC_DIFFERENT,  /* shown: it lies outside */
    HC_UNDECIDED   /* more runs are needed; always with fewer than two on a side */
};

/* What is asked. */
struct hc_equivalence_question {
    double margin;
    double grain; /* of the numbers; 0: they have none */
    double level; /* of each of the two tests; 0: 5 % */
};

/* The answer about a - b. */
struct hc_difference {
    bool paired;
    int n; /* pairs; otherwise the runs of the smaller set */
    double mean;
    double deviation; /* of one difference if paired; otherwise of one run: the root of the mean
                         of both sets' variances. NaN below two on a side, as all that follows */
    double error;     /* of the mean */
    double freedom;
    double low; /* the interval of the mean: 90 % if the level is 5 % */
    double high;
    double p; /* of TOST: the larger of its two one-sided p values */
    enum hc_equivalence verdict;
};

struct hc_difference hc_paired(const double *a, const double *b, int n,
                               const struct hc_equivalence_question *question);

struct hc_difference hc_welch(const double *a, int count_a, const double *b, int count_b,
                              const struct hc_equivalence_question *question);

/* The mean and deviation (n - 1 in the denominator; NaN below two) of numbers. */
void hc_spread(const double *x, int n, double *mean, double *deviation);

#endif
