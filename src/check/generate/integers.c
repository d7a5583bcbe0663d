/* Vectors and sums; and what all calls on integers share. */
#include "check/generate/integers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Nothing hangs on how random they are, and much on what they cost: the finalizer of splitmix64
   (Steele, Lea and Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
int32_t hc_integers_draw(const struct hc_integers *z, int stream, int64_t i, int32_t most)
{
    uint64_t x = z->seed + 0x9e3779b97f4a7c15u * ((uint64_t)i * 8 + (uint64_t)stream + 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    int32_t magnitude = 1 + (int32_t)(x >> 40 & 0xffff) % most;
    return x >> 63 ? -magnitude : magnitude;
}

enum { LEAST = -256, CODES = 512 };

void hc_integers_put(const struct hc_integers *z, int slot, double unit)
{
    const struct hc_tensor *t = &z->call.in[slot];
    const int32_t *value = z->value[slot];
    int64_t n = hc_tensor_count(t);
    uint64_t code[CODES];
    int32_t low = 0;
    int32_t high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = value[i] < low ? value[i] : low;
        high = value[i] > high ? value[i] : high;
    }
    assert(low >= LEAST && high < LEAST + CODES);
    for (int32_t x = low; x <= high; x++)
        code[x - LEAST] = hc_encode(t->format, x * unit, 0, HC_NEAREST);
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set_bits(t, i, code[value[i] - LEAST]);
}

/* Integers up to this are numbers of the accumulator: 2^precision, and no more than what a matrix
   unit keeps. */
static int64_t limit_of(const struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    enum hc_op_class class_ = hc_ops[call->op].class_;
    enum hc_format f = HC_FP32;
    if (class_ == HC_CLASS_REDUCTION)
        f = call->params.reduce.accumulator;
    else if (call->op == HC_OP_gemm && call->params.gemm.half_accumulator)
        f = HC_FP16;
    int precision = hc_formats[f].precision;
    bool products = class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV;
    if (products && z->sums->precision < precision)
        precision = z->sums->precision;
    return (int64_t)1 << precision;
}

/* A half of the limit is left for alpha and beta C. */
int32_t hc_integers_factor(const struct hc_integers *z, int64_t terms)
{
    int64_t most = 0;
    while (most < 8 && 2 * (most + 1) * (most + 1) * terms + 64 <= limit_of(z))
        most++;
    return (int32_t)most;
}

/* Element by element: from random integers r (1 to 8 in magnitude) the inputs of the first four
   slots and the results. */
typedef void element(const struct hc_call *call, const int32_t *r, int32_t *in, double *want);

static void of_cast(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[0] = r[0];
    want[0] = r[0];
}

static void of_add(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    in[0] = r[0];
    in[1] = r[1];
    want[0] = call->op == HC_OP_add ? r[0] + r[1] : r[0] - r[1];
}

static void of_mul(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    bool mul = call->op == HC_OP_mul;
    in[0] = mul ? r[0] : r[0] * r[1];
    in[1] = r[1];
    want[0] = mul ? r[0] * r[1] : r[0];
}

static void of_sqrt(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[0] = r[0] * r[0];
    want[0] = abs(r[0]);
}

static void of_fma(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[0] = r[0];
    in[1] = r[1];
    in[2] = r[2];
    want[0] = r[0] * r[1] + r[2];
}

enum { ALPHA = -2, SCALE = 4 };

static void of_axpy(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[0] = r[0];
    in[1] = r[1];
    want[0] = ALPHA * r[0] + r[1];
}

static void of_scale(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    bool down = call->op == HC_OP_unscale;
    in[0] = down ? SCALE * r[0] : r[0];
    want[0] = down ? r[0] : SCALE * r[0];
}

static void of_leaky(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    bool back = call->op == HC_OP_leaky_relu_bwd;
    in[0] = back ? r[0] : 4 * r[0];
    in[1] = 4 * r[1];
    want[0] = (r[0] > 0 ? 4 : 1) * (back ? r[1] : r[0]); /* the slope is a quarter */
}

/* With rate 2, momentum 1/2 and decay 1: v = v / 2 + g + w, w = w - 2 v. */
static void of_sgd(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[0] = r[0];
    in[1] = r[1];
    in[2] = 2 * r[2];
    want[1] = r[2] + r[1] + r[0];
    want[0] = r[0] - 2 * want[1];
}

/* With rate 2, beta1 = 1/2, beta2 = 3/4, t = 1 and eps 0: where m = j g and v = g^2, they become
   g (j + 1) / 2 and g^2, and w loses 2 / (1/2) times g (j + 1) / 2 / (|g| / (1/2)), which is j + 1
   with the sign of g. AdamW with decay 1/4 halves w before. */
static void of_adam(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    int32_t j = 2 * (r[2] & 3) - 3;
    bool decays = call->op == HC_OP_adamw;
    in[0] = decays ? 2 * r[0] : r[0];
    in[1] = r[1];
    in[2] = j * r[1];
    in[3] = r[1] * r[1];
    want[0] = r[0] - (r[1] < 0 ? -(j + 1) : j + 1);
    int32_t half = (j + 1) / 2; /* j is odd */
    want[1] = r[1] * half;
    want[2] = in[3];
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

static void put_small(const struct hc_tensor *t, const double *values, int n)
{
    for (int i = 0; i < n && t->data; i++)
        hc_tensor_set(t, i, values[i]);
}

/* Scalars: the scale, the found flag, an optimizer's hyperparameters. */
static void put_scalars(const struct hc_integers *z)
{
    static const double scale = SCALE;
    static const double none = 0;
    static const double hyper[] = {2, 0.5, 1};
    const struct hc_call *call = &z->call;
    bool optimizer = hc_ops[call->op].class_ == HC_CLASS_OPTIMIZER;
    if (call->op == HC_OP_scale || call->op == HC_OP_unscale)
        put_small(&call->in[1], &scale, 1);
    if (call->op == HC_OP_unscale)
        put_small(&call->in[2], &none, 1);
    int at = call->op == HC_OP_sgd ? 3 : 4;
    if (optimizer)
        put_small(&call->in[at], hyper, 3);
    if (optimizer)
        put_small(&call->in[at + 1], &none, 1);
}

/* Every other time the last element of an unscaling is infinite, and nothing else is. */
static void put_infinity(struct hc_integers *z)
{
    int64_t last = hc_tensor_count(&z->call.in[0]) - 1;
    bool found = z->number % 2;
    z->want[1][0] = found ? 1 : 0;
    if (!found)
        return;
    hc_tensor_set(&z->call.in[0], last, (double)INFINITY);
    z->want[0][last] = (double)INFINITY;
}

static bool vectors(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    int64_t n = hc_tensor_count(&call->in[0]);
    bool slot[4];
    for (int s = 0; s < 4; s++)
        slot[s] =
            s < hc_ops[call->op].inputs && call->in[s].data && hc_tensor_count(&call->in[s]) == n;
    if (call->op == HC_OP_scale || call->op == HC_OP_unscale)
        slot[1] = slot[2] = false;
    if (call->op == HC_OP_sgd)
        slot[3] = false;
    for (int64_t i = 0; i < n; i++) {
        int32_t r[3];
        int32_t in[4] = {0};
        double want[HC_MAX_OUT] = {0};
        for (int s = 0; s < 3; s++)
            r[s] = hc_integers_draw(z, s, i, 8);
        elements[call->op](call, r, in, want);
        for (int s = 0; s < 4; s++)
            if (slot[s])
                z->value[s][i] = in[s];
        for (int o = 0; o < hc_ops[call->op].outputs; o++)
            if (call->out[o].data && (o == 0 || call->op != HC_OP_unscale))
                z->want[o][i] = want[o];
    }
    for (int s = 0; s < 4; s++)
        if (slot[s])
            hc_integers_put(z, s, 1);
    put_scalars(z);
    if (call->op == HC_OP_unscale)
        put_infinity(z);
    return true;
}

/* Signs that bring a sum back towards 0 where its accumulator is narrow and its order settled:
   there every sum of the first terms must be a number of the accumulator, else that of all
   magnitudes. */
static bool sums(struct hc_integers *z)
{
    enum { ONTO = 3 };
    const struct hc_call *call = &z->call;
    int64_t n = hc_tensor_count(&call->in[0]);
    bool narrow = call->params.reduce.accumulator != HC_FP32;
    int32_t most = narrow ? 3 : hc_integers_factor(z, n);
    int64_t sum = 0;
    if (most == 0)
        return false;
    for (int64_t i = 0; i < n; i++) {
        int32_t x = hc_integers_draw(z, 0, i, most);
        int32_t y = call->op == HC_OP_dot ? hc_integers_draw(z, 1, i, most) : 1;
        bool back = narrow && llabs(sum) > limit_of(z) / 4 && (sum > 0) == (x * y > 0);
        x = back ? -x : x;
        z->value[0][i] = x;
        if (call->op == HC_OP_dot)
            z->value[1][i] = y;
        sum += call->op == HC_OP_sum_squares ? x * x : x * y;
    }
    if (call->op == HC_OP_sum_squares)
        z->value[1][0] = ONTO;
    z->want[0][0] = (double)(call->op == HC_OP_sum_squares ? sum + ONTO : sum);
    for (int s = 0; s < hc_ops[call->op].inputs; s++)
        hc_integers_put(z, s, 1);
    return true;
}

bool hc_integers_known(enum hc_op op)
{
    enum hc_op_class class_ = hc_ops[op].class_;
    return class_ != HC_CLASS_CONTROL || op == HC_OP_rates || op == HC_OP_step_log;
}

bool hc_integers_settled(enum hc_op op)
{
    return hc_ops[op].class_ != HC_CLASS_NORM && hc_ops[op].class_ != HC_CLASS_LOSS;
}

bool hc_integers_fill(struct hc_integers *z)
{
    static bool (*const of_class[])(struct hc_integers *) = {
        [HC_CLASS_ELEMENTWISE] = vectors,       [HC_CLASS_REDUCTION] = sums,
        [HC_CLASS_GEMM] = hc_integers_gemm,     [HC_CLASS_CONV] = hc_integers_conv,
        [HC_CLASS_NORM] = hc_integers_norm,     [HC_CLASS_POOL] = hc_integers_pool,
        [HC_CLASS_LOSS] = hc_integers_loss,     [HC_CLASS_OPTIMIZER] = vectors,
        [HC_CLASS_CONTROL] = hc_integers_table,
    };
    return of_class[hc_ops[z->call.op].class_](z);
}

/* alpha and beta are integers, a slope is a quarter, running statistics become the batch's. */
struct hc_variant hc_integers_variant(enum hc_op op, int number)
{
    struct hc_variant v = {.name = ""};
    switch (op) {
    case HC_OP_axpy:
        v.params.axpy.alpha = ALPHA;
        break;
    case HC_OP_unscale:
        v.params.unscale.reciprocal = number / 2 % 2;
        break;
    case HC_OP_leaky_relu:
    case HC_OP_leaky_relu_bwd:
        v.params.leaky.slope = 0.25;
        break;
    case HC_OP_gemm:
        v.params.gemm = (struct hc_gemm){.transpose_a = number % 2,
                                         .transpose_b = number / 2 % 2,
                                         .alpha = number % 3 ? 1 : -1,
                                         .beta = number % 3 - 1};
        v.row = number / 4 % 2;
        break;
    case HC_OP_sgd:
        v.params.sgd.weight_decay = 1;
        break;
    case HC_OP_adam:
    case HC_OP_adamw:
        v.params.adam =
            (struct hc_adam){.beta2 = 0.75, .weight_decay = op == HC_OP_adamw ? 0.25 : 0};
        break;
    case HC_OP_xent:
    case HC_OP_xent_bwd:
        v.params.xent.sum = number % 2;
        break;
    default:
        if (hc_ops[op].class_ == HC_CLASS_NORM)
            v.params.bn = (struct hc_bn){.eps = 2, .momentum = 1, .slope = 0.5};
    }
    return v;
}
