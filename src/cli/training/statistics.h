/* Statistics over pairs of runs: is a recipe as accurate as another, within a margin?

   A t test asks whether two means differ; with few pairs it rarely finds that, and not finding it
   shows nothing. Two one-sided tests (TOST) turn the question around: the hypotheses are that the
   difference is below -margin, and that it is above margin. If both are rejected at 5 %, the
   difference is shown to lie inside the margin. That is the same as saying that the 90 % confidence
   interval of the mean difference lies inside it. If the interval lies outside on one side, the
   recipes are shown to differ; otherwise more pairs are needed.

   Limits: the differences are taken for normal, which accuracies of similar runs nearly are, and as
   independent, which runs of different seeds are. */
#ifndef HC_CLI_TRAINING_STATISTICS_H
#define HC_CLI_TRAINING_STATISTICS_H

/* P(T <= t) of Student's distribution with `freedom` >= 1 degrees: the finite sums of Abramowitz
   and Stegun, 26.7.3 and 26.7.4. Error below 1e-14 up to freedom 1000. */
double hc_t_below(double t, int freedom);

/* The t with P(T <= t) = p, 0.5 <= p < 1; within 1e-9 of itself for p up to 0.9999. */
double hc_t_quantile(double p, int freedom);

enum hc_equivalence {
    HC_EQUIVALENT, /* shown: the mean difference lies within the margin */
    HC_DIFFERENT,  /* shown: it lies outside */
    HC_UNDECIDED   /* more pairs are needed; always with fewer than two */
};

/* The tests of the differences a[i] - b[i]. */
struct hc_paired {
    int n;
    double mean;
    double deviation; /* of one difference, n - 1 in the denominator; NaN below two pairs */
    double low;       /* the 90 % confidence interval of the mean; NaN below two pairs */
    double high;
    double p; /* of TOST: the larger of its two one-sided p values */
    enum hc_equivalence verdict;
};

/* Two one-sided t tests at 5 % each against -margin and margin (Schuirmann 1987): equivalent
   exactly when the 90 % interval lies inside the margin; different when it lies outside on one
   side. */
struct hc_paired hc_paired(const double *a, const double *b, int n, double margin);

/* Pairs that show equivalence with 80 % power when there is no true difference:
   (z_0.95 + z_0.90)^2 (deviation / margin)^2, rounded up, at least 2. The normal approximation. */
int hc_pairs_needed(double deviation, double margin);

#endif
