/* The answers of an implementation, for halfcheck verify: how a line of them is read, and those
   that are kept for a diagnosis when one is wrong. */
#ifndef HC_CLI_SCALER_ANSWER_H
#define HC_CLI_SCALER_ANSWER_H

#include "cli/scaler/trace.h"

struct hc_scaler_answer {
    char echo[HC_STEP_LINE]; /* STEP STEPS FOUND, with one blank between them */
    bool raises;
    double scale;
};

/* Reads STEP STEPS FOUND SCALE. Returns what is wrong with the line, or NULL. */
const char *hc_scaler_answer_read(const char *line, struct hc_scaler_answer *answer);

/* Answers from the first step on: right ones, the first wrong one, and some after it. */
struct hc_scaler_answers {
    const struct hc_scaler_plan *plan;
    const unsigned char *sent; /* what each step was sent, an enum hc_gradients */
    int length;                /* of the trace */
    double *scale;
    int count;
    int room;
    int wrong;   /* the first wrong answer, counted from 0 */
    bool raised; /* the last answer is an error in place of a scale */
};

/* Begins with the answers up to the wrong one; those before it are the rule's. Without memory
   `scale` is NULL, and there is nothing to close. */
void hc_scaler_answers_open(struct hc_scaler_answers *answers, const struct hc_scaler_plan *plan,
                            const unsigned char *sent, int length, int wrong,
                            const struct hc_scaler_answer *answer);
void hc_scaler_answers_close(struct hc_scaler_answers *answers);

/* Adds a line after the wrong one. Returns false if no more lines can be used. */
bool hc_scaler_answers_add(struct hc_scaler_answers *answers, const char *line);

/* The factor of the first growth at a clean step (`up`), or of the first fall at an overflow; 0
   if there is none. Then the clean steps up to the first growth, in a row and in all; 0 if there
   is none. */
double hc_scaler_answers_factor(const struct hc_scaler_answers *answers, bool up);
void hc_scaler_answers_to_growth(const struct hc_scaler_answers *answers, int *run, int *all);

#endif
