/* An infinity or a NaN in every tensor of a training step, under every recipe: what each system's
   rule lets move (cases/fixture/experiment.h). */
#include "cases/fixture/experiment.h"

#include <math.h>

#include "op/descriptor.h"

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
    {.name = "skip/gradients",
     .title = "every recipe: an inf or NaN in any parameter's gradient, at the first, a middle and "
              "the growth step, moves what its rule says and no byte else",
     .source = "the systems' own sources, as each row of `halfcheck list scalers` names them",
     .run = gradients},
    {.name = "skip/loss",
     .title = "every recipe: an inf or NaN in the logits or in the scaled loss' gradient moves "
              "what its rule says and no byte else",
     .source = "the systems' own sources, as each row of `halfcheck list scalers` names them",
     .run = loss},
    {.name = "skip/activations",
     .title =
         "every recipe: an inf or NaN in any tensor of the forward and backward pass moves what "
         "its rule says and no byte else",
     .source = "the systems' own sources, as each row of `halfcheck list scalers` names them",
     .level = HC_STANDARD,
     .run = activations},
};

HC_CASES(skip_recipes, cases);
