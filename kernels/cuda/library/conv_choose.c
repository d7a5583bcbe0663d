/* Chooses the engine of cuDNN that runs a convolution. */
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/library/conv_plan.h"

/* A plan that needs more is refused. */
static const int64_t max_workspace = (int64_t)1 << 29;

/* What cuDNN says of the engine of a proposal. */
struct proposal {
    int64_t engine;
    int64_t notes;
    int note[HC_DNN_NOTE_COUNT];
    int64_t behaviours;
    int behaviour[HC_DNN_BEHAVIOUR_COUNT];
};

static bool has(const int *list, int64_t count, int entry)
{
    for (int64_t i = 0; i < count; i++)
        if (list[i] == entry)
            return true;
    return false;
}

/* Sums must be in fp32 and in an order that repeats. The matrix units take fp32 inputs as tf32,
   which a call must allow. A note that is not known here may mean anything. */
static bool acceptable(const struct hc_conv_key *key, const struct proposal *p)
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
    for (int64_t i = 0; i < p->notes; i++)
        if (p->note[i] < 0 || p->note[i] >= HC_DNN_NOTE_COUNT || refused[p->note[i]])
            return false;
    return key->in != HC_FP32 || key->tf32 || !has(p->note, p->notes, HC_DNN_NOTE_TENSOR_CORE);
}

static void read_engine(struct hc_conv_builder *b, void *config, struct proposal *p)
{
    int64_t got = 0;
    void *engine = hc_conv_make(b, HC_DNN_ENGINE);
    hc_conv_get(b, config, HC_DNN_CONFIG_ENGINE, HC_DNN_TYPE_DESCRIPTOR, 1, &got, &engine);
    hc_conv_get(b, engine, HC_DNN_ENGINE_INDEX, HC_DNN_TYPE_INT64, 1, &got, &p->engine);
    hc_conv_get(b, engine, HC_DNN_ENGINE_NOTES, HC_DNN_TYPE_NOTE, HC_DNN_NOTE_COUNT, &p->notes,
                p->note);
    hc_conv_get(b, engine, HC_DNN_ENGINE_BEHAVIOURS, HC_DNN_TYPE_BEHAVIOUR, HC_DNN_BEHAVIOUR_COUNT,
                &p->behaviours, p->behaviour);
}

/* Appends " knob=value" for each knob of the configuration that can be read. */
static void tell_knobs(struct hc_conv_builder *b, void *config, char *text, size_t size)
{
    struct hc_conv_builder attempt = *b;
    void *choices[HC_CONV_KNOBS];
    int64_t count = 0;
    int before = b->plan->count;
    for (int i = 0; i < HC_CONV_KNOBS; i++)
        choices[i] = hc_conv_make(&attempt, HC_DNN_KNOB_CHOICE);
    hc_conv_get(&attempt, config, HC_DNN_CONFIG_KNOBS, HC_DNN_TYPE_DESCRIPTOR, HC_CONV_KNOBS,
                &count, choices);
    for (int64_t i = 0; i < count && i < HC_CONV_KNOBS && attempt.status == 0; i++) {
        int64_t got = 0;
        int knob = -1;
        int64_t value = 0;
        size_t at = strlen(text);
        hc_conv_get(&attempt, choices[i], HC_DNN_KNOB_TYPE, HC_DNN_TYPE_KNOB, 1, &got, &knob);
        hc_conv_get(&attempt, choices[i], HC_DNN_KNOB_VALUE, HC_DNN_TYPE_INT64, 1, &got, &value);
        if (attempt.status == 0)
            (void)snprintf(text + at, size - at, "%s%d=%lld", i ? " " : ", knobs ", knob,
                           (long long)value);
    }
    hc_conv_undo(&attempt, before);
}

static void tell(struct hc_conv_builder *b, void *config, const struct proposal *p)
{
    struct hc_conv_plan *plan = b->plan;
    (void)snprintf(plan->text, sizeof plan->text,
                   "engine %lld%s%s, %lld bytes of workspace, %d refused", (long long)p->engine,
                   has(p->note, p->notes, HC_DNN_NOTE_TENSOR_CORE) ? " on matrix units" : "",
                   has(p->behaviour, p->behaviours, HC_DNN_BEHAVIOUR_COMPILES) ? " compiled here"
                                                                               : "",
                   (long long)plan->workspace, plan->refused);
    tell_knobs(b, config, plan->text, sizeof plan->text);
}

/* Makes the plan of one proposal the plan of b if it is acceptable. A plan that cannot be finalized
   is not supported after all, which is no error. `compiles`: of the engines that are compiled when
   a plan is made, or of the others. */
static void try_proposal(struct hc_conv_builder *b, void *config, bool compiles)
{
    struct hc_conv_builder attempt = *b;
    struct hc_conv_plan *plan = b->plan;
    int count = plan->count;
    int64_t got = 0;
    int64_t workspace = 0;
    void *made = NULL;
    struct proposal p = {0};
    read_engine(&attempt, config, &p);
    bool considered = attempt.status == 0 &&
                      compiles == has(p.behaviour, p.behaviours, HC_DNN_BEHAVIOUR_COMPILES);
    bool taken = considered && acceptable(&plan->key, &p);
    if (taken) {
        made = hc_conv_make(&attempt, HC_DNN_PLAN);
        hc_conv_set(&attempt, made, HC_DNN_PLAN_HANDLE, HC_DNN_TYPE_HANDLE, 1, &b->handle);
        hc_conv_set(&attempt, made, HC_DNN_PLAN_CONFIG, HC_DNN_TYPE_DESCRIPTOR, 1, &config);
        hc_conv_finalize(&attempt, made);
        hc_conv_get(&attempt, made, HC_DNN_PLAN_WORKSPACE, HC_DNN_TYPE_INT64, 1, &got, &workspace);
        taken = attempt.status == 0 && workspace <= max_workspace;
    }
    if (!taken) {
        hc_conv_undo(b, count);
        plan->refused += considered;
        return;
    }
    plan->plan = made;
    plan->engine = p.engine;
    plan->workspace = workspace;
    tell(b, config, &p);
}

/* Takes the first acceptable proposal of the mode. For a graph that the mode has no heuristics for,
   or that no engine supports, cuDNN gives an error, which means that there is no proposal. */
static void choose(struct hc_conv_builder *b, void *graph, int mode, bool compiles)
{
    struct hc_conv_plan *plan = b->plan;
    int count = plan->count;
    void *configs[HC_CONV_PROPOSALS];
    int64_t got = 0;
    b->status = 0;
    void *heuristics = hc_conv_make(b, HC_DNN_HEURISTICS);
    hc_conv_set(b, heuristics, HC_DNN_HEURISTICS_GRAPH, HC_DNN_TYPE_DESCRIPTOR, 1, &graph);
    hc_conv_set(b, heuristics, HC_DNN_HEURISTICS_MODE, HC_DNN_TYPE_HEURISTICS_MODE, 1, &mode);
    hc_conv_finalize(b, heuristics);
    for (int i = 0; i < HC_CONV_PROPOSALS; i++)
        configs[i] = hc_conv_make(b, HC_DNN_CONFIG);
    hc_conv_get(b, heuristics, HC_DNN_HEURISTICS_RESULTS, HC_DNN_TYPE_DESCRIPTOR, HC_CONV_PROPOSALS,
                &got, configs);
    for (int64_t i = 0; i < got && i < HC_CONV_PROPOSALS && b->status == 0 && !plan->plan; i++)
        try_proposal(b, configs[i], compiles);
    if (!plan->plan)
        hc_conv_undo(b, count);
}

/* Engines that are compiled when a plan is made take seconds each and need a compiler on the
   machine. They come after all others. */
void hc_conv_choose(struct hc_conv_builder *b, void *graph)
{
    static const int modes[] = {HC_DNN_MODE_A, HC_DNN_MODE_FALLBACK};
    for (int i = 0; i < 4 && !b->plan->plan; i++)
        choose(b, graph, modes[i % 2], i / 2);
    if (!b->plan->plan)
        (void)snprintf(b->plan->text, sizeof b->plan->text,
                       "our own kernel: no plan, %d proposals refused", b->plan->refused);
}
