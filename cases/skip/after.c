/* What a skipped step leaves alone, in parts and under every recipe. */
#include <math.h>

#include "cases/fixture/training/experiment.h"
#include "cases/fixture/training/injection.h"
#include "op/descriptor.h"

/* What a skipped step leaves behind in the schedule and in batch norm's statistics. */

/* A recipe with GradScaler's rule. */
static const struct hc_recipe *rule(void)
{
    return hc_recipe_by_name("fastai2-native");
}

/* Two clean steps, one that is clean or skipped, and a clean one, whose learning rate and t are
   looked at: the schedule has moved on, Adam's t has not. */
static void schedule(struct hc_check *check)
{
    float told[2][HC_HYPER_COUNT];
    const struct hc_injection_site bad = {0, -1, 0, (double)INFINITY, false};
    for (int skipped = 0; skipped < 2; skipped++) {
        struct hc_injection injection;
        hc_injection_open(&injection, check, rule());
        for (int s = 0; s < 4; s++)
            hc_injection_step(&injection, s, skipped && s == 2 ? &bad : &hc_injection_none);
        for (int k = 0; k < HC_HYPER_COUNT; k++)
            told[skipped][k] = injection.hyper[k];
        if (!hc_injection_close(&injection))
            return;
        hc_say(check, "step 4, step 3 %-8s rate %g, t %g",
               skipped ? "skipped:" : "clean:", (double)told[skipped][HC_HYPER_LR],
               (double)told[skipped][HC_HYPER_STEP]);
    }
    hc_claim_value(check, "the rate of step 4 is the schedule's", (double)(float)(1e-2 / 4),
                   (double)told[0][HC_HYPER_LR]);
    hc_claim_value(check, "also after a skipped step: its rate is lost",
                   (double)told[0][HC_HYPER_LR], (double)told[1][HC_HYPER_LR]);
    hc_claim_value(check, "t after three steps", 4, (double)told[0][HC_HYPER_STEP]);
    hc_claim_value(check, "t after two, and one skipped", 3, (double)told[1][HC_HYPER_STEP]);
    hc_remark(check,
              "to the user's disadvantage: a skipped step uses up its place in the schedule");
}

struct course {
    int64_t weights; /* infinite or NaN at the end */
    int64_t statistics;
    float train; /* losses */
    float eval;
    int32_t skipped;
};

static bool train(struct hc_check *check, const struct hc_injection_site *at, int steps,
                  struct course *course)
{
    struct hc_injection injection;
    struct hc_injection_state state = {0};
    int right;
    hc_injection_open(&injection, check, rule());
    for (int s = 0; s < steps; s++)
        hc_injection_step(&injection, s, s == 2 ? at : &hc_injection_none);
    hc_injection_save(&injection, &state);
    if (!injection.failed) {
        course->weights = hc_injection_nonfinite(&injection, &state, HC_STATE_MASTER);
        course->statistics = hc_injection_nonfinite(&injection, &state, HC_INJECTION_STATISTICS);
        course->skipped = state.counters.skipped;
        course->train = injection.loss;
        if (!hc_check_ok(check, hc_net_infer(injection.net, injection.images, injection.labels,
                                             HC_INJECTION_BATCH, &course->eval, &right)))
            injection.failed = true;
    }
    return hc_injection_close(&injection);
}

/* An infinite pixel in the third step of fifteen: the step is skipped, the weights are finite, and
   training goes on with batch statistics; the running ones are NaN for ever, since 0.9 NaN is NaN.
   An infinity that appears in the backward pass also skips the step, and leaves them finite. */
static void statistics(struct hc_check *check)
{
    enum { STEPS = 15 };
    static const struct {
        const char *what;
        int call; /* 1: the first convolution; -1: the gradient of the first filter */
    } rows[] = {{"in the images", 1}, {"in a gradient", -1}};
    hc_say(check, "15 steps, inf at    skipped  loss in       loss by     statistics");
    hc_say(check, "step 3                       training      statistics  lost");
    for (int r = 0; r < 2; r++) {
        struct course course = {0};
        const struct hc_injection_site at = {rows[r].call < 0 ? 0 : -1, rows[r].call, 0,
                                             (double)INFINITY, false};
        if (!train(check, &at, STEPS, &course))
            return;
        bool forward = rows[r].call >= 0;
        hc_say(check, "%-18s  %-7d  %-12.7g  %-10.7g  %lld", rows[r].what, course.skipped,
               (double)course.train, (double)course.eval, (long long)course.statistics);
        hc_claim_value(check, "one step is skipped", 1, (double)course.skipped);
        hc_claim_true(check, "all weights are finite", course.weights == 0);
        hc_claim_true(check, "so is the loss in training", isfinite(course.train));
        hc_claim_true(check, forward ? "running statistics are lost" : "they are sound",
                      (course.statistics > 0) == forward);
        hc_claim_true(check, "so is the loss by them", !isfinite(course.eval) == forward);
    }
    hc_remark(check, "to the user's disadvantage: an infinity in the forward pass is skipped, but "
                     "leaves the running statistics NaN for ever");
}

/* An infinity or a NaN in every tensor of a training step, under every recipe: what each system's
   rule lets move (cases/fixture/training/experiment.h). */

enum { POISONS = 3 };

static const double poison[POISONS] = {(double)INFINITY, (double)NAN, -(double)INFINITY};

/* Whether number v is injected at that place: all are where the level asks for it, otherwise they
   take turns. */
static bool wants(const struct hc_experiment *s, enum hc_level all, int place, int v)
{
    return hc_check_level(s->injection->check) >= all || (place + s->batch) % POISONS == v;
}

static void inject(struct hc_experiment *s, int parameter, int call, int slot, int v,
                   struct hc_damage *damage)
{
    bool first = (parameter + call + slot + v) % 2 != 0;
    hc_experiment_inject(s, &(struct hc_injection_site){parameter, call, slot, poison[v], first},
                         damage);
}

static void in_gradients(struct hc_experiment *s, struct hc_damage *damage)
{
    for (int i = 0; i < hc_net_plan(s->injection->net)->parameters; i++)
        for (int v = 0; v < POISONS; v++)
            if (wants(s, HC_STANDARD, i, v))
                inject(s, i, -1, 0, v, damage);
}

/* A loss in half or fp64 goes through a cast after xent, whose result is only reported. (A cast
   before xent is the images', or the scale's on its way into a net in fp64.) */
static bool is_reported_loss(const struct hc_experiment *s, int call)
{
    bool after = false;
    for (int i = 0; i < call; i++)
        after |= s->op[i] == HC_OP_xent;
    return after && s->op[call] == HC_OP_cast;
}

/* Inputs that are an activation or a gradient; those of the loss are in_the_loss. */
static bool is_data(enum hc_op op, int slot)
{
    return slot < hc_ops[op].inputs && hc_ops[op].class_ != HC_CLASS_LOSS &&
           hc_slot(op, slot)->pass != HC_PASS_NOTHING;
}

/* The images, each activation, and the gradient of each, wherever a call of the pass reads it. */
static void in_the_pass(struct hc_experiment *s, struct hc_damage *damage)
{
    for (int call = 0; call < s->calls; call++)
        for (int slot = 0; slot < 3 && !is_reported_loss(s, call); slot++)
            for (int v = 0; v < POISONS && is_data(s->op[call], slot); v++)
                if (wants(s, HC_EXHAUSTIVE, call + slot, v))
                    inject(s, -1, call, slot, v, damage);
}

/* The logits that the loss reads, and the gradient of the scaled loss. (A logit of -inf is an
   impossible class: the loss is finite.) */
static void in_the_loss(struct hc_experiment *s, struct hc_damage *damage)
{
    for (int call = 0; call < s->calls; call++) {
        bool forward = s->op[call] == HC_OP_xent;
        for (int v = 0; v < (forward ? 2 : POISONS) && (forward || s->op[call] == HC_OP_xent_bwd);
             v++)
            inject(s, -1, call, forward ? HC_XENT_LOGITS : HC_XENT_UPSTREAM, v, damage);
        if (is_reported_loss(s, call))
            hc_experiment_inject_reported(
                s, &(struct hc_injection_site){-1, call, 0, poison[1], false});
    }
}

static void gradients(struct hc_check *check)
{
    hc_experiment_each_recipe(check, in_gradients);
}

static void activations(struct hc_check *check)
{
    hc_experiment_each_recipe(check, in_the_pass);
}

static void loss(struct hc_check *check)
{
    hc_experiment_each_recipe(check, in_the_loss);
}

static const struct hc_case cases[] = {
    {"skip/schedule-moves-on", "a skipped step uses up its learning rate, and leaves Adam's t",
     "pytorch 2.15.0 torch/optim/lr_scheduler.py counts its own calls; halfcheck's schedule goes "
     "by steps, as fastai's does",
     .run = schedule},
    {"skip/statistics-stay-lost",
     "an infinity in the forward pass is skipped and leaves the weights sound, but running "
     "statistics and evaluation NaN for ever; one in the backward pass does not",
     "pytorch 2.15.0 torch/amp/grad_scaler.py: only optimizer.step() is left out",
     .run = statistics},
    {"skip/gradients",
     "every recipe: an inf or NaN in any parameter's gradient, at the first, a middle and the "
     "growth step, moves what its rule says and no byte else",
     "the systems' own sources, as each row of `halfcheck list scalers` names them",
     .run = gradients},
    {"skip/loss",
     "every recipe: an inf or NaN in the logits or in the scaled loss' gradient moves what its "
     "rule says and no byte else",
     "the systems' own sources, as each row of `halfcheck list scalers` names them", .run = loss},
    {"skip/activations",
     "every recipe: an inf or NaN in any tensor of the forward and backward pass moves what its "
     "rule says and no byte else",
     "the systems' own sources, as each row of `halfcheck list scalers` names them",
     .level = HC_STANDARD, .run = activations},
};

HC_CASES(skip_after, cases);
