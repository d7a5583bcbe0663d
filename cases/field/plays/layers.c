/* Reports on layers, by the library's definitions: what a recurrent state, a router and a cache of
   keys and values come to when something beside the arithmetic is in 16 bits or less.

   In each row both arms compute the whole layer, from inputs that the fixed arm holds exactly. The
   real number and its bound are those of the definition (define/value.h): of all tokens at once for
   a scan, and of the values as they were before they went into a cache. */
#include <math.h>
#include <string.h>

#include "cases/fixture/bug.h"
#include "define/library.h"
#include "define/plain.h"
#include "op/later.h"
#include "op/params.h"

/* A call of a definition. */
struct layer {
    struct hc_definition *definition;
    struct hc_instance instance;
    struct hc_tensor out[HC_MAX_DEFINED_TENSORS];
};

/* Sets an input by its name to the numbers, over and over, in fp32. */
static struct hc_tensor set(struct hc_check *check, struct layer *l, const char *name,
                            struct hc_tensor shape, const double *x, int64_t n)
{
    struct hc_tensor t = hc_check_tensor(check, shape);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, x[i % n]);
    for (int i = 0; i < l->definition->inputs; i++)
        if (strcmp(l->definition->tensor[i].name, name) == 0)
            l->instance.input[i] = t;
    return t;
}

static struct hc_tensor vector(int64_t n)
{
    return (struct hc_tensor){.format = HC_FP32, .rank = 1, .shape = {n}};
}

/* A layer whose memory is the check's, but for its definition. */
static struct layer *begin(struct hc_check *check, const char *name)
{
    struct hc_formula_error error;
    struct layer *l = hc_check_memory(check, sizeof *l);
    l->definition = hc_definition_read(hc_library_find(name), &error);
    if (!l->definition) {
        (void)hc_check_ok(check, hc_fail(HC_INVALID, "%s: %s", name, error.what));
        return NULL;
    }
    l->instance = (struct hc_instance){
        .definition = l->definition, .io = HC_FP32, .freedoms = hc_usual_freedoms};
    return l;
}

static bool bind(struct hc_check *check, struct layer *l)
{
    if (!hc_check_ok(check, hc_instance_bind(&l->instance)))
        return false;
    for (int i = 0; i < l->definition->results; i++)
        if (!l->out[i].data)
            l->out[i] =
                hc_check_tensor(check, hc_instance_tensor(&l->instance, l->definition->result[i]));
    return true;
}

/* An element of the first result. */
static double result(const struct layer *l, int64_t index)
{
    return hc_tensor_get(l->out, index);
}

/* Computes the results, one rounding after the other. */
static bool compute(struct hc_check *check, struct layer *l)
{
    return bind(check, l) && hc_check_ok(check, hc_define_plain(&l->instance, l->out, NULL));
}

/* Adds an element of the first result, with its real number and its bound. */
static void show(struct hc_check *check, struct hc_exhibits *shown, const char *name,
                 struct layer *l, int64_t index, const double arm[2])
{
    struct hc_defined_value value = {.rad = 0};
    if (!bind(check, l))
        return;
    struct hc_evaluator *evaluator = hc_evaluator_new(&l->instance);
    enum hc_status status =
        evaluator ? hc_evaluator_element(evaluator, l->definition->result[0], index, &value)
                  : HC_NO_MEMORY;
    hc_evaluator_free(evaluator);
    if (hc_check_ok(check, status))
        hc_exhibits_add(shown, name, HC_FP32, arm[0], arm[1], value.want.hi, value.rad);
}

/* Recurrent states.

   A scan keeps its state in registers, in fp32. A decoding step cannot: it ends after one token,
   and writes its state to memory. If that has 16 bits, each token rounds the state once more, and a
   channel with a slow decay stops where a token's part is below half an ulp. A gate that goes
   through 16 bits is off by the same factor at each token. */

enum { TOKENS = 1024, CHANNELS = 2 };

static const double decays[] = {0.999, 0.9};

/* The state after all tokens, one call a token. */
static bool decode(struct hc_check *check, enum hc_format stored, double state[CHANNELS])
{
    static const double one = 1;
    struct layer *l = begin(check, "gated_scan");
    bool going = l != NULL;
    if (!going)
        return false;
    (void)set(check, l, "x", hc_tensor2(HC_FP32, 1, CHANNELS, NULL), &one, 1);
    (void)set(check, l, "a", hc_tensor2(HC_FP32, 1, CHANNELS, NULL), decays, CHANNELS);
    struct hc_tensor start = set(check, l, "start", vector(CHANNELS), (double[]){0}, 1);
    for (int t = 0; t < TOKENS && going; t++) {
        going = compute(check, l);
        for (int c = 0; c < CHANNELS && going; c++) {
            state[c] = hc_round(stored, result(l, c));
            hc_tensor_set(&start, c, state[c]);
        }
    }
    hc_definition_free(l->definition);
    return going;
}

static void keeps_state(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double one = 1;
    double state[2][CHANNELS];
    struct layer *l = begin(check, "gated_scan");
    if (!l)
        return;
    (void)set(check, l, "x", hc_tensor2(HC_FP32, TOKENS, CHANNELS, NULL), &one, 1);
    (void)set(check, l, "a", hc_tensor2(HC_FP32, TOKENS, CHANNELS, NULL), decays, CHANNELS);
    (void)set(check, l, "start", vector(CHANNELS), (double[]){0}, 1);
    if (decode(check, HC_BF16, state[0]) && decode(check, HC_FP32, state[1]))
        for (int c = 0; c < CHANNELS; c++)
            show(check, shown, c ? "state, decay 0.9" : "state, decay 0.999", l,
                 (int64_t)(TOKENS - 1) * CHANNELS + c, (double[]){state[0][c], state[1][c]});
    hc_definition_free(l->definition);
}

enum { STEPS = 256 };

/* A selective scan of ones with a step size of 0.001308, and no skip. */
static struct layer *selective(struct hc_check *check, enum hc_format gate)
{
    static const double one = 1;
    double dt = hc_round(gate, hc_round(HC_FP32, 0.001308));
    struct hc_tensor column = hc_tensor2(HC_FP32, STEPS, 1, NULL);
    struct layer *l = begin(check, "ssm_scan");
    if (!l)
        return NULL;
    (void)set(check, l, "x", column, &one, 1);
    (void)set(check, l, "b", column, &one, 1);
    (void)set(check, l, "g", column, &one, 1);
    (void)set(check, l, "dt", column, &dt, 1);
    (void)set(check, l, "a", hc_tensor2(HC_FP32, 1, 1, NULL), (double[]){-1}, 1);
    (void)set(check, l, "skip", vector(1), (double[]){0}, 1);
    return l;
}

static void rounds_gate(struct hc_check *check, struct hc_exhibits *shown)
{
    static const int at[] = {0, STEPS - 1};
    struct layer *arm[] = {selective(check, HC_BF16), selective(check, HC_FP32)};
    if (arm[0] && arm[1] && compute(check, arm[0]) && compute(check, arm[1]))
        for (int i = 0; i < 2; i++)
            show(check, shown, i ? "y of token 256" : "y of token 1", arm[1], at[i],
                 (double[]){result(arm[0], at[i]), result(arm[1], at[i])});
    for (int i = 0; i < 2; i++)
        if (arm[i])
            hc_definition_free(arm[i]->definition);
}

/* Routers.

   A bias an expert moves the choice towards experts that get too few tokens, by 0.001 a step
   (DeepSeek-V3). From 0.5 on that is below half an ulp of bf16, so that an expert which is not
   chosen stays so, however long it waits. */

enum { WAITS = 60, EXPERTS = 4 };

static const double few = 0.001;

/* The weight of the last expert, which nobody chooses at a bias of 0.5. */
static struct layer *route(struct hc_check *check, enum hc_format kept, double *bias)
{
    double biases[EXPERTS] = {0, 0, 0, 0.5};
    struct layer *l = begin(check, "router_sigmoid");
    if (!l)
        return NULL;
    for (int i = 0; i < WAITS; i++)
        biases[EXPERTS - 1] = hc_round(kept, biases[EXPERTS - 1] + hc_round(HC_FP32, few));
    (void)set(check, l, "z", hc_tensor2(HC_FP32, 1, EXPERTS, NULL), (double[]){2, 1.5, 1, -1},
              EXPERTS);
    (void)set(check, l, "bias", vector(EXPERTS), biases, EXPERTS);
    *bias = biases[EXPERTS - 1];
    return l;
}

static void chooses(struct hc_check *check, struct hc_exhibits *shown)
{
    double bias[2];
    struct layer *arm[] = {route(check, HC_BF16, &bias[0]), route(check, HC_FP32, &bias[1])};
    if (arm[0] && arm[1] && compute(check, arm[0]) && compute(check, arm[1])) {
        /* each sum is rounded once, below 1, and so is 0.001 */
        hc_exhibits_add(shown, "bias after 60 steps", HC_FP32, bias[0], bias[1], 0.5 + WAITS * few,
                        WAITS * (0x1p-25 + few * 0x1p-24));
        show(check, shown, "weight of the waiting expert", arm[1], EXPERTS - 1,
             (double[]){result(arm[0], EXPERTS - 1), result(arm[1], EXPERTS - 1)});
    }
    for (int i = 0; i < 2; i++)
        if (arm[i])
            hc_definition_free(arm[i]->definition);
}

/* Caches of keys and values.

   What goes into a cache of 8 or 4 bits is divided by a scale, and what comes out is multiplied by
   it. The scale must be large enough for what will come, and it must be the same on both sides: the
   number that is stored, and not the one from which it was rounded. Attention then averages values
   that are all cut at one height, or all too large. */

enum { KEYS = 4, DEPTH = 4, WIDTH = 32 };

static double code(double x, enum hc_format format, double largest, double encode, double decode)
{
    return decode * hc_round(format, fmax(-largest, fmin(x / encode, largest)));
}

/* Attention of one query over keys of scores 0, 1, 2 and 3, on the backend, with values as the
   cache gives them back. */
static bool attend(struct hc_check *check, const double v[KEYS * WIDTH], struct hc_tensor *y)
{
    struct hc_call call = {.op = HC_OP_attention};
    struct hc_tensor shape = {.format = HC_FP32, .rank = 3, .shape = {1, KEYS, WIDTH}};
    call.in[HC_ATTENTION_V] = hc_check_tensor(check, shape);
    shape.shape[1] = 1;
    call.out[HC_ATTENTION_Y] = hc_check_tensor(check, shape);
    shape.shape[2] = DEPTH;
    call.in[HC_ATTENTION_Q] = hc_check_tensor(check, shape);
    shape.shape[1] = KEYS;
    call.in[HC_ATTENTION_K] = hc_check_tensor(check, shape);
    call.out[HC_ATTENTION_LSE] = hc_check_tensor(check, hc_tensor2(HC_FP32, 1, 1, NULL));
    hc_params_usual(call.op, &call.params);
    (void)hc_param_read(call.op, &call.params, "causal", "false");
    for (int i = 0; i < DEPTH; i++)
        hc_tensor_set(&call.in[HC_ATTENTION_Q], i, 0.5);
    for (int i = 0; i < KEYS * DEPTH; i++) {
        int key = i / DEPTH;
        hc_tensor_set(&call.in[HC_ATTENTION_K], i, key);
    }
    for (int i = 0; i < KEYS * WIDTH; i++)
        hc_tensor_set(&call.in[HC_ATTENTION_V], i, v[i]);
    *y = call.out[HC_ATTENTION_Y];
    return hc_do(check, &call) == HC_OK;
}

/* The first and the last column of y, beside those by the definition from values as they were. */
static void show_cached(struct hc_check *check, struct hc_exhibits *shown,
                        const double cached[2][KEYS * WIDTH], const double v[KEYS * WIDTH])
{
    static const double keys[KEYS * DEPTH] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    static const double half = 0.5;
    static const int at[] = {0, WIDTH - 1};
    struct hc_tensor y[2];
    struct hc_tensor shape = {.format = HC_FP32, .rank = 3, .shape = {1, 1, DEPTH}};
    struct layer *l = begin(check, "attention");
    if (!l)
        return;
    (void)set(check, l, "q", shape, &half, 1);
    shape.shape[1] = KEYS;
    (void)set(check, l, "k", shape, keys, KEYS * DEPTH);
    shape.shape[2] = WIDTH;
    (void)set(check, l, "v", shape, v, KEYS * WIDTH);
    for (int i = 0; i < l->definition->options; i++)
        if (strcmp(l->definition->option[i].name, "causal") == 0)
            l->instance.option[i] = "false";
    if (attend(check, cached[0], &y[0]) && attend(check, cached[1], &y[1]))
        for (int i = 0; i < 2; i++)
            show(check, shown, i ? "y, last column" : "y, first column", l, at[i],
                 (double[]){hc_tensor_get(&y[0], at[i]), hc_tensor_get(&y[1], at[i])});
    hc_definition_free(l->definition);
}

/* e4m3 with a scale of 1/128, for the 3.5 of a warm-up, or 1/16, for the 28 that comes. */
static void warms_up(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double real[] = {28, -14, 7, 0.5};
    double v[KEYS * WIDTH];
    double cached[2][KEYS * WIDTH];
    for (int i = 0; i < KEYS * WIDTH; i++) {
        v[i] = i % WIDTH == 0 ? 28 : real[(i / WIDTH + i) % KEYS];
        cached[0][i] = code(v[i], HC_E4M3, 448, 0x1p-7, 0x1p-7);
        cached[1][i] = code(v[i], HC_E4M3, 448, 0x1p-4, 0x1p-4);
    }
    show_cached(check, shown, cached, v);
}

/* MXFP4: a group of 32 with a largest value of 8, whose scale of 8/6 is stored as 2. */
static void encodes_exactly(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double real[] = {8, 6, 4, 3, 2, 1, -6, -4};
    double v[KEYS * WIDTH];
    double cached[2][KEYS * WIDTH];
    for (int i = 0; i < KEYS * WIDTH; i++) {
        v[i] = i % WIDTH == 0 ? 8 : real[(i / WIDTH + i) % 8];
        cached[0][i] = code(v[i], HC_E2M1, 6, 8.0 / 6, 2);
        cached[1][i] = code(v[i], HC_E2M1, 6, 2, 2);
    }
    show_cached(check, shown, cached, v);
}

static const struct hc_case cases[] = {
    HC_BUG("field/recurrent-state/scan-state-stored-by-token",
           "A layer with a recurrent state forgets: its state stops at a quarter of what it should "
           "be.",
           "ollama/ollama issue 15865, 'mlxrunner: gated_delta_step kernel writes recurrent state "
           "in InT (bf16) instead of StT (fp32)', https://github.com/ollama/ollama/issues/15865; "
           "the layer is definitions/gated_scan.op, and the numbers are of this row",
           .play = keeps_state, .arithmetic_only = true, .buggy = {.is = "0.25 exact, 0.9844"},
           .fixed = {.is = "0.6410, 1.000"},
           .again = "field/recurrent-state/gdn-state-written-in-input-dtype",
           .lesson = "Keep the state in fp32 between tokens: a test of one token, or of a whole "
                     "prompt in one call, does not see it."),
    HC_BUG("field/recurrent-state/scan-step-size-through-bf16",
           "The output of a state space layer is off by the same part at each token.",
           "sgl-project/sglang issue 38975, 'GDN packed decode and KDA replay decode round "
           "sigmoid(beta) through bf16; recurrent-state drift accumulates with context length', "
           "https://github.com/sgl-project/sglang/issues/38975; the layer is "
           "definitions/ssm_scan.op, and the numbers are of this row",
           .play = rounds_gate, .arithmetic_only = true, .buggy = {.is = "0.00130463, 0.284120"},
           .fixed = {.is = "0.00130800, 0.284739"},
           .again = "field/recurrent-state/gdn-beta-roundtrip-bf16",
           .lesson = "Compare a scan with constant gates, too: roundings of random ones average "
                     "out."),
    HC_BUG("field/router/expert-bias-in-bf16",
           "A router never chooses an expert, though its bias is raised at each step.",
           "NVIDIA/Megatron-LM issue 1482, '[BUG] TopKRouter expert_bias get wrong dtype when "
           "updated', https://github.com/NVIDIA/Megatron-LM/issues/1482; the layer is "
           "definitions/router_sigmoid.op, and the numbers are of this row",
           .play = chooses, .arithmetic_only = true, .buggy = {.is = "0.5 exact, 0 exact"},
           .fixed = {.is = "0.5600, 0.58479"},
           .again = "field/lost-updates/moe-expert-bias-cast-bf16",
           .lesson = "Keep biases of experts out of what casts a module to 16 bits."),
    HC_BUG("field/kv-cache/values-above-the-warm-up-scale",
           "Attention over a cache in fp8 averages values that are all cut at one height.",
           "kekzl/imp PR 89, 'fix(kv-cache): FP8 KV scale poisoned by warmup; high-water-mark "
           "calibration', https://github.com/kekzl/imp/pull/89; the layer is "
           "definitions/attention.op, and the numbers are of this row",
           .play = warms_up, .buggy = {.is = "3.5, 1.74564"}, .fixed = {.is = "28, 3.64711"},
           .fault = "attention-last-key",
           .again = "field/delayed-scale/kv-scale-calibrated-on-warmup",
           .lesson = "Keep the largest amax so far, and count what saturates."),
    HC_BUG("field/kv-cache/codes-by-the-exact-scale",
           "Attention over a cache in MXFP4 gives results that are half as large again.",
           "kekzl/imp PR 250, 'fix(mxfp4-kv): quantize with the stored scale', "
           "https://github.com/kekzl/imp/pull/250; the layer is definitions/attention.op, and the "
           "numbers are of this row",
           .play = encodes_exactly, .buggy = {.is = "12.0000, 6.61193"},
           .fixed = {.is = "8.00000, 4.56587"}, .fault = "attention-last-key",
           .again = "field/block-scale/mxfp4-kv-exact-scale-encodes",
           .lesson = "Divide by the scale that is stored: round it first, and then make codes."),
};

HC_CASES(field_plays_layers, cases);
