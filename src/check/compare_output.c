/* One output of a claim against the reference: the sample that hc_sample chooses is computed in
   MPFR, bounded, and counted element by element. The counts are the ground of the verdict
   MISTRUSTED: whether the comparison exercised anything.

   A claim can hold for no good reason: all results are zero, or NaN by definition; none needed
   rounding; the bounds are larger than the results, so that zero would pass as well; or no error
   came near its bound, which then may be wrong. These counts say which, over the compared elements
   of one output. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "check/bound/bound.h"
#include "check/compare.h"
#include "check/free_order.h"
#include "check/known.h"
#include "check/record/spread.h"
#include "check/repeats.h"
#include "check/sample.h"
#include "num/ulp.h"
#include "op/text.h"
#include "reference.h"

/* What the compared elements of one output were. */
struct exercise {
    int64_t compared;
    int64_t special;   /* NaN or infinite by definition */
    int64_t unbounded; /* the contract allows anything */
    int64_t zero;      /* zero, or rounded to zero by a result that has a bound and not bits */
    int64_t inexact;   /* needed rounding: no value of the format is as near as 2^-20 ulp */
    int64_t nearest;   /* of the inexact ones: nothing of the format is nearer */
    int64_t loose;     /* have a bound; more than one result is right */
    int64_t nought;    /* of the loose ones: 0, which no right order rounds */
    int64_t vague;     /* of the loose ones: not 0, and not larger than their bound */
    int64_t hollow;    /* of the loose ones: the bound is half of the terms' magnitude or more */
    int64_t settled;   /* not 0, and only one result is right, of an output with loose ones, too */
    int64_t rounded;   /* of the settled ones: needed rounding */
    double worst;      /* largest error / bound of the loose ones */
    double crossed;    /* largest error / line (check/bound/line.h) */
};

/* One compared element. The three answers are in units of the bound. */
struct comparison {
    int64_t index;
    struct hc_expected right;
    uint64_t got_bits;
    double error;
    double implementation;
    double format;
};

/* With fewer elements than this, somebody chose them one by one, and statistics say nothing. */
enum { MANY = 16 };

/* The least that the largest of MANY errors must come to, in units of its bound. This is an
   estimate, not a bound. A partial sum of k random terms of size 1 is about sqrt(k), so n
   roundings of it come to about u n / 2, where the bound n u S is u n^2: to 1 / (2 n) of it. The
   largest of MANY is about twice that, 1 / n, and the longest sums that cases use have 2^12
   terms. The last factor, a quarter, is room that nothing derives. A bound that no error comes
   nearer to is wrong, or the inputs are. */
static const double lowest_ratio = 0x1p-14;

/* Batch norm in any order. Its bounds hold for elements and ranks that are taken one by one, too
   (bound/norm_any_order.c, bound/norm_ranks.c), and what `exact` does is far nearer. The mean of n
   elements around 0 is about sqrt(V / n) and is rounded once, by half a u of it; its bound is t(4)
   (2 / 3) n sqrt(V). So it comes to 3 / 16 n^(-3/2) of it: 2^-14.5 for the 272 elements of the
   generated cases. Found were 2^-14.3 to 2^-15.1. The variance over ranks has 2 sqrt(B) E,
   E = 2 t A, in its bound, of which two passes have nothing but half a u of V: sqrt(B) / (1440 A)
   for 8 ranks in fp64, whose bounds count each rounding three times. Found were 2^-14.0 to
   2^-14.9. */
static const double lowest_of_norms = 0x1p-16;

/* Counts one element. `bits`: only one result is right. `line` is infinite where there is none. */
static void count_element(struct exercise *e, enum hc_format format, const struct hc_exact *want,
                          bool bits, double error, double bound, double line)
{
    e->compared++;
    if (!isfinite(want->hi)) {
        e->special++;
        return;
    }
    if (!isfinite(bound)) {
        e->unbounded++;
        return;
    }
    double rounded = hc_round(format, want->hi);
    if (want->hi == 0 || (!bits && rounded == 0))
        e->zero++;
    /* What is nearer to a number of the format than 2^-20 ulp, such as 1 less what a softmax loses
       to others, is that number by whatever order: nothing is seen of a rounding there. */
    double rest = hc_bound_error(format, want, rounded);
    bool inexact = rest > 0 && !(rest < 0x1p-20 * hc_ulp(format, rounded));
    e->settled += bits && rounded != 0;
    e->rounded += bits && inexact;
    if (bits || bound == 0)
        return;
    e->loose++;
    e->nought += want->hi == 0;
    e->inexact += inexact;
    e->nearest += inexact && error <= rest;
    e->worst = fmax(e->worst, error / bound);
    e->crossed = fmax(e->crossed, error / line);
    e->vague += want->hi != 0 && bound >= fabs(want->hi);
    e->hollow += want->hi != 0 && 2 * bound >= want->magnitude;
}

/* Whether most results are no larger than their bound or, if there are few, most bounds are half of
   the terms or more: zeros would do. They would not for a result that is settled and not 0. */
static bool is_vague(const struct exercise *e)
{
    int64_t bad = e->loose >= MANY ? e->vague : e->hollow;
    return 2 * bad > e->loose + e->settled;
}

/* Sets MISTRUSTED if the bounds exceed most of the values, since anything near zero would pass
   then. A few values may be small by chance, so their bounds are compared with their terms instead.
   Also sets MISTRUSTED if an error crosses the line: rounding errors alone hardly come to that,
   though the contract allows it. */
static void judge_bounds(const struct exercise *e, struct hc_check *check, const char *what)
{
    if (is_vague(e) && e->loose >= MANY)
        hc_mistrust(check, "%s: %lld of %lld results are not larger than their bound", what,
                    (long long)e->vague, (long long)e->loose);
    else if (is_vague(e))
        hc_mistrust(check, "%s: the bound is half of the terms or more in %lld of %lld results",
                    what, (long long)e->hollow, (long long)e->loose);
    if (e->crossed > 1)
        hc_mistrust(check,
                    "%s: an error is %.2f of what independent roundings come to in one of 2^40 "
                    "results, though it keeps the bound",
                    what, e->crossed);
}

/* Sets MISTRUSTED if the output says nothing; `what` names it. `widens`: the output has more bits
   than the inputs, so that short sums of them may well be exact. `loosely`: the backend's order
   and precision are its own. If it sums in fp64, nearly all its results are the numbers nearest to
   the real ones, and how far those are from a bound on sums in fp32 says nothing of the inputs. A
   sum in fp32 misses the nearest number in more than a sixteenth of results once it rounds twice:
   a first error that is even in +-1/2 ulp moves the last rounding in a quarter of them, and one in
   +-1/4 ulp in an eighth. What rounds once comes to all of its bound, and is not asked. `norm`: of
   batch norm the bounds in any order hold for Welford's formulas, too. */
static void judge_exercise(const struct exercise *e, struct hc_check *check, const char *what,
                           bool widens, bool loosely, bool norm)
{
    bool finer = loosely && 16 * e->nearest >= 15 * e->inexact;
    long long n = e->compared;
    if (n < MANY)
        return;
    if (e->special == n)
        hc_mistrust(check, "%s: all %lld results are NaN or infinite by definition", what, n);
    else if (2 * e->unbounded > n)
        hc_mistrust(check, "%s: the contract bounds only %lld of %lld results", what,
                    n - (long long)e->unbounded, n);
    else if (4 * e->zero > 3 * n)
        hc_mistrust(check, "%s: %lld of %lld results are zero", what, (long long)e->zero, n);
    else if (!widens && e->loose - e->nought >= MANY && e->inexact + e->rounded == 0)
        hc_mistrust(check, "%s: none of %lld results needed rounding", what, n);
    else if (e->inexact >= MANY && !finer &&
             e->worst < (loosely && norm ? lowest_of_norms : lowest_ratio))
        hc_mistrust(check, "%s: the largest error is %.2g of its bound", what, e->worst);
}

/* What the backend gave, against that. */
static void compare(const struct hc_claim *claim, int out, struct comparison *c)
{
    const struct hc_tensor *t = &claim->call.out[out];
    const struct hc_element e = {&claim->call, out, c->index};
    double got = hc_tensor_get(t, c->index);
    double bound = c->right.bound;
    c->got_bits = hc_tensor_bits(t, c->index);
    c->error = isinf(bound)  ? 0
               : claim->free ? hc_bound_error_any_order(&e, &c->right.want, got)
                             : hc_bound_error(t->format, &c->right.want, got);
    c->implementation = c->format = (double)NAN;
    if (!claim->has_exact || !isfinite(c->right.want.hi) || !(bound > 0) || isinf(bound))
        return;
    double exact = hc_tensor_get(&claim->exact.out[out], c->index);
    struct hc_exact from = {.hi = exact};
    c->implementation = hc_bound_error(t->format, &from, got) / bound;
    c->format = hc_bound_error(t->format, &c->right.want, exact) / bound;
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
    double want = c->right.bits ? hc_decode(t->format, c->right.want_bits) : c->right.want.hi;
    double got = hc_decode(t->format, c->got_bits);
    if (c->right.bits)
        held = hc_check_compared(check, hc_bits_apart(t->format, c->right.want_bits, c->got_bits),
                                 0, "ulp");
    else
        held = hc_check_compared(check, c->error, c->right.bound, "abs");
    if (!held)
        hc_check_note(check, "%s[%" PRId64 "]: want %.9g, got %.9g, error %.3g, bound %.3g", what,
                      c->index, want, got, c->error, c->right.bits ? 0 : c->right.bound);
    struct hc_result *r = &check->result;
    r->implementation = larger(r->implementation, c->implementation);
    r->format = larger(r->format, c->format);
    hc_spread_count(&r->spread, t->format, c->right.want.hi,
                    hc_bound_error(t->format, &c->right.want, hc_decode(t->format, c->got_bits)),
                    input_of(claim, out, c->index));
    if (!c->right.bits && c->right.line < c->right.bound)
        r->line = larger(r->line, c->error / c->right.line);
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
    double bound = c->right.bound;
    if (!hc_accumulator_same(&claim->sums, &claim->exact_sums))
        bound = hc_bound(&(struct hc_element){&claim->call, out, c->index}, &claim->exact_sums,
                         &c->right.want);
    double error = isinf(bound) ? 0 : hc_bound_error(t->format, &c->right.want, exact);
    if (c->right.bits ? hc_same_bits(t->format, c->right.want_bits, hc_tensor_bits(t, c->index))
                      : error <= bound)
        return;
    char words[160];
    (void)hc_text_write(words, sizeof words,
                        "%s[%" PRId64 "]: want %.9g, the backend exact itself gives %.9g", what,
                        c->index, c->right.want.hi, exact);
    (void)hc_check_compared(check, 1, 0, "claims");
    hc_check_note(check, "%s", words);
    hc_check_tell(check, &(struct hc_claimed){.kind = HC_CLAIMED_TRUE, .what = words, .error = 1});
}

static double ratio_of(const struct hc_tensor *t, const struct comparison *c)
{
    return c->right.bits ? hc_ratio(hc_bits_apart(t->format, c->right.want_bits, c->got_bits), 0)
                         : hc_ratio(c->error, c->right.bound);
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
    claimed.want =
        worst->right.bits ? hc_decode(t->format, worst->right.want_bits) : worst->right.want.hi;
    claimed.got = hc_decode(t->format, worst->got_bits);
    claimed.error = worst->right.bits && ratio_of(t, worst) == 0 ? 0 : worst->error;
    claimed.bound = worst->right.bits ? 0 : worst->right.bound;
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
static void judge(const struct hc_claim *claim, struct exercise *e, const struct hc_tensor *t,
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
    bool exact = widens || stagnant || wide;
    enum hc_op_class class_ = hc_ops[claim->call.op].class_;
    judge_exercise(e, claim->check, what, exact, claim->free, class_ == HC_CLASS_BATCH_NORM);
    bool small = class_ == HC_CLASS_REDUCTION || class_ == HC_CLASS_POOL;
    if (wide && small && is_vague(e))
        hc_order_open(claim->check, &claim->call);
    else if (!claim->ordered && !(wide && small) && claim->check->result.verdict == HC_PASS)
        judge_bounds(e, claim->check, what);
}

/* The elements that are compared, of which there are n at most; their number. */
static int64_t choose(const struct hc_claim *claim, int out, int64_t n, int64_t *index)
{
    if (!claim->repeats)
        return hc_sample(claim, out, n, index);
    for (int64_t k = 0; k < n; k++)
        index[k] = hc_repeats_element(claim->repeats, &claim->call, out, k);
    return n;
}

/* Compares the sample, of n elements at most; the result is how many there are. Less than 0: no
   memory. */
static int64_t compare_sample(struct hc_claim *claim, int out, const char *what, int64_t n,
                              struct comparison *all)
{
    int64_t *index = malloc((size_t)n * sizeof *index);
    struct hc_expected *right = malloc((size_t)n * sizeof *right);
    bool ok = index && right;
    if (ok) {
        n = choose(claim, out, n, index);
        hc_expect(claim, out, n, index, right);
    }
    for (int64_t k = 0; k < n && ok; k++) {
        all[k].index = index[k];
        all[k].right = right[k];
        compare(claim, out, &all[k]);
    }
    if (ok && claim->repeats)
        hc_claim_repeats(claim, out, what, right);
    free(index);
    free(right);
    return ok ? n : -1;
}

void hc_claim_output(struct hc_claim *claim, int out, const char *what)
{
    struct hc_check *check = claim->check;
    const struct hc_tensor *t = &claim->call.out[out];
    int64_t total = hc_tensor_count(t);
    int64_t most = claim->repeats ? hc_repeats_count(claim->repeats, &claim->call, out)
                                  : hc_sample_size(claim, total);
    struct comparison *all = malloc((size_t)most * sizeof *all);
    int64_t n = all ? compare_sample(claim, out, what, most, all) : -1;
    if (n < 0) {
        free(all);
        (void)hc_fail(HC_NO_MEMORY, "no memory for %" PRId64 " comparisons", most);
        hc_check_failed(check);
        return;
    }
    struct exercise exercise = {0};
    for (int64_t k = 0; k < n; k++) {
        const struct comparison *c = &all[k];
        count(claim, out, what, c);
        count_exact(claim, out, what, c);
        check->result.special += hc_sample_special(claim, out, c->index);
        count_element(&exercise, t->format, &c->right.want, c->right.bits, c->error, c->right.bound,
                      c->right.line);
        if (claim->free && !c->right.bits)
            exercise.worst = fmax(exercise.worst, c->format);
    }
    check->result.looked_at += n;
    check->result.looked_of += total;
    judge(claim, &exercise, t, what);
    if (check->story && n > 0)
        tell(check, t, what, all, n);
    free(all);
}
