/* The optimizer of a step, as the metadata of its file say it, and mistakes made with it. */
#ifndef HC_CLI_JUDGE_STEP_STEP_OPTIMIZER_H
#define HC_CLI_JUDGE_STEP_STEP_OPTIMIZER_H

#include "cli/judge_step/claim.h"

struct hc_step_optimizer {
    enum hc_op op;
    double hyper[HC_HYPER_COUNT];
    bool decay_norm;
    struct hc_call call; /* parameters, and hyper in `in` */
};

/* False if the file does not say which optimizer it was. */
bool hc_step_optimizer_read(struct hc_step *step, struct hc_step_optimizer *o);

/* The weight decay of an optimizer's call. */
double *hc_step_weight_decay(struct hc_call *call);

/* Writes into `note` which mistake explains what was got, if one of those that are tried does. */
void hc_step_optimizer_explain(struct hc_step_court *court, const struct hc_step_claim *claim,
                               char *note, size_t size);

#endif
