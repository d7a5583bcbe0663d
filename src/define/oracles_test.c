/* Two oracles for ops of the table: what a definition says of them, or the gradient derived from
   one, and their own references and bounds, which were written apart. Real values agree in all
   digits that references have; a bound may be the looser one, but neither may be so tight that the
   other's is far beyond it. HC_SHOW=1 prints how the bounds compare. */
#include <stdio.h>
#include <string.h>

#include "check/bound/bound.h"
#include "check/generate/distribution.h"
#include "define/gradient/adjoint.h"
#include "define/judge.h"
#include "define/testing.h"
#include "op/descriptor.h"
#include "op/params.h"

enum { TENSORS = 10 };

struct tensor_row {
    const char *slot;
    const char *name; /* in the definition; NULL: it is not in it */
    int rank;
    int64_t shape[HC_MAX_RANK];
};

struct oracle_row {
    const char *op;
    const char *text;
    bool gradient;      /* it is derived from the text */
    int tighter;        /* so many times the definition's bound may be the smaller one; 0: 16 */
    const char *set[4]; /* NAME=VALUE, of the op and of the definition; ends with NULL */
    struct tensor_row tensor[TENSORS]; /* of the op: those that the call has */
};

#define CONV                                                                                       \
    "op conv(x[n, h, v, c], f[k, r, s, c]; stride = 1, pad = 0)\n"                                 \
    "axis p = floor((H + 2*pad - R) / stride) + 1\n"                                               \
    "axis q = floor((V + 2*pad - S) / stride) + 1\n"                                               \
    "y[n,p,q,k] = sum(r, s, c: x[n, stride*p + r - pad, stride*q + s - pad, c] * f[k,r,s,c])\n"    \
    "return y\n"
#define POOL                                                                                       \
    "op pool(x[n, h, v, c]; window = 2)\n"                                                         \
    "axis p = floor(H / window)\naxis q = floor(V / window)\n"                                     \
    "axis r = window\naxis s = window\n"                                                           \
    "y[n,p,q,c] = sum(r, s: x[n, p*window + r, q*window + s, c]) / (window * window)\nreturn y\n"
#define XENT                                                                                       \
    "op xent(z[n, c], labels[n]: index c)\n"                                                       \
    "m[n] = shift max(c: z[n,c])\nl[n] = sum(c: exp(z[n,c] - m[n]))\n"                             \
    "loss = sum(n: log(l[n]) - (z[n, labels[n]] - m[n])) / N\nreturn loss\n"
#define NORM                                                                                       \
    "op norm(x[n, h, v, c], gamma[c], beta[c], mean_[c], variance[c]; eps = 1e-5, momentum = "     \
    "0.1)\n"                                                                                       \
    "mu[c] = mean(n, h, v: x[n,h,v,c])\n"                                                          \
    "var[c] = mean(n, h, v: (x[n,h,v,c] - mu[c])^2)\n"                                             \
    "r[c] = 1 / sqrt(var[c] + eps)\n"                                                              \
    "y[n,h,v,c] = (x[n,h,v,c] - mu[c]) * r[c] * gamma[c] + beta[c]\n"                              \
    "new_mean[c] = (1 - momentum) * mean_[c] + momentum * mu[c]\n"                                 \
    "new_variance[c] = (1 - momentum) * variance[c]\n"                                             \
    "    + momentum * var[c] * (N * H * V) / (N * H * V - 1)\n"                                    \
    "return y, mu, r, new_mean, new_variance\n"
#define IMAGE(slot, name)                                                                          \
    {                                                                                              \
        slot, name, 4,                                                                             \
        {                                                                                          \
            2, 5, 6, 3                                                                             \
        }                                                                                          \
    }

static const struct oracle_row rows[] = {
    {"add",
     "op add(x[n], y[n])\nout[n] = x[n] + y[n]\nreturn out\n",
     false,
     0,
     {NULL},
     {{"x", "x", 1, {40}}, {"y", "y", 1, {40}}, {"out", "out", 1, {40}}}},
    {"div",
     "op div(x[n], y[n])\nout[n] = x[n] / y[n]\nreturn out\n",
     false,
     0,
     {NULL},
     {{"x", "x", 1, {40}}, {"y", "y", 1, {40}}, {"out", "out", 1, {40}}}},
    {"sum",
     "op s(x[n])\nout = sum(n: x[n])\nreturn out\n",
     false,
     0,
     {NULL},
     {{"x", "x", 1, {300}}, {"out", "out", 1, {1}}}},
    {"dot",
     "op d(x[n], y[n])\nout = sum(n: x[n] * y[n])\nreturn out\n",
     false,
     0,
     {NULL},
     {{"x", "x", 1, {300}}, {"y", "y", 1, {300}}, {"out", "out", 1, {1}}}},
    {"gemm",
     "op gemm(a[m, k], b[k, n], c[m, n]; alpha = 1.0, beta = 0.0)\n"
     "out[m,n] = alpha * sum(k: a[m,k] * b[k,n]) + beta * c[m,n]\nreturn out\n",
     false,
     0,
     {"alpha=0.5", "beta=0.25", NULL},
     {{"a", "a", 2, {5, 64}},
      {"b", "b", 2, {64, 7}},
      {"c", "c", 2, {5, 7}},
      {"out", "out", 2, {5, 7}}}},
    {"conv2d",
     CONV,
     false,
     0,
     {"stride=2", "pad=1", NULL},
     {IMAGE("x", "x"), {"w", "f", 4, {4, 3, 2, 3}}, {"y", "y", 4, {2, 3, 4, 4}}}},
    {"conv2d_bwd_data",
     CONV,
     true,
     0,
     {"stride=2", "pad=1", NULL},
     {IMAGE("dx", "dx"), {"w", "f", 4, {4, 3, 2, 3}}, {"dy", "dy", 4, {2, 3, 4, 4}}}},
    {"conv2d_bwd_filter",
     CONV,
     true,
     0,
     {"stride=2", "pad=1", NULL},
     {IMAGE("x", "x"), {"dw", "df", 4, {4, 3, 2, 3}}, {"dy", "dy", 4, {2, 3, 4, 4}}}},
    {"leaky_relu",
     "op l(x[n]; slope = 0.5)\ny[n] = select(x[n] > 0, x[n], slope * x[n])\nreturn y\n",
     false,
     0,
     {"slope=0.125", NULL},
     {{"x", "x", 1, {40}}, {"y", "y", 1, {40}}}},
    {"avg_pool",
     POOL,
     false,
     0,
     {"window=2", NULL},
     {{"x", "x", 4, {2, 4, 6, 3}}, {"y", "y", 4, {2, 2, 3, 3}}}},
    {"avg_pool_bwd",
     POOL,
     true,
     0,
     {"window=2", NULL},
     {{"dx", "dx", 4, {2, 4, 6, 3}}, {"dy", "dy", 4, {2, 2, 3, 3}}}},
    {"xent",
     XENT,
     false,
     0,
     {NULL},
     {{"logits", "z", 2, {6, 10}}, {"labels", "labels", 1, {6}}, {"loss", "loss", 1, {1}}}},
    {"xent_bwd",
     XENT,
     true,
     0,
     {NULL},
     {{"logits", "z", 2, {6, 10}},
      {"labels", "labels", 1, {6}},
      {"upstream", "dloss", 1, {1}},
      {"dlogits", "dz", 2, {6, 10}}}},
    {"bn_train",
     NORM,
     false,
     0,
     {"eps=0.125", "momentum=0.25", NULL},
     {IMAGE("x", "x"),
      {"gamma", "gamma", 1, {3}},
      {"beta", "beta", 1, {3}},
      {"mean", "mean_", 1, {3}},
      {"variance", "variance", 1, {3}},
      IMAGE("y", "y"),
      {"saved_mean", "mu", 1, {3}},
      {"saved_invstd", "r", 1, {3}},
      {"new_mean", "new_mean", 1, {3}},
      {"new_variance", "new_variance", 1, {3}}}},
    /* The text fixes the order of g + wd*w + beta*m, so that its bound counts each rounding at the
       size that the partial sum has there; the op's bound allows all orders, with the rate inside
       or outside, and counts up to 7 roundings at the sum of all magnitudes. Where the terms cancel
       in the drawn numbers, that is 38 times as much. */
    {"sgd",
     "op sgd(w[i], g[i], momentum[i], hyper[j]; weight_decay = 0.0)\n"
     "d[i] = g[i] + weight_decay * w[i]\nv[i] = hyper[1] * momentum[i] + d[i]\n"
     "new_w[i] = w[i] - hyper[0] * v[i]\nreturn new_w, v\n",
     false,
     64,
     {"weight_decay=0.25", NULL},
     {{"w", "w", 1, {40}},
      {"g", "g", 1, {40}},
      {"momentum", "momentum", 1, {40}},
      {"hyper", "hyper", 1, {3}},
      {"new_w", "new_w", 1, {40}},
      {"new_momentum", "v", 1, {40}}}},
};

static struct hc_tensor *slot_of(struct hc_call *call, const char *name, int *out)
{
    for (int s = 0; s < hc_slot_count(call->op); s++)
        if (strcmp(hc_slot(call->op, s)->name, name) == 0) {
            *out = s - hc_ops[call->op].inputs;
            return hc_slot_tensor(call, s);
        }
    cr_assert(false, "%s has no slot %s", hc_ops[call->op].name, name);
    return NULL;
}

static struct hc_call drawn_call(const struct oracle_row *row)
{
    struct hc_call call = {.op = hc_op_by_name(row->op)};
    cr_assert_lt((int)call.op, HC_OP_COUNT, "%s", row->op);
    hc_params_usual(call.op, &call.params);
    for (int i = 0; row->set[i]; i++) {
        char name[64];
        size_t length = strcspn(row->set[i], "=");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, row->set[i]);
        cr_assert_eq(hc_param_read(call.op, &call.params, name, row->set[i] + length + 1), HC_OK,
                     "%s", hc_message());
    }
    for (int i = 0; i < TENSORS && row->tensor[i].slot; i++) {
        const struct tensor_row *t = &row->tensor[i];
        int out;
        struct hc_tensor *x = slot_of(&call, t->slot, &out);
        *x = (struct hc_tensor){.format = strcmp(t->slot, "labels") == 0 ? HC_I32 : HC_FP32,
                                .rank = t->rank};
        memcpy(x->shape, t->shape, sizeof x->shape);
        x->data = calloc((size_t)hc_tensor_count(x) + 1, 8);
        cr_assert_not_null(x->data);
    }
    for (int s = 0; s < hc_ops[call.op].inputs; s++)
        if (hc_slot_tensor(&call, s)->data)
            hc_draw_input(&call, s, HC_DRAW_NORMAL, 7);
    return call;
}

/* The definition's inputs are the call's tensors; one that only says a shape is an output. */
static void share(struct hc_instance *in, const struct oracle_row *row, struct hc_call *call)
{
    const struct hc_definition *d = in->definition;
    for (int i = 0; i < d->inputs; i++) {
        const struct hc_defined_tensor *t = &d->tensor[i];
        for (int k = 0; k < TENSORS && row->tensor[k].slot; k++) {
            int out;
            const struct hc_tensor *x = slot_of(call, row->tensor[k].slot, &out);
            const char *name = row->tensor[k].name;
            /* dx has the shape of x. */
            if (strcmp(name, t->name) == 0 ||
                (*name == 'd' && strcmp(name + 1, t->name) == 0 && !in->input[i].data))
                in->input[i] = *x;
        }
        cr_assert_not_null(in->input[i].data, "%s: %s", row->op, t->name);
        in->input[i].rank = t->rank;
    }
    for (int i = 0; row->set[i]; i++) {
        char name[64];
        size_t length = strcspn(row->set[i], "=");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, row->set[i]);
        in->option[hc_definition_option(d, name)] = row->set[i] + length + 1;
    }
    cr_assert_eq(hc_instance_bind(in), HC_OK, "%s: %s", row->op, hc_message());
}

static void compare_oracles(const struct oracle_row *row)
{
    struct hc_accumulator fp32 = {.precision = 24, .block = 1};
    struct hc_call call = drawn_call(row);
    struct hc_definition *d = defined(row->text);
    if (row->gradient) {
        char *text = NULL;
        cr_assert_eq(hc_adjoint_text(d, &text), HC_OK, "%s", hc_message());
        hc_definition_free(d);
        d = defined(text);
        free(text);
    }
    struct hc_instance in = {.definition = d, .io = HC_FP32, .freedoms = hc_usual_freedoms};
    share(&in, row, &call);
    struct hc_evaluator *evaluator = hc_evaluator_new(&in);
    double least = INFINITY;
    double most = 0;
    for (int k = 0; k < TENSORS && row->tensor[k].slot; k++) {
        int tensor = hc_definition_tensor(d, row->tensor[k].name);
        int out;
        const struct hc_tensor *t = slot_of(&call, row->tensor[k].slot, &out);
        if (tensor < 0 || !d->tensor[tensor].returned)
            continue;
        cr_assert_geq(out, 0);
        for (int64_t i = 0; i < hc_tensor_count(t); i++) {
            struct hc_exact want = hc_reference_value(&call, out, i);
            struct hc_defined_value got = value_at(evaluator, tensor, i);
            double apart = fabs((want.hi - got.want.hi) + (want.lo - got.want.lo));
            cr_expect(apart <= 0x1p-90 * fmax(fabs(want.hi), want.magnitude),
                      "%s, %s[%d]: want %.17g + %g, got %.17g + %g", row->op, row->tensor[k].slot,
                      (int)i, want.hi, want.lo, got.want.hi, got.want.lo);
            struct hc_element e = {.call = &call, .out = out, .index = i};
            double bound = hc_bound_any_order(&e, &fp32, &want);
            struct hc_defined_element judged = {.value = got, .got = want.hi};
            bool single;
            hc_define_judge_element(HC_FP32, HC_FP32, &judged, &single);
            if (want.hi != 0 && bound > 0 && !single) {
                least = fmin(least, judged.bound / bound);
                most = fmax(most, judged.bound / bound);
            }
        }
    }
    int tighter = row->tighter ? row->tighter : 16;
    cr_expect(least > 1.0 / tighter && most < 64, "%s: %g to %g", row->op, least, most);
    if (getenv("HC_SHOW"))
        (void)fprintf(stderr, "%-18s %8.3f %8.3f\n", row->op, least, most);
    hc_evaluator_free(evaluator);
    hc_definition_free(d);
    for (int s = 0; s < hc_slot_count(call.op); s++)
        free(hc_slot_tensor(&call, s)->data);
}

Test(oracles, definitions_agree_with_references_and_bounds_of_the_ops)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        compare_oracles(&rows[i]);
}
