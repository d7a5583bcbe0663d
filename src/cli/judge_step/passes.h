/* The claims of a step, in the order in which a step comes to pass. */
#ifndef HC_CLI_JUDGE_STEP_PASSES_H
#define HC_CLI_JUDGE_STEP_PASSES_H

#include "cli/judge_step/claim.h"

/* Model copies against masters, layers from the image to the logits, running statistics, loss. */
void hc_step_judge_forward(struct hc_step_court *court);

/* The loss' gradient, then the layers from the last to the first: gradients of activations and of
   parameters. */
void hc_step_judge_backward(struct hc_step_court *court);

/* Unscaling, clipping, and whether an overflow was seen. */
void hc_step_judge_unscale(struct hc_step_court *court);

/* The optimizer: moments and weights; the model's copies; and the scale of the next step. */
void hc_step_judge_update(struct hc_step_court *court);
void hc_step_judge_scale(struct hc_step_court *court);

/* Whether the step was to be left out: a gradient is infinite or NaN, and there is a scaler. */
bool hc_step_left_out(struct hc_step_court *court);

/* The format in which a layer computes: the narrower one of what enters and what leaves it. */
enum hc_format hc_step_format(const struct hc_step_court *court, const struct hc_tensor *in,
                              const struct hc_tensor *out);

/* A claim about the layer whose output is value v. */
struct hc_step_claim hc_step_claim(const struct hc_step_court *court, const char *stage,
                                   const char *what, int l);

/* Mean and invstd as bn_leaky_bwd takes them: those that the file has, or the real ones and how far
   others may stray from them. The caller frees `owned`. */
struct hc_step_statistics {
    struct hc_tensor mean;
    struct hc_tensor invstd;
    struct hc_strayed strayed;
    bool told; /* by the file: nothing strays */
    double *owned;
};

bool hc_step_statistics(struct hc_step_court *court, int l, struct hc_step_statistics *s);

/* Only those of the file; false if it has none. */
bool hc_step_told_statistics(struct hc_step_court *court, int l, struct hc_step_statistics *s);

/* The forward pass of batch norm and leaky ReLU in layer l, with all outputs' shapes. */
struct hc_call hc_step_norm(struct hc_step_court *court, int l);

/* Batch norm's parameters, where x has this format. */
struct hc_bn hc_step_norm_params(const struct hc_step *step, enum hc_format x);

#endif
