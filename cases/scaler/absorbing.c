/* Scales that a rule cannot leave (0, infinity, a floor, a cap), and what they do to a training. */
#include "cases/fixture/replay.h"
#include "cases/fixture/scaling.h"

#include <math.h>

/* An end of the scale's range: steps of one kind from the rule's start until the scale has reached
   it. */
struct end {
    enum hc_scaler_rule rule;
    int steps;
    int log2; /* or HC_LOG2_ZERO, HC_LOG2_INFINITE */
};

/* Halvings without end. fp32 holds 2^-149; the next half is 0. fastai halves only above 1, Apex's
   DynamicLossScaler and DeepSpeed not below 1 (1/4 in its unfused optimizer), DeepSpeed under ZeRO
   only from the second overflow on. */
static const struct end down[] = {
    {HC_SCALER_FASTAI, 16, 0},
    {HC_SCALER_FASTAI2, 174, HC_LOG2_ZERO},
    {HC_SCALER_APEX_FP16UTILS, 32, 0},
    {HC_SCALER_APEX_AMP, 166, HC_LOG2_ZERO},
    {HC_SCALER_TORCH, 166, HC_LOG2_ZERO},
    {HC_SCALER_DEEPSPEED_0170, 17, 0},
    {HC_SCALER_DEEPSPEED_0171, 17, 0},
    {HC_SCALER_DEEPSPEED_CONSECUTIVE, 17, 0},
    {HC_SCALER_DEEPSPEED_FUSED, 16, 0},
    {HC_SCALER_DEEPSPEED_UNFUSED, 18, -2},
};

/* Doublings without end. fp32 holds 2^127; 112 doublings of 2^16 are infinite. */
static const struct end up[] = {
    {HC_SCALER_FASTAI, 8, 24},
    {HC_SCALER_FASTAI2, 104, HC_LOG2_INFINITE},
    {HC_SCALER_APEX_FP16UTILS, 96, HC_LOG2_INFINITE},
    {HC_SCALER_APEX_AMP, 8, 24},
    {HC_SCALER_TORCH, 111, 127},
    {HC_SCALER_DEEPSPEED_0170, 112, HC_LOG2_INFINITE},
    {HC_SCALER_DEEPSPEED_0171, 113, HC_LOG2_INFINITE}, /* the first clean step does not count */
    {HC_SCALER_DEEPSPEED_CONSECUTIVE, 113, HC_LOG2_INFINITE},
    {HC_SCALER_DEEPSPEED_FUSED, 113, HC_LOG2_INFINITE},
    {HC_SCALER_DEEPSPEED_UNFUSED, 113, HC_LOG2_INFINITE},
};

enum { ENDS = sizeof up / sizeof up[0], AGAIN = 9, LATER = 300, MAX = 174 + AGAIN + LATER };

static double scale_of(int log2)
{
    if (log2 == HC_LOG2_INFINITE)
        return (double)INFINITY;
    return log2 == HC_LOG2_ZERO ? 0 : ldexp(1, log2);
}

static const char *name_of(int log2)
{
    if (log2 == HC_LOG2_ZERO)
        return "0";
    if (log2 == HC_LOG2_INFINITE)
        return "infinity";
    return log2 == 0    ? "its floor, 1"
           : log2 == -2 ? "its floor, 1/4"
           : log2 == 24 ? "its cap, 2^24"
                        : "the last finite power, 2^127";
}

/* Runs the steps towards the end, then AGAIN more of the same kind, which change nothing, then
   LATER of the other kind, which lead away from a scale that can be left. 0 and infinity cannot be
   left. */
static void reach(struct hc_check *check, const struct end *end, int interval, bool found)
{
    const struct hc_scaler own = {.rule = end->rule, .interval = interval};
    const char *name = hc_scalers[end->rule].name;
    struct hc_scaler_update rule = hc_scaler_params(&own);
    struct hc_scaler_memory start = hc_scaler_fresh(end->rule);
    unsigned char *trace = hc_check_memory(check, MAX);
    struct hc_scaler_memory *after = hc_check_memory(check, MAX * sizeof *after);
    bool absorbing = end->log2 == HC_LOG2_ZERO || end->log2 == HC_LOG2_INFINITE;
    double want = scale_of(end->log2);
    int there = end->steps + AGAIN;
    for (int i = 0; i < MAX; i++)
        trace[i] = i < there ? found : !found;
    if (hc_replay(check, &rule, &start, trace, there + LATER, after) != HC_OK)
        return;
    double later = (double)after[there + LATER - 1].scale;
    hc_say(check, "%-22s  %5d  %-29s  %g", name, end->steps, name_of(end->log2), later);
    hc_claim_true(check, "not a step before", (double)after[end->steps - 2].scale != want);
    for (int i = end->steps; i <= there; i++)
        hc_claim_value(check, name, want, (double)after[i - 1].scale);
    hc_claim_true(check, absorbing ? "it is for ever" : "it is left again",
                  absorbing == (later == want));
    hc_claim_value(check, "gave up as the text says", found && hc_oracle_raises(end->rule),
                   after[there - 1].counts[HC_COUNT_GAVE_UP]);
}

/* The scale grows after 100 clean steps, so that LATER of them show it. */
static void halvings(struct hc_check *check)
{
    hc_say(check, "overflows of            steps  until the scale is             300 clean later");
    for (int i = 0; i < ENDS; i++)
        reach(check, &down[i], 100, true);
}

/* The scale grows after each clean step, so that hundreds of them are enough. */
static void doublings(struct hc_check *check)
{
    hc_say(check, "clean steps of          steps  until the scale is             300 inf later");
    for (int i = 0; i < ENDS; i++)
        reach(check, &up[i], 1, false);
}

/* At scale 1 fastai 1.0.61 ignores every overflow and counts it as a clean step: after 1000 of them
   the scale doubles, the next overflow halves it, and so on. */
static void overlooked(struct hc_check *check)
{
    enum { STEPS = 16 + 1000 + 1 };
    const struct hc_scaler own = {.rule = HC_SCALER_FASTAI};
    struct hc_scaler_update rule = hc_scaler_params(&own);
    struct hc_scaler_memory start = hc_scaler_fresh(HC_SCALER_FASTAI);
    unsigned char *found = hc_check_memory(check, STEPS);
    struct hc_scaler_memory *after = hc_check_memory(check, STEPS * sizeof *after);
    for (int i = 0; i < STEPS; i++)
        found[i] = 1;
    if (hc_replay(check, &rule, &start, found, STEPS, after) != HC_OK)
        return;
    hc_claim_value(check, "after 16 overflows", 1, (double)after[15].scale);
    hc_claim_value(check, "after 1015", 1, (double)after[1014].scale);
    hc_claim_value(check, "after 1016", 2, (double)after[1015].scale);
    hc_claim_value(check, "after 1017", 1, (double)after[1016].scale);
    hc_claim_value(check,
                   "steps whose infinities went on to the masters, or that stepped with "
                   "nothing",
                   STEPS, after[STEPS - 1].counts[HC_COUNT_TAKEN]);
}

/* At scale 0 every scaled gradient is 0, so nothing is found. Unscaling gives 0 * (1 / 0) or 0 / 0,
   and the step is taken with NaN. At an infinite scale every gradient is found (0 * inf is NaN),
   and no step is ever taken. */
static void at_the_ends(struct hc_check *check)
{
    static const double values[] = {1e-3, -2, 0, 6e4};
    struct hc_tensor g = hc_check_vector(check, HC_FP32, 4);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, 4);
    struct hc_tensor out = hc_check_vector(check, HC_FP32, 4);
    for (int i = 0; i < 4; i++)
        hc_tensor_set(&g, i, values[i]);
    for (int reciprocal = 0; reciprocal < 2; reciprocal++) {
        bool found;
        if (hc_scale_into(check, &g, 0, &half) != HC_OK ||
            hc_unscale_into(check, &half, 0, reciprocal, &out, &found) != HC_OK)
            return;
        hc_claim_true(check, "scale 0: nothing is found", !found);
        for (int i = 0; i < 4; i++)
            hc_claim_value(check, "scale 0: the gradient", (double)NAN, hc_tensor_get(&out, i));
        if (hc_scale_into(check, &g, (double)INFINITY, &half) != HC_OK ||
            hc_unscale_into(check, &half, (double)INFINITY, reciprocal, &out, &found) != HC_OK)
            return;
        hc_claim_true(check, "infinite scale: found, at any gradient", found);
    }
}

static const struct hc_case cases[] = {
    {.name = "scaler/overflows-without-end",
     .title =
         "overflows without end: fastai2, Apex amp and torch come to 0 (torch at the 166th) and "
         "never leave it, and Apex amp's next step ends the run; fastai, Apex fp16_utils and "
         "DeepSpeed stop at 1 (its unfused optimizer at 1/4) and can leave it",
     .source =
         "the rules' sources, as halfcheck list scalers gives them; fp32's smallest number is "
         "2^-149",
     .run = halvings},
    {.name = "scaler/growth-without-end",
     .title = "growth without end: fastai and Apex amp stop at 2^24, torch at 2^127; fastai2, Apex "
              "fp16_utils and DeepSpeed come to infinity and never leave it",
     .source = "the rules' sources, as halfcheck list scalers gives them; fp32 ends below 2^128 (a "
               "Python float goes on to 2^1024)",
     .run = doublings},
    {.name = "scaler/fastai-overlooks-at-1",
     .title =
         "fastai 1.0.61 at scale 1: overflows pass unseen, count as clean steps and make it grow",
     .source = "fastai 1.0.61 fastai/callbacks/fp16.py: grad_overflow(...) and self.loss_scale > 1",
     .run = overlooked},
    {.name = "scaler/zero-and-infinite-scales",
     .title =
         "at scale 0 nothing is found and the weights become NaN; at an infinite scale everything "
         "is found and no step is taken",
     .source = "contract in src/op/elementwise.h: the detector looks before the division; so does "
               "pytorch 2.15.0's _amp_foreach_non_finite_check_and_unscale_",
     .run = at_the_ends},
};

HC_CASES(scaler_absorbing, cases);
