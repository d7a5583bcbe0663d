/* Why a step is wrong: the single changes of its contract that explain every number of a stage.

   Each usual mistake is tried alone, on all elements of all parameters: the moments and the weights
   have to lie within the bounds of the contract that has this one change. A number, such as eps, is
   solved for: every element rules out the values that cannot have made it, and an interval is left.
   If one change explains everything, it is the cause. If several do, the numbers do not tell them
   apart, and all are named; if none does, none is. If nothing explains all parameters and only some
   are wrong, the changes are tried on the wrong ones alone. */
#ifndef HC_CLI_JUDGE_STEP_CAUSE_H
#define HC_CLI_JUDGE_STEP_CAUSE_H

#include "cli/judge_step/contract.h"

enum { HC_STEP_MAX_CAUSES = 40 };

struct hc_step_cause {
    const char *name;   /* for programs: "eps" */
    char text[240];     /* "eps stands under the root" */
    bool solved;        /* and then: */
    const char *what;   /* the name of the solved number, if `text` does not have it; or NULL */
    bool in_file;       /* the file states the number; otherwise every contract has it */
    bool in_proportion; /* a parameter's own value changes by the same factor */
    double value;
    double low; /* the smallest value that explains everything */
    double high;
    double stated; /* what the file says */
};

/* Stages that are explained. */
enum hc_step_cause_stage {
    HC_STEP_CAUSE_UNSCALE, /* the gradients that the optimizer got */
    HC_STEP_CAUSE_UPDATE,  /* its state and the weights */
    HC_STEP_CAUSE_COPIES,  /* the model's copies of the masters */
    HC_STEP_CAUSE_STAGES
};

/* What explains one stage. */
struct hc_step_causes {
    bool wrong; /* some claim of the stage is wrong */
    bool tried; /* changes were tried; otherwise `why` says why not */
    const char *why;
    int changes;      /* how many were tried */
    int64_t elements; /* of the explained parameters: weights, each with its state */
    int parameters;   /* how many are explained, */
    int of;           /* out of so many */
    int count;
    struct hc_step_cause cause[HC_STEP_MAX_CAUSES];
};

/* A number that the stated contract does not explain. */
struct hc_step_spot {
    int parameter;
    int64_t index;
};

enum { HC_STEP_MAX_SPOTS = 64 };

/* The factor by which clipping multiplies the gradients, and the relative error that a right factor
   may have. {1, 0}: the gradients are not clipped. */
struct hc_step_factor {
    double value;
    double slack;
};
struct hc_step_factor hc_step_clip_factor(struct hc_step *step);

/* All parameters of a step. */
struct hc_step_subject {
    struct hc_step *step;
    struct hc_step_contract stated;
    struct hc_step_state *states;
    bool *passed_over; /* parameters that are not to be explained */
    int parameters;
    struct hc_step_spot spot[HC_STEP_OUTPUTS]
                            [HC_STEP_MAX_SPOTS]; /* some that are wrong, by output, */
    int spots[HC_STEP_OUTPUTS];                  /* and how many: asked first */
    struct hc_step_factor clipping;
    bool unpromised; /* there are elements about which the stated contract promises nothing */
};

/* Whether the stated contract promises nothing about this element: a number on the way to it may
   leave the format's range. No change has to explain it. */
bool hc_step_promises_nothing(const struct hc_step_subject *subject, int p, int out, int64_t i);

/* Whether the contract explains every element of every parameter that is not passed over. Elements
   that the stated contract promises nothing about count as explained. */
bool hc_step_explains(const struct hc_step_subject *subject, const struct hc_step_contract *c);

/* Adds to the causes those numbers of the contract that explain every element with another value
   than the stated one. */
void hc_step_solve(const struct hc_step_subject *subject, struct hc_step_causes *causes);

/* Adds a cause; without a text, NULL, there is no room. */
struct hc_step_cause *hc_step_add_cause(struct hc_step_causes *causes, const char *name,
                                        const char *text);

void hc_step_explain_unscaling(struct hc_step *step, struct hc_step_causes *causes);

#endif
