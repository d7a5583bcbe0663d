/* Masters that were made before the checkpoint was read.

   A training in half with fp32 masters has each weight twice. A script that makes the masters when
   it builds the optimizer, and reads the checkpoint into the model afterwards, has loaded one of
   the two. Nothing shows: a validation right after the load gives the loss at which the checkpoint
   was written. The first step then goes from the masters, which are the random numbers of the
   initialisation, and copies them over what was loaded. The loss is that of a new run.

   The rule of thumb: load the model, then make the masters; or save the masters, which also keeps
   the digits that half lacks. Both arms train a small network on the trainer's own update, write
   down its weights and statistics, and read them in another run after or before its update is
   opened. Losses are claimed by margins that a training has by far; they have no error bound. */
#include "cases/fixture/bug.h"
#include "cases/fixture/tiny_state.h"

#include <math.h>

enum { STEPS = 30 };

static const double rate = 4e-3;

struct ends {
    double loaded; /* validation loss after the load */
    double after;  /* and after one more step */
};

/* A checkpoint as the network sees it: half weights, and the rest in fp32. */
static struct hc_tiny_state checkpoint(struct hc_check *check, struct ends *real, double *initial)
{
    struct hc_tiny tiny;
    struct hc_tiny_state state;
    hc_tiny_open(&tiny, check, 1);
    hc_tiny_start(&tiny, hc_recipe_by_name("amp"));
    *initial = hc_tiny_validate(&tiny);
    for (int step = 0; step < STEPS; step++)
        (void)hc_tiny_step(&tiny, step, rate);
    state = hc_tiny_save(&tiny);
    real->loaded = hc_tiny_validate(&tiny);
    (void)hc_tiny_step(&tiny, STEPS, rate);
    real->after = hc_tiny_validate(&tiny);
    if (!hc_tiny_close(&tiny))
        state.tensor = NULL;
    return state;
}

/* The weights of a network that no recipe has converted yet, from the half ones. */
static void load_before_start(struct hc_tiny *tiny, const struct hc_tiny_state *state)
{
    for (int i = 0; !tiny->failed && i < hc_net_plan(tiny->net)->parameters; i++) {
        const struct hc_tensor *half = &state->tensor[i * HC_TINY_TENSORS + HC_TINY_MODEL];
        struct hc_tensor single = hc_check_vector(tiny->check, HC_FP32, hc_tensor_count(half));
        for (int64_t e = 0; e < hc_tensor_count(half); e++)
            hc_tensor_set(&single, e, hc_tensor_get(half, e));
        struct hc_parameter *parameter = hc_net_parameters(tiny->net)[i];
        if (!hc_check_ok(tiny->check, hc_storage_write(parameter->storage, single.data)))
            tiny->failed = true;
    }
}

/* Another run, whose initial weights come from another seed and whose batches are the same. */
static bool resume(struct hc_check *check, const struct hc_tiny_state *state, bool masters_first,
                   struct ends *ends)
{
    struct hc_tiny tiny;
    hc_tiny_open(&tiny, check, 2);
    tiny.seed = 1;
    if (!masters_first)
        load_before_start(&tiny, state);
    hc_tiny_start(&tiny, hc_recipe_by_name("amp"));
    hc_tiny_load_model(&tiny, state, true);
    ends->loaded = hc_tiny_validate(&tiny);
    (void)hc_tiny_step(&tiny, STEPS, rate);
    ends->after = hc_tiny_validate(&tiny);
    return hc_tiny_close(&tiny);
}

static void cloned_first(struct hc_check *check, struct hc_exhibits *shown)
{
    struct ends real = {0};
    struct ends buggy = {0};
    struct ends fixed = {0};
    double initial = 0;
    struct hc_tiny_state state = checkpoint(check, &real, &initial);
    if (!state.tensor || !resume(check, &state, true, &buggy) ||
        !resume(check, &state, false, &fixed))
        return;
    double margin = (initial - real.loaded) / 4;
    hc_exhibits_add(shown, "loss after the load", HC_FP32, buggy.loaded, fixed.loaded, real.loaded,
                    0);
    hc_exhibits_add(shown, "loss one step later", HC_FP32, buggy.after, fixed.after, real.after,
                    margin);
    hc_say(check, "before the training the loss is %.4f", initial);
    hc_claim_true(check, "the checkpoint is of a run that learned", real.loaded < initial / 4);
    hc_claim_value(check, "buggy arm: the load looks right", real.loaded, buggy.loaded);
    hc_claim_true(check, "buggy arm: one step later it is a new run",
                  buggy.after > initial - margin);
}

static const struct hc_case cases[] = {
    HC_BUG("field/load-order/masters-before-load",
           "A resumed fp16 run starts from random weights, though the checkpoint was loaded.",
           "NVIDIA/apex PR 42, 'load mode before creating master_params when fp16', "
           "https://github.com/NVIDIA/apex/pull/42",
           .play = cloned_first, .fault = "model-copy-kept",
           .lesson = "Make the masters after the load, or save and load them; a validation right "
                     "after the load does not see the difference, a step does."),
};

HC_CASES(field_plays_load_order, cases);
