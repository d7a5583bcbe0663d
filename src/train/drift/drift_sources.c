#include "train/drift/drift_sources.h"

#include <string.h>

#include "train/parallel/wrapper.h"
#include "train/update/recipe_fields.h"
#include "train/update/update.h"

const char *const hc_source_names[HC_SOURCE_COUNT] = {
    [HC_SOURCE_WEIGHTS] = "weights",
    [HC_SOURCE_ACTIVATIONS] = "activations",
    [HC_SOURCE_GRADIENTS] = "gradients",
    [HC_SOURCE_WEIGHT_GRADIENTS] = "weight gradients",
    [HC_SOURCE_NORM] = "batch norm",
    [HC_SOURCE_CODES + HC_QUANT_OF_X] = "quantisation of x",
    [HC_SOURCE_CODES + HC_QUANT_OF_W] = "quantisation of w",
    [HC_SOURCE_CODES + HC_QUANT_OF_DY] = "quantisation of dy",
    [HC_SOURCE_ACCUMULATION] = "accumulation",
    [HC_SOURCE_UNIT] = "accumulation: this unit",
    [HC_SOURCE_LOSS] = "loss",
    [HC_SOURCE_RESIDUAL] = "residual stream",
    [HC_SOURCE_OUTPUT] = "o of attention",
    [HC_SOURCE_P] = "P of attention",
    [HC_SOURCE_DS] = "dS of attention",
    [HC_SOURCE_LSE] = "lse of attention",
    [HC_SOURCE_ATTENTION] = "sums of attention",
    [HC_SOURCE_LOGITS] = "logits",
    [HC_SOURCE_ROW_NORM] = "norms",
    [HC_SOURCE_ROTARY] = "rotary positions",
    [HC_SOURCE_GATED] = "gated layers",
    [HC_SOURCE_EMBEDDING] = "embedding gradient",
    [HC_SOURCE_REDUCTION] = "reduction over ranks",
    [HC_SOURCE_OPTIMIZER] = "optimizer",
    [HC_SOURCE_STATE] = "momenta",
    [HC_SOURCE_SQUARES] = "second moments",
    [HC_SOURCE_MASTER] = "master copy",
};

bool hc_source_is_of(int source, bool gpt)
{
    if (source == HC_SOURCE_NORM)
        return !gpt;
    return gpt || (source != HC_SOURCE_SQUARES &&
                   (source < HC_SOURCE_RESIDUAL || source > HC_SOURCE_EMBEDDING));
}

/* A network has one of them; the other is in fp64. */
enum hc_format hc_norm_format(const struct hc_rounding *r, int parameters)
{
    enum hc_format batch = r->format[HC_SOURCE_NORM][parameters];
    return batch != HC_FP64 ? batch : r->format[HC_SOURCE_ROW_NORM][parameters];
}

bool hc_rounds_otherwise(const struct hc_recipe *recipe)
{
    return recipe->stochastic || recipe->kahan;
}

/* In which format gradients are summed that the network stores in `format`, and how. */
static void average_as(const struct hc_recipe *r, const enum hc_format format[2],
                       struct hc_rounding *of)
{
    struct hc_wrapper wrapper = hc_wrapper_of(r);
    for (int norm = 0; norm < 2; norm++) {
        enum hc_format held = hc_wrapper_held(r, format[norm]);
        of->average.held[norm] = held;
        of->format[HC_SOURCE_REDUCTION][norm] =
            hc_wrapper_all_reduce(&wrapper, held, 1, r->sum_loss).sum;
    }
    of->average.wrapper = r->wrapper;
    of->average.algorithm = r->algorithm;
    of->average.reduce = r->reduce;
    of->average.bucket = r->bucket;
    of->average.predivide = r->predivide;
}

static void average_exactly(struct hc_rounding *r)
{
    memset(&r->average, 0, sizeof r->average);
    r->format[HC_SOURCE_REDUCTION][0] = r->format[HC_SOURCE_REDUCTION][1] = HC_FP64;
}

/* The format of a tensor's codes: that of the first product which has any of it; HC_FP64 where none
   has. */
static enum hc_format codes_of(const struct hc_quant_recipe *q, enum hc_quant_role role)
{
    static const struct {
        enum hc_quant_product product;
        bool b;
    } places[][2] = {[HC_QUANT_OF_X] = {{HC_QUANT_Y, false}, {HC_QUANT_DW, true}},
                     [HC_QUANT_OF_W] = {{HC_QUANT_Y, true}, {HC_QUANT_DX, true}},
                     [HC_QUANT_OF_DY] = {{HC_QUANT_DX, false}, {HC_QUANT_DW, false}}};
    for (int i = 0; i < 2; i++) {
        const struct hc_quant_products *p = &q->product[places[role][i].product];
        if (!p->plain)
            return places[role][i].b ? p->b.codes : p->a.codes;
    }
    return HC_FP64;
}

/* Filters are quantised from the masters. Where a row multiplies plainly, they are weights as all
   others; no row does so in one of y and dx alone. */
static void quantise_as(const struct hc_recipe *r, struct hc_rounding *of)
{
    const struct hc_quant_recipe *q = &hc_quant_recipes[r->quant];
    of->coding = (struct hc_coding){r->quant, r->model, r->amax_history, r->plain_ends};
    if (r->quant == HC_BY_NONE)
        return;
    for (int role = 0; role <= HC_QUANT_OF_DY; role++)
        for (int norm = 0; norm < 2; norm++)
            of->format[HC_SOURCE_CODES + role][norm] = codes_of(q, (enum hc_quant_role)role);
    if (!q->product[HC_QUANT_Y].plain && r->masters != HC_MASTERS_NONE)
        of->coding.filter = HC_FP32;
}

/* What a GPT has for itself: what is stored is in the model's format, what is computed in fp32. */
static void round_text(struct hc_rounding *of, int norm)
{
    static const enum hc_source stored[] = {HC_SOURCE_RESIDUAL, HC_SOURCE_OUTPUT, HC_SOURCE_P,
                                            HC_SOURCE_DS, HC_SOURCE_LOGITS};
    static const enum hc_source computed[] = {HC_SOURCE_LSE, HC_SOURCE_ATTENTION, HC_SOURCE_ROTARY,
                                              HC_SOURCE_GATED};
    for (size_t i = 0; i < sizeof stored / sizeof stored[0]; i++)
        of->format[stored[i]][norm] = of->format[HC_SOURCE_ACTIVATIONS][norm];
    for (size_t i = 0; i < sizeof computed / sizeof computed[0]; i++)
        of->format[computed[i]][norm] = of->format[HC_SOURCE_LOSS][norm];
    of->format[HC_SOURCE_EMBEDDING][norm] = of->format[HC_SOURCE_WEIGHT_GRADIENTS][norm];
    of->format[HC_SOURCE_ROW_NORM][norm] = of->format[HC_SOURCE_NORM][norm];
    of->format[HC_SOURCE_SQUARES][norm] = of->format[HC_SOURCE_STATE][norm];
}

/* Roundings are compared byte by byte, so what lies between their members is 0 as well. */
struct hc_rounding hc_rounding_of(const struct hc_recipe *r, bool gpt)
{
    struct hc_rounding of;
    enum hc_format gradient[2];
    memset(&of, 0, sizeof of);
    bool wide = r->model == HC_FP64;
    enum hc_format single = wide ? HC_FP64 : HC_FP32;
    for (int norm = 0; norm < 2; norm++) {
        struct hc_slot_plan plan = hc_slot_plan(r, norm ? HC_ROLE_NORM : HC_ROLE_WEIGHT, 0);
        enum hc_format own = plan.format[HC_STATE_MODEL];
        gradient[norm] = plan.format[HC_STATE_GRADIENT];
        for (int s = HC_SOURCE_WEIGHTS; s <= HC_SOURCE_WEIGHT_GRADIENTS; s++)
            of.format[s][norm] = r->model;
        of.format[HC_SOURCE_NORM][norm] = norm ? own : single;
        of.format[HC_SOURCE_ACCUMULATION][norm] = r->tf32 ? HC_TF32 : single;
        of.format[HC_SOURCE_UNIT][norm] = HC_FP64;
        of.format[HC_SOURCE_LOSS][norm] = single;
        of.format[HC_SOURCE_OPTIMIZER][norm] = plan.arithmetic;
        of.format[HC_SOURCE_STATE][norm] = plan.format[HC_STATE_M];
        of.format[HC_SOURCE_MASTER][norm] = r->masters == HC_MASTERS_NONE ? own : HC_FP32;
        if (hc_rounds_otherwise(r))
            of.format[HC_SOURCE_MASTER][norm] = HC_FP64;
        round_text(&of, norm);
        for (int s = 0; s < HC_SOURCE_COUNT; s++)
            if (!hc_source_is_of(s, gpt))
                of.format[s][norm] = HC_FP64;
        of.unscaled[norm] = plan.format[HC_STATE_MASTER_GRADIENT];
        of.start[norm] = r->masters == HC_MASTERS_FROM_FP32 ? HC_FP32 : own;
    }
    quantise_as(r, &of);
    if (wide)
        average_exactly(&of);
    else
        average_as(r, gradient, &of);
    return of;
}

static bool rounds(const struct hc_rounding *r, int source)
{
    return r->format[source][0] != HC_FP64;
}

/* Products are those of the row as soon as an operand, or the sums, are. */
static void quantise_nothing_more(struct hc_rounding *r)
{
    bool quantised = rounds(r, HC_SOURCE_ACCUMULATION);
    for (int role = 0; role <= HC_QUANT_OF_DY; role++)
        quantised |= rounds(r, HC_SOURCE_CODES + role);
    if (!quantised) {
        r->coding.row = HC_BY_NONE;
        r->coding.history = 0;
    }
    if (!rounds(r, HC_SOURCE_WEIGHTS))
        r->coding.filter = HC_FP64;
}

/* A unit takes numbers that are rounded, and sums them. A GPT multiplies o, too. */
static bool feeds_unit(const struct hc_rounding *r, bool gpt)
{
    for (int s = HC_SOURCE_WEIGHTS; s <= HC_SOURCE_GRADIENTS; s++)
        if (!rounds(r, s))
            return false;
    return rounds(r, HC_SOURCE_ACCUMULATION) && (!gpt || rounds(r, HC_SOURCE_OUTPUT));
}

struct hc_rounding hc_rounding_chosen(const struct hc_recipe *recipe, bool gpt, uint32_t set,
                                      bool unit, bool shards)
{
    struct hc_rounding r = hc_rounding_of(recipe, gpt);
    if (unit)
        r.format[HC_SOURCE_UNIT][0] = r.format[HC_SOURCE_UNIT][1] = recipe->model;
    for (int i = 0; i < HC_SOURCE_COUNT; i++) {
        if (set & UINT32_C(1) << i)
            continue;
        for (int norm = 0; norm < 2; norm++) {
            r.format[i][norm] = HC_FP64;
            if (i == HC_SOURCE_OPTIMIZER)
                r.unscaled[norm] = HC_FP64;
            if (i == HC_SOURCE_MASTER)
                r.start[norm] = HC_FP64;
        }
    }
    if (!shards || !rounds(&r, HC_SOURCE_REDUCTION))
        average_exactly(&r);
    quantise_nothing_more(&r);
    if (!feeds_unit(&r, gpt))
        r.format[HC_SOURCE_UNIT][0] = r.format[HC_SOURCE_UNIT][1] = HC_FP64;
    return r;
}

struct hc_recipe hc_unclipped(const struct hc_recipe *recipe)
{
    struct hc_recipe r = *recipe;
    r.clip = 0;
    r.clip_groups = r.clip_scaled = false;
    return r;
}

struct hc_recipe hc_widened(const struct hc_recipe *recipe)
{
    struct hc_recipe r = hc_unclipped(recipe);
    r.model = r.norm = r.statistics = r.loss = r.gradient = r.state = r.arithmetic = HC_FP64;
    r.masters = HC_MASTERS_NONE;
    r.scaler = (struct hc_scaler){.rule = HC_SCALER_NONE};
    if (recipe->model != HC_FP64) {
        r.wrapper = r.algorithm = r.reduce = r.bucket = 0;
        r.predivide = 0;
    }
    r.norm_rounded = r.tf32 = r.reciprocal = r.flat = r.stochastic = r.kahan = false;
    r.quant = HC_BY_NONE;
    r.amax_history = r.plain_ends = 0;
    r.apart = true;
    if (r.decay == HC_DECAY_SCALED)
        r.decay = HC_DECAY_L2;
    if (r.decay == HC_DECAY_MODEL)
        r.decay = HC_DECAY_DECOUPLED;
    return r;
}

bool hc_same_recipe(const struct hc_recipe *a, const struct hc_recipe *b)
{
    char x[HC_FIELD_TEXT];
    char y[HC_FIELD_TEXT];
    for (int i = 0; i < hc_recipe_fields(); i++) {
        hc_recipe_field_text(a, i, x);
        hc_recipe_field_text(b, i, y);
        if (strcmp(x, y) != 0)
            return false;
    }
    return true;
}
