#include "check/exercise.h"

#include <math.h>

/* With fewer elements than this, somebody chose them one by one, and statistics say nothing. */
enum { MANY = 16 };

/* The least that the largest of MANY errors must come to, in units of its bound. This is an
   estimate, not a bound. A partial sum of k random terms of size 1 is about sqrt(k), so n
   roundings of it come to about u n / 2, where the bound n u S is u n^2: to 1 / (2 n) of it. The
   largest of MANY is about twice that, 1 / n, and the longest sums that cases use have 2^12
   terms. The last factor, a quarter, is room that nothing derives. A bound that no error comes
   nearer to is wrong, or the inputs are. */
static const double lowest_ratio = 0x1p-14;

/* Of batch norm in any order. Its bounds hold for elements and ranks that are taken one by one, too
   (bound/norm_any_order.c, bound/norm_ranks.c), and what `exact` does is far nearer. The mean of n
   elements around 0 is about sqrt(V / n) and is rounded once, by half a u of it; its bound is t(4)
   (2 / 3) n sqrt(V). So it comes to 3 / 16 n^(-3/2) of it: 2^-14.5 for the 272 elements of the
   generated cases. Found were 2^-14.3 to 2^-15.1. The variance over ranks has 2 sqrt(B) E,
   E = 2 t A, in its bound, of which two passes have nothing but half a u of V: sqrt(B) / (1440 A)
   for 8 ranks in fp64, whose bounds count each rounding three times. Found were 2^-14.0 to
   2^-14.9. */
static const double lowest_of_norms = 0x1p-16;

void hc_exercise_count(struct hc_exercise *e, enum hc_format format, const struct hc_exact *want,
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
    if (bits || bound == 0)
        return;
    e->loose++;
    if (rounded != want->hi || want->lo != 0)
        e->inexact++;
    e->worst = fmax(e->worst, error / bound);
    e->crossed = fmax(e->crossed, error / line);
    e->vague += want->hi != 0 && bound >= fabs(want->hi);
    e->hollow += want->hi != 0 && 2 * bound >= want->magnitude;
}

bool hc_exercise_vague(const struct hc_exercise *e)
{
    return e->loose >= MANY ? 2 * e->vague > e->loose : 2 * e->hollow > e->loose;
}

void hc_exercise_judge_bounds(const struct hc_exercise *e, struct hc_check *check, const char *what)
{
    if (e->loose >= MANY && 2 * e->vague > e->loose)
        hc_mistrust(check, "%s: %lld of %lld results are not larger than their bound", what,
                    (long long)e->vague, (long long)e->loose);
    else if (e->loose < MANY && 2 * e->hollow > e->loose)
        hc_mistrust(check, "%s: the bound is half of the terms or more in %lld of %lld results",
                    what, (long long)e->hollow, (long long)e->loose);
    if (e->crossed > 1)
        hc_mistrust(check,
                    "%s: an error is %.2f of what independent roundings come to in one of 2^40 "
                    "results, though it keeps the bound",
                    what, e->crossed);
}

void hc_exercise_judge(const struct hc_exercise *e, struct hc_check *check, const char *what,
                       bool widens, bool norm_in_any_order)
{
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
    else if (!widens && e->loose >= MANY && e->inexact == 0)
        hc_mistrust(check, "%s: none of %lld results needed rounding", what, n);
    else if (e->inexact >= MANY && e->worst < (norm_in_any_order ? lowest_of_norms : lowest_ratio))
        hc_mistrust(check, "%s: the largest error is %.2g of its bound", what, e->worst);
}
