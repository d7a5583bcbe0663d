/* The claims of a step, in the order in which the step computes. */
#ifndef HC_CLI_JUDGE_STEP_PASSES_H
#define HC_CLI_JUDGE_STEP_PASSES_H

#include "cli/judge_step/claim.h"

/* Model copies against masters, layers from the image to the logits, running statistics, loss. */
void hc_step_judge_forward(struct hc_step_session *session);

/* The loss' gradient, then the layers from the last to the first: gradients of activations and of
   parameters. */
void hc_step_judge_backward(struct hc_step_session *session);

/* Unscaling, clipping, and whether an overflow was seen. */
void hc_step_judge_unscale(struct hc_step_session *session);

/* Whether the step was to be left out: a gradient is infinite or NaN, and there is a scaler. */
bool hc_step_left_out(struct hc_step_session *session);

/* The optimizer: moments and weights; the model's copies; and the scale of the next step. */
void hc_step_judge_update(struct hc_step_session *session);
void hc_step_judge_scale(struct hc_step_session *session);

/* Called after all of these: explains unscaling, the update and the model's copies if one is wrong.
 */
void hc_step_explain(struct hc_step_session *session);

/* A claim about the layer whose output is value v. */
struct hc_step_claim hc_step_claim(const struct hc_step_session *session, const char *stage,
                                   const char *what, int l);

/* The format in which a layer computes: the narrower one of its input's and its output's. */
enum hc_format hc_step_format(const struct hc_tensor *in, const struct hc_tensor *out);

/* Claims that got = op(a) op(b). */
void hc_step_judge_product(struct hc_step_session *session, struct hc_step_claim claim,
                           bool transpose_a, struct hc_tensor a, bool transpose_b,
                           struct hc_tensor b, enum hc_format expected);

/* The layer that adds value v to something else, or -1. */
int hc_step_skip_of(const struct hc_plan *plan, int v);

/* A parameter of a layer, as the passes took it. */
struct hc_tensor hc_step_own_weight(struct hc_step *step, int l, int p);

/* Judges an output of one of the ops that are defined by a text; or that bits are copied. */
struct hc_step_verdict *hc_step_judge_op(struct hc_step_session *session,
                                         struct hc_step_claim claim, const struct hc_call *call,
                                         int out, struct hc_tensor got);
struct hc_step_verdict *hc_step_judge_copy(struct hc_step_session *session,
                                           struct hc_step_claim claim, struct hc_tensor from,
                                           struct hc_tensor got);

/* What may have been done otherwise, in words. */
struct hc_step_change {
    const char *words;
    void (*make)(struct hc_call *call);
};

/* As hc_step_judge_op; if the output is wrong, the first change that makes it right is named. */
void hc_step_judge_among(struct hc_step_session *session, struct hc_step_claim claim,
                         const struct hc_call *call, int out, struct hc_tensor got,
                         const struct hc_step_change *changes, size_t n);

/* Of layer l: got = x w'; dw = dy' x; and dx = dy w, to which what comes by a skip is added. */
void hc_step_judge_matrix(struct hc_step_session *session, const char *what, int l,
                          struct hc_tensor w, struct hc_tensor got);
void hc_step_judge_weight(struct hc_step_session *session, const char *what, int l,
                          struct hc_tensor dy, struct hc_tensor got);
void hc_step_judge_input(struct hc_step_session *session, const char *what, int l,
                         struct hc_tensor dy, struct hc_tensor w, struct hc_tensor got);

/* The claims about the layers that only GPTs have (gpt.c, gpt_attention.c). */
void hc_step_forward_embed(struct hc_step_session *session, int l);
void hc_step_forward_place(struct hc_step_session *session, int l);
void hc_step_forward_norm(struct hc_step_session *session, int l);
void hc_step_forward_centred(struct hc_step_session *session, int l);
void hc_step_forward_attention(struct hc_step_session *session, int l);
void hc_step_forward_matrix(struct hc_step_session *session, int l);
void hc_step_forward_gated(struct hc_step_session *session, int l);
void hc_step_forward_gelu(struct hc_step_session *session, int l);
void hc_step_forward_head(struct hc_step_session *session, int l);
void hc_step_backward_embed(struct hc_step_session *session, int l);
void hc_step_backward_place(struct hc_step_session *session, int l);
void hc_step_backward_norm(struct hc_step_session *session, int l);
void hc_step_backward_centred(struct hc_step_session *session, int l);
void hc_step_backward_attention(struct hc_step_session *session, int l);
void hc_step_backward_matrix(struct hc_step_session *session, int l);
void hc_step_backward_gated(struct hc_step_session *session, int l);
void hc_step_backward_gelu(struct hc_step_session *session, int l);
void hc_step_backward_head(struct hc_step_session *session, int l);

/* Mean and invstd as bn_leaky_bwd takes them: those that the file has, or the real ones and how far
   others may stray from them. The caller frees `owned`. */
struct hc_step_statistics {
    struct hc_tensor mean;
    struct hc_tensor invstd;
    struct hc_strayed strayed;
    bool in_file; /* taken from the file: no error is added */
    double *owned;
};

bool hc_step_statistics(struct hc_step_session *session, int l, struct hc_step_statistics *s);

/* What judge-step prints. */

/* Prints the table, a line for each stage of a layer or, with `all`, for each claim, and the
   sentences behind it; writes the document to `json`, if that is not NULL. One of enum hc_exit. */
int hc_step_print(const struct hc_step_session *session, const char *path, bool all,
                  const char *json);

/* The document. The caller frees it with json_decref; a json_t. */
struct json_t *hc_step_document(const struct hc_step_session *session, const char *path);

/* A line on a terminal that says what is judged now; and its removal. */
void hc_step_show_progress(const struct hc_step_verdict *now);
void hc_step_end_progress(void);

#endif
