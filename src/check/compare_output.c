/* One output of a claim against the reference: the sample that hc_sample chooses is computed in
   MPFR, bounded, and counted element by element. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "check/bound/bound.h"
#include "check/compare.h"
#include "check/exercise.h"
#include "check/free_order.h"
#include "check/generate/integers.h"
#include "check/bound/line.h"
#include "check/record/spread.h"
#include "check/raised.h"
#include "check/sample.h"
#include "op/text.h"

/* One compared element. The three answers are in units of the bound. */
struct comparison {
    int64_t index;
    struct hc_exact want;
    bool bits; /* only want_bits are right */
    uint64_t want_bits;
    uint64_t got_bits;
    double bound;
    double line; /* check/bound/line.h; infinite where there is none */
    double error;
    double implementation;
    double format;
};

static void compare(const struct hc_claim *claim, int out, struct comparison *c)
{
    const struct hc_call *call = &claim->call;
    const struct hc_tensor *t = &call->out[out];
    const struct hc_accumulator *sums = &claim->sums;
    struct hc_element e = {call, out, c->index};
    double got = hc_tensor_get(t, c->index);
    hc_references[call->op](&e, HC_REFERENCE_PRECISION, &c->want);
    struct hc_exact raised = c->want;
    if (claim->raised)
        raised.magnitude = hc_raised_magnitude(claim, out, c->index);
    c->got_bits = hc_tensor_bits(t, c->index);
    c->bound = claim->free ? hc_bound_any_order(&e, sums, &raised) : hc_bound(&e, sums, &raised);
    c->bits = claim->free ? hc_bound_any_order_bits(&e, &c->want, &c->want_bits)
                          : hc_bound_bits(&e, &c->want, &c->want_bits);
    if (claim->inputs == HC_INPUTS_WHOLE && !c->bits &&
        (!claim->free || hc_integers_any_order(call, out)))
        c->bits = hc_bound_whole(call, sums, out, &c->want, &c->want_bits);
    c->line =
        claim->inputs == HC_INPUTS_RANDOM ? hc_line(call, sums, out, &c->want) : (double)INFINITY;
    c->error = isinf(c->bound) ? 0 : hc_bound_error(t->format, &c->want, got);
    c->implementation = c->format = (double)NAN;
    if (!claim->has_exact || !isfinite(c->want.hi) || !(c->bound > 0) || isinf(c->bound))
        return;
    double exact = hc_tensor_get(&claim->exact.out[out], c->index);
    struct hc_exact from = {.hi = exact};
    c->implementation = hc_bound_error(t->format, &from, got) / c->bound;
    c->format = hc_bound_error(t->format, &c->want, exact) / c->bound;
}

static double larger(double known, double next)
{
    return next > known || isnan(known) ? next : known;
}

/* The number that the element follows from alone; 0 if there is none: sums, pairs of numbers. */
static double input_of(const struct hc_claim *claim, int out, int64_t index)
{
    const struct hc_op_info *op = &hc_ops[claim->call.op];
    const struct hc_tensor *x = &claim->call.in[HC_FIRST];
    bool alone = op->class_ == HC_CLASS_ELEMENTWISE && op->inputs == 1 && x->data &&
                 hc_tensor_count(x) == hc_tensor_count(&claim->call.out[out]);
    return alone ? hc_tensor_get(x, index) : 0;
}

static void count(const struct hc_claim *claim, int out, const char *what,
                  const struct comparison *c)
{
    struct hc_check *check = claim->check;
    const struct hc_tensor *t = &claim->call.out[out];
    bool held;
    double want = c->bits ? hc_decode(t->format, c->want_bits) : c->want.hi;
    double got = hc_decode(t->format, c->got_bits);
    if (c->bits)
        held =
            hc_check_compared(check, hc_bits_apart(t->format, c->want_bits, c->got_bits), 0, "ulp");
    else
        held = hc_check_compared(check, c->error, c->bound, "abs");
    if (!held)
        hc_check_note(check, "%s[%" PRId64 "]: want %.9g, got %.9g, error %.3g, bound %.3g", what,
                      c->index, want, got, c->error, c->bits ? 0 : c->bound);
    struct hc_result *r = &check->result;
    r->implementation = larger(r->implementation, c->implementation);
    r->format = larger(r->format, c->format);
    hc_spread_count(&r->spread, t->format, c->want.hi,
                    hc_bound_error(t->format, &c->want, hc_decode(t->format, c->got_bits)),
                    input_of(claim, out, c->index));
    if (!c->bits && c->line < c->bound)
        r->line = larger(r->line, c->error / c->line);
}

static bool sums_alike(const struct hc_accumulator *a, const struct hc_accumulator *b)
{
    return a->precision == b->precision && a->block == b->block && a->extra_bits == b->extra_bits &&
           a->truncates == b->truncates && a->flushes == b->flushes &&
           a->aligns_subnormals == b->aligns_subnormals;
}

/* `exact`, which all other elements are compared with, must itself be right on the sample. */
static void count_exact(const struct hc_claim *claim, int out, const char *what,
                        const struct comparison *c)
{
    struct hc_check *check = claim->check;
    const struct hc_tensor *t = &claim->exact.out[out];
    if (!claim->has_exact || claim->on_exact)
        return;
    double exact = hc_tensor_get(t, c->index);
    double bound = c->bound;
    if (!sums_alike(&claim->sums, &claim->exact_sums))
        bound = hc_bound(&(struct hc_element){&claim->call, out, c->index}, &claim->exact_sums,
                         &c->want);
    double error = isinf(bound) ? 0 : hc_bound_error(t->format, &c->want, exact);
    if (c->bits ? hc_same_bits(t->format, c->want_bits, hc_tensor_bits(t, c->index))
                : error <= bound)
        return;
    char words[160];
    (void)hc_text_write(words, sizeof words,
                        "%s[%" PRId64 "]: want %.9g, the backend exact itself gives %.9g", what,
                        c->index, c->want.hi, exact);
    (void)hc_check_compared(check, 1, 0, "claims");
    hc_check_note(check, "%s", words);
    hc_check_tell(check, &(struct hc_claimed){.kind = HC_CLAIMED_TRUE, .what = words, .error = 1});
}

/* Terms that take some milliseconds. Less work is done before a second thread has woken up. */
enum { WORTH_THREADS = 1 << 15 };

static double ratio_of(const struct hc_tensor *t, const struct comparison *c)
{
    return c->bits ? hc_ratio(hc_bits_apart(t->format, c->want_bits, c->got_bits), 0)
                   : hc_ratio(c->error, c->bound);
}

/* Tells `halfcheck explain` of the sample, and shows the element that came nearest to its bound. */
static void tell(struct hc_check *check, const struct hc_tensor *t, const char *output,
                 const struct comparison *all, int64_t n)
{
    const struct comparison *worst = &all[0];
    struct hc_claimed claimed = {.kind = HC_CLAIMED_SAMPLE,
                                 .what = output,
                                 .unit = "abs",
                                 .checked = n,
                                 .of = hc_tensor_count(t)};
    for (int64_t k = 0; k < n; k++) {
        if (ratio_of(t, &all[k]) > ratio_of(t, worst))
            worst = &all[k];
        claimed.wrong += ratio_of(t, &all[k]) > 1;
    }
    claimed.want = worst->bits ? hc_decode(t->format, worst->want_bits) : worst->want.hi;
    claimed.got = hc_decode(t->format, worst->got_bits);
    claimed.error = worst->bits && ratio_of(t, worst) == 0 ? 0 : worst->error;
    claimed.bound = worst->bits ? 0 : worst->bound;
    claimed.index = worst->index;
    hc_check_tell(check, &claimed);
}

/* Sums that stand still need no last rounding, and summed in another order they have next to no
   error.

   A backend of free order may compute in finer arithmetic, so that `exact`, which does not, says
   whether its bound is one to which an error can come near. Where the contract states every
   rounding, only the bound of free orders is wide; where integers leave no rounding open, its
   results are sums that are exact in any order. Neither says that the inputs are poor. But where
   zeros would keep that wide bound, too, a pass would say nothing, and the case is left out. */
static void judge(const struct hc_claim *claim, struct hc_exercise *e, const struct hc_tensor *t,
                  const char *what)
{
    bool stagnant = claim->inputs == HC_INPUTS_STAGNANT;
    enum hc_format data = claim->call.in[HC_FIRST].format;
    bool widens = hc_formats[t->format].precision > hc_formats[data].precision;
    if (!claim->judged || claim->length == 0)
        return;
    bool stated = claim->ordered || hc_ops[claim->call.op].class_ == HC_CLASS_POOL ||
                  claim->inputs == HC_INPUTS_WHOLE;
    bool wide = claim->free && stated;
    if (stagnant || wide)
        e->inexact = 0;
    hc_exercise_judge(e, claim->check, what, widens || stagnant || wide);
    enum hc_op_class class_ = hc_ops[claim->call.op].class_;
    bool small = class_ == HC_CLASS_REDUCTION || class_ == HC_CLASS_POOL;
    if (wide && small && hc_exercise_vague(e))
        hc_order_open(claim->check, &claim->call);
    else if (!claim->ordered && !(wide && small) && claim->check->result.verdict == HC_PASS)
        hc_exercise_judge_bounds(e, claim->check, what);
}

void hc_claim_output(struct hc_claim *claim, int out, const char *what)
{
    struct hc_check *check = claim->check;
    const struct hc_tensor *t = &claim->call.out[out];
    int64_t total = hc_tensor_count(t);
    int64_t n = hc_sample_size(claim, total);
    struct comparison *all = malloc((size_t)n * sizeof *all);
    int64_t *index = malloc((size_t)n * sizeof *index);
    if (!all || !index) {
        free(all);
        free(index);
        (void)hc_fail(HC_NO_MEMORY, "no memory for %" PRId64 " comparisons", n);
        hc_check_failed(check);
        return;
    }
    n = hc_sample(claim, out, n, index);
    for (int64_t k = 0; k < n; k++)
        all[k].index = index[k];
    free(index);
#pragma omp parallel if (n * (int64_t)claim->length > WORTH_THREADS)
    {
#pragma omp for schedule(static)
        for (int64_t k = 0; k < n; k++)
            compare(claim, out, &all[k]);
        hc_reference_end();
    }
    struct hc_exercise exercise = {0};
    for (int64_t k = 0; k < n; k++) {
        const struct comparison *c = &all[k];
        count(claim, out, what, c);
        count_exact(claim, out, what, c);
        check->result.special += hc_sample_special(claim, out, c->index);
        hc_exercise_count(&exercise, t->format, &c->want, c->bits, c->error, c->bound, c->line);
        if (claim->free && !c->bits)
            exercise.worst = fmax(exercise.worst, c->format);
    }
    check->result.looked_at += n;
    check->result.looked_of += total;
    judge(claim, &exercise, t, what);
    if (check->story)
        tell(check, t, what, all, n);
    free(all);
}
