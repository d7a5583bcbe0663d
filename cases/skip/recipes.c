/* An infinity or a NaN in every tensor of a training step, under every recipe of the table: what each
   system's rule lets move. */
#include "cases/fate.h"

#include <math.h>

static const double poison[] = {(double)INFINITY, (double)NAN};

/* Both where the level asks for it; the one or the other in turn where it does not. */
static bool wants(const struct hc_scene *s, enum hc_level both, int place, int v)
{
    return hc_check_level(s->plant->check) >= both || (place + s->batch) % 2 == v;
}

static void in_gradients(struct hc_scene *s, struct hc_harm *harm)
{
    for (int i = 0; i < hc_net_plan(s->plant->net)->parameters; i++)
        for (int v = 0; v < 2; v++)
            if (wants(s, HC_STANDARD, i, v))
                hc_fate_plant(s, &(struct hc_plant_at){i, -1, 0, poison[v]}, harm);
}

/* A loss in half or fp64 passes by a cast after xent, and what comes out is for the reader alone. (A cast
   before it is the images', or the scale's on its way into a net in fp64.) */
static bool is_reported_loss(const struct hc_scene *s, int call)
{
    bool after = false;
    for (int i = 0; i < call; i++)
        after |= s->op[i] == HC_OP_xent;
    return after && s->op[call] == HC_OP_cast;
}

/* The images, each activation, and the gradient of each: the first input of each call of the pass. */
static void in_the_pass(struct hc_scene *s, struct hc_harm *harm)
{
    for (int call = 0; call < s->calls; call++)
        for (int v = 0; v < 2 && !is_reported_loss(s, call); v++)
            if (wants(s, HC_EXHAUSTIVE, call, v))
                hc_fate_plant(s, &(struct hc_plant_at){-1, call, 0, poison[v]}, harm);
}

/* The logits as the loss gets them, and the gradient of the scaled loss. */
static void in_the_loss(struct hc_scene *s, struct hc_harm *harm)
{
    for (int call = 0; call < s->calls; call++) {
        bool forward = s->op[call] == HC_OP_xent;
        for (int v = 0; v < 2 && (forward || s->op[call] == HC_OP_xent_bwd); v++)
            hc_fate_plant(s, &(struct hc_plant_at){-1, call, forward ? 0 : 2, poison[v]}, harm);
        if (is_reported_loss(s, call))
            hc_fate_reported(s, &(struct hc_plant_at){-1, call, 0, poison[1]});
    }
}

static void gradients(struct hc_check *check)
{
    hc_fate_of_recipes(check, in_gradients);
}

static void activations(struct hc_check *check)
{
    hc_fate_of_recipes(check, in_the_pass);
}

static void loss(struct hc_check *check)
{
    hc_fate_of_recipes(check, in_the_loss);
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
     .title = "every recipe: an inf or NaN in any tensor of the pass forward and back moves what "
              "its rule says and no byte else",
     .source = "the systems' own sources, as each row of `halfcheck list scalers` names them",
     .level = HC_STANDARD,
     .run = activations},
};

const struct hc_case_table hc_cases_skip_recipes;
const struct hc_case_table hc_cases_skip_recipes = {cases, sizeof cases / sizeof cases[0]};
