#include "cli/judge_step/claim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "num/rng.h"
#include "num/ulp.h"
#include "op/defined.h"

/* One way in which a claim may have been computed. */
struct step_way {
    enum hc_format in;  /* its data are rounded into this; tf32 is taken as fp32 that may be cut */
    enum hc_format out; /* its result is rounded into this before it is stored */
};

struct step_comparison {
    int64_t index;
    struct hc_exact want;
    double got;
    double error;
    double bound;
};

/* The claim's call with its tensors in the formats of a way. The memory is the caller's to free
   with step_call_close. HC_NO_MEMORY. */
struct step_call {
    struct hc_call call;
    void *owned[HC_MAX_IN + 1];
    int count;
};

/* Which elements of a tensor are compared with MPFR. */

enum {
    SUSPECTS = 16,       /* elements that lie furthest from fp64's */
    MOST_TERMS = 200000, /* of all sums in a claim: some 20 ms */
    LEAST = 24,          /* elements, however long their sums are */
    NORM_COST = 6,       /* batch norm goes through its channel several times for each element */
    DEFINED_COST = 20,   /* a definition is followed word by word, */
    OPTIMIZER_COST = 40, /* and an optimizer has that many operations */
    ELEMENT_COST = 4,
    SEED = 12
};

/* The call in fp64: every tensor, and the arithmetic. */
static bool widen(struct hc_call *call, void *owned[HC_MAX_IN + HC_MAX_OUT])
{
    const struct hc_op_info *info = &hc_ops[call->op];
    const struct hc_optimizer_slots *s =
        info->class_ == HC_CLASS_OPTIMIZER ? hc_optimizer_slots(call->op) : NULL;
    int count = 0;
    for (int i = 0; i < info->inputs + info->outputs; i++) {
        bool out = i >= info->inputs;
        struct hc_tensor *t = out ? &call->out[i - info->inputs] : &call->in[i];
        bool narrow = s && !out && (i == s->hyper || i == s->found_inf);
        if ((!t->data && !out) || t->format == HC_I32 || t->rank == 0)
            continue;
        struct hc_tensor from = *t;
        t->format = narrow ? HC_FP32 : HC_FP64;
        t->data = owned[count++] = aligned_alloc(64, (hc_tensor_bytes(t) + 64) / 64 * 64);
        if (!t->data)
            return false;
        for (int64_t k = 0; !out && k < hc_tensor_count(t); k++)
            hc_tensor_set(t, k, hc_tensor_get(&from, k));
    }
    hc_call_compute_in(call, HC_FP64);
    return true;
}

/* All elements in fp64, which the caller frees; NULL where that cannot be had. */
static double *in_fp64(const struct hc_step_session *session, const struct hc_step_claim *claim,
                       const struct hc_call *from)
{
    void *owned[HC_MAX_IN + HC_MAX_OUT] = {0};
    struct hc_call call = *from;
    int64_t n = hc_tensor_count(&claim->got);
    double *values = NULL;
    bool ready = widen(&call, owned) && hc_call_fp64(&call) && hc_call_check(&call) == HC_OK &&
                 hc_backend_has(session->backend, &call) == HC_OK;
    size_t bytes =
        ready && session->backend->scratch ? session->backend->scratch(session->queue, &call) : 0;
    call.scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    if (ready && (!bytes || call.scratch) &&
        session->backend->kernel[call.op](session->queue, &call) == HC_OK)
        values = malloc((size_t)n * sizeof *values + 1);
    for (int64_t i = 0; values && i < n; i++) {
        values[i] = hc_tensor_get(&call.out[claim->out], i);
        values[i] += claim->addend.data ? hc_tensor_get(&claim->addend, i) : 0;
    }
    free(call.scratch);
    for (int i = 0; i < HC_MAX_IN + HC_MAX_OUT; i++)
        free(owned[i]);
    return values;
}

/* How far an element is off, against itself and against the tensor as a whole. */
static double score(double want, double got, double scale)
{
    double off = fabs(got - want);
    if (isnan(off))
        return isnan(want) && isnan(got) ? 0 : (double)INFINITY;
    return off / (fabs(want) + scale + 0x1p-1022);
}

/* Puts the worst elements to the front of *all; returns how many. */
static int64_t suspects(const struct hc_step_session *session, const struct hc_step_claim *claim,
                        const struct hc_call *call, struct step_comparison *all)
{
    double worst[SUSPECTS];
    double squares = 0;
    int found = 0;
    int64_t n = hc_tensor_count(&claim->got);
    double *wide = in_fp64(session, claim, call);
    for (int64_t i = 0; wide && i < n; i++)
        squares += wide[i] * wide[i];
    double scale = isfinite(squares) ? sqrt(squares / (double)n) : 0;
    for (int64_t i = 0; wide && i < n; i++) {
        double s = score(wide[i], hc_tensor_get(&claim->got, i), scale);
        int at = found;
        while (at > 0 && worst[at - 1] < s)
            at--;
        if (at == SUSPECTS)
            continue;
        found += found < SUSPECTS;
        for (int k = found - 1; k > at; k--) {
            worst[k] = worst[k - 1];
            all[k].index = all[k - 1].index;
        }
        worst[at] = s;
        all[at].index = i;
    }
    free(wide);
    return found;
}

/* The elements of a claim to look at, in any order: all; or at each end, at random in equal
   stretches, and where the tensor lies furthest from what fp64 arithmetic makes of the inputs.
   Returns how many; 0 with HC_NO_MEMORY's line. The caller frees *all. */
static int64_t step_sample(const struct hc_step_session *session, const struct hc_step_claim *claim,
                           const struct hc_call *call, struct step_comparison **all)
{
    int64_t n = hc_tensor_count(&claim->got);
    double cost = fmax(hc_call_length(call), 1);
    switch (hc_ops[call->op].class_) {
    case HC_CLASS_BATCH_NORM:
        cost *= NORM_COST;
        break;
    case HC_CLASS_DEFINED:
        cost *= DEFINED_COST;
        break;
    case HC_CLASS_OPTIMIZER:
        cost *= OPTIMIZER_COST;
        break;
    default:
        cost = fmax(cost, ELEMENT_COST);
        break;
    }
    double most = session->every ? (double)n : fmax(LEAST, MOST_TERMS / cost);
    int64_t stretches = (double)n <= most ? n : (int64_t)most;
    *all = calloc((size_t)stretches + SUSPECTS + 1, sizeof **all);
    if (!*all) {
        (void)hc_fail(HC_NO_MEMORY, "no memory for %lld comparisons", (long long)stretches);
        return 0;
    }
    int64_t count = stretches < n ? suspects(session, claim, call, *all) : 0;
    for (int64_t k = 0; k < stretches; k++) {
        int64_t first = k * n / stretches;
        int64_t last = (k + 1) * n / stretches - 1;
        int64_t way =
            (int64_t)(hc_random(SEED, (uint64_t)n, (uint64_t)k) % (uint64_t)(last - first + 1));
        bool end = k == stretches - 1;
        (*all)[count++].index = k == 0 ? first : end ? last : first + way;
    }
    return count;
}

/* The inside of a claim: its elements, one by one, against MPFR. */

/* Copies a tensor into another format, to nearest. */
static struct hc_tensor converted(struct step_call *made, struct hc_tensor t, enum hc_format f)
{
    if (!t.data || t.format == f)
        return t;
    struct hc_tensor to = t;
    to.format = f;
    to.data = malloc(hc_tensor_bytes(&to) + 1);
    for (int64_t i = 0; to.data && i < hc_tensor_count(&t); i++)
        hc_tensor_set(&to, i, hc_tensor_get(&t, i));
    if (to.data)
        made->owned[made->count++] = to.data;
    return to;
}

static enum hc_status step_call_open(struct step_call *made, const struct hc_step_claim *claim,
                                     struct step_way way)
{
    *made = (struct step_call){.call = claim->call};
    for (int i = 0; i < hc_ops[claim->call.op].inputs; i++)
        if (claim->data >> i & 1) {
            enum hc_format in = way.in == HC_TF32 ? HC_FP32 : way.in;
            made->call.in[i] = converted(made, claim->call.in[i], in);
            if (claim->call.in[i].data && !made->call.in[i].data)
                return hc_fail(HC_NO_MEMORY, "no memory to judge %s", claim->where);
        }
    if (way.in == HC_TF32)
        hc_call_compute_in(&made->call, HC_TF32);
    made->call.out[claim->out] = converted(made, claim->got, way.out);
    if (!made->call.out[claim->out].data)
        return hc_fail(HC_NO_MEMORY, "no memory to judge %s", claim->where);
    return HC_OK;
}

static void step_call_close(struct step_call *made)
{
    for (int i = 0; i < made->count; i++)
        free(made->owned[i]);
}

/* want + a. What was computed first lies within `bound` of want; the sum is rounded once, by half
   an ulp of what it may be. */
static void add_addend(struct step_comparison *c, double a, enum hc_format format)
{
    double sum = c->want.hi + a;
    double back = sum - c->want.hi;
    double lo = (c->want.hi - (sum - back)) + (a - back);
    c->want.lo = isfinite(sum) ? c->want.lo + lo : 0;
    c->want.hi = sum;
    if (!isfinite(sum))
        return;
    c->bound += hc_ulp(format, fabs(sum) + c->bound) / 2;
}

static void compare_elements(const struct hc_step_session *session,
                             const struct hc_step_claim *claim, const struct hc_call *call,
                             struct step_comparison *c)
{
    const struct hc_tensor *t = &call->out[claim->out];
    struct hc_element e = {call, claim->out, c->index};
    uint64_t bits;
    c->want = hc_reference_value(call, claim->out, c->index);
    c->got = hc_tensor_get(t, c->index);
    c->bound = claim->strayed ? hc_bound_strayed(&e, claim->strayed, &c->want)
                              : hc_bound_any_order(&e, &session->accumulator, &c->want);
    bool one = !claim->addend.data && hc_bound_any_order_bits(&e, &c->want, &bits);
    if (claim->addend.data)
        add_addend(c, hc_tensor_get(&claim->addend, c->index), t->format);
    c->error = hc_bound_error(t->format, &c->want, c->got);
    if (isinf(c->bound))
        c->error = 0;
    /* One result is right: whatever misses it is wrong, also within half an ulp. */
    if (one && hc_decode(t->format, bits) != c->got && !(isnan(c->want.hi) && isnan(c->got)))
        c->bound = 0;
}

/* Compares n elements, whose indices are there already. */
static void step_compare(const struct hc_step_session *session, const struct hc_step_claim *claim,
                         const struct hc_call *call, struct step_comparison *all, int64_t n)
{
#pragma omp parallel
    {
        hc_reference_begin(call);
#pragma omp for schedule(dynamic, 4)
        for (int64_t k = 0; k < n; k++)
            compare_elements(session, claim, call, &all[k]);
        hc_reference_end();
    }
}

/* From wide to narrow. */
static const enum hc_format by_width[] = {HC_FP64, HC_FP32, HC_TF32, HC_FP16, HC_BF16};

enum {
    WIDTHS = sizeof by_width / sizeof by_width[0],
    MOST_WAYS = WIDTHS + 1,
    TELLING = 32 /* numbers that say something about their format */
};

static int width(enum hc_format f)
{
    int w = 0;
    while (w < WIDTHS - 1 && by_width[w] != f)
        w++;
    return w;
}

enum hc_format hc_step_narrower(enum hc_format a, enum hc_format b)
{
    return width(a) > width(b) ? a : b;
}

enum hc_status hc_step_session_open(struct hc_step_session *session, struct hc_step *step)
{
    *session = (struct hc_step_session){.step = step,
                                        .backend = hc_backend_by_name("host"),
                                        .accumulator = {.precision = 24, .block = 1}};
    return hc_backend_open(session->backend, &session->queue, 0);
}

void hc_step_session_close(struct hc_step_session *session)
{
    if (session->queue)
        session->backend->close(session->queue);
    free(session->verdicts);
}

struct hc_step_verdict *hc_step_add_verdict(struct hc_step_session *session, const char *stage,
                                            const char *what, const char *where)
{
    if (session->count == session->capacity) {
        int capacity = 2 * session->capacity + 64;
        void *grown = realloc(session->verdicts, (size_t)capacity * sizeof *session->verdicts);
        if (!grown) {
            session->step->status = hc_fail(HC_NO_MEMORY, "no memory for a verdict");
            (void)snprintf(session->step->message, sizeof session->step->message, "%s",
                           hc_message());
            return NULL;
        }
        session->verdicts = grown;
        session->capacity = capacity;
    }
    struct hc_step_verdict *v = &session->verdicts[session->count++];
    *v = (struct hc_step_verdict){.stage = stage, .what = what};
    (void)snprintf(v->where, sizeof v->where, "%s", where);
    if (session->progress)
        session->progress(v);
    return v;
}

/* Whether all numbers of a tensor are numbers of f, and at least so many of them are not so round
   that they say nothing. */
static bool all_in(const struct hc_tensor *t, enum hc_format f, int distinct_least)
{
    int distinct = 0;
    for (int64_t i = 0; i < hc_tensor_count(t); i++) {
        double x = hc_tensor_get(t, i);
        if (isfinite(x) && hc_round(f, x) != x)
            return false;
        distinct += isfinite(x) && x != 0 && hc_round(HC_E5M2, x) != x;
    }
    return distinct >= distinct_least;
}

/* The narrowest format whose numbers the tensor holds, which may be narrower than its own. */
static enum hc_format held(const struct hc_step_claim *claim)
{
    enum hc_format own = claim->got.format;
    enum hc_format expected = claim->expected;
    if (!claim->data) /* a copy, or an optimizer's state, which may hold what it began with */
        return own;
    if (width(expected) > width(own) && all_in(&claim->got, expected, 0))
        return expected;
    for (int w = WIDTHS - 1; w > width(own); w--)
        if (by_width[w] != HC_TF32 && all_in(&claim->got, by_width[w], TELLING))
            return by_width[w];
    return own;
}

/* Whether some of the data have more bits than tf32 keeps. In 16 bits they are what they are, so
   that tf32 explains nothing: it would only widen the bound. */
static bool may_be_cut(const struct hc_step_claim *claim)
{
    for (int i = 0; i < hc_ops[claim->call.op].inputs; i++)
        if (claim->data >> i & 1 && width(claim->call.in[i].format) < width(HC_TF32))
            return true;
    return false;
}

/* The ways to try: as expected, then from wide to narrow. */
static int ways_of(const struct hc_step_claim *claim, struct step_way ways[MOST_WAYS])
{
    enum hc_op_class class = hc_ops[claim->call.op].class_;
    bool products = (class == HC_CLASS_CONV || class == HC_CLASS_GEMM) && may_be_cut(claim);
    enum hc_format out = held(claim);
    int n = 0;
    ways[n++] = (struct step_way){claim->expected, out};
    for (int w = 0; claim->data && w < WIDTHS; w++)
        if (by_width[w] != claim->expected && (products || by_width[w] != HC_TF32) &&
            (by_width[w] == HC_FP64) == (claim->call.in[HC_FIRST].format == HC_FP64))
            ways[n++] = (struct step_way){by_width[w], out};
    return n;
}

static void name_way(struct step_way way, char text[24])
{
    if (way.in == way.out)
        (void)snprintf(text, 24, "%s", hc_formats[way.in].name);
    else
        (void)snprintf(text, 24, "%s>%s", hc_formats[way.in].name, hc_formats[way.out].name);
}

static bool is_wrong(const struct step_comparison *c)
{
    return !(c->error <= c->bound);
}

/* An index in halfcheck's layout as the file has it. */
static int64_t in_file(const struct hc_tensor *t, int64_t i)
{
    if (t->rank != HC_MAX_RANK)
        return i;
    int64_t c = i % t->shape[3];
    int64_t w = i / t->shape[3] % t->shape[2];
    int64_t h = i / t->shape[3] / t->shape[2] % t->shape[1];
    int64_t n = i / t->shape[3] / t->shape[2] / t->shape[1];
    return ((n * t->shape[3] + c) * t->shape[1] + h) * t->shape[2] + w;
}

static void set_worst(struct hc_step_verdict *v, const struct hc_tensor *t,
                      const struct step_comparison *all, int64_t n)
{
    v->ratio = -1;
    v->wrong = 0;
    v->checked = n;
    for (int64_t k = 0; k < n; k++) {
        double ratio = hc_ratio(all[k].error, all[k].bound);
        v->wrong += is_wrong(&all[k]);
        if (!(ratio > v->ratio) && !isnan(ratio))
            continue;
        v->ratio = isnan(ratio) ? (double)INFINITY : ratio;
        v->index = in_file(t, all[k].index);
        v->want = all[k].want.hi;
        v->got = all[k].got;
        v->error = all[k].error;
        v->bound = all[k].bound;
        v->ulps = all[k].error / hc_ulp(t->format, all[k].want.hi);
    }
}

/* Whether one factor explains all that is wrong. */
static void find_factor(struct hc_step_verdict *v, const struct step_comparison *all, int64_t n)
{
    const struct step_comparison *most = &all[0];
    for (int64_t k = 1; k < n; k++)
        if (fabs(all[k].want.hi) * most->bound > fabs(most->want.hi) * all[k].bound)
            most = &all[k];
    double factor = most->got / most->want.hi;
    double slack = most->bound / fabs(most->want.hi);
    if (!isfinite(factor) || fabs(factor - 1) < 0.01 || n < 4)
        return;
    if (fabs(factor - round(factor)) <= 4 * slack * fabs(factor))
        factor = round(factor);
    for (int64_t k = 0; k < n; k++)
        if (!(fabs(all[k].got - factor * all[k].want.hi) <=
              2 * fabs(factor) * (all[k].bound + slack * fabs(all[k].want.hi))))
            return;
    if (factor == 0)
        (void)snprintf(v->note, sizeof v->note, "every element is 0");
    else
        (void)snprintf(v->note, sizeof v->note, "every element is %.6g times what it should be",
                       factor);
}

/* The verdict on a step that was computed in this way. */
static void conclude_claim(const struct hc_step *step, struct hc_step_verdict *v,
                           const struct hc_step_claim *claim, struct step_way way)
{
    enum hc_format own = claim->got.format;
    const char *expected = hc_formats[claim->expected].name;
    name_way(way, v->format);
    v->judgement = HC_STEP_RIGHT;
    if (way.out != own && way.out != claim->expected) {
        v->judgement = HC_STEP_WRONG;
        (void)snprintf(v->note, sizeof v->note, "every element is a number of %s, where %s was due",
                       hc_formats[way.out].name, hc_formats[own].name);
    } else if (way.in == HC_TF32 && hc_step_allows_tf32(step)) {
        (void)snprintf(v->note, sizeof v->note, "its inputs were taken as tf32, as they may be");
    } else if (width(way.in) > width(claim->expected)) {
        v->judgement = HC_STEP_WRONG;
        (void)snprintf(v->note, sizeof v->note, "it was computed in %s, where %s was due",
                       hc_formats[way.in].name, expected);
    } else if (way.in != claim->expected)
        (void)snprintf(v->note, sizeof v->note, "its inputs were taken in %s, not in %s",
                       hc_formats[way.in].name, expected);
}

/* Says how far it is beyond the bound of the format that was due: what another format explains need
   not be what happened. */
static void add_worst(struct hc_step_verdict *v, const struct hc_step_verdict *due,
                      enum hc_format expected)
{
    size_t used = strlen(v->note);
    if (v->note[0])
        (void)snprintf(v->note + used, sizeof v->note - used,
                       "; as %s, %lld of %lld elements are beyond the bound, by %.3g times",
                       hc_formats[expected].name, (long long)due->wrong, (long long)due->checked,
                       due->ratio);
}

static bool complete(const struct hc_step_claim *claim)
{
    const struct hc_op_info *info = &hc_ops[claim->call.op];
    for (int i = 0; i < info->inputs; i++)
        if (claim->call.in[i].rank > 0 && !claim->call.in[i].data)
            return false;
    return claim->got.data && hc_tensor_count(&claim->got) > 0;
}

/* Compares in one way; false if there is no memory. */
static bool try(struct hc_step_session *session, const struct hc_step_claim *claim,
                struct step_way way, int64_t most, struct hc_step_verdict *v, bool explain)
{
    struct step_call made;
    struct step_comparison *all = NULL;
    int64_t n = 0;
    if (step_call_open(&made, claim, way) == HC_OK)
        n = step_sample(session, claim, &made.call, &all);
    if (n > most)
        n = most;
    if (n > 0) {
        step_compare(session, claim, &made.call, all, n);
        set_worst(v, &made.call.out[claim->out], all, n);
        if (explain && v->wrong)
            find_factor(v, all, n);
    }
    free(all);
    step_call_close(&made);
    return n > 0;
}

/* Whether sums in an accumulator of the 16-bit format f, in any order, explain what is wrong. */
static bool sums_in(struct hc_step_session *session, const struct hc_step_claim *claim,
                    struct step_way way, enum hc_format f)
{
    struct hc_step_session narrow = *session;
    struct hc_step_verdict v = {0};
    enum hc_op_class class = hc_ops[claim->call.op].class_;
    if ((f != HC_FP16 && f != HC_BF16) || (class != HC_CLASS_CONV && class != HC_CLASS_GEMM))
        return false;
    narrow.accumulator = (struct hc_accumulator){.precision = hc_formats[f].precision, .block = 1};
    return try(&narrow, claim, way, INT64_MAX, &v, false) && v.wrong == 0;
}

bool hc_step_fits(struct hc_step_session *session, const struct hc_step_claim *claim)
{
    enum { FEW = 64 };
    struct hc_step_verdict v = {0};
    return complete(claim) &&
           try(session, claim, (struct step_way){claim->expected, held(claim)}, FEW, &v, false) &&
           v.wrong == 0;
}

static bool is_product(enum hc_op op)
{
    return op == HC_OP_gemm || op == HC_OP_conv2d || op == HC_OP_conv2d_bwd_data ||
           op == HC_OP_conv2d_bwd_filter;
}

struct hc_step_verdict *hc_step_judge(struct hc_step_session *session,
                                      const struct hc_step_claim *claim)
{
    struct step_way ways[MOST_WAYS];
    struct hc_step_verdict *v =
        hc_step_add_verdict(session, claim->stage, claim->what, claim->where);
    if (!v)
        return NULL;
    v->elements = hc_tensor_count(&claim->got);
    if (claim->quantised && is_product(claim->call.op)) {
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note, "it is a product of quantised operands");
        return v;
    }
    if (!complete(claim)) {
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note, "the file lacks %s",
                       claim->got.data ? "what it is made of" : "it");
        return v;
    }
    int n = ways_of(claim, ways);
    enum hc_format expected = claim->expected;
    if (!try(session, claim, ways[0], INT64_MAX, v, true)) {
        session->step->status = HC_NO_MEMORY;
        return v;
    }
    if (v->wrong == 0) {
        conclude_claim(session->step, v, claim, ways[0]);
        return v;
    }
    for (int w = 1; w < n && !v->note[0]; w++) {
        struct hc_step_verdict other = *v;
        if (try(session, claim, ways[w], INT64_MAX, &other, false) && other.wrong == 0) {
            const struct hc_step_verdict due = *v;
            *v = other;
            conclude_claim(session->step, v, claim, ways[w]);
            add_worst(v, &due, expected);
            return v;
        }
    }
    name_way(ways[0], v->format);
    v->judgement = HC_STEP_WRONG;
    if (!v->note[0] && sums_in(session, claim, ways[0], expected))
        (void)snprintf(v->note, sizeof v->note,
                       "its sums are as inexact as an accumulator of %s makes them; fp32 was due",
                       hc_formats[expected].name);
    return v;
}
