/* A step of the restated network, forward and back, in fp64 from the layers' definitions; or with
   every number that a training keeps rounded to a format, and sums taken in fp32, term by term:
   what those roundings come to is what another order of them may come to. */
#ifndef HC_CASES_RESTATED_PASS_H
#define HC_CASES_RESTATED_PASS_H

#include "cases/restated.h"

/* A layer's parameters: filter, gamma and beta, or weight and bias. */
enum { HC_RESTATED_SLOTS = 3 };

struct hc_restated_pass {
    const struct hc_restated *net;
    int batch;
    double scale;         /* of the loss, for the backward pass */
    bool rounds;          /* or fp64 throughout */
    enum hc_format model; /* of activations, their gradients, and gradients of weights */
    const double *labels;

    /* On which side of the leaky ReLU's kink a number lies that is within `kink` of it is not for
       roundings to say: it is on the side where sides[l] has its output. */
    double kink;
    double *sides[HC_RESTATED_MAX];

    double *value[HC_RESTATED_MAX + 1]; /* value[0] is given */
    double *parameter[HC_RESTATED_MAX][HC_RESTATED_SLOTS];
    double *gradient[HC_RESTATED_MAX][HC_RESTATED_SLOTS]; /* divided by the scale */
    double loss;

    double *back[HC_RESTATED_MAX + 1]; /* gradients of values */
    double *
        normal[HC_RESTATED_MAX]; /* a convolution's output, then less its mean, by its deviation */
    double *deviation[HC_RESTATED_MAX]; /* by channel */
};

int64_t hc_restated_values(const struct hc_restated_pass *pass, int v);
int64_t hc_restated_parameters(const struct hc_restated *net, int layer, int slot); /* 0: none */

/* Memory for all of it, for net and batch as they are. */
void hc_restated_open(struct hc_check *check, struct hc_restated_pass *pass);

/* Takes value[0], sides, labels and parameters from another of the same net. */
void hc_restated_same(struct hc_restated_pass *pass, const struct hc_restated_pass *as);

/* Forward with batch statistics, and back. */
void hc_restated_step(struct hc_restated_pass *pass);

#endif
