/* What is claimed of a step: that a tensor in the file is what one output of an op makes of other
   tensors in the file. So each layer is judged by itself: it answers for its own roundings, not for
   what entered it. */
#ifndef HC_CLI_JUDGE_STEP_CLAIM_H
#define HC_CLI_JUDGE_STEP_CLAIM_H

#include <stdbool.h>

#include "check/bound/bound.h"
#include "cli/judge_step/cause.h"
#include "cli/judge_step/step.h"

struct hc_step_claim {
    const char *stage; /* "forward" */
    const char *what;  /* "convolution" */
    char where[HC_STEP_NAME];

    /* Inputs as the file holds them, and the shapes of all outputs. */
    struct hc_call call;
    int out;
    struct hc_tensor got; /* as the file holds it */

    /* The format in which the op is to be computed, and the inputs that are then taken in it. The
       others are taken as they are: gamma of batch norm, an optimizer's state. */
    enum hc_format expected;
    unsigned data; /* bits 1 << input */

    /* What is added to the output, and the sum rounded once more; without data: nothing. */
    struct hc_tensor addend;

    const struct hc_strayed *strayed; /* of bn_leaky_bwd; or NULL */

    bool quantised; /* a product of this layer is one of rounded operands, which nobody has kept */
};

enum hc_step_judgement { HC_STEP_RIGHT, HC_STEP_WRONG, HC_STEP_NOT_JUDGED };

struct hc_step_verdict {
    const char *stage;
    const char *what;
    char where[HC_STEP_NAME];
    enum hc_step_judgement judgement;
    char format[24]; /* in which it was computed, as far as that can be told: "bf16", "bf16>fp32" */
    int64_t elements; /* of the tensor, */
    int64_t checked;  /* those that were compared with MPFR, */
    int64_t wrong;    /* and those of them beyond the bound */
    double ratio;     /* the largest error / bound */
    int64_t index;    /* of that element, in PyTorch's layout */
    double want;
    double got;
    double error;
    double bound;
    double ulps;
    char note[280]; /* why it is wrong or not judged; or "" */
};

/* All claims of a step so far, and what judging them needs. */
struct hc_step_session {
    struct hc_step *step;
    const struct hc_backend *backend; /* whose fp64 says which elements to look at, too */
    struct hc_queue *queue;
    struct hc_accumulator accumulator; /* of whoever made the step */
    bool every;                        /* compares all elements, not a sample */
    struct hc_step_verdict *verdicts;
    int count;
    int capacity;
    struct hc_step_causes causes[HC_STEP_CAUSE_STAGES]; /* of hc_step_explain */
    void (*progress)(const struct hc_step_verdict *now);
};

enum hc_status hc_step_session_open(struct hc_step_session *session, struct hc_step *step);
void hc_step_session_close(struct hc_step_session *session);

/* Judges the claim and adds its verdict, which lives until the next claim. A claim whose tensors
   are not all there is not judged. NULL, with step->status set, if there is no memory. */
struct hc_step_verdict *hc_step_judge(struct hc_step_session *session,
                                      const struct hc_step_claim *claim);

/* A verdict that some other comparison has reached. */
struct hc_step_verdict *hc_step_add_verdict(struct hc_step_session *session, const char *stage,
                                            const char *what, const char *where);

/* Whether a claim would be right: for finding out what was done instead. */
bool hc_step_fits(struct hc_step_session *session, const struct hc_step_claim *claim);

/* The narrower of two formats. */
enum hc_format hc_step_narrower(enum hc_format a, enum hc_format b);

#endif
