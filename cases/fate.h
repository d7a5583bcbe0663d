/* An infinity or a NaN in a training step under every recipe of the table, and the claims that what it
   moves is what the recipe's rule says. What the rules say stands in outcome.c once more, and on
   purpose: it shares nothing with the data that the engine goes by. */
#ifndef HC_CASES_FATE_H
#define HC_CASES_FATE_H

#include "cases/plant.h"

/* One recipe at one moment: the states before the step, after it when it is clean, and poisoned. */
struct hc_experiment {
    struct hc_injection *injection;
    const char *moment;
    int batch;
    struct hc_injection_state before;
    struct hc_injection_state clean;
    struct hc_injection_state after;
    struct hc_injection_state next; /* after a clean step more */
    int64_t checked;
    int64_t wrong;
    char first[240]; /* what was wrong */
    int calls;       /* of the pass */
    enum hc_op op[sizeof((struct hc_injection *)0)->op / sizeof(enum hc_op)];
};

/* What moved against the user's interest, over all scenes of a case. */
struct hc_damage {
    int poisoned;   /* steps that lost weights */
    int statistics; /* skipped steps that left running statistics infinite or NaN */
    int skipped;    /* steps */
    int stepped;    /* overflowed steps that move the weights */
    int recipes;    /* that lost weights */
};

/* Calls `walk` for each recipe at the first step, a middle one and the one that would grow the scale. */
typedef void hc_experiment_walk(struct hc_experiment *experiment, struct hc_damage *damage);
void hc_experiment_each_recipe(struct hc_check *check, hc_experiment_walk *walk);

/* The step with an infinity or NaN there, and the claims. */
void hc_experiment_inject(struct hc_experiment *experiment, const struct hc_injection_site *at, struct hc_damage *damage);

/* The same step, and the claim that it moves what the clean one does. */
void hc_experiment_inject_reported(struct hc_experiment *experiment, const struct hc_injection_site *at);

/* By outcome.c, for the above: whether a rule has its statement there, and what it claims of
   experiment->after. */
bool hc_overflow_known(enum hc_scaler_rule rule);
void hc_overflow_judge(struct hc_experiment *experiment, const struct hc_injection_site *at, struct hc_damage *damage);
void hc_experiment_claim(struct hc_experiment *experiment, const struct hc_injection_site *at, const char *text,
                   bool held);
double hc_overflow_scale(const struct hc_experiment *experiment, bool found); /* after the step */
bool hc_bytes_same(const struct hc_bytes *a, const struct hc_bytes *b);
void hc_overflow_next(struct hc_experiment *experiment, const struct hc_injection_site *at);

/* How many weights, momenta and model copies are not those of fastai 1.0.61's step that overflowed
   (outcome_fastai.c); `none`: the masters have no gradients. */
int64_t hc_overflow_unlike_fastai(const struct hc_experiment *experiment, bool none);

/* The first piece of state in which the two differ, or NULL. */
const char *hc_overflow_moved(const struct hc_injection_state *a, const struct hc_injection_state *b);

#endif
