/* A GPT's calls with roundings put in: what each takes, does and gives. Every number is rounded
   where it is made, since each of these has one place, and only what is new is: axes are swapped
   and tables copied as they are.

   A value that a kernel makes in fp32 and stores in 16 bits is rounded twice here, into fp32 by the
   kernel and into its format afterwards, as it is there. Sums of two numbers, which a kernel rounds
   first into fp32, are in fp64 here: of numbers of p bits both ways give the same where the wider
   format has at least 2 p + 2 bits (Figueroa 1995), as fp32 has beside bf16 and fp16. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"
#include "op/attention.h"
#include "op/params.h"
#include "train/drift/drift_rounding.h"

/* In place of a source: a value's, by the pass and the layer that it is in. */
enum { OF_PLACE = HC_SOURCE_COUNT, OF_NOTHING };

/* The source of an op's arithmetic, which is in fp32, and those of its results. */
static const struct row {
    enum hc_op op;
    int arithmetic;
    int result[3];
} rows[] = {
    {HC_OP_embedding, OF_NOTHING, {HC_SOURCE_RESIDUAL}},
    {HC_OP_add, OF_NOTHING, {OF_PLACE}},
    {HC_OP_gemm, HC_SOURCE_ACCUMULATION, {OF_PLACE}},
    {HC_OP_gemm_q, HC_SOURCE_ACCUMULATION, {OF_PLACE}},
    {HC_OP_rms_norm_kept, HC_SOURCE_ROW_NORM, {OF_PLACE, HC_SOURCE_ROW_NORM}},
    {HC_OP_rms_norm_backward, HC_SOURCE_ROW_NORM, {OF_PLACE, OF_NOTHING}},
    {HC_OP_layer_norm_kept, HC_SOURCE_ROW_NORM, {OF_PLACE, HC_SOURCE_ROW_NORM, HC_SOURCE_ROW_NORM}},
    {HC_OP_layer_norm_backward, HC_SOURCE_ROW_NORM, {OF_PLACE, OF_NOTHING, OF_NOTHING}},
    {HC_OP_rotary_halves, HC_SOURCE_ROTARY, {OF_PLACE}},
    {HC_OP_swiglu, HC_SOURCE_GATED, {OF_PLACE}},
    {HC_OP_swiglu_backward, HC_SOURCE_GATED, {OF_PLACE, OF_PLACE}},
    {HC_OP_gelu_tanh, HC_SOURCE_GATED, {OF_PLACE}},
    {HC_OP_gelu_tanh_backward, HC_SOURCE_GATED, {OF_PLACE}},
    {HC_OP_attention, HC_SOURCE_ATTENTION, {HC_SOURCE_OUTPUT, HC_SOURCE_LSE}},
    {HC_OP_attention_backward, HC_SOURCE_ATTENTION, {OF_PLACE, OF_PLACE, OF_PLACE}},
    {HC_OP_xent, HC_SOURCE_LOSS, {OF_NOTHING, OF_NOTHING}},
    {HC_OP_xent_bwd, HC_SOURCE_LOSS, {OF_PLACE}},
    {HC_OP_embedding_backward, HC_SOURCE_EMBEDDING, {HC_SOURCE_EMBEDDING}},
};

/* Any other op copies. */
static const struct row *row_of(enum hc_op op)
{
    static const struct row copies = {.arithmetic = OF_NOTHING,
                                      .result = {OF_NOTHING, OF_NOTHING, OF_NOTHING}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == op)
            return &rows[i];
    return &copies;
}

/* Gradients of weights are rounded when all of their sums are there, but for the head's share of
   the embedding's, to which the other one is added. */
static int source_of_gradient(const struct hc_rounder *r, enum hc_op op, const void *data)
{
    for (int p = 0; p < hc_update_parameters(r->update); p++)
        if (hc_update_tensor(r->update, HC_STATE_GRADIENT, p).data == data)
            return p == HC_GPT_EMBEDDING && op != HC_OP_add ? HC_SOURCE_EMBEDDING : OF_NOTHING;
    return HC_SOURCE_GRADIENTS;
}

/* What lies inside of a layer is no value of the net. */
static int source_of_value(const struct hc_rounder *r, const void *data)
{
    const struct hc_plan *plan = hc_net_plan(r->net);
    for (int l = 0; l < plan->layers; l++) {
        enum hc_layer_kind kind = plan->layer[l].kind;
        if (hc_net_value(r->net, l + 1).data != data)
            continue;
        return kind == HC_LAYER_ADD || kind == HC_LAYER_PLACE        ? HC_SOURCE_RESIDUAL
               : kind == HC_LAYER_HEAD || kind == HC_LAYER_TIED_HEAD ? HC_SOURCE_LOGITS
                                                                     : HC_SOURCE_ACTIVATIONS;
    }
    return HC_SOURCE_ACTIVATIONS;
}

enum hc_status hc_rounder_finish_gpt(struct hc_rounder *r, const struct hc_call *call)
{
    const struct row *row = row_of(call->op);
    enum hc_status status = HC_OK;
    for (int i = 0; i < hc_ops[call->op].outputs && status == HC_OK; i++) {
        const struct hc_tensor *t = &call->out[i];
        int source = row->result[i];
        if (!t->data || t->format != HC_FP64)
            continue;
        if (source == OF_PLACE)
            source = r->backward ? source_of_gradient(r, call->op, t->data)
                                 : source_of_value(r, t->data);
        if (source != OF_NOTHING)
            status = hc_rounded(r, r->rounding.format[source][0], t->data, hc_tensor_count(t));
    }
    return status;
}

/* Attention. */

/* Whether the backend's kernels store weights in the format before products: on the same numbers,
   in that format and in fp32, results in fp32 are different then. */

enum { PROBE_ROWS = 8, PROBE_DEPTH = 8, PROBE = PROBE_ROWS * PROBE_DEPTH };

/* A call of attention over one head, into `results`; forward it also gives what the gradient takes.
 */
static enum hc_status probe(struct hc_rounder *r, bool back, enum hc_format format, float *results)
{
    float number[4][PROBE];
    float narrow[4][PROBE];
    float lse[PROBE_ROWS] = {0};
    struct hc_call call = {.op = back ? HC_OP_attention_backward : HC_OP_attention};
    enum hc_status status = HC_OK;
    hc_params_usual(call.op, &call.params);
    for (int i = 0; i < 4 && status == HC_OK; i++) {
        int slot = i < 3 ? i : HC_ATTENTION_BWD_O;
        for (int k = 0; k < PROBE; k++)
            number[i][k] = (float)(hc_splitmix((uint64_t)i, (uint64_t)k) % 256) / 128 - 1;
        call.in[slot] = hc_tensor3(format, 1, PROBE_ROWS, PROBE_DEPTH, narrow[i]);
        status = hc_device_cast(
            r->device, hc_tensor3(HC_FP32, 1, PROBE_ROWS, PROBE_DEPTH, number[i]), call.in[slot]);
    }
    call.in[HC_ATTENTION_BWD_DY] = call.in[HC_ATTENTION_Q];
    call.in[HC_ATTENTION_BWD_LSE] = hc_tensor2(HC_FP32, 1, PROBE_ROWS, lse);
    for (int i = 0; i < 3; i++)
        call.out[i] =
            hc_tensor3(HC_FP32, 1, PROBE_ROWS, PROBE_DEPTH, results + (ptrdiff_t)i * PROBE);
    if (!back)
        call.out[HC_ATTENTION_LSE] = hc_tensor2(HC_FP32, 1, PROBE_ROWS, lse);
    return status == HC_OK ? hc_device_run(r->device, &call) : status;
}

static enum hc_status look_at_attention(struct hc_rounder *r, enum hc_format format)
{
    enum hc_status status = HC_OK;
    if (r->attention == format)
        return HC_OK;
    for (int back = 0; back < 2 && status == HC_OK; back++) {
        float narrow[3 * PROBE] = {0};
        float single[3 * PROBE] = {0};
        status = probe(r, back, format, narrow);
        if (status == HC_OK)
            status = probe(r, back, HC_FP32, single);
        r->stores[back] = memcmp(narrow, single, sizeof narrow) != 0;
    }
    r->attention = status == HC_OK ? format : HC_FP64;
    return status;
}

/* In fp64, as definitions/attention.op and attention_backward.op say it, rounding what they store:
   weights into P's format, and gradients of scores into that of dS. */
struct stored {
    struct hc_rounder *r;
    struct hc_attention a;
    const double *q, *k, *v, *o, *lse, *dy;
    enum hc_format p, ds;
};

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* to [n] += the sum of w[u] times row u. */
static void add_rows(double *to, int64_t n, const double *w, const double *row, int64_t first,
                     int64_t past)
{
    for (int64_t u = first; u < past; u++)
        for (int64_t i = 0; i < n; i++)
            to[i] += w[u] * row[u * n + i];
}

static enum hc_status store_forward(const struct stored *s, const struct hc_call *call, double *w)
{
    const struct hc_attention *a = &s->a;
    double *y = call->out[HC_ATTENTION_Y].data;
    double *lse = call->out[HC_ATTENTION_LSE].data;
    enum hc_status status = HC_OK;
    for (int64_t row = 0; row < a->heads * a->rows && status == HC_OK; row++) {
        int64_t first = hc_attention_first(a, row % a->rows);
        int64_t past = hc_attention_past(a, row % a->rows);
        int64_t keys = row / a->rows * a->keys;
        double most = -(double)INFINITY;
        double sum = 0;
        for (int64_t u = first; u < past; u++) {
            w[u] = a->scale * dot(s->q + row * a->depth, s->k + (keys + u) * a->depth, a->depth);
            most = fmax(most, w[u]);
        }
        for (int64_t u = first; u < past; u++)
            sum += w[u] = exp(w[u] - most);
        status = hc_rounded(s->r, s->p, w + first, past - first);
        memset(y + row * a->width, 0, (size_t)a->width * sizeof *y);
        add_rows(y + row * a->width, a->width, w, s->v + keys * a->width, first, past);
        for (int64_t e = 0; e < a->width && past > first; e++)
            y[row * a->width + e] /= sum;
        lse[row] = most + log(sum);
    }
    return status;
}

/* w: weights of a row, and behind them gradients of its scores. */
static enum hc_status store_backward(const struct stored *s, const struct hc_call *call, double *w)
{
    const struct hc_attention *a = &s->a;
    double *out[3];
    double *ds = w + a->keys;
    enum hc_status status = HC_OK;
    for (int i = 0; i < 3; i++) {
        out[i] = call->out[i].data;
        memset(out[i], 0, hc_tensor_bytes(&call->out[i]));
    }
    for (int64_t row = 0; row < a->heads * a->rows && status == HC_OK; row++) {
        int64_t first = hc_attention_first(a, row % a->rows);
        int64_t past = hc_attention_past(a, row % a->rows);
        int64_t keys = row / a->rows * a->keys;
        const double *q = s->q + row * a->depth;
        const double *dy = s->dy + row * a->width;
        double along = dot(dy, s->o + row * a->width, a->width);
        for (int64_t u = first; u < past; u++) {
            w[u] = exp(a->scale * dot(q, s->k + (keys + u) * a->depth, a->depth) - s->lse[row]);
            ds[u] = w[u] * (dot(dy, s->v + (keys + u) * a->width, a->width) - along);
        }
        status = hc_rounded(s->r, s->p, w + first, past - first);
        if (status == HC_OK)
            status = hc_rounded(s->r, s->ds, ds + first, past - first);
        for (int64_t u = first; u < past; u++)
            ds[u] *= a->scale;
        add_rows(out[HC_ATTENTION_BWD_DQ] + row * a->depth, a->depth, ds, s->k + keys * a->depth,
                 first, past);
        for (int64_t u = first; u < past; u++) {
            add_rows(out[HC_ATTENTION_BWD_DK] + (keys + u) * a->depth, a->depth, ds + u, q, 0, 1);
            add_rows(out[HC_ATTENTION_BWD_DV] + (keys + u) * a->width, a->width, w + u, dy, 0, 1);
        }
    }
    return status;
}

static enum hc_status store_in_fp64(struct hc_rounder *r, const struct hc_call *call,
                                    enum hc_format p, enum hc_format ds)
{
    struct stored s = {.r = r,
                       .a = hc_attention_of(call),
                       .q = call->in[HC_ATTENTION_Q].data,
                       .k = call->in[HC_ATTENTION_K].data,
                       .v = call->in[HC_ATTENTION_V].data,
                       .p = p,
                       .ds = ds};
    bool back = call->op == HC_OP_attention_backward;
    s.o = back ? call->in[HC_ATTENTION_BWD_O].data : NULL;
    s.lse = back ? call->in[HC_ATTENTION_BWD_LSE].data : NULL;
    s.dy = back ? call->in[HC_ATTENTION_BWD_DY].data : NULL;
    double *w = hc_rounder_buffer(r, HC_ROUNDER_SPLIT, (size_t)(2 * s.a.keys) * sizeof *w);
    if (!w)
        return HC_NO_MEMORY;
    return (back ? store_backward : store_forward)(&s, call, w);
}

/* By the backend's kernel, on tensors in that format, which hold all that is in them. */
static enum hc_status store_by_kernel(struct hc_rounder *r, enum hc_format format,
                                      const struct hc_call *call)
{
    struct hc_call own = *call;
    struct hc_tensor *lse = &own.in[HC_ATTENTION_BWD_LSE];
    if (call->op == HC_OP_attention)
        return hc_rounder_carry_out(r, format, HC_FP32, call);
    lse->format = HC_FP32;
    lse->data = hc_rounder_buffer(r, HC_ROUNDER_OPERAND, hc_tensor_bytes(lse));
    enum hc_status status =
        lse->data ? hc_device_cast(r->device, call->in[HC_ATTENTION_BWD_LSE], *lse) : HC_NO_MEMORY;
    return status == HC_OK ? hc_rounder_carry_out(r, format, HC_FP32, &own) : status;
}

/* The gradient where either P or dS is stored: dv comes from one, dq and dk from the other. */
static enum hc_status store_one(struct hc_rounder *r, bool p, enum hc_format format,
                                const struct hc_call *call)
{
    struct hc_call stored = *call;
    size_t bytes = 0;
    for (int i = 0; i < 3; i++)
        bytes += hc_tensor_bytes(&call->out[i]);
    unsigned char *at = hc_rounder_buffer(r, HC_ROUNDER_SPLIT, bytes);
    if (!at)
        return HC_NO_MEMORY;
    for (int i = 0; i < 3; i++) {
        stored.out[i].data = at;
        at += hc_tensor_bytes(&call->out[i]);
    }
    enum hc_status status = store_by_kernel(r, format, &stored);
    if (status == HC_OK)
        status = hc_rounder_carry_out(r, HC_FP32, HC_FP32, call);
    for (int i = 0; i < 3 && status == HC_OK; i++)
        if (p == (i == HC_ATTENTION_BWD_DV))
            memcpy(call->out[i].data, stored.out[i].data, hc_tensor_bytes(&call->out[i]));
    return status;
}

static enum hc_status attend(struct hc_rounder *r, const struct hc_call *call)
{
    const enum hc_format(*format)[2] = r->rounding.format;
    bool back = call->op == HC_OP_attention_backward;
    enum hc_format p = format[HC_SOURCE_P][0];
    enum hc_format ds = back ? format[HC_SOURCE_DS][0] : p;
    enum hc_format either = p != HC_FP64 ? p : ds;
    enum hc_format sums = format[HC_SOURCE_ATTENTION][0];
    enum hc_status status = either == HC_FP64 ? HC_OK : look_at_attention(r, either);
    if (status != HC_OK || either == HC_FP64 || !r->stores[back])
        return status == HC_OK ? hc_rounder_carry_out(r, HC_FP32, sums, call) : status;
    bool holds = format[HC_SOURCE_ACTIVATIONS][0] == either &&
                 (!back || (format[HC_SOURCE_GRADIENTS][0] == either &&
                            format[HC_SOURCE_OUTPUT][0] == either));
    if (sums == HC_FP64 || !holds)
        return store_in_fp64(r, call, p, ds);
    return p == ds ? store_by_kernel(r, either, call) : store_one(r, p != HC_FP64, either, call);
}

enum hc_status hc_rounder_run_gpt(struct hc_rounder *r, const struct hc_call *call)
{
    const enum hc_format(*format)[2] = r->rounding.format;
    int source = row_of(call->op)->arithmetic;
    enum hc_format arithmetic = source == OF_NOTHING ? HC_FP64 : format[source][0];
    enum hc_format unit = format[HC_SOURCE_UNIT][0];
    enum hc_status status;
    r->backward |= call->op == HC_OP_xent_bwd;
    if (source == HC_SOURCE_ATTENTION)
        status = attend(r, call);
    else if (call->op == HC_OP_gemm && unit != HC_FP64)
        status = hc_rounder_carry_out(r, unit, HC_FP32, call);
    else
        status = hc_rounder_carry_out(r, HC_FP32, arithmetic, call);
    return status == HC_OK ? hc_rounder_finish_gpt(r, call) : status;
}
