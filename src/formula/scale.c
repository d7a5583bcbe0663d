/* Scale rules in formulas. A rule is a definition: it says which fp32 arithmetic makes a scale of
   an amax, and so `want` and `got` are what it says (reference_scale.h). For the real numbers, too,
   the amax is rounded to fp32 and the rule gives the scale that the system keeps. The other factor
   is its reciprocal, which is real here and rounded there: x * encode * decode is x. */
#include <math.h>
#include <stdlib.h>

#include "formula/evaluation.h"
#include "reference_scale.h"

/* The scales that are made of the amaxes of former steps look back so far unless told otherwise, as
   TransformerEngine and flax do. */
enum { USUAL_WINDOW = 1024 };

/* The largest magnitude of a list, as fp32, NaNs dropped. The real one lies between two numbers
   that are nearly always the same. */
struct amax {
    double want;
    double got;
    double low;
    double high;
};

/* |x| + rad or |x| - rad as fp32: `rad` has a sign. The slack covers the sum's own rounding to 256
   bits. */
static double real_end(struct hc_evaluation *e, struct hc_real *x, double rad)
{
    struct hc_operation cast = {.function = HC_FN_cast, .format = HC_FP32};
    struct hc_real *sum = e->scratch.result;
    double size = fabs(hc_real_double(x));
    bool exact;
    if (rad == 0 || !isfinite(size))
        return fabs(hc_round_real(x, &cast, &exact));
    hc_real_set(e->scratch.operand[0], rad + copysign(size * 0x1p-250, rad));
    (void)hc_real_abs(sum, x);
    (void)hc_real_add(sum, sum, e->scratch.operand[0]);
    return fabs(hc_round_real(sum, &cast, &exact));
}

static struct amax amax_of(struct hc_evaluation *e, const struct hc_value *v, int64_t from,
                           int64_t to)
{
    struct amax a = {0, 0, 0, 0};
    for (int64_t i = from; i < to; i++) {
        if (!v->constant) {
            a.want = fmax(a.want, hc_round(HC_FP32, fabs(v->want[i])));
            a.got = fmax(a.got, hc_round(HC_FP32, fabs(v->got[i])));
        }
        a.low = fmax(a.low, real_end(e, v->real[i], -v->real_rad[i]));
        a.high = fmax(a.high, real_end(e, v->real[i], v->real_rad[i]));
    }
    return a;
}

/* Whether the system keeps what codes are multiplied by, and not what elements are. */
static bool keeps_decode(enum hc_scale_rule rule)
{
    return hc_scale_rules[rule].kind != HC_SCALE_OF_FP32 || rule == HC_SCALE_DEEPGEMM ||
           rule == HC_SCALE_DEEPSEEK_UE8M0;
}

/* The number that `node` asks for, and whether the system keeps its reciprocal in its place. */
static double stated(const struct hc_node *node, enum hc_format x, double amax, double tensor,
                     bool *is_other)
{
    struct hc_stated_scale s = hc_stated_scale(node->rule, node->format, x, tensor, amax);
    bool decodes = keeps_decode(node->rule);
    bool decode =
        node->function == HC_FN_decode_scale || (node->function == HC_FN_scale && decodes);
    *is_other = decode != decodes;
    if (node->function == HC_FN_tensor_scale)
        return hc_stated_tensor_scale(node->rule, node->format, amax);
    return decode ? s.decode : s.encode;
}

/* The real scale of these amaxes: the other factor is a reciprocal where there is one. */
static void set_real(struct hc_evaluation *e, const struct hc_node *node, double amax,
                     double tensor, struct hc_real *real, double *rad)
{
    bool is_other;
    double scale = stated(node, HC_FP32, amax, tensor, &is_other);
    struct hc_node kept = *node;
    bool exact = true;
    if (is_other && node->function != HC_FN_tensor_scale) {
        kept.function = HC_FN_scale;
        double t = hc_stated_tensor_scale(node->rule, node->format, tensor);
        double product = stated(&kept, HC_FP32, amax, tensor, &is_other) * t;
        if (product > 0 && isfinite(product)) { /* exact: 4 bits times 24 at the most */
            hc_real_set(real, product);
            exact = hc_real_div(real, e->scratch.one, real) == 0;
            *rad = hc_real_rounding(e, real, exact);
            return;
        }
    }
    hc_real_set(real, scale);
    *rad = 0;
}

/* How far a computed number is from the real one at most: no rule of radii is needed, since both
   are known. */
static double scale_distance(struct hc_evaluation *e, double want, const struct hc_real *real,
                             double real_rad)
{
    if (!isfinite(want) || hc_real_is_nan(real) || hc_real_is_inf(real)) {
        double r = hc_real_double(real);
        bool same = isnan(want) ? isnan(r) : want == r && hc_real_is_inf(real);
        return same && real_rad == 0 ? 0 : (double)INFINITY;
    }
    hc_real_set(e->scratch.operand[0], want);
    bool exact = hc_real_sub(e->scratch.result, real, e->scratch.operand[0]) == 0;
    double apart = fabs(hc_real_double(e->scratch.result));
    if (apart == 0 && exact)
        return real_rad;
    return nextafter(apart * (1 + 0x1p-50) + real_rad, (double)INFINITY);
}

/* y gets the kind of a scale of x: fp32, or none in the right side of :=. */
static void become(struct hc_value *y, const struct hc_value *x)
{
    y->constant = x->constant;
    y->format = x->constant ? HC_FORMAT_COUNT : HC_FP32;
}

/* Element i of y becomes what was computed of the amaxes. */
static void set_scale(struct hc_evaluation *e, struct hc_value *y, int64_t i, double want,
                      double got)
{
    if (y->constant)
        return;
    y->want[i] = want;
    y->got[i] = got;
    y->rad[i] = scale_distance(e, want, y->real[i], y->real_rad[i]);
}

/* scale.c: the scale of a block, or tensor, `x`, under a rule without a history; `tensor` is NULL
   unless the rule has two levels. */
static struct hc_value *scale_of_block(struct hc_evaluation *e, const struct hc_node *node,
                                       const struct hc_value *x, const struct hc_value *tensor)
{
    struct hc_value *y = hc_new_value(e, false, 1);
    if (!y)
        return NULL;
    struct amax a = amax_of(e, x, 0, x->n);
    struct amax t = tensor ? amax_of(e, tensor, 0, tensor->n) : a;
    enum hc_format in = x->constant || x->format == HC_FP64 ? HC_FP32 : x->format;
    bool is_other;
    become(y, x);
    set_real(e, node, a.high, t.high, y->real[0], &y->real_rad[0]);
    if (a.low != a.high || t.low != t.high)
        y->real_rad[0] = (double)INFINITY;
    set_scale(e, y, 0, stated(node, in, a.want, t.want, &is_other),
              stated(node, in, a.got, t.got, &is_other));
    return y;
}

/* One step of a history in which the entries of four evaluations stand behind one another. */
struct history {
    double *entry; /* 2 * length of each */
    int64_t length;
    double scale;
};

static double take_step(const struct hc_node *node, struct history *h, double amax)
{
    const struct hc_delayed_scale p = {.rule = node->delayed, .codes = node->format};
    double *next = h->entry + h->length;
    h->scale = hc_stated_delayed(&p, amax, h->scale, h->entry, h->length, next);
    for (int64_t i = 0; i < h->length; i++)
        h->entry[i] = next[i];
    return h->scale;
}

/* The scale after each step of a history that begins with zeros and a scale of 1; x[i] is the amax
   of step i. */
static struct hc_value *delayed_scales(struct hc_evaluation *e, const struct hc_node *node,
                                       const struct hc_value *x, int64_t window)
{
    enum { WANT, GOT, LOW, HIGH, WAYS };
    struct history h[WAYS];
    struct hc_value *y = hc_new_value(e, x->list, x->n);
    double *memory = calloc(2 * WAYS * (size_t)window, sizeof *memory);
    if (!y || !memory) {
        free(memory);
        return y ? hc_lack(e, hc_fail(HC_NO_MEMORY, "no memory for a history of %lld",
                                      (long long)window))
                 : NULL;
    }
    for (int k = 0; k < WAYS; k++)
        h[k] = (struct history){memory + (size_t)(2 * k) * (size_t)window, window, 1};
    become(y, x);
    for (int64_t i = 0; i < x->n; i++) {
        struct amax a = amax_of(e, x, i, i + 1);
        double low = take_step(node, &h[LOW], a.low);
        double high = take_step(node, &h[HIGH], a.high);
        bool open = isnan(low) ? !isnan(high) : low != high;
        hc_real_set(y->real[i], high);
        y->real_rad[i] = open ? (double)INFINITY : 0;
        double want = take_step(node, &h[WANT], a.want);
        set_scale(e, y, i, want, take_step(node, &h[GOT], a.got));
    }
    free(memory);
    return y;
}

/* An operand as a value that a rule may look at: a number in a format that has arithmetic. In the
   right side of := constants stay what they are. */
static struct hc_value *operand(struct hc_evaluation *e, const struct hc_node *node)
{
    struct hc_value *v = hc_walk(e, node);
    if (v && v->format == HC_FORMAT_COUNT && !(v->constant && e->constants))
        v = hc_meet(e, node, v, e->arm.arithmetic);
    if (v && !v->constant && hc_formats[v->format].bytes == 1)
        return hc_no_arithmetic(e, node, v->format);
    return v;
}

static struct hc_value *delayed(struct hc_evaluation *e, const struct hc_node *node,
                                const struct hc_value *x)
{
    int64_t window = USUAL_WINDOW;
    const struct hc_value *k = node->operands > 1 ? hc_walk(e, node->operand[1]) : NULL;
    if (node->operands > 1 &&
        (!k || !hc_integer_of(e, node->operand[1], k, 0, 1, HC_MAX_TERMS, &window)))
        return NULL;
    e->terms += x->n > HC_MAX_STEP_TERMS / window ? HC_MAX_STEP_TERMS + 1 : x->n * window;
    if (e->terms > HC_MAX_STEP_TERMS)
        return hc_wrong(e, node, "amaxes times window are more than %d", HC_MAX_STEP_TERMS);
    return delayed_scales(e, node, x, window);
}

/* fl(x * by), and that as codes or as fp32, each an operation as any other. */
static struct hc_value *times(struct hc_evaluation *e, const struct hc_node *node,
                              struct hc_value *x, struct hc_value *by)
{
    struct hc_operation mul = {node, HC_FN_mul, HC_FP32, HC_NEAREST, true, false};
    struct hc_operand operand[2] = {{x, 0, x->list ? 1 : 0}, {by, 0, 0}};
    struct hc_value *y = hc_new_value(e, x->list, x->n);
    if (!y || !hc_operate(e, &mul, operand, y, 0, x->n))
        return NULL;
    y->format = HC_FP32;
    return y;
}

/* The codes of x, RN_SAT(fl(x * encode)), x taken as fp32; and these decoded. */
static struct hc_value *scale_codes(struct hc_evaluation *e, const struct hc_node *node,
                                    struct hc_value *x, const struct hc_value *tensor)
{
    struct hc_node part = *node;
    part.function = HC_FN_encode_scale;
    struct hc_operation cast = {node, HC_FN_cast, node->format, HC_NEAREST, true, true};
    struct hc_value *scale = scale_of_block(e, &part, x, tensor);
    struct hc_value *wide = scale ? hc_meet(e, node->operand[0], x, HC_FP32) : NULL;
    struct hc_value *product = wide ? times(e, node, wide, scale) : NULL;
    return product ? hc_cast_value(e, &cast, product) : NULL;
}

/* fl(fl(code * d) * t). */
static struct hc_value *scale_decoded(struct hc_evaluation *e, const struct hc_node *node,
                                      struct hc_value *x, struct hc_value *tensor)
{
    struct hc_node part = *node;
    part.function = HC_FN_decode_scale;
    struct hc_value *y = scale_codes(e, node, x, tensor);
    struct hc_value *scale = y ? scale_of_block(e, &part, x, tensor) : NULL;
    y = scale ? hc_meet(e, node, y, HC_FP32) : NULL;
    y = y ? times(e, node, y, scale) : NULL;
    part.function = HC_FN_tensor_scale;
    scale = y && tensor ? scale_of_block(e, &part, tensor, NULL) : NULL;
    if (y && tensor)
        y = scale ? times(e, node, y, scale) : NULL;
    for (int64_t i = 0; y && i < y->n; i++) {
        (void)hc_real_copy(y->real[i], x->real[i]);
        y->real_rad[i] = x->real_rad[i];
        y->rad[i] = scale_distance(e, y->want[i], y->real[i], y->real_rad[i]);
    }
    return y;
}

struct hc_value *hc_scale_value(struct hc_evaluation *e, const struct hc_node *node)
{
    struct hc_value *x = operand(e, node->operand[0]);
    if (!x)
        return NULL;
    struct hc_value *y;
    if (node->rule == HC_SCALE_RULE_COUNT) {
        y = delayed(e, node, x);
    } else {
        struct hc_value *tensor = node->operands > 1 ? operand(e, node->operand[1]) : NULL;
        if (node->operands > 1 && !tensor)
            return NULL;
        if (node->function == HC_FN_quantize)
            return scale_codes(e, node, x, tensor);
        y = node->function == HC_FN_fake_quantize ? scale_decoded(e, node, x, tensor)
                                                  : scale_of_block(e, node, x, tensor);
    }
    struct hc_operation cast = {node, HC_FN_cast, e->arm.arithmetic, HC_NEAREST, true, false};
    bool narrows = y && !y->constant && e->options.narrow &&
                   hc_formats[HC_FP32].bytes >= hc_formats[e->arm.arithmetic].bytes;
    return narrows ? hc_cast_value(e, &cast, y) : y;
}

/* What a scale rule makes of numbers: codes, and what these are worth. As a real number that is the
   number itself, as it is of what is cast. */
