/* An infinity or a NaN in a training step under every recipe of the table, and the claims that what it
   moves is what the recipe's rule says. What the rules say stands in fate_rule.c once more, and on
   purpose: it shares nothing with the data that the engine goes by. */
#ifndef HC_CASES_FATE_H
#define HC_CASES_FATE_H

#include "cases/plant.h"

/* One recipe at one moment: the states before the step, after it when it is clean, and poisoned. */
struct hc_scene {
    struct hc_plant *plant;
    const char *moment;
    int batch;
    struct hc_plant_state before;
    struct hc_plant_state clean;
    struct hc_plant_state after;
    struct hc_plant_state next; /* after a clean step more */
    int64_t checked;
    int64_t wrong;
    char first[240]; /* what was wrong */
    int calls;       /* of the pass */
    enum hc_op op[sizeof((struct hc_plant *)0)->op / sizeof(enum hc_op)];
};

/* What moved against the user's interest, over all scenes of a case. */
struct hc_harm {
    int poisoned;   /* steps that lost weights */
    int statistics; /* skipped steps that left running statistics infinite or NaN */
    int skipped;    /* steps */
    int stepped;    /* overflowed steps that move the weights */
    int recipes;    /* that lost weights */
};

/* Calls `walk` for each recipe at the first step, a middle one and the one that would grow the scale. */
typedef void hc_scene_walk(struct hc_scene *scene, struct hc_harm *harm);
void hc_fate_of_recipes(struct hc_check *check, hc_scene_walk *walk);

/* The step with an infinity or NaN there, and the claims. */
void hc_fate_plant(struct hc_scene *scene, const struct hc_plant_at *at, struct hc_harm *harm);

/* The same step, and the claim that it moves what the clean one does. */
void hc_fate_reported(struct hc_scene *scene, const struct hc_plant_at *at);

/* By fate_rule.c, for the above: whether a rule has its statement there, and what it claims of
   scene->after. */
bool hc_fate_known(enum hc_scaler_rule rule);
void hc_fate_judge(struct hc_scene *scene, const struct hc_plant_at *at, struct hc_harm *harm);
void hc_fate_claim(struct hc_scene *scene, const struct hc_plant_at *at, const char *text,
                   bool held);
double hc_fate_scale(const struct hc_scene *scene, bool found); /* after the step */
bool hc_fate_same(const struct hc_bytes *a, const struct hc_bytes *b);
void hc_fate_of_next(struct hc_scene *scene, const struct hc_plant_at *at);

/* How many weights, momenta and model copies are not those of fastai 1.0.61's step that overflowed
   (fate_anyway.c); `none`: the masters have no gradients. */
int64_t hc_fate_not_anyway(const struct hc_scene *scene, bool none);

/* The first piece of state in which the two differ, or NULL. */
const char *hc_fate_moved(const struct hc_plant_state *a, const struct hc_plant_state *b);

#endif
