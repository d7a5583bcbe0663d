/* hc_claim_call: got against the reference, against the bits that `exact` defines, and the three
   answers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound.h"
#include "check/do.h"
#include "check/exercise.h"
#include "check/tally.h"
#include "num/rng.h"
#include "num/ulp.h"

/* One compared element. The three answers are in units of the bound. */
struct element {
    int64_t index;
    struct hc_want want;
    bool bits;
    uint64_t want_bits;
    uint64_t got_bits;
    double bound;
    double error;
    double implementation;
    double format;
};

/* What one claim works on. `exact` has outputs of its own, or op HC_OP_COUNT when there are none. */
struct claim {
    struct hc_check *check;
    struct hc_call call;
    struct hc_call exact;
    void *owned[HC_MAX_IN + HC_MAX_OUT];
    int owned_count;
    bool has_exact;
    bool judged; /* whether its inputs must exercise the op */
};

static bool copied(struct claim *claim, struct hc_tensor *t)
{
    size_t bytes = hc_tensor_bytes(t);
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return false;
    memcpy(copy, t->data, bytes);
    claim->owned[claim->owned_count++] = copy;
    t->data = copy;
    return true;
}

/* Inputs that the call overwrites are kept as they were; `exact` gets outputs of its own. */
static bool prepare(struct claim *claim, struct hc_check *check, const struct hc_call *call)
{
    *claim = (struct claim){.check = check, .call = *call};
    const struct hc_op_info *op = &hc_ops[call->op];
    bool ok = true;
    for (int i = 0; i < op->inputs && ok; i++)
        for (int o = 0; o < op->outputs && ok; o++)
            if (call->in[i].data && call->in[i].data == call->out[o].data) {
                ok = copied(claim, &claim->call.in[i]);
                break;
            }
    claim->exact = claim->call;
    for (int o = 0; o < op->outputs && ok; o++)
        if (call->out[o].data)
            ok = copied(claim, &claim->exact.out[o]);
    return ok;
}

/* Elements to compare: all, or as many as `budget` terms of their sums allow; a term is one
   multiplication, some eight of them in batch norm, and an exponential in a loss. */
static int64_t sample_size(const struct hc_check *check, const struct hc_call *call, int64_t count)
{
    static const double budget[] = {
        [HC_QUICK] = 0x1p12, [HC_STANDARD] = 0x1p13, [HC_EXHAUSTIVE] = 0x1p18};
    static const int64_t most[] = {[HC_QUICK] = 128, [HC_STANDARD] = 192, [HC_EXHAUSTIVE] = 8192};
    enum { LEAST = 32 };
    enum hc_op_class class_ = hc_ops[call->op].class_;
    double each = class_ == HC_CLASS_LOSS ? 32 : class_ == HC_CLASS_NORM ? 8 : 1;
    double affordable = budget[check->level] / fmax(each * hc_bound_length(call), 1);
    int64_t n = affordable < LEAST ? LEAST : (int64_t)affordable;
    n = n < most[check->level] ? n : most[check->level];
    return n < count ? n : count;
}

static void compare(const struct claim *claim, int out, struct element *e)
{
    const struct hc_call *call = &claim->call;
    const struct hc_tensor *t = &call->out[out];
    double got = hc_tensor_get(t, e->index);
    hc_references[call->op](call, out, e->index, HC_REFERENCE_PRECISION, &e->want);
    e->got_bits = hc_tensor_bits(t, e->index);
    e->bound = hc_bound(call, &claim->check->backend->accumulator, out, e->index, &e->want);
    e->bits = hc_bound_bits(call, out, &e->want, &e->want_bits);
    e->error = isinf(e->bound) ? 0 : hc_bound_error(t->format, &e->want, got);
    e->implementation = e->format = (double)NAN;
    if (!claim->has_exact || !isfinite(e->want.value) || !(e->bound > 0) || isinf(e->bound))
        return;
    double exact = hc_tensor_get(&claim->exact.out[out], e->index);
    struct hc_want from = {.value = exact};
    e->implementation = hc_bound_error(t->format, &from, got) / e->bound;
    e->format = hc_bound_error(t->format, &e->want, exact) / e->bound;
}

static double larger(double known, double next)
{
    return next > known || isnan(known) ? next : known;
}

/* Differences in the bits count in ulp, the sign of zero as one. */
static double bits_apart(enum hc_format format, uint64_t want, uint64_t got)
{
    bool both_nan = isnan(hc_decode(format, want)) && isnan(hc_decode(format, got));
    double apart = (double)hc_ulp_distance(format, want, got);
    return apart == 0 && want != got && !both_nan ? 1 : apart;
}

static void tally(struct hc_check *check, const struct hc_tensor *t, const char *what,
                  const struct element *e)
{
    bool held;
    double want = e->bits ? hc_decode(t->format, e->want_bits) : e->want.value;
    double got = hc_decode(t->format, e->got_bits);
    if (e->bits)
        held = hc_tally(check, bits_apart(t->format, e->want_bits, e->got_bits), 0, "ulp");
    else
        held = hc_tally(check, e->error, e->bound, "abs");
    if (!held)
        hc_tally_note(check, "%s[%" PRId64 "]: want %.9g, got %.9g, error %.3g, bound %.3g", what,
                      e->index, want, got, e->error, e->bits ? 0 : e->bound);
    struct hc_result *r = &check->result;
    r->implementation = larger(r->implementation, e->implementation);
    r->format = larger(r->format, e->format);
}

/* Terms that take some milliseconds: less is done before a second thread has woken up. */
enum { WORTH_THREADS = 1 << 15 };

static void compare_output(struct claim *claim, int out, const char *what)
{
    struct hc_check *check = claim->check;
    const struct hc_tensor *t = &claim->call.out[out];
    int64_t count = hc_tensor_count(t);
    int64_t n = sample_size(check, &claim->call, count);
    struct element *elements = malloc((size_t)n * sizeof *elements);
    if (!elements && n) {
        (void)hc_fail(HC_NO_MEMORY, "no memory for %" PRId64 " comparisons", n);
        hc_check_failed(check);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t random =
            (int64_t)(hc_random(check->seed, (uint64_t)out, (uint64_t)k) % (uint64_t)count);
        elements[k].index = n == count || k == 0 ? k : k == 1 ? count - 1 : random;
    }
#pragma omp parallel if (n * (int64_t)hc_bound_length(&claim->call) > WORTH_THREADS)
    {
#pragma omp for schedule(static)
        for (int64_t k = 0; k < n; k++)
            compare(claim, out, &elements[k]);
        hc_reference_end();
    }
    struct hc_exercise exercise = {0};
    for (int64_t k = 0; k < n; k++) {
        const struct element *e = &elements[k];
        tally(check, t, what, e);
        hc_exercise_count(&exercise, t->format, &e->want, e->bits, e->error, e->bound);
    }
    if (claim->judged && hc_bound_length(&claim->call) > 0)
        hc_exercise_judge(&exercise, check, what,
                          hc_formats[t->format].precision >
                              hc_formats[claim->call.in[0].format].precision);
    free(elements);
}

/* Every element against the bits that `exact` gave. */
static void sweep_output(struct claim *claim, int out, const char *what)
{
    const struct hc_tensor *got = &claim->call.out[out];
    const struct hc_tensor *want = &claim->exact.out[out];
    int64_t count = hc_tensor_count(got);
    int64_t wrong = 0;
    char first[128] = "";
    for (int64_t i = 0; i < count; i++) {
        uint64_t w = hc_tensor_bits(want, i);
        uint64_t g = hc_tensor_bits(got, i);
        if (w == g || bits_apart(got->format, w, g) == 0)
            continue;
        if (wrong++ == 0)
            (void)snprintf(first, sizeof first, "%s[%" PRId64 "]: exact gives %.9g, got %.9g", what,
                           i, hc_tensor_get(want, i), hc_tensor_get(got, i));
    }
    hc_claim_sweep(claim->check, count, wrong, wrong ? first : NULL);
}

static void compare_all(struct claim *claim)
{
    struct hc_check *check = claim->check;
    const struct hc_op_info *op = &hc_ops[claim->call.op];
    bool subject = check->backend == check->exact;
    enum hc_status status = HC_OK;
    if (!subject)
        status = hc_run_call(check->exact, check->exact_queue, &claim->exact);
    else
        memcpy(claim->exact.out, claim->call.out, sizeof claim->exact.out);
    claim->has_exact = status == HC_OK;
    if (status != HC_OK && status != HC_UNSUPPORTED) {
        hc_check_failed(check);
        return;
    }
    for (int out = 0; out < op->outputs; out++) {
        char what[48];
        if (!claim->call.out[out].data || hc_tensor_count(&claim->call.out[out]) == 0)
            continue;
        (void)snprintf(what, sizeof what, op->outputs > 1 ? "%s out%d" : "%s", op->name, out);
        compare_output(claim, out, what);
        if (claim->has_exact && !subject && hc_bound_ordered(&claim->call))
            sweep_output(claim, out, what);
        hc_say(check,
               "%s: error %.3g, bound %.3g; got against exact %.3g, exact against real %.3g "
               "of the bound",
               what, check->result.error, check->result.bound, check->result.implementation,
               check->result.format);
    }
}

static void claim_call(struct hc_check *check, const struct hc_call *call, bool judged)
{
    struct claim claim;
    if (!prepare(&claim, check, call)) {
        (void)hc_fail(HC_NO_MEMORY, "%s: no memory to keep its inputs", hc_ops[call->op].name);
        hc_check_failed(check);
    } else if (hc_do(check, call) == HC_OK) {
        claim.judged = judged;
        compare_all(&claim);
    }
    for (int i = 0; i < claim.owned_count; i++)
        free(claim.owned[i]);
}

void hc_claim_call(struct hc_check *check, const struct hc_call *call)
{
    claim_call(check, call, true);
}

void hc_claim_call_met(struct hc_check *check, const struct hc_call *call)
{
    claim_call(check, call, false);
}
