/* Chooses the engine of cuDNN that runs a convolution. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/library/conv_plan.h"

/* A plan that needs more is refused. */
static const int64_t max_workspace = (int64_t)1 << 29;

enum { KNOBS = 16 };

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

/* cuDNN's numerical notes. Sums must be in fp32 and in an order that repeats. */
static const struct {
    const char *name;
    bool refused;
} notes[HC_DNN_NOTE_COUNT] = {
    [HC_DNN_NOTE_TENSOR_CORE] = {"TENSOR_CORE", false},
    [HC_DNN_NOTE_DOWN_CONVERT_INPUTS] = {"DOWN_CONVERT_INPUTS", true},
    [HC_DNN_NOTE_REDUCED_PRECISION_REDUCTION] = {"REDUCED_PRECISION_REDUCTION", true},
    [HC_DNN_NOTE_FFT] = {"FFT", true},
    [HC_DNN_NOTE_NONDETERMINISTIC] = {"NONDETERMINISTIC", true},
    [HC_DNN_NOTE_WINOGRAD] = {"WINOGRAD", true},
    [HC_DNN_NOTE_WINOGRAD_4] = {"WINOGRAD_TILE_4x4", true},
    [HC_DNN_NOTE_WINOGRAD_6] = {"WINOGRAD_TILE_6x6", true},
    [HC_DNN_NOTE_WINOGRAD_13] = {"WINOGRAD_TILE_13x13", true},
    [HC_DNN_NOTE_STRICT_NAN] = {"STRICT_NAN_PROP", false},
};

/* The matrix units take fp32 inputs as tf32, which a call must allow. A note that is not known here
   may mean anything. */
static bool acceptable(const struct hc_conv_key *key, const struct proposal *p)
{
    for (int64_t i = 0; i < p->notes; i++)
        if (p->note[i] < 0 || p->note[i] >= HC_DNN_NOTE_COUNT || notes[p->note[i]].refused)
            return false;
    return key->format != HC_FP32 || key->tf32 || !has(p->note, p->notes, HC_DNN_NOTE_TENSOR_CORE);
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

/* A text that grows up to its size. */
struct text {
    char *to;
    size_t size;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
append(struct text text, const char *format, ...)
{
    va_list arguments;
    size_t at = strlen(text.to);
    va_start(arguments, format);
    (void)vsnprintf(text.to + at, text.size - at, format, arguments);
    va_end(arguments);
}

/* Appends " knob=value" for each knob of the configuration that can be read. */
static void tell_knobs(struct hc_conv_builder *b, void *config, struct text text)
{
    struct hc_conv_builder attempt = *b;
    void *choices[KNOBS];
    int64_t count = 0;
    int before = b->plan->count;
    for (int i = 0; i < KNOBS; i++)
        choices[i] = hc_conv_make(&attempt, HC_DNN_KNOB_CHOICE);
    hc_conv_get(&attempt, config, HC_DNN_CONFIG_KNOBS, HC_DNN_TYPE_DESCRIPTOR, KNOBS, &count,
                choices);
    for (int64_t i = 0; i < count && i < KNOBS && attempt.status == 0; i++) {
        int64_t got = 0;
        int knob = -1;
        int64_t value = 0;
        hc_conv_get(&attempt, choices[i], HC_DNN_KNOB_TYPE, HC_DNN_TYPE_KNOB, 1, &got, &knob);
        hc_conv_get(&attempt, choices[i], HC_DNN_KNOB_VALUE, HC_DNN_TYPE_INT64, 1, &got, &value);
        if (attempt.status == 0)
            append(text, "%s%d=%lld", i ? " " : ", knobs ", knob, (long long)value);
    }
    hc_conv_undo(&attempt, before);
}

static void tell(struct hc_conv_builder *b, void *config, const struct proposal *p)
{
    struct hc_conv_plan *plan = b->plan;
    struct text text = {plan->text, sizeof plan->text};
    append(text, "%sengine %lld", plan->mode == HC_DNN_MODE_FALLBACK ? "fallback " : "",
           (long long)p->engine);
    for (int64_t i = 0; i < p->notes; i++)
        append(text, "%s%s", i ? " " : ", ", notes[p->note[i]].name);
    append(text, "%s, %lld bytes of workspace, %d proposals refused",
           has(p->behaviour, p->behaviours, HC_DNN_BEHAVIOUR_COMPILES) ? ", compiled here" : "",
           (long long)plan->workspace, plan->refused);
    tell_knobs(b, config, text);
}

/* Makes the plan of one proposal the plan of b if it is acceptable. A plan that cannot be finalized
   is not supported after all, which is no error. `compiles`: of the engines that are compiled when
   a plan is made, or of the others. */
static void try_proposal(struct hc_conv_builder *b, void *config, int mode, bool compiles)
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
        hc_conv_target(&attempt, made, HC_DNN_PLAN_HANDLE, HC_DNN_PLAN_DEVICE);
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
    plan->mode = mode;
    plan->workspace = workspace;
    tell(b, config, &p);
}

/* Takes the first acceptable proposal of the mode. All are asked for: in strict fp32 the first
   dozens may be of matrix units. For a graph that the mode has no heuristics for, or that no engine
   supports, cuDNN gives an error, which means that there is no proposal. */
static void choose(struct hc_conv_builder *b, void *graph, int mode, bool compiles)
{
    struct hc_conv_plan *plan = b->plan;
    int before = plan->count;
    int64_t count = 0;
    int64_t got = 0;
    b->status = 0;
    void *heuristics = hc_conv_make(b, HC_DNN_HEURISTICS);
    hc_conv_set(b, heuristics, HC_DNN_HEURISTICS_GRAPH, HC_DNN_TYPE_DESCRIPTOR, 1, &graph);
    hc_conv_set(b, heuristics, HC_DNN_HEURISTICS_MODE, HC_DNN_TYPE_HEURISTICS_MODE, 1, &mode);
    if (b->device)
        hc_conv_set(b, heuristics, HC_DNN_HEURISTICS_DEVICE, HC_DNN_TYPE_DESCRIPTOR, 1, &b->device);
    hc_conv_finalize(b, heuristics);
    hc_conv_get(b, heuristics, HC_DNN_HEURISTICS_RESULTS, HC_DNN_TYPE_DESCRIPTOR, 0, &count, NULL);
    int first = plan->count;
    for (int64_t i = 0; i < count; i++)
        (void)hc_conv_make(b, HC_DNN_CONFIG);
    if (b->status == 0 && count > 0)
        hc_conv_get(b, heuristics, HC_DNN_HEURISTICS_RESULTS, HC_DNN_TYPE_DESCRIPTOR, count, &got,
                    (void *)(plan->made + first));
    for (int64_t i = 0; i < count && i < got && b->status == 0 && !plan->plan; i++)
        try_proposal(b, plan->made[first + i], mode, compiles);
    if (!plan->plan)
        hc_conv_undo(b, before);
}

/* Engines that are compiled when a plan is made take seconds each and need a compiler on the
   machine. They come after all others. */
void hc_conv_choose(struct hc_conv_builder *b, void *graph)
{
    static const int modes[] = {HC_DNN_MODE_A, HC_DNN_MODE_FALLBACK};
    for (int i = 0; i < 4 && !b->plan->plan; i++)
        choose(b, graph, modes[i % 2], i / 2);
    if (!b->plan->plan)
        append((struct text){b->plan->text, sizeof b->plan->text},
               "our own kernel: no plan, %d proposals refused", b->plan->refused);
}
