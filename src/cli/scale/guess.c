#include "cli/scale/guess.h"

#include <math.h>
#include <stddef.h>

#include "num/bits.h"

bool hc_scale_twist_is_for(const struct hc_scale_plan *plan, enum hc_scale_twist twist)
{
    switch (twist) {
    case HC_SCALE_RECIPROCAL:
        return plan->has_history || hc_scale_format(plan->rule) == HC_FP32;
    case HC_SCALE_A_STEP_LATE:
        return plan->has_history;
    case HC_SCALE_ROLLS_WHEN_IDLE:
        return plan->has_history && plan->delayed.rule == HC_DELAYED_TE;
    case HC_SCALE_MARGIN_OF_QUOTIENT:
        return plan->has_history && plan->delayed.rule == HC_DELAYED_TE && plan->delayed.margin > 0;
    default:
        return true;
    }
}

/* An idle step that rolls the history all the same: as one with the smallest amax, which is then
   taken out again. Without a larger one in the history the scale stays. */
static struct hc_scale_answer roll(struct hc_scale_oracle *oracle)
{
    static const uint32_t smallest = 1;
    double before = oracle->scale;
    const double *old = oracle->history[oracle->current];
    int window = oracle->plan.window;
    bool is_empty = true;
    for (int i = 1; i < window; i++)
        is_empty &= !(old[i] > 0); /* a NaN is no amax, either */
    (void)hc_scale_next(oracle, &smallest);
    oracle->history[oracle->current][window - 1] = 0;
    oracle->scale = is_empty || oracle->plan.delayed.most_recent ? before : oracle->scale;
    return (struct hc_scale_answer){.scale = hc_fp32_bits((float)oracle->scale)};
}

/* The margin multiplied into M / a, and only then the limit. The rule without a margin gives M / a,
   or FM where that is infinite, and infinite it stays. The first amax of a trace moves the scale:
   no answer is the 1 that it begins with. */
static struct hc_scale_answer margin_of_quotient(struct hc_scale_oracle *oracle, int margin,
                                                 const uint32_t *words)
{
    static const uint32_t limit = 0x7f7fffff;
    oracle->plan.delayed.margin = 0;
    uint32_t scale = hc_scale_next(oracle, words).scale;
    float quotient = hc_fp32_value(scale);
    if (scale != limit)
        scale = hc_fp32_bits(ldexpf(quotient, -margin));
    return (struct hc_scale_answer){.scale = scale};
}

/* The step of the guess's state. */
static struct hc_scale_answer step(const struct hc_scale_guess *g, struct hc_scale_oracle *oracle,
                                   const uint32_t *words)
{
    if (g->twist == HC_SCALE_ROLLS_WHEN_IDLE && words[0] == 0)
        return roll(oracle);
    if (g->twist == HC_SCALE_MARGIN_OF_QUOTIENT)
        return margin_of_quotient(oracle, g->plan.delayed.margin, words);
    return hc_scale_next(oracle, words);
}

/* The guess's answer to the next line. `before` is the scale before the step, and then after it. */
static struct hc_scale_answer next(const struct hc_scale_guess *g, struct hc_scale_oracle *oracle,
                                   const uint32_t *words, uint32_t *before)
{
    struct hc_scale_answer answer = step(g, oracle, words);
    uint32_t scale = answer.scale;
    if (g->twist == HC_SCALE_RECIPROCAL)
        answer.scale = hc_fp32_bits(1 / hc_fp32_value(scale));
    else if (g->twist == HC_SCALE_A_STEP_LATE)
        answer.scale = *before;
    *before = scale;
    return answer;
}

/* A different answer up to the wrong line ends it; behind that line it is only not counted. */
void hc_scale_guess_try(struct hc_scale_guess *g, const struct hc_scale_plan *asked,
                        const struct hc_scale_trace *trace, const struct hc_scale_answers *a)
{
    static struct hc_scale_oracle guessed, right;
    uint32_t before = 0x3f800000u; /* the scale at first */
    hc_scale_begin(&guessed, &g->plan);
    hc_scale_begin(&right, asked);
    guessed.round = g->rounding ? g->rounding->round : NULL;
    g->explained = g->denied = 0;
    for (int i = 0; i < a->count; i++) {
        const uint32_t *words = trace->words + (ptrdiff_t)i * trace->width;
        struct hc_scale_answer guess = next(g, &guessed, words, &before);
        struct hc_scale_answer want = hc_scale_next(&right, words);
        bool is_explained = hc_scale_differs(asked, &guess, &a->got[i]) < 0;
        if (!is_explained && i <= a->wrong) {
            g->explained = 0;
            return;
        }
        g->explained += is_explained;
        g->denied += !is_explained && hc_scale_differs(asked, &want, &a->got[i]) < 0;
    }
}

bool hc_scale_guess_is_same(const struct hc_scale_guess *x, const struct hc_scale_guess *y)
{
    return x->twist == y->twist && x->rounding == y->rounding && x->plan.rule == y->plan.rule &&
           x->plan.codes == y->plan.codes && x->plan.window == y->plan.window &&
           x->plan.delayed.rule == y->plan.delayed.rule &&
           x->plan.delayed.margin == y->plan.delayed.margin &&
           x->plan.delayed.most_recent == y->plan.delayed.most_recent;
}
