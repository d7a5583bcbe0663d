/* The plans that the real cuDNN makes for the convolutions of Darknet-16 on devices that are
   described to it. What they must be follows from the proposals, which are read once more here.
   With the cuDNN of the golden plans they must also be those, word for word: the files in golden/
   are written anew by HC_WRITE_PLANS=1. */
#include <unistd.h>

#include "kernels/cuda/plans/testing.h"

static const struct {
    const char *name;
    enum hc_format format;
    bool tf32;
} kinds[] = {{"fp16", HC_FP16, false},
             {"bf16", HC_BF16, false},
             {"fp32", HC_FP32, false},
             {"tf32", HC_FP32, true}};
enum { KINDS = sizeof kinds / sizeof kinds[0], MAX_WORKSPACE = 128 << 20 };

/* What a proposal or a plan is known by. */
struct choice {
    int mode; /* of the heuristics; 0: nothing is chosen */
    int64_t engine;
    int64_t workspace;
};

static int64_t integer_of(const struct hc_library *l, const void *from, int name)
{
    int64_t value = -1;
    int64_t got = 0;
    cr_assert_eq(l->cudnn_get(from, name, HC_DNN_TYPE_INT64, 1, &got, &value), 0);
    return value;
}

/* Whether sums in fp32, or in a matrix unit that the call may use, and nothing else is noted of the
   engine; and whether it is compiled only when a plan is made. */
static bool fits(const struct hc_library *l, const void *engine, const struct hc_conv_key *key,
                 bool *compiles)
{
    int note[16];
    int behaviour[16];
    int64_t count = 0;
    bool fit = true;
    cr_assert_eq(l->cudnn_get(engine, HC_DNN_ENGINE_NOTES, HC_DNN_TYPE_NOTE, 16, &count, note), 0);
    for (int64_t i = 0; i < count; i++)
        fit = fit && (note[i] == HC_DNN_NOTE_STRICT_NAN || (note[i] == HC_DNN_NOTE_TENSOR_CORE &&
                                                            (key->format != HC_FP32 || key->tf32)));
    cr_assert_eq(l->cudnn_get(engine, HC_DNN_ENGINE_BEHAVIOURS, HC_DNN_TYPE_BEHAVIOUR, 16, &count,
                              behaviour),
                 0);
    *compiles = false;
    for (int64_t i = 0; i < count; i++)
        *compiles = *compiles || behaviour[i] == HC_DNN_BEHAVIOUR_COMPILES;
    return fit;
}

/* Makes the plan of the proposal if it fits and a plan of it can be made. */
static bool take(const struct hc_library *l, void *device, void *config,
                 const struct hc_conv_key *key, bool compiled, struct choice *choice)
{
    void *engine;
    void *plan;
    bool compiles;
    int64_t got = 0;
    cr_assert_eq(l->cudnn_create_descriptor(HC_DNN_ENGINE, &engine), 0);
    cr_assert_eq(l->cudnn_create_descriptor(HC_DNN_PLAN, &plan), 0);
    cr_assert_eq(
        l->cudnn_get(config, HC_DNN_CONFIG_ENGINE, HC_DNN_TYPE_DESCRIPTOR, 1, &got, &engine), 0);
    bool taken = fits(l, engine, key, &compiles) && compiles == compiled &&
                 l->cudnn_set(plan, HC_DNN_PLAN_DEVICE, HC_DNN_TYPE_DESCRIPTOR, 1, &device) == 0 &&
                 l->cudnn_set(plan, HC_DNN_PLAN_CONFIG, HC_DNN_TYPE_DESCRIPTOR, 1, &config) == 0 &&
                 l->cudnn_finalize(plan) == 0;
    if (taken) {
        choice->engine = integer_of(l, engine, HC_DNN_ENGINE_INDEX);
        choice->workspace = integer_of(l, plan, HC_DNN_PLAN_WORKSPACE);
        taken = choice->workspace <= (int64_t)1 << 29;
    }
    (void)l->cudnn_destroy_descriptor(engine);
    (void)l->cudnn_destroy_descriptor(plan);
    return taken;
}

/* The first proposal of the mode that fits. */
static bool first_of(const struct hc_library *l, void *device, void *graph, int mode,
                     const struct hc_conv_key *key, bool compiled, struct choice *choice)
{
    void *heuristics;
    void *configs[256];
    int64_t count = 0;
    bool taken = false;
    cr_assert_eq(l->cudnn_create_descriptor(HC_DNN_HEURISTICS, &heuristics), 0);
    if (l->cudnn_set(heuristics, HC_DNN_HEURISTICS_GRAPH, HC_DNN_TYPE_DESCRIPTOR, 1, &graph) == 0 &&
        l->cudnn_set(heuristics, HC_DNN_HEURISTICS_MODE, HC_DNN_TYPE_HEURISTICS_MODE, 1, &mode) ==
            0 &&
        l->cudnn_set(heuristics, HC_DNN_HEURISTICS_DEVICE, HC_DNN_TYPE_DESCRIPTOR, 1, &device) ==
            0 &&
        l->cudnn_finalize(heuristics) == 0 &&
        l->cudnn_get(heuristics, HC_DNN_HEURISTICS_RESULTS, HC_DNN_TYPE_DESCRIPTOR, 0, &count,
                     NULL) != 0)
        count = 0;
    cr_assert_lt(count, 256);
    for (int64_t i = 0; i < count; i++)
        cr_assert_eq(l->cudnn_create_descriptor(HC_DNN_CONFIG, &configs[i]), 0);
    if (count > 0)
        cr_assert_eq(l->cudnn_get(heuristics, HC_DNN_HEURISTICS_RESULTS, HC_DNN_TYPE_DESCRIPTOR,
                                  count, &count, (void *)configs),
                     0);
    for (int64_t i = 0; i < count && !taken; i++)
        taken = take(l, device, configs[i], key, compiled, choice);
    for (int64_t i = 0; i < count; i++)
        (void)l->cudnn_destroy_descriptor(configs[i]);
    (void)l->cudnn_destroy_descriptor(heuristics);
    choice->mode = taken ? mode : 0;
    return taken;
}

/* What must be chosen: the first proposal of the heuristics that fits, else the first fallback. */
static struct choice expected(const struct hc_library *l, void *device,
                              const struct hc_conv_key *key)
{
    struct hc_conv_plan scratch = {.key = *key};
    struct hc_conv_builder b = {.library = l, .device = device, .plan = &scratch};
    struct choice choice = {0, 0, 0};
    void *graph = hc_conv_graph(&b);
    cr_assert_eq(b.status, 0, "%s", b.what);
    for (int compiled = 0; compiled < 2; compiled++)
        if (first_of(l, device, graph, HC_DNN_MODE_A, key, compiled, &choice) ||
            first_of(l, device, graph, HC_DNN_MODE_FALLBACK, key, compiled, &choice))
            break;
    hc_conv_undo(&b, 0);
    free((void *)scratch.made);
    return choice;
}

Test(plans, are_the_first_proposals_whose_sums_are_in_fp32_and_need_little_workspace)
{
    const struct hc_library *l = real();
    int planned = 0;
    for (int d = 0; d < DEVICES; d++)
        for (int i = 0; i < 2 * KINDS; i++) {
            int k = i % KINDS;
            struct hc_conv_key keys[MAX_KEYS];
            void *device = device_of(l, devices[d].json);
            struct hc_libraries libraries = {.library = l, .device = device};
            int count = keys_of(i < KINDS ? 64 : 1024, kinds[k].format, kinds[k].tf32, keys);
            bool has_none = d == DEVICE_t4 && kinds[k].format == HC_BF16; /* nor has the device */
            cr_assert_not_null(device, "%s", devices[d].json);
            for (int j = 0; j < count; j++) {
                const struct hc_conv_plan *p = hc_conv_plan(&libraries, &keys[j]);
                struct choice want = expected(l, device, &keys[j]);
                cr_assert(p && (p->plan != NULL) == (want.mode != 0) && (has_none || p->plan),
                          "%s, %s: %s", devices[d].name, kinds[k].name, p ? p->text : hc_message());
                cr_assert(!p->plan || (p->mode == want.mode && p->engine == want.engine &&
                                       p->workspace == want.workspace),
                          "%s, %s, convolution %d: want engine %lld of list %d, got: %s",
                          devices[d].name, kinds[k].name, j, (long long)want.engine, want.mode,
                          p->text);
                cr_assert_lt(p->workspace, MAX_WORKSPACE, "%s", p->text);
                planned += p->plan != NULL;
            }
            hc_conv_plans_free(&libraries);
            (void)l->cudnn_destroy_descriptor(device);
        }
    cr_assert_eq(planned, (DEVICES * KINDS - 1) * 2 * 44, "%d", planned);
}

/* The plans of a device, a line each. The caller frees the text. */
static char *text_of(const struct hc_library *l, const struct device *d)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    void *device = device_of(l, d->json);
    cr_assert(to && device);
    (void)fprintf(to, "cuDNN %zu\n", l->cudnn_version());
    for (int i = 0; i < 2 * KINDS; i++) {
        struct hc_conv_key keys[MAX_KEYS];
        struct hc_libraries libraries = {.library = l, .device = device};
        int k = i % KINDS;
        int batch = i < KINDS ? 64 : 1024;
        int count = keys_of(batch, kinds[k].format, kinds[k].tf32, keys);
        (void)fprintf(to, "\n%s, batch %d\n", kinds[k].name, batch);
        for (int j = 0; j < count; j++) {
            const struct hc_conv_shape *g = &keys[j].shape;
            const struct hc_conv_plan *p = hc_conv_plan(&libraries, &keys[j]);
            cr_assert_not_null(p, "%s", hc_message());
            (void)fprintf(to, "%s %lldx%lldx%lld, %lld filters %lldx%lld/%lld: %s\n",
                          hc_ops[g->op].name, (long long)g->h, (long long)g->w, (long long)g->c,
                          (long long)g->k, (long long)g->r, (long long)g->s, (long long)g->stride,
                          p->text);
        }
        hc_conv_plans_free(&libraries);
    }
    (void)l->cudnn_destroy_descriptor(device);
    cr_assert_eq(fclose(to), 0);
    return text;
}

/* The golden plans of a device: read, or written first if that is asked for. */
static char *golden_of(const char *name, const char *text)
{
    char path[4096];
    char *golden = calloc(1, 1 << 17);
    (void)snprintf(path, sizeof path, "%s/kernels/cuda/plans/golden/%s.txt", HC_SOURCE, name);
    if (getenv("HC_WRITE_PLANS")) {
        FILE *to = fopen(path, "w");
        cr_assert(to && fputs(text, to) >= 0 && fclose(to) == 0, "%s", path);
    }
    FILE *from = fopen(path, "r");
    cr_assert(from && golden, "%s", path);
    size_t length = fread(golden, 1, (1 << 17) - 1, from);
    cr_assert(length < (1 << 17) - 1 && fclose(from) == 0, "%s", path);
    return golden;
}

static void expect_lines(const char *name, const char *want, const char *got)
{
    int number = 1;
    for (; *want && *got; number++) {
        size_t w = strcspn(want, "\n");
        size_t g = strcspn(got, "\n");
        cr_assert(w == g && memcmp(want, got, w) == 0, "%s.txt, line %d:\nwant %.*s\ngot  %.*s",
                  name, number, (int)w, want, (int)g, got);
        want += w + (want[w] == '\n');
        got += g + (got[g] == '\n');
    }
    cr_assert(!*want && !*got, "%s.txt has %s lines", name, *want ? "more" : "fewer");
}

Test(plans, repeat_and_are_the_golden_ones)
{
    const struct hc_library *l = real();
    char version[32];
    (void)snprintf(version, sizeof version, "cuDNN %zu\n", l->cudnn_version());
    bool other = false;
    for (int d = 0; d < DEVICES; d++) {
        char *text = text_of(l, &devices[d]);
        char *again = d == DEVICE_h100 ? text_of(l, &devices[d]) : NULL; /* one is enough */
        char *golden = golden_of(devices[d].name, text);
        if (again)
            expect_lines(devices[d].name, text, again);
        other = strncmp(golden, version, strlen(version)) != 0;
        if (!other)
            expect_lines(devices[d].name, golden, text);
        free(text);
        free(again);
        free(golden);
    }
    if (other)
        cr_skip_test("the golden plans are of another cuDNN than %s", version);
}

/* Properties that are no device's. */
Test(plans, are_not_made_for_a_description_that_cudnn_cannot_read)
{
    const struct hc_library *l = real();
    char json[4096];
    cr_assert_lt(strlen(devices[0].json), sizeof json);
    for (size_t cut = 1; cut < strlen(devices[0].json); cut += 97) {
        (void)snprintf(json, sizeof json, "%.*s", (int)(strlen(devices[0].json) - cut),
                       devices[0].json);
        cr_assert_null(device_of(l, json), "%s", json);
    }
    cr_assert_null(device_of(l, "{}"));
    cr_assert_null(device_of(l, ""));
}
