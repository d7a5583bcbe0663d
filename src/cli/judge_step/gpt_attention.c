/* The claims about a GPT's attention, which a step file shows inside: what it is given and gives,
   and the tables of positions, where there are any. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/judge_step/passes.h"
#include "num/ulp.h"
#include "op/defined.h"
#include "op/params.h"

static const char forward[] = "forward";
static const char backward[] = "backward";
static const char activations[] = "activations.";
static const char gradients[] = "activation_gradients.";

enum { PARTS = 3 };
static const char *const part_names[PARTS] = {".q", ".k", ".v"};

static void set_real(struct hc_call *call, int option, double value)
{
    memcpy(call->params.later + (size_t)option * sizeof value, &value, sizeof value);
}

struct heads {
    int64_t texts, length, heads, d;
};

static struct heads heads_of(const struct hc_step *step)
{
    const struct hc_gpt *gpt = step->plan.network->gpt;
    return (struct heads){step->images, gpt->length, gpt->heads, gpt->width / gpt->heads};
}

/* [texts * heads, length, d], without data. */
static struct hc_tensor by_head(const struct hc_step *step)
{
    struct heads h = heads_of(step);
    return hc_tensor3(HC_FP32, h.texts * h.heads, h.length, h.d, NULL);
}

/* Part `which` of rows of `parts` parts, as attention takes it: bits are copied. The caller frees
   its data, which are NULL where `rows` has none, or where the step's status says no memory. */
static struct hc_tensor part_of(struct hc_step *step, struct hc_tensor rows, int which, int parts)
{
    struct heads h = heads_of(step);
    struct hc_tensor part = by_head(step);
    size_t bytes = (size_t)hc_formats[rows.format].bytes * (size_t)h.d;
    part.format = rows.format;
    part.data = rows.data ? malloc(hc_tensor_bytes(&part) + 1) : NULL;
    if (rows.data && !part.data)
        step->status = hc_fail(HC_NO_MEMORY, "no memory to judge heads of attention");
    for (int64_t n = 0; part.data && n < h.texts; n++)
        for (int64_t head = 0; head < h.heads; head++)
            for (int64_t t = 0; t < h.length; t++) {
                int64_t to = (n * h.heads + head) * h.length + t;
                int64_t from = ((n * h.length + t) * parts + which) * h.heads + head;
                memcpy((unsigned char *)part.data + (size_t)to * bytes,
                       (const unsigned char *)rows.data + (size_t)from * bytes, bytes);
            }
    return part;
}

/* The tables of an attention layer, as the file has them. */
static const char *const table_names[] = {".cos", ".sin"};

static struct hc_tensor table_of(struct hc_step *step, int l, int which)
{
    struct heads h = heads_of(step);
    return hc_step_inside(step, l, "saved.", table_names[which],
                          hc_tensor2(HC_FP32, h.length, h.d, NULL));
}

/* Number i of a position is turned by position / 10000^(2 (i mod d/2) / d). In fp64 the power is
   within an ulp, the quotient within half of one, so that the angle is off by 3 2^-53 of itself,
   and cosine or sine by that and an ulp of its own, 2^-53 at most; then it is rounded once. */
static void judge_table(struct hc_step_session *session, int l, int which)
{
    static const char *const whats[] = {"cosines of positions", "sines of positions"};
    struct hc_tensor t = table_of(session->step, l, which);
    struct heads h = heads_of(session->step);
    struct hc_step_claim claim = hc_step_claim(session, forward, whats[which], l);
    struct hc_step_verdict *v = hc_step_add_verdict(session, claim.stage, claim.what, claim.where);
    if (!v)
        return;
    v->judgement = t.data ? HC_STEP_RIGHT : HC_STEP_NOT_JUDGED;
    v->elements = v->checked = t.data ? hc_tensor_count(&t) : 0;
    v->ratio = -1;
    (void)snprintf(v->note, sizeof v->note, "%s", t.data ? "" : "the file lacks it");
    (void)snprintf(v->format, sizeof v->format, "%s", hc_formats[t.format].name);
    for (int64_t i = 0; i < v->checked; i++) {
        long double power = powl(10000, 2 * (long double)(i % h.d % (h.d / 2)) / (long double)h.d);
        int64_t row = i / h.d;
        long double angle = (long double)row / power;
        double want = (double)(which == 0 ? cosl(angle) : sinl(angle));
        double got = hc_tensor_get(&t, i);
        double error = fabs(got - want);
        double bound = hc_ulp(t.format, want) / 2 + (3 * (double)angle + 2) * 0x1p-53;
        bool wrong = !(error <= bound);
        v->wrong += wrong;
        if (wrong)
            v->judgement = HC_STEP_WRONG;
        if (error / bound <= v->ratio)
            continue;
        v->ratio = error / bound;
        v->index = i;
        v->want = want;
        v->got = got;
        v->error = error;
        v->bound = bound;
        v->ulps = error / hc_ulp(t.format, want);
    }
}

/* Copies of the tables, of whose sines the sign may be the other. The caller frees `memory`, which
   is NULL where the file lacks them, or where the step's status says no memory. */
struct tables {
    struct hc_tensor cosines, sines;
    void *memory;
};

static struct tables copy_tables(struct hc_step *step, int l, int sign)
{
    struct hc_tensor from[] = {table_of(step, l, 0), table_of(step, l, 1)};
    struct tables t = {.cosines = from[0], .sines = from[1]};
    size_t bytes = hc_tensor_bytes(&from[0]);
    if (!from[0].data || !from[1].data || from[1].format != from[0].format) {
        t.sines.data = NULL; /* so that nothing is judged, nor the file's own tables changed */
        return t;
    }
    t.memory = malloc(2 * bytes);
    if (!t.memory)
        step->status = hc_fail(HC_NO_MEMORY, "no memory to judge tables of positions");
    t.cosines.data = t.memory;
    t.sines.data = t.memory ? (unsigned char *)t.memory + bytes : NULL;
    for (int64_t i = 0; t.memory && i < hc_tensor_count(&t.cosines); i++) {
        hc_tensor_set(&t.cosines, i, hc_tensor_get(&from[0], i));
        hc_tensor_set(&t.sines, i, sign * hc_tensor_get(&from[1], i));
    }
    return t;
}

static void negate_sines(struct hc_call *call)
{
    struct hc_tensor *t = &call->in[HC_ROTARY_SI];
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i, -hc_tensor_get(t, i));
}

static void forget_positions(struct hc_call *call)
{
    struct hc_tensor *t = call->in;
    for (int64_t i = 0; i < hc_tensor_count(&t[HC_ROTARY_CO]); i++) {
        hc_tensor_set(&t[HC_ROTARY_CO], i, 1);
        hc_tensor_set(&t[HC_ROTARY_SI], i, 0);
    }
}

/* What positions turn: forward, or back, where the sines are negative. */
static void judge_turn(struct hc_step_session *session, struct hc_step_claim claim, int l,
                       struct hc_tensor x, int sign, struct hc_tensor got)
{
    /* In this order: each works on the tables that the one before has left. */
    static const struct hc_step_change changes[] = {{"it is turned the other way", negate_sines},
                                                    {"it is not turned at all", forget_positions}};
    struct tables t = copy_tables(session->step, l, sign);
    struct hc_call call = {
        .op = HC_OP_rotary_halves,
        .in = {[HC_ROTARY_X] = x, [HC_ROTARY_CO] = t.cosines, [HC_ROTARY_SI] = t.sines}};
    hc_step_judge_among(session, claim, &call, HC_ROTARY_Y, got, changes,
                        sizeof changes / sizeof changes[0]);
    free(t.memory);
}

static void sees_all(struct hc_call *call)
{
    call->params.later[sizeof(double)] = 0;
}

static void scale_is_one(struct hc_call *call)
{
    set_real(call, 0, 1);
}

static void scale_is_of_d(struct hc_call *call)
{
    set_real(call, 0, 1 / (double)call->in[HC_ATTENTION_Q].shape[2]);
}

static const struct hc_step_change attention_changes[] = {
    {"it is not causal: bytes see those that follow them", sees_all},
    {"its scores are not scaled by 1 / sqrt(d)", scale_is_one},
    {"its scores are scaled by 1 / d, and not by 1 / sqrt(d)", scale_is_of_d}};
enum { ATTENTION_CHANGES = sizeof attention_changes / sizeof attention_changes[0] };

static struct hc_tensor lse_of(struct hc_step *step, int l)
{
    struct heads h = heads_of(step);
    return hc_step_inside(step, l, "saved.", ".lse",
                          hc_tensor2(HC_FP32, h.texts * h.heads, h.length, NULL));
}

/* qkv of this prefix: rows of queries, keys and values of all heads. */
static struct hc_tensor qkv_of(struct hc_step *step, int l, const char *prefix)
{
    struct hc_tensor rows = hc_step_shape(step, l + 1);
    rows.shape[1] *= PARTS;
    return hc_step_inside(step, l, prefix, ".qkv", rows);
}

static void forward_heads(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    struct hc_tensor y = hc_step_activation(step, l + 1);
    struct hc_tensor o = hc_step_inside(step, l, activations, ".o", by_head(step));
    struct hc_tensor lse = lse_of(step, l);
    struct hc_call call = {.op = HC_OP_attention,
                           .out = {[HC_ATTENTION_Y] = o, [HC_ATTENTION_LSE] = lse}};
    for (int p = 0; p < PARTS; p++)
        call.in[p] = hc_step_inside(step, l, activations, part_names[p], by_head(step));
    hc_params_usual(call.op, &call.params);
    struct hc_step_claim claim = hc_step_claim(session, forward, "attention", l);
    hc_step_judge_among(session, claim, &call, HC_ATTENTION_Y, o, attention_changes,
                        ATTENTION_CHANGES);
    claim = hc_step_claim(session, forward, "log of the sums", l);
    hc_step_judge_among(session, claim, &call, HC_ATTENTION_LSE, lse, attention_changes,
                        ATTENTION_CHANGES);
    struct hc_tensor parted = part_of(step, y, 0, 1);
    (void)hc_step_judge_copy(session, hc_step_claim(session, forward, "heads side by side", l), o,
                             parted);
    free(parted.data);
}

void hc_step_forward_attention(struct hc_step_session *session, int l)
{
    static const char *const whats[2][PARTS] = {{"queries, turned", "keys, turned", "values"},
                                                {"queries", "keys", "values"}};
    struct hc_step *step = session->step;
    bool turned = !step->plan.network->gpt->like_gpt2;
    struct hc_tensor qkv = qkv_of(step, l, activations);
    hc_step_judge_matrix(session, "queries, keys, values", l, hc_step_own_weight(step, l, 0), qkv);
    for (int which = 0; turned && which < 2; which++)
        judge_table(session, l, which);
    for (int p = 0; p < PARTS; p++) {
        struct hc_step_claim claim = hc_step_claim(session, forward, whats[!turned][p], l);
        struct hc_tensor from = part_of(step, qkv, p, PARTS);
        struct hc_tensor got = hc_step_inside(step, l, activations, part_names[p], by_head(step));
        if (turned && p < PARTS - 1)
            judge_turn(session, claim, l, from, 1, got);
        else
            (void)hc_step_judge_copy(session, claim, from, got);
        free(from.data);
    }
    forward_heads(session, l);
}

static void backward_heads(struct hc_step_session *session, int l)
{
    static const char *const whats[PARTS] = {"gradient of queries", "gradient of keys",
                                             "gradient of values"};
    struct hc_step *step = session->step;
    struct hc_tensor dy = part_of(step, hc_step_activation_gradient(step, l + 1), 0, 1);
    struct hc_call call = {
        .op = HC_OP_attention_backward,
        .in = {[HC_ATTENTION_BWD_O] = hc_step_inside(step, l, activations, ".o", by_head(step)),
               [HC_ATTENTION_BWD_LSE] = lse_of(step, l),
               [HC_ATTENTION_BWD_DY] = dy}};
    hc_params_usual(call.op, &call.params);
    for (int p = 0; p < PARTS; p++) {
        call.in[p] = hc_step_inside(step, l, activations, part_names[p], by_head(step));
        call.out[p] = hc_step_inside(step, l, gradients, part_names[p], by_head(step));
    }
    for (int p = 0; p < PARTS; p++) {
        struct hc_step_claim claim = hc_step_claim(session, backward, whats[p], l);
        hc_step_judge_among(session, claim, &call, p, call.out[p], attention_changes,
                            ATTENTION_CHANGES);
    }
    free(dy.data);
}

void hc_step_backward_attention(struct hc_step_session *session, int l)
{
    static const char *const whats[2][PARTS] = {
        {"queries, turned back", "keys, turned back", "values, as they are"},
        {"queries, as they are", "keys, as they are", "values, as they are"}};
    struct hc_step *step = session->step;
    bool turned = !step->plan.network->gpt->like_gpt2;
    struct hc_tensor dqkv = qkv_of(step, l, gradients);
    backward_heads(session, l);
    for (int p = 0; p < PARTS; p++) {
        struct hc_step_claim claim = hc_step_claim(session, backward, whats[!turned][p], l);
        struct hc_tensor from = hc_step_inside(step, l, gradients, part_names[p], by_head(step));
        struct hc_tensor got = part_of(step, dqkv, p, PARTS);
        if (turned && p < PARTS - 1)
            judge_turn(session, claim, l, from, -1, got);
        else
            (void)hc_step_judge_copy(session, claim, from, got);
        free(got.data);
    }
    hc_step_judge_weight(session, "gradient of the weight", l, dqkv,
                         hc_step_parameter(step, step->plan.layer[l].parameter, "gradients."));
    hc_step_judge_input(session, "gradient of the input", l, dqkv, hc_step_own_weight(step, l, 0),
                        hc_step_activation_gradient(step, step->plan.layer[l].in));
}
