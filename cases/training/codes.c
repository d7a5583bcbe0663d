/* Trainings below half, call by call: what the trainer hands to quantize, gemm_q and
   delayed_scale is compared with what the recipe's sources say
   (cases/fixture/training/restated.h). The ops may be right and every step within their
   bounds, and the training still another one: with sums that are never promoted, blocks of the
   other factor, or the same random bits for all layers. */
#include <inttypes.h>

#include "cases/fixture/training/restated.h"

enum { BATCH = 4, STEPS = 2, LAYERS = 8, RANDOM = 64, ROLES = 3 };

/* One scale and one amax for each of x, w and dy of a layer, under delayed scaling. */
struct place {
    const void *scale;
    const void *amax;
};

struct watch {
    const struct hc_restated_quant *want;
    const struct hc_restated_layer *layer[LAYERS]; /* the quantised convolutions */
    int layers;
    struct hc_restated net;
    bool trains;
    struct hc_call factor[2]; /* the last two calls of quantize */
    int seen[HC_RESTATED_PRODUCTS];
    int updates, steps;
    struct place place[LAYERS][ROLES];
    struct {
        uint64_t seed;
        int64_t step;
    } random[RANDOM];
    int randoms;
    struct hc_comparisons words, places, bits, numbers;
};

static const char *const product_names[] = {"y", "dx", "dw"};

/* The operands of the three products; those that are transposed tell them apart. */
enum role { OF_X, OF_W, OF_DY };
static const enum role roles[HC_RESTATED_PRODUCTS][2] = {
    {OF_X, OF_W}, {OF_DY, OF_W}, {OF_DY, OF_X}};

static enum hc_restated_product product_of(const struct watch *w)
{
    return w->factor[0].params.quantize.transpose   ? HC_RESTATED_DW
           : w->factor[1].params.quantize.transpose ? HC_RESTATED_DX
                                                    : HC_RESTATED_Y;
}

/* No two roundings of a training have the same random bits. */
static void see_random(struct watch *w, struct hc_check *check, const struct hc_quantize *p)
{
    if (!hc_claim_true(check, "roundings with random bits are few", w->randoms < RANDOM))
        return;
    for (int i = 0; i < w->randoms; i++) {
        w->bits.checked++;
        if (w->random[i].seed == p->seed && w->random[i].step == p->step)
            hc_comparisons_wrong(&w->bits, "rounding %d has the random bits of rounding %d",
                                 w->randoms, i);
    }
    w->random[w->randoms].seed = p->seed;
    w->random[w->randoms++].step = p->step;
}

/* Wherever a tensor is quantised, it has its own scale, and in training its own amax. */
static void see_place(struct watch *w, const struct hc_call *quantize, int layer, enum role role)
{
    struct place *p = &w->place[layer][role];
    const void *scale = quantize->in[HC_QUANTIZE_SCALE].data;
    const void *amax = quantize->out[HC_QUANTIZE_AMAX].data;
    p->scale = p->scale ? p->scale : scale;
    p->amax = p->amax || !w->trains ? p->amax : amax;
    for (int i = 0; i < w->layers * ROLES; i++) {
        const struct place *other = &w->place[i / ROLES][i % ROLES];
        bool own = other == p;
        w->places.checked++;
        if (own != (other->scale == scale))
            hc_comparisons_wrong(&w->places, "layer %d: operand %d has a scale that is %s", layer,
                                 role, own ? "not its own" : "another's");
        else if ((own && w->trains) != (other->amax == amax))
            hc_comparisons_wrong(&w->places, "layer %d: the amax of operand %d goes %s", layer,
                                 role, own ? "elsewhere" : "where another's is, or is noted");
    }
}

static void compare_words(struct watch *w, enum hc_restated_product product, int layer, int factor)
{
    const struct hc_restated_codes *want = &w->want->product[product];
    const char *words = factor == 0 ? want->first : want->second;
    char got[HC_RESTATED_WORDS];
    hc_restated_words(got, &w->factor[factor].out[HC_QUANTIZE_CODES],
                      &w->factor[factor].params.quantize);
    w->words.checked++;
    if (!words || strcmp(words, got) != 0)
        hc_comparisons_wrong(&w->words, "%s of layer %d, factor %d: want %s, got %s",
                             product_names[product], layer, factor + 1, words ? words : "bf16",
                             got);
}

/* Rows of the two factors, and the terms of a sum. */
static bool has_shape(const struct hc_restated_layer *layer, enum hc_restated_product product,
                      const struct hc_call *call)
{
    int64_t pixels = (int64_t)BATCH * layer->side * layer->side;
    int64_t taps = (int64_t)layer->kernel * layer->kernel * layer->channels_in;
    const int64_t want[HC_RESTATED_PRODUCTS][3] = {{pixels, layer->channels, taps},
                                                   {pixels, taps, layer->channels},
                                                   {layer->channels, taps, pixels}};
    return call->in[HC_GEMM_Q_A].shape[0] == want[product][0] &&
           call->in[HC_GEMM_Q_B].shape[0] == want[product][1] &&
           call->in[HC_GEMM_Q_A].shape[1] == want[product][2];
}

static void see_product(struct watch *w, struct hc_check *check, const struct hc_call *call)
{
    enum hc_restated_product product = product_of(w);
    int nth = w->seen[product]++ % w->layers;
    int layer = product == HC_RESTATED_Y ? nth : w->layers - 1 - nth;
    hc_claim_true(check, "products take the codes and scales that quantize left",
                  hc_restated_hands_on(w->factor, call));
    hc_claim_true(check, "products come layer by layer, each along its own terms",
                  has_shape(w->layer[layer], product, call));
    hc_claim_value(check, "terms that a matrix unit sums before it promotes",
                   w->want->product[product].promote, (double)call->params.gemm_q.promote);
    for (int i = 0; i < 2; i++) {
        const struct hc_quantize *p = &w->factor[i].params.quantize;
        enum role role = roles[product][i];
        compare_words(w, product, layer, i);
        if (role == OF_W)
            hc_claim_true(check, "weights are quantised from the fp32 masters",
                          w->factor[i].in[HC_QUANTIZE_X].format == HC_FP32);
        if (w->want->history)
            see_place(w, &w->factor[i], layer, role);
        if (p->random_bits > 0)
            see_random(w, check, p);
    }
}

/* Forward and backward scales, in this order. */
static void see_update(struct watch *w, struct hc_check *check, const struct hc_call *call)
{
    const struct hc_delayed_scale *p = &call->params.delayed_scale;
    bool forward = w->updates++ % 2 == 0;
    hc_claim_true(check, "scales follow the largest amax of their history, by te-delayed's rule",
                  p->rule == HC_DELAYED_TE && !p->most_recent && p->margin == 0);
    hc_claim_true(check, "scales are those of e4m3 forward and of e5m2 backward",
                  p->codes == (forward ? HC_E4M3 : HC_E5M2));
    hc_claim_value(check, "amaxes in a history", w->want->history,
                   (double)call->in[HC_DELAYED_HISTORY].shape[0]);
    hc_claim_value(check, "scales of a pass", forward ? 2 * w->layers : w->layers,
                   (double)call->in[HC_DELAYED_SCALE].shape[0]);
}

static void see_end(struct watch *w, struct hc_check *check)
{
    w->steps++;
    for (int p = HC_RESTATED_DX; p < HC_RESTATED_PRODUCTS; p++)
        hc_claim_value(check, "products of the backward passes so far",
                       w->want->product[p].first ? w->steps * w->layers : 0, w->seen[p]);
    hc_claim_value(check, "products of the forward passes so far", w->steps * w->layers,
                   w->seen[HC_RESTATED_Y]);
    hc_claim_value(check, "updates of scales so far", w->want->history ? 2 * w->steps : 0,
                   w->updates);
}

static bool is_zero(const struct hc_tensor *t)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        if (hc_tensor_get(t, i) != 0)
            return false;
    return true;
}

/* The largest number of a tensor has a code that is not 0. */
static void see_codes(struct watch *w, const struct hc_call *quantize)
{
    w->numbers.checked++;
    if (is_zero(&quantize->out[HC_QUANTIZE_CODES]) && !is_zero(&quantize->in[HC_QUANTIZE_X]))
        hc_comparisons_wrong(&w->numbers, "quantisation %" PRId64 " makes 0 of all",
                             w->numbers.checked);
}

static void see(struct hc_observed *observed, const struct hc_call *there,
                const struct hc_call *copy)
{
    struct watch *w = observed->context;
    switch (there->op) {
    case HC_OP_quantize:
        see_codes(w, copy);
        w->factor[0] = w->factor[1];
        w->factor[1] = *there;
        break;
    case HC_OP_gemm_q:
        see_product(w, observed->check, there);
        break;
    case HC_OP_delayed_scale:
        see_update(w, observed->check, there);
        break;
    case HC_OP_bn_leaky_train:
    case HC_OP_bn_leaky_infer:
        w->trains = there->op == HC_OP_bn_leaky_train;
        break;
    case HC_OP_scaler_update:
        see_end(w, observed->check);
        break;
    default:
        break;
    }
}

static void calls(struct hc_check *check)
{
    struct watch *w = hc_check_memory(check, sizeof *w);
    struct hc_observed observed = {.check = check, .see = see, .context = w, .computes = true};
    struct hc_train_options options = {.epochs = 1, .batch = BATCH};
    struct hc_train_result result;
    observed.reads[HC_OP_quantize] = true;
    *w = (struct watch){.want = hc_restated_quant(hc_check_case(check)->data),
                        .net = hc_restated_small(2, 10)};
    w->words.what = "codes, rules and blocks";
    w->places.what = "scales and amaxes by tensor";
    w->bits.what = "random bits of two roundings";
    w->numbers.what = "operands whose codes are numbers";
    for (int l = 1; l < w->net.layers; l++)
        if (w->net.layer[l].kind == HC_RESTATED_CONV)
            w->layer[w->layers++] = &w->net.layer[l];
    options.recipe = hc_recipe_by_name(w->want->recipe);
    if (!hc_restated_train(&observed, &w->net, STEPS * BATCH, BATCH, &options, &result))
        return;
    hc_claim_value(check, "steps", STEPS, w->steps);
    hc_claim_value(check, "products of an evaluation", w->layers,
                   w->seen[HC_RESTATED_Y] - STEPS * w->layers);
    hc_claim_true(check, "the training has a loss above 0", result.train_loss > 0);
    hc_claim_comparisons(check, &w->numbers);
    hc_claim_comparisons(check, &w->words);
    hc_claim_comparisons(check, &w->places);
    hc_claim_comparisons(check, &w->bits);
}

#define TE "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
#define AO "pytorch/ao 0.18.0 torchao/"
#define ROW(name_, source_)                                                                        \
    {                                                                                              \
        .name = "training/codes-" name_,                                                           \
        .title = "a training under " name_ " quantises and multiplies as its sources say",         \
        .source = (source_), .level = HC_QUICK, .run = calls, .data = (name_)                      \
    }

static const struct hc_case cases[] = {
    ROW("fp8-te-delayed", TE "DelayedScaling"),
    ROW("fp8-te-current", TE "Float8CurrentScaling"),
    ROW("fp8-torchao-tensor", AO "float8/config.py, Float8LinearRecipeName.TENSORWISE"),
    ROW("fp8-torchao-rowwise", AO "float8/config.py, Float8LinearRecipeName.ROWWISE"),
    ROW("fp8-torchao-rowwise-gw-hp",
        AO "float8/config.py, Float8LinearRecipeName.ROWWISE_WITH_GW_HP"),
    ROW("fp8-te-block", TE "Float8BlockScaling"),
    ROW("fp8-deepgemm", "deepseek-ai/DeepGEMM @54e22612; arXiv 2412.19437v2, 3.3"),
    ROW("mxfp8-rp", TE "MXFP8BlockScaling"),
    ROW("mxfp8-floor", AO "prototype/mx_formats/config.py, ScaleCalculationMode.FLOOR"),
    ROW("nvfp4", TE "NVFP4BlockScaling"),
};

HC_CASES(training_codes, cases);
