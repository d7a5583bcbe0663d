/* Updates that a 16-bit weight cannot hold.

   Near 1 half numbers lie 2^-10 apart, and bf16 numbers 2^-7. A sum is rounded to the nearest of
   them, so that an update below half of that distance is lost, whole, each time: a thousand of
   them change nothing. It does not help that the sum itself is computed in fp32, if its result is
   stored in 16 bits before the next step. What helps is a weight that is kept in fp32 from step to
   step, a master, from which the 16-bit copy for the network is made anew. Code that makes the fp32
   weight for the duration of a step, ignores the option that asks for masters, or casts a parameter
   that was pinned to fp32 "along with the others", has none.

   Both arms are the trainer's own update with fp32 arithmetic; they differ in whether the weight is
   kept in fp32. Every gradient is the same power of two, so that no other number is rounded in 16
   bits. */
#include "cases/fixture/bug.h"
#include "cases/fixture/update_fixture.h"

#include <math.h>

static const double g = -1;

struct weight {
    enum hc_format format; /* of the weight as the network has it */
    enum hc_optimizer optimizer;
    double start;
    double rate; /* which is the update, too: SGD's of a gradient of 1, and Adam's of any */
    int steps;
    bool pinned; /* fixed arm: the parameter itself is fp32, and has no 16-bit copy */
};

static bool train(struct hc_check *check, const struct weight *w, bool kept, double *master,
                  double *model)
{
    struct hc_fixture fixture;
    struct hc_recipe recipe = *hc_recipe_by_name("fp32");
    recipe.optimizer = w->optimizer;
    recipe.weight_decay = 0;
    recipe.model = kept && w->pinned ? HC_FP32 : w->format;
    recipe.masters = kept && !w->pinned ? HC_MASTERS_FROM_FP32 : HC_MASTERS_NONE;
    hc_fixture_open_weights(&fixture, check, &recipe, 1, (double)(float)w->start);
    for (int step = 0; step < w->steps; step++) {
        hc_fixture_gradients(&fixture, g);
        hc_fixture_step(&fixture, w->rate, w->optimizer == HC_OPTIMIZER_SGD ? 0 : 0.9);
    }
    *master = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
    *model = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0);
    return hc_fixture_close(&fixture);
}

/* A step adds the rate, rounded to fp32, times 1 (SGD), or times m / (sqrt(v) + eps), where the
   averages of the same gradient are 1 and 1 but for eps, 1e-8, and their errors. v is rounded twice
   a step, of which 0.99 is carried over, so 200 u in all, and fp32(0.99) instead of 0.99 changes it
   by 100 u; the root halves both, and m and the quotient add less than 150 u. The weight is rounded
   once a step, by u for numbers below 2. The network's copy adds half an ulp of its format. */
static void run(struct hc_check *check, struct hc_exhibits *shown, const struct weight *w)
{
    const double u = 0x1p-24;
    double want = w->start + w->steps * w->rate;
    double bound = w->steps * u * (1 + 300 * w->rate) + u;
    double half_an_ulp = w->format == HC_FP16 ? 0x1p-11 : 0x1p-8;
    double buggy_master, buggy_model, master, model;
    if (!train(check, w, false, &buggy_master, &buggy_model) ||
        !train(check, w, true, &master, &model))
        return;
    hc_exhibits_add(shown, "weight of the optimizer", HC_FP32, buggy_master, master, want, bound);
    hc_exhibits_add(shown, "weight of the network", w->pinned ? HC_FP32 : w->format, buggy_model,
                    model, want, w->pinned ? bound : bound + half_an_ulp);
    hc_exhibits_add(shown, "its way from the start", HC_FP32, buggy_master - w->start,
                    master - w->start, w->steps * w->rate, bound);
    hc_claim_value(check, "buggy arm: weight stays", hc_round(w->format, w->start), buggy_master);
    hc_claim_value(check, "fixed arm: copy of the master",
                   hc_round(w->pinned ? HC_FP32 : w->format, master), model);
}

static void discarded(struct hc_check *check, struct hc_exhibits *shown)
{
    run(check, shown, &(const struct weight){HC_FP16, HC_OPTIMIZER_SGD, 1, 1e-4, 1000, false});
}

static void ignored(struct hc_check *check, struct hc_exhibits *shown)
{
    run(check, shown, &(const struct weight){HC_BF16, HC_OPTIMIZER_ADAM, 1, 1e-4, 1000, false});
}

static void cast_along(struct hc_check *check, struct hc_exhibits *shown)
{
    run(check, shown, &(const struct weight){HC_BF16, HC_OPTIMIZER_ADAM, 1.1, 7e-5, 200, true});
}

static const struct hc_case cases[] = {
    HC_BUG("field/lost-masters/masters-on-the-fly",
           "To save memory the fp32 copy of a half weight is made for each step and thrown away: "
           "small updates are lost as if there were no fp32 copy.",
           "facebookresearch/fairseq PR 404, 'Improve memory efficiency of FP16 optimization', "
           "https://github.com/facebookresearch/fairseq/pull/404; NVIDIA/apex PR 139",
           .play = discarded, .buggy = {.prints = "1 exact, 1 exact, 0"},
           .fixed = {.prints = "1.1, 1.1, 0.1"}, .fault = "masters-in-half",
           .lesson = "Keep the fp32 weight from step to step; fp32 arithmetic on a stored half "
                     "weight loses what half loses."),
    HC_BUG("field/lost-masters/master-weights-flag-ignored-bf16",
           "FusedAdam with master_weights=True on bf16 parameters: the weights do not move.",
           "NVIDIA/apex PR 1731, 'Use master weights for bfloat16 FusedAdam when "
           "master_weights=True', https://github.com/NVIDIA/apex/pull/1731",
           .play = ignored, .buggy = {.prints = "1 exact, 1 exact, 0"}, .fault = "masters-in-bf16",
           .lesson = "Look at the optimizer's state: with masters there is an fp32 tensor for each "
                     "16-bit weight."),
    HC_BUG("field/lost-masters/dtype-drift-buffer",
           "A parameter that was pinned to float32 is bf16 after a reload or .to(): it silently "
           "stops learning.",
           "decoderesearch/SAELens PR 728, 'feat: add jumprelu_ste_to_input, and keep the JumpReLU "
           "threshold in float32', https://github.com/decoderesearch/SAELens/pull/728; "
           "okoge-kaz/llm-recipes PR 6; InternLM/InternLM PR 237",
           .play = cast_along, .buggy = {.prints = "1.1016, 1.1016, 0.0016"},
           .fault = "masters-in-bf16",
           .correction = "The thread says that the bf16 threshold moved by +0.0016 in 200 steps; "
                         "that is the rounding of 1.1 to 1.1015625, and no step moves it.",
           .lesson = "Check formats after every load and every .to(): a cast of the whole model "
                     "takes pinned parameters along."),
};

HC_CASES(field_plays_lost_masters, cases);
