/* How often two one-sided tests show what is so, and how many runs that takes.

   A planner asks before the runs: were the true difference `shift` and the true standard error of
   its estimate `error`, how often would both tests reject, so that the difference is shown to lie
   within the margin? The estimate D is normal; the measured error is S = error W, where W has the
   chi distribution of cli/statistics/significance.h and is independent of D. Both tests reject if
   |D| < margin - t S. Given W = w that has the probability

     Phi((margin - shift) / error - t w) - Phi((-margin - shift) / error + t w)

   where that is positive, that is for w < margin / (t error). The power is its mean over W, which
   is Owen's (1965) form of the bivariate noncentral t; Phillips (1990) uses it for these tests. The
   integral is computed by Simpson's rule, to 1e-9 where `freedom` is a whole number. */
#ifndef HC_CLI_STATISTICS_POWER_H
#define HC_CLI_STATISTICS_POWER_H

/* P(T' <= t) of the noncentral t distribution: (Z + shift) / W. */
double hc_noncentral_t_below(double t, double freedom, double shift);

/* P(W <= w). */
double hc_chi_below(double w, double freedom);

/* The confidence interval of a true deviation that was measured with this freedom: it lies below
   range[0] at `level`, and above range[1] at `level`. */
void hc_deviation_range(double deviation, double freedom, double level, double range[2]);

/* The power of two one-sided tests at `level` each. */
double hc_equivalence_power(double shift, double margin, double error, double freedom,
                            double level);

/* What a plan is made for. */
struct hc_plan_of_runs {
    double margin;
    double deviation; /* of one difference if paired, otherwise of one run */
    double power;     /* 0.8, say, if there is no difference */
    double level;     /* of each of the two tests; 0.05 */
    int paired;       /* 0: as many runs on each side, compared with Welch's test */
};

/* So many runs of each side have that power; at least 3, at most HC_MAX_PLANNED, which also stands
   for more. */
enum { HC_MIN_PLANNED = 3, HC_MAX_PLANNED = 100000 };
int hc_runs_needed(const struct hc_plan_of_runs *plan);

/* The power of the plan with n runs of each side and a true difference. */
double hc_planned_power(const struct hc_plan_of_runs *plan, int n, double shift);

#endif
