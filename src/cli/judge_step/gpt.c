/* The claims about the layers of a GPT, which a step file shows inside, too: what attention is
   given and gives, and both sides of a gated layer. */
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

static struct hc_tensor own_weight(struct hc_step *step, int l, int p)
{
    return hc_step_parameter(step, step->plan.layer[l].parameter + p, "weights.");
}

static struct hc_tensor input(struct hc_step *step, int l)
{
    return hc_step_activation(step, step->plan.layer[l].in);
}

/* An output of a call, as it is, in its own formats. */
static void fill(struct hc_step_claim *claim, const struct hc_call *call, int out,
                 struct hc_tensor got)
{
    claim->call = *call;
    claim->out = out;
    claim->got = got;
    claim->call.out[out] = got;
    claim->expected = got.format;
}

/* Judges an output of one of the ops that are defined by a text. */
static struct hc_step_verdict *judge(struct hc_step_session *session, struct hc_step_claim claim,
                                     const struct hc_call *call, int out, struct hc_tensor got)
{
    fill(&claim, call, out, got);
    return session->step->status == HC_OK ? hc_step_judge(session, &claim) : NULL;
}

static struct hc_step_verdict *judge_copy(struct hc_step_session *session,
                                          struct hc_step_claim claim, struct hc_tensor from,
                                          struct hc_tensor got)
{
    struct hc_call call = {.op = HC_OP_cast, .in = {[HC_X] = from}};
    return judge(session, claim, &call, HC_OUT, got);
}

/* What may have been done otherwise, in words. */
struct change {
    const char *words;
    void (*make)(struct hc_call *call);
};

/* As judge; if the output is wrong, the first change that makes it right is named. */
static void judge_among(struct hc_step_session *session, struct hc_step_claim claim,
                        const struct hc_call *call, int out, struct hc_tensor got,
                        const struct change *changes, size_t n)
{
    struct hc_step_verdict *v = judge(session, claim, call, out, got);
    for (size_t i = 0; v && v->judgement == HC_STEP_WRONG && i < n; i++) {
        struct hc_step_claim other = claim;
        struct hc_call changed = *call;
        changes[i].make(&changed);
        fill(&other, &changed, out, got);
        if (!hc_step_fits(session, &other))
            continue;
        (void)snprintf(v->note, sizeof v->note, "%s", changes[i].words);
        return;
    }
}

static void set_real(struct hc_call *call, int option, double value)
{
    memcpy(call->params.later + (size_t)option * sizeof value, &value, sizeof value);
}

/* Bytes to rows of the embedding, and back. */

void hc_step_forward_embed(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    struct hc_call call = {
        .op = HC_OP_embedding,
        .in = {[HC_EMBEDDING_W] = own_weight(step, l, 0), [HC_EMBEDDING_ID] = input(step, l)}};
    (void)judge(session, hc_step_claim(session, forward, "embedding", l), &call, HC_EMBEDDING_Y,
                hc_step_activation(step, l + 1));
}

/* Where head and embedding are one matrix, each has its share of the gradient. */
void hc_step_backward_embed(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    int head = step->plan.layers - 1;
    bool tied = step->plan.layer[head].kind == HC_LAYER_TIED_HEAD;
    struct hc_tensor got = hc_step_parameter(step, step->plan.layer[l].parameter, "gradients.");
    struct hc_tensor share = tied ? hc_step_inside(step, l, "shares.", ".weight", got) : got;
    struct hc_call call = {.op = HC_OP_embedding_backward,
                           .in = {[HC_EMBEDDING_BWD_DY] = hc_step_activation_gradient(step, l + 1),
                                  [HC_EMBEDDING_BWD_ID] = input(step, l)}};
    hc_params_usual(call.op, &call.params);
    (void)judge(session, hc_step_claim(session, backward, "gradient by the bytes", l), &call,
                HC_EMBEDDING_BWD_DW, share);
    struct hc_call add = {
        .op = HC_OP_add,
        .in = {[HC_X] = hc_step_inside(step, head, "shares.", ".weight", got), [HC_Y] = share}};
    if (tied)
        (void)judge(session, hc_step_claim(session, backward, "both shares of it", l), &add, HC_OUT,
                    got);
}

/* Norms. */

static void eps_is_small(struct hc_call *call)
{
    set_real(call, 0, 1e-6);
}

static void eps_is_none(struct hc_call *call)
{
    set_real(call, 0, 0);
}

void hc_step_forward_norm(struct hc_step_session *session, int l)
{
    static const struct change changes[] = {{"its eps is 1e-6, and 1e-5 was due", eps_is_small},
                                            {"its eps is 0, and 1e-5 was due", eps_is_none}};
    struct hc_step *step = session->step;
    struct hc_tensor y = hc_step_activation(step, l + 1);
    struct hc_tensor rows = hc_tensor1(HC_FP32, step->places, NULL);
    struct hc_tensor rstd = hc_step_inside(step, l, "saved.", ".rstd", rows);
    struct hc_call call = {.op = HC_OP_rms_norm_kept,
                           .in = {[HC_RMS_X] = input(step, l), [HC_RMS_W] = own_weight(step, l, 0)},
                           .out = {[HC_RMS_Y] = y, [HC_RMS_RSTD] = rstd}};
    hc_params_usual(call.op, &call.params);
    set_real(&call, 0, HC_NORM_EPS);
    struct hc_step_claim claim = hc_step_claim(session, forward, "1 / root mean square", l);
    judge_among(session, claim, &call, HC_RMS_RSTD, rstd, changes,
                sizeof changes / sizeof changes[0]);
    claim = hc_step_claim(session, forward, "RMS norm", l);
    judge_among(session, claim, &call, HC_RMS_Y, y, changes, sizeof changes / sizeof changes[0]);
}

void hc_step_backward_norm(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    int in = step->plan.layer[l].in;
    int add = hc_step_skip_of(&step->plan, in);
    struct hc_tensor rows = hc_tensor1(HC_FP32, step->places, NULL);
    struct hc_tensor dx = hc_step_activation_gradient(step, in);
    struct hc_tensor dw = hc_step_parameter(step, step->plan.layer[l].parameter, "gradients.");
    struct hc_call call = {
        .op = HC_OP_rms_norm_backward,
        .in = {[HC_RMS_BWD_DY] = hc_step_activation_gradient(step, l + 1),
               [HC_RMS_BWD_X] = input(step, l),
               [HC_RMS_BWD_W] = own_weight(step, l, 0),
               [HC_RMS_BWD_RSTD] = hc_step_inside(step, l, "saved.", ".rstd", rows)},
        .out = {[HC_RMS_BWD_DX] = dx, [HC_RMS_BWD_DW] = dw}};
    hc_params_usual(call.op, &call.params);
    (void)judge(session, hc_step_claim(session, backward, "gradient of the weight", l), &call,
                HC_RMS_BWD_DW, dw);
    struct hc_step_claim claim = hc_step_claim(session, backward, "gradient of the input", l);
    if (add >= 0)
        claim.addend = hc_step_activation_gradient(step, add + 1);
    (void)judge(session, claim, &call, HC_RMS_BWD_DX, dx);
}

/* Matrices. */

/* got = x w' */
static void judge_matrix(struct hc_step_session *session, const char *what, int l,
                         struct hc_tensor w, struct hc_tensor got)
{
    struct hc_tensor x = input(session->step, l);
    struct hc_step_claim claim = hc_step_claim(session, forward, what, l);
    claim.got = got;
    hc_step_judge_product(session, claim, false, x, true, w, hc_step_format(&x, &got));
}

/* dw = dy' x */
static void judge_weight(struct hc_step_session *session, const char *what, int l,
                         struct hc_tensor dy, struct hc_tensor got)
{
    struct hc_step_claim claim = hc_step_claim(session, backward, what, l);
    claim.got = got;
    hc_step_judge_product(session, claim, true, dy, false, input(session->step, l), dy.format);
}

/* dx = dy w, and what comes by a skip is added */
static void judge_input(struct hc_step_session *session, const char *what, int l,
                        struct hc_tensor dy, struct hc_tensor w, struct hc_tensor got)
{
    struct hc_step *step = session->step;
    int add = hc_step_skip_of(&step->plan, step->plan.layer[l].in);
    struct hc_step_claim claim = hc_step_claim(session, backward, what, l);
    claim.got = got;
    if (add >= 0)
        claim.addend = hc_step_activation_gradient(step, add + 1);
    hc_step_judge_product(session, claim, false, dy, false, w, hc_step_format(&dy, &got));
}

static void both_gradients(struct hc_step_session *session, int l, struct hc_tensor w,
                           struct hc_tensor dw)
{
    struct hc_step *step = session->step;
    struct hc_tensor dy = hc_step_activation_gradient(step, l + 1);
    judge_weight(session, "gradient of the weight", l, dy, dw);
    judge_input(session, "gradient of the input", l, dy, w,
                hc_step_activation_gradient(step, step->plan.layer[l].in));
}

void hc_step_forward_matrix(struct hc_step_session *session, int l)
{
    judge_matrix(session, "linear", l, own_weight(session->step, l, 0),
                 hc_step_activation(session->step, l + 1));
}

void hc_step_backward_matrix(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    both_gradients(session, l, own_weight(step, l, 0),
                   hc_step_parameter(step, step->plan.layer[l].parameter, "gradients."));
}

/* The embedding's matrix, which is parameter 0. */
void hc_step_forward_head(struct hc_step_session *session, int l)
{
    judge_matrix(session, "linear", l, hc_step_parameter(session->step, 0, "weights."),
                 hc_step_activation(session->step, l + 1));
}

void hc_step_backward_head(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    struct hc_tensor w = hc_step_parameter(step, 0, "weights.");
    both_gradients(session, l, w, hc_step_inside(step, l, "shares.", ".weight", w));
}

/* Gated layers. */

static struct hc_tensor side(struct hc_step *step, int l, const char *prefix, const char *suffix)
{
    return hc_step_inside(step, l, prefix, suffix, hc_step_shape(step, l + 1));
}

void hc_step_forward_gated(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    struct hc_tensor gate = side(step, l, activations, ".gate");
    struct hc_tensor up = side(step, l, activations, ".up");
    struct hc_call call = {.op = HC_OP_swiglu,
                           .in = {[HC_SWIGLU_GATE] = gate, [HC_SWIGLU_UP] = up}};
    judge_matrix(session, "gate", l, own_weight(step, l, HC_GATED_GATE), gate);
    judge_matrix(session, "up", l, own_weight(step, l, HC_GATED_UP), up);
    (void)judge(session, hc_step_claim(session, forward, "SwiGLU", l), &call, HC_SWIGLU_Y,
                hc_step_activation(step, l + 1));
}

void hc_step_backward_gated(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    int p = step->plan.layer[l].parameter;
    struct hc_tensor dgate = side(step, l, gradients, ".gate");
    struct hc_tensor dup = side(step, l, gradients, ".up");
    struct hc_call call = {.op = HC_OP_swiglu_backward,
                           .in = {[HC_SWIGLU_BWD_GATE] = side(step, l, activations, ".gate"),
                                  [HC_SWIGLU_BWD_UP] = side(step, l, activations, ".up"),
                                  [HC_SWIGLU_BWD_DY] = hc_step_activation_gradient(step, l + 1)},
                           .out = {[HC_SWIGLU_BWD_DGATE] = dgate, [HC_SWIGLU_BWD_DUP] = dup}};
    (void)judge(session, hc_step_claim(session, backward, "gradient of gate", l), &call,
                HC_SWIGLU_BWD_DGATE, dgate);
    (void)judge(session, hc_step_claim(session, backward, "gradient of up", l), &call,
                HC_SWIGLU_BWD_DUP, dup);
    judge_weight(session, "weight of gate", l, dgate,
                 hc_step_parameter(step, p + HC_GATED_GATE, "gradients."));
    judge_weight(session, "weight of up", l, dup,
                 hc_step_parameter(step, p + HC_GATED_UP, "gradients."));
    struct hc_tensor dx = hc_step_activation_gradient(step, step->plan.layer[l].in);
    struct hc_tensor by_gate = hc_step_inside(step, l, "shares.", ".gate", dx);
    struct hc_tensor by_up = hc_step_inside(step, l, "shares.", ".up", dx);
    struct hc_call add = {.op = HC_OP_add, .in = {[HC_X] = by_gate, [HC_Y] = by_up}};
    judge_input(session, "input's by gate", l, dgate, own_weight(step, l, HC_GATED_GATE), by_gate);
    judge_input(session, "input's by up", l, dup, own_weight(step, l, HC_GATED_UP), by_up);
    (void)judge(session, hc_step_claim(session, backward, "gradient of the input", l), &add, HC_OUT,
                dx);
}

/* Attention. */

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
    static const struct change changes[] = {{"it is turned the other way", negate_sines},
                                            {"it is not turned at all", forget_positions}};
    struct tables t = copy_tables(session->step, l, sign);
    struct hc_call call = {
        .op = HC_OP_rotary_halves,
        .in = {[HC_ROTARY_X] = x, [HC_ROTARY_CO] = t.cosines, [HC_ROTARY_SI] = t.sines}};
    judge_among(session, claim, &call, HC_ROTARY_Y, got, changes,
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

static const struct change attention_changes[] = {
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
    judge_among(session, claim, &call, HC_ATTENTION_Y, o, attention_changes, ATTENTION_CHANGES);
    claim = hc_step_claim(session, forward, "log of the sums", l);
    judge_among(session, claim, &call, HC_ATTENTION_LSE, lse, attention_changes, ATTENTION_CHANGES);
    struct hc_tensor parted = part_of(step, y, 0, 1);
    (void)judge_copy(session, hc_step_claim(session, forward, "heads side by side", l), o, parted);
    free(parted.data);
}

void hc_step_forward_attention(struct hc_step_session *session, int l)
{
    static const char *const whats[PARTS] = {"queries, turned", "keys, turned", "values"};
    struct hc_step *step = session->step;
    struct hc_tensor qkv = qkv_of(step, l, activations);
    judge_matrix(session, "queries, keys, values", l, own_weight(step, l, 0), qkv);
    judge_table(session, l, 0);
    judge_table(session, l, 1);
    for (int p = 0; p < PARTS; p++) {
        struct hc_step_claim claim = hc_step_claim(session, forward, whats[p], l);
        struct hc_tensor from = part_of(step, qkv, p, PARTS);
        struct hc_tensor got = hc_step_inside(step, l, activations, part_names[p], by_head(step));
        if (p < PARTS - 1)
            judge_turn(session, claim, l, from, 1, got);
        else
            (void)judge_copy(session, claim, from, got);
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
        judge_among(session, claim, &call, p, call.out[p], attention_changes, ATTENTION_CHANGES);
    }
    free(dy.data);
}

void hc_step_backward_attention(struct hc_step_session *session, int l)
{
    static const char *const whats[PARTS] = {"queries, turned back", "keys, turned back",
                                             "values, as they are"};
    struct hc_step *step = session->step;
    struct hc_tensor dqkv = qkv_of(step, l, gradients);
    backward_heads(session, l);
    for (int p = 0; p < PARTS; p++) {
        struct hc_step_claim claim = hc_step_claim(session, backward, whats[p], l);
        struct hc_tensor from = hc_step_inside(step, l, gradients, part_names[p], by_head(step));
        struct hc_tensor got = part_of(step, dqkv, p, PARTS);
        if (p < PARTS - 1)
            judge_turn(session, claim, l, from, -1, got);
        else
            (void)judge_copy(session, claim, from, got);
        free(got.data);
    }
    judge_weight(session, "gradient of the weight", l, dqkv,
                 hc_step_parameter(step, step->plan.layer[l].parameter, "gradients."));
    judge_input(session, "gradient of the input", l, dqkv, own_weight(step, l, 0),
                hc_step_activation_gradient(step, step->plan.layer[l].in));
}
