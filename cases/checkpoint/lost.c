/* What a checkpoint that lacks part of the state costs. A small training is stopped, resumed once
   from the whole state and once from what is left of it, and compared with the uninterrupted
   training. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/fixture/tiny_state.h"

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
    {.name = "checkpoint/what-a-lost-state-tensor-costs",
     .title = "a whole checkpoint gives the uninterrupted run's bits; without the scaler's state, "
              "masters, moments or the step count the next step ends elsewhere, by more than "
              "rounding explains",
     .source = "huggingface/transformers#34053; NVIDIA/apex#42; pytorch/pytorch#43706; "
               "deepspeedai/DeepSpeed#7786",
     .run = lost},
};

HC_CASES(checkpoint_lost, cases);
