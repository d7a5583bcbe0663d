/* The search for witnesses, and what there must be of them.

   HALFCHECK_WITNESSES=FILE build/dev/cases cases/witness/search_test.c searches again, for every
   rule of a bound (of the ops in the globs HALFCHECK_WITNESSES_OF, if that is set), and writes the
   rows of cases/witness/witnesses.inc. It begins with the witness that is kept and with drawn
   inputs, changes one or two numbers at a time, and keeps a change if error/bound of a right
   implementation does not fall. HALFCHECK_WITNESSES_LONGER=N takes N times as many changes.
   HALFCHECK_WITNESSES_BELOW=R searches only for rules whose witness reaches less than R. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/fixture/witness.h"
#include "case.h"
#include "check/bound/bound.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "check/runner.h"
#include "num/format.h"
#include "num/rng.h"
#include "op/defined.h"
#include "op/descriptor.h"

enum { DRAWS = 12, CHANGES = 6000, BYTES = 1 << 16 };

/* Extents with few numbers, in which a search can do much. The best of all that an op or its class
   has is kept. */
struct extents {
    enum hc_op_class class_;
    const char *op; /* NULL: the others of the class */
    int64_t d[8];
};
static const struct extents extents[] = {
    {HC_CLASS_REDUCTION, NULL, {16}},
    {HC_CLASS_GEMM, NULL, {1, 1, 16}},
    {HC_CLASS_GEMM, "gemm_q", {1, 1, 40}}, /* of two pieces and more */
    {HC_CLASS_CONV, "conv2d", {1, 1, 1, 16, 1, 1, 1, 0}},
    {HC_CLASS_CONV, "conv2d_bwd_data", {1, 1, 1, 1, 16, 1, 1, 0}},
    {HC_CLASS_CONV, "conv2d_bwd_filter", {16, 1, 1, 1, 1, 1, 1, 0}},
    {HC_CLASS_BATCH_NORM, NULL, {2, 1, 1, 1}},
    {HC_CLASS_BATCH_NORM, NULL, {3, 1, 1, 1}},
    {HC_CLASS_BATCH_NORM, NULL, {5, 1, 1, 1}},
    {HC_CLASS_POOL, NULL, {1, 3, 3, 1, 3}},
    {HC_CLASS_LOSS, NULL, {1, 2}},
    {HC_CLASS_LOSS, NULL, {3, 2}},
    {HC_CLASS_COLLECTIVE, NULL, {5, 1}},
    {HC_CLASS_CONTROL, "sum_squares", {16}},
};

/* The number `which` of an op's extents, or NULL behind the last one. */
static const int64_t *extents_of(enum hc_op op, int which)
{
    static const int64_t single[8] = {1};
    bool any = false;
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
        bool fits = extents[i].class_ == hc_ops[op].class_ &&
                    (!extents[i].op || strcmp(extents[i].op, hc_ops[op].name) == 0);
        if (fits && which-- == 0)
            return extents[i].d;
        any |= fits;
    }
    return !any && which == 0 ? single : NULL;
}

/* One rule of a bound: an output in one format and contract; and whether its results shall be
   subnormal. */
struct point {
    enum hc_op op;
    const struct hc_format_set *set;
    const struct hc_variant *variant;
    int out;
    enum hc_contract contract;
    bool subnormal;
};

static char memory[HC_MAX_IN + HC_MAX_OUT][BYTES] __attribute__((aligned(64)));
static char scratch[BYTES] __attribute__((aligned(64)));

static void place(struct hc_call *call)
{
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        struct hc_tensor *t = hc_slot_tensor(call, s);
        cr_assert_lt(hc_tensor_bytes(t), BYTES);
        if (!hc_op_absent(call, s))
            t->data = memory[s];
    }
    cr_assert_lt(hc_right_scratch(call), BYTES);
}

static struct hc_call call_of(const struct point *p, const int64_t *d)
{
    struct hc_op_shape shape = {.name = "witness"};
    memcpy(shape.d, d, sizeof shape.d);
    struct hc_call call = hc_op_call(p->op, p->set, &shape, p->variant);
    place(&call);
    return call;
}

/* Whether results are so small that the relative terms of a bound come to little: below 2^-8 of the
   smallest normal number. */
static bool is_asked_for(const struct hc_call *call, const struct point *p, int64_t i)
{
    if (!p->subnormal)
        return true;
    struct hc_exact want = hc_reference_value(call, p->out, i);
    double most = ldexp(1, hc_formats[call->out[p->out].format].emin - 8);
    return fabs(want.hi) <= most && want.magnitude <= most;
}

struct best {
    double ratio;
    int by;
    int64_t index;
};

static struct best look(const struct hc_call *call, const struct point *p)
{
    struct best best = {0};
    bool loss = hc_ops[p->op].class_ == HC_CLASS_LOSS;
    bool all = p->contract == HC_ANY_ORDER || loss || hc_call_tf32(call);
    for (int by = 0; by < (all ? HC_RIGHTS : 1); by++) {
        bool other = (by >= 1 && by <= 7) || strstr(hc_right_names[by], "base-2"); /* order */
        if ((other && p->contract == HC_STATED) || hc_right_run(by, call, scratch) != HC_OK)
            continue;
        for (int64_t i = 0; i < hc_tensor_count(&call->out[p->out]); i++) {
            double ratio = hc_witness_ratio(call, p->out, i, p->contract);
            if (ratio > best.ratio && ratio <= 1 && is_asked_for(call, p, i))
                best = (struct best){ratio, by, i};
        }
    }
    return best;
}

static double uniform(uint64_t seed, uint64_t *at)
{
    return hc_random_uniform(seed, 77, (*at)++);
}

/* A number whose size is that of the last bits of another of the call's numbers: what a sum with it
   loses. */
static double at_the_last_bits(const struct hc_call *call, double u, double v)
{
    int slot = (int)(u * hc_ops[call->op].inputs);
    const struct hc_tensor *t = &call->in[slot];
    if (!t->data || hc_tensor_count(t) == 0)
        return (double)NAN;
    double other = hc_tensor_get(t, (int64_t)(v * (double)hc_tensor_count(t)));
    int precision = hc_call_fp64(call) ? 53 : 24;
    return other == 0 ? (double)NAN : ldexp(1 + v, ilogb(other) - precision + (int)(8 * u) % 4);
}

/* Another number for one of a tensor's elements, mostly of the same sign, or NaN where it stays. */
static double changed(const struct hc_call *call, const struct point *p, int slot, int64_t i,
                      uint64_t *at)
{
    const struct hc_tensor *t = &call->in[slot];
    double x = hc_tensor_get(t, i);
    bool optimizer = hc_ops[call->op].class_ == HC_CLASS_OPTIMIZER;
    int hyper = optimizer ? hc_optimizer_slots(call->op)->hyper : -1;
    double u = uniform(1, at);
    double way = 2 * uniform(2, at) - 1;
    double y = x;
    if (p->op == HC_OP_bn_combine && slot == HC_BN_COMBINE_COUNTS)
        return 1 + floor(fabs(way) * ldexp(1, 1 + (int)(12 * u)));
    if (t->format == HC_I32 || x == 0 || (slot == hyper && i == HC_HYPER_STEP))
        return (double)NAN;
    if (slot != hyper && u < 0.2)
        y = x * (u < 0.1 ? 2 : 0.5);
    else if (slot != hyper && u < 0.25)
        y = copysign(hc_tensor_get(t, (int64_t)(way * way * (double)hc_tensor_count(t))), x);
    else if (slot != hyper && u < 0.3)
        y = copysign(at_the_last_bits(call, uniform(5, at), fabs(way)), x);
    else if (slot != hyper && u < 0.35)
        y = copysign(ldexp(1, ilogb(x)), x);
    else if (u < 0.45)
        y = copysign(ldexp(1 + fabs(way), ilogb(x)), x);
    else if (u < 0.6)
        y = x + round(8 * way) * hc_ulp(t->format, x);
    else
        y = x * (1 + ldexp(way, -(int)((2.5 * u - 1.5) * (hc_formats[t->format].precision + 2))));
    y = hc_round(t->format, y);
    bool one = slot == hyper && !(fabs(y) < 1);
    double least = hc_call_fp64(call) ? 0x1p-70 : 0x1p-40;
    bool small = p->subnormal ? y == 0 : !(fabs(y) > least);
    return one || small || !(fabs(y) < 0x1p12) ? (double)NAN : y;
}

static void keep(const struct hc_call *call, char *text, size_t size)
{
    size_t used = 0;
    for (int s = 0; s < hc_ops[call->op].inputs; s++)
        for (int64_t j = 0; call->in[s].data && j < hc_tensor_count(&call->in[s]); j++)
            used += (size_t)snprintf(text + used, size - used, "%s%a", used > 0 ? " " : "",
                                     hc_tensor_get(&call->in[s], j));
    cr_assert_lt(used, size);
}

static struct best draw(const struct hc_call *call, const struct point *p, char *text, size_t size)
{
    static const enum hc_distribution kinds[] = {
        HC_DRAW_NORMAL, HC_DRAW_POSITIVE, HC_DRAW_STAGNATION, HC_DRAW_CUT, HC_DRAW_LOGNORMAL};
    struct best best = {0};
    for (int k = 0; k < 5; k++)
        for (uint64_t seed = 1; seed <= DRAWS && best.ratio < 0.9; seed++) {
            if (!hc_distribution_applies(call, kinds[k]))
                break;
            hc_draw_inputs(call, kinds[k], seed);
            struct best here = look(call, p);
            if (here.ratio > best.ratio) {
                best = here;
                keep(call, text, size);
            }
        }
    return best;
}

/* Multiplies the numbers of each of the first three inputs by 1, by the root of the smallest number
   or by four times it, in the manner `which` of 27; the others are like the third. */
enum { MANNERS = 27 };
static void make_small(const struct hc_call *call, const struct point *p, int which)
{
    enum hc_format work = call->out[p->out].format;
    int least = ilogb(hc_format_tiny(work));
    bool optimizer = hc_ops[p->op].class_ == HC_CLASS_OPTIMIZER;
    int hyper = optimizer ? hc_optimizer_slots(p->op)->hyper : -1;
    for (int s = 0; s < hc_ops[p->op].inputs; s++) {
        const struct hc_tensor *t = &call->in[s];
        int by = (s == 0 ? which : s == 1 ? which / 3 : which / 9) % 3;
        int exponent = by == 0 ? 0 : by == 1 ? least / 2 : least + 2;
        for (int64_t i = 0; t->data && t->format != HC_I32 && s != hyper && i < hc_tensor_count(t);
             i++)
            hc_tensor_set(t, i, hc_round(t->format, ldexp(hc_tensor_get(t, i), exponent)));
    }
}

/* Numbers of which every addition errs to the same side by almost half of the last bit: one large
   product of codes and small ones, each 9/16 of the sum's last bit; one large rank and small ones.
   Batch norm and the ranks' means get numbers that are large beside their distances. Softmax gets
   logits, the second of whose exponentials is just below the last bit of the first one's, 1. */
static struct best draw_stagnant(const struct hc_call *call, const struct point *p, char *text,
                                 size_t size)
{
    bool norm = hc_ops[p->op].class_ == HC_CLASS_BATCH_NORM && call->in[HC_FIRST].rank > 1;
    bool loss = hc_ops[p->op].class_ == HC_CLASS_LOSS;
    if (p->op != HC_OP_gemm_q && p->op != HC_OP_all_reduce && !norm && !loss)
        return (struct best){0};
    hc_draw_inputs(call, HC_DRAW_NORMAL, 1);
    if (loss)
        memset(call->in[HC_XENT_LABELS].data, 0, hc_tensor_bytes(&call->in[HC_XENT_LABELS]));
    for (int s = 0; s < (p->op == HC_OP_gemm_q ? hc_ops[p->op].inputs : 1); s++) {
        const struct hc_tensor *t = &call->in[s];
        double small = s == HC_GEMM_Q_A ? 0x1.2p-5 : 0x1p-5;
        if (p->op == HC_OP_all_reduce)
            small = 0.98 * ldexp(1, 7 - hc_formats[call->params.all_reduce.sum].precision);
        for (int64_t i = 0; t->data && i < hc_tensor_count(t); i++)
            hc_tensor_set(t, i,
                          loss              ? (i % 2) * (hc_call_fp64(call) ? -36.75 : -16.75)
                          : norm            ? 1024 + hc_tensor_get(t, i)
                          : s > HC_GEMM_Q_B ? 1
                          : i == 0          ? 0x1p7
                                            : small);
    }
    keep(call, text, size);
    return look(call, p);
}

static struct best draw_small(const struct hc_call *call, const struct point *p, char *text,
                              size_t size)
{
    static const enum hc_distribution kinds[] = {HC_DRAW_NORMAL, HC_DRAW_POSITIVE};
    struct best best = {0};
    for (int which = 1; which < MANNERS; which++)
        for (int k = 0; k < 2; k++) {
            if (!hc_distribution_applies(call, kinds[k]))
                continue;
            hc_draw_inputs(call, kinds[k], 1);
            make_small(call, p, which);
            struct best here = look(call, p);
            if (here.ratio > best.ratio) {
                best = here;
                keep(call, text, size);
            }
        }
    return best;
}

/* A number that has been changed. */
struct change {
    const struct hc_tensor *t;
    int64_t i;
    double before;
};

/* Changes one number, or leaves it; whether it did. */
static bool change(const struct hc_call *call, const struct point *p, uint64_t *at,
                   struct change *done)
{
    int slot = (int)(uniform(3, at) * hc_ops[p->op].inputs);
    const struct hc_tensor *t = &call->in[slot];
    if (!t->data || hc_tensor_count(t) == 0)
        return false;
    int64_t i = (int64_t)(uniform(4, at) * (double)hc_tensor_count(t));
    double y = changed(call, p, slot, i, at);
    *done = (struct change){t, i, hc_tensor_get(t, i)};
    if (isnan(y))
        return false;
    hc_tensor_set(t, i, y);
    return true;
}

/* Goes on from the values in `text`, with which the best so far was reached. */
static struct best climb(const struct hc_call *call, const struct point *p, struct best best,
                         char *text, size_t size)
{
    const char *longer = getenv("HALFCHECK_WITNESSES_LONGER");
    int changes = (p->subnormal ? CHANGES / 4 : CHANGES) * (longer ? atoi(longer) : 1);
    struct hc_witness start = {.values = text};
    uint64_t at = 0;
    if (best.ratio == 0)
        return best;
    cr_assert(hc_witness_values(&start, call));
    for (int n = 0; n < changes && best.ratio < 0.85; n++) {
        struct change first, second;
        if (!change(call, p, &at, &first))
            continue;
        bool two = uniform(6, &at) < 0.4 && change(call, p, &at, &second);
        struct best here = look(call, p);
        if (here.ratio >= best.ratio) {
            best = here;
            continue;
        }
        if (two)
            hc_tensor_set(second.t, second.i, second.before);
        hc_tensor_set(first.t, first.i, first.before);
    }
    keep(call, text, size);
    return best;
}

/* Rules differ by parameters in fp32 and fp64, and those of codes, of which each set has fp32's
   sums, in the first set. In 16 bits the last rounding is most of a bound, and one variant shows
   it. Of codes and their scales the definition says every rounding: only one result is right. Sums
   of so few products of codes below 8 bits are exact. */
static bool is_asked(enum hc_op op, const struct hc_format_set *set, const struct hc_variant *v)
{
    bool wide = strcmp(set->name, "fp32") == 0 || strcmp(set->name, "fp64") == 0 ||
                (op == HC_OP_gemm_q && set == hc_opspace(op).sets);
    if (op == HC_OP_gemm_q && hc_formats[set->in].bits < 8)
        return false;
    return hc_ops[op].class_ != HC_CLASS_QUANT && hc_format_set_allowed(op, set, v) &&
           (wide || v == hc_opspace(op).variants);
}

/* Whether some drawn element has a bound: it is not settled to the bit. */
static bool is_bounded(const struct point *p)
{
    struct hc_call call = call_of(p, extents_of(p->op, 0));
    for (uint64_t seed = 1; seed <= 3; seed++) {
        hc_draw_inputs(&call, HC_DRAW_NORMAL, seed);
        struct hc_element e = {&call, p->out, 0};
        struct hc_exact want = hc_reference_value(&call, p->out, 0);
        uint64_t bits;
        const struct hc_accumulator plain = {.precision = hc_call_fp64(&call) ? 53 : 24,
                                             .block = 1};
        bool any = p->contract == HC_ANY_ORDER;
        if (!(any ? hc_bound_any_order_bits(&e, &want, &bits) : hc_bound_bits(&e, &want, &bits)) &&
            (any ? hc_bound_any_order(&e, &plain, &want) : hc_bound(&e, &plain, &want)) > 0)
            return true;
    }
    return false;
}

typedef void visit(const struct point *p, void *context);

static void each_point(visit *f, void *context)
{
    for (enum hc_op op = 0; (int)op < HC_OP_COUNT; op++) {
        /* What a definition says has the bound of its text, whose rules have tests of their own. */
        if (hc_ops[op].class_ == HC_CLASS_DEFINED)
            continue;
        struct hc_opspace space = hc_opspace(op);
        for (const struct hc_format_set *set = space.sets; set->name; set++)
            for (const struct hc_variant *v = space.variants; v->name; v++)
                for (int out = 0; out < hc_ops[op].outputs; out++)
                    for (int contract = HC_STATED; contract <= HC_ANY_ORDER; contract++) {
                        struct point p = {op, set, v, out, (enum hc_contract)contract, false};
                        if (!is_asked(op, set, v))
                            continue;
                        struct hc_call call = call_of(&p, extents_of(op, 0));
                        if (call.out[out].data && is_bounded(&p))
                            f(&p, context);
                    }
    }
}

static const char *variant_of(const struct point *p)
{
    const char *name = p->variant->name;
    return name[0] == '-' ? name + 1 : name;
}

static bool is_of(const struct hc_witness *w, const struct point *p)
{
    return strcmp(w->op, hc_ops[p->op].name) == 0 && strcmp(w->set, p->set->name) == 0 &&
           strcmp(w->variant, variant_of(p)) == 0 && w->contract == p->contract &&
           strcmp(w->output, hc_descriptor(p->op)->out[p->out].name) == 0;
}

/* The rule's witness that is kept, or NULL. */
static const struct hc_witness *kept(const struct point *p)
{
    const struct hc_witness *all = p->subnormal ? hc_subnormal_witnesses : hc_witnesses;
    int count = p->subnormal ? hc_subnormal_witness_count : hc_witness_count;
    for (int i = 0; i < count; i++)
        if (is_of(&all[i], p))
            return &all[i];
    return NULL;
}

/* What has been found for a rule. */
struct found {
    struct best best;
    int64_t d[8];
    char values[1 << 14];
};

static void better(struct found *found, struct best best, const int64_t *d, const char *values)
{
    if (best.ratio <= found->best.ratio)
        return;
    found->best = best;
    memcpy(found->d, d, sizeof found->d);
    (void)snprintf(found->values, sizeof found->values, "%s", values);
}

/* What a witness's values come to, and then what can be reached from them. */
static void from_witness(struct found *found, const struct point *p, const struct hc_witness *w,
                         bool goes_on)
{
    static char values[1 << 14];
    struct hc_call call = call_of(p, w->d);
    (void)snprintf(values, sizeof values, "%s", w->values);
    cr_assert(hc_witness_values(w, &call));
    struct best best = look(&call, p);
    better(found, best, w->d, values);
    if (goes_on)
        better(found, climb(&call, p, best, values, sizeof values), w->d, values);
}

/* What is bad for one output of a call may be so for another. */
static void from_others(struct found *found, const struct point *p)
{
    for (int out = 0; out < hc_ops[p->op].outputs; out++) {
        struct point other = *p;
        other.out = out;
        const struct hc_witness *w = kept(&other);
        if (w && out != p->out)
            from_witness(found, p, w, true);
    }
}

static void write_found(const struct point *p, const struct found *found, FILE *file)
{
    const int64_t *d = found->d;
    (void)fprintf(file,
                  "{\"%s\", \"%s\", \"%s\", {%d, %d, %d, %d, %d, %d, %d, %d},\n \"%s\", %d, "
                  "%s, \"%s\", %.3f,\n",
                  hc_ops[p->op].name, p->set->name, variant_of(p), (int)d[0], (int)d[1], (int)d[2],
                  (int)d[3], (int)d[4], (int)d[5], (int)d[6], (int)d[7],
                  hc_descriptor(p->op)->out[p->out].name, (int)found->best.index,
                  p->contract == HC_STATED ? "HC_STATED" : "HC_ANY_ORDER",
                  hc_right_names[found->best.by], floor(found->best.ratio * 1000) / 1000);
    for (const char *at = found->values; *at;) {
        size_t length = strlen(at) < 88 ? strlen(at) : 88;
        while (length == 88 && at[length - 1] != ' ')
            length--;
        length = strlen(at) < 88 ? strlen(at) : length;
        (void)fprintf(file, " \"%.*s\"%s\n", (int)length, at, at[length] ? "" : "},");
        at += length;
    }
    (void)fflush(file);
}

static void write_row(const struct point *p, void *context)
{
    static char values[1 << 14];
    static struct found found;
    const char *only = getenv("HALFCHECK_WITNESSES_OF");
    const char *below = getenv("HALFCHECK_WITNESSES_BELOW");
    double enough = below ? atof(below) : 0.85;
    if (only && !hc_any_glob(only, hc_ops[p->op].name))
        return;
    found = (struct found){.best = {0}};
    if (kept(p))
        from_witness(&found, p, kept(p), false);
    if (kept(p) && found.best.ratio < enough)
        from_witness(&found, p, kept(p), true);
    if (found.best.ratio < enough)
        from_others(&found, p);
    for (int k = 0; extents_of(p->op, k) && found.best.ratio < enough; k++) {
        struct hc_call call = call_of(p, extents_of(p->op, k));
        struct best best = p->subnormal ? draw_small(&call, p, values, sizeof values)
                                        : draw(&call, p, values, sizeof values);
        best = climb(&call, p, best, values, sizeof values);
        better(&found, best, extents_of(p->op, k), values);
        if (p->subnormal)
            continue;
        best = draw_stagnant(&call, p, values, sizeof values);
        best = climb(&call, p, best, values, sizeof values);
        better(&found, best, extents_of(p->op, k), values);
    }
    (void)fprintf(stderr, "%.3f %s %s %s %s %s\n", found.best.ratio, hc_ops[p->op].name,
                  p->set->name, variant_of(p), hc_descriptor(p->op)->out[p->out].name,
                  p->contract == HC_STATED ? "stated" : "any");
    if (found.best.ratio == 0 || (p->subnormal && found.best.ratio < 0.01))
        return; /* what comes no nearer shows nothing */
    write_found(p, &found, context);
}

static void expect_row(const struct point *p, void *context)
{
    int *missing = context;
    if (kept(p))
        return;
    (*missing)++;
    cr_expect(false, "%s of %s %s%s has no witness in contract %d",
              hc_descriptor(p->op)->out[p->out].name, hc_ops[p->op].name, p->set->name,
              p->variant->name, p->contract);
}

Test(search, every_rule_of_a_bound_has_a_witness)
{
    const char *path = getenv("HALFCHECK_WITNESSES");
    int missing = 0;
    if (path) {
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        each_point(write_row, file);
        cr_assert_eq(fclose(file), 0);
        return;
    }
    each_point(expect_row, &missing);
    cr_expect_eq(missing, 0);
}

/* Why no witness of some rules reaches half of the bound (docs/bounds.md shows the table). */
enum { HC_BOTH = HC_ANY_ORDER + 1 };
static const struct reason {
    const char *ops, *outputs, *sets; /* globs */
    int contract;
    const char *why;
} reasons[] = {
#include "cases/witness/reasons.inc"
};
enum { REASONS = sizeof reasons / sizeof reasons[0] };

static bool is_reason_of(const struct reason *r, const struct hc_witness *w)
{
    return hc_any_glob(r->ops, w->op) && hc_any_glob(r->outputs, w->output) &&
           hc_any_glob(r->sets, w->set) &&
           (r->contract == HC_BOTH || r->contract == (int)w->contract);
}

/* A reason that no rule needs any more would hide the next one that does. */
Test(search, a_rule_that_no_witness_reaches_half_of_has_a_reason)
{
    bool needed[REASONS] = {false};
    int half = 0;
    for (int i = 0; i < hc_witness_count; i++) {
        const struct hc_witness *w = &hc_witnesses[i];
        bool any = w->reached >= 0.5;
        half += any;
        for (int r = 0; r < REASONS && w->reached < 0.5; r++)
            if (is_reason_of(&reasons[r], w))
                any = needed[r] = true;
        cr_expect(any, "%s of %s %s %s reaches %.3f and has no reason", w->output, w->op, w->set,
                  w->variant, w->reached);
    }
    for (int r = 0; r < REASONS; r++)
        cr_expect(needed[r], "nothing needs the reason: %s", reasons[r].why);
    cr_expect_geq(half, 828, "%d", half);
}

/* What underflow loses shows only in outputs that are as wide as the sums: below a half's subnormal
   numbers it is nothing, unless the sums are halves, too. */
static bool may_be_subnormal(const struct point *p)
{
    struct hc_call call = call_of(p, extents_of(p->op, 0));
    enum hc_format out = call.out[p->out].format;
    bool halves = hc_ops[p->op].class_ == HC_CLASS_REDUCTION || strstr(p->set->name, "-in-") ||
                  (p->op == HC_OP_gemm && call.params.gemm.half_accumulator);
    return halves || out == HC_FP32 || out == HC_FP64;
}

static void write_small_row(const struct point *p, void *context)
{
    struct point small = *p;
    small.subnormal = true;
    if (may_be_subnormal(p))
        write_row(&small, context);
}

/* A rule that a first draw of small numbers comes near to has a witness. */
static void expect_small_row(const struct point *p, void *context)
{
    static char values[1 << 14];
    int *missing = context;
    struct point small = *p;
    small.subnormal = true;
    if (!may_be_subnormal(p) || kept(&small))
        return;
    struct hc_call call = call_of(p, extents_of(p->op, 0));
    if (draw_small(&call, &small, values, sizeof values).ratio < 0.1)
        return;
    (*missing)++;
    cr_expect(false, "%s of %s %s%s has no subnormal witness in contract %d",
              hc_descriptor(p->op)->out[p->out].name, hc_ops[p->op].name, p->set->name,
              p->variant->name, p->contract);
}

/* HALFCHECK_SUBNORMAL_WITNESSES=FILE searches again and writes cases/witness/subnormal.inc. */
Test(search, rules_that_small_results_come_near_to_have_a_subnormal_witness)
{
    const char *path = getenv("HALFCHECK_SUBNORMAL_WITNESSES");
    int missing = 0;
    if (path) {
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        each_point(write_small_row, file);
        cr_assert_eq(fclose(file), 0);
        return;
    }
    each_point(expect_small_row, &missing);
    cr_expect_eq(missing, 0);
}

/* A row whose op has no case would never be looked at. */
Test(search, every_witness_belongs_to_a_case)
{
    extern const struct hc_case_table hc_cases_witness_bounds;
    for (int i = 0; i < hc_witness_count; i++) {
        bool any = false;
        for (int c = 0; c < hc_cases_witness_bounds.count; c++)
            any |= strcmp(hc_cases_witness_bounds.cases[c].name + strlen("witness/"),
                          hc_witnesses[i].op) == 0;
        cr_expect(any, "witness/%s", hc_witnesses[i].op);
    }
}
