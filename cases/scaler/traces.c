/* Loss scales over many steps: along traces, at scales that a rule cannot leave, and with numbers
   of one's own. */
#include <math.h>
#include <string.h>

#include "cases/fixture/replay.h"
#include "cases/fixture/scaling.h"
#include "cases/fixture/training/update_fixture.h"

/* Each rule on traces of overflows, against the scaler oracle. */

/* A trace: its length, and whether step s (from 1) overflows. n is the rule's interval. */
struct trace {
    const char *name;
    int64_t (*length)(int64_t n);
    bool (*found)(int64_t s, int64_t n);
};

static int64_t three(int64_t n)
{
    return 3 * n + 3;
}

static int64_t four_hundred(int64_t n)
{
    (void)n;
    return 400;
}

static bool never(int64_t s, int64_t n)
{
    (void)s;
    (void)n;
    return false;
}

static bool once(int64_t s, int64_t n)
{
    return s == n / 2;
}

static bool always(int64_t s, int64_t n)
{
    (void)s;
    (void)n;
    return true;
}

static bool every_other(int64_t s, int64_t n)
{
    (void)n;
    return s % 2 == 0;
}

static bool before(int64_t s, int64_t n)
{
    return s == n - 1;
}

static bool at(int64_t s, int64_t n)
{
    return s == n;
}

static bool behind(int64_t s, int64_t n)
{
    return s == n + 1;
}

/* n clean steps, an overflow, n + 1 clean steps, two overflows: each rule's second growth. */
static bool twice(int64_t s, int64_t n)
{
    return s == n + 1 || s == 2 * n + 3 || s == 2 * n + 4;
}

static const struct trace traces[] = {
    {"clean", three, never},
    {"one overflow", three, once},
    {"an overflow at each step", four_hundred, always},
    {"every other step", three, every_other},
    {"one before growth", three, before},
    {"at the growth step", three, at},
    {"one after growth", three, behind},
    {"around two growths", three, twice},
};

enum { TRACES = sizeof traces / sizeof traces[0] };

/* Steps overflow at a rate that changes with every interval, from one in two to none. */
static bool by_chance(const struct hc_check *check, int64_t s, int64_t n)
{
    static const int64_t rates[] = {0, 2, 50, 0, 7, 0};
    int64_t rate = rates[(s / (n + 3)) % 6];
    return rate && hc_random(hc_check_seed(check), 31, (uint64_t)s) % (uint64_t)rate == 0;
}

static void replay(struct hc_check *check)
{
    enum hc_scaler_rule rule = hc_scaler_by_name(strchr(hc_check_case(check)->name, '/') + 1);
    int64_t interval = hc_oracle_interval(rule);
    int64_t n = interval ? interval : 1000;
    int64_t most = 12 * n;
    unsigned char *found = hc_check_memory(check, (size_t)most);
    for (int t = 0; t < TRACES; t++) {
        int64_t steps = traces[t].length(n);
        for (int64_t s = 1; s <= steps; s++)
            found[s - 1] = traces[t].found(s, n);
        hc_replay_claim(check, traces[t].name, rule, interval, found, steps);
    }
    for (int64_t s = 1; s <= most; s++)
        found[s - 1] = by_chance(check, s, n);
    hc_replay_claim(check, "by chance", rule, interval, found, most);
}

/* log2 of the scale after 40,000 clean steps. From specs and sources: nb_004b's 512; fastai's and
   Apex amp's cap; 20 growths of torch's 2000; 40 of 1000 from 2^32 in Apex's old one and from 2^16
   in DeepSpeed's up to 0.17.0; 39 in the rules whose first growth needs 1001 steps. */
static const struct {
    enum hc_scaler_rule rule;
    int log2;
} grown[] = {
    {HC_SCALER_NONE, 0},
    {HC_SCALER_STATIC, 9},
    {HC_SCALER_FASTAI, 24},
    {HC_SCALER_FASTAI2, 104},
    {HC_SCALER_APEX_FP16UTILS, 72},
    {HC_SCALER_APEX_AMP, 24},
    {HC_SCALER_TORCH, 36},
    {HC_SCALER_DEEPSPEED_0170, 56},
    {HC_SCALER_DEEPSPEED_0171, 55},
    {HC_SCALER_DEEPSPEED_CONSECUTIVE, 55},
    {HC_SCALER_DEEPSPEED_FUSED, 55},
    {HC_SCALER_DEEPSPEED_UNFUSED, 55},
};

static void clean_for_long(struct hc_check *check)
{
    enum { STEPS = 40000 };
    unsigned char *found = hc_check_memory(check, STEPS);
    struct hc_scaler_memory *after = hc_check_memory(check, STEPS * sizeof *after);
    for (size_t i = 0; i < sizeof grown / sizeof grown[0]; i++) {
        const struct hc_scaler own = {.rule = grown[i].rule};
        struct hc_scaler_update params = hc_scaler_params(&own);
        struct hc_scaler_memory start = hc_scaler_fresh(grown[i].rule);
        if (hc_replay(check, &params, &start, found, STEPS, after) != HC_OK)
            return;
        double scale = (double)after[STEPS - 1].scale;
        hc_say(check, "%-16s 2^%g", hc_scalers[grown[i].rule].name, log2(scale));
        hc_claim_value(check, hc_scalers[grown[i].rule].name, ldexp(1, grown[i].log2), scale);
    }
}

/* The claim of every row. */
#define TITLE                                                                                      \
    "the scale follows the rule's text after each step of every trace: clean, one overflow, all "  \
    "overflows, alternating, around growth, by chance"

/* Scales that a rule cannot leave (0, infinity, a floor, a cap), and what they do to a training. */

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
    enum { STEPS_ABSORBING = 16 + 1000 + 1 };
    const struct hc_scaler own = {.rule = HC_SCALER_FASTAI};
    struct hc_scaler_update rule = hc_scaler_params(&own);
    struct hc_scaler_memory start = hc_scaler_fresh(HC_SCALER_FASTAI);
    unsigned char *found = hc_check_memory(check, STEPS_ABSORBING);
    struct hc_scaler_memory *after = hc_check_memory(check, STEPS_ABSORBING * sizeof *after);
    for (int i = 0; i < STEPS_ABSORBING; i++)
        found[i] = 1;
    if (hc_replay(check, &rule, &start, found, STEPS_ABSORBING, after) != HC_OK)
        return;
    hc_claim_value(check, "after 16 overflows", 1, (double)after[15].scale);
    hc_claim_value(check, "after 1015", 1, (double)after[1014].scale);
    hc_claim_value(check, "after 1016", 2, (double)after[1015].scale);
    hc_claim_value(check, "after 1017", 1, (double)after[1016].scale);
    hc_claim_value(check,
                   "steps whose infinities went on to the masters, or that stepped with nothing",
                   STEPS_ABSORBING, after[STEPS_ABSORBING - 1].counts[HC_COUNT_TAKEN]);
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

/* A rule with a recipe's own numbers, which are no powers of two, in the trainer's update. */

enum { COUNT = 64 };

static const struct {
    const char *recipe;
    bool reciprocal; /* torch and Apex multiply by 1 / scale, fastai divides */
} systems[] = {{"amp", true},
               {"fastai2-native", true},
               {"apex-O2", true},
               {"apex-fp16opt-dynamic", true},
               {"fastai2-nonnative", false},
               {"fastai-1.0.61", false}};

/* A step on halves from 0.1 to 1.1, or with an infinity among them. */
static void step(struct hc_fixture *fixture, int number, bool overflow)
{
    for (int e = 0; e < COUNT; e++) {
        double x = 0.1 + hc_random_uniform(hc_check_seed(fixture->check), 60 + (uint64_t)number,
                                           (uint64_t)e);
        hc_fixture_set(fixture, HC_STATE_GRADIENT, 0, e, x);
    }
    if (overflow)
        hc_fixture_set(fixture, HC_STATE_GRADIENT, 0, COUNT / 2, (double)INFINITY);
    hc_fixture_step(fixture, 1e-3, 0.9);
}

/* A product of 11 and 24 bits is exact in fp64. A quotient of such numbers that is rounded to 53
   bits and then to 24 equals the one rounded to 24 at once (Figueroa 1995: 53 >= 2 * 24 + 2). */
static double unscaled(double g, double scale, bool reciprocal)
{
    return reciprocal ? hc_round(HC_FP32, g * hc_round(HC_FP32, 1 / scale))
                      : hc_round(HC_FP32, g / scale);
}

/* How many of the gradients would differ if they were unscaled the other way. */
static int claim_gradients(struct hc_fixture *fixture, double scale, bool reciprocal)
{
    int differ = 0;
    for (int e = 0; e < COUNT; e++) {
        double g = hc_fixture_get(fixture, HC_STATE_GRADIENT, 0, e);
        double want = unscaled(g, scale, reciprocal);
        double got = hc_fixture_get(fixture, HC_STATE_MASTER_GRADIENT, 0, e);
        if (fixture->failed)
            return 0;
        hc_claim_value(fixture->check, "the unscaled gradient", want, got);
        differ += want != unscaled(g, scale, !reciprocal);
    }
    return differ;
}

/* Two clean steps grow the scale, an overflow backs it off, two clean steps grow it again. Each
   product is rounded to fp32 once. After fastai 1.0.61's step no gradients are left to compare. */
static void one_system(struct hc_check *check, int i)
{
    static const bool overflows[] = {false, false, true, false, false};
    struct hc_recipe recipe = *hc_recipe_by_name(systems[i].recipe);
    bool kept = recipe.scaler.rule != HC_SCALER_FASTAI;
    double scale = 1000;
    int differ = 0;
    int clean = 0;
    struct hc_fixture fixture;
    recipe.scaler.initial = 1000;
    recipe.scaler.growth = 1.5F;
    recipe.scaler.backoff = 0.3F;
    recipe.scaler.interval = 2;
    hc_fixture_open_weights(&fixture, check, &recipe, COUNT, 1);
    for (int s = 0; s < 5 && !fixture.failed; s++) {
        step(&fixture, s, overflows[s]);
        if (kept && !overflows[s])
            differ += claim_gradients(&fixture, scale, systems[i].reciprocal);
        clean = overflows[s] ? 0 : clean + 1;
        if (overflows[s])
            scale = hc_round(HC_FP32, scale * (double)0.3F);
        else if (clean == 2)
            scale = hc_round(HC_FP32, scale * 1.5);
        clean %= 2;
        double got = (double)hc_fixture_counters(&fixture).scale;
        if (!fixture.failed)
            hc_claim_value(check, systems[i].recipe, scale, got);
    }
    if (!hc_fixture_close(&fixture))
        return;
    hc_say(check, "%-20s 1000, grown by 1.5, backed off by 0.3, grown: %.9g", recipe.name, scale);
    if (kept)
        hc_claim_true(check, "dividing is not multiplying with the reciprocal", differ > 0);
}

static void own(struct hc_check *check)
{
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
        one_system(check, (int)i);
}

static const struct hc_case cases[] = {
    {"scaler/none", TITLE, "fp32 training; pytorch 2.15.0 torch/nn/modules/module.py, Module.half",
     .run = replay},
    {"scaler/static", TITLE, "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb",
     .run = replay},
    {"scaler/fastai", TITLE, "fastai 1.0.61 fastai/callbacks/fp16.py", .run = replay},
    {"scaler/fastai2", TITLE, "fastai 2.0.0 and 2.8.12 fastai/callback/fp16.py", .run = replay},
    {"scaler/apex-fp16utils", TITLE, "NVIDIA/apex @48343d94 apex/fp16_utils/loss_scaler.py",
     .run = replay},
    {"scaler/apex-amp", TITLE, "NVIDIA/apex @e13873de apex/amp/scaler.py", .run = replay},
    {"scaler/torch", TITLE, "pytorch 2.15.0 torch/amp/grad_scaler.py, _amp_update_scale_",
     .run = replay},
    {"scaler/deepspeed-0.17.0", TITLE, "deepspeed 0.17.0 deepspeed/runtime/fp16/loss_scaler.py",
     .run = replay},
    {"scaler/deepspeed-0.17.1", TITLE,
     "deepspeed 0.17.1 and 0.19.8 deepspeed/runtime/fp16/loss_scaler.py", .run = replay},
    {"scaler/deepspeed-consecutive", TITLE,
     "deepspeed 0.19.8 deepspeed/runtime/fp16/loss_scaler.py, consecutive_hysteresis",
     .run = replay},
    {"scaler/deepspeed-fused", TITLE,
     "deepspeed 0.17.0 and 0.19.8 deepspeed/runtime/fp16/fused_optimizer.py", .run = replay},
    {"scaler/deepspeed-unfused", TITLE,
     "deepspeed 0.17.0 deepspeed/runtime/fp16/unfused_optimizer.py", .run = replay},
    {"scaler/40000-clean-steps", "log2 of the scale after 40,000 clean steps, rule by rule",
     "the rules' sources, as in src/train/update/scaler.c", .run = clean_for_long},
    {"scaler/overflows-without-end",
     "overflows without end: fastai2, Apex amp and torch come to 0 (torch at the 166th) and never "
     "leave it, and Apex amp's next step ends the run; fastai, Apex fp16_utils and DeepSpeed stop "
     "at 1 (its unfused optimizer at 1/4) and can leave it",
     "the rules' sources, as halfcheck list scalers gives them; fp32's smallest number is 2^-149",
     .run = halvings},
    {"scaler/growth-without-end",
     "growth without end: fastai and Apex amp stop at 2^24, torch at 2^127; fastai2, Apex "
     "fp16_utils and DeepSpeed come to infinity and never leave it",
     "the rules' sources, as halfcheck list scalers gives them; fp32 ends below 2^128 (a Python "
     "float goes on to 2^1024)",
     .run = doublings},
    {"scaler/fastai-overlooks-at-1",
     "fastai 1.0.61 at scale 1: overflows pass unseen, count as clean steps and make it grow",
     "fastai 1.0.61 fastai/callbacks/fp16.py: grad_overflow(...) and self.loss_scale > 1",
     .run = overlooked},
    {"scaler/zero-and-infinite-scales",
     "at scale 0 nothing is found and the weights become NaN; at an infinite scale everything is "
     "found and no step is taken",
     "contract in src/op/elementwise.h: the detector looks before the division; so does pytorch "
     "2.15.0's _amp_foreach_non_finite_check_and_unscale_",
     .run = at_the_ends},
    {"scaler/own-numbers",
     "a recipe's own first scale, growth, backoff and interval are the rule's; gradients are "
     "divided by the scale or multiplied with its reciprocal as the system does",
     "pytorch 2.15.0 torch/amp/grad_scaler.py: scale.double().reciprocal().float(); NVIDIA/apex "
     "@e13873de apex/amp/scaler.py: 1./scale; fastai 2.0.0 fastai/callback/fp16.py: "
     "grad.div_(self.loss_scale)",
     .run = own},
};

HC_CASES(scaler_traces, cases);
