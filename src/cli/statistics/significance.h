/* What tests of significance need: McNemar's test, below, and distributions of a real number of
   degrees of freedom, which Welch's test has. `freedom` is at least 1 in all of them. */
#ifndef HC_CLI_STATISTICS_SIGNIFICANCE_H
#define HC_CLI_STATISTICS_SIGNIFICANCE_H

/* P(Z <= z) of the normal distribution. */
double hc_normal_below(double z);

/* P(T <= t) of Student's distribution. Within 1e-11 of itself, in the lower tail, too. */
double hc_t_below(double t, double freedom);

/* The t with P(T <= t) = p, 0.5 <= p < 1; within 1e-9 of itself for p up to 0.9999. */
double hc_t_quantile(double p, double freedom);

/* The density of sqrt(chi^2 / freedom) at w >= 0: of how many times the true deviation a measured
   one is. Within 1e-11 of itself for freedom up to 10,000. */
double hc_chi_density(double w, double freedom);

/* Do two networks get other test images right? McNemar's test (1947), exact.

   Both networks see the same images. Those that both get right, or both wrong, say nothing of a
   difference. The first network alone is right on `first` of the others, the second alone on
   `second`. If neither is better, each of these falls to either side with probability 1/2.

   That is a statement about two sets of weights and not about two recipes: two trainings that
   differ in nothing but the order of their sums part within some hundred steps, end on other
   weights, and are told apart by this test more often than its level says. So it stands beside the
   test over seeds and does not replace it. */

/* The two-sided p value: min(1, 2 P(B <= min(first, second))), B binomial of first + second trials
   with probability 1/2. Within 1e-10 of itself up to 10,000 images; 1 without any. */
double hc_mcnemar(long long first, long long second);

#endif
