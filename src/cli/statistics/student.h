/* The distributions that the tests of cli/statistics need, of a real number of degrees of freedom,
   which Welch's test has. `freedom` is at least 1 in all of them. */
#ifndef HC_CLI_STATISTICS_STUDENT_H
#define HC_CLI_STATISTICS_STUDENT_H

/* P(Z <= z) of the normal distribution. */
double hc_normal_below(double z);

/* P(T <= t) of Student's distribution. Within 1e-11 of itself, in the lower tail, too. */
double hc_t_below(double t, double freedom);

/* The t with P(T <= t) = p, 0.5 <= p < 1; within 1e-9 of itself for p up to 0.9999. */
double hc_t_quantile(double p, double freedom);

/* The density of sqrt(chi^2 / freedom) at w >= 0: of how many times the true deviation a measured
   one is. Within 1e-11 of itself for freedom up to 10,000. */
double hc_chi_density(double w, double freedom);

#endif
