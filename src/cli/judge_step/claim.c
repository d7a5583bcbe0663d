#include "cli/judge_step/claim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "cli/judge_step/comparison.h"
#include "num/ulp.h"

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

enum hc_status hc_step_court_open(struct hc_step_court *court, struct hc_step *step)
{
    *court = (struct hc_step_court){.step = step,
                                    .backend = hc_backend_by_name("host"),
                                    .accumulator = {.precision = 24, .block = 1}};
    return hc_backend_open(court->backend, &court->queue, 0);
}

void hc_step_court_close(struct hc_step_court *court)
{
    if (court->queue)
        court->backend->close(court->queue);
    free(court->verdicts);
}

struct hc_step_verdict *hc_step_add_verdict(struct hc_step_court *court, const char *stage,
                                            const char *what, const char *where)
{
    if (court->count == court->capacity) {
        int capacity = 2 * court->capacity + 64;
        void *grown = realloc(court->verdicts, (size_t)capacity * sizeof *court->verdicts);
        if (!grown) {
            court->step->status = hc_fail(HC_NO_MEMORY, "no memory for a verdict");
            (void)snprintf(court->step->message, sizeof court->step->message, "%s", hc_message());
            return NULL;
        }
        court->verdicts = grown;
        court->capacity = capacity;
    }
    struct hc_step_verdict *v = &court->verdicts[court->count++];
    *v = (struct hc_step_verdict){.stage = stage, .what = what};
    (void)snprintf(v->where, sizeof v->where, "%s", where);
    if (court->progress)
        court->progress(v);
    return v;
}

/* Whether all numbers of a tensor are numbers of f, and at least so many of them are not so round
   that they say nothing. */
static bool all_in(const struct hc_tensor *t, enum hc_format f, int telling_least)
{
    int telling = 0;
    for (int64_t i = 0; i < hc_tensor_count(t); i++) {
        double x = hc_tensor_get(t, i);
        if (isfinite(x) && hc_round(f, x) != x)
            return false;
        telling += isfinite(x) && x != 0 && hc_round(HC_E5M2, x) != x;
    }
    return telling >= telling_least;
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
static int ways_of(const struct hc_step_claim *claim, struct hc_step_way ways[MOST_WAYS])
{
    enum hc_op_class class = hc_ops[claim->call.op].class_;
    bool products = (class == HC_CLASS_CONV || class == HC_CLASS_GEMM) && may_be_cut(claim);
    enum hc_format out = held(claim);
    int n = 0;
    ways[n++] = (struct hc_step_way){claim->expected, out};
    for (int w = 0; claim->data && w < WIDTHS; w++)
        if (by_width[w] != claim->expected && (products || by_width[w] != HC_TF32) &&
            (by_width[w] == HC_FP64) == (claim->call.in[HC_FIRST].format == HC_FP64))
            ways[n++] = (struct hc_step_way){by_width[w], out};
    return n;
}

static void name_way(struct hc_step_way way, char text[24])
{
    if (way.in == way.out)
        (void)snprintf(text, 24, "%s", hc_formats[way.in].name);
    else
        (void)snprintf(text, 24, "%s>%s", hc_formats[way.in].name, hc_formats[way.out].name);
}

static bool is_wrong(const struct hc_step_comparison *c)
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

static void tell(struct hc_step_verdict *v, const struct hc_tensor *t,
                 const struct hc_step_comparison *all, int64_t n)
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
static void find_factor(struct hc_step_verdict *v, const struct hc_step_comparison *all, int64_t n)
{
    const struct hc_step_comparison *most = &all[0];
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
static void conclude(const struct hc_step *step, struct hc_step_verdict *v,
                     const struct hc_step_claim *claim, struct hc_step_way way)
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
static bool try(struct hc_step_court *court, const struct hc_step_claim *claim,
                struct hc_step_way way, int64_t most, struct hc_step_verdict *v, bool explain)
{
    struct hc_step_call made;
    struct hc_step_comparison *all = NULL;
    int64_t n = 0;
    if (hc_step_call_open(&made, claim, way) == HC_OK)
        n = hc_step_sample(court, claim, &made.call, &all);
    if (n > most)
        n = most;
    if (n > 0) {
        hc_step_compare(court, claim, &made.call, all, n);
        tell(v, &made.call.out[claim->out], all, n);
        if (explain && v->wrong)
            find_factor(v, all, n);
    }
    free(all);
    hc_step_call_close(&made);
    return n > 0;
}

/* Whether sums in an accumulator of the 16-bit format f, in any order, explain what is wrong. */
static bool sums_in(struct hc_step_court *court, const struct hc_step_claim *claim,
                    struct hc_step_way way, enum hc_format f)
{
    struct hc_step_court narrow = *court;
    struct hc_step_verdict v = {0};
    enum hc_op_class class = hc_ops[claim->call.op].class_;
    if ((f != HC_FP16 && f != HC_BF16) || (class != HC_CLASS_CONV && class != HC_CLASS_GEMM))
        return false;
    narrow.accumulator = (struct hc_accumulator){.precision = hc_formats[f].precision, .block = 1};
    return try(&narrow, claim, way, INT64_MAX, &v, false) && v.wrong == 0;
}

bool hc_step_fits(struct hc_step_court *court, const struct hc_step_claim *claim)
{
    enum { FEW = 64 };
    struct hc_step_verdict v = {0};
    return complete(claim) &&
           try(court, claim, (struct hc_step_way){claim->expected, held(claim)}, FEW, &v, false) &&
           v.wrong == 0;
}

struct hc_step_verdict *hc_step_judge(struct hc_step_court *court,
                                      const struct hc_step_claim *claim)
{
    struct hc_step_way ways[MOST_WAYS];
    struct hc_step_verdict *v = hc_step_add_verdict(court, claim->stage, claim->what, claim->where);
    if (!v)
        return NULL;
    v->elements = hc_tensor_count(&claim->got);
    if (!complete(claim)) {
        v->judgement = HC_STEP_NOT_JUDGED;
        (void)snprintf(v->note, sizeof v->note, "the file lacks %s",
                       claim->got.data ? "what it is made of" : "it");
        return v;
    }
    int n = ways_of(claim, ways);
    enum hc_format expected = claim->expected;
    if (!try(court, claim, ways[0], INT64_MAX, v, true)) {
        court->step->status = HC_NO_MEMORY;
        return v;
    }
    if (v->wrong == 0) {
        conclude(court->step, v, claim, ways[0]);
        return v;
    }
    for (int w = 1; w < n && !v->note[0]; w++) {
        struct hc_step_verdict other = *v;
        if (try(court, claim, ways[w], INT64_MAX, &other, false) && other.wrong == 0) {
            const struct hc_step_verdict due = *v;
            *v = other;
            conclude(court->step, v, claim, ways[w]);
            add_worst(v, &due, expected);
            return v;
        }
    }
    name_way(ways[0], v->format);
    v->judgement = HC_STEP_WRONG;
    if (!v->note[0] && sums_in(court, claim, ways[0], expected))
        (void)snprintf(v->note, sizeof v->note,
                       "its sums are as inexact as an accumulator of %s makes them; fp32 was due",
                       hc_formats[expected].name);
    return v;
}
