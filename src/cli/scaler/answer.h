/* An implementation's answers, for halfcheck verify: a line of them, and those that are kept for a
   diagnosis once one is wrong. */
#ifndef HC_CLI_SCALER_ANSWER_H
#define HC_CLI_SCALER_ANSWER_H

#include "cli/scaler/trace.h"

struct hc_scaler_answer {
    char echo[HC_STEP_LINE]; /* STEP STEPS FOUND, one blank between them */
    bool raises;
    double scale;
};

/* STEP STEPS FOUND SCALE, and nothing behind it. What is wrong with the line, or NULL. */
const char *hc_scaler_answer_read(const char *line, struct hc_scaler_answer *answer);

/* From the first step on: right ones, the first wrong one, and some behind it. */
struct hc_scaler_answers {
    const struct hc_scaler_plan *plan;
    const unsigned char *sent; /* each an enum hc_gradients */
    int length;                /* of the trace */
    double *scale;
    int count;
    int room;
    int wrong;   /* which is the first wrong one, from 0 */
    bool raised; /* instead of the last scale there was an error */
};

/* Those before the wrong one were as promised. Without memory for them `scale` is NULL, and there
   is nothing to close. */
void hc_scaler_answers_open(struct hc_scaler_answers *answers, const struct hc_scaler_plan *plan,
                            const unsigned char *sent, int length, int wrong,
                            const struct hc_scaler_answer *answer);
void hc_scaler_answers_close(struct hc_scaler_answers *answers);

/* One more line behind the wrong one; false where nothing more can be made of it. */
bool hc_scaler_answers_add(struct hc_scaler_answers *answers, const char *line);

/* The factor by which the scale first moves up at a clean step, or down at another; 0 where it
   never does. Clean steps in a row, and in all, up to the first growth; 0 where there is none. */
double hc_scaler_answers_factor(const struct hc_scaler_answers *answers, bool up);
void hc_scaler_answers_to_growth(const struct hc_scaler_answers *answers, int *run, int *all);

#endif
