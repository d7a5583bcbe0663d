/* The claims about the layers of a GPT, but for attention; a step file shows these inside, too:
   both sides of a gated layer. */
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

struct hc_tensor hc_step_own_weight(struct hc_step *step, int l, int p)
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
struct hc_step_verdict *hc_step_judge_op(struct hc_step_session *session,
                                         struct hc_step_claim claim, const struct hc_call *call,
                                         int out, struct hc_tensor got)
{
    fill(&claim, call, out, got);
    return session->step->status == HC_OK ? hc_step_judge(session, &claim) : NULL;
}

struct hc_step_verdict *hc_step_judge_copy(struct hc_step_session *session,
                                           struct hc_step_claim claim, struct hc_tensor from,
                                           struct hc_tensor got)
{
    struct hc_call call = {.op = HC_OP_cast, .in = {[HC_X] = from}};
    return hc_step_judge_op(session, claim, &call, HC_OUT, got);
}

/* As judge; if the output is wrong, the first change that makes it right is named. */
void hc_step_judge_among(struct hc_step_session *session, struct hc_step_claim claim,
                         const struct hc_call *call, int out, struct hc_tensor got,
                         const struct hc_step_change *changes, size_t n)
{
    struct hc_step_verdict *v = hc_step_judge_op(session, claim, call, out, got);
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
        .in = {
            [HC_EMBEDDING_W] = hc_step_own_weight(step, l, 0), [HC_EMBEDDING_ID] = input(step, l)}};
    (void)hc_step_judge_op(session, hc_step_claim(session, forward, "embedding", l), &call,
                           HC_EMBEDDING_Y, hc_step_activation(step, l + 1));
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
    (void)hc_step_judge_op(session, hc_step_claim(session, backward, "gradient by the bytes", l),
                           &call, HC_EMBEDDING_BWD_DW, share);
    struct hc_call add = {
        .op = HC_OP_add,
        .in = {[HC_X] = hc_step_inside(step, head, "shares.", ".weight", got), [HC_Y] = share}};
    if (tied)
        (void)hc_step_judge_op(session, hc_step_claim(session, backward, "both shares of it", l),
                               &add, HC_OUT, got);
}

/* The place of each byte within its text. The caller frees them; NULL where there is no memory. */
static int32_t *places_of(struct hc_step *step)
{
    int32_t *place = malloc((size_t)step->places * sizeof *place + 1);
    if (!place)
        step->status = hc_fail(HC_NO_MEMORY, "no memory to judge rows of places");
    for (int64_t i = 0; place && i < step->places; i++)
        place[i] = (int32_t)(i % step->plan.network->gpt->length);
    return place;
}

/* The sum of a value and the row of its place. Rows are copied, in their own format. */
void hc_step_forward_place(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    struct hc_tensor w = hc_step_own_weight(step, l, 0);
    struct hc_tensor rows = hc_step_shape(step, l + 1);
    int64_t length = step->plan.network->gpt->length;
    rows.format = w.format;
    size_t text = w.data ? hc_tensor_bytes(&w) : 0;
    rows.data = w.data ? malloc(hc_tensor_bytes(&rows) + 1) : NULL;
    if (w.data && !rows.data)
        step->status = hc_fail(HC_NO_MEMORY, "no memory to judge rows of places");
    for (int64_t n = 0; rows.data && n < step->places / length; n++)
        memcpy((unsigned char *)rows.data + (size_t)n * text, w.data, text);
    struct hc_call call = {.op = HC_OP_add, .in = {[HC_X] = input(step, l), [HC_Y] = rows}};
    (void)hc_step_judge_op(session, hc_step_claim(session, forward, "sum with the place", l), &call,
                           HC_OUT, hc_step_activation(step, l + 1));
    free(rows.data);
}

void hc_step_backward_place(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    struct hc_tensor dw = hc_step_parameter(step, step->plan.layer[l].parameter, "gradients.");
    struct hc_tensor dy = hc_step_activation_gradient(step, l + 1);
    int32_t *place = places_of(step);
    struct hc_call call = {.op = HC_OP_embedding_backward,
                           .in = {[HC_EMBEDDING_BWD_DY] = dy,
                                  [HC_EMBEDDING_BWD_ID] = hc_tensor1(HC_I32, step->places, place)}};
    hc_params_usual(call.op, &call.params);
    (void)hc_step_judge_op(session, hc_step_claim(session, backward, "gradient by the places", l),
                           &call, HC_EMBEDDING_BWD_DW, dw);
    free(place);
    hc_step_judge_copy(session, hc_step_claim(session, backward, "gradient of the input", l), dy,
                       hc_step_activation_gradient(step, step->plan.layer[l].in));
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

static const struct hc_step_change eps_changes[] = {
    {"its eps is 1e-6, and 1e-5 was due", eps_is_small},
    {"its eps is 0, and 1e-5 was due", eps_is_none}};
enum { EPS_CHANGES = sizeof eps_changes / sizeof eps_changes[0] };

void hc_step_forward_norm(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    struct hc_tensor y = hc_step_activation(step, l + 1);
    struct hc_tensor rows = hc_tensor1(HC_FP32, step->places, NULL);
    struct hc_tensor rstd = hc_step_inside(step, l, "saved.", ".rstd", rows);
    struct hc_call call = {
        .op = HC_OP_rms_norm_kept,
        .in = {[HC_RMS_X] = input(step, l), [HC_RMS_W] = hc_step_own_weight(step, l, 0)},
        .out = {[HC_RMS_Y] = y, [HC_RMS_RSTD] = rstd}};
    hc_params_usual(call.op, &call.params);
    set_real(&call, 0, HC_NORM_EPS);
    struct hc_step_claim claim = hc_step_claim(session, forward, "1 / root mean square", l);
    hc_step_judge_among(session, claim, &call, HC_RMS_RSTD, rstd, eps_changes, EPS_CHANGES);
    claim = hc_step_claim(session, forward, "RMS norm", l);
    hc_step_judge_among(session, claim, &call, HC_RMS_Y, y, eps_changes, EPS_CHANGES);
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
               [HC_RMS_BWD_W] = hc_step_own_weight(step, l, 0),
               [HC_RMS_BWD_RSTD] = hc_step_inside(step, l, "saved.", ".rstd", rows)},
        .out = {[HC_RMS_BWD_DX] = dx, [HC_RMS_BWD_DW] = dw}};
    hc_params_usual(call.op, &call.params);
    (void)hc_step_judge_op(session, hc_step_claim(session, backward, "gradient of the weight", l),
                           &call, HC_RMS_BWD_DW, dw);
    struct hc_step_claim claim = hc_step_claim(session, backward, "gradient of the input", l);
    if (add >= 0)
        claim.addend = hc_step_activation_gradient(step, add + 1);
    (void)hc_step_judge_op(session, claim, &call, HC_RMS_BWD_DX, dx);
}

static struct hc_tensor kept_of(struct hc_step *step, int l, const char *suffix)
{
    return hc_step_inside(step, l, "saved.", suffix, hc_tensor1(HC_FP32, step->places, NULL));
}

void hc_step_forward_centred(struct hc_step_session *session, int l)
{
    static const char *const whats[] = {
        [HC_LN_Y] = "layer norm", [HC_LN_MU] = "mean", [HC_LN_RSTD] = "1 / deviation"};
    static const int order[] = {HC_LN_MU, HC_LN_RSTD, HC_LN_Y};
    struct hc_step *step = session->step;
    struct hc_call call = {.op = HC_OP_layer_norm_kept,
                           .in = {[HC_LN_X] = input(step, l),
                                  [HC_LN_W] = hc_step_own_weight(step, l, HC_CENTRED_WEIGHT),
                                  [HC_LN_B] = hc_step_own_weight(step, l, HC_CENTRED_BIAS)},
                           .out = {[HC_LN_Y] = hc_step_activation(step, l + 1),
                                   [HC_LN_MU] = kept_of(step, l, ".mean"),
                                   [HC_LN_RSTD] = kept_of(step, l, ".rstd")}};
    hc_params_usual(call.op, &call.params);
    set_real(&call, 0, HC_NORM_EPS);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        struct hc_step_claim claim = hc_step_claim(session, forward, whats[order[i]], l);
        hc_step_judge_among(session, claim, &call, order[i], call.out[order[i]], eps_changes,
                            EPS_CHANGES);
    }
}

void hc_step_backward_centred(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    int in = step->plan.layer[l].in;
    int p = step->plan.layer[l].parameter;
    int add = hc_step_skip_of(&step->plan, in);
    struct hc_call call = {
        .op = HC_OP_layer_norm_backward,
        .in = {[HC_LN_BWD_DY] = hc_step_activation_gradient(step, l + 1),
               [HC_LN_BWD_X] = input(step, l),
               [HC_LN_BWD_W] = hc_step_own_weight(step, l, HC_CENTRED_WEIGHT),
               [HC_LN_BWD_MU] = kept_of(step, l, ".mean"),
               [HC_LN_BWD_RSTD] = kept_of(step, l, ".rstd")},
        .out = {[HC_LN_BWD_DX] = hc_step_activation_gradient(step, in),
                [HC_LN_BWD_DW] = hc_step_parameter(step, p + HC_CENTRED_WEIGHT, "gradients."),
                [HC_LN_BWD_DB] = hc_step_parameter(step, p + HC_CENTRED_BIAS, "gradients.")}};
    hc_params_usual(call.op, &call.params);
    (void)hc_step_judge_op(session, hc_step_claim(session, backward, "gradient of the weight", l),
                           &call, HC_LN_BWD_DW, call.out[HC_LN_BWD_DW]);
    (void)hc_step_judge_op(session, hc_step_claim(session, backward, "gradient of the bias", l),
                           &call, HC_LN_BWD_DB, call.out[HC_LN_BWD_DB]);
    struct hc_step_claim claim = hc_step_claim(session, backward, "gradient of the input", l);
    if (add >= 0)
        claim.addend = hc_step_activation_gradient(step, add + 1);
    (void)hc_step_judge_op(session, claim, &call, HC_LN_BWD_DX, call.out[HC_LN_BWD_DX]);
}

/* Matrices. */

/* got = x w' */
void hc_step_judge_matrix(struct hc_step_session *session, const char *what, int l,
                          struct hc_tensor w, struct hc_tensor got)
{
    struct hc_tensor x = input(session->step, l);
    struct hc_step_claim claim = hc_step_claim(session, forward, what, l);
    claim.got = got;
    hc_step_judge_product(session, claim, false, x, true, w, hc_step_format(&x, &got));
}

/* dw = dy' x */
void hc_step_judge_weight(struct hc_step_session *session, const char *what, int l,
                          struct hc_tensor dy, struct hc_tensor got)
{
    struct hc_step_claim claim = hc_step_claim(session, backward, what, l);
    claim.got = got;
    hc_step_judge_product(session, claim, true, dy, false, input(session->step, l), dy.format);
}

/* dx = dy w, and what comes by a skip is added */
void hc_step_judge_input(struct hc_step_session *session, const char *what, int l,
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
    hc_step_judge_weight(session, "gradient of the weight", l, dy, dw);
    hc_step_judge_input(session, "gradient of the input", l, dy, w,
                        hc_step_activation_gradient(step, step->plan.layer[l].in));
}

void hc_step_forward_matrix(struct hc_step_session *session, int l)
{
    hc_step_judge_matrix(session, "linear", l, hc_step_own_weight(session->step, l, 0),
                         hc_step_activation(session->step, l + 1));
}

void hc_step_backward_matrix(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    both_gradients(session, l, hc_step_own_weight(step, l, 0),
                   hc_step_parameter(step, step->plan.layer[l].parameter, "gradients."));
}

/* The embedding's matrix, which is parameter 0. */
void hc_step_forward_head(struct hc_step_session *session, int l)
{
    hc_step_judge_matrix(session, "linear", l, hc_step_parameter(session->step, 0, "weights."),
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
    hc_step_judge_matrix(session, "gate", l, hc_step_own_weight(step, l, HC_GATED_GATE), gate);
    hc_step_judge_matrix(session, "up", l, hc_step_own_weight(step, l, HC_GATED_UP), up);
    (void)hc_step_judge_op(session, hc_step_claim(session, forward, "SwiGLU", l), &call,
                           HC_SWIGLU_Y, hc_step_activation(step, l + 1));
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
    (void)hc_step_judge_op(session, hc_step_claim(session, backward, "gradient of gate", l), &call,
                           HC_SWIGLU_BWD_DGATE, dgate);
    (void)hc_step_judge_op(session, hc_step_claim(session, backward, "gradient of up", l), &call,
                           HC_SWIGLU_BWD_DUP, dup);
    hc_step_judge_weight(session, "weight of gate", l, dgate,
                         hc_step_parameter(step, p + HC_GATED_GATE, "gradients."));
    hc_step_judge_weight(session, "weight of up", l, dup,
                         hc_step_parameter(step, p + HC_GATED_UP, "gradients."));
    struct hc_tensor dx = hc_step_activation_gradient(step, step->plan.layer[l].in);
    struct hc_tensor by_gate = hc_step_inside(step, l, "shares.", ".gate", dx);
    struct hc_tensor by_up = hc_step_inside(step, l, "shares.", ".up", dx);
    struct hc_call add = {.op = HC_OP_add, .in = {[HC_X] = by_gate, [HC_Y] = by_up}};
    hc_step_judge_input(session, "input's by gate", l, dgate,
                        hc_step_own_weight(step, l, HC_GATED_GATE), by_gate);
    hc_step_judge_input(session, "input's by up", l, dup, hc_step_own_weight(step, l, HC_GATED_UP),
                        by_up);
    (void)hc_step_judge_op(session, hc_step_claim(session, backward, "gradient of the input", l),
                           &add, HC_OUT, dx);
}

/* A matrix and gelu. */

static void by_erf(struct hc_call *call)
{
    call->op = call->op == HC_OP_gelu_tanh ? HC_OP_gelu : HC_OP_gelu_backward;
}

static const struct hc_step_change by_erf_change = {
    "it is gelu by the error function, and not by a hyperbolic tangent", by_erf};

/* All elements in a row. */
static struct hc_tensor flat(struct hc_tensor t)
{
    return hc_tensor1(t.format, hc_tensor_count(&t), t.data);
}

void hc_step_forward_gelu(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    struct hc_tensor up = side(step, l, activations, ".up");
    struct hc_call call = {.op = HC_OP_gelu_tanh, .in = {[HC_GELU_X] = flat(up)}};
    hc_step_judge_matrix(session, "up", l, hc_step_own_weight(step, l, 0), up);
    hc_step_judge_among(session, hc_step_claim(session, forward, "gelu", l), &call, HC_GELU_Y,
                        flat(hc_step_activation(step, l + 1)), &by_erf_change, 1);
}

void hc_step_backward_gelu(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    struct hc_tensor dup = side(step, l, gradients, ".up");
    struct hc_tensor dy = hc_step_activation_gradient(step, l + 1);
    struct hc_call call = {.op = HC_OP_gelu_tanh_backward,
                           .in = {[HC_GELU_BWD_DY] = flat(dy),
                                  [HC_GELU_BWD_X] = flat(side(step, l, activations, ".up"))}};
    hc_step_judge_among(session, hc_step_claim(session, backward, "gradient of up", l), &call,
                        HC_GELU_BWD_DX, flat(dup), &by_erf_change, 1);
    hc_step_judge_weight(session, "gradient of the weight", l, dup,
                         hc_step_parameter(step, step->plan.layer[l].parameter, "gradients."));
    hc_step_judge_input(session, "gradient of the input", l, dup, hc_step_own_weight(step, l, 0),
                        hc_step_activation_gradient(step, step->plan.layer[l].in));
}
