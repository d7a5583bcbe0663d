/* A guess of what made wrong answers: a rule, or a twist of one, and how many answers it explains.
 */
#ifndef HC_CLI_SCALE_GUESS_H
#define HC_CLI_SCALE_GUESS_H

#include "cli/scale/answer.h"
#include "cli/scale/rounding.h"

/* How a rule's answer is changed before it is compared. */
enum hc_scale_twist {
    HC_SCALE_AS_IT_IS,
    HC_SCALE_RECIPROCAL,
    HC_SCALE_A_STEP_LATE,
    HC_SCALE_ROLLS_WHEN_IDLE,
    HC_SCALE_MARGIN_OF_QUOTIENT,
    HC_SCALE_TWISTS
};

struct hc_scale_guess {
    struct hc_scale_plan plan;
    enum hc_scale_twist twist;
    const struct hc_wrong_rounding *rounding; /* NULL: the right one */
    int explained;                            /* 0 if not all up to the first wrong answer are */
    int denied;                               /* answers that are right, and other than guessed */
};

/* Whether the twist is one of the plan's rule. */
bool hc_scale_twist_is_for(const struct hc_scale_plan *plan, enum hc_scale_twist twist);

/* Counts the answers that the guess explains, and those that it denies. */
void hc_scale_guess_try(struct hc_scale_guess *guess, const struct hc_scale_plan *asked,
                        const struct hc_scale_trace *trace, const struct hc_scale_answers *answers);

/* Whether both guess the same, whatever they explain. */
bool hc_scale_guess_is_same(const struct hc_scale_guess *x, const struct hc_scale_guess *y);

#endif
