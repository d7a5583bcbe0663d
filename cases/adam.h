/* One weight under Adam or AdamW, every number of it in one format: on the backend under test (got)
   or by the definition (want). */
#ifndef HC_CASES_ADAM_H
#define HC_CASES_ADAM_H

#include "case.h"

struct hc_adam_run {
    struct hc_check *check; /* the backend under test; NULL: the definition */
    enum hc_op op;          /* adam or adamw */
    struct hc_adam params;  /* params.arithmetic is the format of weight, gradient and state too */
    double lr;              /* lr and beta1 are rounded to fp32, as hyper is */
    double beta1;
    double w;
    double m;
    double v;
    int64_t t;   /* steps made */
    bool failed; /* the backend could not; the verdict is set */
};

/* One step with gradient g, which is rounded into the format first. The definition is the contract
   of op/call.h with the roundings of kernels/adam.h, each operation by MPFR. */
void hc_adam_run_step(struct hc_adam_run *run, double g);

/* What n steps of decoupled decay leave of 1, as a real number: (1 - lr * weight_decay)^n, lr rounded
   to fp32. */
double hc_decayed(double lr, double weight_decay, int64_t n);

#endif
