/* Integers through the ops that work element by element, and through sums. */
#include <math.h>
#include <stdlib.h>

#include "check/generate/integers.h"
#include "op/descriptor.h"

enum { INPUTS = 4 }; /* the first ones, which hold elements */

/* One element: makes inputs and results from random integers r of 1 to 8 in magnitude. */
typedef void element(const struct hc_call *call, const int32_t *r, int32_t *in, double *want);

static void of_cast(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[HC_X] = r[0];
    want[HC_OUT] = r[0];
}

static void of_add(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    in[HC_X] = r[0];
    in[HC_Y] = r[1];
    want[HC_OUT] = call->op == HC_OP_add ? r[0] + r[1] : r[0] - r[1];
}

static void of_mul(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    bool mul = call->op == HC_OP_mul;
    in[HC_X] = mul ? r[0] : r[0] * r[1];
    in[HC_Y] = r[1];
    want[HC_OUT] = mul ? r[0] * r[1] : r[0];
}

static void of_sqrt(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[HC_X] = r[0] * r[0];
    want[HC_OUT] = abs(r[0]);
}

static void of_fma(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[HC_X] = r[0];
    in[HC_Y] = r[1];
    in[HC_Z] = r[2];
    want[HC_OUT] = r[0] * r[1] + r[2];
}

enum { SCALE = 4 };

static void of_axpy(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[HC_X] = r[0];
    in[HC_Y] = r[1];
    want[HC_OUT] = HC_INTEGERS_ALPHA * r[0] + r[1];
}

static void of_scale(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    bool down = call->op == HC_OP_unscale;
    in[HC_X] = down ? SCALE * r[0] : r[0];
    want[HC_OUT] = down ? r[0] : SCALE * r[0];
}

static void of_leaky(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    bool back = call->op == HC_OP_leaky_relu_bwd;
    in[HC_FIRST] = back ? r[0] : 4 * r[0];
    in[HC_LEAKY_BWD_DY] = 4 * r[1];
    want[HC_LEAKY_Y] = (r[0] > 0 ? 4 : 1) * (back ? r[1] : r[0]); /* the slope is a quarter */
}

/* With rate 2, momentum 1/2 and decay 1: v = v / 2 + g + w, then w = w - 2 v. */
static void of_sgd(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[HC_SGD_W] = r[0];
    in[HC_SGD_G] = r[1];
    in[HC_SGD_MOMENTUM] = 2 * r[2];
    want[HC_SGD_NEW_MOMENTUM] = r[2] + r[1] + r[0];
    want[HC_SGD_NEW_W] = r[0] - 2 * want[HC_SGD_NEW_MOMENTUM];
}

/* With rate 2, beta1 = 1/2, beta2 = 3/4, t = 1 and eps 0: m = j g becomes g (j + 1) / 2, v = g^2
   stays, and w loses 2 / (1/2) times g (j + 1) / 2 / (|g| / (1/2)), which is j + 1 with the sign of
   g. AdamW with decay 1/4 halves w before. */
static void of_adam(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    int32_t j = 2 * (r[2] & 3) - 3;
    bool decays = call->op == HC_OP_adamw;
    in[HC_ADAM_W] = decays ? 2 * r[0] : r[0];
    in[HC_ADAM_G] = r[1];
    in[HC_ADAM_M] = j * r[1];
    in[HC_ADAM_V] = r[1] * r[1];
    want[HC_ADAM_NEW_W] = r[0] - (r[1] < 0 ? -(j + 1) : j + 1);
    int32_t half = (j + 1) / 2; /* j is odd */
    want[HC_ADAM_NEW_M] = r[1] * half;
    want[HC_ADAM_NEW_V] = in[HC_ADAM_V];
}

static element *const elements[HC_OP_COUNT] = {
    [HC_OP_cast] = of_cast,
    [HC_OP_master_to_model] = of_cast,
    [HC_OP_add] = of_add,
    [HC_OP_sub] = of_add,
    [HC_OP_mul] = of_mul,
    [HC_OP_div] = of_mul,
    [HC_OP_sqrt] = of_sqrt,
    [HC_OP_fma] = of_fma,
    [HC_OP_axpy] = of_axpy,
    [HC_OP_scale] = of_scale,
    [HC_OP_unscale] = of_scale,
    [HC_OP_leaky_relu] = of_leaky,
    [HC_OP_leaky_relu_bwd] = of_leaky,
    [HC_OP_sgd] = of_sgd,
    [HC_OP_adam] = of_adam,
    [HC_OP_adamw] = of_adam,
};

static void set_scalars(const struct hc_tensor *t, const double *values, int n)
{
    for (int i = 0; i < n && t->data; i++)
        hc_tensor_set(t, i, values[i]);
}

/* The scale, the found flag, an optimizer's hyperparameters. */
static void set_parameters(const struct hc_integers *z)
{
    static const double scale = SCALE;
    static const double none = 0;
    static const double hyper[HC_HYPER_COUNT] = {
        [HC_HYPER_LR] = 2, [HC_HYPER_BETA1] = 0.5, [HC_HYPER_STEP] = 1};
    const struct hc_tensor *in = z->call.in;
    if (z->call.op == HC_OP_scale)
        set_scalars(&in[HC_SCALE_S], &scale, 1);
    if (z->call.op == HC_OP_unscale) {
        set_scalars(&in[HC_UNSCALE_SCALE], &scale, 1);
        set_scalars(&in[HC_UNSCALE_FOUND_INF], &none, 1);
    }
    if (hc_ops[z->call.op].class_ == HC_CLASS_OPTIMIZER) {
        const struct hc_optimizer_slots *s = hc_optimizer_slots(z->call.op);
        set_scalars(&in[s->hyper], hyper, HC_HYPER_COUNT);
        set_scalars(&in[s->found_inf], &none, 1);
    }
}

/* Every other call of unscale has an infinity as its last element, and no other. */
static void set_infinity(struct hc_integers *z)
{
    const struct hc_tensor *x = &z->call.in[HC_UNSCALE_X];
    int64_t last = hc_tensor_count(x) - 1;
    bool found = z->number % 2;
    z->want[HC_UNSCALE_NEW_FOUND_INF][0] = found ? 1 : 0;
    if (!found)
        return;
    hc_tensor_set(x, last, (double)INFINITY);
    z->want[HC_UNSCALE_OUT][last] = (double)INFINITY;
}

/* Whether the slot has an element for each of the first input's. */
static bool is_elementwise(const struct hc_call *call, int slot)
{
    const struct hc_slot *row = hc_slot(call->op, slot);
    return hc_slot_tensor_const(call, slot)->data &&
           (slot == HC_FIRST || row->size == HC_SIZE_FIRST);
}

bool hc_integers_vector_known(enum hc_op op)
{
    return elements[op] != NULL;
}

bool hc_integers_vector(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    const struct hc_op_info *op = &hc_ops[call->op];
    int64_t n = hc_tensor_count(&call->in[HC_FIRST]);
    bool in_each[INPUTS] = {false};
    bool out_each[HC_MAX_OUT] = {false};
    for (int s = 0; s < INPUTS && s < op->inputs; s++)
        in_each[s] = is_elementwise(call, s);
    for (int o = 0; o < op->outputs; o++)
        out_each[o] = is_elementwise(call, op->inputs + o);
    for (int64_t i = 0; i < n; i++) {
        int32_t r[3];
        int32_t in[INPUTS] = {0};
        double want[HC_MAX_OUT] = {0};
        for (int s = 0; s < 3; s++)
            r[s] = hc_integers_draw(z, s, i, 8);
        elements[call->op](call, r, in, want);
        for (int s = 0; s < INPUTS; s++)
            if (in_each[s])
                z->value[s][i] = in[s];
        for (int o = 0; o < op->outputs; o++)
            if (out_each[o])
                z->want[o][i] = want[o];
    }
    for (int s = 0; s < INPUTS; s++)
        if (in_each[s])
            hc_integers_set(z, s, 1);
    set_parameters(z);
    if (call->op == HC_OP_unscale)
        set_infinity(z);
    return true;
}

/* A sum of integers. With an accumulator narrower than fp32 the contract settles the order, and
   every partial sum must be a number of the accumulator: signs are chosen that bring the sum back
   towards 0. Otherwise the sum of all magnitudes must be one. */
bool hc_integers_sum(struct hc_integers *z)
{
    enum { PARTIAL = 3 };
    const struct hc_call *call = &z->call;
    bool dot = call->op == HC_OP_dot;
    bool squares = call->op == HC_OP_sum_squares;
    int64_t n = hc_tensor_count(&call->in[HC_REDUCE_X]);
    bool narrow = call->params.reduce.accumulator != HC_FP32;
    int32_t most = narrow ? 3 : hc_integers_factor(z, n);
    int64_t sum = squares ? PARTIAL : 0;
    if (most == 0)
        return false;
    for (int64_t i = 0; i < n; i++) {
        int32_t x = hc_integers_draw(z, HC_REDUCE_X, i, most);
        int32_t y = dot ? hc_integers_draw(z, HC_DOT_Y, i, most) : 1;
        bool back = narrow && llabs(sum) > hc_integers_limit(z) / 4 && (sum > 0) == (x * y > 0);
        x = back ? -x : x;
        z->value[HC_REDUCE_X][i] = x;
        if (dot)
            z->value[HC_DOT_Y][i] = y;
        sum += squares ? x * x : x * y;
    }
    if (squares)
        z->value[HC_SUM_SQUARES_PARTIAL][0] = PARTIAL;
    z->want[HC_REDUCE_OUT][0] = (double)sum;
    for (int s = 0; s < hc_ops[call->op].inputs; s++)
        hc_integers_set(z, s, 1);
    return true;
}
