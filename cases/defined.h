/* Steps of the optimizers by their definition: the contract of op/call.h with the roundings of
   kernels/adam.h, kernels/sgd.h and kernels/kahan.h, each operation by MPFR and rounded once, the
   coefficients as real numbers rounded once. Nothing of kernels/ is used. */
#ifndef HC_CASES_DEFINED_H
#define HC_CASES_DEFINED_H

#include "case.h"

/* One weight and what goes with it. */
struct hc_defined {
    double w;
    double g;
    double m; /* SGD's velocity */
    double v;
    double c; /* the compensation, where there is one */
};

/* The coefficients of a call of sgd, adam or adamw; once a call, since beta^t takes its time. */
struct hc_defined_step {
    enum hc_format f; /* the arithmetic */
    enum hc_format
        inner; /* what runs within a compound operation: fp32, or f where that is wider */
    bool adamw;
    bool coupled;
    double lr, step, beta1, rest1, beta2, rest2, first, second, root, eps, wd, keep, decay;
};

struct hc_defined_step hc_defined_step(const struct hc_call *call);

/* Element's new values, w not yet rounded into its format (with a compensation it is), m, v and c
   not into theirs. Not for fp64. */
void hc_defined_run(const struct hc_call *call, const struct hc_defined_step *s,
                    struct hc_defined *x);

/* The call on the backend under test; every bit of its outputs against the definition, each element
   of them. `what` names the call in what is claimed. Not for stochastic rounding. */
void hc_claim_defined(struct hc_check *check, const char *what, const struct hc_call *call);

#endif
