#include "kernels/cuda/conv_plan.h"

#include <stdbool.h>
#include <stdlib.h>

/* A plan that wants more is passed over. */
static const int64_t most_workspace = (int64_t)1 << 29;

/* Sums must be sums in fp32, in an order that repeats. Of fp32 inputs the matrix units make tf32. */
static bool acceptable(const struct hc_conv_shape *g, const int *notes, int64_t count)
{
    static const bool refused[HC_DNN_NOTE_COUNT] = {
        [HC_DNN_NOTE_DOWN_CONVERT_INPUTS] = true,
        [HC_DNN_NOTE_REDUCED_PRECISION_REDUCTION] = true,
        [HC_DNN_NOTE_FFT] = true,
        [HC_DNN_NOTE_NONDETERMINISTIC] = true,
        [HC_DNN_NOTE_WINOGRAD] = true,
        [HC_DNN_NOTE_WINOGRAD_4] = true,
        [HC_DNN_NOTE_WINOGRAD_6] = true,
        [HC_DNN_NOTE_WINOGRAD_13] = true,
    };
    for (int64_t i = 0; i < count; i++)
        if (notes[i] < 0 || notes[i] >= HC_DNN_NOTE_COUNT || refused[notes[i]] ||
            (g->in == HC_FP32 && !g->tf32 && notes[i] == HC_DNN_NOTE_TENSOR_CORE))
            return false;
    return true;
}

/* Makes the plan of one proposal the plan of b, or leaves b without one. What cannot be finalized is
   not supported after all, which is no failure. */
static void take(struct hc_conv_builder *b, void *config)
{
    struct hc_conv_builder attempt = *b;
    const struct hc_library *l = b->library;
    int count = b->plan->count;
    int64_t got = 0;
    int notes[HC_DNN_NOTE_COUNT];
    int64_t index = -1;
    int64_t workspace = 0;
    void *engine = hc_conv_make(&attempt, HC_DNN_ENGINE);
    if (attempt.status == 0)
        attempt.status =
            l->cudnn_get(config, HC_DNN_CONFIG_ENGINE, HC_DNN_TYPE_DESCRIPTOR, 1, &got, &engine);
    if (attempt.status == 0)
        attempt.status =
            l->cudnn_get(engine, HC_DNN_ENGINE_INDEX, HC_DNN_TYPE_INT64, 1, &got, &index);
    if (attempt.status == 0)
        attempt.status = l->cudnn_get(engine, HC_DNN_ENGINE_NOTES, HC_DNN_TYPE_NOTE,
                                      HC_DNN_NOTE_COUNT, &got, notes);
    bool taken = attempt.status == 0 && acceptable(&b->plan->shape, notes, got);
    if (taken) {
        void *plan = hc_conv_make(&attempt, HC_DNN_PLAN);
        hc_conv_set(&attempt, plan, HC_DNN_PLAN_HANDLE, HC_DNN_TYPE_HANDLE, 1, &b->handle);
        hc_conv_set(&attempt, plan, HC_DNN_PLAN_CONFIG, HC_DNN_TYPE_DESCRIPTOR, 1, &config);
        hc_conv_finalize(&attempt, plan);
        if (attempt.status == 0)
            attempt.status =
                l->cudnn_get(plan, HC_DNN_PLAN_WORKSPACE, HC_DNN_TYPE_INT64, 1, &got, &workspace);
        taken = attempt.status == 0 && workspace <= most_workspace;
        if (taken) {
            b->plan->plan = plan;
            b->plan->engine = index;
            b->plan->workspace = workspace;
        }
    }
    while (!taken && b->plan->count > count)
        (void)l->cudnn_destroy_descriptor(b->plan->made[--b->plan->count]);
}

/* Takes the first acceptable proposal of the mode. */
static void choose(struct hc_conv_builder *b, void *graph, int mode)
{
    struct hc_conv_plan *plan = b->plan;
    const struct hc_library *l = b->library;
    int count = plan->count;
    void *configs[HC_CONV_PROPOSALS];
    int64_t got = 0;
    void *heuristics = hc_conv_make(b, HC_DNN_HEURISTICS);
    hc_conv_set(b, heuristics, HC_DNN_HEURISTICS_GRAPH, HC_DNN_TYPE_DESCRIPTOR, 1, &graph);
    hc_conv_set(b, heuristics, HC_DNN_HEURISTICS_MODE, HC_DNN_TYPE_HEURISTICS_MODE, 1, &mode);
    hc_conv_finalize(b, heuristics);
    for (int i = 0; i < HC_CONV_PROPOSALS; i++)
        configs[i] = hc_conv_make(b, HC_DNN_CONFIG);
    if (b->status == 0)
        b->status = l->cudnn_get(heuristics, HC_DNN_HEURISTICS_RESULTS, HC_DNN_TYPE_DESCRIPTOR,
                                 HC_CONV_PROPOSALS, &got, configs);
    for (int64_t i = 0; i < got && i < HC_CONV_PROPOSALS && b->status == 0 && !plan->plan; i++)
        take(b, configs[i]);
    while (!plan->plan && plan->count > count)
        (void)l->cudnn_destroy_descriptor(plan->made[--plan->count]);
}

static void release(const struct hc_library *l, struct hc_conv_plan *plan)
{
    while (plan->count > 0)
        (void)l->cudnn_destroy_descriptor(plan->made[--plan->count]);
    free(plan);
}

/* A graph that a mode has no heuristics for ends with an error there, as one that nothing supports:
   that is an answer, too. */
static struct hc_conv_plan *make(struct hc_libraries *libraries, const struct hc_conv_shape *shape)
{
    static const int modes[] = {HC_DNN_MODE_A, HC_DNN_MODE_FALLBACK};
    struct hc_conv_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        (void)hc_fail(HC_NO_MEMORY, "cuda: no memory for a plan");
        return NULL;
    }
    plan->shape = *shape;
    struct hc_conv_builder b = {libraries->library, libraries->dnn, plan, 0, ""};
    void *graph = hc_conv_graph(&b);
    if (b.status != 0) {
        (void)hc_fail(HC_DEVICE, "cuda: cuDNN: %s: %s: %s", hc_ops[shape->op].name, b.what,
                      b.library->cudnn_text(b.status));
        release(b.library, plan);
        return NULL;
    }
    for (int i = 0; i < 2 && !plan->plan; i++) {
        b.status = 0;
        choose(&b, graph, modes[i]);
    }
    return plan;
}

static bool same(const struct hc_conv_shape *a, const struct hc_conv_shape *b)
{
    return a->op == b->op && a->in == b->in && a->out == b->out && a->n == b->n && a->h == b->h &&
           a->w == b->w && a->c == b->c && a->k == b->k && a->r == b->r && a->s == b->s &&
           a->stride == b->stride && a->pad == b->pad && a->tf32 == b->tf32;
}

struct hc_conv_plan *hc_conv_plan(struct hc_libraries *libraries, const struct hc_conv_shape *shape)
{
    struct hc_conv_plan *plan = libraries->plans;
    while (plan && !same(&plan->shape, shape))
        plan = plan->next;
    if (plan)
        return plan;
    plan = make(libraries, shape);
    if (plan) {
        plan->next = libraries->plans;
        libraries->plans = plan;
    }
    return plan;
}

void hc_conv_plans_free(struct hc_libraries *libraries)
{
    while (libraries->plans) {
        struct hc_conv_plan *plan = libraries->plans;
        libraries->plans = plan->next;
        release(libraries->library, plan);
    }
}
