/* The stages of a GradScaler: what each order of its calls does, and every sequence of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/fixture/amp.h"

/* What GradScaler's stages prevent: legal orders of unscale, step and update, and others. Against
   the backend these cases check what each order does, by its ops. That an order is refused is a
   claim about cases/fixture/amp.h alone, which restates torch's stages: the trainer has only one
   order and refuses none. */

static void round_trip(struct hc_amp *amp)
{
    for (int p = 0; p < HC_AMP_PARAMETERS; p++)
        hc_amp_backward(amp, 0, p, 0.7);
}

/* step() unscales by itself, or finds that done. */
static void legal(struct hc_check *check)
{
    for (int explicitly = 0; explicitly < 2; explicitly++) {
        struct hc_amp amp;
        hc_amp_open(&amp, check, 65536, 2000);
        amp.scale = 1024;
        round_trip(&amp);
        enum hc_status status = explicitly ? hc_amp_unscale(&amp, 0) : HC_OK;
        if (status == HC_OK)
            status = hc_amp_step(&amp, 0);
        if (status == HC_OK)
            status = hc_amp_update(&amp);
        hc_amp_holds(&amp, "nothing is refused", status == HC_OK);
        hc_amp_claim_moved(&amp, explicitly ? "unscale, step" : "step alone", 0, 0,
                           hc_amp_rounded(1024, 0.7), 0);
    }
}

static void unscale_twice(struct hc_check *check)
{
    struct hc_amp amp;
    double g = hc_amp_rounded(1024, 0.7);
    hc_amp_open(&amp, check, 1024, 2000);
    round_trip(&amp);
    hc_amp_holds(&amp, "once", hc_amp_unscale(&amp, 0) == HC_OK);
    hc_amp_claim_refused(&amp, "unscale twice", hc_amp_unscale(&amp, 0),
                         "unscale: already called for this optimizer since the update");
    (void)hc_amp_step(&amp, 0);
    hc_amp_claim_moved(&amp, "refused, the first has counted", 0, 0, g, 0);

    hc_amp_open(&amp, check, 1024, 2000);
    amp.guarded = false;
    round_trip(&amp);
    (void)hc_amp_unscale(&amp, 0);
    (void)hc_amp_unscale(&amp, 0);
    (void)hc_amp_step(&amp, 0);
    hc_say(check, "without the guard: the weight goes %.3g of %.3g", hc_amp_moved(&amp, 0, 0),
           amp.lr * g);
    hc_amp_claim_moved(&amp, "without the guard, 1/1024 of the way", 0, 0, g / 1024, 0);
}

static void after_step(struct hc_check *check)
{
    struct hc_amp amp;
    hc_amp_open(&amp, check, 1024, 2000);
    hc_amp_claim_refused(&amp, "update before anything", hc_amp_update(&amp),
                         "update: no gradient was looked at");
    round_trip(&amp);
    hc_amp_holds(&amp, "the first step", hc_amp_step(&amp, 0) == HC_OK);
    hc_amp_claim_refused(&amp, "unscale after step", hc_amp_unscale(&amp, 0),
                         "unscale: called after step");
    hc_amp_claim_refused(&amp, "step twice", hc_amp_step(&amp, 0),
                         "step: already called since the update");
    hc_amp_claim_moved(&amp, "one step was made", 0, 0, hc_amp_rounded(1024, 0.7), 0);
    hc_amp_holds(&amp, "update", hc_amp_update(&amp) == HC_OK);
    hc_amp_zero(&amp, 0);
    round_trip(&amp);
    hc_amp_holds(&amp, "and all may begin again", hc_amp_step(&amp, 0) == HC_OK);
    hc_amp_claim_moved(&amp, "two steps", 0, 0, 2 * hc_amp_rounded(1024, 0.7), 1);
}

/* The gradients came back at scale S; the update grows it, or halves it, before they are
   unscaled. */
static void update_first(struct hc_check *check)
{
    double g = hc_amp_rounded(1024, 0.7);
    for (int overflow = 0; overflow < 2; overflow++) {
        struct hc_amp amp;
        hc_amp_open(&amp, check, 1024, 1);
        amp.guarded = false;
        round_trip(&amp);
        amp.optimizer[1].found = (float)overflow;
        (void)hc_amp_update(&amp);
        (void)hc_amp_step(&amp, 0);
        hc_say(check, "the scale went from 1024 to %4g: the weight goes %.4g in place of %.4g",
               (double)amp.scale, hc_amp_moved(&amp, 0, 0), amp.lr * g);
        hc_amp_claim_moved(&amp, overflow ? "twice the way after a halving" : "half at a growth", 0,
                           0, overflow ? 2 * g : g / 2, 0);
    }
    struct hc_amp amp;
    hc_amp_open(&amp, check, 1024, 1);
    round_trip(&amp);
    hc_amp_claim_refused(&amp, "update before unscale", hc_amp_update(&amp),
                         "update: no gradient was looked at");
    hc_amp_holds(&amp, "step, update",
                 hc_amp_step(&amp, 0) == HC_OK && hc_amp_update(&amp) == HC_OK);
    hc_amp_claim_moved(&amp, "the right order, at a growth step", 0, 0, g, 0);
    hc_amp_claim(&amp, "the scale has grown", 2048, (double)amp.scale);
}

static void none(struct hc_check *check)
{
    struct hc_amp amp;
    hc_amp_open(&amp, check, 1024, 2000);
    hc_amp_backward(&amp, 0, 1, 0.7);
    hc_amp_holds(&amp, "one gradient is None: step and update go",
                 hc_amp_step(&amp, 0) == HC_OK && hc_amp_update(&amp) == HC_OK);
    hc_amp_claim(&amp, "None: the weight stays", 0, hc_amp_moved(&amp, 0, 0));
    hc_amp_claim_moved(&amp, "the other moves", 0, 1, hc_amp_rounded(1024, 0.7), 0);
    hc_amp_zero(&amp, 0);
    hc_amp_claim_refused(&amp, "a step whose gradients are all None", hc_amp_step(&amp, 0),
                         "step: no gradient was looked at for this optimizer");
    hc_amp_open(&amp, check, 1024, 2000);
    hc_amp_backward(&amp, 0, 0, (double)INFINITY);
    hc_amp_holds(&amp, "an infinity beside a None is found", hc_amp_step(&amp, 0) == HC_OK);
    hc_amp_claim(&amp, "the weight stays", 0, hc_amp_moved(&amp, 0, 0));
    (void)hc_amp_update(&amp);
    hc_amp_claim(&amp, "the scale halves", 512, (double)amp.scale);
}

/* A gradient of 1e-9 at S = 65536: half(S g) is 6.56e-5, and divided in half it is 0. */
static void half_gradients(struct hc_check *check)
{
    struct hc_amp amp;
    float scale = 65536;
    hc_amp_open(&amp, check, scale, 2000);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, 1);
    struct hc_tensor wide = hc_check_vector(check, HC_FP32, 1);
    hc_tensor_set(&half, 0, 65536 * 1e-9);
    struct hc_call call = {
        .op = HC_OP_unscale,
        .in = {[HC_UNSCALE_X] = half, [HC_UNSCALE_SCALE] = hc_tensor1(HC_FP32, 1, &scale)},
        .out = {[HC_UNSCALE_OUT] = half,
                [HC_UNSCALE_NEW_FOUND_INF] = hc_check_vector(check, HC_FP32, 1)},
        .params.unscale = {.reciprocal = true}};
    struct hc_call into = call;
    into.out[HC_UNSCALE_OUT] = wide;
    if (hc_do(check, &into) != HC_OK || hc_do(check, &call) != HC_OK)
        return;
    hc_amp_claim(&amp, "unscaled into half: 0", 0, hc_tensor_get(&half, 0));
    hc_amp_within(&amp, "unscaled into fp32", hc_round(HC_FP16, 65536 * 1e-9) / 65536,
                  hc_tensor_get(&wide, 0), 0);
    amp.optimizer[0].g[0] = half;
    hc_amp_claim_refused(&amp, "unscaling a half gradient", hc_amp_unscale(&amp, 0),
                         "unscale: gradients in fp16");
}

/* Every sequence of calls on a GradScaler, against its stages written as a table. The machine under
   test is cases/fixture/amp.c, which the other cases of order/ build on; its calls run on the
   backend. */

enum { CALLS = 3, LENGTH = 5, REFUSED = -1 };

static enum hc_status update(struct hc_amp *amp, int o)
{
    (void)o;
    return hc_amp_update(amp);
}

static enum hc_status (*const calls[CALLS])(struct hc_amp *, int) = {hc_amp_unscale, hc_amp_step,
                                                                     update};
static const char *const names[CALLS] = {"unscale", "step", "update"};

/* torch/amp/grad_scaler.py: unscale_ raises unless the optimizer is READY. step raises if it has
   STEPPED, and unscales first if it is READY. update asserts that something was checked for
   infinities, and makes all READY. A call that raises leaves the stage alone. */
static const int next[3][CALLS] = {
    [HC_AMP_READY] = {HC_AMP_UNSCALED, HC_AMP_STEPPED, REFUSED},
    [HC_AMP_UNSCALED] = {REFUSED, HC_AMP_STEPPED, HC_AMP_READY},
    [HC_AMP_STEPPED] = {REFUSED, REFUSED, HC_AMP_READY},
};

/* There is a backward pass after each update. Whatever is refused, each step moves the weight by lr
   g. After each of at most 3 steps the weight is in [1/2, 1] and rounded to half an ulp, 2^-25; lr
   g is exact. */
static void one(struct hc_check *check, int sequence)
{
    struct hc_amp amp;
    char said[80] = "";
    char what[160];
    int stage = HC_AMP_READY;
    int steps = 0;
    bool as_the_table = true;
    double g = hc_amp_rounded(1024, 0.7);
    hc_amp_open(&amp, check, 1024, 2000);
    hc_amp_backward(&amp, 0, 0, 0.7);
    for (int i = 0, rest = sequence; i < LENGTH; i++, rest /= CALLS) {
        int call = rest % CALLS;
        int to = next[stage][call];
        size_t used = strlen(said);
        (void)snprintf(said + used, sizeof said - used, "%s%s", i ? ", " : "", names[call]);
        as_the_table = (calls[call](&amp, 0) == HC_OK) == (to != REFUSED) && as_the_table;
        steps += to == HC_AMP_STEPPED;
        stage = to == REFUSED ? stage : to;
        if (to == HC_AMP_READY) {
            hc_amp_zero(&amp, 0);
            hc_amp_backward(&amp, 0, 0, 0.7);
        }
    }
    (void)snprintf(what, sizeof what, "what the table refuses is refused%s%s",
                   as_the_table ? "" : ", and nothing else: ", as_the_table ? "" : said);
    hc_amp_holds(&amp, what, as_the_table);
    hc_amp_within(&amp, "the way is lr g for each step", steps * amp.lr * g,
                  hc_amp_moved(&amp, 0, 0), steps * 0x1p-25);
}

static void all(struct hc_check *check)
{
    int sequences = 1;
    for (int i = 0; i < LENGTH; i++)
        sequences *= CALLS;
    for (int i = 0; i < sequences; i++)
        one(check, i);
}

static const struct hc_case cases[] = {
    {"order/unscale-step-update",
     "scale, backward, (unscale,) step, update: the weight goes lr times the gradient",
     "pytorch docs, Automatic Mixed Precision examples, 'Typical Mixed Precision Training'",
     .run = legal},
    {"order/unscale-twice",
     "a second unscale divides by the scale again where no stages are kept (cases/fixture/amp.c "
     "restates GradScaler's, which refuse it)",
     "https://github.com/huggingface/transformers/issues/24840, 'unscale_() has already been "
     "called on this optimizer since the last update()'",
     .run = unscale_twice},
    {"order/after-step",
     "GradScaler's stages, restated in cases/fixture/amp.c: unscale after step, a second step, and "
     "an update of nothing are refused, and after the update all may begin again",
     "pytorch 2.15.0 torch/amp/grad_scaler.py, OptState", .run = after_step},
    {"order/update-before-unscale",
     "an update before unscaling halves the step at a growth and doubles it at a halving",
     "https://github.com/deepspeedai/DeepSpeed/pull/8588", .run = update_first},
    {"order/none-gradients",
     "parameters without a gradient stay, and an infinity beside them is found; GradScaler's "
     "stages, restated in cases/fixture/amp.c, refuse a step without any gradient",
     "pytorch 2.15.0 torch/amp/grad_scaler.py, _unscale_grads_ and step", .run = none},
    {"order/half-gradients",
     "unscaling into half loses what the scale has saved (GradScaler refuses it, and so does its "
     "restatement in cases/fixture/amp.c)",
     "pytorch 2.15.0 torch/amp/grad_scaler.py, 'Attempting to unscale FP16 gradients'; "
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb divides in fp32",
     .run = half_gradients},
    {"order/every-sequence",
     "every sequence of five calls of unscale, step and update: what the stages of GradScaler's "
     "source refuse changes nothing, and each step goes lr times the gradient",
     "pytorch 2.15.0 torch/amp/grad_scaler.py, OptState, unscale_, step, update", .run = all},
};

HC_CASES(order_stages, cases);
