/* A training that resumes from a checkpoint: the trainer's own, and ones that lack a part. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "cases/fixture/training/tiny_training.h"
#include "cases/fixture/training/update_fixture.h"
#include "op/output.h"
#include "train/run/checkpoint.h"

/* The trainer's own checkpoint on the backend under test: a training that was stopped between its
   two epochs resumes from the file and ends in the uninterrupted training's bits, and every tensor
   in the file matters. */

static const struct hc_network minute = {.name = "minute",
                                         .side = 32,
                                         .channels = 3,
                                         .width = 2,
                                         .groups = 1,
                                         .blocks = {1},
                                         .strides = {2}};

struct resumption {
    struct hc_check *check;
    struct hc_recipe recipe;
    struct hc_dataset data;
    char folder[HC_MAX_TEMPORARY];
    char path[HC_MAX_TEMPORARY + 16]; /* of the checkpoint */
};

static bool stops_between(const struct hc_progress *progress, void *context)
{
    (void)context;
    return !(progress->evaluated && progress->epoch == 0);
}

static bool train(struct resumption *resumption, bool stops, bool resume)
{
    struct hc_train_result result;
    struct hc_train_options options = {.recipe = &resumption->recipe,
                                       .network = &minute,
                                       .data = &resumption->data,
                                       .backend = hc_check_backend(resumption->check),
                                       .digest = hc_check_digest(resumption->check),
                                       .threads = 1,
                                       .epochs = 2,
                                       .batch = 4,
                                       .max_lr = 1e-2,
                                       .seed = hc_check_seed(resumption->check),
                                       .out = resumption->folder,
                                       .resume = resume,
                                       .progress = stops ? stops_between : NULL};
    return hc_check_ok(resumption->check, hc_train(&options, &result));
}

static bool read_checkpoint(struct resumption *resumption, struct hc_tensor_file *file)
{
    return hc_check_ok(resumption->check, hc_checkpoint_open(file, resumption->path));
}

static bool equal(const struct hc_tensor_file *want, const struct hc_tensor_file *got)
{
    bool same = want->count == got->count;
    for (int i = 0; i < want->count && same; i++) {
        const struct hc_tensor *a = &want->tensors[i].tensor;
        const struct hc_tensor *b = hc_tensor_file_find(got, want->tensors[i].name);
        same = b && a->format == b->format && hc_tensor_bytes(a) == hc_tensor_bytes(b) &&
               memcmp(a->data, b->data, hc_tensor_bytes(a)) == 0;
    }
    return same;
}

/* Writes `middle` with zeros for the tensors whose names begin with `prefix`. Returns how many. */
static int zero(struct resumption *resumption, const struct hc_tensor_file *middle,
                const char *prefix)
{
    size_t count = (size_t)middle->count;
    struct hc_named_tensor *tensors = hc_check_memory(resumption->check, count * sizeof *tensors);
    int zeroed = 0;
    memcpy(tensors, middle->tensors, count * sizeof *tensors);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = hc_tensor_bytes(&tensors[i].tensor);
        if (strncmp(tensors[i].name, prefix, strlen(prefix)) != 0)
            continue;
        tensors[i].tensor.data = hc_check_memory(resumption->check, bytes);
        memset(tensors[i].tensor.data, 0, bytes);
        zeroed++;
    }
    (void)hc_check_ok(resumption->check,
                      hc_checkpoint_write(resumption->path, "a case",
                                          hc_checkpoint_identity(middle), tensors, middle->count));
    return zeroed;
}

/* Resumes from `middle` without the tensors whose names begin with `prefix`. */
static void without(struct resumption *resumption, const struct hc_tensor_file *middle,
                    const struct hc_tensor_file *whole, const char *prefix)
{
    struct hc_tensor_file end = {0};
    char claim[80];
    int zeroed = zero(resumption, middle, prefix);
    (void)snprintf(claim, sizeof claim, "zeros for \"%s\", %d of them: another end", prefix,
                   zeroed);
    if (train(resumption, false, true) && read_checkpoint(resumption, &end))
        (void)hc_claim_true(resumption->check, claim, zeroed > 0 && !equal(whole, &end));
    hc_tensor_file_close(&end);
}

static void stop_and_go_on(struct resumption *resumption)
{
    static const char *const prefixes[] = {
        "counts.",  "optimizer.step",     "scaler.growth_tracker", "scale",   "weights.",
        "masters.", "optimizer.exp_avg.", "optimizer.exp_avg_sq.", "buffers."};
    struct hc_tensor_file whole = {0};
    struct hc_tensor_file middle = {0};
    struct hc_tensor_file end = {0};
    if (train(resumption, false, false) && read_checkpoint(resumption, &whole) &&
        train(resumption, true, false) && read_checkpoint(resumption, &middle) &&
        train(resumption, false, true) && read_checkpoint(resumption, &end)) {
        (void)hc_claim_true(resumption->check, "there is something left to do",
                            !equal(&whole, &middle));
        (void)hc_claim_true(resumption->check, "the uninterrupted run's checkpoint, bit for bit",
                            equal(&whole, &end));
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
            without(resumption, &middle, &whole, prefixes[i]);
    }
    hc_tensor_file_close(&whole);
    hc_tensor_file_close(&middle);
    hc_tensor_file_close(&end);
}

/* The first step overflows, whatever its seed, and the scale comes down from 2^30 to 2^12, under
   which no other does: one would set growth_tracker to 0, as the case does. */
static void trainer(struct hc_check *check)
{
    struct resumption resumption = {.check = check, .recipe = *hc_recipe_by_name("amp")};
    struct hc_data_options set = {.classes = "airplane,dog",
                                  .seed = hc_check_seed(check),
                                  .train_per_class = 8,
                                  .test_per_class = 2};
    resumption.recipe.scaler.initial = 0x1p30F;
    resumption.recipe.scaler.backoff = 0x1p-18F;
    if (!hc_check_ok(check, hc_dataset_open(&set, &resumption.data)))
        return;
    if (hc_check_ok(check, hc_output_folder(resumption.folder, "halfcheck-checkpoint"))) {
        (void)snprintf(resumption.path, sizeof resumption.path, "%s/checkpoint", resumption.folder);
        stop_and_go_on(&resumption);
        hc_output_folder_remove(resumption.folder);
    }
    hc_dataset_close(&resumption.data);
}

/* The first steps after a checkpoint that lacks a state tensor, a count or the scale. Each buggy
   arm changes the state as the loader in question did; the fixed arm has the whole state. */

static const double unit = 0x1p-24; /* roundoff of fp32 */

static void count_as(struct hc_fixture *fixture, int32_t taken, float scale)
{
    struct hc_counters counters = hc_fixture_counters(fixture);
    counters.taken = taken;
    counters.scale = scale;
    if (!fixture->failed &&
        !hc_check_ok(fixture->check, hc_update_set_counters(fixture->update, &counters)))
        fixture->failed = true;
}

static double step(struct hc_fixture *fixture, double g, double lr, double beta1)
{
    hc_fixture_gradient(fixture, 0, 0, g);
    hc_fixture_step(fixture, lr, beta1);
    return hc_fixture_get(fixture, HC_STATE_MASTER, 0, 0);
}

/* A gradient of 200 fits into half times 256, not times 512. From 65536 the scale is halved 8
   times, and 8 of 12 steps are skipped. A step is 200 / 1024, and every number is exact. */
static void scaler(struct hc_check *check)
{
    static const double scales[] = {256, 65536};
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    for (int buggy = 0; buggy < 2; buggy++) {
        struct hc_fixture fixture;
        double w = 1;
        hc_fixture_open_weights(&fixture, check, &recipe, 1, w);
        count_as(&fixture, 0, (float)scales[buggy]);
        for (int i = 0; i < 12; i++)
            w = step(&fixture, 200, 0x1p-10, 0);
        struct hc_counters counters = hc_fixture_counters(&fixture);
        if (!hc_fixture_close(&fixture))
            return;
        hc_say(check, "resumed at a scale of %g: %d of 12 steps skipped, the weight %g",
               scales[buggy], counters.skipped, w);
        hc_claim_value(check, "steps skipped", 8 * buggy, counters.skipped);
        hc_claim_value(check, "scale in the end", 256, (double)counters.scale);
        hc_claim_value(check, "weight in the end", 1 - (buggy ? 4 : 12) * (200.0 / 1024), w);
    }
}

/* m = 1e-5, v = 1e-9 and no gradient: the step is beta1 m / (sqrt(beta2 v) + eps). Through half v
   is 0. Roundings of relative size u: m, beta1 and their product; v, beta2, their product, halved
   by the root; the root; eps and the sum; two quotients and the product with lr: less than 12.
   Corrections of bias are 1 at t = 10000. */
static void cast(struct hc_check *check)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.weight_decay = 0;
    for (int buggy = 0; buggy < 2; buggy++) {
        struct hc_fixture fixture;
        double m = 1e-5;
        double v = 1e-9;
        if (buggy) {
            m = hc_decode(HC_FP16, hc_encode(HC_FP16, m, 0, HC_NEAREST));
            v = hc_decode(HC_FP16, hc_encode(HC_FP16, v, 0, HC_NEAREST));
        }
        hc_fixture_open_weights(&fixture, check, &recipe, 1, 0);
        hc_fixture_set(&fixture, HC_STATE_M, 0, 0, m);
        hc_fixture_set(&fixture, HC_STATE_V, 0, 0, v);
        count_as(&fixture, 10000, 256);
        double got = -step(&fixture, 0, 1, 0.9);
        if (!hc_fixture_close(&fixture))
            return;
        double want = 0.9 * m / (sqrt(recipe.beta2 * v) + recipe.eps);
        hc_say(check, "v = %g: the first step is %g times the learning rate", v, got);
        hc_claim_within(check, buggy ? "step, state cast to half" : "step", want, got,
                        12 * unit * want);
        hc_claim_true(check,
                      buggy ? "buggy arm: 900 times the rate and more" : "fixed arm: below it",
                      buggy ? got > 900 : got < 1);
    }
}

/* After T steps of one gradient m = g (1 - beta1^T), v = g^2 (1 - beta2^T). Step k from a count of
   0 is (1 - beta1^(T+k)) / (1 - beta1^k) * sqrt((1 - beta2^k) / (1 - beta2^(T+k))) of the right
   one. Each step rounds m and v three times, and each of two coefficients was rounded once; those
   of v are halved by the root: 8 u a step is enough, 12 u for the rest, and 2 u of the weight,
   which is rounded before and after. eps is 1e-8 of g = 1 and is in the formula. At k = 1 that is
   (51 * 8 + 12) u and 2 u * 0.05 of 2^-10, in all less than the 1e-4 that "as before" allows. */
static void count(struct hc_check *check)
{
    enum { T = 50, K = 20 };
    static const double lr = 0x1p-10;
    static const double beta1 = (double)0.9F;
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.weight_decay = 0;
    for (int buggy = 0; buggy < 2; buggy++) {
        struct hc_fixture fixture;
        double w = 0;
        hc_fixture_open_weights(&fixture, check, &recipe, 1, w);
        count_as(&fixture, 0, 256);
        for (int i = 0; i < T; i++)
            w = step(&fixture, 1, lr, beta1);
        if (buggy)
            count_as(&fixture, 0, 256);
        for (int k = 1; k <= K && !fixture.failed; k++) {
            double before = w;
            int t = buggy ? k : T + k;
            w = step(&fixture, 1, lr, beta1);
            double m = (1 - pow(beta1, T + k)) / (1 - pow(beta1, t));
            double v = (1 - pow(recipe.beta2, T + k)) / (1 - pow(recipe.beta2, t));
            double want = lr * m / (sqrt(v) + recipe.eps);
            if (k == 1 || k == K)
                hc_say(check, "%s: step %d is %.4f of the right one",
                       buggy ? "count restarted" : "count kept", k, (before - w) / lr);
            hc_claim_within(check, "step", want, before - w,
                            ((T + k) * 8 + 12) * unit * want + 2 * unit * fabs(w));
            if (k == 1)
                hc_claim_true(check,
                              buggy ? "buggy arm: half as large again" : "fixed arm: as before",
                              buggy ? before - w > 1.5 * lr : fabs((before - w) / lr - 1) < 1e-4);
        }
        hc_fixture_close(&fixture);
    }
}

/* Four updates of 1e-4 from 1, a checkpoint, four more. A master is at 1.0008, which half sees as 1
   + 2^-10; one made again from the model's copy has forgotten the first four. Gradients are scaled
   and rounded in half: each is within 2^-11 of 1e-4, so that eight are more than the 2^-11 half
   sees, and four are less. */
static void masters(struct hc_check *check)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    for (int buggy = 0; buggy < 2; buggy++) {
        struct hc_fixture fixture;
        hc_fixture_open_weights(&fixture, check, &recipe, 1, 1);
        count_as(&fixture, 0, 512);
        for (int i = 0; i < 8; i++) {
            if (i == 4 && buggy)
                hc_fixture_set(&fixture, HC_STATE_MASTER, 0, 0,
                               hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0));
            (void)step(&fixture, -1e-4, 1, 0);
        }
        double model = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0);
        double master = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
        if (!hc_fixture_close(&fixture))
            return;
        hc_say(check, "masters %s: master %.9g, model %.10g",
               buggy ? "made again from the model's copy" : "kept", master, model);
        hc_claim_value(check, "model after eight updates", buggy ? 1 : 1 + 0x1p-10, model);
    }
}

/* What a checkpoint that lacks part of the state costs. A small training is stopped, resumed once
   from the whole state and once from what is left of it, and compared with the uninterrupted
   training. */

enum { STOP = 20, STEPS = 40, STATES = HC_TINY_TENSORS };

static const double rate = 2e-3;

/* What each loader leaves of the state. `start` is the state at the beginning of the run. */
struct loss {
    const char *name;
    void (*lose)(struct hc_tensor tensor[STATES], const struct hc_tensor start[STATES],
                 struct hc_counters *counters, const struct hc_counters *initial);
};

enum { MODEL = HC_TINY_MODEL, MASTER = HC_TINY_MASTER, M = HC_TINY_M, V = HC_TINY_V };

static void copy(struct hc_tensor *to, const struct hc_tensor *from)
{
    for (int64_t e = 0; e < hc_tensor_count(to); e++)
        hc_tensor_set(to, e, hc_tensor_get(from, e));
}

/* Moves masters at once as far as rounding, half an ulp a step, can take them in all STEPS - STOP
   steps to come, up or down. */
static void nudge(struct hc_tensor *tensor, const struct hc_tensor *start,
                  struct hc_counters *counters, const struct hc_counters *initial)
{
    (void)start;
    (void)counters;
    (void)initial;
    for (int64_t e = 0; e < hc_tensor_count(&tensor[MASTER]); e++) {
        float x = (float)hc_tensor_get(&tensor[MASTER], e);
        float to = hc_random(0, 0, (uint64_t)e) & 1 ? INFINITY : -INFINITY;
        for (int i = 0; i < (STEPS - STOP) / 2; i++)
            x = nextafterf(x, to);
        hc_tensor_set(&tensor[MASTER], e, (double)x);
    }
}

static void lose_scaler(struct hc_tensor *tensor, const struct hc_tensor *start,
                        struct hc_counters *counters, const struct hc_counters *initial)
{
    (void)tensor;
    (void)start;
    counters->scale = initial->scale;
    counters->clean = 0;
}

static void lose_masters(struct hc_tensor *tensor, const struct hc_tensor *start,
                         struct hc_counters *counters, const struct hc_counters *initial)
{
    (void)start;
    (void)counters;
    (void)initial;
    copy(&tensor[MASTER], &tensor[MODEL]);
}

static void clone_first(struct hc_tensor *tensor, const struct hc_tensor *start,
                        struct hc_counters *counters, const struct hc_counters *initial)
{
    (void)counters;
    (void)initial;
    copy(&tensor[MASTER], &start[MASTER]);
}

static void cast_state(struct hc_tensor *tensor, const struct hc_tensor *start,
                       struct hc_counters *counters, const struct hc_counters *initial)
{
    (void)start;
    (void)counters;
    (void)initial;
    for (int k = M; k <= V; k++)
        for (int64_t e = 0; e < hc_tensor_count(&tensor[k]); e++) {
            enum hc_format format = tensor[MODEL].format;
            double x = hc_tensor_get(&tensor[k], e);
            hc_tensor_set(&tensor[k], e, hc_decode(format, hc_encode(format, x, 0, HC_NEAREST)));
        }
}

static void lose_count(struct hc_tensor *tensor, const struct hc_tensor *start,
                       struct hc_counters *counters, const struct hc_counters *initial)
{
    (void)tensor;
    (void)start;
    counters->taken = initial->taken;
}

static void lose_optimizer(struct hc_tensor *tensor, const struct hc_tensor *start,
                           struct hc_counters *counters, const struct hc_counters *initial)
{
    copy(&tensor[M], &start[M]);
    copy(&tensor[V], &start[V]);
    counters->taken = initial->taken;
}

static const struct loss losses[] = {
    {"nothing", NULL},
    {"nothing, but rounded", nudge},
    {"scaler state", lose_scaler},
    {"masters, made again", lose_masters},
    {"masters, cloned before", clone_first},
    {"state cast to half", cast_state},
    {"step count", lose_count},
    {"optimizer state", lose_optimizer},
};

enum { LOSSES = sizeof losses / sizeof losses[0] };

/* |got - want| / |want - start| over all masters. */
static double distance(const struct hc_plan *plan, const struct hc_tiny_state *got,
                       const struct hc_tiny_state *want, const struct hc_tiny_state *start)
{
    double difference = 0;
    double moved = 0;
    for (int i = MASTER; i < plan->parameters * STATES; i += STATES)
        for (int64_t e = 0; e < hc_tensor_count(&want->tensor[i]); e++) {
            double w = hc_tensor_get(&want->tensor[i], e);
            difference += pow(hc_tensor_get(&got->tensor[i], e) - w, 2);
            moved += pow(w - hc_tensor_get(&start->tensor[i], e), 2);
        }
    return sqrt(difference / moved);
}

/* From 2^30 the scale comes down in the first steps, so that the scaler's state differs from its
   initial one. */
static void begin(struct hc_tiny *tiny, struct hc_check *check)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.scaler.initial = 0x1p30F;
    hc_tiny_open(tiny, check, hc_check_seed(check));
    hc_tiny_start(tiny, &recipe);
}

/* The states at the start, at the stop, and after each step from there on: STEPS - STOP + 1 of
   them. */
static bool uninterrupted(struct hc_check *check, struct hc_tiny_state *start,
                          struct hc_tiny_state *after)
{
    struct hc_tiny tiny;
    begin(&tiny, check);
    if (!tiny.failed)
        *start = hc_tiny_save(&tiny);
    for (int s = 0; s < STEPS && !tiny.failed; s++) {
        if (s == STOP)
            after[0] = hc_tiny_save(&tiny);
        (void)hc_tiny_step(&tiny, s, rate);
        if (s >= STOP)
            after[s - STOP + 1] = hc_tiny_save(&tiny);
    }
    return hc_tiny_close(&tiny);
}

/* How far the masters are from the uninterrupted run's after the first step. `rounding` is what
   rounding explains of it. Later the two runs grow apart whatever the cause, so that the end says
   less. */
static double resume(struct hc_check *check, const struct loss *loss,
                     const struct hc_tiny_state *start, const struct hc_tiny_state *after,
                     double rounding, struct hc_picture *picture)
{
    struct hc_tiny tiny;
    double far = 0;
    double first = 0;
    begin(&tiny, check);
    if (tiny.failed) {
        hc_tiny_close(&tiny);
        return (double)NAN;
    }
    const struct hc_plan *plan = hc_net_plan(tiny.net);
    hc_tiny_load(&tiny, &after[0]);
    struct hc_tiny_state left = hc_tiny_save(&tiny);
    for (int p = 0; p < plan->parameters && loss->lose && !tiny.failed; p++)
        loss->lose(&left.tensor[(size_t)p * STATES], &start->tensor[(size_t)p * STATES],
                   &left.counters, &start->counters);
    hc_tiny_load(&tiny, &left);
    for (int s = STOP; s < STEPS && !tiny.failed; s++) {
        (void)hc_tiny_step(&tiny, s, rate);
        struct hc_tiny_state now = hc_tiny_save(&tiny);
        far = tiny.failed ? (double)NAN : distance(plan, &now, &after[s - STOP + 1], start);
        if (s == STOP)
            first = far;
        if (far > 0)
            hc_point(check, picture, loss->name, s + 1, far);
        left = now;
    }
    if (!tiny.failed) {
        int skipped = left.counters.skipped - after[STEPS - STOP].counters.skipped;
        hc_say(check, "%-26s  %13d  %-16.2e  %.2e", loss->name, skipped, first, far);
        if (!loss->lose)
            hc_claim_value(check, "whole: distance from the uninterrupted run", 0, far);
        else if (loss->lose != nudge) /* NaN: far away */
            hc_claim_true(check, "farther away than rounding takes it", !(first <= rounding));
        if (loss->lose == lose_scaler)
            hc_claim_true(check, "steps are skipped again", skipped > 0);
    }
    hc_tiny_close(&tiny);
    return first;
}

static void lost(struct hc_check *check)
{
    static const struct hc_frame frame = {
        .title = "Masters after a resume, apart from the uninterrupted run's",
        .x = "step",
        .y = "distance / way from the start",
        .log_y = true};
    struct hc_tiny_state start = {0};
    struct hc_tiny_state *after = hc_check_memory(check, (STEPS - STOP + 1) * sizeof *after);
    if (!uninterrupted(check, &start, after))
        return;
    struct hc_picture *picture = hc_picture_new(check, &frame);
    hc_say(check, "stopped after %d of %d steps, at a scale of %g", STOP, STEPS,
           (double)after[0].counters.scale);
    hc_say(check, "                                           masters are apart by this share");
    hc_say(check, "lost                        steps skipped  after a step      in the end");
    if (!(after[0].counters.scale < start.counters.scale && after[0].counters.taken > 0))
        hc_mistrust(check, "the scaler's state is still what it starts with");
    double rounding = 0;
    for (int i = 0; i < LOSSES; i++) {
        double first = resume(check, &losses[i], &start, after, rounding, picture);
        if (losses[i].lose == nudge)
            rounding = first;
    }
    if (!(rounding > 0))
        hc_mistrust(check, "rounding changes nothing");
}

static const struct hc_case cases[] = {
    {"checkpoint/trainer-goes-on",
     "the trainer's checkpoint holds all that the rest of a run depends on: a resumed run ends in "
     "the uninterrupted run's bits, and with any part of the checkpoint zeroed it does not",
     "huggingface/transformers#34053; NVIDIA/apex#42; pytorch/pytorch#43706; "
     "deepspeedai/DeepSpeed#7786",
     .level = HC_STANDARD, .run = trainer},
    {"checkpoint/masters-made-again",
     "masters made again from the model's copy have lost every update that the copy had not shown",
     "NVIDIA/apex#42; fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb, get_master",
     .run = masters},
    {"checkpoint/scaler-state-not-saved", "a resume from 65536 instead of 256 skips 8 steps",
     "huggingface/transformers#34053; open-mmlab/mmcv#1013", .run = scaler},
    {"checkpoint/state-cast-to-the-parameters-format",
     "optimizer state cast to half on load: v = 1e-9 is 0, and a step 3000 times too large",
     "pytorch/pytorch#43706; facebookresearch/fairscale#50", .run = cast},
    {"checkpoint/step-count-reset",
     "with the step count reset to 0 Adam's bias correction starts over on moments that need none",
     "deepspeedai/DeepSpeed#7786", .run = count},
    {"checkpoint/what-a-lost-state-tensor-costs",
     "a whole checkpoint gives the uninterrupted run's bits; without the scaler's state, masters, "
     "moments or the step count the next step ends elsewhere, by more than rounding explains",
     "huggingface/transformers#34053; NVIDIA/apex#42; pytorch/pytorch#43706; "
     "deepspeedai/DeepSpeed#7786",
     .run = lost},
};

HC_CASES(checkpoint_resumed, cases);
