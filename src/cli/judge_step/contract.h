/* The contract of a file's optimizer step, with every departure from it that judge-step knows, and
   the numbers of one element under such a contract, as balls (mid, rad).

   update.c compares elements with MPFR under the contract that the file states. Here are the same
   formulas once more, with switches for usual mistakes, so that a wrong step can be compared with
   hundreds of contracts. A ball's `mid` is the real result to within fp64's roundings,
   and `rad` is how far a right implementation of that contract may lie from it, in any order, those
   roundings included (check/bound/any_order.c has the proofs). */
#ifndef HC_CLI_JUDGE_STEP_CONTRACT_H
#define HC_CLI_JUDGE_STEP_CONTRACT_H

#include <stdbool.h>

#include "check/bound/ball.h"
#include "cli/judge_step/step.h"

enum hc_step_decay {
    HC_STEP_DECAY_COUPLED, /* g + weight_decay w */
    HC_STEP_DECAY_APART,   /* w (1 - lr weight_decay), before the update is subtracted */
    HC_STEP_DECAY_BOTH,    /* a mistake: both of these */
    HC_STEP_DECAY_AFTER    /* a mistake: the new weight is multiplied */
};

struct hc_step_contract {
    enum hc_op op; /* adamw, adam or sgd */
    double lr;
    double beta1; /* SGD's momentum */
    double beta2;
    double eps;
    double weight_decay;
    double step; /* Adam's t */
    enum hc_step_decay decay;
    bool decay_norm;
    bool eps_inside;
    bool nesterov;
    bool rate_inside;
    enum hc_adam_order order;
    double stated_lr; /* the file's; the rates of single parameters are multiples of it */
    double stated_decay;

    /* Mistakes only. */
    double dampening;               /* the gradient enters SGD's momentum times 1 - this */
    double gradient_factor;         /* 1 */
    enum hc_format gradient_format; /* into which it is rounded first; HC_FORMAT_COUNT: none */
    enum hc_format weight_format;   /* into which the new weight is rounded before it is stored */
    bool decayed_format;            /* the decayed weight is rounded as if it were stored */
    bool uncorrected_m;             /* no bias correction */
    bool uncorrected_v;
    bool from_model;   /* begins with the model's weight, not with its master */
    bool from_nothing; /* begins with moments of 0 */
    bool left_out;     /* changes nothing */
};

enum { HC_STEP_M, HC_STEP_V, HC_STEP_W, HC_STEP_OUTPUTS };

/* The tensors of one parameter's step. */
struct hc_step_state {
    struct hc_tensor w;     /* the master, or else the weight */
    struct hc_tensor model; /* the weight, where there is a master and the file has both */
    struct hc_tensor g;
    struct hc_tensor m; /* SGD's momentum, too */
    struct hc_tensor v;
    struct hc_tensor compensation;
    struct hc_tensor after[HC_STEP_OUTPUTS];
    enum hc_format work; /* the arithmetic */
    double lr;           /* this parameter's, as the file states it */
    double weight_decay;
    bool master; /* w is one */
    bool norm_or_bias;
    bool stochastic; /* the weight is rounded to either neighbour */
};

/* False, with the reason in `why`, if the file does not say all that the contract needs. */
bool hc_step_contract_read(struct hc_step *step, struct hc_step_contract *c, char why[160]);

void hc_step_state_read(struct hc_step *step, const struct hc_step_contract *c, int p,
                        struct hc_step_state *state);

/* The rate and the decay of a parameter under a contract that departs from the stated one. */
double hc_step_rate(const struct hc_step_contract *c, const struct hc_step_state *s);
double hc_step_decay_of(const struct hc_step_contract *c, const struct hc_step_state *s);

/* Element i of all outputs under the contract. A SGD has no HC_STEP_V. */
void hc_step_contract_element(const struct hc_step_contract *c, const struct hc_step_state *s,
                              int64_t i, struct hc_ball out[HC_STEP_OUTPUTS]);

/* The side of the ball on which the stored number lies, with the last rounding into its format: 0
   if it fits, 1 if it is too large, -1 if it is too small. A ball without end fits nothing. */
int hc_step_side(const struct hc_step_state *s, int out, int64_t i, struct hc_ball ball);

#endif
