/* One output of a claim against the reference. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "check/bound/bound.h"
#include "check/compare.h"
#include "check/exercise.h"
#include "check/bound/line.h"
#include "check/sample.h"

/* One compared element. The three answers are in units of the bound. */
struct element {
    int64_t index;
    struct hc_exact want;
    bool bits;
    uint64_t want_bits;
    uint64_t got_bits;
    double bound;
    double line; /* check/bound/line.h; infinite where there is none */
    double error;
    double implementation;
    double format;
};

static void compare(const struct hc_claim *claim, int out, struct element *e)
{
    const struct hc_call *call = &claim->call;
    const struct hc_tensor *t = &call->out[out];
    double got = hc_tensor_get(t, e->index);
    e->want = hc_reference_value(call, out, e->index);
    e->got_bits = hc_tensor_bits(t, e->index);
    e->bound = hc_bound(&(struct hc_element){call, out, e->index},
                        &claim->check->backend->accumulator, &e->want);
    e->bits =
        hc_bound_bits(call, out, &e->want, &e->want_bits) ||
        (claim->inputs == HC_INPUTS_WHOLE && hc_bound_whole(call, out, &e->want, &e->want_bits));
    e->line = claim->inputs == HC_INPUTS_RANDOM
                  ? hc_line(call, &claim->check->backend->accumulator, out, &e->want)
                  : (double)INFINITY;
    e->error = isinf(e->bound) ? 0 : hc_bound_error(t->format, &e->want, got);
    e->implementation = e->format = (double)NAN;
    if (!claim->has_exact || !isfinite(e->want.hi) || !(e->bound > 0) || isinf(e->bound))
        return;
    double exact = hc_tensor_get(&claim->exact.out[out], e->index);
    struct hc_exact from = {.hi = exact};
    e->implementation = hc_bound_error(t->format, &from, got) / e->bound;
    e->format = hc_bound_error(t->format, &e->want, exact) / e->bound;
}

static double larger(double known, double next)
{
    return next > known || isnan(known) ? next : known;
}

static void tally(struct hc_check *check, const struct hc_tensor *t, const char *what,
                  const struct element *e)
{
    bool held;
    double want = e->bits ? hc_decode(t->format, e->want_bits) : e->want.hi;
    double got = hc_decode(t->format, e->got_bits);
    if (e->bits)
        held =
            hc_check_compared(check, hc_bits_apart(t->format, e->want_bits, e->got_bits), 0, "ulp");
    else
        held = hc_check_compared(check, e->error, e->bound, "abs");
    if (!held)
        hc_check_note(check, "%s[%" PRId64 "]: want %.9g, got %.9g, error %.3g, bound %.3g", what,
                      e->index, want, got, e->error, e->bits ? 0 : e->bound);
    struct hc_result *r = &check->result;
    r->implementation = larger(r->implementation, e->implementation);
    r->format = larger(r->format, e->format);
    if (!e->bits && e->line < e->bound)
        r->line = larger(r->line, e->error / e->line);
}

static bool sums_alike(const struct hc_accumulator *a, const struct hc_accumulator *b)
{
    return a->precision == b->precision && a->block == b->block && a->extra_bits == b->extra_bits &&
           a->truncates == b->truncates;
}

/* What all other elements are compared with must itself be right where it is looked at. */
static void tally_exact(const struct hc_claim *claim, int out, const char *what,
                        const struct element *e)
{
    struct hc_check *check = claim->check;
    const struct hc_tensor *t = &claim->exact.out[out];
    if (!claim->has_exact || check->backend == check->exact)
        return;
    double exact = hc_tensor_get(t, e->index);
    double bound = e->bound;
    if (!sums_alike(&check->backend->accumulator, &check->exact->accumulator))
        bound = hc_bound(&(struct hc_element){&claim->call, out, e->index},
                         &check->exact->accumulator, &e->want);
    double error = isinf(bound) ? 0 : hc_bound_error(t->format, &e->want, exact);
    if (e->bits ? hc_bits_apart(t->format, e->want_bits, hc_tensor_bits(t, e->index)) == 0
                : error <= bound)
        return;
    (void)hc_check_compared(check, 1, 0, "claims");
    hc_check_note(check, "%s[%" PRId64 "]: want %.9g, the backend exact itself gives %.9g", what,
                  e->index, e->want.hi, exact);
}

/* Terms that take some milliseconds: less is done before a second thread has woken up. */
enum { WORTH_THREADS = 1 << 15 };

/* For `halfcheck explain`: the element that came nearest to its bound, and the three answers. */
static void say(struct hc_check *check, const struct hc_tensor *t, const char *what,
                const struct element *elements, int64_t n)
{
    const struct element *worst = &elements[0];
    double implementation = (double)NAN;
    double format = (double)NAN;
    for (int64_t k = 0; k < n; k++) {
        const struct element *e = &elements[k];
        if (e->error * worst->bound > worst->error * e->bound)
            worst = e;
        implementation = larger(implementation, e->implementation);
        format = larger(format, e->format);
    }
    hc_say(check,
           "%s: %" PRId64 " of %" PRId64 " elements against MPFR; in units of the bound, got "
           "against exact %.3g, exact against real %.3g",
           what, n, hc_tensor_count(t), implementation, format);
    hc_say(check,
           "  nearest to its bound: [%" PRId64 "] want %.10g, got %.10g, error %.3g, bound %.3g",
           worst->index, worst->want.hi, hc_decode(t->format, worst->got_bits), worst->error,
           worst->bound);
}

/* Sums that stand still need no last rounding, and in another order they have next to no error. */
static void judge(const struct hc_claim *claim, struct hc_exercise *e, const struct hc_tensor *t,
                  const char *what)
{
    bool stagnant = claim->inputs == HC_INPUTS_STAGNANT;
    bool widens = hc_formats[t->format].precision > hc_formats[claim->call.in[0].format].precision;
    if (!claim->judged || hc_call_length(&claim->call) == 0)
        return;
    if (stagnant)
        e->inexact = 0;
    hc_exercise_judge(e, claim->check, what, widens || stagnant);
    if (!hc_bound_ordered(&claim->call) && claim->check->result.verdict == HC_PASS)
        hc_exercise_judge_bounds(e, claim->check, what);
}

void hc_claim_output(struct hc_claim *claim, int out, const char *what)
{
    struct hc_check *check = claim->check;
    const struct hc_tensor *t = &claim->call.out[out];
    int64_t count = hc_tensor_count(t);
    int64_t n = hc_sample_size(check, &claim->call, count);
    struct element *elements = malloc((size_t)n * sizeof *elements);
    int64_t *index = malloc((size_t)n * sizeof *index);
    if (!elements || !index) {
        free(elements);
        free(index);
        (void)hc_fail(HC_NO_MEMORY, "no memory for %" PRId64 " comparisons", n);
        hc_check_failed(check);
        return;
    }
    n = hc_sample(claim, out, n, index);
    for (int64_t k = 0; k < n; k++)
        elements[k].index = index[k];
    free(index);
#pragma omp parallel if (n * (int64_t)hc_call_length(&claim->call) > WORTH_THREADS)
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
        tally_exact(claim, out, what, e);
        check->result.special += hc_sample_special(claim, out, e->index);
        hc_exercise_count(&exercise, t->format, &e->want, e->bits, e->error, e->bound, e->line);
    }
    check->result.looked_at += n;
    check->result.looked_of += count;
    judge(claim, &exercise, t, what);
    if (check->trace)
        say(check, t, what, elements, n);
    free(elements);
}
