/* Weights that a training holds twice. */

#include "cases/fixture/bug.h"
#include "cases/fixture/training/tiny_training.h"
#include "cases/fixture/training/update_fixture.h"

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
static void train_weight(struct hc_check *check, struct hc_exhibits *shown, const struct weight *w)
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
    train_weight(check, shown,
                 &(const struct weight){HC_FP16, HC_OPTIMIZER_SGD, 1, 1e-4, 1000, false});
}

static void ignored(struct hc_check *check, struct hc_exhibits *shown)
{
    train_weight(check, shown,
                 &(const struct weight){HC_BF16, HC_OPTIMIZER_ADAM, 1, 1e-4, 1000, false});
}

static void cast_along(struct hc_check *check, struct hc_exhibits *shown)
{
    train_weight(check, shown,
                 &(const struct weight){HC_BF16, HC_OPTIMIZER_ADAM, 1.1, 7e-5, 200, true});
}

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

/* An optimizer that holds the tensors of yesterday.

   A parameter has an identity and a storage. A cast gives it a new storage. PyTorch's modules keep
   the parameter's identity meanwhile; other frameworks, wrappers and flat copies do not. An
   optimizer that was made before the cast may go on stepping what it was given: gradients arrive,
   its weights move, and the network, which reads the new storage, never learns. No message appears,
   and the loss is flat.

   The rule of thumb: cast and move a model first, then make the optimizer; and after a step look at
   a weight of the network, not at one of the optimizer. Both arms run the trainer's own parameters
   and update; an update is given a parameter that keeps the storage from before the cast, or the
   network's. */

enum { IDENTITY_STEPS = 10 };

/* Each step adds 1/8, and no number is rounded. Half a unit times the first scale, 65536, is no
   overflow. */
static bool train_identity(struct hc_check *check, bool before, double *network, double *optimizer)
{
    struct hc_fixture fixture;
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    hc_fixture_open(&fixture, check);
    hc_fixture_add(&fixture, "w", HC_ROLE_WEIGHT, 1, 1);
    if (fixture.failed)
        return hc_fixture_close(&fixture);
    struct hc_parameter given = fixture.parameter[0];
    if (before) {
        (void)hc_storage_hold(given.storage);
        fixture.list[0] = &given;
        fixture.failed = !hc_check_ok(check, hc_parameter_to(&fixture.parameter[0], HC_FP16));
    }
    hc_fixture_start(&fixture, &recipe);
    for (int step = 0; step < IDENTITY_STEPS; step++) {
        hc_fixture_gradients(&fixture, -0.5);
        hc_fixture_step(&fixture, 0.25, 0);
    }
    struct hc_storage *read = fixture.parameter[0].storage;
    struct hc_tensor w = hc_check_vector(check, read->format, 1);
    *optimizer = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
    if (!fixture.failed)
        fixture.failed = !hc_check_ok(check, hc_storage_read(read, w.data));
    *network = hc_tensor_get(&w, 0);
    bool closed = hc_fixture_close(&fixture);
    if (before)
        hc_parameter_close(&given);
    return closed;
}

static void cast_late(struct hc_check *check, struct hc_exhibits *shown)
{
    double network[2] = {0};
    double optimizer[2] = {0};
    for (int fixed = 0; fixed < 2; fixed++)
        if (!train_identity(check, !fixed, &network[fixed], &optimizer[fixed]))
            return;
    hc_exhibits_add(shown, "weight of the optimizer", HC_FP32, optimizer[0], optimizer[1], 2.25, 0);
    hc_exhibits_add(shown, "weight of the network", HC_FP16, network[0], network[1], 2.25, 0);
}

static const struct hc_case cases[] = {
    HC_BUG("field/lost-masters/masters-on-the-fly",
           "To save memory the fp32 copy of a half weight is made for each step and thrown away: "
           "small updates are lost as if there were no fp32 copy.",
           "facebookresearch/fairseq PR 404, 'Improve memory efficiency of FP16 optimization', "
           "https://github.com/facebookresearch/fairseq/pull/404; NVIDIA/apex PR 139",
           .play = discarded, .buggy = {.is = "1 exact, 1 exact, 0"},
           .fixed = {.is = "1.1, 1.1, 0.1"}, .fault = "masters-in-half",
           .lesson = "Keep the fp32 weight from step to step; fp32 arithmetic on a stored half "
                     "weight loses what half loses."),
    HC_BUG("field/lost-masters/master-weights-flag-ignored-bf16",
           "FusedAdam with master_weights=True on bf16 parameters: the weights do not move.",
           "NVIDIA/apex PR 1731, 'Use master weights for bfloat16 FusedAdam when "
           "master_weights=True', https://github.com/NVIDIA/apex/pull/1731",
           .play = ignored, .buggy = {.is = "1 exact, 1 exact, 0"}, .fault = "masters-in-bf16",
           .lesson = "Look at the optimizer's state: with masters there is an fp32 tensor for each "
                     "16-bit weight."),
    HC_BUG("field/lost-masters/dtype-drift-buffer",
           "A parameter that was pinned to float32 is bf16 after a reload or .to(): it silently "
           "stops learning.",
           "decoderesearch/SAELens PR 728, 'feat: add jumprelu_ste_to_input, and keep the JumpReLU "
           "threshold in float32', https://github.com/decoderesearch/SAELens/pull/728; "
           "okoge-kaz/llm-recipes PR 6; InternLM/InternLM PR 237",
           .play = cast_along, .buggy = {.is = "1.1016, 1.1016, 0.0016"},
           .fault = "masters-in-bf16",
           .correction = "The thread says that the bf16 threshold moved by +0.0016 in 200 steps; "
                         "that is the rounding of 1.1 to 1.1015625, and no step moves it.",
           .lesson = "Check formats after every load and every .to(): a cast of the whole model "
                     "takes pinned parameters along."),
    HC_BUG("field/load-order/masters-before-load",
           "A resumed fp16 run starts from random weights, though the checkpoint was loaded.",
           "NVIDIA/apex PR 42, 'load mode before creating master_params when fp16', "
           "https://github.com/NVIDIA/apex/pull/42",
           .play = cloned_first, .fault = "model-copy-kept",
           .lesson = "Make the masters after the load, or save and load them; a validation right "
                     "after the load does not see the difference, a step does."),
    HC_BUG(
        "field/parameter-identity/optimizer-before-cast",
        "The optimizer was made before model.half() or model.cuda(): training runs, and the model "
        "never changes.",
        "namisan/mt-dnn PR 40, 'Moving model.cuda before the optimizer construction', "
        "https://github.com/namisan/mt-dnn/pull/40; pytorch/pytorch issues 7844 and 69214; "
        "PyTorchLightning/pytorch-lightning PR 554",
        .play = cast_late, .buggy = {.is = "-, 1 exact"}, .fault = "model-copy-kept",
        .correction =
            "The PR quotes PyTorch's documentation, and the sentence is wrong: Module.cuda() and "
            "half() give the same Parameter new data, so that the optimizer goes on stepping the "
            "model (pytorch/pytorch issue 7844). It needs something that holds the old tensor.",
        .lesson =
            "Cast the model first and make the optimizer from the parameters that it has then."),
};

HC_CASES(field_plays_masters, cases);
